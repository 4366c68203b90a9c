"""Writes and prints what `softkern compare` found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from softkern._utils.text import plural, quote
from softkern.tables.cli.options import CompareSettings
from softkern.tables.cli.printer import Printer
from softkern.tables.cli.writing import write_chunks, write_json
from softkern.tables.compare.drift import ColumnDrift
from softkern.tables.compare.results import PointsComparison
from softkern.tables.compare.text import describe_drift, summarize_drift, summarize_points

TOP = 10  # rows and columns that are printed
ON_PAGE = 500  # rows on the page
FEWEST = 3  # printed columns if none drifted
MOST_CLUSTERS = 20  # clusters that are printed
CLUSTER_HEAD = ("before", "rows", "now", "rows now")
DRIFT_COLUMNS = ["column", "kind", "drift", "is_chance", "distance", "chance", "shift"]
DRIFT_COLUMNS += ["median_before", "median_after", "missing_before", "missing_after"]
DISTANCE_HELP = "distance: 0 is identical, 1 is entirely different"


@dataclass
class Changes:
    """Differences, with remarks on how they were determined."""

    points: PointsComparison
    drift: list[ColumnDrift]
    notes: list[str]
    has_drift: bool  # whether both tables could be read

    def summary(self) -> list[str]:
        """Return the answer in one or two sentences."""
        points = summarize_points(self.points)
        if not self.has_drift:
            return [points]
        is_same = self.points.is_same and all(drift.is_chance for drift in self.drift)
        return ["nothing changed: " * is_same + points, summarize_drift(self.drift)]


def write_changes(settings: CompareSettings, found: Changes, folder: Path) -> None:
    """Write changes.csv, drift.csv and compare.json."""
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


def write_page(settings: CompareSettings, found: Changes, path: Path) -> None:
    """Write compare.html, one self-contained page without scripts. All text is escaped."""
    from softkern.tables.report.page import asset, template

    points, head = found.points, ["column", "distance", "drift", "change"]
    drift = [  # numbers from 0 to 1 are drawn as bars
        (quote(one.column), one.distance, one.drift, describe_drift(one)) for one in found.drift
    ]
    row_head, rows = _row_lines(points, ON_PAGE)
    shown = f"{len(rows):,} of {len(points.rows):,}; all are in changes.csv"
    parts = [
        ("Clusters", CLUSTER_HEAD, _cluster_lines(points), _agreement(points)),
        ("Drift by column", head, drift, DISTANCE_HELP),
        ("Changed rows", row_head, rows, shown),
    ]
    names = ("heading", "head", "rows", "help")
    page = template("comparison.html").render(
        title=f"{quote(settings.before)} and {quote(settings.after)}",
        lead=found.summary(),
        notes=found.notes,
        parts=[dict(zip(names, part, strict=True)) for part in parts],
        style=asset("style.css"),
    )
    path.write_text(page, encoding="utf-8", errors="replace")


def print_changes(printer: Printer, found: Changes) -> None:
    """Print the differences."""
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
    printer.table(CLUSTER_HEAD, lines[:MOST_CLUSTERS], title, right=("rows", "rows now"))
    head, rows = _row_lines(points, TOP)
    title = f"Changed rows ({len(rows):,} of {len(points.rows):,})"
    printer.table(head, rows, title, right=("row",))
    real = [one for one in found.drift if not one.is_chance]
    shown = (real or [one for one in found.drift if describe_drift(one)][:FEWEST])[:TOP]
    if not shown:
        return
    more = f", the first {TOP} of {len(real):,}" if len(real) > TOP else ""
    printer.line(f"Drift by column{more} ({DISTANCE_HELP})", "bold")
    for one in shown:
        printer.line(
            f"  '{quote(one.column)}' {one.drift}, {one.distance:.3f}: {describe_drift(one)}"
        )
    others = len(found.drift) - len(real)
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


def _agreement(points: PointsComparison) -> str:
    """Return a sentence on the agreement of the clusters, empty if it is unknown."""
    index = points.adjusted_rand_index
    if index is None:
        return ""
    return f"adjusted Rand index of the clusters: {index:.3f} (1 is identical, 0 is chance)"


def _row_lines(points: PointsComparison, most: int) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the head and the first lines of the table of changed rows."""
    rows = points.rows.head(most)
    columns = {
        "change": rows["change"],
        "row": rows["row_after"].fillna(rows["row_before"]).map("{:,}".format),
        **({"id": rows["id"].map(quote)} if "id" in rows else {}),
        "cluster": _from_to(rows, "label", _name),
        "membership": _from_to(rows, "membership", "{:.3f}".format),
        "outlier": _from_to(rows, "is_outlier", lambda flag: "yes" if flag else "no"),
    }
    return list(columns), list(zip(*columns.values(), strict=True))


def _from_to(rows: pd.DataFrame, name: str, form: Callable[[Any], str]) -> list[str]:
    sides = zip(rows[f"{name}_before"], rows[f"{name}_after"], strict=True)
    return [" → ".join(form(side) for side in pair if pd.notna(side)) for pair in sides]
