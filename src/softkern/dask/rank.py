"""`softkern.rank_points` for Dask data: the top ranks in memory, all rows as a Dask dataframe."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from softkern._utils.typing import Array
from softkern.dask.chunks import TableChunks
from softkern.dask.cluster import broadcast, compute
from softkern.dask.rows import row_chunks
from softkern.ranking.table import PARTS, RANKS, SCORES, Ranker, to_arrays


class RankedChunks(NamedTuple):
    """Result of `softkern.rank_points` for Dask data."""

    top: Any  # a DataFrame
    table: Any  # a Dask dataframe


def rank_chunks(model: Any, X: Any, n_top: int, options: dict[str, Any]) -> RankedChunks:
    """Rank the rows of X, or the training rows for None, with the options of `Ranker`."""
    import dask.dataframe as dd
    from dask import delayed

    small = model.without_rows() if hasattr(model, "without_rows") else model
    ranker = Ranker(small, **options)
    if X is None:
        columns = [getattr(model, f"{name}_", None) for name in PARTS]
        lengths = model.outlier_scores_.chunks[0]
        parts = [[None] * len(lengths) if part is None else _blocks(part) for part in columns]
        example = [None if part is None else _example(part) for part in columns]
    elif getattr(model, "preparation_", None) is not None:
        chunks = TableChunks.of(X)
        lengths, parts, example = chunks.lengths, [chunks.parts], [chunks.sample(1)[1]]
    else:
        X = row_chunks(X)
        lengths, parts, example = X.chunks[0], [_blocks(X)], [_example(X)]
    like = _rank_chunk(ranker, 0, *example).iloc[:0]
    starts = np.cumsum([0, *lengths]).tolist()
    rank, sent = delayed(_rank_chunk), broadcast(ranker)
    tables = [rank(sent, *values) for values in zip(starts[:-1], *parts, strict=True)]
    table = dd.from_delayed(tables, meta=like, divisions=(*starts[:-1], starts[-1] - 1))
    return RankedChunks(_top_rows(table, n_top), table)


def _blocks(array: Any) -> list[Any]:
    return array.to_delayed().ravel().tolist()


def _example(array: Any) -> Array:
    return np.zeros((1, *array.shape[1:]), array.dtype)


def _rank_chunk(ranker: Ranker, start: int, *data: Any) -> Any:
    """Rank the rows of a chunk from its data, or from the `PARTS` of their scores.

    The first has the row number `start`. Ranks within a chunk mean nothing, and are left out.
    """
    is_scored = len(data) == len(PARTS)
    points = to_arrays(ranker._model, *data) if is_scored else ranker.score_points(*data)
    table = ranker.table(points).drop(columns=list(RANKS))
    return table.set_axis(np.arange(start, start + len(table)))


def _top_rows(table: Any, size: int) -> Any:
    """Rows with one of the largest scores of either kind, with their ranks up to `size`."""
    import pandas as pd

    largest = pd.concat(compute(*(table.nlargest(size, column) for column in SCORES)))
    top = largest[~largest.index.duplicated()].sort_index()
    for column, rank in zip(SCORES, RANKS, strict=True):
        place = top[column].rank(method="min", ascending=False)
        top[rank] = place.where(place <= size).astype("Int64")
    return top.sort_values(list(SCORES), ascending=False, kind="stable")
