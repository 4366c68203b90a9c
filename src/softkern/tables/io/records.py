"""Cells that have types already, as columns of a DataFrame. Called by sheets and JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from softkern.tables.io.reader import Reader

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["pieces"]

LARGEST_INT = 2**63


def pieces(
    records: Iterable[Sequence[Any]],
    reader: Reader,
    marks: Sequence[str],
    rows: int | None,
    kept: Sequence[str],
) -> Iterator[pd.DataFrame]:
    """Records in tables of so many rows, all in one for 0; those of `kept` columns as they are."""
    size = reader.rows_at_once() if rows is None else rows
    records, missing = iter(records), frozenset(marks)
    while True:
        part = list(records if size == 0 else islice(records, size))
        if part or size == 0:
            yield _frame(part, reader.columns, missing, kept)
        if size == 0 or len(part) < size:
            return


def _frame(
    records: Sequence[Sequence[Any]],
    columns: Sequence[str],
    missing: frozenset[str],
    kept: Sequence[str],
) -> pd.DataFrame:
    import pandas as pd

    cells = list(zip(*records, strict=True)) or [()] * len(columns)
    parts = {
        name: pd.Series(values, dtype=object) if name in kept else _typed(values, missing)
        for name, values in zip(columns, cells, strict=True)
    }
    return pd.DataFrame(parts, columns=pd.Index(columns))


def _typed(values: Sequence[Any], missing: frozenset[str]) -> pd.Series[Any]:
    """Numbers as numbers and dates as dates where all are, else what was there."""
    import pandas as pd

    cells: list[Any] = [None if isinstance(v, str) and v.strip() in missing else v for v in values]
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float}:
        whole = kinds == {int} and None not in cells and max(map(abs, cells)) < LARGEST_INT
        return pd.Series(np.array(cells, dtype=np.int64 if whole else np.float64))
    if all(issubclass(kind, date) for kind in kinds):
        return pd.Series(pd.to_datetime(pd.Series(cells), errors="coerce"))
    return pd.Series(cells, dtype=object)
