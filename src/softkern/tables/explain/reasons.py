"""The columns that explain a row, and the words for them.

A value beyond the usual range is said as such, against all rows or against its cluster. Where the
values are usual, each by itself, the two columns that disagree are named. A row in between is
explained by the columns that pull it to either cluster. Called by `softkern.tables.explain.points`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from softkern._utils.typing import Array
from softkern.tables.explain.attribution import Named
from softkern.tables.explain.densities import lower_medians
from softkern.tables.explain.reference import FAR, Range, Usual
from softkern.tables.explain.row_view import RowView
from softkern.tables.text import joined

__all__ = ["Cause", "Found", "Reasons"]

HALF_WAY = 0.25  # of the way between two clusters, on both sides of its middle
DIFFERING = 1.0  # spreads that two clusters lie apart in a column that tells them apart
NORMAL_MEDIAN = 0.6745  # of the distances from the middle, in standard deviations
LEAST_SPREAD = 0.01  # of a column within clusters, in units of that of all rows


@dataclass(frozen=True)
class Cause:
    """A column that explains a row, what is usual in it, and its share."""

    column: int
    usual: Range
    share: float


@dataclass(frozen=True)
class Found:
    """An explanation."""

    causes: list[Cause]
    words: str


class Reasons:
    """Explanations of rows by what is usual in a table.

    Parameters
    ----------
    usual : Usual
    values : array of shape (n, d)
        Typical rows as the model sees them.
    weight, labels : arrays of shape (n,)
    """

    def __init__(self, usual: Usual, values: Array, weight: Array, labels: Array) -> None:
        self.usual = usual
        self._medians = {
            int(g): lower_medians(values[labels == g], weight[labels == g])
            for g in np.unique(labels)
        }
        self._is_one = len(self._medians) < 2
        self._within = _within(values, labels, weight, self._medians)

    def has(self, cluster: int) -> bool:
        """Whether there are typical rows of a cluster."""
        return cluster in self._medians

    # An outlier

    def outlier(self, rows: RowView, i: int, named: Named, cluster: int, most: int) -> Found:
        """Why row i is far out, by the columns that make it so, in the nearest cluster."""
        columns, told = list(named.columns), dict[int, tuple[Range, str]]()
        joint = None
        if not self.is_far(rows.values[i, columns[0]], columns[0], cluster):
            joint = self._disagreement(rows, i, cluster, columns[0], named.against)
            if joint is None and named.partner is not None:
                columns = list(dict.fromkeys([columns[0], named.partner, *columns[1:]]))
        said = []
        if joint is not None:
            told = {joint[0]: (joint[2], ""), joint[1]: (self.usual.range(joint[1]), "")}
            columns = list(dict.fromkeys([*joint[:2], *columns]))
            said = [self._joint_words(rows, i, *joint)]
        columns = columns[: max(most, len(told))]
        rest = [j for j in columns if j not in told]
        told |= {j: self._told(rows, i, j, cluster) for j in rest}
        inside = [j for j in rest if told[j][0].beyond(rows.values[i, j]) == 0]
        said += [self._say(rows, i, j, *told[j]) for j in rest if j not in inside]
        if inside:
            words = _together(
                [f"{rows.name(j)} {rows.format_value(i, j)}" for j in inside], len(rows.names) == 1
            )
            said.insert(0 if inside[0] == columns[0] else len(said), words)
        shares = np.maximum(named.parts, 0)
        shares = shares / (shares.sum() or 1.0)
        causes = [Cause(j, told[j][0], float(shares[j])) for j in columns[:most]]
        return Found(causes, "; ".join(said))

    def _told(self, rows: RowView, i: int, j: int, cluster: int) -> tuple[Range, str]:
        """The usual range that says more of a value, of all rows or of a cluster, and of which."""
        every = self.usual.range(j)
        if every.beyond(rows.values[i, j]) > 0 or self._is_one:
            return every, ""
        own = self.usual.range(j, cluster) if self.has(cluster) else every
        if own.beyond(rows.values[i, j]) > 0:
            return own, f" in cluster {cluster}"
        return every, ""

    @staticmethod
    def _say(rows: RowView, i: int, j: int, usual: Range, where: str) -> str:
        usually = rows.format_range(j, usual.low, usual.high)
        return f"{rows.name(j)} {rows.format_value(i, j)}, usual {usually}{where}"

    def _disagreement(
        self, rows: RowView, i: int, cluster: int, first: int, against: Sequence[int]
    ) -> tuple[int, int, Range] | None:
        """Two columns, each usual by itself, of which one is unusual for a row with the other."""
        x = rows.values[i]
        within = (None,) if self._is_one or not self.has(cluster) else (cluster, None)
        found, least = None, FAR
        for j, other in [(first, k) for k in against] + [(k, first) for k in against[:1]]:
            for group in within:
                usual = self.usual.given(j, other, x[other], group)
                beyond = usual.beyond(x[j])
                if beyond >= least and beyond > 2 * self.usual.range(j, group).beyond(x[j]):
                    found, least = (j, other, usual), beyond
        return found

    def is_far(self, x: float, j: int, cluster: int) -> bool:
        """Whether a value is far out by itself, among all rows or in its cluster."""
        if self.usual.range(j).beyond(x) > FAR:
            return True
        return self.has(cluster) and self.usual.range(j, cluster).beyond(x) > FAR

    @staticmethod
    def _joint_words(rows: RowView, i: int, j: int, other: int, usual: Range) -> str:
        a, b = rows.name(j), rows.name(other)
        usually = rows.format_range(j, usual.low, usual.high)
        values = f"{a} {rows.format_value(i, j)} and {b} {rows.format_value(i, other)}"
        return f"{values} do not go together: with such {b}, {a} is usually {usually}"

    # A row in between

    def between(self, rows: RowView, i: int, a: int, b: int, most: int) -> Found:
        """Why row i lies between clusters a and b."""
        x, ma, mb = rows.values[i], self._medians[a], self._medians[b]
        apart = (mb - ma) / self._within
        place = np.where(apart != 0, (x - ma) / np.where(mb == ma, 1.0, mb - ma), 0.5)
        # log density ratio of the two clusters in each column, of one width for both
        pull = apart**2 * (place - 0.5)
        tells = np.abs(apart) >= min(DIFFERING, np.abs(apart).max())
        is_half = np.abs(place - 0.5) <= HALF_WAY
        order = np.argsort(-np.abs(pull) * tells, kind="stable").tolist()
        to_a = [j for j in order if tells[j] and place[j] < 0.5 and not is_half[j]]
        to_b = [j for j in order if tells[j] and place[j] > 0.5 and not is_half[j]]
        half = [
            j for j in np.argsort(-np.abs(apart), kind="stable").tolist() if tells[j] and is_half[j]
        ]
        chosen = [*to_a[:1], *to_b[:1], *half[:1], *to_a[1:2], *to_b[1:2], *half[1:]][:most]
        weight = np.where(is_half, apart**2 / 4, np.abs(pull)) * tells
        shares = weight / (weight.sum() or 1.0)
        causes = [
            Cause(j, self.usual.range(j, b if j in to_b else a), float(shares[j])) for j in chosen
        ]
        words = []
        for lead, side in ((f"to {a} by", to_a), (f"to {b} by", to_b), ("half way in", half)):
            said = [self._side_words(rows, i, j, a, b) for j in chosen if j in side]
            words += [f"{lead} {joined(said)}"] if said else []
        return Found(causes, f"between clusters {a} and {b}: {'; '.join(words)}")

    def _side_words(self, rows: RowView, i: int, j: int, a: int, b: int) -> str:
        ranges = (self.usual.range(j, a), self.usual.range(j, b))
        first, second = (rows.format_range(j, usual.low, usual.high) for usual in ranges)
        return f"{rows.name(j)} {rows.format_value(i, j)} ({first} in {a}, {second} in {b})"


def _together(said: Sequence[str], is_alone: bool) -> str:
    """Of values that are usual, each by itself; the only column's lies in a gap, or at the edge."""
    if is_alone:
        return f"{said[0]}, which few rows have"
    if len(said) == 1:
        return f"{said[0]} is unusual beside the other columns, not by itself"
    return f"{joined(said)} are unusual together, none by itself"


def _within(values: Array, labels: Array, weight: Array, medians: dict[int, Array]) -> Array:
    """The usual distance of a column from the middle of its cluster; never 0, (d,)."""
    off = np.abs(values - np.stack([medians[int(g)] for g in labels]))
    within = lower_medians(off, weight) / NORMAL_MEDIAN
    spread = np.abs(values - lower_medians(values, weight)).mean(axis=0)
    floor = np.where(spread > 0, LEAST_SPREAD * spread, 1.0)
    return np.asarray(np.maximum(within, floor))
