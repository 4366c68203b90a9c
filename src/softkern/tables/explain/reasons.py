"""Why a row is an outlier or lies between clusters, as data that `softkern.tables.text` renders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from softkern._utils.typing import Array
from softkern.tables.explain.attribution import ColumnAttribution
from softkern.tables.explain.densities import lower_medians
from softkern.tables.explain.reference import FAR, ReferenceRanges, UsualRange

__all__ = [
    "Between",
    "Cause",
    "Combination",
    "Explanation",
    "Outside",
    "Reason",
    "ReasonFinder",
    "Together",
]

HALFWAY = 0.25  # of the way between two clusters, on both sides of its middle
DIFFERING = 1.0  # spreads between two clusters in a column that separates them
NORMAL_MEDIAN = 0.6745  # median distance from the middle of a normal column, in deviations
LEAST_SPREAD = 0.01  # of a column within clusters, in units of that of all rows


@dataclass(frozen=True)
class Outside:
    """A value outside the usual range, of all rows or of a cluster."""

    kind: ClassVar[str] = "outside"
    column: int
    usual: UsualRange
    cluster: int | None = None


@dataclass(frozen=True)
class Combination:
    """Two values, usual alone. `usual` is the range of `column` near the value of `given`."""

    kind: ClassVar[str] = "combination"
    column: int
    given: int
    usual: UsualRange


@dataclass(frozen=True)
class Together:
    """Values that are usual alone, and unusual together."""

    kind: ClassVar[str] = "together"
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Between:
    """Columns in which a row is nearer to one of two clusters, or halfway (None)."""

    kind: ClassVar[str] = "between"
    clusters: tuple[int, int]
    nearer: int | None
    columns: tuple[int, ...]
    ranges: tuple[tuple[UsualRange, UsualRange], ...]  # of every column in both clusters


Reason = Outside | Combination | Together | Between


@dataclass(frozen=True)
class Cause:
    """A column that explains a row, its usual range, and its share among all columns."""

    column: int
    usual: UsualRange
    share: float


@dataclass(frozen=True)
class Explanation:
    """Columns that explain a row, and reasons in terms of them, none if no column stands out."""

    causes: list[Cause] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)


class ReasonFinder:
    """Find the reasons of rows by the ranges of typical rows.

    Parameters
    ----------
    ranges : ReferenceRanges
    values : array of shape (n, d)
        Typical rows on the model's scale.
    weight, labels : arrays of shape (n,)
    """

    def __init__(
        self, ranges: ReferenceRanges, values: Array, weight: Array, labels: Array
    ) -> None:
        self._ranges = ranges
        self._medians = {
            int(g): lower_medians(values[labels == g], weight[labels == g])
            for g in np.unique(labels)
        }
        self._is_one = len(self._medians) < 2
        self._within = _spread_within(values, labels, weight, self._medians)

    def has_cluster(self, cluster: int) -> bool:
        """Return whether there are typical rows of a cluster."""
        return cluster in self._medians

    def is_far(self, scaled: float, j: int, cluster: int) -> bool:
        """Return whether a value alone is far out, among all rows or in its cluster."""
        if self._ranges.range(j).beyond(scaled) > FAR:
            return True
        return self.has_cluster(cluster) and self._ranges.range(j, cluster).beyond(scaled) > FAR

    def outlier(
        self, x: Array, attribution: ColumnAttribution, cluster: int, most: int
    ) -> Explanation:
        """Explain an outlier x, (d,), of a nearest cluster, by at most so many columns."""
        columns = list(attribution.columns)
        combination = None
        if not self.is_far(x[columns[0]], columns[0], cluster):
            combination = self._combination(x, cluster, columns[0], attribution.against)
            if combination is not None:
                columns = [combination.column, combination.given, *columns]
            elif attribution.partner is not None:
                columns.insert(1, attribution.partner)
        columns = list(dict.fromkeys(columns))
        usual: dict[int, UsualRange] = {}
        reasons: list[Reason] = []
        if combination is not None:
            usual = {
                combination.column: combination.usual,
                combination.given: self._ranges.range(combination.given),
            }
            reasons.append(combination)
        columns = columns[: max(most, len(usual))]
        rest = {j: self._outside(x[j], j, cluster) for j in columns if j not in usual}
        usual |= {j: reason.usual for j, reason in rest.items()}
        inside = tuple(j for j, reason in rest.items() if reason.usual.beyond(x[j]) == 0)
        reasons += [reason for j, reason in rest.items() if j not in inside]
        if inside:
            reasons.insert(0 if inside[0] == columns[0] else len(reasons), Together(inside))
        shares = np.maximum(attribution.parts, 0)
        shares = shares / (shares.sum() or 1.0)
        causes = [Cause(j, usual[j], float(shares[j])) for j in columns[:most]]
        return Explanation(causes, reasons)

    def _outside(self, scaled: float, j: int, cluster: int) -> Outside:
        """Return the range that shows more of a value, that of all rows or of a cluster."""
        every = self._ranges.range(j)
        if every.beyond(scaled) == 0 and not self._is_one and self.has_cluster(cluster):
            own = self._ranges.range(j, cluster)
            if own.beyond(scaled) > 0:
                return Outside(j, own, cluster)
        return Outside(j, every)

    def _combination(
        self, x: Array, cluster: int, first: int, against: Sequence[int]
    ) -> Combination | None:
        """Find two columns, usual alone, where one is most unusual given the other."""
        clusters = (None,) if self._is_one or not self.has_cluster(cluster) else (cluster, None)
        best, least = None, FAR
        for j, other in [(first, k) for k in against] + [(k, first) for k in against[:1]]:
            for group in clusters:
                usual = self._ranges.given(j, other, x[other], group)
                beyond = usual.beyond(x[j])
                if beyond >= least and beyond > 2 * self._ranges.range(j, group).beyond(x[j]):
                    best, least = Combination(j, other, usual), beyond
        return best

    def between(self, x: Array, clusters: tuple[int, int], most: int) -> Explanation:
        """Explain a row x, (d,), between two clusters by the columns that separate these."""
        a, b = clusters
        ma, mb = self._medians[a], self._medians[b]
        apart = (mb - ma) / self._within
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
        ranges = {j: (self._ranges.range(j, a), self._ranges.range(j, b)) for j in chosen}
        causes = [Cause(j, ranges[j][j in to_b], float(shares[j])) for j in chosen]
        reasons: list[Reason] = []
        for nearer, side in ((a, to_a), (b, to_b), (None, half)):
            columns = tuple(j for j in chosen if j in side)
            if columns:
                both = tuple(ranges[j] for j in columns)
                reasons.append(Between((a, b), nearer, columns, both))
        return Explanation(causes, reasons)


def _spread_within(values: Array, labels: Array, weight: Array, medians: dict[int, Array]) -> Array:
    """Return the usual distance of a column from its cluster's median, never 0, (d,)."""
    off = np.abs(values - np.stack([medians[int(g)] for g in labels]))
    within = lower_medians(off, weight) / NORMAL_MEDIAN
    spread = np.abs(values - lower_medians(values, weight)).mean(axis=0)
    floor = np.where(spread > 0, LEAST_SPREAD * spread, 1.0)
    return np.asarray(np.maximum(within, floor))
