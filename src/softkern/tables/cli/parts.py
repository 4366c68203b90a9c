"""Tables in many files, or larger than memory: a sample is analyzed, and all rows are scored.

The rows of the sample depend on their numbers and the seed, so that they are known before any row
is read. Dask reads them, and scores the pieces of the table one by one, each into a part of the
results that appears when it is complete. The threads of this machine compute, or with
``--scheduler`` a cluster whose workers see the same files.
"""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
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
from softkern.rows import lowest_numbers
from softkern.tables.cli.errors import OutputError
from softkern.tables.cli.options import STDOUT, ScoreSettings
from softkern.tables.cli.output_folder import results_folder
from softkern.tables.cli.pieces import Piece, find_files, find_pieces
from softkern.tables.cli.printer import Printer
from softkern.tables.cli.score import RANKS, Scorer, loaded, saved_format
from softkern.tables.cli.writing import write_chunks
from softkern.tables.io import TableError
from softkern.tables.preparation.model import preparation_of

__all__ = ["Parts", "Summary", "score_parts", "top_rows"]

BYTES_PER_CELL = 40  # of a table while it is read, prepared and fitted
TOP = 1000  # strongest outliers that are listed


@dataclass
class Summary:
    """Results of one piece in numbers."""

    rows: int = 0
    labels: Counter[int] = field(default_factory=Counter)
    outliers: int = 0
    overlaps: int = 0
    top: pd.DataFrame = field(default_factory=pd.DataFrame)  # the strongest outliers
    notes: list[str] = field(default_factory=list)

    def add(self, table: pd.DataFrame) -> None:
        """Count the results in a table."""
        is_outlier = table["is_outlier"].fillna(False).astype(bool)
        self.rows += len(table)
        self.labels.update(table["label"].dropna().astype(int).tolist())
        self.outliers += int(is_outlier.sum())
        self.overlaps += int(table["is_overlap"].fillna(False).sum())
        self.top = pd.concat([self.top, table[is_outlier]]).nlargest(TOP, "outlier_score")


@dataclass
class Parts:
    """The pieces of a table, in the order of their rows."""

    name: str  # the path that the user gave
    pieces: list[Piece]
    columns: list[str]
    scheduler: str | None = None  # address of a Dask scheduler

    @classmethod
    def of(cls, data: str, scheduler: str | None = None) -> Parts | None:
        """Return the parts of a folder, a pattern or a file too large for memory, else None."""
        files = find_files(data)
        if files is None:
            if scheduler is not None:
                raise TableError(
                    f"--scheduler is for Parquet and NPY, as a folder, a pattern or a file, which "
                    f"{quote(data)} is not."
                )
            return None
        found = cls(data, *find_pieces(files), scheduler)
        is_one = len(files) == 1 and files[0] == data
        cells = found.rows * len(found.columns)
        if is_one and scheduler is None and cells * BYTES_PER_CELL < available_memory():
            return None
        _check_dask()
        return found

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

    def sample(
        self, seed: int, size: int = SUBSAMPLE_ROWS
    ) -> tuple[np.ndarray[Any, Any], pd.DataFrame]:
        """Return the numbers of the rows of a sample, and the rows."""
        numbers = lowest_numbers(self.rows, size, seed)
        ends = np.searchsorted(numbers, [piece.start + piece.rows for piece in self.pieces])
        wanted = np.split(numbers, ends[:-1])
        tasks = [
            partial(_rows_of, piece, rows - piece.start)
            for piece, rows in zip(self.pieces, wanted, strict=True)
            if rows.size
        ]
        with stage("reading some rows of all", total=len(tasks)) as done:
            tables = self._compute(tasks, done)
        return numbers, pd.concat(tables, ignore_index=True)

    def score(
        self, folder: Path, settings: ScoreSettings, known: pd.DataFrame | None
    ) -> list[Summary]:
        """Score every piece into its part of the results. Rows in `known` keep their results."""
        settings = replace(settings, model=settings.model.absolute())
        places = [folder.absolute() / name for name in self.names]
        tasks = [
            partial(_score, settings, piece, place, _known_in(known, piece))
            for piece, place in zip(self.pieces, places, strict=True)
        ]
        with stage("scoring all rows", total=len(tasks)) as done:
            found: list[Summary] = self._compute(tasks, done)
        missing = [place.name for place in places if not place.exists()]
        if missing:
            raise OutputError(
                f"workers wrote {missing[0]} to a disk that this machine does not see; --out must "
                "be on a shared disk."
            )
        return found

    def _compute(self, tasks: Sequence[Callable[[], Any]], done: Callable[[float], None]) -> Any:
        with connect(self.scheduler):
            return compute_each(tasks, done)


def _check_dask() -> None:
    if importlib.util.find_spec("dask") is None:
        raise TableError(
            "tables in parts, or larger than memory, need Dask: pip install 'softkern[dask]'."
        )


# Tasks


def _rows_of(piece: Piece, rows: np.ndarray[Any, Any]) -> pd.DataFrame:
    return piece.table().iloc[rows]


def _known_in(known: pd.DataFrame | None, piece: Piece) -> pd.DataFrame | None:
    """Return the results of the sample that belong to a piece."""
    if known is None:
        return None
    number = known["row"].to_numpy() - 1
    return known[(number >= piece.start) & (number < piece.start + piece.rows)]


@lru_cache(maxsize=1)
def _loaded(path: Path, changed: int) -> Any:
    """Load a model and its header, once per process."""
    return loaded(path)


def _score(
    settings: ScoreSettings, piece: Piece, place: Path, known: pd.DataFrame | None
) -> Summary:
    """Score one piece into a file, which appears when it is complete."""
    model, header = _loaded(settings.model, os.stat(settings.model).st_mtime_ns)
    metadata = header["metadata"]
    reader = piece.reader(saved_format(settings, metadata, preparation_of(model)))
    quiet = Printer(quiet=True)
    scorer = Scorer(settings, model, metadata, reader, quiet, first_row=piece.start + 1)
    summary = Summary()

    def counted() -> Iterator[pd.DataFrame]:
        for table in scorer.tables(reader):
            table = table if known is None or known.empty else _with_known(table, known)
            summary.add(table)
            yield table

    with replacing(place) as temporary:
        write_chunks(counted(), str(temporary), str(place), raw_text=True)
    summary.notes = [*reader.notes, *scorer.notes()]
    return summary


def _with_known(table: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    columns = [name for name in table.columns if name in known.columns and name not in RANKS]
    table, known = table.set_index("row"), known.set_index("row")[columns[1:]]
    known = known[known.index.isin(table.index)].astype(table.dtypes[columns[1:]].to_dict())
    table.loc[known.index, known.columns] = known
    return table.reset_index()


# The command


def score_parts(settings: ScoreSettings, parts: Parts) -> None:
    """`softkern score` for tables in parts. The folder `settings.out` appears at the end."""
    if settings.out == STDOUT:
        raise OutputError(f"{quote(settings.data)} is a table in parts; -o must name a folder.")
    if settings.output.join:
        raise OutputError("--join is for single tables, not for tables in parts.")
    printer = Printer(settings.output.quiet)
    with printer.stages():
        printer.line(f"{quote(parts.name)}: {parts.kind}")
        with results_folder(Path(settings.out), parts.names, settings.output.force) as folder:
            found = parts.score(folder, settings, None)
        printer.notes(list(dict.fromkeys(note for one in found for note in one.notes))[:10])
        rows = sum(one.rows for one in found)
        printer.line(
            f"scored {plural(rows, 'row')} into {len(found)} parts in {settings.out}", "bold"
        )


def top_rows(found: Sequence[Summary]) -> pd.DataFrame:
    """Return the strongest outliers of all parts, with their ranks."""
    top = pd.concat([one.top for one in found]).nlargest(TOP, "outlier_score")
    ranks = top["outlier_score"].rank(method="min", ascending=False).astype(int)
    return top.assign(outlier_rank=ranks).reset_index(drop=True)
