"""Usual ranges of every column, over all typical rows and those of each cluster."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.rows import lower_quantile
from softkern.tables.explain.densities import lower_medians
from softkern.tables.explain.row_view import RowView

INNER = (0.05, 0.95)  # quantiles between which values are usual
FAR = 0.5  # widths of the usual range beyond it from which a value is far out
HALF = (0.25, 0.5, 0.75)
TAILS = 2.44  # distance of the 5 % quantile of a normal from its median, in quartile distances
NEAR_ROWS = 0.05  # share of the rows that are near a value
FEWEST_NEAR = 30
NORMAL_MEDIAN = 0.6745  # median distance from the middle of a normal column, in deviations
LEAST_SPREAD = 0.01  # least spread of a column within clusters, in units of that of all rows


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

    def __init__(
        self,
        rows: RowView,
        weight: Array,
        labels: NDArray[np.int64],
        sample: NDArray[np.intp],
        mass: Array,
    ) -> None:
        self._rows, self._weight, self._labels, self._sample = rows, weight, labels, sample
        values, labels = rows.values[sample], labels[sample]
        self.medians = {  # medians of every cluster, (d,)
            int(g): lower_medians(values[labels == g], mass[labels == g]) for g in np.unique(labels)
        }
        self.within = _spread_within(values, labels, mass, self.medians)
        self.range = cache(self._range)

    def groups(self, cluster: int) -> tuple[int | None, ...]:
        """Return with whom a row is compared: all rows (None), and those of its cluster."""
        return (None, cluster) if len(self.medians) > 1 and cluster in self.medians else (None,)

    def _range(self, column: int, cluster: int | None = None) -> UsualRange:
        """Return the range of the inner nine tenths of all rows, or of those of a cluster."""
        is_own = self._labels == cluster
        return self._of(slice(None) if cluster is None else is_own, column)

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
        rows = self._sample
        if cluster is not None:
            rows = rows[self._labels[rows] == cluster]
        distance = np.abs(self._rows.values[rows, other] - scaled)
        count = min(max(FEWEST_NEAR, int(NEAR_ROWS * len(rows))), len(rows))
        near = rows[distance <= np.partition(distance, count - 1)[count - 1]]
        own, (low, middle, high) = self._quantiles(near, column, HALF)
        if low == high:
            return self._of(near, column)
        tails = middle - TAILS * (middle - low), middle + TAILS * (high - middle)
        return UsualRange(own[0], own[2], *tails)

    def _of(self, rows: Array | slice, column: int) -> UsualRange:
        own, scaled = self._quantiles(rows, column, INNER)
        return UsualRange(*own, *scaled)

    def _quantiles(
        self, rows: Array | slice, column: int, shares: tuple[float, ...]
    ) -> list[list[float]]:
        """Return quantiles of a column in its own units and on the model's scale."""
        return [
            lower_quantile(table[rows, column], self._weight[rows], shares).tolist()
            for table in (self._rows.own, self._rows.values)
        ]


def _spread_within(values: Array, labels: Array, weight: Array, medians: dict[int, Array]) -> Array:
    """Return the usual distance of a column from its cluster's median, never 0, (d,)."""
    off = np.abs(values - np.stack([medians[int(g)] for g in labels]))
    within = lower_medians(off, weight) / NORMAL_MEDIAN
    spread = np.abs(values - lower_medians(values, weight)).mean(axis=0)
    floor = np.where(spread > 0, LEAST_SPREAD * spread, 1.0)
    return np.asarray(np.maximum(within, floor))
