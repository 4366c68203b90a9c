"""Tables of what is said of every chunk, and the rows of all that stand out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.dask.cluster import computed, shared
from softkern.dask.rows import row_chunks
from softkern.exceptions import DataError
from softkern.rows import lowest_numbers

__all__ = ["TableChunks", "tables_of_chunks", "top_of_tables"]


@dataclass(frozen=True)
class TableChunks:
    """A Dask dataframe, or an array as one, whose chunks are tables of any columns.

    Attributes
    ----------
    parts : list
        Tables that are not computed yet.
    lengths : tuple of int
        Their rows.
    columns : list

    Examples
    --------
    >>> import dask.array as da
    >>> table = TableChunks.of(da.ones((5, 2), chunks=(3, 2)))
    >>> table.lengths, table.columns, table.sample(4)[1].shape
    ((3, 2), ['x1', 'x2'], (4, 2))
    """

    parts: list[Any]
    lengths: tuple[int, ...]
    columns: list[Any]

    @classmethod
    def of(cls, X: Any) -> TableChunks:
        """The tables that have rows, counted by one pass."""
        from dask import delayed

        if hasattr(X, "columns"):
            parts = X.to_delayed()
            lengths = computed(*(delayed(len)(part) for part in parts))
            some = [(part, int(rows)) for part, rows in zip(parts, lengths, strict=True) if rows]
            if not some:
                raise DataError("the table has no rows.")
            return cls([part for part, _ in some], tuple(n for _, n in some), list(X.columns))
        X = row_chunks(X)
        columns = [f"x{k + 1}" for k in range(X.shape[1])]
        parts = [delayed(table_of_array)(block, columns) for block in X.to_delayed().ravel()]
        return cls(parts, X.chunks[0], columns)

    @property
    def rows(self) -> int:
        """Of all tables."""
        return sum(self.lengths)

    @property
    def starts(self) -> list[int]:
        """Numbers of the tables' first rows."""
        return [int(start) for start in np.cumsum([0, *self.lengths])[:-1]]

    def sample(self, size: int, seed: int = 0) -> tuple[NDArray[np.int64], Any]:
        """Numbers of some rows that stand for all, and a table of them."""
        import pandas as pd
        from dask import delayed

        numbers = lowest_numbers(self.rows, size, seed)
        wanted = np.split(numbers, np.searchsorted(numbers, self.starts[1:]))
        tables = computed(
            *(
                delayed(rows_of_table)(part, rows - start)
                for part, rows, start in zip(self.parts, wanted, self.starts, strict=True)
                if rows.size
            )
        )
        return numbers, pd.concat(tables, ignore_index=True)

    def answers(self, function: Callable[..., Any], like: Any, **fixed: Any) -> Any:
        """What a function says of every table and of its first row's number, as a Dask array."""
        import dask.array as da
        from dask import delayed

        known = {name: shared(value) for name, value in fixed.items()}
        arrays = [
            da.from_delayed(
                delayed(function)(part, start, **known), (rows, *like.shape[1:]), dtype=like.dtype
            )
            for part, rows, start in zip(self.parts, self.lengths, self.starts, strict=True)
        ]
        return da.concatenate(arrays)

    def tables(self, function: Callable[..., Any], **fixed: Any) -> Any:
        """The tables that a function makes of every table, as one Dask dataframe."""
        import dask.dataframe as dd
        from dask import delayed

        like = function(self.sample(1)[1], **fixed).iloc[:0]
        known = {name: shared(value) for name, value in fixed.items()}
        ends = (*self.starts, self.rows - 1)
        tables = [
            delayed(table_of_chunk)(function, start, part, **known)
            for part, start in zip(self.parts, self.starts, strict=True)
        ]
        return dd.from_delayed(tables, meta=like, divisions=ends)


def table_of_array(block: Any, columns: Sequence[str]) -> Any:
    """A chunk with names."""
    import pandas as pd

    return pd.DataFrame(block, columns=list(columns))


def rows_of_table(table: Any, rows: Any) -> Any:
    """Some rows of a table."""
    return table.iloc[rows]


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
        is_top[_largest(table[column].to_numpy(), size)] = True
    return table[is_top]


def _largest(values: Array, size: int) -> NDArray[np.intp]:
    """Places of the largest values, largest first; of equal ones the first."""
    return np.lexsort((np.arange(len(values)), -values))[:size]
