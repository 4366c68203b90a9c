"""Sentences about the differences between two results and between two tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

from softkern._utils.text import plural, quote, quote_list
from softkern.tables.compare.drift import MAX_LISTED, ColumnDrift
from softkern.tables.compare.results import PointsComparison
from softkern.tables.text import join_words

MIN_MOVED = 5  # rows that moved together and deserve a clause
MAX_CHANGES = 6  # merged, split, gone and new clusters named in the first sentence


def summarize_points(comparison: PointsComparison) -> str:
    """Return the differences between two results in one sentence."""
    sizes = comparison.sizes_before, comparison.sizes_after
    old, new = (len(set(labels) - {-1}) for labels in sizes)
    if comparison.is_same:
        which = "the same cluster" if new == 1 else f"the same {plural(new, 'cluster')}"
        return f"{which}; none of {plural(comparison.shared, 'row')} moved."
    clusters = f"{plural(new, 'cluster')} now, {old:,} before"
    changes = _cluster_changes(comparison)
    parts = [f"{clusters}: {changes}" if changes else clusters, *_row_changes(comparison)]
    return "; ".join(parts) + "."


def _cluster_changes(comparison: PointsComparison) -> str:
    match = comparison.match
    changes = [f"{_clusters(old)} merged into {new}" for new, old in match.merged.items()]
    changes += [f"{_clusters([old])} split into {_list(new)}" for old, new in match.split.items()]
    if match.gone and comparison.is_same_model:
        changes.append(f"{_clusters(match.gone, 'has', 'have')} no rows now")
    elif match.gone:
        changes.append(f"{_clusters(match.gone, 'is', 'are')} gone")
    if match.new:
        changes.append(f"{_clusters(match.new, 'is', 'are')} new")
    hidden = len(changes) - MAX_CHANGES
    more = [f"and {plural(hidden, 'more change')}"] if hidden > 0 else []
    return ", ".join(changes[:MAX_CHANGES] + more)


def _row_changes(comparison: PointsComparison) -> list[str]:
    c = comparison
    if c.key is None:
        before, after = (plural(sum(n.values()), "row") for n in (c.sizes_before, c.sizes_after))
        counts = f"{c.outliers_before:,} of {before} before, {c.outliers_after:,} of {after} now"
        return [f"outliers: {counts}"]
    rows, *labels = c.largest_move
    old, new = ("no cluster" if label < 0 else f"cluster {label}" for label in labels)
    largest = f", {rows:,} of them from {old} to {new}" if rows >= MIN_MOVED else ""
    gone = f"{plural(c.outliers_gone, 'row')} {'is' if c.outliers_gone == 1 else 'are'}"
    clauses = [
        (True, f"{c.moved:,} of {plural(c.shared, 'row')} moved{largest}"),
        (c.added or c.removed, f"{plural(c.added, 'row')} added, {c.removed:,} removed"),
        (c.outliers_new, plural(c.outliers_new, "new outlier")),
        (c.outliers_gone, f"{gone} no longer outlying"),
        (c.outliers_added, f"outliers among the added rows: {c.outliers_added:,}"),
    ]
    return [clause for is_present, clause in clauses if is_present]


def describe_drift(drift: ColumnDrift) -> str:
    """Return what changed in a column; empty if nothing did."""
    parts = [drift.note] if drift.note else []
    if drift.shift:
        parts.append(
            f"median {_number(drift.median_before)} before, {_number(drift.median_after)} now "
            f"({drift.shift:+.2g} SD)"
        )
    parts += [
        f"'{quote(value, 24)}' {_percent(before)} before, {_percent(after)} now"
        for value, before, after in drift.changed
    ]
    if drift.new_values:
        values = list(drift.new_values)
        parts.append(f"{plural(len(values), 'new value')}: {quote_list(values, MAX_LISTED)}")
    if drift.missing_before != drift.missing_after:
        shares = _percent(drift.missing_before), _percent(drift.missing_after)
        parts.append(f"missing {shares[0]} before, {shares[1]} now")
    if parts and drift.is_chance:
        parts.append("not statistically significant")
    return "; ".join(parts)


def summarize_drift(drift: Sequence[ColumnDrift]) -> str:
    """Return which columns drifted, in one sentence."""
    significant = [column for column in drift if not column.is_chance]
    drifted = [column for column in significant if column.drift != "none"]
    fresh = [column.column for column in significant if column.new_values]
    new_values = f"; new values in {quote_list(fresh)}" if fresh else ""
    total = plural(len(drift), "column")
    if not significant:
        return f"no statistically significant drift in {total}."
    if not drifted:
        return f"{len(significant):,} of {total} drifted slightly{new_values}."
    parts = [
        f"{quote_list(columns)} {adverb}"
        for grade, adverb in (("strong", "strongly"), ("some", "somewhat"))
        if (columns := [column.column for column in drifted if column.drift == grade])
    ]
    return f"{len(drifted):,} of {total} drifted: {', '.join(parts)}{new_values}."


def _clusters(labels: Sequence[int], *verb: str) -> str:
    """Return the labels, and a verb in the singular or plural."""
    words = ["clusters" if len(labels) > 1 else "cluster", _list(labels)]
    return " ".join([*words, *verb[len(labels) > 1 :][:1]])


def _list(labels: Sequence[int]) -> str:
    return join_words([str(label) for label in labels])


def _number(value: float | None) -> str:
    return "none" if value is None or math.isnan(value) else f"{value:,.4g}"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share in (0, 1) or 0.01 <= share <= 0.99 else f"{share:.2%}"
