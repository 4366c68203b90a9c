"""What stands below the rows of a table: totals, averages, sources, footnotes.

A line is left out only where its words and its cells agree: a total must hold the sums of the
columns above it, a note must leave the columns of numbers empty. Called by the readers of text and
of sheets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from softkern._utils.text import plural, quote
from softkern.tables.io.layout import is_value
from softkern.tables.io.reader import TableError
from softkern.tables.preparation.formats import Writing, is_number

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MOST_NOTES", "Figures", "Foot", "foot_of"]

MOST_NOTES = 40  # lines below a table, blank ones too
CLOSE = 1e-3  # of the sum of absolute values: what rounding may have changed
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
class Figures:
    """A column above a total: the sum of its numbers, of their absolute values, and how many."""

    sum: float = 0.0
    size: float = 0.0
    count: int = 0

    def plus(self, cells: pd.Series[Any], writing: Writing) -> Figures:
        """With more of its cells, as numbers or as text."""
        numbers = cells if cells.dtype.kind in "iuf" else writing.numbers(cells)
        values = numbers.dropna().to_numpy(dtype=np.float64)
        size = float(np.abs(values).sum())
        return Figures(self.sum + float(values.sum()), self.size + size, self.count + len(values))

    def agrees(self, value: float, word: str) -> bool:
        """Whether a number is the column's sum, or its mean where the word says so."""
        times = self.count if AVERAGE.match(word) else 1
        return abs(value * times - self.sum) <= CLOSE * self.size


@dataclass(frozen=True)
class Foot:
    """The place of the first record that is no row any more, and what to say of it."""

    place: int
    notes: tuple[str, ...] = ()


def foot_of(
    records: Sequence[Record],
    sample: Iterable[Record],
    width: int,
    asked: int | None,
    figures: Callable[[int, Sequence[int]], dict[int, Figures]],
    writing: Writing,
) -> Foot:
    """Where the rows of a table end.

    Parameters
    ----------
    records : sequence of sequences of str
        The last records of the table, blank ones too, without the header.
    sample : iterable of records
        By which columns of numbers are told from others.
    width : int
        Columns of the table.
    asked : int or None
        Records to leave out; None to find out.
    figures : callable
        What the columns hold above a place, asked for where a total is to be checked.
    writing : Writing
        How numbers are written.

    Examples
    --------
    >>> records = [["a", "1"], ["b", "2"], ["Total", "3"], [], ["Source: us"]]
    >>> foot_of(records, records, 2, None, lambda place, of: {1: Figures(3, 3, 2)}, Writing())
    Foot(place=2, notes=("left out 2 lines below the table, such as 'Total' ...",))
    """
    if asked is not None:
        return Foot(_counted(records, asked))
    rows = (record[:width] for record in sample if not _is_loose(record, width))
    numbers = _number_columns(rows)
    place = _place(records, width, numbers)
    totals = {
        k: {j: cell for j, cell in enumerate(records[k]) if j in numbers and is_number(cell)}
        for k in range(place, len(records))
        if _total_word(records[k])
    }
    columns = sorted(set().union(*totals.values()))
    known = figures(place, columns) if columns else {}
    wrong = [k for k, cells in totals.items() if not _is_total(records[k], cells, known, writing)]
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
        return Foot(len(records), tuple(notes))
    first = next(cell for record in records[place:] for cell in record if cell)
    notes.append(
        f"left out {plural(lines, 'line')} below the table, such as '{quote(first, 40)}' "
        f"(--skip-footer 0 reads {'it' if lines == 1 else 'them'})"
    )
    return Foot(place, tuple(notes))


def _counted(records: Sequence[Record], asked: int) -> int:
    """The place above so many records, blank ones not counted."""
    there = [place for place, record in enumerate(records) if any(record)]
    if asked >= len(there):
        raise TableError(f"--skip-footer {asked} leaves no row of the table.")
    # blank ones above them are no rows either
    return there[-asked - 1] + 1 if asked else len(records)


def _lines(records: Sequence[Record]) -> int:
    return sum(any(record) for record in records)


def _number_columns(sample: Iterable[Record]) -> set[int]:
    """The columns most of whose cells are numbers."""
    found = set()
    for j, cells in enumerate(zip_longest(*sample, fillvalue="")):
        there = [cell for cell in cells if cell]
        if 2 * sum(map(is_number, there)) > len(there):
            found.add(j)
    return found


def _place(records: Sequence[Record], width: int, numbers: set[int]) -> int:
    """The first of the records at the end whose words say that they are no rows.

    Those that do not say so clearly must stand below a blank line, or below one that does.
    """
    place = len(records)
    for k in reversed(range(max(0, len(records) - MOST_NOTES), len(records))):
        record = records[k]
        if not any(record) or _total_word(record) or _is_note(record, width, numbers):
            place = k
        elif not _may_be_note(record, width, numbers):
            return place
    return len(records)  # nothing but notes: no table that is known here


def _is_loose(record: Record, width: int) -> bool:
    filled = [cell for cell in record if cell]
    is_short = len(filled) < min(2, width)
    return is_short or bool(_total_word(record)) or bool(NOTE.match(filled[0]))


def _total_word(record: Record) -> str:
    """The first word of a record where it announces a total or an average, else nothing."""
    word = next((cell for cell in record if cell and not is_value(cell)), "")
    return word if TOTAL.match(word) or AVERAGE.match(word) else ""


def _is_note(record: Record, width: int, numbers: set[int]) -> bool:
    """Whether a record begins as notes do, or has no cells at all, and is no row of numbers."""
    filled = [cell for cell in record if cell]
    if not _is_text(record, numbers):
        return False
    return bool(NOTE.match(filled[0])) or (len(record) == 1 < width)


def _may_be_note(record: Record, width: int, numbers: set[int]) -> bool:
    """Whether a record fills up to half of the columns, none of numbers."""
    filled = [cell for cell in record if cell]
    is_text = _is_text(record, numbers) and not _held(record, numbers)
    return is_text and len(filled) <= max(1, width // 2)


def _is_text(record: Record, numbers: set[int]) -> bool:
    """Whether it begins with words, and holds numbers in less than half of their columns."""
    first = next(cell for cell in record if cell)
    return not is_value(first) and bool(numbers) and 2 * _held(record, numbers) < len(numbers)


def _held(record: Record, numbers: set[int]) -> int:
    """In how many columns of numbers it holds one."""
    return sum(is_number(cell) for j, cell in enumerate(record) if j in numbers)


def _is_total(
    record: Record, cells: dict[int, str], known: dict[int, Figures], writing: Writing
) -> bool:
    """Whether most of its numbers are those of their columns; or it has no other cell."""
    import pandas as pd

    word = _total_word(record)
    if not cells:
        return sum(map(bool, record)) == 1
    values = writing.numbers(pd.Series(list(cells.values())))
    right = [known[j].agrees(v, word) for j, v in zip(cells, values, strict=True) if v == v]
    return bool(right) and 2 * sum(right) >= len(right)
