"""Reads sheets of Excel workbooks (.xlsx) with openpyxl: the values that their cells show."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from softkern._utils.text import closest_match, plural, quote, quote_list
from softkern.tables.io.bytes import TableBytes, unreadable
from softkern.tables.io.footer import MOST_NOTES, ColumnTotals, find_footer
from softkern.tables.io.layout import find_header
from softkern.tables.io.reader import ERRORS, Format, Style, TableError, unique_names
from softkern.tables.io.records import RecordReader
from softkern.tables.preparation.formats import NumberFormat

__all__ = ["ExcelReader"]

Row = tuple[Any, ...]
HEAD_ROWS = 200  # rows by which the layout is detected


class ExcelReader(RecordReader):
    """One sheet of a workbook."""

    def __init__(self, data: TableBytes, form: Format) -> None:
        book = _open_book(data)
        chosen = _choose_sheets(book.sheetnames, form, data.name)
        sheets = {title: _read_rows(book[title]) for title in chosen}
        book.close()
        data.close()
        title, rows = next(((t, r) for t, r in sheets.items() if r), ("", []))
        if not rows:
            raise TableError(f"{data.name}: {quote_list(list(sheets))} holds nothing.")
        layout = find_header(_words(rows[:HEAD_ROWS]), form, data.name)
        notes = layout.notes
        others = [other for other, found in sheets.items() if other != title and found]
        if others:
            notes.insert(
                0, f"the sheet '{quote(title)}' is read; --sheet names {quote_list(others)}"
            )
        body = rows[layout.skip :]
        width = max(len(layout.names), *map(len, body), 0)
        names = layout.names + [""] * (width - len(layout.names))
        body = body[: _find_end(body, width, form, notes)]
        self._body, n_errors = _without_errors(body, width)
        if n_errors:
            notes.append(f"{plural(n_errors, 'cell')} with an error of Excel's: taken as missing")
        self._missing = frozenset(form.marks())
        super().__init__(
            data.name,
            f"Excel (sheet '{quote(title, 40)}')",
            unique_names(names, notes),
            notes,
            decimal=form.decimal,
            style=Style(".xlsx"),
        )

    def _records(self) -> Iterator[Row]:
        return iter(self._body)


def _open_book(data: TableBytes) -> Any:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise TableError(
            f"{data.name} is an Excel workbook, which needs openpyxl: pip install "
            "'softkern[excel]', or save the sheet as CSV."
        ) from None
    content = io.BytesIO(data.read())
    try:
        with warnings.catch_warnings():  # about styles and filters that are not kept
            warnings.simplefilter("ignore")
            return load_workbook(content, read_only=True, data_only=True)
    except Exception as error:  # a damaged file raises anything
        raise unreadable(data.name, error) from error


def _choose_sheets(titles: Sequence[str], form: Format, name: str) -> list[str]:
    """Return the sheet that was chosen by name or number. By default all sheets."""
    if form.sheet is None:
        return list(titles)
    if form.sheet in titles:
        return [form.sheet]
    if form.sheet.isascii() and form.sheet.isdigit() and 1 <= int(form.sheet) <= len(titles):
        return [titles[int(form.sheet) - 1]]
    meant = closest_match(form.sheet, titles)
    guess = f" (did you mean '{quote(meant)}'?)" if meant else ""
    raise TableError(
        f"{name} has no sheet '{quote(form.sheet)}'{guess}; its sheets are "
        f"{quote_list(titles, 12)}."
    )


def _read_rows(sheet: Any) -> list[Row]:
    """Return the rows of a sheet up to the last with content, without blank cells at their end."""
    if not hasattr(sheet, "iter_rows"):  # a sheet of charts
        return []
    sheet.reset_dimensions()  # some programs write wrong ones
    rows = [_trimmed(row) for row in sheet.iter_rows(values_only=True)]
    while rows and not rows[-1]:
        rows.pop()
    return rows


def _trimmed(row: Row) -> Row:
    end = len(row)
    while end and row[end - 1] in (None, ""):
        end -= 1
    return row[:end]


def _find_end(rows: Sequence[Row], width: int, form: Format, notes: list[str]) -> int:
    """Return the number of rows above totals and notes."""
    number_format = NumberFormat(form.decimal or ".")
    start = max(0, len(rows) - max(form.skip_footer or 0, MOST_NOTES) * 2)

    def totals(place: int, columns: Sequence[int]) -> dict[int, ColumnTotals]:
        body = [row + (None,) * (width - len(row)) for row in rows[: start + place]]
        cells = {j: pd.Series([row[j] for row in body], dtype=object) for j in columns}
        return {j: ColumnTotals().plus(values, number_format) for j, values in cells.items()}

    last, first = _words(rows[start:]), _words(rows[:HEAD_ROWS])
    footer = find_footer(last, first, width, form.skip_footer, totals, number_format)
    notes.extend(footer.notes)
    return start + footer.place


def _words(rows: Sequence[Row]) -> list[list[str]]:
    return [["" if cell is None else str(cell).strip() for cell in row] for row in rows]


def _without_errors(rows: Sequence[Row], width: int) -> tuple[list[Row], int]:
    """Return rows of one width without errors and blank rows, and the number of errors.

    A blank row is a missing value if there is only one column.
    """
    body, errors = [], 0
    for row in rows:
        if not row and width > 1:
            continue
        cells = tuple(None if isinstance(c, str) and c in ERRORS else c for c in row)
        errors += sum(old is not new for old, new in zip(row, cells, strict=True))
        body.append(cells + (None,) * (width - len(row)))
    return body, errors
