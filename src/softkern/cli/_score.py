"""`softkern score`: new rows through a saved model, chunk by chunk."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from softkern.cli._folder import check_file
from softkern.cli._points import has_all_columns, points_table, write_chunks
from softkern.cli._say import Say
from softkern.cli.preparation import Missing, Preparation
from softkern.cli.tables import Format, Reader, TableError, named, open_table, quoted
from softkern.files import ModelFileError, inspect, load, replacing
from softkern.ranking import rank_points

__all__ = ["Job", "score"]

RANKS = ("outlier_rank", "overlap_rank")  # mean nothing within a chunk


@dataclass
class Job:
    """What was asked; the fields are the options of the command."""

    model: Path
    data: str
    out: str = "-"
    id: str | None = None
    missing: Missing | None = None
    chunk: int | None = None
    all_memberships: bool = False
    force: bool = False
    quiet: bool = False
    form: Format = field(default_factory=Format)


def score(job: Job) -> None:
    """Do the job; the file `job.out` appears at the end."""
    is_stream = job.out == "-"
    say = Say(job.quiet, to_stderr=is_stream)
    if not is_stream:
        check_file(Path(job.out), job.force)
    model, header = _load(job.model)
    with open_table(job.data, job.form) as reader:
        say.line(f"{reader.name}: {reader.kind}, {len(reader.columns):,} columns")
        scorer = _Scorer(job, model, header["metadata"], reader, say)
        place = nullcontext("-") if is_stream else replacing(job.out)
        with place as path:
            rows = write_chunks(scorer.tables(reader), str(path), job.out)
    say.notes(reader.notes + scorer.notes())
    where = "" if is_stream else f" into {job.out}"
    say.line(f"scored {rows:,} rows by {header['estimator']}{where}", "bold")


def _load(path: Path) -> tuple[Any, dict[str, Any]]:
    try:
        header = inspect(path)
        if not isinstance(header.get("metadata"), dict):
            raise ModelFileError(f"{path} was altered: its metadata are no table.")
        return load(path), header
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}.") from error


def _preparation(model: Any, metadata: dict[str, Any], reader: Reader) -> Preparation:
    """As the analysis prepared its table; a model saved from Python saw numbers as they are."""
    saved = metadata.get("preparation")
    if saved is not None:
        try:
            preparation = Preparation(**saved)
        except TypeError as error:
            raise ModelFileError(f"the model file was altered: {error}.") from error
        lacking = [name for name in preparation.names if name not in reader.columns]
        if lacking:
            raise TableError(
                f"{reader.name} lacks {named(lacking)}, which the model needs; its columns are "
                f"{named(reader.columns, 12)}."
            )
        return preparation
    if hasattr(model, "feature_names_in_"):
        return Preparation(list(model.feature_names_in_), {}, {})
    if len(reader.columns) != model.n_features_in_:
        raise TableError(
            f"the model was fitted on {model.n_features_in_} columns without names, and the table "
            f"has {len(reader.columns)}; leave only those columns in it, in their order."
        )
    return Preparation(list(reader.columns), {}, {})


def _identifier(job: Job, metadata: dict[str, Any], reader: Reader) -> str | None:
    """The column that names the rows: the one asked for, or the analysis' own where it is there."""
    if job.id is not None and job.id not in reader.columns:
        raise TableError(
            f"there is no column '{quoted(job.id)}' for --id; the columns are "
            f"{named(reader.columns, 12)}."
        )
    usual = metadata.get("id")
    return job.id if job.id is not None else usual if usual in reader.columns else None


class _Scorer:
    """Chunks of a table in, tables of scores out; counts what happened on the way."""

    def __init__(
        self, job: Job, model: Any, metadata: dict[str, Any], reader: Reader, say: Say
    ) -> None:
        self.job, self.model, self.say = job, model, say
        self.preparation = _preparation(model, metadata, reader)
        self.identifier = _identifier(job, metadata, reader)
        self.contamination = metadata.get("contamination")
        self._notes: list[str] = []
        self._blank = 0

    def tables(self, reader: Reader) -> Iterator[pd.DataFrame]:
        first_row = 1
        text = [] if self.identifier is None else [self.identifier]
        words = list(self.preparation.categories)
        for chunk in reader.chunks(self.job.chunk, text=text, words=words):
            yield self._table(chunk, first_row)
            first_row += len(chunk)
            self.say.progress(f"{first_row - 1:,} rows")
        if first_row == 1:
            raise TableError(f"{reader.name} has a header and no rows.")

    def _table(self, chunk: pd.DataFrame, first_row: int) -> pd.DataFrame:
        prepared = self.preparation.apply(chunk, missing=self.job.missing, first_row=first_row)
        self._notes += prepared.notes
        X, kept = prepared.values, prepared.kept
        if len(X) == 0:  # a chunk without one whole row still has its lines
            X = np.zeros((1, len(self.preparation.features)))
        with warnings.catch_warnings():  # columns were matched by name already
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            ranks = rank_points(self.model, X, contamination=self.contamination)
            memberships = self._memberships(X)
        ranks = ranks.drop(columns=list(RANKS))
        rows = np.arange(first_row, first_row + len(chunk))
        ids = None if self.identifier is None else chunk[self.identifier].to_numpy()
        if kept.all() and len(chunk):
            return points_table(ranks, memberships, rows, ids, True)
        scores = points_table(ranks, memberships, np.arange(len(X)), None, True)
        return self._with_blanks(scores.drop(columns="row"), kept, rows, ids)

    def _memberships(self, X: Any) -> Any:
        c = getattr(self.model, "memberships_", np.empty(0))
        if c.ndim == 2 and has_all_columns(c, self.job.all_memberships):
            return np.asarray(self.model.memberships(X))
        return np.empty(len(X))

    def _with_blanks(self, scores: pd.DataFrame, kept: Any, rows: Any, ids: Any) -> pd.DataFrame:
        """Scores at the rows that have them, nothing at the others."""
        self._blank += int((~kept).sum())
        place = np.full(len(kept), -1)
        place[kept] = np.arange(int(kept.sum()))
        whole = scores.astype(object).reindex(place).reset_index(drop=True)
        whole.insert(0, "row", rows)
        if ids is not None:
            whole.insert(1, "id", ids)
        return whole

    def notes(self) -> list[str]:
        """What happened, told once however many chunks there were."""
        told = [note for note in self._notes if not note.startswith(("left out", "filled in"))]
        if self._blank:
            told.append(f"{self._blank:,} rows with missing values are left blank")
        filled = sum(note.startswith("filled in") for note in self._notes)
        if filled:
            told.append(f"missing values were filled in, in {filled} chunk{'s' * (filled > 1)}")
        return list(dict.fromkeys(told))[:10]
