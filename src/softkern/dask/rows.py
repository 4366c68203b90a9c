"""The gate for rows in chunks: faults are named by chunk and row, and a sample is drawn.

One pass over the chunks finds faults, the reach of every column, and the rows of highest priority,
weight over a number in (0, 1) made from the row's number and the seed (Duffield, Lund and Thorup
2007, as `softkern.rows.priority_sample`). The highest of all are among the highest of every chunk,
so that the sample does not depend on where one chunk ends and the next begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.dask.cluster import computed
from softkern.exceptions import DataError
from softkern.rows import LARGEST_COUNT, LEAST_SHARE, number_uniforms

__all__ = ["SUBSAMPLE_ROWS", "ChunkedRows", "Few", "is_chunked", "row_chunks"]

SUBSAMPLE_ROWS = 20_000  # of the sample that stands for all rows
AT_ONCE = 4  # parts that one task merges


def is_chunked(X: Any) -> bool:
    """Whether X is a Dask array, dataframe or column; Dask itself is not imported.

    Examples
    --------
    >>> is_chunked(np.ones(3))
    False
    """
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")


class Few(NamedTuple):
    """Rows that stand for all: their numbers (m,), values (m, d) and weights (m,)."""

    rows: NDArray[np.int64]
    X: Array
    weight: Array
    is_whole: bool  # whether no row that has a weight is left out


@dataclass(frozen=True)
class ChunkedRows:
    """The rows of a Dask array, and their weights.

    Attributes
    ----------
    X : dask array of shape (n, d)
        In chunks of whole rows, of known sizes.
    weight : dask array of shape (n,)
        In the same chunks.
    few : Few
        A sample. Rows that would not be in it for sure weigh one, the others more, so that it is
        like a table of its own; where it holds all rows, their weights are as given.
    low, high : arrays of shape (d,)
        The least and the largest value of every column.

    Examples
    --------
    >>> import dask.array as da
    >>> table = ChunkedRows.of(da.ones((100, 2), chunks=(30, 2)), size=10)
    >>> table.shape, table.few.X.shape, table.few.is_whole
    ((100, 2), (10, 2), False)
    """

    X: Any
    weight: Any
    few: Few
    low: Array
    high: Array

    @classmethod
    def of(
        cls, X: Any, sample_weight: Any = None, *, size: int = SUBSAMPLE_ROWS, seed: int = 0
    ) -> ChunkedRows:
        """Checked rows, with a sample of at most `size`."""
        X = row_chunks(X)
        weight = _weights(sample_weight, X)
        seen = _seen(X, weight, size + 1, seed)
        if seen.fault is not None:
            raise DataError(seen.fault)
        if not seen.largest > 0:
            raise DataError("sample_weight is zero for every row; at least one must be positive.")
        is_usual = 1 / LARGEST_COUNT <= seen.largest <= LARGEST_COUNT
        unit, least = 1.0 if is_usual else seen.largest, LEAST_SHARE * seen.largest
        if sample_weight is not None:
            weight = weight.map_blocks(_in_unit, unit, least, dtype=np.float64)
        return cls(X, weight.astype(X.dtype), seen.few(size, unit), seen.low, seen.high)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        dtype: np.dtype[Any] = self.X.dtype
        return dtype

    @property
    def numbers(self) -> Any:
        """The number of every row, in the same chunks, (n,)."""
        import dask.array as da

        return da.arange(self.shape[0], chunks=(self.X.chunks[0],), dtype=np.int64)


def row_chunks(X: Any) -> Any:
    """A Dask array or dataframe as numbers in chunks of whole rows whose sizes are known.

    Examples
    --------
    >>> import dask.array as da
    >>> row_chunks(da.ones((4, 6), chunks=(2, 3))).chunks
    ((2, 2), (6,))
    """
    if hasattr(X, "to_dask_array"):
        bad = [str(name) for name, kind in X.dtypes.items() if kind.kind not in "biuf"]
        if bad:
            raise DataError(
                f"column {', '.join(bad[:5])} holds no numbers, and models take Dask dataframes "
                "of numbers: leave it out or encode it. `softkern analyze` prepares columns."
            )
        X = X.to_dask_array(lengths=True)
    if X.ndim != 2:
        raise DataError(f"X must be a 2D array, got {X.ndim} dimensions; reshape it.")
    if np.dtype(X.dtype).kind not in "biuf":
        raise DataError(f"X holds {X.dtype}, not numbers.")
    if np.isnan(X.shape[0]):
        X = X.compute_chunk_sizes()
    if 0 in X.shape:
        raise DataError(f"X has shape {X.shape}; at least one row and one column are needed.")
    if 0 in X.chunks[0]:
        X = X.rechunk((tuple(rows for rows in X.chunks[0] if rows), -1))
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    return X.rechunk({1: -1}).astype(dtype)


def _weights(sample_weight: Any, X: Any) -> Any:
    """Weights in the chunks of X, ones where none are given, (n,)."""
    import dask.array as da

    chunks = (X.chunks[0],)
    if sample_weight is None:
        return da.ones(X.shape[0], chunks=chunks, dtype=np.float64)
    if hasattr(sample_weight, "to_dask_array"):
        sample_weight = sample_weight.to_dask_array(lengths=True)
    if not is_chunked(sample_weight):
        sample_weight = da.from_array(np.asarray(sample_weight, dtype=np.float64))
    if np.isnan(sample_weight.shape).any():
        sample_weight = sample_weight.compute_chunk_sizes()
    if sample_weight.shape != (X.shape[0],):
        raise DataError(
            f"sample_weight has shape {sample_weight.shape}, but X has {X.shape[0]} rows; "
            f"sample_weight.shape should be ({X.shape[0]},)."
        )
    return sample_weight.rechunk(chunks).astype(np.float64)


def _in_unit(weight: Array, unit: float, least: float) -> Array:
    return np.where(weight < least, 0.0, weight / unit)


# One pass over all rows


class _Seen(NamedTuple):
    """What was seen of some chunks, in their order."""

    fault: str | None
    low: Array
    high: Array
    largest: float  # weight
    present: int  # rows that have one
    rows: NDArray[np.int64]  # of the highest priorities
    X: Array
    weight: Array
    priority: Array  # its logarithm

    def few(self, size: int, unit: float) -> Few:
        """The sample, in the order of the rows."""
        order = np.lexsort((self.rows, -self.priority))
        taken = order[:size]
        taken = taken[np.argsort(self.rows[taken])]
        is_whole = self.present <= size
        weight = self.weight[taken] / unit
        if not is_whole:  # the first priority left out is what a row must weigh to be in for sure
            surely = self.priority[order[size]]
            weight = np.exp(np.maximum(np.log(self.weight[taken]) - surely, 0.0))
        return Few(self.rows[taken], self.X[taken], weight.astype(self.X.dtype), is_whole)


def _seen(X: Any, weight: Any, size: int, seed: int) -> _Seen:
    """All chunks, looked at one by one and merged a few at a time, on the workers."""
    from dask import delayed

    starts = np.concatenate([[0], np.cumsum(X.chunks[0])])
    pairs = zip(X.to_delayed().ravel(), weight.to_delayed().ravel(), strict=True)
    look, merge = delayed(look_at_chunk), delayed(merge_looks)
    parts = [
        look(block, weights, k, int(starts[k]), size, seed)
        for k, (block, weights) in enumerate(pairs)
    ]
    while len(parts) > 1:
        parts = [merge(parts[k : k + AT_ONCE], size) for k in range(0, len(parts), AT_ONCE)]
    found: _Seen = computed(parts[0])[0]
    return found


def look_at_chunk(X: Array, weight: Array, chunk: int, start: int, size: int, seed: int) -> _Seen:
    """What one chunk shows; the first row of it has the number `start`."""
    fault = _fault(X, weight, chunk, start)
    with np.errstate(invalid="ignore"):
        there = np.flatnonzero(weight > 0)
        rows = (start + there).astype(np.int64)
        priority = np.log(weight[there]) - np.log(number_uniforms(rows, seed))
    best = _highest(rows, priority, size)
    few = there[best]
    return _Seen(
        fault,
        X.min(axis=0),
        X.max(axis=0),
        float(weight.max()),
        int(there.size),
        rows[best],
        np.asarray(X[few]),
        weight[few],
        priority[best],
    )


def merge_looks(parts: Sequence[_Seen], size: int) -> _Seen:
    """What several chunks show together."""
    rows, X, weight, priority = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("rows", "X", "weight", "priority")
    )
    best = _highest(rows, priority, size)
    return _Seen(
        next((part.fault for part in parts if part.fault is not None), None),
        np.min([part.low for part in parts], axis=0),
        np.max([part.high for part in parts], axis=0),
        max(part.largest for part in parts),
        sum(part.present for part in parts),
        rows[best],
        X[best],
        weight[best],
        priority[best],
    )


def _highest(rows: Array, priority: Array, size: int) -> Array:
    """Places of the highest priorities; of equal ones, those of the first rows."""
    return np.arange(rows.size) if rows.size <= size else np.lexsort((rows, -priority))[:size]


def _fault(X: Array, weight: Array, chunk: int, start: int) -> str | None:
    """What cannot be used in a chunk, with its place and the remedy, or None."""
    numbers = np.finfo(X.dtype)
    is_bad = ~(np.abs(X) <= numbers.max * numbers.eps)
    if is_bad.any():
        row, column = (int(k) for k in np.argwhere(is_bad)[0])
        value = X[row, column]
        what = f"too large for sums in {X.dtype}" if np.isfinite(value) else "no finite number"
        return (
            f"X holds {value:.6g} in chunk {chunk}, row {row} of it (row {start + row} of all), "
            f"column {column}: {what}. Correct or remove that row."
        )
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if bad.size:
        row = int(bad[0])
        return (
            f"sample_weight is {weight[row]} in chunk {chunk}, row {row} of it (row {start + row} "
            "of all); weights must be finite and not negative."
        )
    return None
