"""Detects the layout of a table: separator, lines above the header, header, decimal point.

All of it is detected from the first lines, by what most of them have in common, since the first
line may be a title. Called by the readers of text and of workbooks.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, zip_longest

from softkern._utils.text import plural, quote
from softkern.exceptions import Remedy
from softkern.tables.io.bytes import HEAD, TableBytes
from softkern.tables.io.reader import MISSING, Format, TableError
from softkern.tables.preparation.formats import decimal_points, is_number

SEPARATORS = (",", "\t", ";", "|")
BLANKS = r"\s+"  # separator of tables aligned by blanks
ONE_COLUMN = "\x1f"  # the separator of a table with one column
MOST_LINES = 200  # lines by which the layout is detected
MOST_TITLES = 20  # lines above a header
QUOTED = re.compile(r'(?<![^,;\t|\n])"(?:[^"]|"")*"(?![^,;\t|\n])')
DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T]\d.*)?")

Record = Sequence[str]


@dataclass(frozen=True)
class Layout:
    """Where the rows of a table of text begin, and how its lines are written."""

    names: list[str]
    lines: int  # number of lines above the first row
    separator: str
    decimal: str | None  # None if it is not clear
    sample: list[list[str]]  # the first records below the header


def detect_layout(text: str, data: TableBytes, form: Format, notes: list[str]) -> Layout:
    """Return the layout of a table by its first lines, and add notes on it."""
    start = form.skip_rows or 0
    lines = [line for line in text.splitlines()[start : start + MOST_LINES] if line.strip()]
    # text between quotes does not separate
    unquoted = QUOTED.sub('""', "\n".join(lines)).split("\n")
    separator = form.separator or _find_separator(unquoted, data.path, form.decimal)
    found = list(islice(_split_records(text, separator), MOST_LINES + 1))
    if data.is_cut and len(found) <= MOST_LINES:
        found.pop()  # it may continue beyond the text
    records = [record for record, _ in found]
    if not any(map(any, records)):
        raise TableError(f"{data.name}: the first line is longer than {HEAD:,} bytes.")
    names, skip = find_header(records, form, data.name, notes)
    above = io.StringIO(text[: found[skip - 1][1]] if skip else "", newline="")
    decimal = form.decimal or _find_decimal(records[skip:])
    if decimal == separator and form.separator is None:
        decimal = "."
        notes.append("commas separate its cells, so that numbers have a decimal point")
    elif decimal == "," and form.decimal is None:
        notes.append("numbers have a decimal comma (--decimal . otherwise)")
    return Layout(names, len(above.readlines()), separator, decimal, records[skip:])


# The header, and titles above it


def find_header(
    records: Sequence[Record], form: Format, name: str, notes: list[str]
) -> tuple[list[str], int]:
    """Return the names of columns and the number of records above the first row. Add notes."""
    start = _count_titles(records) if form.skip_rows is None else form.skip_rows
    if start and form.skip_rows is None:
        titles = [next(filter(None, record)) for record in records[:start] if any(record)]
        them = "it" if len(titles) == 1 else "them"
        notes.append(
            f"left out {plural(len(titles), 'line')} above the table, such as "
            f"'{quote(titles[0], 40)}' (--skip-rows 0 reads {them})"
        )
    filled = [place for place in range(start, len(records)) if any(records[place])]
    if not filled:
        raise TableError(f"{name} has no row after {plural(max(start, len(records)), 'line')}.")
    place, first = filled[0], list(records[filled[0]])
    below = [records[k] for k in filled[1:]]
    has_header = form.header
    if has_header is None:
        has_header = not _is_data(first) or _is_index(first, below)
        if not has_header:
            notes.append(
                "the first line is numbers: taken as data, columns called x1, x2, … (--header "
                "takes it for their names)"
            )
    if not has_header:
        while place > start and records[place - 1]:  # rows of missing values, not blank lines
            place -= 1
        return [f"x{i + 1}" for i in range(len(first))], place
    extra = len(below[0]) - len(first) if below else 0
    if extra > 0:
        if any(any(record[len(first) :]) for record in below):
            raise TableError(
                f"{name}: the header has {plural(len(first), 'field')} and the line after it "
                f"{len(below[0])}.",
                [Remedy("skip_rows", None, "to skip lines above the header, or correct the file")],
            )
        first += [""] * extra  # lines that end with a separator
    return first, place + 1


def _count_titles(records: Sequence[Record]) -> int:
    """Return the number of records above the header: text in up to half of the columns."""
    filled = [place for place, record in enumerate(records) if any(record)]
    width = Counter(len(records[k]) for k in filled).most_common(1)[0][0] if filled else 0
    if width < 2:  # the last of several lines of text above numbers names the column
        texts = [place for place in filled if not _is_data(records[place])]
        is_above = texts == filled[: len(texts)] and len(filled) > 2 * len(texts) > 2
        return texts[-1] if is_above else 0
    for place in filled:
        if place > MOST_TITLES:
            break
        record, below = records[place], records[place + 1 :]
        is_nameless = len(record) == width and not record[0] and all(record[1:])
        if is_nameless or not _is_title(record, below):
            return place if place > filled[0] else 0
    return 0


def _is_title(record: Record, below: Sequence[Record]) -> bool:
    """Return whether a record of text is short, or shorter than the next, which names columns."""
    cells = list(filter(None, record))
    following = next(filter(any, below), ())
    is_header = all(following) and not any(map(is_number, following))
    n_used = sum(map(any, zip_longest(*below, fillvalue="")))
    is_short = len(cells) <= max(1, n_used // 2) or (is_header and len(record) < len(following))
    return is_short and not all(map(is_value, cells))


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
    counts = [list(map(str, range(start, start + len(rows)))) for start in (0, 1)]
    is_consecutive = len(names) > 1 and all(int(b) - int(a) == 1 for a, b in pairwise(names))
    return is_consecutive or (len(rows) > 1 and rows in counts)


def is_value(cell: str) -> bool:
    """Return whether a cell is a number, a date or missing, and so no name."""
    return cell in MISSING or is_number(cell) or bool(DATE.fullmatch(cell))


# Separator and decimal point


def _find_separator(lines: Sequence[str], path: str, decimal: str | None) -> str:
    """Return what separates the cells of most lines, given without quoted text."""
    if not lines or _is_one_column(lines[0], lines[1:]):
        return ONE_COLUMN
    regular: dict[str, tuple[float, int]] = {}  # share of lines with as many marks, and how many
    for mark in SEPARATORS:
        counts = Counter(line.count(mark) for line in lines if mark in line)
        if mark != decimal and counts:
            times, agreeing = max(counts.items(), key=lambda item: (item[1], item[0]))
            regular[mark] = agreeing / len(lines), times
    ranked = sorted(regular, key=lambda mark: regular[mark], reverse=True)
    if len(ranked) > 1 and ranked[0] == "," and regular[ranked[1]][0] == regular[","][0]:
        cells = [cell.strip() for line in lines[-20:] for cell in line.split(ranked[1])]
        if any("," in cell and "," in decimal_points(cell) for cell in cells):
            return ranked[1]  # as in "1,5;2,5", where commas are equally regular
    if ranked and (regular[ranked[0]][0] >= 0.5 or ranked[0] in lines[0]):
        return ranked[0]
    if path.endswith((".tsv", ".tab", ".tsv.gz")):
        return "\t"
    commas = {line.count(",") for line in lines}
    are_names = not any(map(is_number, lines[0].split(",")))
    if decimal == "," and not ranked and len(commas) == 1 and commas != {0} and are_names:
        return ","  # they separate as many cells in every line, for either decimal point
    return BLANKS if _is_aligned(lines) else ONE_COLUMN


def _is_one_column(first: str, rest: Sequence[str]) -> bool:
    """Return whether the lines below a name without a comma are one number each, as "1,5"."""
    has_commas = any("," in line for line in rest) and not any(c in first for c in SEPARATORS)
    return has_commas and not is_number(first) and all(map(is_number, rest))


def _is_aligned(lines: Sequence[str]) -> bool:
    """Return whether blanks separate as many cells in every line, numbers below the first."""
    widths = {len(line.split()) for line in lines}
    cells = (lines[1:] or lines)[0].split()
    is_quoted = any('"' in line for line in lines)
    return len(widths) == 1 and len(cells) > 1 and not is_quoted and all(map(is_number, cells))


def _find_decimal(records: Sequence[Record]) -> str | None:
    """Return a comma if columns of numbers show one, and none shows a point."""
    shown: set[str] = set()
    for cells in zip_longest(*records, fillvalue=""):
        points = [decimal_points(cell) for cell in cells if cell not in MISSING]
        numbers = [set(point) for point in points if point]
        if len(numbers) > len(points) / 2:  # with as many words, this may be a mistake
            common = set.intersection(*numbers)
            shown |= common if len(common) == 1 else set()
    return "," if shown == {","} else None


# Records


def split_line(line: str, separator: str) -> list[str]:
    """Return the cells of a line. A line that begins or ends within quotes has none of its own."""
    if line.count('"') % 2:
        return ['"', '"']
    return next(_split_records(line, separator), ([], 0))[0]


def _split_records(text: str, separator: str) -> Iterator[tuple[list[str], int]]:
    """Split text into records of cells, blank ones included, with the place where each ends.

    Splits as `csv.reader` does, whose limit on the length of a cell is one for the whole process.
    """
    if separator == BLANKS:
        place = 0
        for line in io.StringIO(text, newline=""):
            place += len(line)
            yield line.split(), place
        return
    mark = re.escape(separator)
    pattern = re.compile(
        rf' *(?:"(?P<quoted>[^"]*(?:""[^"]*)*)(?:"|\Z))?(?P<plain>[^{mark}\r\n]*)'
        rf"(?P<end>{mark}|\r\n|\r|\n|\Z)"
    )
    record: list[str] = []
    for cell in pattern.finditer(text):
        if cell.start() == len(text) and not record:
            return
        record.append(((cell["quoted"] or "").replace('""', '"') + cell["plain"]).strip())
        if cell["end"] != separator:
            is_blank = len(record) == 1 and cell[0] == cell["end"]
            yield [] if is_blank else record, cell.end()
            record = []
