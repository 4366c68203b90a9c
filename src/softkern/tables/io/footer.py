"""Detects what stands below the rows of a table: totals, averages, sources, footnotes.

A line is left out only if its words and its cells agree: a total must hold the sums of the columns
above it, and a note must leave the numeric columns empty. Called by the readers of text and of
workbooks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd

from softkern._utils.text import plural, quote
from softkern.tables.io.layout import is_value
from softkern.tables.io.reader import TableError
from softkern.tables.preparation.formats import NumberFormat, is_number

__all__ = ["MOST_NOTES", "ColumnTotals", "Footer", "find_footer"]

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

Record = Sequence[str]


@dataclass(frozen=True)
class ColumnTotals:
    """The sum of the numbers of a column, of their absolute values, and their count."""

    sum: float = 0.0
    size: float = 0.0
    count: int = 0

    def plus(self, cells: pd.Series[Any], number_format: NumberFormat) -> ColumnTotals:
        """Return the totals with more cells, given as numbers or as text."""
        numbers = cells if cells.dtype.kind in "iuf" else number_format.parse(cells)
        values = numbers.dropna().to_numpy(dtype=np.float64)
        size = float(np.abs(values).sum())
        return ColumnTotals(
            self.sum + float(values.sum()), self.size + size, self.count + len(values)
        )

    def agrees(self, value: float, word: str) -> bool:
        """Return whether a number is the column's sum, or its mean if the word announces one."""
        times = self.count if AVERAGE.match(word) else 1
        return abs(value * times - self.sum) <= CLOSE * self.size


@dataclass(frozen=True)
class Footer:
    """The place of the first record below the rows, and notes for the user."""

    place: int
    notes: tuple[str, ...] = ()


def find_footer(
    records: Sequence[Record],
    sample: Iterable[Record],
    width: int,
    skip: int | None,
    totals_above: Callable[[int, Sequence[int]], dict[int, ColumnTotals]],
    number_format: NumberFormat,
) -> Footer:
    """Return where the rows of a table end.

    Parameters
    ----------
    records : sequence of sequences of str
        The last records of the table without the header, including blank ones.
    sample : iterable of records
        Records that show which columns are numeric.
    width : int
        Number of columns.
    skip : int or None
        Records to leave out; None to detect them.
    totals_above : callable
        Computes the totals of columns above a record. Called only to check a total.
    number_format : NumberFormat
        How numbers are written.

    Examples
    --------
    >>> records = [["a", "1"], ["b", "2"], ["Total", "3"], [], ["Source: us"]]
    >>> totals = {1: ColumnTotals(3, 3, 2)}
    >>> find_footer(records, records, 2, None, lambda place, columns: totals, NumberFormat())
    Footer(place=2, notes=("left out 2 lines below the table, such as 'Total' ...",))
    """
    if skip is not None:
        return Footer(_place_above(records, skip))
    rows = (record[:width] for record in sample if not _is_loose(record, width))
    numeric = _numeric_columns(rows)
    place = _first_note(records, width, numeric)
    announced = {
        k: {j: cell for j, cell in enumerate(records[k]) if j in numeric and is_number(cell)}
        for k in range(place, len(records))
        if _total_word(records[k])
    }
    columns = sorted(set().union(*announced.values()))
    totals = totals_above(place, columns) if columns else {}
    wrong = [
        k for k, cells in announced.items() if not _agrees(records[k], cells, totals, number_format)
    ]
    notes = []
    if wrong:
        place, word = wrong[-1] + 1, _total_word(records[wrong[-1]])
        if TOTAL.fullmatch(word.rstrip(": ")):  # not "Total S.A.", which is a name
            notes.append(
                f"'{quote(word, 40)}' at the end is no sum of the columns above it: kept as a row "
                f"(--skip-footer {_lines(records[place:]) + 1} leaves it out)"
            )
    lines = _lines(records[place:])
    if not lines:
        return Footer(len(records), tuple(notes))
    first = next(cell for record in records[place:] for cell in record if cell)
    notes.append(
        f"left out {plural(lines, 'line')} below the table, such as '{quote(first, 40)}' "
        f"(--skip-footer 0 reads {'it' if lines == 1 else 'them'})"
    )
    return Footer(place, tuple(notes))


def _place_above(records: Sequence[Record], skip: int) -> int:
    """Return the place above the last `skip` records that are not blank."""
    filled = [place for place, record in enumerate(records) if any(record)]
    if skip >= len(filled):
        raise TableError(f"no row of the table is left if {plural(skip, 'line')} are skipped.")
    return filled[-skip - 1] + 1 if skip else len(records)


def _lines(records: Sequence[Record]) -> int:
    return sum(any(record) for record in records)


def _numeric_columns(sample: Iterable[Record]) -> set[int]:
    """Return the columns most of whose cells are numbers."""
    numeric = set()
    for j, cells in enumerate(zip_longest(*sample, fillvalue="")):
        filled = [cell for cell in cells if cell]
        if 2 * sum(map(is_number, filled)) > len(filled):
            numeric.add(j)
    return numeric


def _first_note(records: Sequence[Record], width: int, numeric: set[int]) -> int:
    """Return the first of the records at the end that are not rows by their words.

    A record that is not clearly a note must stand below a blank line, or below one that is.
    """
    place = len(records)
    for k in reversed(range(max(0, len(records) - MOST_NOTES), len(records))):
        record = records[k]
        if not any(record) or _total_word(record) or _is_note(record, width, numeric):
            place = k
        elif not _may_be_note(record, width, numeric):
            return place
    return len(records)  # only notes: not a table


def _is_loose(record: Record, width: int) -> bool:
    """Return whether a record is blank, a total or a note."""
    filled = [cell for cell in record if cell]
    is_short = len(filled) < min(2, width)
    return is_short or bool(_total_word(record)) or bool(NOTE.match(filled[0]))


def _total_word(record: Record) -> str:
    """Return the first word of a record if it announces a total or an average, else ""."""
    word = next((cell for cell in record if cell and not is_value(cell)), "")
    return word if TOTAL.match(word) or AVERAGE.match(word) else ""


def _is_note(record: Record, width: int, numeric: set[int]) -> bool:
    """Return whether a record begins as notes do, or has one cell only, and is no row."""
    filled = [cell for cell in record if cell]
    if not _is_text(record, numeric):
        return False
    return bool(NOTE.match(filled[0])) or (len(record) == 1 < width)


def _may_be_note(record: Record, width: int, numeric: set[int]) -> bool:
    """Return whether a record fills up to half of the columns, and no numeric one."""
    filled = [cell for cell in record if cell]
    is_text = _is_text(record, numeric) and not _n_numbers(record, numeric)
    return is_text and len(filled) <= max(1, width // 2)


def _is_text(record: Record, numeric: set[int]) -> bool:
    """Return whether a record begins with words, and has few numbers."""
    first = next(cell for cell in record if cell)
    is_sparse = 2 * _n_numbers(record, numeric) < len(numeric)
    return not is_value(first) and bool(numeric) and is_sparse


def _n_numbers(record: Record, numeric: set[int]) -> int:
    """Return the number of numeric columns in which a record has a number."""
    return sum(is_number(cell) for j, cell in enumerate(record) if j in numeric)


def _agrees(
    record: Record,
    cells: dict[int, str],
    totals: dict[int, ColumnTotals],
    number_format: NumberFormat,
) -> bool:
    """Return whether most numbers of a total are those of their columns, or it has only a word."""
    word = _total_word(record)
    if not cells:
        return sum(map(bool, record)) == 1
    values = number_format.parse(pd.Series(list(cells.values())))
    right = [totals[j].agrees(v, word) for j, v in zip(cells, values, strict=True) if v == v]
    return bool(right) and 2 * sum(right) >= len(right)
