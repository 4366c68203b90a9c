"""Steps of fuzzy c-means in one pass over the rows, for finite features.

With a finite feature map F (n, r), such as that of the linear kernel, centers are vectors
V = Fᵀ A (r, c). Block by block, distances, memberships and the part of the block in the next
centers are computed while they are in the cache. Only memberships are stored, and coefficients
are computed at the end.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from softkern._utils.threads import available_threads, one_thread
from softkern._utils.typing import Array
from softkern.rows import row_slices
from softkern.rules.base import Centers, Evaluation
from softkern.rules.fuzzy import Fuzzy, fuzzy_rows
from softkern.solvers.steps import Solution, Step, Steps

BLOCK_VALUES = 2**16  # values per array of a block, which fits into the cache


class Sweeps(Steps):
    """Steps of fuzzy c-means over features in memory; plain ones once a cluster is empty."""

    def __post_init__(self) -> None:
        super().__post_init__()
        assert isinstance(self.rule.memberships, Fuzzy)
        assert self.operator.features is not None
        self.m, self.features = self.rule.memberships.m, self.operator.features
        self.vectors = self.features.centers(self.centers.coefficients)  # (r, c)
        self.before: Array | None = None  # vectors of the last step
        self.rows = max(256, BLOCK_VALUES // self.vectors.shape[1])  # per block
        shape = self.vectors.shape[1], self.features.points.shape[0]
        self.memberships = np.full(shape, np.nan, dtype=self.features.points.dtype)
        self.is_plain = False
        self.pool = ThreadPoolExecutor(available_threads())  # starting threads takes milliseconds

    def step(self) -> Step:
        """Take one pass, which replaces `memberships` (c, n)."""
        if self.is_plain:
            return super().step()
        blocks = row_slices(self.memberships.shape[1], self.rows)
        # one thread per block: BLAS would start its own within each of them
        with one_thread("blas"):
            parts = list(self.pool.map(self._block, blocks))
        sums, total, change, top, objective = zip(*parts, strict=True)
        self.sums = np.sum(sums, axis=0, dtype=np.float64).T
        self.total = np.sum(total, axis=0, dtype=np.float64)
        changes = None if self.before is None else np.sum(change, axis=0, dtype=np.float64)
        self.objective = float(np.sum(objective))
        return Step(self.objective, changes, np.max(top, axis=0))

    def _distances(self, part: slice, vectors: Array) -> Array:
        """Return D² of a block of points to V, (c, b), which may be negative by rounding."""
        distances = np.ascontiguousarray(-2 * vectors.T) @ self.features.points[part].T
        distances += self.features.norms[part]
        distances += np.einsum("ij,ij->j", vectors, vectors)[:, None]
        return np.asarray(distances)

    def _block(self, part: slice) -> tuple[Any, ...]:
        points, mass = self.features.points[part], self.weight[part]
        distances = self._distances(part, self.vectors)
        new, masses, objective = fuzzy_rows(distances, self.m, mass)
        old = self.memberships[:, part]
        np.subtract(new, old, out=old)
        np.abs(old, out=old)
        change = old @ mass
        old[...] = new
        total = masses.sum(axis=1)
        return masses @ points, total, change, new.max(axis=1), float(mass @ objective)

    def advance(self) -> None:
        """Compute the means as vectors, or plain steps for an empty cluster."""
        if self.is_plain:
            super().advance()
        elif (self.total > np.sqrt(np.finfo(self.memberships.dtype).tiny)).all():
            means = (self.sums / self.total).astype(self.vectors.dtype)
            self.before, self.vectors = self.vectors, means
        else:
            self.centers, self.is_plain = self._coefficients(), True
            del self.memberships
            super().step()
            super().advance()

    def solution(self) -> Solution:
        """Return the final state, with coefficients."""
        self.pool.shutdown()
        if not self.is_plain:
            rule = self.rule.memberships
            self.centers = self._coefficients()
            self.geometry = self.operator.geometry(self.centers.coefficients)
            self.evaluation = Evaluation(self.memberships.T, None, self.objective, rule)
        return super().solution()

    def _coefficients(self) -> Centers:
        """Return the current centers with coefficients, from the masses of the last step."""
        if self.before is None:
            return self.centers
        mass = np.empty(self.memberships.shape[::-1], dtype=self.memberships.dtype)  # (n, c)
        for part in row_slices(len(mass), self.rows):
            distances = self._distances(part, self.before)
            mass[part] = fuzzy_rows(distances, self.m, self.weight[part])[1].T
        total = mass.sum(axis=0)
        mass /= total
        return Centers(mass, shares=total / self.weight.sum())
