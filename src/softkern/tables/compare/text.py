"""Sentences about the differences between two results and between two tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

from softkern._utils.text import plural, quote, quote_list
from softkern.tables.compare.drift import MAX_LISTED, ColumnDrift
from softkern.tables.compare.rows import PointsComparison
from softkern.tables.text import join_words

__all__ = ["describe_drift", "summarize_drift", "summarize_points"]

MIN_MOVED = 5  # rows that moved together and deserve a clause
MAX_CHANGES = 6  # merged, split, gone and new clusters named in the first sentence


def summarize_points(comparison: PointsComparison) -> str:
    """Return the differences between two results in one sentence.

    Examples
    --------
    >>> import pandas as pd
    >>> from softkern.tables.compare import compare_points
    >>> before = pd.DataFrame({"row": range(1, 9), "label": [0, 0, 0, 0, 1, 1, 2, 2]})
    >>> before = before.assign(membership=1.0, is_outlier=False, outlier_score=0.0)
    >>> after = before.assign(label=[0, 0, 0, 1, 1, 1, 1, 1])
    >>> summarize_points(compare_points(before, after))
    '2 clusters now, 3 before: clusters 1 and 2 merged into 1; 1 of 8 rows moved.'
    """
    old, new = (
        sum(label >= 0 for label in sizes)
        for sizes in (comparison.sizes_before, comparison.sizes_after)
    )
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
        verb = "has" if len(match.gone) == 1 else "have"
        changes.append(f"{_clusters(match.gone)} {verb} no rows now")
    elif match.gone:
        changes.append(f"{_clusters(match.gone)} {_be(match.gone)} gone")
    if match.new:
        changes.append(f"{_clusters(match.new)} {_be(match.new)} new")
    hidden = len(changes) - MAX_CHANGES
    more = [f"and {plural(hidden, 'more change')}"] if hidden > 0 else []
    return ", ".join(changes[:MAX_CHANGES] + more)


def _row_changes(comparison: PointsComparison) -> list[str]:
    if comparison.key is None:
        before, after = (
            f"{outliers:,} of {plural(sum(sizes.values()), 'row')}"
            for outliers, sizes in (
                (comparison.outliers_before, comparison.sizes_before),
                (comparison.outliers_after, comparison.sizes_after),
            )
        )
        return [f"outliers: {before} before, {after} now"]
    parts = [f"{comparison.moved:,} of {plural(comparison.shared, 'row')} moved"]
    rows, *labels = comparison.largest_move
    if rows >= MIN_MOVED:
        old, new = ("no cluster" if label < 0 else f"cluster {label}" for label in labels)
        parts[0] += f", {rows:,} of them from {old} to {new}"
    if comparison.added or comparison.removed:
        parts.append(f"{plural(comparison.added, 'row')} added, {comparison.removed:,} removed")
    if comparison.outliers_new:
        parts.append(plural(comparison.outliers_new, "new outlier"))
    if comparison.outliers_gone:
        verb = "is" if comparison.outliers_gone == 1 else "are"
        parts.append(f"{plural(comparison.outliers_gone, 'row')} {verb} no longer outlying")
    if comparison.outliers_added:
        parts.append(f"outliers among the added rows: {comparison.outliers_added:,}")
    return parts


def describe_drift(drift: ColumnDrift) -> str:
    """Return what changed in a column; empty if nothing did.

    Examples
    --------
    >>> describe_drift(ColumnDrift("age", "number", 0.4, 0.001, 0.0, 0.25))
    'missing 0% before, 25% now'
    """
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
    """Return which columns drifted, in one sentence.

    Examples
    --------
    >>> summarize_drift([ColumnDrift("age", "number", 0.4, 0.001, 0.0, 0.25)])
    "1 of 1 column drifted: 'age' strongly."
    """
    significant = [column for column in drift if not column.is_chance]
    drifted = [column for column in significant if column.drift != "none"]
    fresh = [column.column for column in significant if column.new_values]
    new_values = f"; new values in {quote_list(fresh)}" if fresh else ""
    total = plural(len(drift), "column")
    if not significant:
        return f"no statistically significant drift in {total}."
    if not drifted:
        return f"{len(significant):,} of {total} drifted slightly{new_values}."
    grades = {"strong": "strongly", "some": "somewhat"}
    parts = [
        f"{quote_list(columns)} {adverb}"
        for grade, adverb in grades.items()
        if (columns := [column.column for column in drifted if column.drift == grade])
    ]
    return f"{len(drifted):,} of {total} drifted: {', '.join(parts)}{new_values}."


def _clusters(labels: Sequence[int]) -> str:
    return f"cluster{'s' * (len(labels) > 1)} {_list(labels)}"


def _be(labels: Sequence[int]) -> str:
    return "is" if len(labels) == 1 else "are"


def _list(labels: Sequence[int]) -> str:
    return join_words([str(label) for label in labels])


def _number(value: float | None) -> str:
    return "none" if value is None or math.isnan(value) else f"{value:,.4g}"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share in (0, 1) or 0.01 <= share <= 0.99 else f"{share:.2%}"
