"""A driver of the loop that takes a step in one pass over the rows, where centers are vectors.

With a finite feature map F (n, r), as the linear kernel has, centers are vectors V = Fᵀ A (r, c),
and fuzzy memberships with means need no array of shape (n, c) but the last memberships: block by
block, distances, memberships and the block's part in the next centers are taken while they lie in
the processor's cache. Coefficients are made once, at the end.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from softkern._utils.typing import Array
from softkern.operators.base import KernelOperator, available_threads, one_blas_thread
from softkern.rows import row_slices
from softkern.rules.base import Centers, Rule
from softkern.rules.centers import Mean
from softkern.rules.fuzzy import Fuzzy, fuzzy_rows
from softkern.solvers.steps import Driver, Solution, Steps
from softkern.solvers.stopping import Step

__all__ = ["Sweeps", "sweeps"]

BLOCK_VALUES = 2**16  # of one array of a block: few enough for the cache, enough for NumPy


def sweeps(operator: KernelOperator, rule: Rule, centers: Centers, weight: Array) -> Sweeps | None:
    """The driver, where rule and operator allow it."""
    is_fit = isinstance(rule.memberships, Fuzzy) and isinstance(rule.centers, Mean)
    features = operator.features
    if not is_fit or features is None or not isinstance(features.points, np.ndarray):
        return None
    return Sweeps(operator, rule, centers, weight)


class Sweeps:
    """Steps of fuzzy c-means over features in the host's memory."""

    def __init__(self, operator: KernelOperator, rule: Rule, start: Centers, weight: Array) -> None:
        assert isinstance(rule.memberships, Fuzzy)
        assert operator.features is not None
        self.operator, self.rule, self.start, self.weight = operator, rule, start, weight
        self.m = rule.memberships.m
        self.features = operator.features
        self.centers = self.features.centers(start.coefficients)  # (r, c)
        self.before: Array | None = None  # the centers of the last step
        shape = self.centers.shape[1], self.features.points.shape[0]
        self.memberships = np.full(shape, np.nan, dtype=self.features.points.dtype)
        self.is_first = True

    def step(self) -> Step:
        """One pass; `memberships` (c, n) are replaced by the new ones."""
        rows, twice, norms = self._parts(self.centers)
        starts = range(0, self.memberships.shape[1], rows)
        # one thread per block: BLAS would start its own within each of them
        with one_blas_thread(), ThreadPoolExecutor(available_threads()) as pool:
            parts = list(pool.map(lambda i: self._block(slice(i, i + rows), twice, norms), starts))
        sums, total, change, top, objective = zip(*parts, strict=True)
        self.sums = np.sum(sums, axis=0, dtype=np.float64).T
        self.total = np.sum(total, axis=0, dtype=np.float64)
        changes = None if self.is_first else np.sum(change, axis=0, dtype=np.float64)
        self.is_first = False
        self.objective = float(np.sum(objective))
        return Step(self.objective, changes, np.max(top, axis=0))

    @staticmethod
    def _parts(centers: Array) -> tuple[int, Array, Array]:
        """Rows of a block, and the centers as its distances need them: −2 V and ‖v‖²."""
        rows = max(256, BLOCK_VALUES // centers.shape[1])
        norms = np.einsum("ij,ij->j", centers, centers)[:, None]
        return rows, np.ascontiguousarray(-2 * centers.T), norms

    def _distances(self, part: slice, twice: Array, norms: Array) -> Array:
        """D² of a block of points, (c, b); may be negative by rounding."""
        distances = twice @ self.features.points[part].T
        distances += self.features.norms[part]
        distances += norms
        return np.asarray(distances)

    def _block(self, part: slice, twice: Array, norms: Array) -> tuple[Any, ...]:
        points, mass = self.features.points[part], self.weight[part]
        distances = self._distances(part, twice, norms)
        new, masses, objective = fuzzy_rows(distances, self.m, mass)
        old = self.memberships[:, part]
        np.subtract(new, old, out=old)
        np.abs(old, out=old)
        change = old @ mass
        old[...] = new
        total = masses.sum(axis=1)
        return masses @ points, total, change, new.max(axis=1), float(mass @ objective)

    def advance(self) -> Driver:
        """The means as vectors; where a cluster has lost all mass, the logarithms of `Steps`."""
        if not (self.total > np.sqrt(np.finfo(self.memberships.dtype).tiny)).all():
            steps = Steps(self.operator, self.rule, self._coefficients(), self.weight)
            steps.step()
            return steps.advance()
        self.before = self.centers
        self.centers = (self.sums / self.total).astype(self.centers.dtype)
        return self

    def solution(self) -> Solution:
        """The present state, with coefficients."""
        centers = self._coefficients()
        geometry = self.operator.lean_geometry(centers.coefficients)
        return Solution(self.rule, centers, geometry, self.memberships.T, self.objective)

    def _coefficients(self) -> Centers:
        """Of the present centers, from the masses that the step before gave."""
        if self.before is None:
            return self.start
        mass = np.empty(self.memberships.shape[::-1], dtype=self.memberships.dtype)  # (n, c)
        rows, twice, norms = self._parts(self.before)
        for part in row_slices(len(mass), rows):
            distances = self._distances(part, twice, norms)
            mass[part] = fuzzy_rows(distances, self.m, self.weight[part])[1].T
        total = mass.sum(axis=0)
        mass /= total
        return Centers(mass, shares=total / self.weight.sum())
