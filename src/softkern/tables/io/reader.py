"""Classes shared by the readers of all formats: the open table, its format, its errors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import count, islice
from typing import Any, Self, TypeAlias

import pandas as pd

from softkern._utils.memory import available_memory
from softkern._utils.text import one_line, plural, quote, unknown_names
from softkern.exceptions import DataError
from softkern.tables.preparation.cells import replace_words

Names: TypeAlias = Sequence[str]
Tables: TypeAlias = Iterator[pd.DataFrame]
CHUNK_ROWS = 50_000
CHUNK_CELLS = 5_000_000  # wide tables are read in fewer rows at a time
MOST_RENAMED = 5  # renamed columns that are noted one by one
LARGEST_INT = 2**63
# errors in cells of spreadsheets
ERRORS = ("#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#N/A")
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>", "-nan", *ERRORS)


class TableError(DataError):
    """The table cannot be used as it is. The message names the place and the remedy."""


@dataclass(frozen=True)
class Format:
    """The format of a table. Fields that are None are detected."""

    separator: str | None = None  # the character between fields
    encoding: str | None = None  # name of a Python codec
    header: bool | None = None  # whether the first line names the columns
    decimal: str | None = None  # "." or ","
    missing: tuple[str, ...] = ()  # words for a missing value beyond the usual ones
    skip_bad_lines: bool = False  # skip lines with too many fields instead of rejecting the file
    skip_rows: int | None = None  # lines above the header
    sheet: str | None = None  # name or number of a workbook's sheet; None: the first with content
    skip_footer: int | None = None  # lines below the last row

    def marks(self) -> set[str]:
        """Return all words for a missing value."""
        return {*MISSING, *self.missing}


@dataclass(frozen=True)
class Style:
    """How to write a table of text back in its own format."""

    extension: str = ".csv"
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"


class Reader:
    """An open table: its columns, and its rows in chunks. It is closed by ``with``.

    `notes` lists what a user should know about how the table was read, complete after the last
    chunk. `decimal` is the decimal point that was given, or that the first lines show.
    """

    kind: str  # the format, for example "CSV, gzip"
    columns: list[str]  # unique names
    _data: Any = None  # the file to close, if it stays open

    def __init__(self, name: str, form: Format) -> None:
        self.name, self.form = name, form  # the path, or "standard input"
        self.notes: list[str] = []
        self.decimal, self.style = form.decimal, Style()
        self.size = 0  # bytes of the file, if there is one

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        if self._data is not None:
            self._data.close()

    def _parts(self, rows: int | None) -> Tables:
        """Yield the cells of at most `rows` rows at a time. For None, one table of all rows."""
        raise NotImplementedError

    def _tables(self, rows: int | None, text: Names, words: Names) -> Tables:
        """Yield the parts with missing values (see `chunks`)."""
        for part in self._parts(rows):
            yield replace_words(part, self.form.marks(), text)

    def chunks(self, rows: int | None = None, text: Names = (), words: Names = ()) -> Tables:
        """Return the table in pieces of at most `rows` rows, once.

        Columns in `text` are kept as written. Those in `words` are too, except for missing values:
        whether "01" is read as a number must not depend on the other cells of the same piece.
        """
        return self._tables(rows or self.rows_at_once(), text, words)

    def read(self, text: Names = (), words: Names = ()) -> pd.DataFrame:
        """Return the whole table. Reject one whose file alone exceeds the available memory."""
        free = available_memory()
        if self.size > free:
            raise MemoryError(
                f"{self.name} holds {self.size / 2**30:.1f} GiB, and {free / 2**30:.1f} are free"
            )
        (table,) = self._tables(None, text, words)
        return table

    def identifier(self, name: str | None) -> str | None:
        """Return the column of this name, which may be given in one line."""
        if name is None or name in self.columns:
            return name
        for column in self.columns:
            if one_line(column) == name:
                return column
        raise TableError(f"{self.name} has no column {unknown_names([name], self.columns)}")

    def rows_at_once(self) -> int:
        """Return the rows of a chunk that stays small in memory."""
        return max(1, min(CHUNK_ROWS, CHUNK_CELLS // max(1, len(self.columns))))


class RecordReader(Reader):
    """An open table whose rows are tuples of Python values: a workbook, or JSON lines."""

    def _records(self) -> Iterator[Sequence[Any]]:
        """Return the rows."""
        raise NotImplementedError

    def _parts(self, rows: int | None) -> Tables:
        records = self._records()
        while (part := list(islice(records, rows))) or rows is None:
            yield pd.DataFrame(part, columns=pd.Index(self.columns), dtype=object)
            if rows is None:
                return

    def _tables(self, rows: int | None, text: Names, words: Names) -> Tables:
        for table in super()._tables(rows, text, words):
            columns = {n: c if n in text else _with_dtype(c) for n, c in table.items()}
            yield pd.DataFrame(columns, columns=table.columns)


def _with_dtype(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Return cells as numbers or dates if all of them are, else as they are."""
    present = cells.dropna()
    kinds = {type(cell) for cell in present}
    if kinds <= {int, float}:
        is_whole = kinds == {int} and len(present) == len(cells)
        return cells.astype(int if is_whole and max(map(abs, cells)) < LARGEST_INT else float)
    if all(issubclass(kind, date) for kind in kinds):
        return pd.to_datetime(cells, errors="coerce")
    return cells


def unique_names(names: Sequence[str], notes: list[str]) -> list[str]:
    """Return names that are all different, and add notes: a second "a" is called "a.2"."""
    unique: dict[str, None] = {}
    # numbers of copies: thousands of columns may have one name
    copies: defaultdict[str, count[int]] = defaultdict(lambda: count(2))
    renamed = []
    for number, name in enumerate(names, start=1):
        own = base = name.strip() or f"column {number}"
        while own in unique:
            own = f"{base}.{next(copies[base])}"
        if own != base:
            renamed.append(f"a second column '{quote(base)}' is called '{quote(own)}'")
        unique[own] = None
    notes += renamed[:MOST_RENAMED]
    if len(renamed) > MOST_RENAMED:
        more = plural(len(renamed) - MOST_RENAMED, "more column")
        notes.append(f"{more} with the name of another got a number, too")
    return list(unique)
