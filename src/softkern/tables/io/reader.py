"""What all kinds of tables share: the open table, its format, its errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

import pandas as pd

from softkern._utils.memory import available_memory
from softkern._utils.text import one_line, plural, quote, unknown_names
from softkern.exceptions import DataError

__all__ = [
    "CHUNK_ROWS",
    "ERRORS",
    "MISSING",
    "Format",
    "Names",
    "Reader",
    "Style",
    "TableError",
    "Tables",
    "unique_names",
]

Names: TypeAlias = Sequence[str]
Tables: TypeAlias = Iterator[pd.DataFrame]
CHUNK_ROWS = 50_000
CHUNK_CELLS = 5_000_000  # wide tables are read in fewer rows at a time
MOST_RENAMED = 5  # renamed columns that are noted one by one
# of spreadsheets, in cells without a result
ERRORS = ("#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#N/A")
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>", "-nan", *ERRORS)


class TableError(DataError):
    """The table cannot be used as it is. The message names the place and the remedy."""


@dataclass(frozen=True)
class Format:
    """How a table is written. What is None is detected.

    Attributes
    ----------
    separator : str or None
        The character between fields.
    encoding : str or None
        Name of a Python codec.
    header : bool or None
        Whether the first line names the columns.
    decimal : str or None
        The decimal point, "." or ",".
    missing : tuple of str
        Words for a missing value beyond the usual ones.
    skip_bad_lines : bool
        Skip lines with too many fields instead of rejecting the file.
    skip_rows : int or None
        Lines above the header.
    sheet : str or None
        Name or number of a workbook's sheet; None is the first with content.
    skip_footer : int or None
        Lines below the last row.
    """

    separator: str | None = None
    encoding: str | None = None
    header: bool | None = None
    decimal: str | None = None
    missing: tuple[str, ...] = ()
    skip_bad_lines: bool = False
    skip_rows: int | None = None
    sheet: str | None = None
    skip_footer: int | None = None

    def marks(self) -> list[str]:
        """Return all words for a missing value."""
        return sorted({*MISSING, *self.missing})


@dataclass(frozen=True)
class Style:
    """How to write a table of text back in its own format."""

    extension: str = ".csv"
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"


class Reader(ABC):
    """An open table: its columns, and its rows in chunks. It is closed by ``with``.

    Parameters
    ----------
    name : str
        The path, or "standard input".
    kind : str
        The format, for example "CSV, gzip".
    columns : list of str
        Unique names. A second "a" is called "a.2".
    notes : list of str, default=None
        What a user should know about how the table was read. Complete after the last chunk.
    decimal : str, default=None
        The decimal point that was given, or that the first lines show.
    style : Style, default=Style()
        How to write the table back in its own format.
    size : int, default=0
        Bytes of the file, 0 where there is none.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        columns: list[str],
        notes: list[str] | None = None,
        *,
        decimal: str | None = None,
        style: Style = Style(),
        size: int = 0,
    ) -> None:
        self.name, self.kind, self.columns = name, kind, columns
        self.notes = [] if notes is None else notes
        self.decimal, self.style, self.size = decimal, style, size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:  # noqa: B027
        """Close the file."""

    @abstractmethod
    def iter_tables(self, rows: int | None, text: Names, words: Names) -> Tables:
        """Yield tables of at most `rows` rows. For None, one table of all rows."""

    def chunks(self, rows: int | None = None, text: Names = (), words: Names = ()) -> Tables:
        """Return the table in pieces of at most `rows` rows, once.

        Columns in `text` are kept as written. Those in `words` are too, except for missing values:
        whether "01" is read as a number must not depend on the other cells of the same piece.
        """
        return self.iter_tables(rows or self.rows_at_once(), text, words)

    def read(self, text: Names = (), words: Names = ()) -> pd.DataFrame:
        """Return the whole table. Reject one whose file alone exceeds the available memory."""
        free = available_memory()
        if self.size > free:
            raise MemoryError(
                f"{self.name} holds {self.size / 2**30:.1f} GiB, and {free / 2**30:.1f} are free"
            )
        (table,) = self.iter_tables(None, text, words)
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


def unique_names(names: Sequence[str], notes: list[str]) -> list[str]:
    """Return names that are all different: a second "a" is called "a.2".

    Examples
    --------
    >>> unique_names(["a", "a", "a.2", "a"], [])
    ['a', 'a.2', 'a.2.2', 'a.3']
    """
    taken: set[str] = set()
    copies: dict[str, int] = {}  # the next number: thousands of columns may have one name
    renamed, result = [], []
    for number, name in enumerate(names, start=1):
        unique = base = name.strip() or f"column {number}"
        copy = copies.get(base, 2)
        while unique in taken:
            unique, copy = f"{base}.{copy}", copy + 1
        copies[base] = copy
        if unique != base:
            renamed.append(f"a second column '{quote(base)}' is called '{quote(unique)}'")
        taken.add(unique)
        result.append(unique)
    notes += renamed[:MOST_RENAMED]
    if len(renamed) > MOST_RENAMED:
        more = plural(len(renamed) - MOST_RENAMED, "more column")
        notes.append(f"{more} with the name of another got a number, too")
    return result
