"""The columns that together make a row strange, found by setting them aside one after the other.

What leaving a column out takes off −log density, less what it takes off for a usual row, says
which column comes first. Of two that are both far out neither shows beside the other, so the first
is set aside and the others are asked again, as long as one stands out. Where the first column is
usual by itself, it disagrees with another: the one without which it would not be strange.
Densities are those of `softkern.tables.explain.densities`.
Called by `softkern.tables.explain.points`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array

__all__ = ["Calibrated", "Causes", "Named"]

STANDING_OUT = 0.9  # quantile of the largest parts of usual rows, in which parts are measured
# A further column is named, once those before are set aside, if it is far out by itself or has a
# part that one usual row in a hundred has: as an exponential tail goes on from its median and nine
# tenths, since usual rows may hold a few that are as strange.
RARE = float(np.log(10) / np.log(5))
LEAST_OF_ALL = 0.05  # share of all parts, from which on a column that is far out by itself counts
PARTNERS = 4  # columns of the largest parts, and as many that speak most against the first,
#               which are looked at as the other one of two that disagree
LEFT = 0.5  # of the first column's part at most, without the column that it disagrees with


@dataclass(frozen=True)
class Named:
    """The columns that make a row strange, the first one most, and the part of every column.

    Attributes
    ----------
    columns : list of int
    against : list of int
        Columns that the first one may disagree with, where it is not far out by itself.
    partner : int or None
        That without which it would be as expected.
    parts : array of shape (d,)
        What a column takes off, in units of what stands out; of those named, at their turn.
    """

    columns: list[int]
    against: list[int]
    partner: int | None
    parts: Array


@dataclass(frozen=True)
class Calibrated:
    """A density's parts, less those of a usual row and in units of what stands out in some."""

    density: Any
    usual: Array  # (d,)
    unit: float
    rare: float  # units

    @classmethod
    def fit(cls, density: Any, standard: Array) -> Calibrated:
        """By usual rows (m, d)."""
        parts = density.parts(standard)
        usual = np.median(parts, axis=0)
        middle, unit = np.quantile((parts - usual).max(axis=1), (0.5, STANDING_OUT)).tolist()
        unit = max(unit, np.finfo(float).eps)
        return cls(density, usual, unit, 1 + RARE * (1 - middle / unit))

    def parts(self, X: Array, aside: NDArray[np.intp] | None = None) -> Array:
        """Of every column, (m, d); −∞ of those that are set aside, (m, s) for every row."""
        parts = np.asarray((self.density.parts(X, aside) - self.usual) / self.unit)
        if aside is not None:
            np.put_along_axis(parts, aside, -np.inf, axis=1)
        return parts


class Causes:
    """The columns that make rows strange.

    Parameters
    ----------
    kernel, normal : Calibrated
        Densities of the usual rows.
    is_far : callable of a value, a column and a cluster
        Whether a value is far out by itself.
    """

    def __init__(
        self, kernel: Calibrated, normal: Calibrated, is_far: Callable[[float, int, int], bool]
    ) -> None:
        self._kernel, self._normal, self._is_far = kernel, normal, is_far

    def find(self, X: Array, nearest: Sequence[int], most: int) -> list[Named]:
        """Of rows (m, d) in their nearest clusters, at most so many columns each."""
        kernel, normal = self._kernel.parts(X), self._normal.parts(X)
        is_normal = normal.max(axis=1) > kernel.max(axis=1)
        for i in np.flatnonzero(is_normal).tolist():
            # what is far out by itself is for the kernel: beside it, all that goes with the column
            # is strange too
            first = int(np.argmax(normal[i]))
            is_normal[i] = not self._is_far(X[i, first], first, nearest[i])
        found: list[Named | None] = [None] * len(X)
        for density, parts, chosen in (
            (self._kernel, kernel, ~is_normal),
            (self._normal, normal, is_normal),
        ):
            rows = np.flatnonzero(chosen)
            own = [nearest[i] for i in rows.tolist()]
            for i, named in zip(
                rows.tolist(), self._of(density, X[rows], own, parts[rows], most), strict=True
            ):
                found[i] = named
        return [named for named in found if named is not None]

    def _of(
        self, density: Calibrated, X: Array, nearest: Sequence[int], parts: Array, most: int
    ) -> list[Named]:
        """The same under one density, in which the parts (m, d) of all columns are known."""
        columns = [[self._next(X[i], parts[i], nearest[i], most)] for i in range(len(X))]
        told, total = parts.copy(), np.maximum(parts, 0).sum(axis=1)
        is_open = np.ones(len(X), dtype=bool)
        for count in range(1, min(most, X.shape[1])):
            rows = np.flatnonzero(is_open)
            aside = np.array([columns[i] for i in rows.tolist()], dtype=np.intp).reshape(-1, count)
            left = density.parts(X[rows], aside)
            for i, own in zip(rows.tolist(), left, strict=True):
                j = self._next(X[i], own, nearest[i], most)
                is_open[i] = own[j] >= density.rare or (
                    own[j] >= max(1.0, LEAST_OF_ALL * total[i])
                    and self._is_far(X[i, j], j, nearest[i])
                )
                if is_open[i]:
                    columns[i].append(j)
                    told[i, j] = max(told[i, j], own[j])
        against, partners = self._disagreeing(density, X, nearest, parts, columns)
        return [Named(*row) for row in zip(columns, against, partners, told, strict=True)]

    def _next(self, x: Array, parts: Array, cluster: int, most: int) -> int:
        """The column of the largest part; before it, one that is far out by itself."""
        order = np.argsort(-parts, kind="stable")[:most].tolist()
        least = LEAST_OF_ALL * float(np.maximum(parts, 0).sum())
        far = (j for j in order if parts[j] >= least and self._is_far(x[j], j, cluster))
        return int(next(far, order[0]))

    def _disagreeing(
        self,
        density: Calibrated,
        X: Array,
        nearest: Sequence[int],
        parts: Array,
        columns: list[list[int]],
    ) -> tuple[list[list[int]], list[int | None]]:
        """Columns against the first one, and the one without which it would be as expected."""
        against: list[list[int]] = [[] for _ in columns]
        partners: list[int | None] = [None] * len(columns)
        first = np.array([named[0] for named in columns], dtype=np.intp)
        is_far = [self._is_far(X[i, j], j, nearest[i]) for i, j in enumerate(first.tolist())]
        rows = np.flatnonzero(~np.array(is_far, dtype=bool))
        if X.shape[1] < 2 or not rows.size:
            return against, partners
        X, first = X[rows], first[rows]
        others = np.concatenate(
            [
                _largest(part, first)
                for part in (self._normal.density.against(X, first), parts[rows])
            ],
            axis=1,
        )
        left, whole = density.density.beside(X, first, others)
        best = np.argmin(left, axis=1)
        for k, i in enumerate(rows.tolist()):
            against[i] = list(dict.fromkeys(others[k].tolist()))
            if left[k, best[k]] <= LEFT * whole[k]:
                partners[i] = int(others[k, best[k]])
        return against, partners


def _largest(values: Array, but: NDArray[np.intp]) -> NDArray[np.intp]:
    """Of every row the columns of the largest values, but for one, (m, k)."""
    values = values.copy()
    values[np.arange(len(values)), but] = -np.inf
    return np.argsort(-values, axis=1, kind="stable")[:, : min(PARTNERS, values.shape[1] - 1)]
