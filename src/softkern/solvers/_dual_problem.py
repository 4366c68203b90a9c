"""The problem of the one-class dual: field, gaps, margin, start and working sets.

Used by `softkern.solvers.dual`, which describes the method.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from softkern._utils.typing import Array
from softkern.operators.base import KernelOperator
from softkern.rules.one_class import Formulation, margin, margin_interval

SAMPLE = 1000  # points that give the start, and in a working set while few are free
SMALLEST_SET = 200  # smallest working set
LARGEST_SET = 5792  # largest working set, with 256 MiB of kernel values
MOVES = 200_000  # pairwise moves in a set of 1000 before the field is updated
SAMPLE_TOL = 1e-3  # tolerance of the sample, as a share of the range of the field
FULL = 1 - 1e-12  # share of its room from which a point counts as filled


class Problem:
    """A dual and its present α, in the scale Σ α = 1, in float64.

    In this scale neither a small ν nor weights of any size under- or overflow.
    """

    alpha: Array  # (n, c)
    product: Array  # K α, (n, c)
    spread: Array  # largest squared distance of a weighted point from the first center, (c,)

    def __init__(
        self, operator: KernelOperator, weights: ArrayLike, nu: float, formulation: Formulation
    ) -> None:
        w = np.asarray(weights, dtype=np.float64)
        n = operator.shape[0]
        if w.ndim not in (1, 2) or w.shape[0] != n:
            raise ValueError(f"weights have shape {w.shape}; they must be ({n},) or ({n}, c).")
        w = w.reshape(n, -1)
        if not np.isfinite(w).all() or (w < 0).any():
            raise ValueError("weights must be finite and not negative.")
        empty = np.flatnonzero(~w.any(axis=0))
        if empty.size:
            raise ValueError(f"the weights of column {empty[0]} are all zero.")
        if not 0 < nu <= 1:
            raise ValueError(f"nu must lie in (0, 1], got {nu!r}.")
        self.operator, self.formulation = operator, formulation
        self.diag = operator.diag().astype(np.float64)  # (n,)
        self.given = w  # (n, c)
        self.total = nu * w.sum(axis=0)  # (c,)
        unit = w / w.max(axis=0)
        self.weights = unit / (nu * unit.sum(axis=0))  # w / ν Σ w, (n, c)

    def set_state(self, alpha: Array, product: Array) -> None:
        """Start from α and K α, which are changed in place."""
        self.alpha, self.product = alpha, product
        distances = self.diag[:, None] - 2 * product
        farthest = np.max(distances, axis=0, where=self.weights > 0, initial=-np.inf)
        self.spread = farthest + np.einsum("ij,ij->j", alpha, product)

    # The field and the optimality conditions

    def multiply(self, alpha: Array) -> Array:
        """Return K @ alpha in float64, (n, c)."""
        used = np.flatnonzero(alpha.any(axis=1))
        return np.asarray(self.operator.partial_product(used, alpha[used]), dtype=np.float64)

    def gaps(self) -> tuple[Array, Array]:
        """Return KKT gaps in the scale of the field, and the scale of the scores, (c,) each."""
        gaps, level = np.empty_like(self.total), np.empty_like(self.total)
        for k in range(gaps.size):
            values = self.formulation.field(self.product[:, k], self.diag)
            level[k], low = margin_interval(values, self.alpha[:, k], self.weights[:, k])
            gaps[k] = max(level[k] - low, 0.0)
        unit = self.formulation.gap_unit(self.spread, level)
        # equal points have no scale, and any coefficients are optimal
        largest = max(float(np.abs(self.diag).max()), np.finfo(np.float64).tiny)
        return gaps, np.maximum(unit, 1e-14 * largest)

    def objective(self) -> float:
        """Return αᵀKα, minus Σ α_i K_ii for the SVDD, summed over columns."""
        values = self.formulation.field(self.product, self.diag[:, None])
        return float(np.einsum("ij,ij->", self.alpha, 2 * values - self.product))

    def measures(self) -> dict[str, Any]:
        """Return the fields ρ, R², gap and unit of a `DualSolution`, (c,) each."""
        gaps, unit = self.gaps()
        norms = np.einsum("ij,ij->j", self.alpha, self.product)
        rho, radius = np.empty_like(norms), np.empty_like(norms)
        for k in range(norms.size):
            product, alpha, weights = self.product[:, k], self.alpha[:, k], self.weights[:, k]
            rho[k] = margin(product, alpha, weights)
            radius[k] = norms[k] - margin(2 * product - self.diag, alpha, weights)
        radius = np.maximum(radius, 0.0)
        return {
            "rho": rho * self.total,  # ρ and R² are the middles of their intervals
            "squared_radius": radius,
            "gap": gaps / unit,
            "unit": unit,
        }

    # The start

    def first_alpha(self, previous: Any = None) -> Array:
        """Return a first α, (n, c), from a `DualSolution` of similar weights or from a sample."""
        if previous is None:
            order, alpha = self._sample_product(), np.zeros_like(self.weights)
        else:
            total = previous.coefficients.sum(axis=0)
            order = previous.product / np.maximum(total, np.finfo(total.dtype).tiny)
            shares = np.divide(
                previous.coefficients,
                previous.weights,
                out=np.zeros_like(previous.weights),
                where=previous.weights > 0,
            )
            # rounded up to one where only rounding prevents it
            is_full = shares > 1 - 4 * np.finfo(previous.coefficients.dtype).eps
            alpha = np.where(is_full, 1.0, shares) * self.weights
        for k in range(self.total.size):
            values = self.formulation.field(order[:, k], self.diag)
            alpha[:, k] = _filled(alpha[:, k], self.weights[:, k], values)
        return alpha

    def _sample_product(self) -> Array:
        """Return an estimate of K α, (n, c), from a sample of the points if it is large enough."""
        n = self.weights.shape[0]
        rows = np.arange(0, n, max(1, -(-n // SAMPLE)))
        if n <= 2 * SAMPLE or ((self.weights[rows] > 0).sum(axis=0) < SMALLEST_SET // 2).any():
            return self.multiply(self.weights / self.weights.sum(axis=0))
        K = np.ascontiguousarray(self.operator.entries(rows, rows), dtype=np.float64)
        field, diag = self.formulation.field, self.diag[rows]
        # the sample has the weight of all points
        weights = self.weights[rows] * (self.weights.sum(axis=0) / self.weights[rows].sum(axis=0))
        alpha = weights / weights.sum(axis=0)
        for k in range(self.total.size):
            order = field(K @ alpha[:, k], diag)
            alpha[:, k] = _filled(np.zeros(rows.size), weights[:, k], order)
            values = field(K @ alpha[:, k], diag)
            _solve_set(K, values, alpha[:, k], weights[:, k], SAMPLE_TOL * float(np.ptp(values)))
        used = np.flatnonzero(alpha.any(axis=1))
        return np.asarray(self.operator.partial_product(rows[used], alpha[used]), dtype=np.float64)

    # Working sets

    def improve(self, active: Array, limit: Array) -> bool:
        """Solve a working set of every active column; return whether anything moved."""
        moved = np.zeros_like(self.alpha)
        for k in active:
            index, alpha = self._solved_set(int(k), float(limit[k]))
            moved[index, k] = alpha - self.alpha[index, k]
            self.alpha[index, k] = alpha
        rows = np.flatnonzero(moved.any(axis=1))
        if rows.size:
            self.product[:, active] += self.operator.partial_product(rows, moved[rows][:, active])
        return bool(rows.size)

    def _solved_set(self, k: int, limit: float) -> tuple[Array, Array]:
        """Return the working set of a column, and the α that is optimal within it."""
        values = self.formulation.field(self.product[:, k], self.diag)
        alpha, weights = self.alpha[:, k], self.weights[:, k]
        high, low = margin_interval(values, alpha, weights)
        middle = (high + low) / 2
        free = np.flatnonzero((alpha > 0) & (alpha < weights))
        most = int(np.clip(2 * free.size, SAMPLE, LARGEST_SET))
        rising = _largest(middle - values, alpha < weights, limit, most // 2)
        falling = _largest(values - middle, alpha > 0, limit, most // 2)
        index = np.union1d(rising, falling)
        if free.size <= most - index.size:
            # in separate sets they would exchange weight without end
            index = np.union1d(index, free)
        K = np.ascontiguousarray(self.operator.entries(index, index), dtype=np.float64)
        new = alpha[index]
        # with many free points moves are expensive, and later sets move them again
        share = 0.1 if most > SAMPLE else 0.01
        tolerance = max(0.5 * limit, share * (high - low))
        _solve_set(K, values[index], new, weights[index], tolerance)
        return index, new


def _solve_set(K: Array, values: Array, alpha: Array, weights: Array, tolerance: float) -> None:
    from softkern.solvers._pairs import move_pairs

    moves = np.ascontiguousarray(alpha)
    most = MOVES * SAMPLE // max(SAMPLE, alpha.size)
    move_pairs(K, values.copy(), moves, np.ascontiguousarray(weights), tolerance, most)
    alpha[:] = moves


def _filled(alpha: Array, weights: Array, order: Array) -> Array:
    """Return α with sum one, raised where the order is lowest or lowered where it is highest."""
    missing = 1.0 - float(alpha.sum())
    rising = missing > 0
    room = weights - alpha if rising else alpha
    ranks = _first_with_room(order if rising else -order, room, abs(missing))
    room, begin = room[ranks], alpha[ranks]
    used = np.diff(np.minimum(np.cumsum(room), abs(missing)), prepend=0.0)
    edge = weights[ranks] if rising else np.zeros_like(room)
    moved = begin + (used if rising else -used)
    filled = alpha.copy()
    # a filled point is exactly full, an emptied one exactly empty
    filled[ranks] = np.where(used >= FULL * room, np.where(room > 0, edge, begin), moved)
    return np.clip(filled, 0.0, weights)


def _first_with_room(order: Array, room: Array, missing: float) -> Array:
    """Return points in the given order, at least as many as have room for what is missing."""
    index, size = np.flatnonzero(room > 0), SAMPLE
    while size < index.size:
        first = index[np.argpartition(order[index], size - 1)[:size]]
        if room[first].sum() > missing:
            index = first
            break
        size *= 4  # sorting few is ten times as fast
    return np.asarray(index[np.argsort(order[index], kind="stable")])


def _largest(excess: Array, allowed: Array, limit: float, most: int) -> Array:
    """Return the allowed points of largest excess, about twice as many as violate the limit."""
    index = np.flatnonzero(allowed)
    excess = excess[index]
    size = max(SMALLEST_SET, 2 * int((excess > limit / 4).sum())) // 2
    size = min(most, size, index.size)
    return np.asarray(index[np.argpartition(-excess, size - 1)[:size]])
