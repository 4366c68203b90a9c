"""Which columns of a table hold numbers, in which format, and their numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from softkern._utils.text import plural, quote, quote_list
from softkern._utils.typing import Array
from softkern.exceptions import DataError, Remedy
from softkern.tables.preparation.categories import MOST_CATEGORIES
from softkern.tables.preparation.cells import is_numeric, is_text
from softkern.tables.preparation.formats import (
    NumberFormat,
    decimal_points,
    infer_date_format,
    infer_number_format,
    is_number,
    parse_plain,
    sample_cells,
)
from softkern.tables.preparation.kinds import are_dates
from softkern.tables.preparation.notes import Note, merge_notes

LONG = 17  # digits from which whole numbers are names, not measurements
DIGITS = re.compile(rf"\s*\d{{{LONG},}}\s*")
TIME = re.compile(r"\d{1,3}:\d{2}(:\d{2}([.,]\d+)?)?")
SAMPLE = 100  # cells that show whether all are dates of some format
NEARLY_NUMBERS = 0.5  # share of numbers in a column from which other text in it is an error


def find_numbers(
    table: pd.DataFrame,
    columns: Sequence[str],
    *,
    are_required: bool = False,
    decimal: str = ".",
    dates: bool = False,
) -> tuple[list[str], dict[str, NumberFormat], list[Note]]:
    """Return the columns that hold numbers, formats of those that are not plain, and notes.

    With `are_required`, a column that does not hold numbers is an error. With `dates`, dates are
    numbers, as days. The notes are on formats, and on columns that do not hold numbers.
    """
    names, formats, read, excluded = [], {}, [], []
    for column in columns:
        number_format, kind, values = _content(table[column], decimal, dates, are_required)
        if kind and number_format is None:
            excluded.append(Note(kind, [column], values))
            continue
        names.append(column)
        if number_format is not None:
            formats[column] = number_format
            read.append(Note(kind, [column], values))
    if excluded and are_required:
        raise _not_numbers(merge_notes(excluded))
    return names, formats, read + excluded


def _content(
    cells: pd.Series[Any], decimal: str, dates: bool, is_required: bool
) -> tuple[NumberFormat | None, str, dict[str, Any]]:
    """Return the format of a column, and the kind and values of a note, "" for plain numbers."""
    present, sample = cells.dropna(), []
    if is_numeric(present.dtype):
        is_long = present.dtype.kind in "iu" and (present.abs() >= 10 ** (LONG - 1)).mean() > 0.5
    else:
        sample = sample_cells(present)
        is_long = sum(map(bool, map(DIGITS.fullmatch, sample))) > len(sample) / 2
    if is_long and not is_required:  # floats cannot represent them
        return None, "long numbers", {"digits": LONG}
    numbers = parse_plain(present, decimal) if is_text(present.dtype) else None
    if numbers is not None or is_numeric(present.dtype) or present.empty:
        if dates and are_dates(NumberFormat(decimal).parse(present)):
            return NumberFormat(decimal, date="%Y%m%d"), "days", {"ambiguous": ""}
        return None, "", {}
    if any(map(is_number, sample)):
        guess = infer_number_format(present, decimal)
        if guess.n_parsed == len(present) and len(guess.units) < 2:
            values = {"format": guess.format, "ambiguous": guess.ambiguous, "bare": guess.n_bare}
            return guess.format, "number format", values
        if guess.n_parsed >= NEARLY_NUMBERS * len(present):
            if len(guess.units) > 1:
                return None, "several units", {"units": list(guess.units)}
            raise _not_a_number(cells, guess.format, 1)
    date = infer_date_format(present, decimal)
    if date is None or not dates:
        return None, _text_kind(present, sample) if date is None else "dates", {}
    values = {"ambiguous": quote(date[1])}
    if date[1]:
        values["is_month_first"] = date[0].startswith(("%m", "%b", "%B"))
    return NumberFormat(decimal, date=date[0]), "days", values


def _text_kind(values: pd.Series[Any], sample: list[str]) -> str:
    """Return the kind of the note about a column of text."""
    n_values = values.astype(str).nunique()
    if n_values == 1:
        return "constant text"
    if all(map(TIME.fullmatch, sample)):
        return "times"
    if all(infer_date_format(pd.Series([cell])) is not None for cell in sample[:SAMPLE]):
        return "mixed dates"
    return "categories" if n_values <= MOST_CATEGORIES else "text"


def _not_numbers(notes: Sequence[Note]) -> DataError:
    """Return the error about required columns that do not hold numbers."""
    from softkern.tables.text import content_text

    texts = [name for note in notes if note.kind == "categories" for name in note.columns]
    remedies = [Remedy("categories", texts, "to use text as categories")] if texts else []
    if any(note.kind == "dates" for note in notes):
        remedies.append(Remedy("dates", True, "to use dates as days"))
    contents = [f"{quote_list(note.columns)}: {content_text(note)}" for note in notes]
    return DataError(f"no numbers in {'; '.join(contents)}.", remedies)


def _not_a_number(values: pd.Series[Any], number_format: NumberFormat, first_row: int) -> DataError:
    """Return the error about a column of numbers in which some cells are not."""
    # numbers too large for floats do not count either
    is_bad = values.notna().to_numpy() & ~np.isfinite(number_format.parse(values))
    place = int(np.flatnonzero(is_bad)[0])
    cell = quote(values.iloc[place])
    what = "dates" if number_format.date else "numbers"
    message = (
        f"'{quote(values.name)}' holds {what} except in {plural(int(is_bad.sum()), 'row')}, "
        f"for example '{cell}' in row {place + first_row:,}."
    )
    remedies = [Remedy("columns", None, "to leave the column out")]
    if points := decimal_points(cell):  # a number is never taken as a missing value
        message += " It has another format than the others; correct it."
        if len(points) == 1:
            remedies.insert(0, Remedy("decimal", points, "if that is the decimal point of all"))
    elif any(map(str.isdigit, cell)):
        message += " Correct it."
    else:
        remedies.insert(0, Remedy("na_values", cell, "to treat it as missing"))
    return DataError(message, remedies)


def read_numbers(
    table: pd.DataFrame,
    columns: Sequence[str],
    formats: Mapping[str, NumberFormat],
    decimal: str,
    first_row: int = 1,
) -> Array:
    """Return columns as floats, (n, d), with NaN for missing and infinite values.

    `first_row` is the number of the table's first row in error messages.
    """
    numbers = np.empty((len(table), len(columns)))
    for j, column in enumerate(columns):
        values, number_format = table[column], formats.get(column, NumberFormat(decimal))
        numbers[:, j] = number_format.parse(values)
        is_parsed = bool(number_format.date) or not is_numeric(values.dtype)
        if is_parsed and (np.isnan(numbers[:, j]) & values.notna().to_numpy()).any():
            raise _not_a_number(values, number_format, first_row)
    numbers[np.isinf(numbers)] = np.nan
    return numbers
