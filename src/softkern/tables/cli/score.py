"""`softkern score`: score new rows with a saved model, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from softkern._utils.text import plural, unknown_names
from softkern.exceptions import ModelFileError
from softkern.files import inspect, load, replacing
from softkern.ranking import PointScores, Ranker
from softkern.tables.cli.errors import spell_option
from softkern.tables.cli.options import STDOUT, ScoreSettings
from softkern.tables.cli.output_folder import check_file
from softkern.tables.cli.points import joined, points_table
from softkern.tables.cli.printer import Printer
from softkern.tables.cli.source import Source, open_source
from softkern.tables.cli.writing import nullable, write_chunks
from softkern.tables.explain import Explainer
from softkern.tables.explain.points import saved_explainer
from softkern.tables.explain.row_view import view_prepared
from softkern.tables.io import Format, Reader, TableError
from softkern.tables.preparation import PreparedTable, TablePreparation
from softkern.tables.preparation.model import preparation_of, with_preparation
from softkern.tables.preparation.notes import MISSING_KINDS
from softkern.tables.text import note_text

__all__ = [
    "Scorer",
    "header_of",
    "loaded",
    "points_of",
    "read_table",
    "saved_format",
    "score",
]

RANKS = ("outlier_rank", "overlap_rank")  # meaningless within a chunk


def score(settings: ScoreSettings) -> None:
    """Score the table. The file `settings.out` appears at the end."""
    from softkern.tables.cli.parts import Parts, score_parts

    parts = Parts.of(settings.data, settings.output.scheduler)
    if parts is not None:
        score_parts(settings, parts)
        return
    is_stream = settings.out == STDOUT
    printer = Printer(settings.output.quiet, to_stderr=is_stream)
    if not is_stream:
        check_file(Path(settings.out), settings.output.force)
    model, header = loaded(settings.model)
    form = saved_format(settings, header["metadata"], preparation_of(model))
    with (
        open_source(settings.data, settings.output.join) as source,
        source.open(form) as reader,
    ):
        printer.line(f"{reader.name}: {reader.kind}, {plural(len(reader.columns), 'column')}")
        scorer = Scorer(settings, model, header["metadata"], reader, printer)
        with nullcontext(STDOUT) if is_stream else replacing(settings.out) as path:
            rows = _write(settings, scorer, reader, source, form, str(path))
    printer.notes(reader.notes + scorer.notes())
    where = "" if is_stream else f" into {settings.out}"
    printer.line(f"scored {plural(rows, 'row')}{where}", "bold")


def _write(
    settings: ScoreSettings, scorer: Scorer, reader: Reader, source: Source, form: Format, path: str
) -> int:
    """Write the scores, or the user's own table with them, and return the number of rows."""
    raw = settings.output.raw_text
    if not settings.output.join:
        return write_chunks(scorer.tables(reader), path, settings.out, raw_text=raw)
    rows = settings.chunk or reader.rows_at_once()
    with source.open(form) as again:
        tables = joined(again, scorer.tables(reader, rows), rows)
        return write_chunks(tables, path, settings.out, style=again.style, raw_text=raw)


def saved_format(
    settings: ScoreSettings, metadata: dict[str, Any], preparation: TablePreparation | None
) -> Format:
    """Return how to read the table: by the options given here, else by those of the analysis.

    What the analysis detected is detected again, except the decimal point: a few rows need not
    show it.
    """
    saved = metadata.get("reading") or {}
    try:
        before = Format(**{**saved, "missing": tuple(saved.get("missing", ()))})
    except TypeError as error:
        raise ModelFileError(f"the model file was altered: {error}.") from error
    if not settings.data.lower().endswith((".xlsx", ".xlsm")):
        before = replace(before, sheet=None)
    if before.decimal is None and preparation is not None and preparation.decimal_ == ",":
        before = replace(before, decimal=",")
    given, default = vars(settings.read.format), vars(Format())
    return replace(before, **{name: v for name, v in given.items() if v != default[name]})


def header_of(path: Path) -> dict[str, Any]:
    """Return the header of a model file, with the metadata of the analysis."""
    try:
        header = inspect(path)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}.") from error
    if not isinstance(header.get("metadata"), dict):
        raise ModelFileError(f"{path} was altered: its metadata is not a table.")
    if "preparation" in header["metadata"]:
        raise ModelFileError(
            f"{path} was written by an earlier version of softkern, which saved the preparation of "
            "the table apart from the model. Run softkern analyze again."
        )
    return header


def loaded(path: Path) -> tuple[Any, dict[str, Any]]:
    """Load a model and the header of its file."""
    header = header_of(path)
    return load(path), header


def read_table(model: Path, source: Source) -> tuple[pd.DataFrame, TablePreparation]:
    """Read a whole table as the analysis did. Return it with the preparation of the model."""
    fitted, header = loaded(model)
    preparation, metadata = preparation_of(fitted), header["metadata"]
    if preparation is None:
        raise ModelFileError(f"{model} is not a model of softkern analyze.")
    settings = ScoreSettings(model=model, data=source.data)
    with source.open(saved_format(settings, metadata, preparation)) as reader:
        _check_columns(preparation, reader)
        identifier = _identifier(settings, metadata, reader)
        text = [] if identifier is None else [identifier]
        words = [*preparation.categories_, *preparation.formats_]
        return reader.read(text=text, words=words), preparation


def points_of(model: Path, source: Source) -> tuple[pd.DataFrame, list[str]]:
    """Score all rows of a table, and return them with the notes."""
    settings = ScoreSettings(model=model, data=source.data)
    fitted, header = loaded(model)
    form = saved_format(settings, header["metadata"], preparation_of(fitted))
    with source.open(form) as reader:
        scorer = Scorer(settings, fitted, header["metadata"], reader, Printer(quiet=True))
        points = pd.concat(map(nullable, scorer.tables(reader)), ignore_index=True)
        return points, scorer.notes()


def _check_columns(preparation: TablePreparation, reader: Reader) -> None:
    lacking = [name for name in preparation.used_columns_ if name not in reader.columns]
    if lacking:
        raise TableError(
            f"the model needs what {reader.name} lacks: {unknown_names(lacking, reader.columns)}"
        )


def _identifier(settings: ScoreSettings, metadata: dict[str, Any], reader: Reader) -> str | None:
    """Return the column that identifies rows: the one of --id, else that of the analysis."""
    given, saved = reader.identifier(settings.id), metadata.get("id")
    return given if given is not None else saved if saved in reader.columns else None


class Scorer:
    """Turns chunks of a table into tables of scores, and counts rows with missing values."""

    def __init__(
        self,
        settings: ScoreSettings,
        model: Any,
        metadata: dict[str, Any],
        reader: Reader,
        printer: Printer,
        first_row: int = 1,
    ) -> None:
        self.settings, self.printer, self.first_row = settings, printer, first_row
        model, preparation = with_preparation(model, reader.columns, reader.decimal or ".")
        decimal = settings.read.decimal
        _check_columns(preparation, reader)
        self.preparation = preparation if decimal is None else preparation.with_decimal(decimal)
        self.identifier = _identifier(settings, metadata, reader)
        self.ranker = Ranker(model, contamination=metadata.get("contamination"))
        self._model = model
        self._notes: dict[str, None] = {}  # each once, in order
        self._blank_rows = self._filled_rows = 0

    def tables(self, reader: Reader, rows: int | None = None) -> Iterator[pd.DataFrame]:
        """Yield the scores of all chunks, of so many rows each."""
        first_row = self.first_row
        text = [] if self.identifier is None else [self.identifier]
        words = [*self.preparation.categories_, *self.preparation.formats_]
        for chunk in reader.chunks(rows or self.settings.chunk, text=text, words=words):
            yield self._table(chunk, first_row)
            first_row += len(chunk)
            self.printer.progress(f"{first_row - 1:,} rows")
        if first_row == self.first_row:
            raise TableError(f"{reader.name} has a header and no rows.")

    def _table(self, chunk: pd.DataFrame, first_row: int) -> pd.DataFrame:
        missing = self.settings.missing
        prepared = self.preparation.prepare(chunk, missing=missing, first_row=first_row)
        notes = (note for note in prepared.notes if note.kind not in MISSING_KINDS)
        self._notes |= {note_text(note, spell_option): None for note in notes}
        is_used, blank = prepared.is_used, int((~prepared.is_used).sum())
        self._blank_rows += blank
        self._filled_rows += prepared.n_incomplete - blank
        scored = prepared.used_rows() if is_used.any() else _zero_row(prepared)
        points = self.ranker.score_points(scored)
        ranks = self.ranker.table(points)
        explained = self._explained(prepared, points, ranks)
        ranks = ranks.drop(columns=list(RANKS))
        rows = np.arange(first_row, first_row + len(chunk))
        ids = None if self.identifier is None else chunk[self.identifier].to_numpy()
        wide = self.settings.output.all_memberships
        if is_used.all() and len(chunk):
            return points_table(ranks, points.memberships, rows, ids, wide, explained)
        places = np.arange(len(ranks))
        scores = points_table(ranks, points.memberships, places, None, wide, explained)
        return _with_blanks(scores.drop(columns="row"), is_used, rows, ids)

    @cached_property
    def explainer(self) -> Explainer | None:
        """Explains flagged rows. Made when the first row is flagged."""
        return saved_explainer(self._model, self.ranker)

    def _explained(
        self, prepared: PreparedTable, points: PointScores, ranks: pd.DataFrame
    ) -> pd.DataFrame | None:
        """Explain the flagged rows; None if the model file has no rows to compare with."""
        is_flagged = (ranks["is_outlier"] | ranks["is_overlap"]).to_numpy(dtype=bool)
        if not prepared.is_used.any() or not is_flagged.any() or self.explainer is None:
            return None
        seen = view_prepared(prepared)
        return self.explainer.explain(seen, points, ranks, np.flatnonzero(is_flagged))

    def notes(self) -> list[str]:
        """Return the notes on all chunks, each once."""
        notes = list(self._notes)
        if self._blank_rows:
            notes.append(f"{plural(self._blank_rows, 'row')} with missing values: left blank")
        if self._filled_rows:
            notes.append(f"{plural(self._filled_rows, 'row')} with missing values: filled in")
        return notes[:10]


def _zero_row(prepared: PreparedTable) -> PreparedTable:
    """Return one row, from which a chunk in which every row was left out gets its columns."""
    values = np.zeros((1, prepared.values.shape[1]))
    return replace(prepared, values=values, is_used=np.ones(1, dtype=bool))


def _with_blanks(scores: pd.DataFrame, kept: Any, rows: Any, ids: Any) -> pd.DataFrame:
    """Return the scores of the kept rows, and blanks for the others."""
    place = np.full(len(kept), -1)
    place[kept] = np.arange(int(kept.sum()))
    whole = nullable(scores).reindex(place).reset_index(drop=True)
    whole.insert(0, "row", rows)
    if ids is not None:
        whole.insert(1, "id", ids)
    return whole
