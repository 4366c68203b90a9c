"""Tables in many files, or larger than memory: a sample is analyzed, and all rows are scored.

The pieces of such a table are row groups of Parquet files and rows of NPY files, whose sizes are
known from the files' metadata. Dask reads a sample of the rows, and scores the pieces one by one,
each into a part of the results that appears when it is complete. The threads of this machine
compute, or with ``--scheduler`` a cluster whose workers see the same files.
"""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from softkern._utils.memory import available_memory
from softkern._utils.progress import stage
from softkern._utils.text import plural, quote
from softkern.dask.cluster import compute_each, connect
from softkern.dask.rows import SUBSAMPLE_ROWS
from softkern.files import replacing
from softkern.rows import lowest_numbers, row_slices
from softkern.tables.cli.errors import OutputError
from softkern.tables.cli.options import ScoreSettings, TableOptions
from softkern.tables.cli.scorer import RANKS, SavedModel, Scorer
from softkern.tables.cli.writing import write_chunks
from softkern.tables.io import Format, Reader, TableError, unique_names
from softkern.tables.io.binary import PARQUET, import_parquet, load_npy
from softkern.tables.io.bytes import naming_damage
from softkern.tables.io.reader import Tables

BYTES_PER_CELL = 40  # memory of a table while it is read, prepared and fitted
PIECE_CELLS = 5_000_000  # cells of a piece of an NPY file
KINDS = {".parquet": "Parquet", ".pq": "Parquet", ".npy": "NPY"}
TOP = 1000  # strongest outliers that are listed
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
            part = np.array(values[self.place : self.place + self.rows])
            return pd.DataFrame(part, columns=columns)
        parquet = import_parquet("Parquet")
        with naming_damage(quote(self.file), PARQUET), parquet.ParquetFile(self.file) as file:
            table = file.read_row_group(self.place).to_pandas(ignore_metadata=True)
        return table.set_axis(unique_names([str(name) for name in table.columns], []), axis=1)

    def reader(self, form: Format) -> Reader:
        """Read the rows, and return them as an open table."""
        unit = "from row" if self.kind == "NPY" else "row group"
        name = f"{quote(self.file)}, {unit} {self.place}"
        return FrameReader(name, self.kind, self.table(), form)

    def part_of(self, numbers: Any) -> Any:
        """Return which of these row numbers, counted from 0, are in this piece."""
        return (numbers >= self.start) & (numbers < self.start + self.rows)


class FrameReader(Reader):
    """A table in memory."""

    def __init__(self, name: str, kind: str, table: pd.DataFrame, form: Format) -> None:
        super().__init__(name, form)
        self.kind, self.columns, self._table = kind, list(table.columns), table

    def _parts(self, rows: int | None) -> Tables:
        n = len(self._table)
        for part in row_slices(n, n if rows is None else rows):
            yield self._table.iloc[part].reset_index(drop=True)


@dataclass(frozen=True)
class Summary:
    """Results in numbers: of a table, of a piece, or of all pieces."""

    rows: int
    labels: Counter[int]
    outliers: int
    overlaps: int
    top: pd.DataFrame  # the strongest outliers
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, table: pd.DataFrame) -> Summary:
        """Return the results in a table, which has blanks in rows that were left out."""
        is_outlier = table["is_outlier"].fillna(False).astype(bool)
        return cls(
            rows=len(table),
            labels=Counter(table["label"].dropna().astype(int).tolist()),
            outliers=int(is_outlier.sum()),
            overlaps=int(table["is_overlap"].fillna(False).sum()),
            top=table[is_outlier].nlargest(TOP, "outlier_score"),
        )

    @classmethod
    def total(cls, parts: Sequence[Summary]) -> Summary:
        """Return the results of all parts. The strongest outliers have their ranks."""
        top = pd.concat([part.top for part in parts]).nlargest(TOP, "outlier_score")
        ranks = top["outlier_score"].rank(method="min", ascending=False).astype(int)
        return cls(
            rows=sum(part.rows for part in parts),
            labels=sum((part.labels for part in parts), Counter()),
            outliers=sum(part.outliers for part in parts),
            overlaps=sum(part.overlaps for part in parts),
            top=top.assign(outlier_rank=ranks),
            notes=list(dict.fromkeys(note for part in parts for note in part.notes))[:10],
        )

    @property
    def sizes(self) -> list[int]:
        """Number of rows of each cluster."""
        return [self.labels[label] for label in sorted(self.labels) if label >= 0]

    def counts(self) -> dict[str, Any]:
        """Return the numbers that run.json records."""
        return {
            "sizes": self.sizes,
            "in_no_cluster": self.labels[-1],
            "outliers": self.outliers,
            "overlaps": self.overlaps,
        }


@dataclass(frozen=True)
class Parts:
    """The pieces of a table, in the order of their rows."""

    pieces: list[Piece]
    scheduler: str | None = None  # address of a Dask scheduler

    @classmethod
    def of(cls, settings: TableOptions) -> Parts | None:
        """Return the parts of a folder, a pattern or a file too large for memory, else None."""
        data, scheduler = settings.data, settings.scheduler
        files = find_files(data)
        if files is None:
            if scheduler is not None:
                raise TableError(
                    f"--scheduler is for Parquet and NPY, as a folder, a pattern or a file, which "
                    f"{quote(data)} is not."
                )
            return None
        pieces, n_columns = find_pieces(files)
        parts = cls(pieces, scheduler)
        needed = parts.rows * n_columns * BYTES_PER_CELL
        if files == [data] and scheduler is None and needed < available_memory():
            return None
        if find_spec("dask") is None:
            raise TableError(
                "tables in parts, or larger than memory, need Dask: pip install 'softkern[dask]'."
            )
        if settings.join:
            raise OutputError("--join is for single tables, not for tables in parts.")
        return parts

    @property
    def rows(self) -> int:
        """Number of rows of all pieces."""
        return sum(piece.rows for piece in self.pieces)

    @property
    def kind(self) -> str:
        """The format and size, for messages."""
        files = len({piece.file for piece in self.pieces})
        return f"{plural(files, f'{self.pieces[0].kind} file')}, {plural(self.rows, 'row')}"

    @property
    def names(self) -> list[str]:
        """Names of the parts of the results."""
        return [f"points-{k:05d}.parquet" for k in range(len(self.pieces))]

    def sample(self, seed: int) -> tuple[np.ndarray[Any, Any], pd.DataFrame]:
        """Return the numbers of the rows of a sample, and the rows.

        The numbers depend on the seed only, so that they are known before any row is read.
        """
        numbers = lowest_numbers(self.rows, SUBSAMPLE_ROWS, seed)
        places = [numbers[piece.part_of(numbers)] - piece.start for piece in self.pieces]
        parts = zip(self.pieces, places, strict=True)
        tasks = [partial(_rows_of, piece, place) for piece, place in parts if place.size]
        tables = self._compute("reading some rows of all", tasks)
        return numbers, pd.concat(tables, ignore_index=True)

    def score(
        self, folder: Path, settings: ScoreSettings, known: pd.DataFrame | None = None
    ) -> Summary:
        """Score every piece into its part of the results. Rows in `known` keep their results."""
        settings = replace(settings, model=settings.model.absolute())
        places = [folder.absolute() / name for name in self.names]
        tasks = []
        for piece, place in zip(self.pieces, places, strict=True):
            own = None if known is None else known[piece.part_of(known["row"].to_numpy() - 1)]
            tasks.append(partial(_score, settings, piece, place, own))
        summaries = self._compute("scoring all rows", tasks)
        missing = [place.name for place in places if not place.exists()]
        if missing:
            raise OutputError(
                f"workers wrote {missing[0]} to a disk that this machine does not see; --out must "
                "be on a shared disk."
            )
        return Summary.total(summaries)

    def _compute(self, name: str, tasks: Sequence[Callable[[], Any]]) -> list[Any]:
        with stage(name, total=len(tasks)) as done, connect(self.scheduler):
            return compute_each(tasks, done)


# Tasks


def _rows_of(piece: Piece, rows: np.ndarray[Any, Any]) -> pd.DataFrame:
    return piece.table().iloc[rows]


@lru_cache(maxsize=1)
def _load(path: Path, changed: int) -> SavedModel:
    """Load a model, once per process."""
    return SavedModel(path)


def _score(
    settings: ScoreSettings, piece: Piece, place: Path, known: pd.DataFrame | None
) -> Summary:
    """Score one piece into a file, which appears when it is complete."""
    saved = _load(settings.model, os.stat(settings.model).st_mtime_ns)
    reader = piece.reader(saved.format(settings.data, settings.format))
    scorer = Scorer(saved, reader, settings, first_row=piece.start + 1)
    summaries: list[Summary] = []

    def tables() -> Iterator[pd.DataFrame]:
        for table in scorer.tables():
            full = table if known is None or known.empty else _with_known(table, known)
            summaries.append(Summary.of(full))
            yield full

    with replacing(place) as temporary:
        write_chunks(tables(), str(temporary), str(place), raw_text=True)
    return replace(Summary.total(summaries), notes=[*reader.notes, *scorer.notes()])


def _with_known(table: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of a chunk, with the known results of its rows."""
    columns = [name for name in table.columns if name in known.columns and name not in RANKS]
    table, known = table.set_index("row"), known.set_index("row")[columns[1:]]
    known = known[known.index.isin(table.index)].astype(table.dtypes[columns[1:]].to_dict())
    table.loc[known.index, known.columns] = known
    return table.reset_index()


# Pieces


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


def find_pieces(files: Sequence[str]) -> tuple[list[Piece], int]:
    """Return the pieces of all files, and the number of columns, which all files share."""
    pieces: list[Piece] = []
    expected, _ = _survey(files[0])
    start = 0
    for file in files:
        columns, places = _survey(file)
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
    return pieces, len(expected)


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
