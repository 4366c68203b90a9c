"""What is usual in every column, of all typical rows and of those of one cluster."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.rows import lower_quantiles
from softkern.tables.explain.row_view import RowView

__all__ = ["Range", "Usual"]

INNER = (0.05, 0.95)  # what lies between these shares of the rows is usual
FAR = 0.5  # widths of the usual range beyond it, from which on a value is far out
HALF = (0.25, 0.5, 0.75)
TAILS = 2.44  # from the middle of a normal column to its inner nine tenths, in steps to its half
NEAR_ROWS = 0.05  # share of the rows that are like one in a column
FEWEST_NEAR = 30


class Range(NamedTuple):
    """The usual range of a column: in its own units, and as the model sees it."""

    low: float
    high: float
    seen_low: float
    seen_high: float

    def beyond(self, seen: float) -> float:
        """How far outside a value lies, in widths of the range: 0 inside, ∞ beyond one value."""
        off = max(self.seen_low - seen, seen - self.seen_high, 0.0)
        width = self.seen_high - self.seen_low
        return off / width if width > 0 else np.inf if off > 0 else 0.0


class Usual:
    """Ranges of the inner nine tenths of rows, each found when first asked for.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.arange(101.0)[:, None]
    >>> usual = Usual(RowView(["x"], rows, rows), np.ones(101), np.zeros(101, int))
    >>> usual.range(0)[:2]
    (5.0, 95.0)
    """

    def __init__(
        self, seen: RowView, weight: Array, labels: NDArray[np.int64], some: Any = slice(None)
    ) -> None:
        """`some` of the rows are looked at for what goes with a value of another column."""
        self.seen, self._weight, self._labels = seen, weight, labels
        self._some = np.arange(len(seen))[some]
        self.range = cache(self._range)

    def _range(self, column: int, cluster: int | None = None) -> Range:
        """Of all rows, or of those of a cluster."""
        return self._of(self._rows(cluster), column)

    def given(self, column: int, other: int, seen: float, cluster: int | None = None) -> Range:
        """Of the rows, or those of a cluster, that are most like a value of another column.

        These are few, and some may be as strange as the row itself: the range told is that of
        their inner half, and what lies beyond is counted from where nine tenths would lie.
        """
        rows = self._some
        if cluster is not None:
            rows = rows[self._labels[rows] == cluster]
        distance = np.abs(self.seen.values[rows, other] - seen)
        count = min(max(FEWEST_NEAR, int(NEAR_ROWS * len(rows))), len(rows))
        reach = np.partition(distance, count - 1)[count - 1]
        near = rows[distance <= reach]
        own, values = (
            lower_quantiles(table[near, column], self._weight[near], HALF).tolist()
            for table in (self.seen.own, self.seen.values)
        )
        low, middle, high = values
        if low == high:
            return self._of(near, column)
        tails = middle - TAILS * (middle - low), middle + TAILS * (high - middle)
        return Range(own[0], own[2], *tails)

    def _rows(self, cluster: int | None) -> NDArray[np.intp]:
        every = np.arange(len(self.seen))
        return every if cluster is None else every[self._labels == cluster]

    def _of(self, rows: Array, column: int) -> Range:
        weight = self._weight[rows]
        own, seen = (
            lower_quantiles(table[rows, column], weight, INNER).tolist()
            for table in (self.seen.own, self.seen.values)
        )
        return Range(*own, *seen)
