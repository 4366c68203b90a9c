"""What the terminal says of a result: a sentence, the clusters, the rows to look at.

Words of the method (models that were compared, memberships) are for --verbose.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from softkern._utils.text import plural
from softkern.exceptions import CollapseWarning, ReseedWarning, SpectrumWarning
from softkern.fitted import choice_of
from softkern.tables.cli.printer import Printer
from softkern.tables.explain import cluster_lines, summary
from softkern.tables.explain.points import NO_COLUMN

__all__ = ["doubts", "in_words", "say_choice", "say_memberships", "say_result"]

TOP = 10  # rows that are shown
MOST_LINES = 20  # clusters
MUCH_NOISE = 0.2  # share of the rows from which on it is said
WARNED: dict[type[Warning], str] = {
    CollapseWarning: "some of the clusters are one and the same; --clusters with a smaller number "
    "tells them apart",
    ConvergenceWarning: "the search was stopped before it came to rest, so that clusters may be "
    "unclear; another --model may find clearer ones",
    SpectrumWarning: "some clusters may be no more than a few rows far from all others; --model "
    "auto calls such rows outliers",
    ReseedWarning: "a cluster lost all of its rows on the way and was started again; --clusters "
    "with a smaller number may suit the table better",
}


def say_result(
    printer: Printer,
    ranks: pd.DataFrame,
    clusters: pd.DataFrame,
    explained: pd.DataFrame,
    names: pd.DataFrame,
) -> None:
    """The answer in words.

    `explained` is the table of `explain_points` for the flagged rows and the most unusual ones,
    `names` has a "row", and an "id" where there is one, for every row.
    """
    printer.line()
    printer.line(summary(ranks), "bold")
    lines = list(cluster_lines(clusters).values())
    printer.line("What each cluster is" if len(lines) > 1 else "What the table is", "bold")
    for line in lines[:MOST_LINES]:
        printer.line(f"  {line}")
    if len(lines) > MOST_LINES:
        printer.line(f"  … and {plural(len(lines) - MOST_LINES, 'cluster')} more in clusters.csv")
    printer.line()
    _say_rows(printer, ranks, explained, names)


def _say_rows(
    printer: Printer, ranks: pd.DataFrame, explained: pd.DataFrame, names: pd.DataFrame
) -> None:
    far = explained[explained["grade"] != ""]
    if len(far):
        title = "Outliers" if len(far) <= TOP else f"The first {TOP} of {len(far):,} outliers"
    else:
        far = explained[explained["between"] == ""]
        if (far["why"] == NO_COLUMN).all():
            printer.line("No row stands out.", "bold")
            far = far[:0]
        shown = plural(min(TOP, len(far)), "row")
        title = f"The most unusual {shown}; none is an outlier"
    _table(printer, far, names, "grade", title, ranks["outlier_rank"])
    between = explained[explained["between"] != ""]
    title = "Between clusters"
    if len(between) > TOP:
        title = f"The first {TOP} of {len(between):,} rows between clusters"
    _table(printer, between, names, "between", title, ranks["overlap_rank"])


def _table(
    printer: Printer,
    explained: pd.DataFrame,
    names: pd.DataFrame,
    what: str,
    title: str,
    rank: pd.Series[Any],
) -> None:
    places = explained["row"].to_numpy()
    order = rank.to_numpy()[places].argsort(kind="stable")[:TOP]
    known = list(names.columns)
    head = [*known, *([what] if explained[what].any() else []), "why"]
    rows = []
    for k in order.tolist():
        row = explained.iloc[k]
        named = names.iloc[int(row["row"])]
        cells = {name: str(named[name]) for name in known}
        # the pair is in its own column
        words = row["why"].removeprefix(f"between clusters {row['between']}: ")
        rows.append([({**cells, what: row[what], "why": words})[name] for name in head])
    printer.table(head, rows, title, wide="why")


def say_choice(printer: Printer, model: Any, verbose: bool) -> None:
    """Why there is one group; with --verbose, which model was taken and why, beside the others."""
    choice = choice_of(model)
    if choice is None:
        return
    is_one = choice["taken"] == "one group"
    if is_one or verbose:
        took = "" if is_one else "took "
        printer.line(f"{took}{choice['taken']}: {choice['reason']}", "bold")
    if is_one and model.n_clusters == "auto":
        printer.notes(["--clusters K looks for K groups all the same"])
    if verbose and len(choice["compared"]) > 1:
        head = ("model", "clusters", "separation (1: chance)", "stability (1: same)", "taken")
        rows = [_compared(row) for row in choice["compared"]]
        printer.table(head, rows, "Models compared, on the rows and on halves of them")


def _compared(row: dict[str, Any]) -> tuple[Any, ...]:
    """A line of the table of models."""
    taken = "yes" if row["taken"] else "no"
    if not row["clusters"]:
        return row["model"], "could not be fitted", "–", "–", taken
    # + 0.0: not "-0.00"
    measures = (f"{round(row[name], 2) + 0.0:.2f}" for name in ("separation", "stability"))
    return row["model"], row["clusters"], *measures, taken


def say_memberships(printer: Printer, ranks: pd.DataFrame) -> None:
    """The clusters in numbers, for --verbose."""
    rows: list[tuple[Any, ...]] = []
    for label, group in ranks.groupby("label"):
        top = f"{group['membership'].mean():.4f}"
        flags = int(group["is_outlier"].sum()), int(group["is_overlap"].sum())
        name = "none" if label == -1 else str(label)
        rows.append((name, f"{len(group):,}", f"{len(group) / len(ranks):.1%}", top, *flags))
    head = ("cluster", "rows", "share", "mean membership", "outliers", "in between")
    printer.table(head, rows[:MOST_LINES], "Clusters in numbers")


def in_words(caught: Sequence[warnings.WarningMessage]) -> list[str]:
    """What a fit warns of, for who does not know the model; each once.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warnings.warn("centers 1 and 2 coincide; use a smaller m.", CollapseWarning)
    >>> in_words(caught)
    ['some of the clusters are one and the same; --clusters with a smaller number tells them apart']
    """
    said = (WARNED.get(warning.category, str(warning.message)) for warning in caught)
    return list(dict.fromkeys(" ".join(words.split()) for words in said))


def doubts(asked: int | None, ranks: pd.DataFrame) -> list[str]:
    """What to know of clusters that are not as expected."""
    labels, notes = ranks["label"], []
    found = int(labels[labels >= 0].nunique())
    if asked is not None and found < asked:
        verb = "has" if found == 1 else "have"
        notes.append(f"{found} of the {plural(asked, 'cluster')} asked for {verb} rows")
    noise = int((labels < 0).sum())
    if noise > MUCH_NOISE * len(labels):
        notes.append(
            f"{plural(noise, 'row')} ({noise / len(labels):.0%}) lie in no cluster; "
            "--model mixture gives every row one"
        )
    return notes
