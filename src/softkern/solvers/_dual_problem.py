"""The problem of the one-class dual: field, gaps, margin, start and working sets.

Used by `softkern.solvers.dual`, which describes the method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from softkern._utils.typing import Array
from softkern.operators.base import KernelOperator
from softkern.rules.one_class import FORMULATIONS, Formulation

__all__ = ["Problem", "State", "margin", "margin_interval"]

SAMPLE = 1000  # points that give the start, and in a working set while few are free
SMALLEST_SET = 200  # smallest working set
LARGEST_SET = 5792  # largest working set, with 256 MiB of kernel values
MOVES = 200_000  # pairwise moves in a set of 1000 before the field is updated
SAMPLE_TOL = 1e-3  # tolerance of the sample, as a share of the range of the field
FULL = 1 - 1e-12  # share of its room from which a point counts as filled


@dataclass
class State:
    """α and K α, (n, c) each, in float64."""

    alpha: Array
    product: Array


@dataclass(frozen=True)
class Problem:
    """The constants of a dual, in the scale Σ α = 1.

    In this scale neither a small ν nor weights of any size under- or overflow.
    """

    operator: KernelOperator
    given: Array  # w, (n, c)
    total: Array  # ν Σ w, (c,)
    weights: Array  # w / ν Σ w, (n, c)
    diag: Array  # (n,)
    formulation: Formulation

    @classmethod
    def of(
        cls,
        operator: KernelOperator,
        weights: ArrayLike,
        nu: float,
        formulation: Formulation | str,
    ) -> Problem:
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
        if isinstance(formulation, str):
            if formulation not in FORMULATIONS:
                raise ValueError(f"formulation must be 'ocsvm' or 'svdd', got {formulation!r}.")
            formulation = FORMULATIONS[formulation]
        diag = operator.diag().astype(np.float64)
        largest = w.max(axis=0)
        unit = w / largest
        unit /= nu * unit.sum(axis=0)
        return cls(operator, w, nu * w.sum(axis=0), unit, diag, formulation)

    def given_scale(self, alpha: Array) -> Array:
        """Return α with Σ α = ν Σ w, where α = w stays exact."""
        scaled = np.minimum(alpha * self.total, self.given)
        return np.where(alpha < self.weights, scaled, self.given)

    # The field and the optimality conditions

    def field_of(self, product: Array, rows: Any = slice(None)) -> Array:
        """Return half the gradient from a column of K α, for some rows, (n,)."""
        return self.formulation.field(product, self.diag[rows])

    def product(self, alpha: Array) -> Array:
        """Return K @ alpha in float64, (n, c)."""
        used = np.flatnonzero(alpha.any(axis=1))
        return np.asarray(self.operator.partial_product(used, alpha[used]), dtype=np.float64)

    def gaps(self, state: State, spread: Array) -> tuple[Array, Array]:
        """Return KKT gaps in the scale of the field, and the scale of the scores, (c,) each."""
        gaps, level = np.empty_like(self.total), np.empty_like(self.total)
        for k in range(gaps.size):
            values = self.field_of(state.product[:, k])
            level[k], low = margin_interval(values, state.alpha[:, k], self.weights[:, k])
            gaps[k] = max(level[k] - low, 0.0)
        unit = self.formulation.gap_unit(spread, level)
        # equal points have no scale, and any coefficients are optimal
        return gaps, np.maximum(unit, 1e-14 * max(self.largest, np.finfo(np.float64).tiny))

    def objective(self, state: State) -> float:
        """Return αᵀKα, minus Σ α_i K_ii for the SVDD, summed over columns."""
        values = self.formulation.field(state.product, self.diag[:, None])
        return float(np.einsum("ij,ij->", state.alpha, 2 * values - state.product))

    @property
    def largest(self) -> float:
        """Largest kernel value of a point with itself."""
        return float(np.abs(self.diag).max())

    def spread(self, state: State) -> Array:
        """Return the largest squared distance of a weighted point from the center, (c,)."""
        norms = np.einsum("ij,ij->j", state.alpha, state.product)
        distances = self.diag[:, None] - 2 * state.product
        farthest = np.max(distances, axis=0, where=self.weights > 0, initial=-np.inf)
        return np.asarray(farthest + norms)

    def margin(self, state: State) -> tuple[Array, Array]:
        """Return ρ and R², (c,) each, the middles of their intervals."""
        norms = np.einsum("ij,ij->j", state.alpha, state.product)
        rho, radius = np.empty_like(norms), np.empty_like(norms)
        for k in range(norms.size):
            product, alpha, weights = state.product[:, k], state.alpha[:, k], self.weights[:, k]
            rho[k] = margin(product, alpha, weights)
            radius[k] = norms[k] - margin(2 * product - self.diag, alpha, weights)
        return rho, np.maximum(radius, 0.0)

    # The start

    def start(self, previous: Any = None) -> Array:
        """Return a first α, (n, c), from a `DualSolution` of similar weights or from a sample."""
        if previous is not None:
            total = previous.coefficients.sum(axis=0)
            order = previous.product / np.maximum(total, np.finfo(total.dtype).tiny)
            alpha = _shares(previous.coefficients, previous.weights) * self.weights
        else:
            order, alpha = self._order(), np.zeros_like(self.weights)
        for k in range(self.total.size):
            weights, values = self.weights[:, k], self.field_of(order[:, k])
            alpha[:, k] = _filled(alpha[:, k], weights, values)
        return alpha

    def _order(self) -> Array:
        """Return an estimate of K α, (n, c), from a sample of the points if it is large enough."""
        n = self.weights.shape[0]
        rows = np.arange(0, n, max(1, -(-n // SAMPLE)))
        if n <= 2 * SAMPLE or ((self.weights[rows] > 0).sum(axis=0) < SMALLEST_SET // 2).any():
            return np.asarray(self.product(self.weights / self.weights.sum(axis=0)))
        K = np.ascontiguousarray(self.operator.entries(rows, rows), dtype=np.float64)
        # the sample has the weight of all points
        weights = self.weights[rows] * (self.weights.sum(axis=0) / self.weights[rows].sum(axis=0))
        alpha = weights / weights.sum(axis=0)
        for k in range(self.total.size):
            order = self.field_of(K @ alpha[:, k], rows)
            alpha[:, k] = _filled(np.zeros(rows.size), weights[:, k], order)
            values = self.field_of(K @ alpha[:, k], rows)
            _solve_set(K, values, alpha[:, k], weights[:, k], SAMPLE_TOL * float(np.ptp(values)))
        used = np.flatnonzero(alpha.any(axis=1))
        return np.asarray(self.operator.partial_product(rows[used], alpha[used]), dtype=np.float64)

    # Working sets

    def improve(self, state: State, active: Array, limit: Array) -> bool:
        """Solve a working set of every active column; return whether anything moved."""
        moved = np.zeros_like(state.alpha)
        for k in active:
            index, alpha = self._solved_set(state, int(k), float(limit[k]))
            moved[index, k] = alpha - state.alpha[index, k]
            state.alpha[index, k] = alpha
        rows = np.flatnonzero(moved.any(axis=1))
        if rows.size:
            state.product[:, active] += self.operator.partial_product(rows, moved[rows][:, active])
        return bool(rows.size)

    def _solved_set(self, state: State, k: int, limit: float) -> tuple[Array, Array]:
        """Return the working set of a column, and the α that is optimal within it."""
        values = self.field_of(state.product[:, k])
        alpha, weights = state.alpha[:, k], self.weights[:, k]
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


def _shares(alpha: Array, weights: Array) -> Array:
    """Return α / w, (n, c), rounded up to one where only rounding prevents it."""
    shares = np.divide(alpha, weights, out=np.zeros_like(weights), where=weights > 0)
    return np.where(shares > 1 - 4 * np.finfo(alpha.dtype).eps, 1.0, shares)


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
    """Return the first rows in the given order that have room for the missing weight."""
    rows = np.flatnonzero(room > 0)
    values, size = order[rows], SAMPLE
    while size < rows.size:
        first = np.argpartition(values, size - 1)[:size]
        if room[rows[first]].sum() > missing:
            rows, values = rows[first], values[first]
            break
        size *= 4
    return np.asarray(rows[np.argsort(values, kind="stable")])


def _largest(excess: Array, allowed: Array, limit: float, most: int) -> Array:
    """Return the allowed points of largest excess, about twice as many as violate the limit."""
    index = np.flatnonzero(allowed)
    excess = excess[index]
    size = max(SMALLEST_SET, 2 * int((excess > limit / 4).sum())) // 2
    size = min(most, size, index.size)
    return np.asarray(index[np.argpartition(-excess, size - 1)[:size]])


def margin_interval(values: Array, alpha: Array, weights: Array) -> tuple[float, float]:
    """Return the largest value of points with α > 0 and the smallest of those with α < w.

    At the optimum the first is not above the second, and the margin lies between them.
    """
    high = np.max(values, where=alpha > 0, initial=-np.inf)
    low = np.min(values, where=alpha < weights, initial=np.inf)
    return float(high), float(low)


def margin(values: Array, alpha: Array, weights: Array) -> float:
    """Return the value on the margin, for values (n,) that decrease away from the center.

    The middle between the largest value with α > 0 and the smallest with α < w. Without points
    with α < w it is the former.

    Examples
    --------
    >>> import numpy as np
    >>> margin(np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 0.0]), np.ones(3))
    3.0
    """
    high, low = margin_interval(values, alpha, weights)
    return (high + low) / 2 if np.isfinite(low) else high
