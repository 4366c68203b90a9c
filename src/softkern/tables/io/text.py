"""Reads tables of text: encoding and layout are detected, and pandas reads the rows in pieces."""

from __future__ import annotations

import codecs
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

import pandas as pd

from softkern._utils.text import plural, quote
from softkern.exceptions import Remedy
from softkern.tables.io.bytes import HEAD, TableBytes, naming_errors
from softkern.tables.io.encoding import detect_encoding, without_mark
from softkern.tables.io.footer import MOST_NOTES, ColumnTotals, find_footer
from softkern.tables.io.layout import BLANKS, ONE_COLUMN, detect_layout, split_line
from softkern.tables.io.reader import Format, Names, Reader, Style, TableError, Tables, unique_names
from softkern.tables.preparation.formats import NumberFormat

__all__ = ["TextReader"]

TAB = "\t"
UNKNOWN = "\N{REPLACEMENT CHARACTER}"  # decoded from bytes that are no letter


class TextReader(Reader):
    """An open table of separated text."""

    def __init__(self, data: TableBytes, form: Format) -> None:
        data.keep()
        self._data, self._form, self.name = data, form, data.name
        survey = _survey(data)
        self._encoding, notes = detect_encoding(
            data.head,
            survey.is_utf8,
            data.pieces if data.can_reopen else lambda: [data.head],
            form,
        )
        self._layout = detect_layout(self._decoded_head(), data.is_cut, data.path, data.name, form)
        self._check_header()
        notes += self._layout.notes
        separator, decimal = self._layout.separator, self._layout.decimal
        super().__init__(
            data.name,
            f"{_describe(separator, data.suffix)}, {self._encoding})",
            unique_names(self._layout.names, notes),
            notes,
            decimal=decimal,
            style=_style(separator, decimal, self._encoding),
        )
        self._end = self._find_end(survey)

    def close(self) -> None:
        """Close the file."""
        self._data.close()

    def iter_tables(self, rows: int | None, text: Names, words: Names) -> Tables:
        """Yield tables of at most `rows` rows. For None, one table of all rows."""
        return self._tables(self._end, rows, text, words, self.notes)

    # Opening

    def _decoded_head(self) -> str:
        try:
            text = self._data.head.decode(self._encoding, errors="replace").lstrip("\ufeff")
        except (LookupError, UnicodeError):  # codecs such as base64 and idna
            raise TableError(f"{self._encoding!r} is no encoding of text; name another.") from None
        if "\x00" in text:
            raise TableError(
                f"{self.name} is no table of text, Parquet or NPY: it holds zero bytes."
            )
        return text

    def _check_header(self) -> None:
        """Reject names with bytes that are no letters. Pandas does not read the header."""
        if any(UNKNOWN in name for name in self._layout.names):
            try:
                self._data.head.decode(self._encoding)
            except UnicodeDecodeError as error:
                raise self._undecodable(error) from error

    def _find_end(self, survey: _Survey) -> int | None:
        """Return the bytes above totals and notes, None where rows end the table.

        Each line counts for itself: a line within quotes is no note.
        """
        skip, layout = self._form.skip_footer, self._layout
        if not self._data.can_reopen:
            if skip:
                raise TableError(
                    f"the last {plural(skip, 'line')} cannot be skipped: the end of {self.name} is "
                    "not known before it is read; save it into a file first."
                )
            return None
        encoding = without_mark(self._encoding, self._data.head)
        lines = list(io.StringIO(survey.tail.decode(encoding, errors="replace"), newline=""))
        # the first line of a tail need not be whole
        lines = lines[layout.lines :] if survey.size <= HEAD else lines[1:]
        lines = lines[-max(skip or 0, MOST_NOTES) * 2 :]
        number_format = NumberFormat(layout.decimal or ".")

        def encoded(place: int) -> bytes:
            return "".join(lines[place:]).encode(encoding, errors="replace")

        def totals(place: int, columns: Sequence[int]) -> dict[int, ColumnTotals]:
            return self._column_totals(survey.size - len(encoded(place)), columns, number_format)

        records = [_split_line(line, layout.separator) for line in lines]
        width = len(layout.names)
        footer = find_footer(records, layout.sample, width, skip, totals, number_format)
        if not survey.tail.endswith(encoded(footer.place)):
            if skip:
                raise TableError(
                    f"the last {plural(skip, 'line')} of {self.name} cannot be located in "
                    f"{self._encoding}; save it as UTF-8."
                )
            return None  # an encoding whose letters depend on those before them
        self.notes.extend(footer.notes)
        return survey.size - len(encoded(footer.place)) if footer.place < len(lines) else None

    def _column_totals(
        self, end: int, columns: Sequence[int], number_format: NumberFormat
    ) -> dict[int, ColumnTotals]:
        """Return the totals of columns over the rows up to so many bytes."""
        names = {j: self.columns[j] for j in columns}
        found = dict.fromkeys(columns, ColumnTotals())
        for piece in self._tables(end, self.rows_at_once(), (), (), []):
            found = {j: found[j].plus(piece[name], number_format) for j, name in names.items()}
        return found

    # Reading

    def _tables(
        self, end: int | None, rows: int | None, text: Names, words: Names, notes: list[str]
    ) -> Tables:
        is_one = len(self.columns) == 1
        options = self._pandas_options(text, words)
        trailing: list[pd.DataFrame] = []  # blank lines of one column, until another line follows
        with self._text(self._data.open(end)) as lines:
            with self._as_table_errors(notes):
                for _ in range(self._layout.lines):  # pandas counts lines of quoted names otherwise
                    lines.readline()
                pieces = pd.read_csv(lines, chunksize=rows, **options) if rows else None
            while True:
                with self._as_table_errors(notes):
                    piece = pd.read_csv(lines, **options) if pieces is None else next(pieces, None)
                if piece is None:
                    return
                if is_one:
                    piece, trailing = _split_trailing_blanks(pd.concat([*trailing, piece]))
                    if not text:
                        piece = self._typed(piece, as_words=bool(words))
                if len(piece) or pieces is None:
                    yield piece
                if pieces is None:
                    return

    def _text(self, stream: BinaryIO) -> io.TextIOWrapper:
        # a byte order mark is no part of a cell even if the encoding was given
        encoding = "utf-8-sig" if self._encoding == "utf-8" else self._encoding
        return io.TextIOWrapper(stream, encoding, newline="")

    def _pandas_options(self, text: Names, words: Names) -> dict[str, Any]:
        is_one, marks = len(self.columns) == 1, self._form.marks()
        return {
            "sep": self._layout.separator,
            "names": self.columns,
            "header": None,
            # a blank line is a missing value if there is only one column
            "skip_blank_lines": not is_one,
            "decimal": self._layout.decimal or ".",
            "skipinitialspace": True,
            "low_memory": False,
            "on_bad_lines": "warn" if self._form.skip_bad_lines else "error",
            "dtype": str if is_one else dict.fromkeys([*text, *words], str),
            "keep_default_na": False,
            # an identifier "NA" or "007" is not a missing value or a number
            "na_values": {c: marks for c in self.columns if c not in text and not is_one},
        }

    def _typed(self, piece: pd.DataFrame, as_words: bool) -> pd.DataFrame:
        """Return a piece of one column with missing values, as numbers where all are plain."""
        decimal = self._layout.decimal or "."
        cells = piece.iloc[:, 0].str.strip()
        cells = cells.where(~cells.isin(self._form.marks()))
        if not as_words and not (decimal == "," and cells.str.contains(".", regex=False).any()):
            with suppress(ValueError):
                cells = pd.to_numeric(cells.str.replace(decimal, ".", regex=False))
        return piece.assign(**{self.columns[0]: cells})

    @contextmanager
    def _as_table_errors(self, notes: list[str]) -> Iterator[None]:
        """Turn errors of pandas into TableError, and its warnings into notes."""
        with warnings.catch_warnings(record=True) as caught, naming_errors(self.name):
            warnings.simplefilter("always", pd.errors.ParserWarning)
            try:
                yield
            except UnicodeDecodeError as error:
                raise self._undecodable(error) from error
            except pd.errors.ParserError as error:
                if "out of memory" in str(error):
                    raise MemoryError(f"{self.name} does not fit") from error
                reason = quote(str(error).split("C error:")[-1].strip().rstrip("."), 200)
                above = self._layout.lines
                reason = re.sub(r"(?<=line )\d+", lambda n: str(int(n[0]) + above), reason)
                raise TableError(
                    f"{self.name} has lines that do not fit: {reason}.",
                    [Remedy("skip_bad_lines", True, "to skip such lines, or correct the file")],
                ) from error
        lines = sum(str(warning.message).count("Skipping line") for warning in caught)
        if lines:
            notes.append(f"left out {plural(lines, 'line')} with too many fields")

    def _undecodable(self, error: UnicodeDecodeError) -> TableError:
        byte, place = error.object[error.start], ""
        if self._data.can_reopen and self._encoding.startswith("utf-8"):
            for number, line in enumerate(self._data.open(), start=1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError as first:
                    place, byte = f" in line {number}", line[first.start]
                    break
        return TableError(
            f"{self.name} is not {self._encoding}: byte 0x{byte:02x}{place}.",
            [Remedy("encoding", "cp1252"), Remedy("encoding", "latin-1", "to read any bytes")],
        )


@dataclass(frozen=True)
class _Survey:
    """A table looked through: its size, its last bytes, and whether all of it is UTF-8."""

    size: int
    tail: bytes
    is_utf8: bool


def _survey(data: TableBytes) -> _Survey:
    """Look through a table once. Only the head of a stream that cannot be opened again."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    size, tail, is_utf8 = 0, b"", True
    for piece in data.pieces() if data.can_reopen else [data.head]:
        size += len(piece)
        tail = (tail + piece)[-HEAD:]
        try:
            decoder.decode(piece if is_utf8 else b"")
        except UnicodeDecodeError:
            is_utf8 = False
    if is_utf8 and data.can_reopen:
        is_utf8 = not decoder.getstate()[0]  # no part of a letter is left
    return _Survey(size, tail, is_utf8)


def _split_line(line: str, separator: str) -> list[str]:
    """Return the cells of a line. A line that begins or ends within quotes has none of its own."""
    return ['"', '"'] if line.count('"') % 2 else split_line(line, separator)


def _describe(separator: str, packing: str) -> str:
    if separator == ONE_COLUMN:
        return f"CSV{packing} (one column"
    shown = {TAB: "tab", BLANKS: "blanks"}.get(separator, f'"{separator}"')
    return f"{'TSV' if separator == TAB else 'CSV'}{packing} (separator {shown}"


def _style(separator: str, decimal: str | None, encoding: str) -> Style:
    """Return how to write the table back. Blanks between cells are not reproduced."""
    mark = "," if separator in (BLANKS, ONE_COLUMN) else separator
    if mark == decimal == ",":
        mark = ";"
    return Style(".tsv" if mark == TAB else ".csv", mark, decimal or ".", encoding)


def _split_trailing_blanks(piece: pd.DataFrame) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """Split a piece of one column, as text, into its rows and the blank lines at its end."""
    has_text = (piece.iloc[:, 0].str.strip() != "").to_numpy(dtype=bool)
    end = len(piece) - int(has_text[::-1].argmax()) if has_text.any() else 0
    return piece.iloc[:end], [piece.iloc[end:]] if end < len(piece) else []
