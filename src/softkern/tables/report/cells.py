"""Cells of the user's table for the rows that the page lists."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from softkern._utils.typing import Array
from softkern.tables.report.packing import holds_numbers, shorten

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["listed_cells"]

MAX_COLUMNS = 300
MAX_LENGTH = 200  # characters of a cell


def listed_cells(table: pd.DataFrame, rows: Array, places: list[int]) -> dict[str, Any]:
    """Return cells of some of the drawn rows: numbers, text, or None for an empty cell."""
    part = table.iloc[rows[places], :MAX_COLUMNS]
    columns = [_cells(part.iloc[:, k]) for k in range(part.shape[1])]
    return {
        "columns": [shorten(name) for name in part.columns],
        "more": max(0, table.shape[1] - MAX_COLUMNS),
        "rows": {str(place): [column[k] for column in columns] for k, place in enumerate(places)},
    }


def _cells(column: pd.Series[Any]) -> list[Any]:
    is_empty = column.isna().to_numpy()
    if holds_numbers(column.dtype):
        values = column.to_numpy(np.float64, na_value=np.nan)
        # JSON has no infinite numbers
        return [
            int(value)
            if value.is_integer() and abs(value) < 2**53
            else value
            if math.isfinite(value)
            else (None if math.isnan(value) else str(value))
            for value in values.tolist()
        ]
    return [
        None if empty else shorten(value, MAX_LENGTH)
        for value, empty in zip(column.tolist(), is_empty.tolist(), strict=True)
    ]
