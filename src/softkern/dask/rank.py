"""`softkern.rank_points` for Dask data: the top ranks in memory, all rows as a Dask dataframe."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from softkern._utils.typing import Array
from softkern.dask.chunks import TableChunks, map_tables
from softkern.dask.cluster import compute
from softkern.dask.rows import row_chunks
from softkern.ranking.table import PARTS, RANKS, SCORES, Ranker, to_arrays


class RankedChunks(NamedTuple):
    """Result of `softkern.rank_points` for Dask data."""

    top: Any  # a DataFrame
    table: Any  # a Dask dataframe


def rank_chunks(model: Any, X: Any, n_top: int, options: dict[str, Any]) -> RankedChunks:
    """Rank the rows of X, or the training rows for None, with the options of `Ranker`."""
    small = model.without_rows() if hasattr(model, "without_rows") else model
    ranker = Ranker(small, **options)
    if X is None:
        columns = [getattr(model, f"{name}_", None) for name in PARTS]
        lengths = model.outlier_scores_.chunks[0]
        parts = [[None] * len(lengths) if part is None else _blocks(part) for part in columns]
        example = [None if part is None else _example(part) for part in columns]
        table = map_tables(_rank_scored, parts, lengths, example, ranker=ranker)
    elif getattr(model, "preparation_", None) is not None:
        chunks = TableChunks.of(X)
        example = [chunks.sample(1)[1]]
        table = map_tables(_rank_new, [chunks.parts], chunks.lengths, example, ranker=ranker)
    else:
        X = row_chunks(X)
        table = map_tables(_rank_new, [_blocks(X)], X.chunks[0], [_example(X)], ranker=ranker)
    table = table.drop(columns=list(RANKS))
    return RankedChunks(_top_rows(table, n_top), table)


def _blocks(array: Any) -> list[Any]:
    return array.to_delayed().ravel().tolist()


def _example(array: Any) -> Array:
    return np.zeros((1, *array.shape[1:]), array.dtype)


def _rank_scored(*columns: Any, ranker: Ranker) -> Any:
    return ranker.table(to_arrays(ranker._model, *columns))


def _rank_new(X: Any, ranker: Ranker) -> Any:
    return ranker.table(ranker.score_points(X))


def _top_rows(table: Any, size: int) -> Any:
    """Rows with one of the largest scores of either kind, with their ranks up to `size`."""
    import pandas as pd

    largest = pd.concat(compute(*(table.nlargest(size, column) for column in SCORES)))
    top = largest[~largest.index.duplicated()].sort_index()
    for column, rank in zip(SCORES, RANKS, strict=True):
        place = top[column].rank(method="min", ascending=False)
        top[rank] = place.where(place <= size).astype("Int64")
    return top.sort_values(list(SCORES), ascending=False, kind="stable")
