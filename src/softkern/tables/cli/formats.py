"""Tables written as workbooks and as JSON lines. Called by `softkern.tables.cli.points`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date
from typing import Any, TextIO

import numpy as np
import pandas as pd

from softkern.tables.cli.errors import OutputError

__all__ = ["write_json_lines", "write_workbook"]

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384  # of a sheet, the header among them


def write_workbook(tables: Iterable[pd.DataFrame], path: str) -> int:
    """Tables of the same columns one after the other on one sheet; how many rows.

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
                f"a sheet holds {MOST_ROWS - 1:,} rows and {MOST_COLUMNS:,} columns, which are not "
                "enough; write .csv or .parquet."
            )
        if number == 0:
            sheet.append([cell(str(name)) for name in table.columns])
        for row in table.astype(object).itertuples(index=False, name=None):
            sheet.append([cell(value) for value in row])
    with open(path, "wb") as file:  # by its name alone, openpyxl would judge the format
        book.save(file)
    return count


def write_json_lines(tables: Iterable[pd.DataFrame], file: TextIO) -> int:
    """Tables of the same columns, one object a row; how many rows."""
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
    """A cell as Python has it, None where it is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return None
    if isinstance(value, float) and np.isinf(value):
        return str(value)
    if isinstance(value, pd.Timestamp):
        return value.tz_localize(None).to_pydatetime()  # a sheet knows no time zones
    if isinstance(value, bool | int | float | str | date):
        return value
    return str(value)
