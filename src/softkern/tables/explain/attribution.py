"""Columns that together explain an outlier.

What leaving a column out takes off −log density, less what it takes off for a typical row,
decides which column comes first. Two columns that are both far out mask each other, so the first
is excluded and the others are evaluated again, as long as one stands out. If the first column is
usual alone, it disagrees with another: the one without which it would be as expected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array

__all__ = ["Attribution", "CalibratedDensity", "ColumnAttribution"]

STANDING_OUT = 0.9  # quantile of the largest parts of typical rows, the unit of parts
# A further column is named, once those before are excluded, if it is far out alone or has a part
# that one typical row in a hundred has: an exponential tail is extrapolated from its median and
# nine tenths, since a few typical rows may be outliers too.
RARE = float(np.log(10) / np.log(5))
LEAST_OF_ALL = 0.05  # share of all parts from which a column that is far out alone counts
PARTNERS = 4  # columns of the largest parts, and as many that contradict the first most, which are
#               tried as the other one of two that disagree
LEFT = 0.5  # of the first column's part at most, without the column that it disagrees with


@dataclass(frozen=True)
class ColumnAttribution:
    """Columns that explain an outlier, most important first, and the parts of all columns.

    Attributes
    ----------
    columns : list of int
    against : list of int
        Columns that the first one may disagree with, if it is not far out alone.
    partner : int or None
        The one without which it would be as expected.
    parts : array of shape (d,)
        What a column takes off, in units of what stands out, for `columns` at the time of choice.
    """

    columns: list[int]
    against: list[int]
    partner: int | None
    parts: Array


@dataclass(frozen=True)
class CalibratedDensity:
    """Parts of a density, less those of a typical row and in units of what stands out."""

    density: Any
    typical: Array  # (d,)
    unit: float
    rare: float  # units

    @classmethod
    def fit(cls, density: Any, standard: Array) -> CalibratedDensity:
        """Calibrate a density by typical rows (m, d)."""
        parts = density.parts(standard)
        typical = np.median(parts, axis=0)
        middle, unit = np.quantile((parts - typical).max(axis=1), (0.5, STANDING_OUT)).tolist()
        unit = max(unit, np.finfo(float).eps)
        return cls(density, typical, unit, 1 + RARE * (1 - middle / unit))

    def parts(self, X: Array, excluded: NDArray[np.intp] | None = None) -> Array:
        """Return the parts of columns, (m, d), −∞ for those that are excluded, (m, s)."""
        parts = np.asarray((self.density.parts(X, excluded) - self.typical) / self.unit)
        if excluded is not None:
            np.put_along_axis(parts, excluded, -np.inf, axis=1)
        return parts


class Attribution:
    """Find the columns that make rows outliers.

    Parameters
    ----------
    kernel, normal : CalibratedDensity
        Densities of the typical rows.
    is_far : callable of a value, a column and a cluster
        Whether a value alone is far out.
    """

    def __init__(
        self,
        kernel: CalibratedDensity,
        normal: CalibratedDensity,
        is_far: Callable[[float, int, int], bool],
    ) -> None:
        self._kernel, self._normal, self._is_far = kernel, normal, is_far

    def find(self, X: Array, nearest: Sequence[int], most: int) -> list[ColumnAttribution]:
        """Return at most so many columns for each of the rows (m, d) in their nearest clusters."""
        kernel, normal = self._kernel.parts(X), self._normal.parts(X)
        is_normal = normal.max(axis=1) > kernel.max(axis=1)
        for i in np.flatnonzero(is_normal).tolist():
            # the kernel decides on values that are far out alone: under the normal density, all
            # that goes with such a column stands out too
            first = int(np.argmax(normal[i]))
            is_normal[i] = not self._is_far(X[i, first], first, nearest[i])
        attributions: dict[int, ColumnAttribution] = {}
        for density, parts, chosen in (
            (self._kernel, kernel, ~is_normal),
            (self._normal, normal, is_normal),
        ):
            rows = np.flatnonzero(chosen).tolist()
            own = [nearest[i] for i in rows]
            attributions |= zip(
                rows, self._find(density, X[rows], own, parts[rows], most), strict=True
            )
        return [attributions[i] for i in range(len(X))]

    def _find(
        self, density: CalibratedDensity, X: Array, nearest: Sequence[int], parts: Array, most: int
    ) -> list[ColumnAttribution]:
        """Do the same under one density, given the parts (m, d) of all columns."""
        columns = [[self._next(X[i], parts[i], nearest[i], most)] for i in range(len(X))]
        reported, total = parts.copy(), np.maximum(parts, 0).sum(axis=1)
        is_open = np.ones(len(X), dtype=bool)
        for count in range(1, min(most, X.shape[1])):
            rows = np.flatnonzero(is_open)
            excluded = np.array([columns[i] for i in rows.tolist()], dtype=np.intp)
            left = density.parts(X[rows], excluded.reshape(-1, count))
            for i, own in zip(rows.tolist(), left, strict=True):
                j = self._next(X[i], own, nearest[i], most)
                is_open[i] = own[j] >= density.rare or (
                    own[j] >= max(1.0, LEAST_OF_ALL * total[i])
                    and self._is_far(X[i, j], j, nearest[i])
                )
                if is_open[i]:
                    columns[i].append(j)
                    reported[i, j] = max(reported[i, j], own[j])
        against, partners = self._disagreeing(density, X, nearest, parts, columns)
        fields = zip(columns, against, partners, reported, strict=True)
        return [ColumnAttribution(*row) for row in fields]

    def _next(self, x: Array, parts: Array, cluster: int, most: int) -> int:
        """Return the column of the largest part, or before it one that is far out alone."""
        order = np.argsort(-parts, kind="stable")[:most].tolist()
        least = LEAST_OF_ALL * float(np.maximum(parts, 0).sum())
        far = (j for j in order if parts[j] >= least and self._is_far(x[j], j, cluster))
        return int(next(far, order[0]))

    def _disagreeing(
        self,
        density: CalibratedDensity,
        X: Array,
        nearest: Sequence[int],
        parts: Array,
        columns: list[list[int]],
    ) -> tuple[list[list[int]], list[int | None]]:
        """Return columns against the first one, and the one without which it is as expected."""
        against: list[list[int]] = [[] for _ in columns]
        partners: list[int | None] = [None] * len(columns)
        first = np.array([named[0] for named in columns], dtype=np.intp)
        is_far = [self._is_far(X[i, j], j, nearest[i]) for i, j in enumerate(first.tolist())]
        rows = np.flatnonzero(~np.array(is_far, dtype=bool))
        if X.shape[1] < 2 or not rows.size:
            return against, partners
        X, first = X[rows], first[rows]
        contradicting = self._normal.density.against(X, first)
        tried = [_largest(values, first) for values in (contradicting, parts[rows])]
        others = np.concatenate(tried, axis=1)
        left, whole = density.density.beside(X, first, others)
        best = np.argmin(left, axis=1)
        for k, i in enumerate(rows.tolist()):
            against[i] = list(dict.fromkeys(others[k].tolist()))
            if left[k, best[k]] <= LEFT * whole[k]:
                partners[i] = int(others[k, best[k]])
        return against, partners


def _largest(values: Array, but: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the columns of the largest values of every row, except one, (m, k)."""
    values = values.copy()
    values[np.arange(len(values)), but] = -np.inf
    return np.argsort(-values, axis=1, kind="stable")[:, : min(PARTNERS, values.shape[1] - 1)]
