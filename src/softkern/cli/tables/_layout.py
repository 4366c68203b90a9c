"""How a table of text is laid out: separator, lines above the header, header, decimal point.

All of it is found from the first lines, and from what most of them agree on rather than from the
first alone, which may be a title. Called by the readers of text and of sheets.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from softkern.cli.tables._base import MISSING, Format, TableError
from softkern.cli.tables._bytes import HEAD, broken
from softkern.columns.writing import decimals_of, is_number
from softkern.words import count, quoted

__all__ = ["BLANKS", "ONE_COLUMN", "Layout", "header_of", "text_layout"]

SEPARATORS = (",", "\t", ";", "|")
BLANKS = r"\s+"  # as a separator
ONE_COLUMN = "\x1f"  # stands for a separator where there is none
MOST_LINES = 200  # by which a table is judged
MOST_TITLES = 20  # lines above a header
DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T]\d.*)?")

Record = Sequence[str]


@dataclass
class Layout:
    """Where the rows of a table begin, and the names of its columns.

    Attributes
    ----------
    names : list of str
    skip : int
        Records above the first row, the header among them.
    notes : list of str
        What was decided.
    separator, decimal : str or None
        Of a table of text; no decimal point where nothing tells.
    """

    names: list[str]
    skip: int
    notes: list[str] = field(default_factory=list)
    separator: str = ","
    decimal: str | None = None


def text_layout(text: str, is_cut: bool, path: str, name: str, form: Format) -> Layout:
    r"""The layout of a table by its first lines.

    Examples
    --------
    >>> found = text_layout("Sales 2024;\nname;sum\na;1,5\nb;2,5\n", False, "", "x.csv", Format())
    >>> found.separator, found.skip, found.names, found.decimal
    (';', 2, ['name', 'sum'], ',')
    """
    start = form.skip_rows or 0
    lines = [line for line in text.splitlines()[start : start + MOST_LINES] if line.strip()]
    separator = form.separator or _separator(lines, path, form.decimal)
    records = _records(text, separator, is_cut, name)
    layout = header_of(records, form, name)
    layout.separator = separator
    layout.decimal = form.decimal or _decimal(records[layout.skip :])
    if layout.decimal == "," and form.decimal is None:
        layout.notes.append("numbers have a decimal comma (--decimal . says otherwise)")
    return layout


# Header and what stands above it


def header_of(records: Sequence[Record], form: Format, name: str) -> Layout:
    """Where the header is, and whether there is one; `records` may be blank."""
    notes: list[str] = []
    start = _titles(records) if form.skip_rows is None else form.skip_rows
    if start and form.skip_rows is None:
        above = [next(filter(None, record)) for record in records[:start] if any(record)]
        notes.append(
            f"left out {count(len(above), 'line')} above the header, such as "
            f"'{quoted(above[0], 40)}' (--skip-rows 0 reads {'it' if len(above) == 1 else 'them'})"
        )
    while start < len(records) and not any(records[start]):
        start += 1
    if start >= len(records):
        raise TableError(f"{name} has no row after {count(start, 'line')}.")
    first, below = list(records[start]), [r for r in records[start + 1 :] if any(r)]
    has_header = form.header
    if has_header is None:
        has_header = not _is_data(first)
        if not has_header:
            notes.append("the first line is numbers: taken as data, columns called x1, x2, …")
    if not has_header:
        return Layout([f"x{i + 1}" for i in range(len(first))], start, notes)
    extra = len(below[0]) - len(first) if below else 0
    if extra > 0:
        if any(any(record[len(first) :]) for record in below):
            raise TableError(
                f"{name}: the header has {count(len(first), 'field')} and the line after it "
                f"{len(below[0])}; mend the file, or give --skip-rows with the number of lines "
                "above the header."
            )
        first += [""] * extra  # lines that end with a separator
    return Layout(first, start + 1, notes)


def _titles(records: Sequence[Record]) -> int:
    """Records above the header: those that fill up to half of the columns, and hold text."""
    there = [record for record in records if any(record)]
    width = Counter(map(len, there)).most_common(1)[0][0] if there else 0
    if width < 2:
        return _titles_of_one(records)
    for place, record in enumerate(records[: MOST_TITLES + 1]):
        filled = [cell for cell in record if cell]
        is_nameless = len(record) == width and not record[0] and len(filled) == width - 1
        is_title = len(filled) <= max(1, width // 2) and not all(map(_is_value, filled))
        if filled and (is_nameless or not is_title):
            return place if any(any(above) for above in records[:place]) else 0
    return 0


def _titles_of_one(records: Sequence[Record]) -> int:
    """The same for one column: of several lines of text above numbers, the last is its name."""
    texts = [place for place, record in enumerate(records) if any(record) and not _is_data(record)]
    numbers = [place for place, record in enumerate(records) if any(record) and _is_data(record)]
    is_above = bool(texts) and len(numbers) > len(texts) > 1 and texts[-1] < numbers[0]
    return texts[-1] if is_above else 0


def _is_data(record: Record) -> bool:
    """Whether cells are numbers, dates or missing, and hold a number, so that they name nothing."""
    if not any(is_number(cell) for cell in record) or not all(map(_is_value, record)):
        return False
    filled = [cell for cell in record if cell]
    if record[0] or len(filled) < 2 or len(filled) < len(record) - 1:
        return True
    # as ",0,1,2": a column of row names without a name, and columns that are numbered
    is_numbered = all(cell.isascii() and cell.isdigit() for cell in filled)
    return not is_numbered or any(int(b) - int(a) != 1 for a, b in pairwise(filled))


def _is_value(cell: str) -> bool:
    return cell in MISSING or is_number(cell) or bool(DATE.fullmatch(cell))


# Separator and decimal point


def _separator(lines: Sequence[str], path: str, decimal: str | None) -> str:
    """What parts the cells of most lines alike."""
    # what stands between quotes does not separate
    bare = ["".join(line.split('"')[::2]) for line in lines]
    if _is_one_column(lines):
        return ONE_COLUMN
    found: dict[str, tuple[float, int]] = {}
    for mark in SEPARATORS:
        counts = Counter(line.count(mark) for line in bare)
        del counts[0]
        if mark != decimal and counts:
            times, agreeing = max(counts.items(), key=lambda item: (item[1], item[0]))
            found[mark] = agreeing / len(bare), times
    best = max(found, key=lambda mark: found[mark], default="")
    if best == "," and (other := _beside_decimal_commas(bare, found)):
        return other
    if best and (found[best][0] >= 0.5 or best in bare[0]):
        return best
    if path.endswith((".tsv", ".tab", ".tsv.gz")):
        return "\t"
    return BLANKS if _is_aligned(lines) else ONE_COLUMN


def _beside_decimal_commas(bare: Sequence[str], found: dict[str, tuple[float, int]]) -> str:
    """The separator of lines such as "1,5;2,5", in which commas are as regular; or nothing."""
    others = {mark: seen for mark, seen in found.items() if mark != ","}
    best = max(others, key=lambda mark: others[mark], default="")
    if not best or others[best][0] < found[","][0]:
        return ""
    cells = [cell.strip() for line in bare[-20:] for cell in line.split(best)]
    return best if any("," in cell and "," in decimals_of(cell) for cell in cells) else ""


def _is_one_column(lines: Sequence[str]) -> bool:
    """Whether lines below a name without a comma are one number each, such as "1,5"."""
    first, rest = lines[0] if lines else "", lines[1:]
    has_commas = any("," in line for line in rest) and not any(c in first for c in SEPARATORS)
    return has_commas and not is_number(first) and all(is_number(line) for line in rest)


def _is_aligned(lines: Sequence[str]) -> bool:
    """Whether blanks part as many cells in every line, and numbers below the first."""
    widths = {len(line.split()) for line in lines}
    cells = (lines[1:] or lines)[0].split() if lines else []
    is_quoted = any('"' in line for line in lines)
    return len(widths) == 1 and len(cells) > 1 and not is_quoted and all(map(is_number, cells))


def _decimal(records: Sequence[Record]) -> str | None:
    """The decimal point that some cells show and no other contradicts."""
    shown = {decimals_of(cell) for record in records for cell in record}
    return "," if "," in shown and "." not in shown else None


def _records(text: str, separator: str, is_cut: bool, name: str) -> list[list[str]]:
    """The first records, blank ones too; not the last where it may go on beyond the text."""
    lines = io.StringIO(text, newline="")
    if separator == BLANKS:
        found = [line.split() for line in lines.readlines()[: MOST_LINES + 1]]
        is_whole = len(found) > MOST_LINES
    else:
        found, is_whole = _parsed(lines, separator, name)
    if is_cut and not is_whole:
        found = found[:-1]
    if not any(map(any, found)):
        raise TableError(f"{name}: the first line is longer than {HEAD:,} bytes.")
    return found


def _parsed(lines: io.StringIO, separator: str, name: str) -> tuple[list[list[str]], bool]:
    """Records of cells, and whether there are more than were asked for."""
    limit = csv.field_size_limit(2 * HEAD)  # a cell may be as long as it likes
    found: list[list[str]] = []
    try:
        for record in csv.reader(lines, delimiter=separator, skipinitialspace=True):
            if len(found) > MOST_LINES:
                return found, True
            found.append([cell.strip() for cell in record])
    except csv.Error as error:
        raise broken(name, error) from error
    finally:
        csv.field_size_limit(limit)
    return found, False
