"""`softkern compare`: differences between two analyses, or between an analysis and a new table."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from softkern._utils.text import plural, quote, quote_list
from softkern.exceptions import DataError, ModelFileError
from softkern.tables.cli.options import CompareSettings, ScoreSettings
from softkern.tables.cli.output_folder import results_folder
from softkern.tables.cli.printer import Printer
from softkern.tables.cli.results_folder import KINDS, Results, read_results
from softkern.tables.cli.scorer import SavedModel, Scorer, check_columns, columns_as_written
from softkern.tables.cli.source import STDIN, Source, open_source
from softkern.tables.cli.writing import nullable, write_chunks, write_json
from softkern.tables.compare.drift import ColumnDrift, column_drift, comparable_columns
from softkern.tables.compare.rows import COMPARED_COLUMNS, Key, PointsComparison, compare_points
from softkern.tables.compare.text import describe_drift, summarize_drift, summarize_points
from softkern.tables.io import TableError
from softkern.tables.preparation import TablePreparation

FILES = ("changes.csv", "drift.csv", "compare.json")
PAGE = "compare.html"  # only if the packages of the report are installed
TOP = 10  # rows and columns that are printed
ON_PAGE = 500  # rows on the page
FEWEST = 3  # printed columns if none drifted
MOST_CLUSTERS = 20  # clusters that are printed
CLUSTER_HEAD = ("before", "rows", "now", "rows now")
DRIFT_COLUMNS = ["column", "kind", "drift", "is_chance", "distance", "chance", "shift"]
DRIFT_COLUMNS += ["median_before", "median_after", "missing_before", "missing_after"]
DISTANCE_HELP = "distance: 0 is identical, 1 is entirely different"

Table = tuple[pd.DataFrame, TablePreparation]


@dataclass
class Changes:
    """Differences, with remarks on how they were determined."""

    points: PointsComparison
    drift: list[ColumnDrift]
    notes: list[str] = field(default_factory=list)
    has_drift: bool = True  # whether both tables could be read

    def summary(self) -> list[str]:
        """Return the answer in one or two sentences."""
        points = summarize_points(self.points)
        if not self.has_drift:
            return [points]
        is_same = self.points.is_same and all(drift.is_chance for drift in self.drift)
        return ["nothing changed: " * is_same + points, summarize_drift(self.drift)]


def compare(settings: CompareSettings) -> None:
    """Print the differences, and write them to a folder on request."""
    printer, out = Printer(settings.quiet), settings.out
    names = [*([PAGE] if find_spec("jinja2") else []), *FILES]
    target = nullcontext() if out is None else results_folder(out, names, settings.force)
    with open_source(settings.after) as source, target as folder:
        found = changes(settings, source)
        if folder is not None:
            _write(settings, found, folder)
            if PAGE in names:
                _write_page(settings, found, folder / PAGE)
    _print(printer, found)
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
    return Results(points, len(scored), before.saved, before.estimator, source)


def _score(saved: SavedModel, source: Source) -> tuple[pd.DataFrame, list[str]]:
    """Score all rows of a table, and return them with the notes."""
    settings = ScoreSettings(model=saved.path, data=source.path)
    with source.open(saved.format(source.path)) as reader:
        scorer = Scorer(saved, reader, settings)
        points = pd.concat(map(nullable, scorer.tables()), ignore_index=True)
        return points, scorer.notes()


def _read_table(saved: SavedModel, source: Source) -> Table:
    """Read a whole table as the analysis did. Return it with the preparation of the model."""
    preparation = saved.preparation
    if preparation is None:
        raise ModelFileError(f"{saved.path} is not a model of softkern analyze.")
    with source.open(saved.format(source.path)) as reader:
        check_columns(preparation, reader)
        text, words = columns_as_written(preparation, saved.identifier(reader))
        return reader.read(text, words), preparation


def _read_tables(before: Results, after: Results, notes: list[str]) -> list[Table] | None:
    """Return both tables with their preparations, or None if one cannot be read."""
    tables = []
    for results, when in ((before, "before"), (after, "now")):
        try:
            tables.append(_read_table(results.saved, results.table))
        except DataError as error:
            notes.append(f"drift not computed: the table of {when} cannot be read, {error}")
            return None
    return tables


def _differences(before: Results, after: Results) -> list[str]:
    """Return how the settings of the two analyses differ."""
    notes = []
    if before.estimator != after.estimator:
        notes.append(f"model: {before.estimator} before, {after.estimator} now")
    for these, those, when in ((before, after, "before"), (after, before, "now")):
        lacking = [name for name in these.features if name not in those.features]
        if lacking:
            notes.append(f"features used only {when}: {quote_list(lacking)}")
    return notes


def _choose_key(before: Results, after: Results, notes: list[str]) -> Key | None:
    """Return the column that identifies rows in both results, or None if they share no rows."""
    if "id" in before.points and "id" in after.points:
        return _check_identifiers(before, after, notes)
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


def _check_identifiers(before: Results, after: Results, notes: list[str]) -> Key | None:
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
        scored, _ = _score(before.saved, after.table)
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


# Write


def _write(settings: CompareSettings, found: Changes, folder: Path) -> None:
    points, match = found.points, found.points.match
    drift = [{**asdict(one), "drift": one.drift, "is_chance": one.is_chance} for one in found.drift]
    table = pd.DataFrame(drift, columns=pd.Index(DRIFT_COLUMNS))
    table["description"] = [describe_drift(one) for one in found.drift]
    write_chunks([points.rows], str(folder / "changes.csv"))
    write_chunks([table], str(folder / "drift.csv"))
    record = {
        "before": str(settings.before),
        "after": settings.after,
        "summary": found.summary(),
        "notes": found.notes,
        "matched_by": points.key,
        "rows": {name: getattr(points, name) for name in ("shared", "moved", "added", "removed")},
        "outliers": {
            name: getattr(points, f"outliers_{name}") for name in ("before", "after", "new", "gone")
        },
        "adjusted_rand_index": points.adjusted_rand_index,
        "clusters": {
            "before": points.sizes_before,
            "after": points.sizes_after,
            "same": match.pairs,
            **{name: getattr(match, name) for name in ("merged", "split", "gone", "new")},
            "shared_rows": [
                {"before": b, "after": a, "rows": n} for (b, a), n in match.overlap.items()
            ],
        },
        "drift": drift if found.has_drift else None,
        "softkern": version("softkern"),
    }
    write_json(record, folder / "compare.json")


def _write_page(settings: CompareSettings, found: Changes, path: Path) -> None:
    from softkern.tables.report.templates import Part, write_comparison

    points, head = found.points, ["column", "distance", "drift", "change"]
    drift: list[list[str | float]] = [
        [quote(one.column), one.distance, one.drift, describe_drift(one)] for one in found.drift
    ]
    row_head, rows = _row_lines(points, ON_PAGE)
    parts = [
        Part("Clusters", CLUSTER_HEAD, _cluster_lines(points), _agreement(points)),
        Part("Drift by column", head, drift, DISTANCE_HELP),
        Part("Changed rows", row_head, rows, f"{_of_all(rows, points)}; all are in changes.csv"),
    ]
    title = f"{quote(settings.before)} and {quote(settings.after)}"
    write_comparison(path, title, found.summary(), found.notes, parts)


# Print


def _print(printer: Printer, found: Changes) -> None:
    for line in found.summary():
        printer.line(line, "bold")
    printer.notes(found.notes)
    points = found.points
    lines = _cluster_lines(points)
    if agreement := _agreement(points):
        printer.line(agreement)
    title = "Clusters"
    if len(lines) > MOST_CLUSTERS:
        title += f", the first {MOST_CLUSTERS} of {len(lines)}"
    printer.table(CLUSTER_HEAD, lines[:MOST_CLUSTERS], title)
    head, rows = _row_lines(points, TOP)
    printer.table(head, rows, f"Changed rows ({_of_all(rows, points)})")
    _print_drift(printer, found.drift)


def _print_drift(printer: Printer, drift: Sequence[ColumnDrift]) -> None:
    real = [one for one in drift if not one.is_chance]
    shown = (real or [one for one in drift if describe_drift(one)][:FEWEST])[:TOP]
    if not shown:
        return
    more = f", the first {TOP} of {len(real):,}" if len(real) > TOP else ""
    printer.line(f"Drift by column{more} ({DISTANCE_HELP})", "bold")
    for one in shown:
        printer.line(
            f"  '{quote(one.column)}' {one.drift}, {one.distance:.3f}: {describe_drift(one)}"
        )
    others = len(drift) - len(real)
    if real and others:
        printer.line(f"  {plural(others, 'other column')}: no significant drift")


def _cluster_lines(points: PointsComparison) -> list[tuple[Any, ...]]:
    """Return one line per old cluster with its successors, and the new clusters."""
    before, after = points.sizes_before, points.sizes_after
    lines: list[tuple[Any, ...]] = []
    for label in sorted(before, key=lambda label: (label < 0, label)):
        now = [-1] if label < 0 else points.match.successors(label)
        sizes = " + ".join(f"{after.get(one, 0):,}" for one in now) or "–"
        names = ", ".join(map(_name, now)) or "gone"
        lines.append((_name(label), f"{before[label]:,}", names, sizes))
    lines += [("new", "–", _name(label), f"{after[label]:,}") for label in points.match.new]
    if -1 in after and -1 not in before:
        lines.append((_name(-1), "0", _name(-1), f"{after[-1]:,}"))
    return lines


def _name(label: int) -> str:
    return "no cluster" if label < 0 else str(label)


FORMS = (_name, "{:.3f}".format, lambda flag: "yes" if flag else "no")


def _agreement(points: PointsComparison) -> str:
    """Return a sentence on the agreement of the clusters, empty if it is unknown."""
    index = points.adjusted_rand_index
    if index is None:
        return ""
    return f"adjusted Rand index of the clusters: {index:.3f} (1 is identical, 0 is chance)"


def _row_lines(points: PointsComparison, most: int) -> tuple[list[str], list[list[str]]]:
    """Return the head and the first lines of the table of changed rows."""
    rows = points.rows
    head = ["change", "row", *(["id"] if "id" in rows else []), "cluster", "membership", "outlier"]
    lines = []
    for _, row in rows.head(most).iterrows():
        number = row["row_after"] if pd.notna(row["row_after"]) else row["row_before"]
        name = [f"{number:,}", *([quote(row["id"])] if "id" in rows else [])]
        cells = [_from_to(row, *how) for how in zip(COMPARED_COLUMNS[:3], FORMS, strict=True)]
        lines.append([row["change"], *name, *cells])
    return head, lines


def _of_all(lines: Sequence[Any], points: PointsComparison) -> str:
    return f"{len(lines):,} of {len(points.rows):,}"


def _from_to(row: pd.Series[Any], name: str, form: Any) -> str:
    sides = [row[f"{name}_{when}"] for when in ("before", "after")]
    return " → ".join(form(side) for side in sides if pd.notna(side))
