"""Reads sheets of Excel workbooks (.xlsx) with openpyxl: the values that their cells show."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from softkern._utils.text import closest_match, plural, quote, quote_list
from softkern.tables.io.bytes import TableBytes, naming_damage
from softkern.tables.io.footer import MOST_NOTES, find_footer
from softkern.tables.io.layout import MOST_LINES, find_header
from softkern.tables.io.reader import ERRORS, Format, RecordReader, Style, TableError, unique_names

Row = tuple[Any, ...]


class ExcelReader(RecordReader):
    """One sheet of a workbook."""

    def __init__(self, data: TableBytes, form: Format) -> None:
        super().__init__(data.name, form)
        self.style = Style(".xlsx")
        book = _open_book(data)
        chosen = _choose_sheets(book.sheetnames, form, data.name)
        sheets = {title: _read_rows(book[title]) for title in chosen}
        book.close()
        data.close()
        filled = [title for title, rows in sheets.items() if rows]
        if not filled:
            raise TableError(f"{data.name}: {quote_list(chosen)} holds nothing.")
        title, *others = filled
        self.kind = f"Excel (sheet '{quote(title, 40)}')"
        if others:
            self.notes.append(
                f"the sheet '{quote(title)}' is read; --sheet names {quote_list(others)}"
            )
        rows = sheets[title]
        names, skip = find_header(_words(rows[:MOST_LINES]), form, data.name, self.notes)
        body = rows[skip:]
        width = max(len(names), *map(len, body), 0)
        body = body[: _find_end(body, width, form, self.notes)]
        n_errors = sum(cell in ERRORS for row in body for cell in row)
        if n_errors:
            what = f"{plural(n_errors, 'cell')} with an error of Excel's"
            self.notes.append(f"{what}: taken as missing")
        # a blank row is a missing value if there is only one column
        self._rows = [_fill(row, width) for row in body if row or width == 1]
        self.columns = unique_names([*names, *[""] * (width - len(names))], self.notes)

    def _records(self) -> Iterator[Row]:
        return iter(self._rows)


def _open_book(data: TableBytes) -> Any:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise TableError(
            f"{data.name} is an Excel workbook, which needs openpyxl: pip install "
            "'softkern[excel]', or save the sheet as CSV."
        ) from None
    content = io.BytesIO(data.read())
    with naming_damage(data.name, "an Excel workbook"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and filters that are not kept
        return load_workbook(content, read_only=True, data_only=True)


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
    rows = []
    for row in sheet.iter_rows(values_only=True):
        filled = [j for j, cell in enumerate(row) if cell not in (None, "")]
        rows.append(row[: filled[-1] + 1] if filled else ())
    while rows and not rows[-1]:
        rows.pop()
    return rows


def _find_end(rows: Sequence[Row], width: int, form: Format, notes: list[str]) -> int:
    """Return the number of rows above totals and notes, and add notes."""
    start = max(0, len(rows) - max(form.skip_footer or 0, MOST_NOTES) * 2)

    def tables_above(place: int) -> list[pd.DataFrame]:
        body = [_fill(row, width) for row in rows[: start + place]]
        return [pd.DataFrame(body, columns=range(width), dtype=object)]

    last, first = _words(rows[start:]), _words(rows[:MOST_LINES])
    place, found = find_footer(last, first, width, form.skip_footer, tables_above, form.decimal)
    notes.extend(found)
    return start + place


def _fill(row: Row, width: int) -> Row:
    """Return a row with as many cells as the others, errors as missing values."""
    return tuple(None if cell in ERRORS else cell for cell in row) + (None,) * (width - len(row))


def _words(rows: Sequence[Row]) -> list[list[str]]:
    return [["" if cell is None else str(cell).strip() for cell in row] for row in rows]
