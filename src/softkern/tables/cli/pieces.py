"""Pieces of tables in many files, or larger than memory: row groups of Parquet, rows of NPY.

The sizes of the pieces are known from the files' metadata. Rows are read when a piece is processed.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from softkern._utils.text import quote
from softkern.rows import row_slices
from softkern.tables.io import Format, Reader, TableError, unique_names
from softkern.tables.io.binary import PARQUET, import_parquet, load_npy, npy_rows
from softkern.tables.io.bytes import naming_damage
from softkern.tables.io.reader import Tables

PIECE_CELLS = 5_000_000  # cells of a piece of an NPY file
KINDS = {".parquet": "Parquet", ".pq": "Parquet", ".npy": "NPY"}

Columns = list[tuple[str, str]]  # names and types
Places = list[tuple[int, int]]  # positions of the pieces in a file, and their numbers of rows


@dataclass(frozen=True)
class Piece:
    """Some rows of a file."""

    file: str
    place: int  # number of the row group of a Parquet file, or of the first row of an NPY file
    start: int  # number of its first row among all rows
    rows: int

    @property
    def kind(self) -> str:
        """The format of the file."""
        return KINDS[Path(self.file).suffix]

    def table(self) -> pd.DataFrame:
        """Read the rows."""
        if self.kind == "NPY":
            values, columns = load_npy(self.file, quote(self.file))
            return npy_rows(values, columns, slice(self.place, self.place + self.rows))
        parquet = import_parquet("Parquet")
        with naming_damage(quote(self.file), PARQUET), parquet.ParquetFile(self.file) as file:
            table = file.read_row_group(self.place).to_pandas(ignore_metadata=True)
        names = unique_names([str(name) for name in table.columns], [])
        return table.set_axis(pd.Index(names), axis=1)

    def reader(self, form: Format) -> Reader:
        """Read the rows, and return them as an open table."""
        unit = "from row" if self.kind == "NPY" else "row group"
        name = f"{quote(self.file)}, {unit} {self.place}"
        return FrameReader(name, self.kind, self.table(), form)


class FrameReader(Reader):
    """A table in memory."""

    def __init__(self, name: str, kind: str, table: pd.DataFrame, form: Format) -> None:
        super().__init__(name, form)
        self.kind, self.columns, self._table = kind, list(table.columns), table

    def _parts(self, rows: int | None) -> Tables:
        n = len(self._table)
        for part in row_slices(n, n if rows is None else rows):
            yield self._table.iloc[part].reset_index(drop=True)


def _survey(file: str) -> tuple[Columns, Places]:
    """Return the columns of a file and its pieces, from its metadata."""
    kind = KINDS.get(Path(file).suffix)
    if kind is None:
        raise TableError(
            f"{quote(file)} is neither .parquet nor .npy; only these are read in parts."
        )
    if kind == "NPY":
        values, names = load_npy(file, quote(file))
        types = values.dtype.fields
        columns = [(name, str(values.dtype if types is None else types[name][0])) for name in names]
        slices = row_slices(len(values), max(1, PIECE_CELLS // max(1, len(names))))
        return columns, [(part.start, part.stop - part.start) for part in slices]
    parquet = import_parquet("Parquet")
    with naming_damage(quote(file), PARQUET):
        footer = parquet.read_metadata(file)
        schema = footer.schema.to_arrow_schema()
    columns = [(str(field.name), str(field.type)) for field in schema]
    return columns, [(k, footer.row_group(k).num_rows) for k in range(footer.num_row_groups)]


def find_files(data: str) -> list[str] | None:
    """Return the files of a folder or a pattern by name, or one such file; None for others."""
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
            raise TableError(f"no file matches {quote(data)}.")
        return found
    return [data] if Path(data).suffix in KINDS and Path(data).is_file() else None


def find_pieces(files: Sequence[str]) -> tuple[list[Piece], list[str]]:
    """Return the pieces of all files, and the columns, which must be the same in all of them."""
    pieces: list[Piece] = []
    expected: Columns | None = None
    start = 0
    for file in files:
        columns, places = _survey(file)
        expected = columns if expected is None else expected
        if columns != expected:
            raise TableError(
                f"{quote(file)} has other columns than {quote(files[0])}: "
                f"{_difference(columns, expected)}"
            )
        for place, rows in places:
            if rows:
                pieces.append(Piece(os.path.abspath(file), place, start, rows))
                start += rows
    if not pieces:
        raise TableError(f"{quote(files[0])} has a header and no rows.")
    return pieces, unique_names([name for name, _ in expected or ()], [])


def _difference(columns: Columns, expected: Columns) -> str:
    """Return how the columns of a file differ from those expected."""
    names, known = dict(columns), dict(expected)
    for verb, others in (("lacks", known.keys() - names.keys()), ("adds", names.keys() - known)):
        if others:
            return f"it {verb} {', '.join(quote(name) for name in sorted(others)[:5])}."
    for name, kind in columns:
        if kind != known[name]:
            return f"'{quote(name)}' is {kind}, not {known[name]}."
    return "their order differs."
