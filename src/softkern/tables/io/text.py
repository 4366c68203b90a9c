"""Tables of text: encoding and layout found out, read by pandas in pieces."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from softkern._utils.text import plural, quote
from softkern.tables.io.bytes import (
    HEAD,
    Survey,
    naming,
    open_bytes,
    pieces_of,
    survey,
    unpacked,
    up_to,
)
from softkern.tables.io.encoding import encoding_of, one_piece
from softkern.tables.io.footer import MOST_NOTES, Figures, foot_of
from softkern.tables.io.layout import BLANKS, ONE_COLUMN, Layout, parsed_line, text_layout
from softkern.tables.io.reader import Format, Reader, Style, TableError, unique_names
from softkern.tables.preparation.formats import Writing

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["text_table"]

TAB = "\t"
UNKNOWN = "\N{REPLACEMENT CHARACTER}"  # what stands for bytes that are no letter


def text_table(
    raw: BinaryIO, head: bytes, path: str, name: str, packed: str, form: Format
) -> Reader:
    """Open a table of separated text."""
    is_cut = len(head) >= HEAD
    again = _again(head, is_cut, path, name)
    # of a stream that is read once, the beginning must do
    source = again or (lambda: io.BytesIO(head))
    seen = survey(source(), name, is_cut=again is None)
    encoding, said = encoding_of(head, seen.is_utf8, lambda: pieces_of(source()), form)
    try:
        text = head.decode(encoding, errors="replace").lstrip("\ufeff")
    except (LookupError, UnicodeError):  # such as base64 and idna, which are codecs too
        raise TableError(f"{encoding!r} is no encoding of text; name another.") from None
    if "\x00" in text:
        raise TableError(f"{name} is no table of text, Parquet or NPY: it holds zero bytes.")
    layout = text_layout(text, is_cut, path, name, form)
    if any(UNKNOWN in word for word in layout.names):  # the header is not read again
        try:
            head.decode(encoding)
        except UnicodeDecodeError as error:
            raise TableError(_undecodable(name, error, path, encoding)) from error
    notes = said + layout.notes
    columns = unique_names(layout.names, notes)
    separator = layout.separator
    reader = Reader(
        name,
        f"{_kind(separator, packed)}, {encoding})",
        columns,
        notes,
        layout.decimal,
        _style(separator, layout.decimal, encoding),
        _stream=raw,
    )
    read = _Read(reader, layout, encoding, form, path)
    if again is None and form.skip_footer:
        raise TableError(
            f"--skip-footer {form.skip_footer}: the end of {name} is not known before it is read; "
            "save it into a file first."
        )
    end = None if again is None else _end(read, seen, head, again)
    reader._chunks = lambda rows, kept, words: read.chunks(raw, end, rows, kept, words)
    return reader


def _again(head: bytes, is_cut: bool, path: str, name: str) -> Callable[[], BinaryIO] | None:
    """What opens the table another time; None for a long stream that can be read but once."""
    if not is_cut:
        return lambda: io.BytesIO(head)
    if path == "-" or not Path(path).is_file():
        return None
    return lambda: unpacked(open_bytes(path), name)[0]


@dataclass(frozen=True)
class _Read:
    """How the rows of a table are read, once it is known how it is written."""

    reader: Reader
    layout: Layout
    encoding: str
    form: Format
    path: str

    def chunks(
        self,
        raw: BinaryIO,
        end: int | None,
        rows: int | None,
        kept: tuple[str, ...],
        words: tuple[str, ...],
    ) -> Iterator[pd.DataFrame]:
        """The rows up to so many bytes, in pieces."""
        columns = self.reader.columns
        options = {
            "sep": self.layout.separator,
            "names": columns,
            "header": None,
            # a blank line is a missing value where there is nothing else in a line
            "skip_blank_lines": len(columns) > 1,
            "decimal": self.layout.decimal or ".",
            "skipinitialspace": True,
            "low_memory": False,
            "on_bad_lines": "warn" if self.form.skip_bad_lines else "error",
        }
        rest = _Rest(up_to(raw, end), self.encoding, self.layout.lines)
        marks = self.form.marks()
        return _text_chunks(rest, self.reader, options, marks, rows, kept, words, self.path)

    def figures(
        self, raw: BinaryIO, end: int, columns: Sequence[int], writing: Writing
    ) -> dict[int, Figures]:
        """Sums of columns over the rows up to so many bytes."""
        names = {j: self.reader.columns[j] for j in columns}
        found = dict.fromkeys(columns, Figures())
        aside = replace(self, reader=replace(self.reader, notes=[]))
        for piece in aside.chunks(raw, end, None, (), ()):
            found = {j: found[j].plus(piece[name], writing) for j, name in names.items()}
        return found


def _end(read: _Read, seen: Survey, head: bytes, again: Callable[[], BinaryIO]) -> int | None:
    """The bytes after which there are no rows but totals and notes; None where rows end the table.

    These are lines for themselves: what a quote spans is no note.
    """
    layout, form = read.layout, read.form
    letters = one_piece(read.encoding, head)
    lines = list(io.StringIO(seen.tail.decode(letters, errors="replace"), newline=""))
    # the first of a part need not be whole
    lines = lines[layout.lines :] if seen.size <= HEAD else lines[1:]
    lines = lines[-max(form.skip_footer or 0, MOST_NOTES) * 2 :]
    records = [_cells(line, layout.separator) for line in lines]
    writing = Writing(layout.decimal or ".")

    def end_above(place: int) -> int:
        return seen.size - len("".join(lines[place:]).encode(letters, errors="replace"))

    foot = foot_of(
        records,
        layout.sample,
        len(layout.names),
        form.skip_footer,
        lambda place, columns: read.figures(again(), end_above(place), columns, writing),
        writing,
    )
    end = end_above(foot.place)
    if not seen.tail.endswith("".join(lines[foot.place :]).encode(letters, errors="replace")):
        if form.skip_footer:
            raise TableError(
                f"--skip-footer {form.skip_footer}: in {read.encoding} the place of the last lines "
                f"of {read.reader.name} is not known; save it as UTF-8."
            )
        return None  # an encoding whose letters depend on those before them
    read.reader.notes.extend(foot.notes)
    return end if end < seen.size else None


def _cells(line: str, separator: str) -> list[str]:
    """The cells of a line; one that begins or ends within quotes is none of its own."""
    return ['"', '"'] if line.count('"') % 2 else parsed_line(line, separator)


class _Rest:
    """The text below a table's header; pandas counts the lines of a quoted name otherwise."""

    def __init__(self, raw: BinaryIO, encoding: str, lines: int) -> None:
        self.lines, self.encoding = lines, encoding
        # also where the encoding was given, a mark at the beginning is no part of a cell
        letters = "utf-8-sig" if encoding == "utf-8" else encoding
        self.text = io.TextIOWrapper(raw, letters, newline="")

    def skip(self) -> None:
        """Leave out what is above the rows."""
        for _ in range(self.lines):
            self.text.readline()


def _kind(separator: str, packed: str) -> str:
    if separator == ONE_COLUMN:
        return f"CSV{packed} (one column"
    shown = {"\t": "tab", BLANKS: "blanks"}.get(separator, f'"{separator}"')
    return f"{'TSV' if separator == TAB else 'CSV'}{packed} (separator {shown}"


def _style(separator: str, decimal: str | None, encoding: str) -> Style:
    """What to write the table back by; blanks as they stood cannot be known."""
    mark = "," if separator in (BLANKS, ONE_COLUMN) else separator
    if mark == decimal == ",":
        mark = ";"
    return Style(".tsv" if mark == TAB else ".csv", mark, decimal or ".", encoding)


def _text_chunks(
    rest: _Rest,
    reader: Reader,
    options: dict[str, Any],
    marks: list[str],
    rows: int | None,
    kept: tuple[str, ...],
    words: tuple[str, ...],
    path: str,
) -> Iterator[pd.DataFrame]:
    import pandas as pd

    is_one = len(reader.columns) == 1
    options = options | {
        "dtype": str if is_one else dict.fromkeys([*kept, *words], str),
        "keep_default_na": False,
        # an identifier "NA" or "007" is what it says
        "na_values": {c: marks for c in reader.columns if c not in kept and not is_one},
    }
    rows = reader.rows_at_once() if rows is None else rows
    blanks: list[pd.DataFrame] = []  # lines at the end of one column, until another follows
    try:
        with _as_table_errors(reader, rest, path):
            rest.skip()
            pieces = pd.read_csv(rest.text, chunksize=rows, **options) if rows else None
        while True:
            with _as_table_errors(reader, rest, path):
                piece = pd.read_csv(rest.text, **options) if pieces is None else next(pieces, None)
            if piece is None:
                return
            if is_one:
                piece, blanks = _without_blank_end(pd.concat([*blanks, piece]))
                if not kept:
                    piece = _typed(piece, marks, options["decimal"], bool(words))
            if len(piece) or pieces is None:
                yield piece
            if pieces is None:
                return
    finally:
        rest.text.close()


def _without_blank_end(piece: pd.DataFrame) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """A piece of one column, as text, without the blank lines at its end; and these."""
    is_there = (piece.iloc[:, 0].str.strip() != "").to_numpy(dtype=bool)
    end = len(piece) - int(is_there[::-1].argmax()) if is_there.any() else 0
    return piece.iloc[:end], [piece.iloc[end:]] if end < len(piece) else []


def _typed(piece: pd.DataFrame, marks: list[str], decimal: str, as_words: bool) -> pd.DataFrame:
    """A piece of one column with its missing values, as numbers where all of them are plain."""
    import pandas as pd

    cells = piece.iloc[:, 0].str.strip()
    cells = cells.where(~cells.isin(marks))
    if not as_words and not (decimal == "," and cells.str.contains(".", regex=False).any()):
        with suppress(ValueError):
            cells = pd.to_numeric(cells.str.replace(decimal, ".", regex=False))
    return piece.assign(**{str(piece.columns[0]): cells})


@contextmanager
def _as_table_errors(reader: Reader, rest: _Rest, path: str) -> Iterator[None]:
    """What pandas raises or warns of while it reads, as TableError and notes."""
    import pandas as pd

    with warnings.catch_warnings(record=True) as caught, naming(reader.name):
        warnings.simplefilter("always", pd.errors.ParserWarning)
        try:
            yield
        except UnicodeDecodeError as error:
            message = _undecodable(reader.name, error, path, rest.encoding)
            raise TableError(message) from error
        except pd.errors.ParserError as error:
            if "out of memory" in str(error):
                raise MemoryError(f"{reader.name} does not fit") from error
            reason = quote(str(error).split("C error:")[-1].strip().rstrip("."), 200)
            reason = re.sub(r"(?<=line )\d+", lambda n: str(int(n[0]) + rest.lines), reason)
            raise TableError(
                f"{reader.name} has lines that do not fit: {reason}. Mend the file, or leave such "
                "lines out by --skip-bad-lines."
            ) from error
    lines = sum(str(warning.message).count("Skipping line") for warning in caught)
    if lines:
        reader.notes.append(f"left out {plural(lines, 'line')} with too many fields")


def _undecodable(name: str, error: UnicodeDecodeError, path: str, encoding: str) -> str:
    byte = error.object[error.start]
    place = ""
    if Path(path).is_file() and encoding.startswith("utf-8"):
        for number, line in enumerate(unpacked(open_bytes(path), name)[0], start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as first:
                place, byte = f" in line {number}", line[first.start]
                break
    return (
        f"{name} is not {encoding}: byte 0x{byte:02x}{place}. Name its encoding, such as "
        "--encoding cp1252; latin-1 reads any bytes."
    )
