"""Columns that together explain an outlier.

The decrease of −log density without a column, less that for a typical row, decides which column
comes first. Two columns that are both far out mask each other, so the first is excluded and the
others are evaluated again, as long as one stands out. If the first column is usual alone, it
disagrees with another: the one without which it would be as expected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array

STANDING_OUT = 0.9  # quantile of the largest parts of typical rows, the unit of parts
# After the earlier columns are excluded, a further one is named if it is far out alone, or if only
# one typical row in a hundred has so large a part. This quantile is extrapolated from the median
# and the 90 % quantile by an exponential tail, since a few typical rows may be outliers too.
RARE = float(np.log(10) / np.log(5))
LEAST_OF_ALL = 0.05  # share of all parts from which a column that is far out alone counts
PARTNERS = 4  # columns with the largest parts, and as many that contradict the first column most:
#               candidates for its partner
LEFT = 0.5  # share of the first column's part that may remain without its partner


@dataclass
class ColumnAttribution:
    """Columns that explain an outlier, most important first, and the parts of all columns."""

    columns: list[int]
    parts: Array  # (d,), in units of what stands out, of `columns` at the time of choice
    cluster: int  # the nearest one
    is_far: bool  # whether the value of the first column alone is far out; if it is not:
    against: list[int] = field(default_factory=list)  # columns that it may disagree with
    partner: int | None = None  # the one without which it would be as expected


class CalibratedDensity:
    """Parts of a density, less those of a typical row and in units of what stands out."""

    def __init__(self, density: Any, standard: Array) -> None:
        """Calibrate a density by typical rows (m, d)."""
        self.density = density
        parts = density.parts(standard)
        self._typical = np.median(parts, axis=0)
        largest = (parts - self._typical).max(axis=1)
        middle, unit = np.quantile(largest, (0.5, STANDING_OUT)).tolist()
        self._unit = max(unit, np.finfo(float).eps)
        self.rare = 1 + RARE * (1 - middle / self._unit)  # units

    def parts(self, X: Array, excluded: NDArray[np.intp] | None = None) -> Array:
        """Return the parts of columns, (m, d), −∞ for those that are excluded, (m, s)."""
        parts = np.asarray((self.density.parts(X, excluded) - self._typical) / self._unit)
        if excluded is not None:
            np.put_along_axis(parts, excluded, -np.inf, axis=1)
        return parts


@dataclass(frozen=True)
class Attribution:
    """Find the columns that make rows outliers, by two densities of the typical rows."""

    kernel: CalibratedDensity
    normal: CalibratedDensity
    is_far: Callable[[float, int, int], bool]  # whether a value of a column and cluster is far out

    def find(self, X: Array, nearest: Array, most: int) -> list[ColumnAttribution]:
        """Return at most so many columns for each of the rows (m, d) in their nearest clusters."""
        kernel, normal = self.kernel.parts(X), self.normal.parts(X)
        # the kernel decides on values that are far out alone: under the normal density, all that
        # goes with such a column stands out too
        is_normal = normal.max(axis=1) > kernel.max(axis=1)
        for i in np.flatnonzero(is_normal):
            j = int(np.argmax(normal[i]))
            is_normal[i] = not self.is_far(X[i, j], j, nearest[i])
        found = np.empty(len(X), dtype=object)
        for density, parts, chosen in (
            (self.kernel, kernel, ~is_normal),
            (self.normal, normal, is_normal),
        ):
            found[chosen] = self._find(density, X[chosen], nearest[chosen], parts[chosen], most)
        return list(found)

    def _find(
        self, density: CalibratedDensity, X: Array, nearest: Array, parts: Array, most: int
    ) -> list[ColumnAttribution]:
        """Do the same under one density, given the parts (m, d) of all columns."""
        found = []
        for x, own, cluster in zip(X, parts, nearest.tolist(), strict=True):
            j = self._next(x, own, cluster, most)
            is_far = self.is_far(x[j], j, cluster)
            found.append(ColumnAttribution([j], own.copy(), cluster, is_far))
        least = np.maximum(1.0, LEAST_OF_ALL * np.maximum(parts, 0).sum(axis=1))
        rows = list(range(len(X)))
        while rows and len(found[rows[0]].columns) < min(most, X.shape[1]):
            excluded = np.array([found[i].columns for i in rows], dtype=np.intp)
            each_row = zip(rows, density.parts(X[rows], excluded), strict=True)
            rows = []  # those where one more column stands out
            for i, own in each_row:
                j = self._next(X[i], own, nearest[i], most)
                is_clear = own[j] >= least[i] and self.is_far(X[i, j], j, nearest[i])
                if own[j] >= density.rare or is_clear:
                    found[i].columns.append(j)
                    found[i].parts[j] = max(found[i].parts[j], own[j])
                    rows.append(i)
        self._find_disagreeing(density, X, parts, found)
        return found

    def _next(self, x: Array, parts: Array, cluster: int, most: int) -> int:
        """Return the column of the largest part, or before it one that is far out alone."""
        order = np.argsort(-parts, kind="stable")[:most].tolist()
        least = LEAST_OF_ALL * float(np.maximum(parts, 0).sum())
        far = (j for j in order if parts[j] >= least and self.is_far(x[j], j, cluster))
        return int(next(far, order[0]))

    def _find_disagreeing(
        self, density: CalibratedDensity, X: Array, parts: Array, found: list[ColumnAttribution]
    ) -> None:
        """Find columns that contradict a first one that is usual alone, and its partner."""
        rows = [i for i, one in enumerate(found) if not one.is_far]
        if X.shape[1] < 2 or not rows:
            return
        X, first = X[rows], np.array([found[i].columns[0] for i in rows], dtype=np.intp)
        each = np.stack([self.normal.density.against(X, first), parts[rows]])
        each[:, np.arange(len(rows)), first] = -np.inf
        largest = np.argsort(-each, axis=2, kind="stable")[..., : min(PARTNERS, X.shape[1] - 1)]
        others = np.hstack(list(largest))  # (m, 2k)
        left, whole = density.density.beside(X, first, others)
        best = np.argmin(left, axis=1)
        for k, i in enumerate(rows):
            found[i].against = list(dict.fromkeys(others[k].tolist()))
            if left[k, best[k]] <= LEFT * whole[k]:
                found[i].partner = int(others[k, best[k]])
