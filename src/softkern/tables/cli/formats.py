"""Writes tables as workbooks and as JSON lines.

`DataFrame.to_json(lines=True)` writes at most 15 digits; here numbers keep all of theirs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date
from typing import Any, TextIO

import numpy as np
import pandas as pd

from softkern.tables.cli.errors import OutputError

__all__ = ["write_json_lines", "write_workbook"]

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384  # of a sheet, including the header


def write_workbook(tables: Iterable[pd.DataFrame], path: str) -> int:
    """Write tables of the same columns to one sheet, and return the number of rows.

    Text stays text: a cell "=1+1" is no formula.
    """
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE as UNWRITABLE
    except ImportError:
        raise OutputError("Excel needs openpyxl: pip install 'softkern[excel]'.") from None
    book = Workbook(write_only=True)
    sheet = book.create_sheet("softkern")

    def cell(value: Any) -> Any:
        value = _plain(value)
        if not isinstance(value, str):
            return value
        text = WriteOnlyCell(sheet, UNWRITABLE.sub("", value))
        text.data_type = "s"
        return text

    count = 0
    for number, table in enumerate(tables):
        count += len(table)
        if count >= MOST_ROWS or table.shape[1] > MOST_COLUMNS:
            raise OutputError(
                f"a sheet holds at most {MOST_ROWS - 1:,} rows and {MOST_COLUMNS:,} columns; write "
                ".csv or .parquet."
            )
        if number == 0:
            sheet.append([cell(str(name)) for name in table.columns])
        for row in table.astype(object).itertuples(index=False, name=None):
            sheet.append([cell(value) for value in row])
    with open(path, "wb") as file:  # openpyxl would judge the format by the name
        book.save(file)
    return count


def write_json_lines(tables: Iterable[pd.DataFrame], file: TextIO) -> int:
    """Write tables of the same columns, one object per row, and return the number of rows."""
    count = 0
    for table in tables:
        names = [str(name) for name in table.columns]
        for row in table.astype(object).itertuples(index=False, name=None):
            values = (v.isoformat() if isinstance(v, date) else v for v in map(_plain, row))
            line = json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False)
            file.write(line + "\n")
        count += len(table)
    return count


def _plain(value: Any) -> Any:
    """Return a cell as a Python value, None if it is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return None
    if isinstance(value, float) and np.isinf(value):
        return str(value)
    if isinstance(value, pd.Timestamp):
        return value.tz_localize(None).to_pydatetime()  # sheets have no time zones
    if isinstance(value, bool | int | float | str | date):
        return value
    return str(value)
