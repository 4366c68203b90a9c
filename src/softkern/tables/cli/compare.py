"""`softkern compare`: what changed between two analyses, or since one of them in a new table."""

from __future__ import annotations

import json
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
from softkern.exceptions import DataError
from softkern.tables.cli import score
from softkern.tables.cli.output_folder import results_folder
from softkern.tables.cli.points import write_chunks
from softkern.tables.cli.printer import Printer
from softkern.tables.cli.results_folder import KINDS, Results, SourceMissingError, read_results
from softkern.tables.compare import (
    ColumnDrift,
    PointsComparison,
    column_drift,
    compare_points,
    measured,
)
from softkern.tables.compare.rows import TOLD, By
from softkern.tables.io import TableError

__all__ = ["Changes", "Job", "changes", "compare"]

FILES = ("changes.csv", "drift.csv", "compare.json")
PAGE = "compare.html"  # where the report's packages are installed
TOP = 10  # rows and columns that are shown
ON_PAGE = 500  # rows that the page lists
FEWEST = 3  # columns that are shown where none drifted
MOST_CLUSTERS = 20  # that are shown
CLUSTER_HEAD = ("before", "rows", "now", "rows now")
FAR = "distance: 0 is the same, 1 is all different"


@dataclass
class Job:
    """What was asked; the fields are the options of the command."""

    before: Path
    after: str
    out: Path | None = None
    source: str | None = None  # where the table can be read twice, if not at `after`
    force: bool = False
    quiet: bool = False


@dataclass
class Changes:
    """What changed, and what a user should know of how it was found."""

    points: PointsComparison
    drift: list[ColumnDrift]
    notes: list[str] = field(default_factory=list)
    has_drift: bool = True  # whether both tables could be read

    def in_words(self) -> list[str]:
        """The answer, in one or two sentences."""
        points = self.points.in_words()
        if not self.has_drift:
            return [points]
        is_same = self.points.is_same and all(drift.is_chance for drift in self.drift)
        return ["nothing changed: " * is_same + points, _drift_in_words(self.drift)]


@dataclass
class _After:
    """What is compared with the results of before: another analysis, or a table."""

    points: pd.DataFrame
    rows: int
    job: score.Job | None  # how to read its table
    metadata: dict[str, Any]
    is_same_model: bool
    gone: str = ""  # why the table cannot be read
    notes: list[str] = field(default_factory=list)


def compare(job: Job) -> None:
    """Do the job: print what changed, and write it where that is asked for."""
    printer = Printer(job.quiet)
    names = [*([PAGE] if find_spec("jinja2") else []), *FILES]
    place = nullcontext(None) if job.out is None else results_folder(job.out, names, job.force)
    with place as folder:
        found = changes(job)
        if folder is not None:
            _write(job, found, folder)
            if PAGE in names:
                _write_page(job, found, folder / PAGE)
    _print(printer, found)
    if job.out is not None:
        printer.line(f"wrote {', '.join(names)} into {job.out}", "bold")


def changes(job: Job) -> Changes:
    """What changed; reads files and prints nothing."""
    before = read_results(job.before)
    after = _after(job, before)
    notes = list(after.notes)
    by = _shared_by(before, after, notes)
    tables = _tables(before, after, notes)
    seen = None
    if after.is_same_model:
        after.points = _as_before(before.points, after.points, by, tables, notes)
        seen = after.points["label"].to_numpy()
    elif by is None:
        seen = _seen(before, after, notes)
    points = compare_points(
        before.points, after.points, by=by, seen=seen, is_same_model=after.is_same_model
    )
    drift = [] if tables is None else _drift(tables, before, after, notes)
    return Changes(points, drift, notes, tables is not None)


# Read


def _after(job: Job, before: Results) -> _After:
    if job.after != "-" and Path(job.after).is_dir():
        results = read_results(Path(job.after))
        after = _After(results.points, results.rows, None, results.metadata, False)
        try:
            after.job = results.table()
        except SourceMissingError as error:
            after.gone = str(error)
        after.notes += _differences(before, results)
        return after
    reading = score.Job(before.model, job.after, source=job.source, quiet=True)
    scored, notes = score.points_of(reading)
    points = scored.dropna(subset=["label"])
    if points.empty:
        raise TableError(f"{quote(job.after)} has no row with a value in the model's columns.")
    points = points.astype(KINDS).reset_index(drop=True)
    return _After(points, len(scored), reading, before.metadata, True, notes=notes)


def _differences(before: Results, after: Results) -> list[str]:
    """How the two analyses were made otherwise, which may be all that changed."""
    notes = []
    models = [results.record["model"]["estimator"] for results in (before, after)]
    if models[0] != models[1]:
        notes.append(f"the model was {models[0]}, and is {models[1]} now")
    features = [results.features for results in (before, after)]
    for these, those, what in ((*features, "no longer"), (*features[::-1], "only now")):
        lacking = [name for name in these if name not in those]
        if lacking:
            notes.append(f"{what} used for the clusters: {quote_list(lacking)}")
    return notes


def _shared_by(before: Results, after: _After, notes: list[str]) -> By | None:
    """What tells that two rows are the same; None where no rows are."""
    if "id" in before.points and "id" in after.points:
        return _by_identifier(before, after, notes)
    if before.rows == after.rows:
        notes.append("rows are taken for the same by their number; --id in both analyses is surer")
        return "row"
    notes.append(
        f"which rows are the same is not known: {before.rows:,} rows before, {after.rows:,} now, "
        "and no identifiers in both (--id of softkern analyze)"
    )
    return None


def _by_identifier(before: Results, after: _After, notes: list[str]) -> By | None:
    names = [before.metadata.get("id"), after.metadata.get("id")]
    if names[0] != names[1]:
        notes.append(f"rows were named by '{quote(names[0])}', now by '{quote(names[1])}'")
    ids = [points["id"] for points in (before.points, after.points)]
    repeated = [int(column.duplicated(keep=False).sum()) for column in ids]
    if any(repeated):
        notes.append(
            f"rows whose identifier names several are left out: {repeated[0]:,} before, "
            f"{repeated[1]:,} now"
        )
    first, second = (set(column[~column.duplicated(keep=False)]) for column in ids)
    if first & second:
        return "id"
    notes.append("no identifier is in both, so no rows are the same")
    return None


def _tables(before: Results, after: _After, notes: list[str]) -> Any:
    """Both tables with their preparations; None where one of them cannot be read."""
    lost = "no drift of columns: the table of {} cannot be read, {}"
    try:
        first = score.read_table(before.table(), before.metadata)
    except (SourceMissingError, DataError) as error:
        notes.append(lost.format("before", error))
        return None
    if after.job is None:
        notes.append(lost.format("now", after.gone))
        return None
    return first, score.read_table(after.job, after.metadata)


def _seen(before: Results, after: _After, notes: list[str]) -> Any:
    """Labels that the model of before gives to the rows of now."""
    reason = after.gone
    if after.job is not None:
        reading = score.Job(before.model, after.job.data, quiet=True)
        try:
            scored, _ = score.points_of(reading)
            labels = scored.set_index("row")["label"].reindex(after.points["row"])
            notes.append("clusters are matched by where the model of before puts the rows of now")
            return labels.fillna(-1).to_numpy(dtype=np.int64)
        except DataError as error:
            reason = str(error)
    raise TableError(
        "the two analyses share no rows, and their clusters cannot be matched by the model of "
        f"before either: {reason.rstrip('.')}. Give --id in both analyses, or keep their tables."
    )


def _as_before(
    before: pd.DataFrame, after: pd.DataFrame, by: Any, tables: Any, notes: list[str]
) -> pd.DataFrame:
    """Points of a table, where a row that has not changed keeps what the analysis said of it.

    The analysis judged each row by the others; as a new one it would be judged by itself too, and
    no outlier would be one any more.
    """
    if by is None:
        return after
    if tables is None:
        notes.append("rows that the model knows are judged as new ones: fewer may be outliers")
        return after
    features = []
    for table, preparation in tables:
        prepared = preparation.apply(table, missing=None)
        features.append(prepared.features.set_axis(np.flatnonzero(prepared.kept) + 1))
    once = [points.drop_duplicates(by, keep=False) for points in (before, after)]
    places = once[0].reset_index().merge(once[1].reset_index(), on=by, suffixes=("", "_after"))
    row_after = places["row" if by == "row" else "row_after"]
    values = [features[0].reindex(places["row"]), features[1].reindex(row_after)]
    is_same = (values[0].to_numpy() == values[1].to_numpy()).all(axis=1)
    same = places[is_same]
    kept = after.copy()
    for name in TOLD:
        kept.loc[same["index_after"], name] = same[name].to_numpy()
    return kept


def _drift(tables: Any, before: Results, after: _After, notes: list[str]) -> list[ColumnDrift]:
    ids = [before.metadata.get("id"), after.metadata.get("id")]
    left_out = [name for name in ids if name is not None]
    (first, how), (second, how_now) = tables
    old, said = measured(first, how, left_out)
    new, said_now = measured(second, how_now, left_out)
    notes += dict.fromkeys([*said, *said_now])
    for these, those, when in ((first, second, "now"), (second, first, "before")):
        lacking = [name for name in these.columns if name not in those.columns]
        if lacking:
            notes.append(f"not in the table of {when}: {quote_list(lacking)}")
    return column_drift(old, new)


# Write


def _write(job: Job, found: Changes, folder: Path) -> None:
    write_chunks([found.points.rows], str(folder / "changes.csv"))
    write_chunks([_drift_table(found.drift)], str(folder / "drift.csv"))
    points = found.points
    record = {
        "before": str(job.before),
        "after": job.after,
        "summary": found.in_words(),
        "notes": found.notes,
        "shared_by": points.by,
        "rows": {name: getattr(points, name) for name in ("shared", "moved", "came", "went")},
        "outliers": {
            name: getattr(points, f"outliers_{name}") for name in ("before", "after", "new", "gone")
        },
        "adjusted_rand_index": points.rand,
        "clusters": {
            "before": points.sizes_before,
            "after": points.sizes_after,
            "same": points.match.pairs,
            "became_one": points.match.merged,
            "fell_apart": points.match.split,
            "gone": points.match.gone,
            "new": points.match.new,
            "shared_rows": [
                {"before": b, "after": a, "rows": n} for (b, a), n in points.match.overlap.items()
            ],
        },
        "drift": None if not found.has_drift else [_plain(drift) for drift in found.drift],
        "softkern": version("softkern"),
    }
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / "compare.json").write_text(text + "\n", encoding="utf-8", errors="backslashreplace")


def _write_page(job: Job, found: Changes, path: Path) -> None:
    from softkern.tables.report.comparison import Part, write_comparison

    points = found.points
    head, lines = _row_lines(points, ON_PAGE)
    listed = f"{len(lines):,} of {len(points.rows):,}; changes.csv has all" if lines else ""
    columns: list[list[str | float]] = [
        [quote(one.column), one.distance, one.drift, one.words] for one in found.drift
    ]
    agreement = "" if points.rand is None else _agreement(points.rand)
    write_comparison(
        path,
        f"{quote(job.before)} and {quote(job.after)}",
        found.in_words(),
        found.notes,
        [
            Part("Clusters", CLUSTER_HEAD, _cluster_lines(points), agreement),
            Part("Drift by column", ["column", "distance", "drift", "what changed"], columns, FAR),
            Part("Rows that changed", head, lines, listed),
        ],
    )


def _plain(drift: ColumnDrift) -> dict[str, Any]:
    return {**asdict(drift), "drift": drift.drift, "is_chance": drift.is_chance}


def _drift_table(drift: Sequence[ColumnDrift]) -> pd.DataFrame:
    names = ["column", "kind", "drift", "is_chance", "distance", "chance", "shift"]
    names += ["median_before", "median_after", "missing_before", "missing_after", "words"]
    lines = [[getattr(one, name) for name in names] for one in drift]
    table = pd.DataFrame(lines, columns=pd.Index(names))
    numbers = ["distance", "chance", "shift", *names[7:11]]
    return table.astype(dict.fromkeys(numbers, float))


# Print


def _drift_in_words(drift: Sequence[ColumnDrift]) -> str:
    sure = [one for one in drift if not one.is_chance]
    real = [one for one in sure if one.drift != "none"]
    fresh = [one.column for one in sure if one.new_values]
    values = f"; new values in {quote_list(fresh)}" if fresh else ""
    if not sure:
        return f"no drift in {plural(len(drift), 'column')} beyond what chance gives."
    if not real:
        return f"{len(sure):,} of {plural(len(drift), 'column')} drifted, none by much{values}."
    words = {"strong": "strongly", "some": "somewhat"}
    said = [
        f"{quote_list([one.column for one in real if one.drift == size])} {word}"
        for size, word in words.items()
        if any(one.drift == size for one in real)
    ]
    return f"{len(real):,} of {plural(len(drift), 'column')} drifted: {', '.join(said)}{values}."


def _print(printer: Printer, found: Changes) -> None:
    for line in found.in_words():
        printer.line(line, "bold")
    printer.notes(found.notes)
    points = found.points
    lines = _cluster_lines(points)
    if points.rand is not None:
        printer.line(_agreement(points.rand))
    title = "Clusters"
    if len(lines) > MOST_CLUSTERS:
        title += f", the first {MOST_CLUSTERS} of {len(lines)}"
    printer.table(CLUSTER_HEAD, lines[:MOST_CLUSTERS], title)
    head, rows = _row_lines(points, TOP)
    printer.table(head, rows, f"Rows that changed ({len(rows)} of {len(points.rows):,})")
    _print_drift(printer, found.drift)


def _print_drift(printer: Printer, drift: Sequence[ColumnDrift]) -> None:
    real = [one for one in drift if not one.is_chance]
    shown = (real or [one for one in drift if one.words][:FEWEST])[:TOP]
    if not shown:
        return
    more = f", the first {TOP} of {len(real):,}" if len(real) > TOP else ""
    printer.line(f"Drift by column{more} ({FAR})", "bold")
    for one in shown:
        printer.line(f"  '{quote(one.column)}' {one.drift}, {one.distance:.3f}: {one.words}")
    others = len(drift) - len(real)
    if real and others:
        printer.line(f"  {plural(others, 'other column')}: nothing beyond what chance gives")


def _cluster_lines(points: PointsComparison) -> list[tuple[Any, ...]]:
    """Each cluster of before, and what it is now."""
    before, after = points.sizes_before, points.sizes_after
    lines: list[tuple[Any, ...]] = []
    for label in sorted(before, key=lambda label: (label < 0, label)):
        now = [-1] if label < 0 else points.match.after_of(label)
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


def _agreement(rand: float) -> str:
    meaning = "adjusted Rand index: 1 is the same, 0 is chance"
    return f"agreement of the clusters: {rand:.3f} ({meaning})"


def _row_lines(points: PointsComparison, most: int) -> tuple[list[str], list[list[str]]]:
    """The head and the first lines of the table of rows that changed."""
    rows = points.rows
    head = ["change", "row", *(["id"] if "id" in rows else []), "cluster", "membership", "outlier"]
    lines = []
    for _, row in rows.head(most).iterrows():
        known = row["row_after"] if pd.notna(row["row_after"]) else row["row_before"]
        who = [f"{known:,}", *([quote(row["id"])] if "id" in rows else [])]
        told = [_from_to(row, *how) for how in zip(TOLD[:3], FORMS, strict=True)]
        lines.append([row["change"], *who, *told])
    return head, lines


def _from_to(row: pd.Series[Any], name: str, form: Any) -> str:
    sides = [row[f"{name}_{when}"] for when in ("before", "after")]
    return " → ".join(form(side) for side in sides if pd.notna(side))
