"""Readers of formats whose cells have types: workbooks and JSON lines."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from softkern.tables.io.reader import Names, Reader, Tables

__all__ = ["RecordReader"]

LARGEST_INT = 2**63


class RecordReader(Reader):
    """An open table whose rows are tuples of Python values."""

    _missing: frozenset[str]

    @abstractmethod
    def _records(self) -> Iterator[Sequence[Any]]:
        """Return the rows."""

    def iter_tables(self, rows: int | None, text: Names, words: Names) -> Tables:
        """Yield tables of at most `rows` rows. For None, one table of all rows."""
        records = self._records()
        if rows is None:
            yield self._table(list(records), text)
            return
        while part := list(islice(records, rows)):
            yield self._table(part, text)

    def _table(self, records: Sequence[Sequence[Any]], text: Sequence[str]) -> pd.DataFrame:
        cells = list(zip(*records, strict=True)) or [()] * len(self.columns)
        parts = {
            name: pd.Series(values, dtype=object) if name in text else _typed(values, self._missing)
            for name, values in zip(self.columns, cells, strict=True)
        }
        return pd.DataFrame(parts, columns=pd.Index(self.columns))


def _typed(values: Sequence[Any], missing: frozenset[str]) -> pd.Series[Any]:
    """Return a column of numbers or dates where all cells are, else of the cells themselves."""
    cells: list[Any] = [None if isinstance(v, str) and v.strip() in missing else v for v in values]
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float}:
        whole = kinds == {int} and None not in cells and max(map(abs, cells)) < LARGEST_INT
        return pd.Series(np.array(cells, dtype=np.int64 if whole else np.float64))
    if all(issubclass(kind, date) for kind in kinds):
        return pd.Series(pd.to_datetime(pd.Series(cells), errors="coerce"))
    return pd.Series(cells, dtype=object)
