"""Detects lines below the rows of a table: totals, averages, sources, footnotes.

A line is left out only if its words and its cells agree: a total must hold the sums of the columns
above it, and a note must leave the numeric columns empty. Called by the readers of text and of
workbooks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import zip_longest
from typing import Literal

import numpy as np
import pandas as pd

from softkern._utils.text import plural, quote
from softkern._utils.typing import Array
from softkern.tables.io.layout import Record, is_value
from softkern.tables.io.reader import TableError
from softkern.tables.preparation.formats import NumberFormat, is_number

MOST_NOTES = 40  # lines below a table, including blank ones
CLOSE = 1e-3  # tolerance for rounding, relative to the sum of absolute values
TOTAL = re.compile(
    r"((grand|overall|sub)[ -]?)?(totals?|totaux|totale[ns]?|totaal|totalt|sum|sums|summe|summa|"
    r"suma|soma|som|somme|gesamt|gesamt(summe|ergebnis)|insgesamt|celkem|razem|итого|всего|"
    r"合計|合计|总计|總計|総計)\b|[Σ∑]",
    re.IGNORECASE,
)
AVERAGE = re.compile(
    r"(average|avg|mean|mittel|mittelwert|durchschnitt|moyenne|promedio|media|média|gemiddelde|"
    r"среднее|平均)\b|Ø",
    re.IGNORECASE,
)
NOTE = re.compile(
    r"\*+ ?\w|[†‡§¹²³©]|"
    r"(sources?|quellen?|notes?|footnotes?|anmerkung(en)?|hinweise?|legende?|stand|fuente|fonte|"
    r"remarques?|nota|as of|data from|exported|generated|created|printed|erstellt|exportiert|"
    r"end of (report|file|table|data))\b",
    re.IGNORECASE,
)


def find_footer(
    records: Sequence[Record],
    sample: Iterable[Record],
    width: int,
    skip: int | None,
    tables_above: Callable[[int], Iterable[pd.DataFrame]],
    decimal: str | None,
) -> tuple[int, list[str]]:
    """Return the place below the rows among the last records of a table, and notes.

    `sample` shows which of the `width` columns are numeric. `skip` is the number of records to
    leave out, None to detect them. `tables_above` returns the rows above a place, to check a total.
    """
    filled = [place for place, record in enumerate(records) if any(record)]
    if skip:
        if skip >= len(filled):
            raise TableError(f"no row of the table is left if {plural(skip, 'line')} are skipped.")
        return filled[-skip - 1] + 1, []
    # a blank line is a missing value if there is only one column, but not at the end
    end = len(records) if width > 1 else max(filled, default=-1) + 1
    if skip == 0:
        return end, []
    numeric, number_format = _numeric_columns(sample, width), NumberFormat(decimal or ".")
    place = _first_note(records, width, numeric)
    totals = [k for k in range(place, len(records)) if _total_word(records[k])]
    sums = _column_sums(tables_above(place), numeric, number_format) if totals else {}
    wrong = [k for k in totals if not _agrees(records[k], sums, number_format)]
    notes = []
    if wrong:
        place, word = wrong[-1] + 1, _total_word(records[wrong[-1]])
        if TOTAL.fullmatch(word.rstrip(": ")):  # not "Total S.A.", which is a name
            skipped = sum(map(any, records[place:])) + 1
            notes.append(
                f"'{quote(word, 40)}' at the end is no sum of the columns above it: kept as a row "
                f"(--skip-footer {skipped} leaves it out)"
            )
    below = [record for record in records[place:] if any(record)]
    if not below:
        return end, notes
    notes.append(
        f"left out {plural(len(below), 'line')} below the table, such as "
        f"'{quote(next(filter(None, below[0])), 40)}' "
        f"(--skip-footer 0 reads {'it' if len(below) == 1 else 'them'})"
    )
    return place, notes


def _numeric_columns(sample: Iterable[Record], width: int) -> set[int]:
    """Return the columns most of whose cells are numbers, in records that look like rows."""
    rows = []
    for record in sample:
        filled = list(filter(None, record))
        is_short = len(filled) < min(2, width)
        if not (is_short or _total_word(record) or NOTE.match(filled[0])):
            rows.append(record[:width])
    columns = enumerate(zip_longest(*rows, fillvalue=""))
    return {j for j, cells in columns if 2 * sum(map(is_number, cells)) > sum(map(bool, cells))}


def _first_note(records: Sequence[Record], width: int, numeric: set[int]) -> int:
    """Return the first of the records at the end that are not rows by their words.

    A record that is not clearly a note must stand below a blank line, or below one that is.
    """
    place = len(records)
    for k in reversed(range(max(0, len(records) - MOST_NOTES), len(records))):
        kind = _record_kind(records[k], width, numeric)
        if kind == "note":
            place = k
        elif kind == "row":
            return place
    return len(records)  # only notes: not a table


def _record_kind(
    record: Record, width: int, numeric: set[int]
) -> Literal["row", "note", "perhaps a note"]:
    """Return whether a record is a row, or blank, a total or a note."""
    filled = list(filter(None, record))
    if not filled or _total_word(record):
        return "note"
    n_numbers = sum(is_number(cell) for j, cell in enumerate(record) if j in numeric)
    if is_value(filled[0]) or 2 * n_numbers >= len(numeric):
        return "row"
    if NOTE.match(filled[0]) or len(record) == 1 < width:
        return "note"
    return "row" if n_numbers or len(filled) > max(1, width // 2) else "perhaps a note"


def _total_word(record: Record) -> str:
    """Return the first word of a record if it announces a total or an average, else ""."""
    word = next((cell for cell in record if cell and not is_value(cell)), "")
    return word if TOTAL.match(word) or AVERAGE.match(word) else ""


def _column_sums(
    tables: Iterable[pd.DataFrame], columns: Collection[int], number_format: NumberFormat
) -> dict[int, Array]:
    """Return the sum of each column's numbers, of their absolute values, and their count."""
    sums = {j: np.zeros(3) for j in columns}
    for table in tables:
        for j in columns:
            numbers = number_format.parse(table.iloc[:, j])
            values = numbers[~np.isnan(numbers)]
            sums[j] += [values.sum(), np.abs(values).sum(), values.size]
    return sums


def _agrees(record: Record, sums: dict[int, Array], number_format: NumberFormat) -> bool:
    """Return whether a total has most sums, or means, of the columns, or is only a word."""
    cells = {j: record[j] for j in sums if j < len(record) and is_number(record[j])}
    if not cells:
        return sum(map(bool, record)) == 1
    values = number_format.parse(pd.Series(list(cells.values())))
    total, size, count = np.transpose([sums[j] for j in cells])
    is_average = bool(AVERAGE.match(_total_word(record)))
    is_right = np.abs(values * (count if is_average else 1) - total) <= CLOSE * size
    is_right = is_right[~np.isnan(values)]
    return bool(is_right.size and is_right.mean() >= 0.5)
