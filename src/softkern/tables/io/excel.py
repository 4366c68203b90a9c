"""Sheets of Excel workbooks (.xlsx), read by openpyxl: the values that their cells show."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from softkern._utils.text import closest_match, plural, quote, quote_list
from softkern.tables.io.bytes import broken, in_memory
from softkern.tables.io.footer import MOST_NOTES, Figures, foot_of
from softkern.tables.io.layout import header_of
from softkern.tables.io.reader import ERRORS, Format, Reader, Style, TableError, unique_names
from softkern.tables.io.records import pieces
from softkern.tables.preparation.formats import Writing

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["sheet_table"]

Row = tuple[Any, ...]


def sheet_table(raw: BinaryIO, name: str, form: Format) -> Reader:
    """One sheet of a workbook as an open table."""
    book = _book(raw, name)
    sheets = {title: _rows(book[title]) for title in _asked(book.sheetnames, form, name)}
    book.close()
    raw.close()
    title, rows = next(((t, r) for t, r in sheets.items() if r), (None, []))
    if title is None:
        raise TableError(f"{name}: {quote_list(list(sheets))} holds nothing.")
    words = [[_word(cell) for cell in row] for row in rows[:200]]
    layout = header_of(words, form, name)
    notes = layout.notes
    others = [other for other, found in sheets.items() if other != title and found]
    if others:
        notes.insert(0, f"the sheet '{quote(title)}' is read; --sheet names {quote_list(others)}")
    width = max(len(layout.names), *(len(row) for row in rows[layout.skip :]), 0)
    names = layout.names + [""] * (width - len(layout.names))
    below = rows[layout.skip :]
    below = below[: _end(below, width, form, notes)]
    body, found_errors = _body(below, width)
    if found_errors:
        notes.append(f"{plural(found_errors, 'cell')} with an error of Excel's: taken as missing")
    reader = Reader(
        name,
        f"Excel (sheet '{quote(title, 40)}')",
        unique_names(names, notes),
        notes,
        form.decimal,
        Style(".xlsx"),
    )

    def chunks(
        rows: int | None, kept: tuple[str, ...], words: tuple[str, ...]
    ) -> Iterator[pd.DataFrame]:
        return pieces(body, reader, form.marks(), rows, kept)

    reader._chunks = chunks
    return reader


def _book(raw: BinaryIO, name: str) -> Any:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise TableError(
            f"{name} is an Excel workbook, which needs openpyxl: pip install 'softkern[excel]', or "
            "save the sheet as CSV."
        ) from None
    try:
        with warnings.catch_warnings():  # of styles and filters that are not kept
            warnings.simplefilter("ignore")
            return load_workbook(in_memory(raw, name), read_only=True, data_only=True)
    except Exception as error:  # whatever a broken file makes its parser raise
        raise broken(name, error) from error


def _asked(titles: Sequence[str], form: Format, name: str) -> list[str]:
    """The sheet that was asked for, by name or number; else all."""
    if form.sheet is None:
        return list(titles)
    if form.sheet in titles:
        return [form.sheet]
    if form.sheet.isascii() and form.sheet.isdigit() and 1 <= int(form.sheet) <= len(titles):
        return [titles[int(form.sheet) - 1]]
    meant = closest_match(form.sheet, titles)
    guess = f" (did you mean '{quote(meant)}'?)" if meant else ""
    raise TableError(
        f"--sheet: {name} has no sheet '{quote(form.sheet)}'{guess}; its sheets are "
        f"{quote_list(titles, 12)}."
    )


def _rows(sheet: Any) -> list[Row]:
    """The rows of a sheet up to the last that holds something, without blank cells at their end."""
    if not hasattr(sheet, "iter_rows"):  # a sheet of charts
        return []
    sheet.reset_dimensions()  # what some programs write there is wrong
    rows = [_trimmed(row) for row in sheet.iter_rows(values_only=True)]
    while rows and not rows[-1]:
        rows.pop()
    return rows


def _trimmed(row: Row) -> Row:
    end = len(row)
    while end and row[end - 1] in (None, ""):
        end -= 1
    return row[:end]


def _end(rows: Sequence[Row], width: int, form: Format, notes: list[str]) -> int:
    """How many rows there are above totals and notes."""
    import pandas as pd

    writing = Writing(form.decimal or ".")
    start = max(0, len(rows) - max(form.skip_footer or 0, MOST_NOTES) * 2)

    def figures(place: int, columns: Sequence[int]) -> dict[int, Figures]:
        body = [row + (None,) * (width - len(row)) for row in rows[: start + place]]
        cells = {j: pd.Series([row[j] for row in body], dtype=object) for j in columns}
        return {j: Figures().plus(values, writing) for j, values in cells.items()}

    records = [[_word(cell) for cell in row] for row in rows[start:]]
    sample = [[_word(cell) for cell in row] for row in rows[:200]]
    foot = foot_of(records, sample, width, form.skip_footer, figures, writing)
    notes.extend(foot.notes)
    return start + foot.place


def _word(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()


def _body(rows: Sequence[Row], width: int) -> tuple[list[Row], int]:
    """Rows of one width, without blank ones between them; and how many cells are errors.

    A blank row is a missing value where there is but one column.
    """
    kept, errors = [], 0
    for row in rows:
        if not row and width > 1:
            continue
        wrong = sum(cell in ERRORS for cell in row if isinstance(cell, str))
        if wrong:
            errors += wrong
            row = tuple(None if isinstance(c, str) and c in ERRORS else c for c in row)
        kept.append(row + (None,) * (width - len(row)))
    return kept, errors
