"""What is asked of every chunk, and the few numbers that are read from all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import numpy as np

from softkern._utils.typing import Array
from softkern.dask.cluster import computed, kept
from softkern.exceptions import DataError
from softkern.rows import lower_quantile

__all__ = [
    "answers",
    "in_chunks_of",
    "quantile",
]

BINS = 1024  # of a histogram in which a quantile is looked for
GATHERED = 100_000  # values among which it is found by sorting


def answers(
    function: Callable[..., Array],
    X: Any,
    *columns: Any,
    name: str,
    like: Any,
    **fixed: Any,
) -> Any:
    """What a function says of every chunk, computed when it is asked for.

    Parameters
    ----------
    function : callable
        Takes a chunk of X (b, d), those of the columns, and what is fixed.
    X : dask array of shape (n, d)
        In chunks of whole rows.
    *columns : dask arrays of shape (n,) or (n, c)
        In the same chunks.
    name : str
        Of the tasks, for who looks at Dask's own pages.
    like : array
        Of the dtype of the answer and, after its first axis, of its shape.
    **fixed : values, or what `softkern.dask.shared` gives

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.ones((6, 3), chunks=(2, 3))
    >>> answers(lambda x: x.sum(axis=1), X, name="sums", like=np.empty(0)).compute()
    array([3., 3., 3., 3., 3., 3.])
    """
    kind: dict[str, Any] = {"dtype": like.dtype, "meta": np.empty((0,) * like.ndim, like.dtype)}
    if like.ndim == 1:
        kind |= {"drop_axis": 1}
    else:
        kind |= {"chunks": (X.chunks[0], (like.shape[1],))}
    upright = [column if column.ndim == 2 else _upright(column) for column in columns]
    is_column = [column.ndim == 1 for column in columns]
    return X.map_blocks(
        _asked,
        *upright,
        function=function,
        is_column=is_column,
        token=f"softkern-{name}",
        **kind,
        **fixed,
    )


def _upright(column: Any) -> Any:
    """The column as (n, 1), by tasks of a name of their own: Dask fuses them now so, now so."""
    name = f"softkern-upright-{uuid4().hex}"
    chunks = (column.chunks[0], (1,))
    return column.map_blocks(
        np.expand_dims, axis=1, new_axis=1, chunks=chunks, dtype=column.dtype, name=name
    )


def _asked(
    X: Array,
    *columns: Array,
    function: Callable[..., Array],
    is_column: Sequence[bool],
    block_id: Any = None,
    **fixed: Any,
) -> Array:
    """The answer of one chunk; what cannot be used in it is named by its place."""
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    chunk = 0 if block_id is None else block_id[0]
    if bad.size:
        raise DataError(
            f"X holds no finite number in chunk {chunk}, row {bad[0]} of it; correct or remove it."
        )
    given = (part[:, 0] if flat else part for part, flat in zip(columns, is_column, strict=True))
    return function(X, *given, **fixed)


def in_chunks_of(values: Any, column: Any) -> Any:
    """An array (n,) or (n, c) in the chunks, and of the dtype, of a Dask array (n,).

    Examples
    --------
    >>> import dask.array as da
    >>> in_chunks_of(np.ones((5, 2)), da.ones(5, chunks=3)).chunks
    ((3, 2), (2,))
    """
    import dask.array as da

    values = values if hasattr(values, "rechunk") else da.from_array(np.asarray(values))
    chunks = (column.chunks[0], -1)[: values.ndim]
    if values.shape[0] == column.shape[0]:
        values = values.rechunk(chunks)
    return values.astype(column.dtype)


def quantile(values: Any, weight: Any, share: float) -> float:
    """The first of the sorted values up to which at least this share of the weight lies.

    As `softkern.rows.lower_quantile`, of Dask arrays (n,): a histogram shows in which of its bins
    the value lies, and one of that bin where in it, until few values are left to be sorted.

    Examples
    --------
    >>> import dask.array as da
    >>> quantile(da.arange(1_000_000, chunks=250_000), da.ones(1_000_000, chunks=250_000), 0.25)
    249999.0
    """
    import dask.array as da

    values, weight = kept(values), kept(weight)
    is_there = (weight > 0) & da.isfinite(values)
    low, high, total, below = computed(
        da.where(is_there, values, np.inf).min(),
        da.where(is_there, values, -np.inf).max(),
        weight.sum(dtype=np.float64),
        da.where(values == -np.inf, weight, 0).sum(dtype=np.float64),
    )
    wanted = share * float(total) * (1 - 1e-12)
    if below > 0 and below >= wanted:
        return -np.inf
    if not np.isfinite(low):
        return np.inf
    while True:
        edges = np.linspace(low, high, BINS + 1)
        mass, number = _histogram(values, weight, edges)
        place = int(np.searchsorted(below + np.cumsum(mass), wanted))
        if place == BINS:  # what is infinite holds the rest
            return np.inf
        low, high = float(edges[place]), float(edges[place + 1])
        below += float(mass[:place].sum())
        if number[place] <= GATHERED or not low < (low + high) / 2 < high:
            break
    inside = (values >= low) & (values <= high) & (weight > 0)
    few, held = computed(values[inside], weight[inside])
    part = (wanted - below) / float(held.sum(dtype=np.float64))
    return lower_quantile(few, held, min(max(part, 0.0), 1.0))


def _histogram(values: Any, weight: Any, edges: Array) -> tuple[Array, Array]:
    """Weight and number of the values in every bin."""
    from dask import delayed

    blocks = zip(values.to_delayed().ravel(), weight.to_delayed().ravel(), strict=True)
    parts = computed(*(delayed(count_in_bins)(*block, edges) for block in blocks))
    mass, number = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
    return mass, number


def count_in_bins(values: Array, weight: Array, edges: Array) -> tuple[Array, Array]:
    """Weight and number of one chunk's values in every bin."""
    values, weight = values[weight > 0], weight[weight > 0]
    mass = np.histogram(values, edges, weights=weight.astype(np.float64))[0]
    return mass, np.histogram(values, edges)[0]
