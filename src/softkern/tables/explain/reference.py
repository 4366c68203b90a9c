"""Usual ranges of every column, of all typical rows and of those of one cluster."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.rows import lower_quantile
from softkern.tables.explain.row_view import RowView

__all__ = ["FAR", "ReferenceRanges", "UsualRange"]

INNER = (0.05, 0.95)  # quantiles between which values are usual
FAR = 0.5  # widths of the usual range beyond it from which a value is far out
HALF = (0.25, 0.5, 0.75)
TAILS = 2.44  # from the median of a normal column to its 5 % quantile, in steps to its quartile
NEAR_ROWS = 0.05  # share of the rows that are near a value
FEWEST_NEAR = 30


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


class ReferenceRanges:
    """Ranges of the inner nine tenths of typical rows, computed when first needed.

    A `sample` of the rows is searched for values near a given one.
    """

    def __init__(
        self, rows: RowView, weight: Array, labels: NDArray[np.int64], sample: Any = slice(None)
    ) -> None:
        self._rows, self._weight, self._labels = rows, weight, labels
        self._sample = np.arange(len(rows))[sample]
        self.range = cache(self._range)

    def _range(self, column: int, cluster: int | None = None) -> UsualRange:
        """Return the range of a column over all rows, or those of a cluster."""
        every = np.arange(len(self._rows))
        return self._of(every if cluster is None else every[self._labels == cluster], column)

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
        own, values = (
            lower_quantile(table[near, column], self._weight[near], HALF).tolist()
            for table in (self._rows.own, self._rows.values)
        )
        low, middle, high = values
        if low == high:
            return self._of(near, column)
        tails = middle - TAILS * (middle - low), middle + TAILS * (high - middle)
        return UsualRange(own[0], own[2], *tails)

    def _of(self, rows: Array, column: int) -> UsualRange:
        own, scaled = (
            lower_quantile(table[rows, column], self._weight[rows], INNER).tolist()
            for table in (self._rows.own, self._rows.values)
        )
        return UsualRange(*own, *scaled)
