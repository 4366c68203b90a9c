"""Tables of what is said of every chunk, and the rows of all that stand out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from softkern.chunks.cluster import computed, shared

__all__ = ["tables_of_chunks", "top_of_tables"]


def tables_of_chunks(function: Callable[..., Any], *arrays: Any, **fixed: Any) -> Any:
    """The tables that a function makes of every chunk, as one Dask dataframe.

    Parameters
    ----------
    function : callable
        Takes the chunks of the arrays, or None where one is None, and what is fixed.
    *arrays : dask arrays of n rows in the same chunks, or None
    **fixed : values

    Examples
    --------
    >>> import dask.array as da
    >>> import pandas as pd
    >>> tables_of_chunks(lambda a: pd.DataFrame({"a": a}), da.arange(5, chunks=3)).compute()
       a
    0  0
    1  1
    2  2
    3  3
    4  4
    """
    import dask.dataframe as dd
    from dask import delayed

    sizes = next(array for array in arrays if array is not None).chunks[0]
    few = [
        None if array is None else np.zeros((1, *array.shape[1:]), array.dtype) for array in arrays
    ]
    like = function(*few, **fixed).iloc[:0]
    ends = np.cumsum([0, *sizes])
    parts = zip(
        *([None] * len(sizes) if array is None else array.to_delayed().ravel() for array in arrays),
        strict=True,
    )
    known = {name: shared(value) for name, value in fixed.items()}
    tables = [
        delayed(table_of_chunk)(function, int(start), *part, **known)
        for start, part in zip(ends[:-1], parts, strict=True)
    ]
    return dd.from_delayed(tables, meta=like, divisions=(*ends[:-1].tolist(), int(ends[-1]) - 1))


def table_of_chunk(function: Callable[..., Any], start: int, *arrays: Any, **fixed: Any) -> Any:
    """The table of one chunk, its rows known by their numbers among all."""
    table = function(*arrays, **fixed)
    return table.set_axis(np.arange(start, start + len(table)))


def top_of_tables(table: Any, ranked: dict[str, str], size: int) -> Any:
    """Rows of a Dask dataframe that are among the largest of a column, with their ranks.

    Parameters
    ----------
    table : dask dataframe
    ranked : dict
        Columns to rank by, and the names of the ranks: 1 for the largest, missing beyond `size`.
    size : int

    Examples
    --------
    >>> import dask.array as da
    >>> import pandas as pd
    >>> table = tables_of_chunks(lambda a: pd.DataFrame({"a": -a % 5}), da.arange(9, chunks=3))
    >>> top_of_tables(table, {"a": "rank"}, 2)
       a  rank
    1  4     1
    6  4     1
    """
    import pandas as pd
    from dask import delayed

    parts = computed(
        *(delayed(top_of_table)(part, list(ranked), size) for part in table.to_delayed())
    )
    top = pd.concat(parts)
    top = top_of_table(top, list(ranked), size)
    for column, rank in ranked.items():
        place = top[column].rank(method="min", ascending=False)
        top[rank] = place.where(place <= size).astype("Int64")
    return top.sort_values(list(ranked), ascending=False, kind="stable")


def top_of_table(table: Any, columns: Sequence[str], size: int) -> Any:
    """Rows that are among the largest of any of the columns, in their order."""
    is_top = np.zeros(len(table), dtype=bool)
    for column in columns:
        values = table[column].to_numpy()
        is_top[np.lexsort((np.arange(len(values)), -values))[:size]] = True
    return table[is_top]
