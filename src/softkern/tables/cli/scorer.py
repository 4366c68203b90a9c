"""Scores tables with a saved model, chunk by chunk, reading them as the analysis did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from softkern._utils.text import plural, unknown_names
from softkern.exceptions import ModelFileError
from softkern.files import inspect, load
from softkern.ranking import Ranker
from softkern.tables.cli.errors import spell_option
from softkern.tables.cli.options import ScoreSettings
from softkern.tables.cli.points import points_table, with_blanks
from softkern.tables.cli.printer import Printer
from softkern.tables.explain import Explainer
from softkern.tables.explain.points import saved_explainer
from softkern.tables.explain.row_view import view_prepared
from softkern.tables.io import Format, Reader, TableError
from softkern.tables.preparation import TablePreparation
from softkern.tables.preparation.model import preparation_of, with_preparation
from softkern.tables.preparation.notes import MISSING_KINDS
from softkern.tables.text import note_text

RANKS = ("outlier_rank", "overlap_rank")  # meaningless within a chunk


class SavedModel:
    """A model file: the fitted model, and how its table was read."""

    def __init__(self, path: Path) -> None:
        try:
            self.metadata = inspect(path)["metadata"]
        except OSError as error:
            raise ModelFileError(f"{path} cannot be read: {error.strerror}.") from error
        if not isinstance(self.metadata, dict):
            raise ModelFileError(f"{path} was altered: its metadata is not a table.")
        if "preparation" in self.metadata:
            raise ModelFileError(
                f"{path} was written by an earlier version of softkern, which saved the "
                "preparation of the table apart from the model. Run softkern analyze again."
            )
        self.path, self.model = path, load(path)
        self.preparation = preparation_of(self.model)

    def format(self, data: str, given: Format | None = None) -> Format:
        """Return how to read a table: by the options given now, else by those of the analysis.

        What the analysis detected is detected again, except the decimal point: a few rows need not
        show it.
        """
        saved = self.metadata.get("reading") or {}
        try:
            form = Format(**{**saved, "missing": tuple(saved.get("missing", ()))})
        except TypeError as error:
            raise ModelFileError(f"the model file was altered: {error}.") from error
        if not data.lower().endswith((".xlsx", ".xlsm")):
            form = replace(form, sheet=None)
        if form.decimal is None and self.preparation is not None:
            form = replace(form, decimal="," if self.preparation.decimal_ == "," else None)
        default = Format()
        given = given or default
        changed = {k: v for k, v in vars(given).items() if v != getattr(default, k)}
        return replace(form, **changed)

    def identifier(self, reader: Reader, name: str | None = None) -> str | None:
        """Return the column that identifies rows: the one of this name, else the analysis's."""
        saved = self.metadata.get("id")
        if name is None:
            return saved if saved in reader.columns else None
        return reader.identifier(name)


class Scorer:
    """Turns chunks of a table into tables of scores, and counts rows with missing values."""

    def __init__(
        self,
        saved: SavedModel,
        reader: Reader,
        settings: ScoreSettings,
        printer: Printer | None = None,
        first_row: int = 1,
    ) -> None:
        self.reader, self.settings, self.first_row = reader, settings, first_row
        self.printer = printer or Printer(quiet=True)
        self.model, preparation = with_preparation(
            saved.model, reader.columns, reader.decimal or "."
        )
        check_columns(preparation, reader)
        decimal = settings.decimal
        self.preparation = preparation if decimal is None else preparation.with_decimal(decimal)
        self.identifier = saved.identifier(reader, settings.id)
        self.ranker = Ranker(self.model, contamination=saved.metadata.get("contamination"))
        self._notes: dict[str, None] = {}  # distinct notes, in order
        self._blank_rows = self._filled_rows = 0

    def tables(self, rows: int | None = None) -> Iterator[pd.DataFrame]:
        """Yield the scores of all chunks of `rows` rows."""
        first_row = self.first_row
        text, words = columns_as_written(self.preparation, self.identifier)
        for chunk in self.reader.chunks(rows or self.settings.chunk, text, words):
            yield self._table(chunk, first_row)
            first_row += len(chunk)
            self.printer.progress(f"{first_row - 1:,} rows")
        if first_row == self.first_row:
            raise TableError(f"{self.reader.name} has a header and no rows.")

    def _table(self, chunk: pd.DataFrame, first_row: int) -> pd.DataFrame:
        prepared = self.preparation.prepare(
            chunk, missing=self.settings.missing, first_row=first_row
        )
        notes = (note for note in prepared.notes if note.kind not in MISSING_KINDS)
        self._notes |= {note_text(note, spell_option): None for note in notes}
        self._blank_rows += int((~prepared.is_used).sum())
        self._filled_rows += int(prepared.is_imputed.any(axis=1).sum())
        places = np.flatnonzero(prepared.is_used)
        used = prepared.used_rows()
        if not len(places):  # a row of zeros, which is in no row of the table, for the columns
            zeros = np.zeros((1, used.values.shape[1]))
            used = replace(used, values=zeros).used_rows()
        points = self.ranker.score_points(used)
        ranks = self.ranker.table(points)
        flagged = np.flatnonzero((ranks["is_outlier"] | ranks["is_overlap"]).to_numpy(dtype=bool))
        explained = None
        if len(places) and len(flagged) and self.explainer is not None:
            explained = self.explainer.explain(view_prepared(prepared), points, ranks, flagged)
        ranks = ranks.drop(columns=list(RANKS))
        numbers = first_row + (places if len(places) else np.array([-1]))  # -1: in no row
        wide = self.settings.all_memberships
        scores = points_table(ranks, points.memberships, numbers, None, wide, explained)
        if len(places) < max(len(chunk), 1):  # a table without blanks is written faster
            scores = with_blanks(scores, range(first_row, first_row + len(chunk)))
        if self.identifier is not None:
            scores.insert(1, "id", chunk[self.identifier].to_numpy())
        return scores

    @cached_property
    def explainer(self) -> Explainer | None:
        """Explains flagged rows; None if the model file has no rows to compare with."""
        return saved_explainer(self.model, self.preparation, self.ranker)

    def notes(self) -> list[str]:
        """Return the notes on all chunks, each once."""
        notes = list(self._notes)
        if self._blank_rows:
            notes.append(f"{plural(self._blank_rows, 'row')} with missing values: left blank")
        if self._filled_rows:
            notes.append(f"{plural(self._filled_rows, 'row')} with missing values: filled in")
        return notes[:10]


def check_columns(preparation: TablePreparation, reader: Reader) -> None:
    """Raise an error for a table without some of the columns that a model uses."""
    lacking = [name for name in preparation.used_columns_ if name not in reader.columns]
    if lacking:
        raise TableError(
            f"the model needs what {reader.name} lacks: {unknown_names(lacking, reader.columns)}"
        )


def columns_as_written(
    preparation: TablePreparation, identifier: str | None
) -> tuple[list[str], list[str]]:
    """Return the columns kept as written, and those kept as written except for missing values."""
    words = [*preparation.categories_, *preparation.formats_]
    return ([] if identifier is None else [identifier]), words
