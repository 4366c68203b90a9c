"""Usual ranges of columns, and why a row is an outlier or lies between clusters.

Ranges are those of the typical rows, and of those of each cluster. Reasons are data that
`softkern.tables.text` renders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.rows import Rows, lower_quantile
from softkern.tables.explain.attribution import ColumnAttribution
from softkern.tables.explain.densities import lower_medians
from softkern.tables.explain.row_view import RowView

LEARNED_ROWS = 10_000  # typical rows for medians, spreads and covariances
INNER = (0.05, 0.95)  # quantiles between which values are usual
FAR = 0.5  # widths of the usual range beyond it from which a value is far out
HALF = (0.25, 0.5, 0.75)
TAILS = 2.44  # distance of the 5 % quantile of a normal from its median, in quartile distances
NEAR_ROWS = 0.05  # share of the rows that are near a value
FEWEST_NEAR = 30
NORMAL_MEDIAN = 0.6745  # median distance from the middle of a normal column, in deviations
LEAST_SPREAD = 0.01  # least spread of a column within clusters, in units of that of all rows
HALFWAY = 0.25  # share of the way between two clusters, on both sides of its middle
DIFFERING = 1.0  # spreads between two clusters in a column that separates them


class UsualRange(NamedTuple):
    """The usual range of a column, in its own units and on the model's scale."""

    low: float
    high: float
    scaled_low: float
    scaled_high: float

    def beyond(self, scaled: float) -> float:
        """Return how far outside a value lies, in widths of the range: 0 inside."""
        off = max(self.scaled_low - scaled, scaled - self.scaled_high, 0.0)
        width = self.scaled_high - self.scaled_low
        return off / width if width > 0 else np.inf if off > 0 else 0.0


class UsualValues:
    """Usual ranges, medians and spreads of typical rows with their weights and clusters, (n,).

    Medians and spreads, and rows near a value, are those of a `sample` with its weights `mass`.
    """

    def __init__(self, rows: RowView, weight: Array, labels: NDArray[np.int64]) -> None:
        self._rows, self._weight, self._labels = rows, weight, labels
        self.sample, mass = Rows(rows.values, weight).sample(LEARNED_ROWS)
        self.mass, values, labels = mass, rows.values[self.sample], labels[self.sample]
        self.medians = {  # medians of every cluster, (d,)
            int(g): lower_medians(values[labels == g], mass[labels == g]) for g in np.unique(labels)
        }
        # usual distances of every column from the median of a row's cluster, never 0, (d,)
        off = np.abs(values - np.stack([self.medians[int(g)] for g in labels]))
        spread = np.abs(values - lower_medians(values, mass)).mean(axis=0)
        floor = np.where(spread > 0, LEAST_SPREAD * spread, 1.0)
        self.within = np.maximum(lower_medians(off, mass) / NORMAL_MEDIAN, floor)
        self.range = cache(self._range)

    def groups(self, cluster: int) -> tuple[int | None, ...]:
        """Return with whom a row is compared: all rows (None), and those of its cluster."""
        return (None, cluster) if len(self.medians) > 1 and cluster in self.medians else (None,)

    def _range(self, column: int, cluster: int | None = None) -> UsualRange:
        """Return the range of the inner nine tenths of all rows, or of those of a cluster."""
        rows = slice(None) if cluster is None else self._labels == cluster
        return UsualRange(*self._quantiles(rows, column, INNER))

    def is_far(self, scaled: float, column: int, cluster: int) -> bool:
        """Return whether a value alone is far out, among all rows or in its cluster."""
        ranges = (self.range(column, group) for group in self.groups(cluster))
        return any(usual.beyond(scaled) > FAR for usual in ranges)

    def given(
        self, column: int, other: int, scaled: float, cluster: int | None = None
    ) -> UsualRange:
        """Return the range of a column over rows with about a value in another column.

        These are few, and some may be outliers too: the range is that of their inner half, and
        its scaled ends lie where nine tenths of a normal column would end.
        """
        rows = self.sample
        if cluster is not None:
            rows = rows[self._labels[rows] == cluster]
        distance = np.abs(self._rows.values[rows, other] - scaled)
        count = min(max(FEWEST_NEAR, int(NEAR_ROWS * len(rows))), len(rows))
        near = rows[distance <= np.partition(distance, count - 1)[count - 1]]
        own_low, _, own_high, low, middle, high = self._quantiles(near, column, HALF)
        if low == high:
            return UsualRange(*self._quantiles(near, column, INNER))
        tails = middle - TAILS * (middle - low), middle + TAILS * (high - middle)
        return UsualRange(own_low, own_high, *tails)

    def _quantiles(self, rows: Array | slice, column: int, shares: Sequence[float]) -> list[float]:
        """Return quantiles of a column in its own units, followed by those on the model's scale."""
        return [
            quantile
            for table in (self._rows.own, self._rows.values)
            for quantile in lower_quantile(table[rows, column], self._weight[rows], shares).tolist()
        ]


# Reasons

Cause = tuple[int, UsualRange, float]  # a column, its usual range, its share among all columns


@dataclass(frozen=True)
class Reason:
    """A statement about columns of a row.

    - "outside": a value outside its usual range, of all rows or of a cluster
    - "combination": two values, usual alone; the range is that of the first near the second
    - "together": values that are usual alone, and unusual together
    - "between": values nearer to one of two clusters, or halfway (None); the ranges of all columns
      in the first one, and in the second one
    """

    kind: Literal["outside", "combination", "together", "between"]
    columns: tuple[int, ...]
    ranges: Sequence[UsualRange] = ()
    cluster: int | None = None
    clusters: Sequence[int] = ()


def explain_outlier(
    typical: UsualValues, x: Array, attribution: ColumnAttribution, is_flagged: bool, most: int
) -> tuple[list[Cause], list[Reason]]:
    """Explain a row x, (d,), if it is an outlier or a column stands out."""
    columns = list(attribution.columns)
    if not (is_flagged or attribution.is_far or attribution.parts[columns[0]] >= 1):
        return [], []
    usual: dict[int, UsualRange] = {}
    reasons: list[Reason] = []
    combination = _combination(typical, x, attribution)
    if combination is not None:
        reasons.append(combination)
        columns = [*combination.columns, *columns]
        usual = {columns[0]: combination.ranges[0], columns[1]: typical.range(columns[1])}
    elif attribution.partner is not None:
        columns.insert(1, attribution.partner)
    columns = list(dict.fromkeys(columns))[: max(most, len(usual))]
    inside = []
    for j in columns:
        if j in usual:
            continue
        for group in typical.groups(attribution.cluster):
            usual[j] = typical.range(j, group)
            if usual[j].beyond(x[j]) > 0:
                reasons.append(Reason("outside", (j,), (usual[j],), group))
                break
        else:  # neither outside the range of all rows nor outside that of the cluster
            usual[j] = typical.range(j)
            inside.append(j)
    if inside:
        place = 0 if inside[0] == columns[0] else len(reasons)
        reasons.insert(place, Reason("together", tuple(inside)))
    shares = np.maximum(attribution.parts, 0)
    shares = shares / (shares.sum() or 1.0)
    return [(j, usual[j], float(shares[j])) for j in columns[:most]], reasons


def _combination(typical: UsualValues, x: Array, found: ColumnAttribution) -> Reason | None:
    """Find two columns, usual alone, where one is most unusual given the other."""
    first, against, best, least = found.columns[0], found.against, None, FAR
    for j, other in [(first, k) for k in against] + [(k, first) for k in against[:1]]:
        for group in reversed(typical.groups(found.cluster)):
            usual = typical.given(j, other, x[other], group)
            beyond = usual.beyond(x[j])
            if beyond >= least and beyond > 2 * typical.range(j, group).beyond(x[j]):
                best, least = Reason("combination", (j, other), (usual,)), beyond
    return best


def explain_between(
    typical: UsualValues, x: Array, clusters: tuple[int, int], most: int
) -> tuple[list[Cause], list[Reason]]:
    """Explain a row x, (d,), between two clusters by the columns that separate these."""
    a, b = clusters
    ma, mb = typical.medians[a], typical.medians[b]
    apart = (mb - ma) / typical.within
    place = np.where(apart != 0, (x - ma) / np.where(mb == ma, 1.0, mb - ma), 0.5)
    # log density ratio of the two clusters in each column, with one width for both
    pull = apart**2 * (place - 0.5)
    separates = np.abs(apart) >= min(DIFFERING, np.abs(apart).max())
    is_half = np.abs(place - 0.5) <= HALFWAY
    by_pull = np.argsort(-np.abs(pull) * separates, kind="stable").tolist()
    by_gap = np.argsort(-np.abs(apart), kind="stable").tolist()
    to_a = [j for j in by_pull if separates[j] and place[j] < 0.5 and not is_half[j]]
    to_b = [j for j in by_pull if separates[j] and place[j] > 0.5 and not is_half[j]]
    half = [j for j in by_gap if separates[j] and is_half[j]]
    chosen = [*to_a[:1], *to_b[:1], *half[:1], *to_a[1:2], *to_b[1:2], *half[1:]][:most]
    weight = np.where(is_half, apart**2 / 4, np.abs(pull)) * separates
    shares = weight / (weight.sum() or 1.0)
    ranges = {j: (typical.range(j, a), typical.range(j, b)) for j in chosen}
    causes = [(j, ranges[j][j in to_b], float(shares[j])) for j in chosen]
    reasons: list[Reason] = []
    for nearer, near in ((a, to_a), (b, to_b), (None, half)):
        columns = tuple(j for j in chosen if j in near)
        if columns:
            both = [ranges[j][side] for side in (0, 1) for j in columns]
            reasons.append(Reason("between", columns, both, nearer, clusters))
    return causes, reasons
