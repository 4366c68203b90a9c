"""Prints a result: a summary, the clusters, and the rows to look at.

Details of the method (compared models, memberships) are printed with --verbose only.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from sklearn.exceptions import ConvergenceWarning

from softkern._utils.text import plural
from softkern.exceptions import CollapseWarning, ReseedWarning, SpectrumWarning
from softkern.fitted import choice_of
from softkern.tables.cli.options import AnalyzeSettings
from softkern.tables.cli.points import has_all_columns
from softkern.tables.cli.printer import Printer
from softkern.tables.explain import Explainer, cluster_lines, summary

TOP = 10  # rows in a table
MOST_LINES = 20  # clusters in a list
MUCH_NOISE = 0.2  # share of rows in no cluster that is worth a note
WARNINGS: dict[type[Warning], str] = {
    CollapseWarning: "some of the clusters are identical; use a smaller number with --clusters",
    ConvergenceWarning: "the search was stopped before it converged, so that clusters may be "
    "unclear; another --model may find clearer ones",
    SpectrumWarning: "some clusters may be only a few outliers; --model auto reports such rows as "
    "outliers",
    ReseedWarning: "a cluster lost all of its rows and was started again; a smaller number with "
    "--clusters may suit the table better",
}


@dataclass(frozen=True)
class Result:
    """A fitted model, and what it found in the table."""

    model: Any
    warnings: list[str]
    ranks: pd.DataFrame
    explainer: Explainer
    explained: pd.DataFrame  # the flagged and the most unusual rows
    clusters: pd.DataFrame
    points: pd.DataFrame  # the results of every row


def print_result(printer: Printer, result: Result, settings: AnalyzeSettings) -> None:
    """Print the result and notes on it."""
    ranks, verbose = result.ranks, settings.verbose
    printer.line()
    printer.line(summary(ranks), "bold")
    lines = list(cluster_lines(result.clusters).values())
    printer.line("What each cluster is" if len(lines) > 1 else "What the table is", "bold")
    for line in lines[:MOST_LINES]:
        printer.line(f"  {line}")
    if len(lines) > MOST_LINES:
        printer.line(f"  … and {plural(len(lines) - MOST_LINES, 'cluster')} more in clusters.csv")
    printer.line()
    _print_flagged(printer, result)
    if verbose:
        _print_memberships(printer, ranks)
    printer.notes(_doubts(settings.clusters, ranks))
    wide = settings.all_memberships
    if verbose and not has_all_columns(result.model.memberships_, wide):
        printer.notes(["points has no column for every cluster; see --all-memberships"])


def _print_flagged(printer: Printer, result: Result) -> None:
    """Print the outliers, or the most unusual rows, and the rows between clusters."""
    explained = result.explained
    outliers = explained[explained["grade"] != ""]
    title = _title("Outliers", "outliers", len(outliers))
    if outliers.empty:
        outliers = explained[explained["between"] == ""]
        if (outliers["column_1"] == "").all():
            printer.line("No row stands out.", "bold")
            outliers = outliers[:0]
        title = f"The most unusual {plural(min(TOP, len(outliers)), 'row')}; none is an outlier"
    _print_rows(printer, result, outliers, "grade", "outlier_rank", title)
    between = explained[explained["between"] != ""]
    title = _title("Between clusters", "rows between clusters", len(between))
    _print_rows(printer, result, between, "between", "overlap_rank", title)


def _title(few: str, many: str, count: int) -> str:
    return few if count <= TOP else f"The first {TOP} of {count:,} {many}"


def _print_rows(
    printer: Printer, result: Result, explained: pd.DataFrame, column: str, rank: str, title: str
) -> None:
    """Print the rows of highest rank with their reasons."""
    places = explained["row"].to_numpy(dtype=np.intp)
    order = result.ranks[rank].to_numpy()[places].argsort(kind="stable")[:TOP]
    points = result.points.iloc[places[order]]
    names = [name for name in ("row", "id") if name in points]
    reasons = [column, "why"] if explained[column].any() else ["why"]
    rows = np.hstack([points[names], explained[reasons].iloc[order]]).tolist()
    right = [name for name in names if is_numeric_dtype(points[name])]
    printer.table([*names, *reasons], rows, title, wide="why", right=right)


def print_choice(printer: Printer, model: Any, verbose: bool) -> None:
    """Print why there is one cluster. With --verbose, print the compared models and the choice."""
    choice = choice_of(model)
    if choice is None:
        return
    is_one = choice["taken"] == "one cluster"
    if is_one or verbose:
        took = "" if is_one else "took "
        printer.line(f"{took}{choice['taken']}: {choice['reason']}", "bold")
    if is_one and model.n_clusters == "auto":
        printer.notes(["--clusters K looks for K clusters all the same"])
    if verbose and len(choice["compared"]) > 1:
        numbers = ("clusters", "separation (1: chance)", "stability (1: same)")
        rows = [_compared(row) for row in choice["compared"]]
        title = "Models compared, on the rows and on halves of them"
        printer.table(("model", *numbers, "taken"), rows, title, right=numbers)


def _compared(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return one line of the table of models."""
    taken = "yes" if row["taken"] else "no"
    if not row["clusters"]:
        return row["model"], "could not be fitted", "–", "–", taken
    # + 0.0: not "-0.00"
    measures = (f"{round(row[name], 2) + 0.0:.2f}" for name in ("separation", "stability"))
    return row["model"], row["clusters"], *measures, taken


def _print_memberships(printer: Printer, ranks: pd.DataFrame) -> None:
    """Print sizes and mean memberships of the clusters, for --verbose."""
    rows: list[tuple[Any, ...]] = []
    for label, group in ranks.groupby("label"):
        top = f"{group['membership'].mean():.4f}"
        flags = int(group["is_outlier"].sum()), int(group["is_overlap"].sum())
        name = "none" if label == -1 else str(label)
        rows.append((name, f"{len(group):,}", f"{len(group) / len(ranks):.1%}", top, *flags))
    numbers = ("rows", "share", "mean membership", "outliers", "between clusters")
    printer.table(("cluster", *numbers), rows[:MOST_LINES], "Clusters in numbers", right=numbers)


def fit_messages(caught: Sequence[warnings.WarningMessage], technical: bool) -> list[str]:
    """Return the warnings of a fit, each once, without terms of the models unless `technical`."""
    plain = {} if technical else WARNINGS
    texts = (plain.get(warning.category, str(warning.message)) for warning in caught)
    return list(dict.fromkeys(" ".join(text.split()) for text in texts))


def _doubts(requested: int | None, ranks: pd.DataFrame) -> list[str]:
    """Return notes on fewer clusters than requested, and on many rows in no cluster."""
    labels, notes = ranks["label"], []
    found = int(labels[labels >= 0].nunique())
    if requested is not None and found < requested:
        verb = "has" if found == 1 else "have"
        notes.append(f"{found} of the {plural(requested, 'requested cluster')} {verb} rows")
    noise = int((labels < 0).sum())
    if noise > MUCH_NOISE * len(labels):
        notes.append(
            f"{plural(noise, 'row')} ({noise / len(labels):.0%}) lie in no cluster; "
            "--model mixture assigns every row to one"
        )
    return notes
