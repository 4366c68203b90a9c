"""`softkern compare`: differences between two analyses, or between an analysis and a new table."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from softkern._utils.text import plural, quote, quote_list
from softkern.exceptions import DataError, ModelFileError
from softkern.tables.cli.compare_output import Changes, print_changes, write_changes, write_page
from softkern.tables.cli.job import STDIN, Source, digest_of, open_source
from softkern.tables.cli.options import CompareSettings, ScoreSettings
from softkern.tables.cli.output_folder import results_folder
from softkern.tables.cli.printer import Printer
from softkern.tables.cli.scorer import SavedModel, Scorer, check_columns, columns_as_written
from softkern.tables.cli.writing import nullable, unescape_formulas
from softkern.tables.compare.drift import ColumnDrift, column_drift, comparable_columns
from softkern.tables.compare.results import COMPARED_COLUMNS, Key, compare_points
from softkern.tables.io import Format, TableError, open_table
from softkern.tables.preparation import TablePreparation

FILES = ("changes.csv", "drift.csv", "compare.json")
PAGE = "compare.html"  # only if the packages of the report are installed
POINTS = ("points.csv", "points.xlsx", "points.jsonl", "points.parquet")
KINDS: dict[str, Any] = {
    "row": "int64",
    "label": "int64",
    "membership": float,
    "is_outlier": bool,
    "outlier_score": float,
}
WRITTEN = Format(
    separator=",", encoding="utf-8", header=True, decimal=".", skip_rows=0, skip_footer=0
)
AGAIN = "softkern analyze --force writes the folder again"

Table = tuple[pd.DataFrame, TablePreparation]


@dataclass
class Results:
    """The points of a table, and what they were computed from."""

    points: pd.DataFrame  # the compared columns, and `id` if there is one
    rows: int  # rows of the table, including those that were left out
    saved: SavedModel
    estimator: str
    find_table: Callable[[], Source]  # raises a TableError if the table cannot be read again


def compare(settings: CompareSettings) -> None:
    """Print the differences, and write them to a folder on request."""
    printer, out = Printer(settings.quiet), settings.out
    names = [*([PAGE] if find_spec("jinja2") else []), *FILES]
    target = nullcontext() if out is None else results_folder(out, names, settings.force)
    with open_source(settings.after) as source, target as folder:
        found = changes(settings, source)
        if folder is not None:
            write_changes(settings, found, folder)
            if PAGE in names:
                write_page(settings, found, folder / PAGE)
    print_changes(printer, found)
    if out is not None:
        printer.line(f"wrote {', '.join(names)} into {out}", "bold")


def changes(settings: CompareSettings, source: Source) -> Changes:
    """Compute the differences. Reads files and prints nothing."""
    notes: list[str] = []
    before = read_results(settings.before)
    if settings.after != STDIN and Path(settings.after).is_dir():
        after, is_same_model = read_results(Path(settings.after)), False
        notes += _differences(before, after)
    else:
        after, is_same_model = _score_new(settings, source, before, notes), True
    key = _choose_key(before, after, notes)
    tables = _read_tables(before, after, notes)
    labels = None
    if is_same_model:
        after.points = _reuse_scores(before.points, after.points, key, tables, notes)
        labels = after.points["label"].to_numpy()
    elif key is None:
        labels = _labels_by_old_model(before, after, notes)
    points = compare_points(
        before.points,
        after.points,
        key=key,
        labels_by_old_model=labels,
        is_same_model=is_same_model,
    )
    drift = [] if tables is None else _drift(tables, before, after, notes)
    return Changes(points, drift, notes, tables is not None)


# Read


def _score_new(
    settings: CompareSettings, source: Source, before: Results, notes: list[str]
) -> Results:
    """Return the points of a new table, scored by the first model."""
    scored, found = _score(before.saved, source)
    notes += found
    points = scored.dropna(subset=["label"])
    if points.empty:
        raise TableError(f"{quote(settings.after)} has no row with a value in the model's columns.")
    points = points.astype(KINDS).reset_index(drop=True)
    return Results(points, len(scored), before.saved, before.estimator, lambda: source)


def _score(saved: SavedModel, source: Source) -> tuple[pd.DataFrame, list[str]]:
    """Score all rows of a table, and return them with the notes."""
    settings = ScoreSettings(model=saved.path, data=source.path)
    with source.open(saved.format(source.path)) as reader:
        scorer = Scorer(saved, reader, settings)
        points = pd.concat(map(nullable, scorer.tables()), ignore_index=True)
        return points, scorer.notes()


def _read_tables(before: Results, after: Results, notes: list[str]) -> list[Table] | None:
    """Return both tables as the analyses read them, or None if one cannot be read."""
    tables = []
    for results, when in ((before, "before"), (after, "now")):
        saved, preparation = results.saved, results.saved.preparation
        try:
            source = results.find_table()
            if preparation is None:
                raise ModelFileError(f"{saved.path} is not a model of softkern analyze.")
            with source.open(saved.format(source.path)) as reader:
                check_columns(preparation, reader)
                text, words = columns_as_written(preparation, saved.identifier(reader))
                tables.append((reader.read(text, words), preparation))
        except DataError as error:
            notes.append(f"drift not computed: the table of {when} cannot be read, {error}")
            return None
    return tables


def _differences(before: Results, after: Results) -> list[str]:
    """Return how the settings of the two analyses differ."""
    notes = []
    if before.estimator != after.estimator:
        notes.append(f"model: {before.estimator} before, {after.estimator} now")
    old, new = (getattr(one.saved.preparation, "used_columns_", []) for one in (before, after))
    for these, those, when in ((old, new, "before"), (new, old, "now")):
        lacking = [name for name in these if name not in those]
        if lacking:
            notes.append(f"features used only {when}: {quote_list(lacking)}")
    return notes


def _choose_key(before: Results, after: Results, notes: list[str]) -> Key | None:
    """Return the column that identifies rows in both results, or None if they share no rows."""
    if "id" not in before.points or "id" not in after.points:
        if before.rows == after.rows:
            notes.append(
                "rows are matched by their number; use --id in both analyses to match them by name"
            )
            return "row"
        notes.append(
            f"rows cannot be matched: {before.rows:,} rows before, {after.rows:,} now, and no "
            "identifiers in both (use --id of softkern analyze)"
        )
        return None
    names = [results.saved.metadata.get("id") for results in (before, after)]
    if names[0] != names[1]:
        notes.append(f"identifier column: '{quote(names[0])}' before, '{quote(names[1])}' now")
    ids = [points["id"] for points in (before.points, after.points)]
    repeated = [int(column.duplicated(keep=False).sum()) for column in ids]
    if any(repeated):
        notes.append(
            f"rows with a repeated identifier are left out: {repeated[0]:,} before, "
            f"{repeated[1]:,} now"
        )
    first, second = (set(column[~column.duplicated(keep=False)]) for column in ids)
    if first & second:
        return "id"
    notes.append("the two analyses have no identifier in common")
    return None


def _labels_by_old_model(before: Results, after: Results, notes: list[str]) -> Any:
    """Return the labels that the first model assigns to the rows of the second table."""
    try:
        scored, _ = _score(before.saved, after.find_table())
    except DataError as error:
        raise TableError(
            "the two analyses share no rows, and the first model cannot label the rows of the "
            f"second table: {str(error).rstrip('.')}. Give --id in both analyses, or keep their "
            "tables."
        ) from error
    notes.append("clusters are matched by the labels that the first model assigns to new rows")
    labels = scored.set_index("row")["label"].reindex(after.points["row"])
    return labels.fillna(-1).to_numpy(dtype=np.int64)


def _reuse_scores(
    before: pd.DataFrame,
    after: pd.DataFrame,
    key: Key | None,
    tables: list[Table] | None,
    notes: list[str],
) -> pd.DataFrame:
    """Return the new points, with the old scores for rows that have not changed.

    The analysis scores each training row by the other rows. Scored as a new row it would be
    compared with itself, too, and hardly any outlier would remain.
    """
    if key is None:
        return after
    if tables is None:
        notes.append("training rows are scored as new rows, so fewer of them may be outliers")
        return after
    features = []
    for table, preparation in tables:
        prepared = preparation.prepare(table)
        features.append(prepared.features.set_axis(np.flatnonzero(prepared.is_used) + 1))
    once = [points.drop_duplicates(key, keep=False) for points in (before, after)]
    places = once[0].reset_index().merge(once[1].reset_index(), on=key, suffixes=("", "_after"))
    row_after = places["row" if key == "row" else "row_after"]
    values = [features[0].reindex(places["row"]), features[1].reindex(row_after)]
    is_same = (values[0].to_numpy() == values[1].to_numpy()).all(axis=1)
    same = places[is_same]
    points = after.copy()
    for name in COMPARED_COLUMNS:
        points.loc[same["index_after"], name] = same[name].to_numpy()
    return points


def _drift(
    tables: list[Table], before: Results, after: Results, notes: list[str]
) -> list[ColumnDrift]:
    (first, first_preparation), (second, second_preparation) = tables
    ids = {results.saved.metadata.get("id") for results in (before, after)}
    old, new = (table[[c for c in table if c not in ids]] for table in (first, second))
    old, old_notes = comparable_columns(old, first_preparation)
    new, new_notes = comparable_columns(new, second_preparation)
    notes += dict.fromkeys(map(str, [*old_notes, *new_notes]))
    for these, those, when in ((first, second, "second"), (second, first, "first")):
        lacking = [name for name in these.columns if name not in those.columns]
        if lacking:
            notes.append(f"not in the {when} table: {quote_list(lacking)}")
    return column_drift(old, new)


# Read the results of an earlier analysis


def read_results(folder: Path) -> Results:
    """Read and check the results in a folder."""
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "is not there"
        raise TableError(f"{folder} {what}; a results folder of softkern analyze is needed.")
    path = folder / "run.json"
    if not path.is_file():
        raise TableError(f"{folder} is no results folder of softkern analyze: no run.json.")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        table, estimator = record["input"], record["model"]["estimator"]
        used, sizes = record["preparation"]["rows"], record["result"]["sizes"]
        started = datetime.fromisoformat(record["started"])
        find_table = partial(_find_table, table["file"], table.get("digest"), started, folder)
        rows = int(table["rows"])
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise TableError(
            f"{path} was altered, or another version of softkern wrote it; {AGAIN}."
        ) from error
    there = [folder / name for name in POINTS if (folder / name).is_file()]
    if not there:
        raise TableError(f"{folder} has no points.csv (nor .xlsx, .jsonl, .parquet); {AGAIN}.")
    latest = max(there, key=lambda path: path.stat().st_mtime)
    saved = SavedModel(folder / "model.safetensors")
    points = _points(latest)
    labels = points["label"]
    if len(points) != used or labels[labels >= 0].value_counts().sort_index().tolist() != sizes:
        raise TableError(
            f"{latest.name} and run.json of {folder} are not of one analysis, or were altered; "
            f"{AGAIN}."
        )
    return Results(points, rows, saved, estimator, find_table)


def _points(path: Path) -> pd.DataFrame:
    with open_table(str(path), WRITTEN) as reader:
        lacking = [name for name in KINDS if name not in reader.columns]
        if lacking:
            raise TableError(f"{path} was altered: it lacks '{lacking[0]}'; {AGAIN}.")
        ids = [name for name in ("id",) if name in reader.columns]
        points = reader.read(text=ids)[[*KINDS, *ids]]
    if ids and path.suffix == ".csv":
        points = points.assign(id=points["id"].map(unescape_formulas))
    try:
        flags = points["is_outlier"].astype(str).str.lower().map({"true": True, "false": False})
        return points.assign(is_outlier=flags.astype("boolean")).astype(KINDS)
    except (ValueError, TypeError) as error:
        raise TableError(
            f"{path} was altered: {plural(len(points), 'row')} do not read as points; {AGAIN}."
        ) from error


def _find_table(file: str, digest: str | None, started: datetime, folder: Path) -> Source:
    """Return the table of an analysis. Raise an error if it cannot be read again."""
    if file == "-":
        raise TableError("it came from standard input")
    # earlier versions wrote no digest: the file must not be newer than the start, in seconds
    latest = started.timestamp() + 1
    # the path as it was typed, from here or next to the results
    places = [Path(file), folder.absolute().parent / file]
    there = [place for place in places if place.is_file()]
    for place in there:
        is_older = digest is None and place.stat().st_mtime < latest
        if is_older or (digest is not None and digest == digest_of(str(place))):
            return Source(str(place))
    raise TableError(f"{file} {'has changed since' if there else 'is not there'}")
