"""Pieces of tables in files that are read a piece at a time: row groups of Parquet, rows of NPY.

What a file holds is known from its footer or header; rows are read by whoever works on a piece.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from softkern._utils.text import quote
from softkern.rows import row_slices
from softkern.tables.io import Format, Reader, TableError, unique_names
from softkern.tables.io.binary import PARQUET_DAMAGE, npy_rows, npy_values
from softkern.tables.io.bytes import damaged
from softkern.tables.preparation.cells import without_words

__all__ = ["Piece", "files_of", "pieces_of"]

PIECE_CELLS = 5_000_000  # of a piece of an NPY file, which has none of its own


@dataclass(frozen=True)
class Piece:
    """Rows of a file, the first of which has the number `start` among all.

    Attributes
    ----------
    file : str
    place : int
        Of the piece in the file.
    start : int
    rows : int
    """

    file: str
    place: int
    start: int
    rows: int
    kind: ClassVar[str]
    called: ClassVar[str]  # what is counted by `place`

    def table(self) -> pd.DataFrame:
        """Its rows."""
        raise NotImplementedError

    def reader(self, form: Format) -> Reader:
        """The same as an open table."""
        table = self.table()
        name = f"{quote(self.file)}, {self.called} {self.place}"
        reader = Reader(name, self.kind, list(table.columns))

        def chunks(
            rows: int | None, kept: Sequence[str], words: Sequence[str]
        ) -> Iterator[pd.DataFrame]:
            size = len(table) if rows == 0 else rows or reader.rows_at_once()
            for part in row_slices(len(table), size):
                piece = table.iloc[part].reset_index(drop=True)
                yield without_words(piece, form.marks(), kept)

        reader._chunks = chunks
        return reader


class ParquetPiece(Piece):
    """A row group."""

    kind = "Parquet"
    called = "row group"

    def table(self) -> pd.DataFrame:
        """Its rows."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(self.file) as file:
                table = file.read_row_group(self.place).to_pandas(ignore_metadata=True)
        except (pa.ArrowException, *PARQUET_DAMAGE) as error:
            raise damaged(quote(self.file), "a Parquet file") from error
        return table.set_axis(unique_names([str(name) for name in table.columns], []), axis=1)


class NpyPiece(Piece):
    """Rows from the number `place` of the file on."""

    kind = "NPY"
    called = "from row"

    def table(self) -> pd.DataFrame:
        """Its rows."""
        values, columns = npy_values(self.file, quote(self.file))
        return npy_rows(values, columns, slice(self.place, self.place + self.rows))


def files_of(data: str) -> list[str] | None:
    """Such files of a folder or a pattern, in the order of their names; of a file, itself.

    None where the data are something else.
    """
    if data == "-":
        return None
    if Path(data).is_dir():
        for ending in KINDS:
            found = sorted(str(path) for path in Path(data).rglob(f"*{ending}"))
            if found:
                return found
        raise TableError(f"{quote(data)} is a folder without .parquet or .npy files; give a file.")
    if any(mark in data for mark in "*?[") and not Path(data).exists():
        found = sorted(glob.glob(data, recursive=True))
        if not found:
            raise TableError(f"no file fits {quote(data)}.")
        return found
    return [data] if Path(data).suffix in KINDS and Path(data).is_file() else None


def pieces_of(files: Sequence[str]) -> tuple[list[Piece], list[str]]:
    """Pieces of all files, whose columns must be the same, and the columns."""
    pieces: list[Piece] = []
    first: Any = None
    start = 0
    for file in files:
        if Path(file).suffix not in KINDS:
            raise TableError(
                f"{quote(file)} is neither .parquet nor .npy; only these are read in parts."
            )
        kind, look = KINDS[Path(file).suffix]
        columns, places = look(file)
        if first is not None and columns != first:
            raise TableError(
                f"{quote(file)} has other columns than {quote(files[0])}: {_other(columns, first)}"
            )
        first = columns
        for place, rows in places:
            if rows:
                pieces.append(kind(os.path.abspath(file), place, start, rows))
                start += rows
    if not pieces:
        raise TableError(f"{quote(files[0])} has a header and no rows.")
    return pieces, unique_names([name for name, _ in first], [])


Columns = list[tuple[str, str]]  # names and types
Places = list[tuple[int, int]]  # of the pieces, and how many rows they have


def _look_at_parquet(file: str) -> tuple[Columns, Places]:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise TableError("Parquet needs pyarrow: pip install 'softkern[parquet]'.") from None
    try:
        footer = pq.read_metadata(file)
        schema = footer.schema.to_arrow_schema()
    except PARQUET_DAMAGE as error:
        raise damaged(quote(file), "a Parquet file") from error
    groups = range(footer.num_row_groups)
    columns = [(str(field.name), str(field.type)) for field in schema]
    return columns, [(group, footer.row_group(group).num_rows) for group in groups]


def _look_at_npy(file: str) -> tuple[Columns, Places]:
    values, names = npy_values(file, quote(file))
    kinds = values.dtype.fields
    columns = [(name, str(values.dtype if kinds is None else kinds[name][0])) for name in names]
    rows = max(1, PIECE_CELLS // max(1, len(names)))
    return columns, [(part.start, part.stop - part.start) for part in row_slices(len(values), rows)]


KINDS: dict[str, tuple[type[Piece], Callable[[str], tuple[Columns, Places]]]] = {
    ".parquet": (ParquetPiece, _look_at_parquet),
    ".pq": (ParquetPiece, _look_at_parquet),
    ".npy": (NpyPiece, _look_at_npy),
}


def _other(columns: Columns, first: Columns) -> str:
    """How the columns of a file differ."""
    names, known = dict(columns), dict(first)
    for kind, others in (("lacks", known.keys() - names.keys()), ("adds", names.keys() - known)):
        if others:
            return f"it {kind} {', '.join(quote(name) for name in sorted(others)[:5])}."
    for name, kind in columns:
        if kind != known[name]:
            return f"'{quote(name)}' is {kind}, and {known[name]} there."
    return "their order is another."
