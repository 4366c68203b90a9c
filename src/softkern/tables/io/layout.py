"""Detects the layout of a table: separator, lines above the header, header, decimal point.

All of it is detected from the first lines, by what most of them have in common, since the first
line may be a title. Called by the readers of text and of workbooks.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest

from softkern._utils.text import plural, quote
from softkern.exceptions import Remedy
from softkern.tables.io.bytes import HEAD
from softkern.tables.io.reader import MISSING, Format, TableError
from softkern.tables.preparation.formats import decimal_points, is_number

__all__ = [
    "BLANKS",
    "ONE_COLUMN",
    "Layout",
    "detect_layout",
    "find_header",
    "is_value",
    "split_line",
]

SEPARATORS = (",", "\t", ";", "|")
BLANKS = r"\s+"  # as a separator
ONE_COLUMN = "\x1f"  # the separator of a table with one column
MOST_LINES = 200  # lines by which the layout is detected
MOST_TITLES = 20  # lines above a header
QUOTED = re.compile(r'(?<![^,;\t|\n])"(?:[^"]|"")*"(?![^,;\t|\n])')
LINE_END = re.compile(r"\r\n|\r|\n")
DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T]\d.*)?")

Record = Sequence[str]


@dataclass
class Layout:
    """Where the rows of a table begin, and the names of its columns."""

    names: list[str]
    skip: int  # records above the first row, including the header
    notes: list[str] = field(default_factory=list)
    # of a table of text:
    separator: str = ","
    decimal: str | None = None  # None if it is not clear
    lines: int = 0  # lines above the first row
    sample: list[list[str]] = field(default_factory=list)  # the first records below the header


def detect_layout(text: str, is_cut: bool, path: str, name: str, form: Format) -> Layout:
    r"""Return the layout of a table by its first lines.

    Examples
    --------
    >>> found = detect_layout("Sales 2024;\nname;sum\na;1,5\nb;2,5\n", False, "", "x.csv", Format())
    >>> found.separator, found.skip, found.names, found.decimal
    (';', 2, ['name', 'sum'], ',')
    """
    start = form.skip_rows or 0
    lines = [line for line in text.splitlines()[start : start + MOST_LINES] if line.strip()]
    # text between quotes does not separate
    unquoted = QUOTED.sub('""', "\n".join(lines)).split("\n")
    separator = form.separator or _separator(unquoted, path, form.decimal)
    records, ends = _records(text, separator, is_cut, name)
    layout = find_header(records, form, name)
    layout.lines = ends[layout.skip - 1] if layout.skip else 0
    layout.separator = separator
    layout.sample = records[layout.skip :]
    layout.decimal = form.decimal or _decimal(layout.sample)
    if layout.decimal == separator and form.separator is None:
        layout.decimal = "."
        layout.notes.append("commas separate its cells, so that numbers have a decimal point")
    elif layout.decimal == "," and form.decimal is None:
        layout.notes.append("numbers have a decimal comma (--decimal . otherwise)")
    return layout


# The header, and titles above it


def find_header(records: Sequence[Record], form: Format, name: str) -> Layout:
    """Return where the header is, if there is one; `records` may be blank."""
    notes: list[str] = []
    start = _titles(records) if form.skip_rows is None else form.skip_rows
    if start and form.skip_rows is None:
        titles = [next(filter(None, record)) for record in records[:start] if any(record)]
        them = "it" if len(titles) == 1 else "them"
        notes.append(
            f"left out {plural(len(titles), 'line')} above the table, such as "
            f"'{quote(titles[0], 40)}' (--skip-rows 0 reads {them})"
        )
    above = start
    while start < len(records) and not any(records[start]):
        start += 1
    if start >= len(records):
        raise TableError(f"{name} has no row after {plural(start, 'line')}.")
    first, below = list(records[start]), [r for r in records[start + 1 :] if any(r)]
    has_header = form.header
    if has_header is None:
        has_header = not _is_data(first) or _is_index(first, below)
        if not has_header:
            notes.append(
                "the first line is numbers: taken as data, columns called x1, x2, … (--header "
                "takes it for their names)"
            )
    if not has_header:
        while start > above and records[start - 1]:  # rows of missing values, not blank lines
            start -= 1
        return Layout([f"x{i + 1}" for i in range(len(first))], start, notes)
    extra = len(below[0]) - len(first) if below else 0
    if extra > 0:
        if any(any(record[len(first) :]) for record in below):
            raise TableError(
                f"{name}: the header has {plural(len(first), 'field')} and the line after it "
                f"{len(below[0])}.",
                [Remedy("skip_rows", None, "to skip lines above the header, or correct the file")],
            )
        first += [""] * extra  # lines that end with a separator
    return Layout(first, start + 1, notes)


def _titles(records: Sequence[Record]) -> int:
    """Return the number of records above the header: text in up to half of the columns."""
    there = [record for record in records if any(record)]
    width = Counter(map(len, there)).most_common(1)[0][0] if there else 0
    if width < 2:
        return _titles_of_one(records)
    for place, record in enumerate(records[: MOST_TITLES + 1]):
        filled = [cell for cell in record if cell]
        is_nameless = len(record) == width and not record[0] and len(filled) == width - 1
        is_short = len(filled) <= max(1, _used(records[place + 1 :]) // 2)
        is_short = is_short or _is_above(record, records[place + 1 :])
        is_title = is_short and not all(map(is_value, filled))
        if filled and (is_nameless or not is_title):
            return place if any(any(above) for above in records[:place]) else 0
    return 0


def _used(records: Sequence[Record]) -> int:
    """Return the number of columns with content."""
    return sum(any(cells) for cells in zip_longest(*records, fillvalue=""))


def _is_above(record: Record, below: Sequence[Record]) -> bool:
    """Return whether a record is shorter than the next, which names columns."""
    following = next((other for other in below if any(other)), ())
    is_header = all(following) and not any(map(is_number, following))
    return is_header and len(record) < len(following)


def _titles_of_one(records: Sequence[Record]) -> int:
    """Return the same for one column: the last of several lines of text above numbers names it."""
    texts = [place for place, record in enumerate(records) if any(record) and not _is_data(record)]
    numbers = [place for place, record in enumerate(records) if any(record) and _is_data(record)]
    is_above = bool(texts) and len(numbers) > len(texts) > 1 and texts[-1] < numbers[0]
    return texts[-1] if is_above else 0


def _is_data(record: Record) -> bool:
    """Return whether cells are numbers, dates or missing, at least one a number: no header."""
    return any(map(is_number, record)) and all(map(is_value, record))


def _is_index(first: Record, below: Sequence[Record]) -> bool:
    """Return whether whole numbers such as ",2019,2020" name columns beside nameless row names.

    They do if they are consecutive, or if the column below the blank numbers the rows.
    """
    names = first[1:]
    if first[0] or not names or not all(cell.isascii() and cell.isdigit() for cell in names):
        return False
    rows = [record[0] for record in below]
    is_numbered = len(rows) > 1 and rows in (
        [str(i) for i in range(len(rows))],
        [str(i + 1) for i in range(len(rows))],
    )
    runs_on = len(names) > 1 and all(int(b) - int(a) == 1 for a, b in pairwise(names))
    return is_numbered or runs_on


def is_value(cell: str) -> bool:
    """Return whether a cell is a number, a date or missing, and so no name."""
    return cell in MISSING or is_number(cell) or bool(DATE.fullmatch(cell))


# Separator and decimal point


def _separator(lines: Sequence[str], path: str, decimal: str | None) -> str:
    """Return what separates the cells of most lines, given without quoted text."""
    if _is_one_column(lines):
        return ONE_COLUMN
    found: dict[str, tuple[float, int]] = {}
    for mark in SEPARATORS:
        counts = Counter(line.count(mark) for line in lines)
        del counts[0]
        if mark != decimal and counts:
            times, agreeing = max(counts.items(), key=lambda item: (item[1], item[0]))
            found[mark] = agreeing / len(lines), times
    best = max(found, key=lambda mark: found[mark], default="")
    if best == "," and (other := _beside_decimal_commas(lines, found)):
        return other
    if best and (found[best][0] >= 0.5 or best in lines[0]):
        return best
    if path.endswith((".tsv", ".tab", ".tsv.gz")):
        return "\t"
    if decimal == "," and not best and _has_equal_commas(lines):
        return ","
    return BLANKS if _is_aligned(lines) else ONE_COLUMN


def _has_equal_commas(lines: Sequence[str]) -> bool:
    """Return whether commas separate names, and as many cells in every line below."""
    commas = {line.count(",") for line in lines}
    return len(commas) == 1 and commas != {0} and not any(map(is_number, lines[0].split(",")))


def _beside_decimal_commas(lines: Sequence[str], found: dict[str, tuple[float, int]]) -> str:
    """Return the separator of lines such as "1,5;2,5", whose commas are as regular, or ""."""
    others = {mark: share for mark, share in found.items() if mark != ","}
    best = max(others, key=lambda mark: others[mark], default="")
    if not best or others[best][0] < found[","][0]:
        return ""
    cells = [cell.strip() for line in lines[-20:] for cell in line.split(best)]
    return best if any("," in cell and "," in decimal_points(cell) for cell in cells) else ""


def _is_one_column(lines: Sequence[str]) -> bool:
    """Return whether the lines below a name without a comma are one number each, as "1,5"."""
    first, rest = lines[0] if lines else "", lines[1:]
    has_commas = any("," in line for line in rest) and not any(c in first for c in SEPARATORS)
    return has_commas and not is_number(first) and all(is_number(line) for line in rest)


def _is_aligned(lines: Sequence[str]) -> bool:
    """Return whether blanks separate as many cells in every line, numbers below the first."""
    widths = {len(line.split()) for line in lines}
    cells = (lines[1:] or lines)[0].split() if lines else []
    is_quoted = any('"' in line for line in lines)
    return len(widths) == 1 and len(cells) > 1 and not is_quoted and all(map(is_number, cells))


def _decimal(records: Sequence[Record]) -> str | None:
    """Return a comma if columns of numbers show one, and none shows a point."""
    shown: set[str] = set()
    for cells in zip_longest(*records, fillvalue=""):
        points = [decimal_points(cell) for cell in cells if cell not in MISSING]
        numbers = [set(point) for point in points if point]
        if len(numbers) > len(points) / 2:  # as many words may be a mistake
            common = set.intersection(*numbers)
            shown |= common if len(common) == 1 else set()
    return "," if shown == {","} else None


# Records


def _records(
    text: str, separator: str, is_cut: bool, name: str
) -> tuple[list[list[str]], list[int]]:
    """Return the first records, blank ones included, and the line that each ends with.

    The last record is left out if it may continue beyond the text.
    """
    if separator == BLANKS:
        lines = io.StringIO(text, newline="")
        found = [line.split() for line in lines.readlines()[: MOST_LINES + 1]]
        ends = list(range(1, len(found) + 1))
    else:
        found, ends = _split_records(text, separator, MOST_LINES + 1)
    if is_cut and len(found) <= MOST_LINES:
        found.pop()
    if not any(map(any, found)):
        raise TableError(f"{name}: the first line is longer than {HEAD:,} bytes.")
    return found, ends


def split_line(line: str, separator: str) -> list[str]:
    """Return the cells of one line."""
    if separator == BLANKS:
        return line.split()
    return next(iter(_split_records(line, separator, 1)[0]), [])


def _split_records(text: str, separator: str, most: int) -> tuple[list[list[str]], list[int]]:
    r"""Split text into records of cells, and count the lines up to the end of each.

    Splits as `csv.reader` does, whose limit on the length of a cell is one for the whole process.

    Examples
    --------
    >>> _split_records('a, "b\n""c"" d"e,\r\n\nf', ",", 9)
    ([['a', 'b\n"c" de', ''], [], ['f']], [2, 3, 4])
    """
    mark = re.escape(separator)
    cell = re.compile(
        rf' *(?:"(?P<quoted>[^"]*(?:""[^"]*)*)(?:"|\Z))?(?P<plain>[^{mark}\r\n]*)'
        rf"(?P<end>{mark}|\r\n|\r|\n|\Z)"
    )
    records: list[list[str]] = []
    ends: list[int] = []
    record: list[str] = []
    lines, place = 0, 0
    while place < len(text) and len(records) < most:
        found = cell.match(text, place)
        assert found is not None
        place = found.end()
        lines += len(LINE_END.findall(found[0]))
        record.append(((found["quoted"] or "").replace('""', '"') + found["plain"]).strip())
        if found["end"] == separator:
            if place < len(text):
                continue
            record.append("")
        records.append([] if found[0] == found["end"] and len(record) == 1 else record)
        ends.append(lines + (found[0][-1:] not in ("\r", "\n")))
        record = []
    return records, ends
