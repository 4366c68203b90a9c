"""Checked Dask data, its weights, and a subsample that represents all rows.

One pass over the chunks detects invalid values, the range of every column, and the rows of highest
priority: the weight over a uniform number made from the row number and the seed (priority sampling,
Duffield, Lund and Thorup 2007, as in `softkern.rows.Rows.sample`). The highest priorities of
all rows are among the highest of each chunk, so the subsample does not depend on the chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softkern._utils.arrays import is_dask
from softkern._utils.typing import Array
from softkern.dask.cluster import merge_parts
from softkern.exceptions import DataError
from softkern.rows import LARGEST_COUNT, LEAST_SHARE, key_uniforms

SUBSAMPLE_ROWS = 20_000
MERGED_PARTS = 4  # that one task merges


class Subsample(NamedTuple):
    """Rows that represent all: their numbers (m,), values (m, d) and weights (m,)."""

    rows: NDArray[np.int64]
    X: Array
    weight: Array
    is_complete: bool  # whether it holds every row of positive weight


@dataclass(frozen=True)
class ChunkedRows:
    """Rows of a Dask array and their weights."""

    X: Any  # Dask array (n, d), in chunks of whole rows with known sizes
    weight: Any  # Dask array (n,), in the same chunks
    # Represents all rows. If it is complete, the weights are as given. Otherwise rows that could
    # have been left out weigh one, and heavier rows more.
    subsample: Subsample
    low: Array  # smallest value of every column, (d,)
    high: Array  # largest value of every column, (d,)

    @classmethod
    def of(
        cls, X: Any, sample_weight: Any = None, *, size: int = SUBSAMPLE_ROWS, seed: int = 0
    ) -> ChunkedRows:
        """Check all rows and draw a subsample of at most `size`."""
        import dask.array as da
        from dask import delayed

        X = row_chunks(X)
        weight = _weights(sample_weight, X)
        starts = np.cumsum([0, *X.chunks[0]]).tolist()
        pairs = zip(X.to_delayed().ravel(), weight.to_delayed().ravel(), strict=True)
        parts = [
            delayed(summarize_chunk)(block, weights, k, starts[k], size + 1, seed)
            for k, (block, weights) in enumerate(pairs)
        ]
        summary = merge_parts(parts, partial(merge_summaries, size=size + 1), MERGED_PARTS)
        if summary.fault is not None:
            raise DataError(summary.fault)
        if not summary.largest > 0:
            raise DataError("sample_weight is zero for every row; at least one must be positive.")
        is_usual = 1 / LARGEST_COUNT <= summary.largest <= LARGEST_COUNT
        unit, least = 1.0 if is_usual else summary.largest, LEAST_SHARE * summary.largest
        if sample_weight is not None:
            weight = da.where(weight < least, 0.0, weight / unit)
        subsample = summary.drawn.subsample(size, unit)
        return cls(X, weight.astype(X.dtype), subsample, summary.low, summary.high)


def row_chunks(X: Any) -> Any:
    """Convert a Dask array or dataframe to floats in chunks of whole rows with known sizes."""
    if hasattr(X, "to_dask_array"):
        bad = [str(name) for name, kind in X.dtypes.items() if kind.kind not in "biuf"]
        if bad:
            raise DataError(
                f"column {', '.join(bad[:5])} is not numeric, and models need Dask dataframes of "
                "numbers: drop or encode it. `softkern analyze` prepares columns."
            )
    X = _with_known_chunks(X)
    if X.ndim != 2:
        raise DataError(f"X must be a 2D array, got {X.ndim} dimensions; reshape it.")
    if np.dtype(X.dtype).kind not in "biuf":
        raise DataError(f"X has dtype {X.dtype}; it must hold numbers.")
    if 0 in X.shape:
        raise DataError(f"X has shape {X.shape}; at least one row and one column are needed.")
    if 0 in X.chunks[0]:
        X = X.rechunk((tuple(rows for rows in X.chunks[0] if rows), -1))
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    return X.rechunk({1: -1}).astype(dtype)


def _with_known_chunks(data: Any) -> Any:
    """Convert Dask data to an array whose chunks have known sizes."""
    if hasattr(data, "to_dask_array"):
        return data.to_dask_array(lengths=True)
    return data.compute_chunk_sizes() if np.isnan(data.shape).any() else data


def _weights(sample_weight: Any, X: Any) -> Any:
    """Weights in the chunks of X, (n,), by default ones."""
    import dask.array as da

    chunks = (X.chunks[0],)
    if sample_weight is None:
        return da.ones(X.shape[0], chunks=chunks, dtype=np.float64)
    if not is_dask(sample_weight):
        sample_weight = da.from_array(np.asarray(sample_weight, dtype=np.float64))
    sample_weight = _with_known_chunks(sample_weight)
    if sample_weight.shape != (X.shape[0],):
        raise DataError(
            f"sample_weight has shape {sample_weight.shape}, but X has {X.shape[0]} rows; "
            f"sample_weight.shape should be ({X.shape[0]},)."
        )
    return sample_weight.rechunk(chunks).astype(np.float64)


# One pass over all rows


class Drawn(NamedTuple):
    """Rows of positive weight with their priorities."""

    rows: NDArray[np.int64]
    X: Array
    weight: Array
    priority: Array  # its logarithm

    def highest(self, size: int) -> Drawn:
        """Select the rows of highest priority, in its order."""
        best = np.lexsort((self.rows, -self.priority))[:size]
        return Drawn(*(part[best] for part in self))

    def subsample(self, size: int, unit: float) -> Subsample:
        """Select at most `size` of more rows in the order of priority, in that of their numbers."""
        chosen, is_complete = np.argsort(self.rows[:size]), self.rows.size <= size
        weight = self.weight[chosen] / unit
        if not is_complete:  # a row at least as heavy as the first priority left out is always in
            weight = np.exp(np.maximum(np.log(self.weight[chosen]) - self.priority[size], 0.0))
        weight = weight.astype(self.X.dtype)
        return Subsample(self.rows[chosen], self.X[chosen], weight, is_complete)


class ChunkSummary(NamedTuple):
    """Summary of consecutive chunks."""

    fault: str | None
    low: Array
    high: Array
    largest: float  # weight
    drawn: Drawn  # of highest priority


def summarize_chunk(
    X: Array, weight: Array, chunk: int, start: int, size: int, seed: int
) -> ChunkSummary:
    """Summarize one chunk, whose first row has the number `start`."""
    fault = _fault(X, weight, chunk, start)
    with np.errstate(invalid="ignore"):
        present = np.flatnonzero(weight > 0)
        rows = (start + present).astype(np.int64)
        priority = np.log(weight[present]) - np.log(key_uniforms(rows, seed))
    drawn = Drawn(rows, X[present], weight[present], priority).highest(size)
    return ChunkSummary(fault, X.min(axis=0), X.max(axis=0), float(weight.max()), drawn)


def merge_summaries(parts: Sequence[ChunkSummary], size: int) -> ChunkSummary:
    """Merge the summaries of consecutive chunks."""
    columns = zip(*(part.drawn for part in parts), strict=True)
    return ChunkSummary(
        next((part.fault for part in parts if part.fault is not None), None),
        np.min([part.low for part in parts], axis=0),
        np.max([part.high for part in parts], axis=0),
        max(part.largest for part in parts),
        Drawn(*map(np.concatenate, columns)).highest(size),
    )


def _fault(X: Array, weight: Array, chunk: int, start: int) -> str | None:
    """Describe the first invalid value of a chunk with its place and the remedy, or None."""
    limits = np.finfo(X.dtype)
    is_bad = ~(np.abs(X) <= limits.max * limits.eps)
    if is_bad.any():
        row, column = (int(k) for k in np.argwhere(is_bad)[0])
        value = X[row, column]
        reason = f"too large for sums in {X.dtype}" if np.isfinite(value) else "not finite"
        return (
            f"X holds {value:.6g} in chunk {chunk}, row {row} of it (row {start + row} of all), "
            f"column {column}: {reason}. Correct or remove that row."
        )
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if bad.size:
        row = int(bad[0])
        return (
            f"sample_weight is {weight[row]} in chunk {chunk}, row {row} of it (row {start + row} "
            "of all); weights must be finite and not negative."
        )
    return None
