"""Tables in many files, or larger than memory: a sample is analyzed, and all rows are scored.

The rows of the sample depend on their numbers and the seed, so that they are known before any row
is read. Dask reads them, and scores the pieces of the table one by one, each into a part of the
results that appears when it is complete. The threads of this machine compute, or with
``--scheduler`` a cluster whose workers see the same files.
"""

from __future__ import annotations

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
from softkern.rows import lowest_numbers
from softkern.tables.cli.errors import OutputError
from softkern.tables.cli.options import OutputOptions, ScoreSettings
from softkern.tables.cli.pieces import Piece, find_files, find_pieces
from softkern.tables.cli.scorer import RANKS, SavedModel, Scorer
from softkern.tables.cli.writing import write_chunks
from softkern.tables.io import TableError

BYTES_PER_CELL = 40  # memory of a table while it is read, prepared and fitted
TOP = 1000  # strongest outliers that are listed


@dataclass
class Summary:
    """Results of one piece, or of all pieces, in numbers."""

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

    @property
    def sizes(self) -> list[int]:
        """Number of rows of each cluster."""
        return [self.labels[label] for label in sorted(self.labels) if label >= 0]

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
            top=top.assign(outlier_rank=ranks).reset_index(drop=True),
            notes=list(dict.fromkeys(note for part in parts for note in part.notes))[:10],
        )


@dataclass
class Parts:
    """The pieces of a table, in the order of their rows."""

    pieces: list[Piece]
    scheduler: str | None = None  # address of a Dask scheduler

    @classmethod
    def of(cls, data: str, output: OutputOptions) -> Parts | None:
        """Return the parts of a folder, a pattern or a file too large for memory, else None."""
        files, scheduler = find_files(data), output.scheduler
        if files is None:
            if scheduler is not None:
                raise TableError(
                    f"--scheduler is for Parquet and NPY, as a folder, a pattern or a file, which "
                    f"{quote(data)} is not."
                )
            return None
        pieces, columns = find_pieces(files)
        parts = cls(pieces, scheduler)
        needed = parts.rows * len(columns) * BYTES_PER_CELL
        if files == [data] and scheduler is None and needed < available_memory():
            return None
        if find_spec("dask") is None:
            raise TableError(
                "tables in parts, or larger than memory, need Dask: pip install 'softkern[dask]'."
            )
        if output.join:
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

    def sample(
        self, seed: int, size: int = SUBSAMPLE_ROWS
    ) -> tuple[np.ndarray[Any, Any], pd.DataFrame]:
        """Return the numbers of the rows of a sample, and the rows."""
        numbers = lowest_numbers(self.rows, size, seed)
        tasks = []
        for piece in self.pieces:
            place = numbers[(numbers >= piece.start) & (numbers < piece.start + piece.rows)]
            if place.size:
                tasks.append(partial(_rows_of, piece, place - piece.start))
        tables = self._compute("reading some rows of all", tasks)
        return numbers, pd.concat(tables, ignore_index=True)

    def score(
        self, folder: Path, settings: ScoreSettings, known: pd.DataFrame | None = None
    ) -> Summary:
        """Score every piece into its part of the results. Rows in `known` keep their results."""
        settings = replace(settings, model=settings.model.absolute())
        places = [folder.absolute() / name for name in self.names]
        tasks = [
            partial(_score, settings, piece, place, _known_in(known, piece))
            for piece, place in zip(self.pieces, places, strict=True)
        ]
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


def _known_in(known: pd.DataFrame | None, piece: Piece) -> pd.DataFrame | None:
    """Return the results of the sample that belong to a piece."""
    if known is None:
        return None
    number = known["row"].to_numpy() - 1
    return known[(number >= piece.start) & (number < piece.start + piece.rows)]


@lru_cache(maxsize=1)
def _load(path: Path, changed: int) -> SavedModel:
    """Load a model, once per process."""
    return SavedModel(path)


def _score(
    settings: ScoreSettings, piece: Piece, place: Path, known: pd.DataFrame | None
) -> Summary:
    """Score one piece into a file, which appears when it is complete."""
    saved = _load(settings.model, os.stat(settings.model).st_mtime_ns)
    reader = piece.reader(saved.format(settings.data, settings.read.format))
    scorer = Scorer(saved, reader, settings, first_row=piece.start + 1)
    summary = Summary()

    def counted() -> Iterator[pd.DataFrame]:
        for table in scorer.tables():
            table = table if known is None or known.empty else _with_known(table, known)
            summary.add(table)
            yield table

    with replacing(place) as temporary:
        write_chunks(counted(), str(temporary), str(place), raw_text=True)
    summary.notes = [*reader.notes, *scorer.notes()]
    return summary


def _with_known(table: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of a chunk, with the known results of its rows."""
    columns = [name for name in table.columns if name in known.columns and name not in RANKS]
    table, known = table.set_index("row"), known.set_index("row")[columns[1:]]
    known = known[known.index.isin(table.index)].astype(table.dtypes[columns[1:]].to_dict())
    table.loc[known.index, known.columns] = known
    return table.reset_index()
