"""What all kinds of tables share: the open table, its format, its errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, cast

from softkern._utils.memory import available_memory
from softkern._utils.text import one_line, plural, quote, unknown_names
from softkern.exceptions import DataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "CHUNK_ROWS",
    "ERRORS",
    "MISSING",
    "Format",
    "Reader",
    "Style",
    "TableError",
    "unique_names",
]

CHUNK_ROWS = 50_000
MOST_RENAMED = 5  # columns that are told of
CHUNK_CELLS = 5_000_000  # wide tables come in fewer rows at a time
# of spreadsheets, where no value came out
ERRORS = ("#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#N/A")
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>", "-nan", *ERRORS)


class TableError(DataError):
    """The table cannot be used as it is; the message says where and what to do."""


@dataclass(frozen=True)
class Format:
    """How a table is written, where that is not to be found out from the file.

    Attributes
    ----------
    separator, encoding, header, decimal : str, str, bool and str, or None to find out
    missing : tuple of str
        Words for a missing value beyond the usual ones.
    skip_bad_lines : bool
        Leave out lines with too many fields instead of refusing the file.
    skip_rows, skip_footer : int or None to find out
        Lines above the header, and below the last row.
    sheet : str or None for the first that holds something
        Name or number of a workbook's sheet.
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
        """All words for a missing value."""
        return sorted({*MISSING, *self.missing})


@dataclass(frozen=True)
class Style:
    """How a table of text is written back as it was."""

    extension: str = ".csv"
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"


@dataclass
class Reader:
    """An open table: what it is, its columns, and its rows in chunks; closed by ``with``.

    Attributes
    ----------
    name : str
        The path, or "standard input".
    kind : str
        Such as "CSV, gzip".
    columns : list of str
        Unique; a second "a" is called "a.2".
    notes : list of str
        What a user should know of how the table was read; complete after the last chunk.
    decimal : str or None
        The decimal point that was given, or that the first lines show.
    style : Style
        How to write the table back in its own format.
    size : int
        Bytes of the file, 0 where it is none.
    """

    name: str
    kind: str
    columns: list[str]
    notes: list[str] = field(default_factory=list)
    decimal: str | None = None
    style: Style = Style()
    size: int = 0
    _chunks: Any = field(default=None, repr=False)
    _stream: Any = field(default=None, repr=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._stream is not None:
            self._stream.close()

    def chunks(
        self, rows: int | None = None, text: Sequence[str] = (), words: Sequence[str] = ()
    ) -> Iterator[pd.DataFrame]:
        """The table in pieces of so many rows, once.

        Columns in `text` are kept as written; those in `words` too, save missing values: whether
        "01" is read as a number must not depend on what else is in the same piece.
        """
        return cast("Iterator[pd.DataFrame]", self._chunks(rows, tuple(text), tuple(words)))

    def read(self, text: Sequence[str] = (), words: Sequence[str] = ()) -> pd.DataFrame:
        """The whole table; refused where its file alone is larger than what memory is left."""
        free = available_memory()
        if self.size > free:
            raise MemoryError(
                f"{self.name} holds {self.size / 2**30:.1f} GiB, and {free / 2**30:.1f} are free"
            )
        chunks = self._chunks(0, tuple(text), tuple(words))
        table = next(chunks)
        chunks.close()
        return cast("pd.DataFrame", table)

    def identifier(self, asked: str | None) -> str | None:
        """The column that --id names, in one line maybe; refused where it is none."""
        if asked is None or asked in self.columns:
            return asked
        for column in self.columns:
            if one_line(column) == asked:
                return column
        raise TableError(f"--id: {self.name} has no column {unknown_names([asked], self.columns)}")

    def rows_at_once(self) -> int:
        """Rows of a chunk that stays small in memory."""
        return max(1, min(CHUNK_ROWS, CHUNK_CELLS // max(1, len(self.columns))))


def unique_names(names: Sequence[str], notes: list[str]) -> list[str]:
    """Names that are all different: a second "a" is called "a.2".

    Examples
    --------
    >>> unique_names(["a", "a", "a.2", "a"], [])
    ['a', 'a.2', 'a.2.2', 'a.3']
    """
    taken: set[str] = set()
    copies: dict[str, int] = {}  # where to go on: thousands of columns may have one name
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
