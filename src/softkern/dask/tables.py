"""Dask dataframes whose columns are of any kind, part by part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.dask.cluster import broadcast, compute
from softkern.dask.rows import row_chunks
from softkern.exceptions import DataError
from softkern.rows import lowest_numbers

__all__ = ["TableChunks", "map_tables"]


@dataclass(frozen=True)
class TableChunks:
    """Parts of a Dask dataframe, or of an array as one.

    Attributes
    ----------
    parts : list of dask.delayed
        Tables, computed on demand.
    lengths : tuple of int
        Number of rows of each part.

    Examples
    --------
    >>> import dask.array as da
    >>> table = TableChunks.of(da.ones((5, 2), chunks=(3, 2)))
    >>> table.lengths, table.sample(4)[1].shape
    ((3, 2), (4, 2))
    """

    parts: list[Any]
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, X: Any) -> TableChunks:
        """Collect the parts that have rows. One pass counts them."""
        from dask import delayed

        if hasattr(X, "columns"):
            parts = X.to_delayed()
            lengths = compute(*(delayed(len)(part) for part in parts))
            filled = [(part, int(n)) for part, n in zip(parts, lengths, strict=True) if n]
            if not filled:
                raise DataError("the table has no rows.")
            return cls([part for part, _ in filled], tuple(n for _, n in filled))
        X = row_chunks(X)
        columns = [f"x{k + 1}" for k in range(X.shape[1])]
        parts = [delayed(_table_of_array)(block, columns) for block in X.to_delayed().ravel()]
        return cls(parts, X.chunks[0])

    @property
    def rows(self) -> int:
        """Number of rows of all parts."""
        return sum(self.lengths)

    def sample(self, size: int, seed: int = 0) -> tuple[NDArray[np.int64], Any]:
        """Draw rows that represent all. Return their numbers and a table of them."""
        import pandas as pd
        from dask import delayed

        numbers = lowest_numbers(self.rows, size, seed)
        starts = np.cumsum([0, *self.lengths])[:-1]
        chosen = np.split(numbers, np.searchsorted(numbers, starts[1:]))
        tables = compute(
            *(
                delayed(_rows_of_table)(part, rows - start)
                for part, rows, start in zip(self.parts, chosen, starts, strict=True)
                if rows.size
            )
        )
        return numbers, pd.concat(tables, ignore_index=True)

    def map_rows(self, function: Callable[..., Array], like: Array, **fixed: Any) -> Any:
        """Apply a function to every part, lazily. The result is a Dask array shaped like `like`."""
        import dask.array as da
        from dask import delayed

        fixed = {name: broadcast(value) for name, value in fixed.items()}
        arrays = [
            da.from_delayed(delayed(function)(part, **fixed), (n, *like.shape[1:]), like.dtype)
            for part, n in zip(self.parts, self.lengths, strict=True)
        ]
        return da.concatenate(arrays)


def _table_of_array(block: Any, columns: Sequence[str]) -> Any:
    import pandas as pd

    return pd.DataFrame(block, columns=list(columns))


def _rows_of_table(table: Any, rows: Any) -> Any:
    return table.iloc[rows]


def map_tables(
    function: Callable[..., Any],
    parts: Sequence[tuple[Any, ...]],
    lengths: Sequence[int],
    example: tuple[Any, ...],
    **fixed: Any,
) -> Any:
    """Apply a function that returns a table to every part, lazily.

    Parameters
    ----------
    function : callable
        Takes the values of one part and the fixed values.
    parts : sequence of tuples
        Lazy values, or None.
    lengths : sequence of int
        Number of rows of each part.
    example : tuple
        Values of one row, which show the columns of the result.
    **fixed : values

    Returns
    -------
    dask dataframe
        Indexed by row number.

    Examples
    --------
    >>> import dask.array as da
    >>> import pandas as pd
    >>> parts = [(block,) for block in da.arange(5, chunks=3).to_delayed()]
    >>> map_tables(lambda a: pd.DataFrame({"a": a}), parts, (3, 2), (np.zeros(1),)).compute()
       a
    0  0
    1  1
    2  2
    3  3
    4  4
    """
    import dask.dataframe as dd
    from dask import delayed

    like = function(*example, **fixed).iloc[:0]
    starts = [int(start) for start in np.cumsum([0, *lengths])]
    fixed = {name: broadcast(value) for name, value in fixed.items()}
    tables = [
        delayed(_numbered_table)(function, start, *part, **fixed)
        for start, part in zip(starts, parts, strict=False)
    ]
    return dd.from_delayed(tables, meta=like, divisions=(*starts[:-1], starts[-1] - 1))


def _numbered_table(function: Callable[..., Any], start: int, *values: Any, **fixed: Any) -> Any:
    """Table of one part, indexed by row number."""
    table = function(*values, **fixed)
    return table.set_axis(np.arange(start, start + len(table)))
