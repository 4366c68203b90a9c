"""`softkern score`: new rows through a saved model, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from softkern._utils.text import plural, unknown_names
from softkern.exceptions import ModelFileError
from softkern.files import inspect, load, replacing
from softkern.ranking import PointScores, Ranker
from softkern.tables.cli.join import joined
from softkern.tables.cli.output_folder import check_file
from softkern.tables.cli.points import nullable, points_table, write_chunks
from softkern.tables.cli.preparation import CommandPreparation
from softkern.tables.cli.printer import Printer
from softkern.tables.explain import Explainer
from softkern.tables.explain.points import saved_explainer
from softkern.tables.explain.row_view import kept_rows
from softkern.tables.io import Format, Reader, TableError, open_table
from softkern.tables.preparation.transformer import Missing, Preparation, Prepared

__all__ = [
    "Job",
    "Scorer",
    "as_analyzed",
    "header_of",
    "loaded",
    "points_of",
    "read_table",
    "score",
]

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
    join: bool = False
    source: str | None = None  # where the data can be read twice, if not at `data`
    all_memberships: bool = False
    raw_text: bool = False
    force: bool = False
    quiet: bool = False
    form: Format = field(default_factory=Format)
    scheduler: str | None = None  # address of a Dask cluster that does the work


def score(job: Job) -> None:
    """Do the job; the file `job.out` appears at the end."""
    from softkern.tables.cli.parts import Parts, score_parts

    parts = Parts.of(job.data, job.scheduler)
    if parts is not None:
        score_parts(job, parts)
        return
    is_stream = job.out == "-"
    printer = Printer(job.quiet, to_stderr=is_stream)
    if not is_stream:
        check_file(Path(job.out), job.force)
    model, header = loaded(job.model)
    form = as_analyzed(job, header["metadata"])
    with _open(job, form) as reader:
        printer.line(f"{reader.name}: {reader.kind}, {plural(len(reader.columns), 'column')}")
        scorer = Scorer(job, model, header["metadata"], reader, printer)
        place = nullcontext("-") if is_stream else replacing(job.out)
        with place as path:
            if job.join:
                rows = _write_joined(job, form, scorer, reader, str(path))
            else:
                tables = scorer.tables(reader)
                rows = write_chunks(tables, str(path), job.out, raw_text=job.raw_text)
    printer.notes(reader.notes + scorer.notes())
    where = "" if is_stream else f" into {job.out}"
    printer.line(f"scored {plural(rows, 'row')}{where}", "bold")


def _open(job: Job, form: Format) -> Reader:
    return open_table(job.source or job.data, form, standard_input=job.data == "-")


def _write_joined(job: Job, form: Format, scorer: Scorer, reader: Reader, path: str) -> int:
    """The user's own table with the columns of the results."""
    scorer.rows = job.chunk or reader.rows_at_once()
    with _open(job, form) as again:
        tables = joined(again, scorer.tables(reader), scorer.rows)
        return write_chunks(tables, path, job.out, style=again.style, raw_text=job.raw_text)


def as_analyzed(job: Job, metadata: dict[str, Any]) -> Format:
    """How to read the table: as the command line says, else as the analysis was told to.

    What the analysis found out by itself is found out again, save the decimal point: a few rows
    need not show it.
    """
    saved = metadata.get("reading") or {}
    try:
        before = Format(**{**saved, "missing": tuple(saved.get("missing", ()))})
    except TypeError as error:
        raise ModelFileError(f"the model file was altered: {error}.") from error
    if not job.data.lower().endswith((".xlsx", ".xlsm")):
        before = replace(before, sheet=None)
    if before.decimal is None and (metadata.get("preparation") or {}).get("decimal") == ",":
        before = replace(before, decimal=",")
    usual = vars(Format())
    return replace(before, **{k: v for k, v in vars(job.form).items() if v != usual[k]})


def header_of(path: Path) -> dict[str, Any]:
    """What a model's file says of itself, and of how its table was prepared."""
    try:
        header = inspect(path)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}.") from error
    if not isinstance(header.get("metadata"), dict):
        raise ModelFileError(f"{path} was altered: its metadata are no table.")
    return header


def loaded(path: Path) -> tuple[Any, dict[str, Any]]:
    """Load a model and the header of its file."""
    header = header_of(path)
    return load(path), header


def read_table(job: Job, metadata: dict[str, Any]) -> tuple[pd.DataFrame, Preparation]:
    """The whole table as the analysis read its own, and how that was prepared."""
    if metadata.get("preparation") is None:
        raise ModelFileError(f"{job.model} is no model of softkern analyze.")
    with _open(job, as_analyzed(job, metadata)) as reader:
        preparation = _preparation(None, metadata, reader, None)
        identifier = _identifier(job, metadata, reader)
        text = [] if identifier is None else [identifier]
        words = [*preparation.categories, *preparation.writings]
        return reader.read(text=text, words=words), preparation


def points_of(job: Job) -> tuple[pd.DataFrame, list[str]]:
    """What `score` says of all rows of a table, and its notes."""
    model, header = loaded(job.model)
    with _open(job, as_analyzed(job, header["metadata"])) as reader:
        scorer = Scorer(job, model, header["metadata"], reader, Printer(quiet=True))
        points = pd.concat(map(nullable, scorer.tables(reader)), ignore_index=True)
        return points, scorer.notes()


def _with_decimal(preparation: Preparation, decimal: str) -> Preparation:
    """The same for a table with another decimal point, which was asked for."""
    writings = {c: replace(how, decimal=decimal) for c, how in preparation.writings.items()}
    return replace(preparation, decimal=decimal, writings=writings)


def _preparation(
    model: Any, metadata: dict[str, Any], reader: Reader, decimal: str | None
) -> Preparation:
    """As the model's table was prepared; most models saved from Python saw numbers as they are."""
    own = getattr(model, "preparation_", None)  # of softkern.cluster
    saved = metadata.get("preparation") if own is None else asdict(own)
    if saved is not None:
        try:
            preparation = CommandPreparation.from_dict(saved)
        except (TypeError, KeyError) as error:
            raise ModelFileError(f"the model file was altered: {error}.") from error
        lacking = [name for name in preparation.names if name not in reader.columns]
        if lacking:
            raise TableError(
                f"the model needs what {reader.name} lacks: "
                f"{unknown_names(lacking, reader.columns)}"
            )
        return preparation if decimal is None else _with_decimal(preparation, decimal)
    if hasattr(model, "feature_names_in_"):
        return CommandPreparation(list(model.feature_names_in_), decimal=reader.decimal or ".")
    if len(reader.columns) != model.n_features_in_:
        raise TableError(
            f"the model was fitted on {model.n_features_in_} columns without names, and the table "
            f"has {len(reader.columns)}; leave only those columns in it, in their order."
        )
    return CommandPreparation(list(reader.columns), decimal=reader.decimal or ".")


def _identifier(job: Job, metadata: dict[str, Any], reader: Reader) -> str | None:
    """The column that names the rows: the one asked for, or the analysis' own where it is there."""
    asked, usual = reader.identifier(job.id), metadata.get("id")
    return asked if asked is not None else usual if usual in reader.columns else None


class Scorer:
    """Chunks of a table in, tables of scores out; counts rows with missing values on the way."""

    def __init__(
        self, job: Job, model: Any, metadata: dict[str, Any], reader: Reader, printer: Printer
    ) -> None:
        self.job, self.printer, self.first_row = job, printer, 1
        self.preparation = _preparation(model, metadata, reader, job.form.decimal)
        self.rows = job.chunk
        self.identifier = _identifier(job, metadata, reader)
        if hasattr(model, "on_numbers"):
            model = model.on_numbers()
        self.ranker = Ranker(model, contamination=metadata.get("contamination"))
        self.feature_names = getattr(model, "feature_names_in_", None)
        self._model = model
        self._notes: dict[str, None] = {}  # each once, in order
        self._blank_rows = self._filled_rows = 0

    def tables(self, reader: Reader) -> Iterator[pd.DataFrame]:
        """Of all chunks, one after the other."""
        first_row = self.first_row
        text = [] if self.identifier is None else [self.identifier]
        words = [*self.preparation.categories, *self.preparation.writings]
        for chunk in reader.chunks(self.rows, text=text, words=words):
            yield self._table(chunk, first_row)
            first_row += len(chunk)
            self.printer.progress(f"{first_row - 1:,} rows")
        if first_row == self.first_row:
            raise TableError(f"{reader.name} has a header and no rows.")

    def _table(self, chunk: pd.DataFrame, first_row: int) -> pd.DataFrame:
        prepared = self.preparation.apply(chunk, missing=self.job.missing, first_row=first_row)
        self._notes |= dict.fromkeys(prepared.notes)
        kept, blank = prepared.kept, int((~prepared.kept).sum())
        self._blank_rows += blank
        self._filled_rows += prepared.n_missing - blank
        points = self.ranker.read(self._values(prepared))
        ranks = self.ranker.table(points)
        explained = self._explained(chunk, prepared, points, ranks)
        ranks = ranks.drop(columns=list(RANKS))
        rows = np.arange(first_row, first_row + len(chunk))
        ids = None if self.identifier is None else chunk[self.identifier].to_numpy()
        wide = self.job.all_memberships
        if kept.all() and len(chunk):
            return points_table(ranks, points.memberships, rows, ids, wide, explained)
        places = np.arange(len(ranks))
        scores = points_table(ranks, points.memberships, places, None, wide, explained)
        return _with_blanks(scores.drop(columns="row"), kept, rows, ids)

    @cached_property
    def explainer(self) -> Explainer | None:
        """Made when the first row is flagged."""
        return saved_explainer(self._model, self.preparation, self.ranker)

    def _explained(
        self, chunk: pd.DataFrame, prepared: Prepared, points: PointScores, ranks: pd.DataFrame
    ) -> pd.DataFrame | None:
        """Why the flagged rows are; nothing where the model's file has no rows to compare with."""
        is_flagged = (ranks["is_outlier"] | ranks["is_overlap"]).to_numpy(dtype=bool)
        if not prepared.kept.any() or not is_flagged.any() or self.explainer is None:
            return None
        seen = kept_rows(self.preparation, chunk, prepared)
        return self.explainer.explain(seen, points, ranks, np.flatnonzero(is_flagged))

    def _values(self, prepared: Prepared) -> Any:
        """What the model sees, under the names that it was fitted with, if any."""
        X = prepared.values
        if len(X) == 0:  # a chunk without one whole row still has its lines
            X = np.zeros((1, X.shape[1]))
        return X if self.feature_names is None else pd.DataFrame(X, columns=self.feature_names)

    def notes(self) -> list[str]:
        """What happened, once however many chunks there were."""
        notes = list(self._notes)
        if self._blank_rows:
            notes.append(f"{plural(self._blank_rows, 'row')} with missing values: left blank")
        if self._filled_rows:
            notes.append(f"{plural(self._filled_rows, 'row')} with missing values: filled in")
        return notes[:10]


def _with_blanks(scores: pd.DataFrame, kept: Any, rows: Any, ids: Any) -> pd.DataFrame:
    """Scores at the rows that have them, nothing at the others."""
    place = np.full(len(kept), -1)
    place[kept] = np.arange(int(kept.sum()))
    whole = nullable(scores).reindex(place).reset_index(drop=True)
    whole.insert(0, "row", rows)
    if ids is not None:
        whole.insert(1, "id", ids)
    return whole
