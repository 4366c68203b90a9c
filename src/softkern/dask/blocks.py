"""Functions applied to the chunks of Dask arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import numpy as np

from softkern._utils.typing import Array
from softkern.exceptions import DataError

__all__ = ["map_rows"]


def map_rows(
    function: Callable[..., Array],
    X: Any,
    *columns: Any,
    name: str,
    like: Any,
    **fixed: Any,
) -> Any:
    """Apply a function to the chunks of Dask arrays, lazily.

    Parameters
    ----------
    function : callable
        Takes a chunk of X (b, d), chunks of the columns, and the fixed values.
    X : dask array of shape (n, d)
        In chunks of whole rows.
    *columns : dask arrays of shape (n,) or (n, c)
        In the same chunks.
    name : str
        Name of the tasks, for Dask's dashboard.
    like : array
        Has the dtype of the result and, after the first axis, its shape.
    **fixed : values, or results of `softkern.dask.broadcast`

    Returns
    -------
    dask array of shape (n,) or (n, c)

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.ones((6, 3), chunks=(2, 3))
    >>> map_rows(lambda x: x.sum(axis=1), X, name="sums", like=np.empty(0)).compute()
    array([3., 3., 3., 3., 3., 3.])
    """
    result: dict[str, Any] = {"dtype": like.dtype, "meta": np.empty((0,) * like.ndim, like.dtype)}
    if like.ndim == 1:
        result |= {"drop_axis": 1}
    else:
        result |= {"chunks": (X.chunks[0], (like.shape[1],))}
    return X.map_blocks(
        _apply_block,
        *(column if column.ndim == 2 else _as_matrix(column) for column in columns),
        function=function,
        is_vector=[column.ndim == 1 for column in columns],
        token=f"softkern-{name}",
        **result,
        **fixed,
    )


def _as_matrix(column: Any) -> Any:
    """Reshape a column to (n, 1), in tasks with a unique name: Dask may fuse them differently."""
    name = f"softkern-column-{uuid4().hex}"
    chunks = (column.chunks[0], (1,))
    return column.map_blocks(
        np.expand_dims, axis=1, new_axis=1, chunks=chunks, dtype=column.dtype, name=name
    )


def _apply_block(
    X: Array,
    *columns: Array,
    function: Callable[..., Array],
    is_vector: Sequence[bool],
    block_id: Any = None,
    **fixed: Any,
) -> Array:
    """Apply a function to one chunk; an error names the chunk and row of a value not finite."""
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if bad.size:
        chunk = 0 if block_id is None else block_id[0]
        raise DataError(
            f"X holds a value that is not finite in chunk {chunk}, row {bad[0]} of it; correct or "
            "remove it."
        )
    parts = (part[:, 0] if flat else part for part, flat in zip(columns, is_vector, strict=True))
    return function(X, *parts, **fixed)
