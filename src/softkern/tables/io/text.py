"""Reads tables of text: encoding and layout are detected, and pandas reads the rows in pieces.

The encoding follows from the byte order mark, else it is UTF-8, else cp1252 with a note. Programs
on Windows write CSV in an 8-bit encoding of their country, and short texts do not show which: the
note quotes a word of the text, by which a reader sees whether cp1252, the most frequent, is right.
A statistical detector such as charset-normalizer guesses differently from file to file.
"""

from __future__ import annotations

import codecs
import io
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pandas as pd

from softkern._utils.text import plural, quote
from softkern.exceptions import Remedy
from softkern.tables.io.bytes import HEAD, TableBytes, naming_errors
from softkern.tables.io.footer import MOST_NOTES, find_footer
from softkern.tables.io.layout import BLANKS, ONE_COLUMN, detect_layout, split_line
from softkern.tables.io.reader import Format, Names, Reader, Style, TableError, Tables, unique_names

TAB = "\t"
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
WESTERN = "cp1252"
# control characters, and bytes that are not letters in cp1252
NO_LETTERS = re.compile(rb"[\x00-\x08\x0b\x0e-\x19\x1b-\x1f\x7f\x81\x8d\x8f\x90\x9d]")
HIGH = re.compile(rb"[\x80-\xff]")
SEQUENCES = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
WORD = re.compile(rb'[^\s,;|"]*[\x80-\xff][^\s,;|"]*')
ZEROS = 0.8  # least share of zeros in every second byte of UTF-16
MOST_ROWS = 2**31 - 1  # more than a table in memory has


class TextReader(Reader):
    """An open table of separated text."""

    def __init__(self, data: TableBytes, form: Format) -> None:
        super().__init__(data.name, form)
        self._data = data
        size, tail, is_utf8 = _survey(data)
        self._encoding = detect_encoding(data, is_utf8, form.encoding, self.notes)
        self._layout = detect_layout(self._decode_head(), data, form, self.notes)
        separator, self.decimal = self._layout.separator, self._layout.decimal
        shown = {TAB: "tab", BLANKS: "blanks"}.get(separator, f'"{separator}"')
        cells = "one column" if separator == ONE_COLUMN else f"separator {shown}"
        kind = "TSV" if separator == TAB else "CSV"
        self.kind = f"{kind}{data.suffix} ({cells}, {self._encoding})"
        self.columns = unique_names(self._layout.names, self.notes)
        # blanks between cells are not reproduced
        mark = "," if separator in (BLANKS, ONE_COLUMN) else separator
        mark = ";" if mark == self.decimal == "," else mark
        self.style = Style(f".{kind.lower()}", mark, self.decimal or ".", self._encoding)
        self._end = self._find_end(size, tail)

    def _tables(self, rows: int | None, text: Names, words: Names) -> Tables:
        return self._tables_until(self._end, rows, text, words, self.notes)

    def _decode_head(self) -> str:
        try:
            text = self._data.head.decode(self._encoding, errors="replace").lstrip("\ufeff")
        except (LookupError, UnicodeError):  # codecs such as base64 and idna
            raise TableError(f"{self._encoding!r} is no encoding of text; name another.") from None
        if "\x00" in text:
            raise TableError(
                f"{self.name} is no table of text, Parquet or NPY: it holds zero bytes."
            )
        return text

    def _find_end(self, size: int, tail: bytes) -> int | None:
        """Return the bytes above totals and notes, None where rows end the table.

        Lines are examined one by one, and a line within quotes is not a note.
        """
        skip, layout = self.form.skip_footer, self._layout
        if not self._data.can_reopen:
            if skip:
                raise TableError(
                    f"the last {plural(skip, 'line')} cannot be skipped: the end of {self.name} is "
                    "not known before it is read; save it into a file first."
                )
            return None
        encoding = without_mark(self._encoding, self._data.head)
        lines = list(io.StringIO(tail.decode(encoding, errors="replace"), newline=""))
        # the first line of a tail need not be whole
        lines = lines[layout.lines :] if size <= HEAD else lines[1:]
        lines = lines[-max(skip or 0, MOST_NOTES) * 2 :]
        records = [split_line(line, layout.separator) for line in lines]

        def encode_from(place: int) -> bytes:
            return "".join(lines[place:]).encode(encoding, errors="replace")

        def tables_above(place: int) -> Tables:
            return self._tables_until(
                size - len(encode_from(place)), self.rows_at_once(), (), (), []
            )

        place, notes = find_footer(
            records, layout.sample, len(self.columns), skip, tables_above, self.decimal
        )
        below = encode_from(place)
        if tail.endswith(below):
            self.notes.extend(notes)
            return size - len(below) if below else None
        if skip:
            raise TableError(
                f"the last {plural(skip, 'line')} of {self.name} cannot be located in "
                f"{self._encoding}; save it as UTF-8."
            )
        return None  # an encoding whose letters depend on those before them

    def _tables_until(
        self, end: int | None, rows: int | None, text: Names, words: Names, notes: list[str]
    ) -> Tables:
        marks = self.form.marks()
        options: dict[str, Any] = {
            "sep": self._layout.separator,
            "names": self.columns,
            "header": None,
            # a blank line is a missing value if there is only one column
            "skip_blank_lines": len(self.columns) > 1,
            "decimal": self.decimal or ".",
            "skipinitialspace": True,
            "low_memory": False,
            "on_bad_lines": "warn" if self.form.skip_bad_lines else "error",
            "dtype": dict.fromkeys([*text, *words], str),
            "keep_default_na": False,
            # an identifier "NA" or "007" is not a missing value or a number
            "na_values": {column: marks for column in self.columns if column not in text},
            "chunksize": rows or MOST_ROWS,
        }
        # a byte order mark is not part of a cell, even if the encoding was given
        encoding = "utf-8-sig" if self._encoding == "utf-8" else self._encoding
        with io.TextIOWrapper(self._data.open(end), encoding, newline="") as lines:
            with self._as_table_errors(notes):
                for _ in range(self._layout.lines):  # pandas counts lines of quoted names otherwise
                    lines.readline()
                pieces = pd.read_csv(lines, **options)
            while True:
                with self._as_table_errors(notes):
                    piece = next(pieces, None)
                if piece is None:
                    return
                if len(piece) or rows is None:
                    yield piece

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


def _survey(data: TableBytes) -> tuple[int, bytes, bool]:
    """Look through a table once: return its size, last bytes, and whether all of it is UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    size, tail, is_utf8 = 0, b"", True
    for piece in data.pieces():
        size += len(piece)
        tail = (tail + piece)[-HEAD:]
        try:
            decoder.decode(piece if is_utf8 else b"")
        except UnicodeDecodeError:
            is_utf8 = False
    if is_utf8 and data.can_reopen:
        is_utf8 = not decoder.getstate()[0]  # no part of a letter is left
    return size, tail, is_utf8


# Encoding


def detect_encoding(data: TableBytes, is_utf8: bool, given: str | None, notes: list[str]) -> str:
    """Return the encoding, the given one if there is one, and add notes on it."""
    if given is not None:
        try:
            return codecs.lookup(given).name
        except LookupError:
            raise TableError(f"there is no encoding {quote(given)!r}.") from None
    head = data.head
    for mark, name in MARKS:
        if head.startswith(mark):
            return name
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros = head[start::2].count(0)
        if zeros > ZEROS * len(head) / 2 and not head[1 - start :: 2].count(0):
            notes.append(f"read as {name}, by its bytes (--encoding names another)")
            return name
    word = "" if is_utf8 else _western_word(data.pieces())
    if not word:  # if it is not UTF-8, the reader names the byte and the line
        return "utf-8"
    notes.append(
        f"it is not UTF-8: read as {WESTERN}, in which a word of it is '{quote(word, 30)}' "
        "(--encoding names another, such as cp1250, cp1251 or mac-roman)"
    )
    return WESTERN


def _western_word(pieces: Iterable[bytes]) -> str:
    """Return a word with letters of cp1252, or "" if the text cannot be cp1252.

    If most letters beyond ASCII are sequences of UTF-8, the text is UTF-8 with damaged bytes.
    """
    word, lone, sequences = b"", 0, 0
    for piece in pieces:
        if NO_LETTERS.search(piece):
            return ""
        rest, found = SEQUENCES.subn(b"", piece)
        high = len(HIGH.findall(rest))
        lone, sequences = lone + high, sequences + found
        if high and not word and (shown := WORD.search(rest)):
            word = shown[0]
    return word.decode(WESTERN) if lone > 2 * sequences else ""


def without_mark(encoding: str, head: bytes) -> str:
    """Return the encoding for a piece of the text without a byte order mark."""
    if encoding == "utf-16":
        return "utf-16-be" if head.startswith(codecs.BOM_UTF16_BE) else "utf-16-le"
    return "utf-8" if encoding == "utf-8-sig" else encoding
