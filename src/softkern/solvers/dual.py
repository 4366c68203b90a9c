"""The weighted one-class dual: SVDD and OC-SVM for all clusters at once.

For every column of weights w the dual has coefficients 0 ≤ α_i ≤ w_i with Σ α = ν Σ w that minimize
αᵀKα (OC-SVM), or αᵀKα − (Σ α) Σ α_i K_ii (SVDD: eq. 10 of Bicego and Figueiredo 2009, whose "min"
is a maximum, in this scale; :doi:`10.1016/j.patcog.2008.07.004`). At the optimum α_i = w_i where
the field, half the gradient, is below a threshold, α_i = 0 above it, and α_i is in between on the
threshold, the margin.

The operator only computes products. Points that violate these conditions most form the working
set, together with those between the bounds, of which a narrow kernel has many. Pairwise moves solve
the set (`_working_sets`), and one product for all columns updates the field of every point. A
solved sample or the previous solution gives the start, so that few working sets are needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from softkern._utils.typing import AnyArray, Array
from softkern.operators.base import KernelOperator
from softkern.rules.base import Centers
from softkern.rules.one_class import OCSVM, Formulation, Margins, margin, margin_interval
from softkern.solvers._working_sets import SAMPLE, SMALLEST_SET, filled, largest, solve_set

PATIENCE = 25  # iterations in which the gap must halve, unless rounding prevents it
DEAD = 1e-12  # a cluster with a smaller share of the weight keeps its last SVM
LARGEST_SET = 5792  # largest working set, with 256 MiB of kernel values
SAMPLE_TOL = 1e-3  # tolerance of the sample, as a share of the range of the field
FIRST_TOL = 1e-4  # tolerance of the first duals on a low-rank operator
FINER = 1e-3  # tolerance of later ones, as a share of the change of the masses


@dataclass(frozen=True)
class DualSolution:
    """Solution of the dual for c columns of weights."""

    coefficients: Array  # α, (n, c), with 0 ≤ α ≤ w and Σ α = ν Σ w in every column
    product: Array  # K @ α, (n, c)
    rho: Array  # value of K α on the margin, (c,), see `margin`
    # Squared distance of the margin from the center Σ α Φ(x) / Σ α, (c,)
    squared_radius: Array
    # KKT gap, relative to Σ α and `unit`, (c,). LIBSVM's measure is gap * unit * Σ α.
    gap: Array
    n_iter: int  # number of working sets, each followed by one product
    converged: Array  # whether the gap is within the tolerance or the operator's error, (c,)
    # Scale of the scores, (c,): the largest squared distance of a point from the first center, or
    # ρ if it is smaller (OC-SVM)
    unit: Array
    weights: Array  # w, (n, c)
    # "objective" (summed over columns, for Σ α = 1) and "gap" (the largest) of every iteration
    history: dict[str, list[float]] = field(default_factory=dict)


def solve_dual(
    operator: KernelOperator,
    weights: ArrayLike,
    nu: float,
    *,
    formulation: Formulation = OCSVM,
    start: DualSolution | None = None,
    correction: Array | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    report: Callable[[int, float], None] | None = None,
) -> DualSolution:
    """Solve the weighted OC-SVM or SVDD, one problem per column of weights (n, c) or (n,).

    `start` is a solution for similar weights. `correction` (n, c) is the difference between K @ α
    and the product of the operator, for Σ α = 1. `tol` is that of the gap, at least the error of
    the operator, and `max_iter` limits the working sets.
    """
    problem = _Problem(operator, weights, nu, formulation)
    alpha = problem.weights.copy() if nu == 1 else problem.first_alpha(start)
    product = problem.multiply(alpha)
    problem.set_state(alpha, product if correction is None else product + correction)
    error = 2 * operator.attainable_error
    history: dict[str, list[float]] = {"objective": [], "gap": []}
    worst: list[float] = []
    for iteration in range(1, max_iter + 1):
        gaps, unit = problem.gaps()
        limit = np.maximum(tol * unit, error)
        worst.append(float(gaps.max()))
        history["gap"].append(float((gaps / unit).max()))
        history["objective"].append(problem.objective())
        if report is not None:
            report(iteration, history["gap"][-1])
        active = np.flatnonzero(gaps > limit)
        has_stalled = iteration > PATIENCE and (
            min(worst[-PATIENCE:]) > 0.5 * min(worst[:-PATIENCE])
        )
        if active.size == 0 or iteration == max_iter or has_stalled:
            break
        if not problem.improve(active, limit):
            break
    # α = w stays exact
    alpha = np.minimum(problem.alpha * problem.total, problem.given)
    alpha = np.where(problem.alpha < problem.weights, alpha, problem.given)
    return DualSolution(
        coefficients=alpha.astype(operator.dtype),
        product=(problem.product * problem.total).astype(operator.dtype),
        n_iter=iteration,
        converged=gaps <= limit,
        weights=problem.given,
        history=history,
        **problem.measures(),
    )


class _Problem:
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
        self.operator, self.needs_lengths = operator, formulation.needs_lengths
        self.diag = operator.diag().astype(np.float64)  # (n,)
        # the field is K α minus this, (n, 1)
        self.shift = self.diag[:, None] * (0.5 if self.needs_lengths else 0.0)
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
        level, low = margin_interval(self.product - self.shift, self.alpha, self.weights)
        unit = self.spread if self.needs_lengths else np.minimum(self.spread, np.abs(level))
        # equal points have no scale, and any coefficients are optimal
        most = max(float(np.abs(self.diag).max()), np.finfo(np.float64).tiny)
        return np.maximum(level - low, 0.0), np.maximum(unit, 1e-14 * most)

    def objective(self) -> float:
        """Return αᵀKα, minus Σ α_i K_ii for the SVDD, summed over columns."""
        values = 2 * (self.product - self.shift) - self.product
        return float(np.einsum("ij,ij->", self.alpha, values))

    def measures(self) -> dict[str, Any]:
        """Return the fields ρ, R², gap and unit of a `DualSolution`, (c,) each."""
        gaps, unit = self.gaps()
        norms = np.einsum("ij,ij->j", self.alpha, self.product)
        closeness = 2 * self.product - self.diag[:, None]
        radius = norms - margin(closeness, self.alpha, self.weights)
        return {
            "rho": margin(self.product, self.alpha, self.weights) * self.total,
            "squared_radius": np.maximum(radius, 0.0),
            "gap": gaps / unit,
            "unit": unit,
        }

    # The start

    def first_alpha(self, previous: DualSolution | None) -> Array:
        """Return a first α, (n, c), from a solution for similar weights or from a sample."""
        if previous is None:
            order, alpha = self._sample_product(), np.zeros_like(self.weights)
        else:
            coefficients, given = previous.coefficients, previous.weights
            total = coefficients.sum(axis=0)
            order = previous.product / np.maximum(total, np.finfo(total.dtype).tiny)
            shares = np.divide(coefficients, given, out=np.zeros_like(given), where=given > 0)
            # rounded up to one where only rounding prevents it
            is_full = shares > 1 - 4 * np.finfo(coefficients.dtype).eps
            alpha = np.where(is_full, 1.0, shares) * self.weights
        order = order - self.shift
        for k in range(self.total.size):
            alpha[:, k] = filled(alpha[:, k], self.weights[:, k], order[:, k])
        return alpha

    def _sample_product(self) -> Array:
        """Return an estimate of K α, (n, c), from a sample of the points if it is large enough."""
        n = self.weights.shape[0]
        rows = np.arange(0, n, max(1, -(-n // SAMPLE)))
        if n <= 2 * SAMPLE or ((self.weights[rows] > 0).sum(axis=0) < SMALLEST_SET // 2).any():
            return self.multiply(self.weights / self.weights.sum(axis=0))
        K = np.ascontiguousarray(self.operator.entries(rows, rows), dtype=np.float64)
        shift = self.shift[rows, 0]
        # the sample has the weight of all points
        weights = self.weights[rows] * (self.weights.sum(axis=0) / self.weights[rows].sum(axis=0))
        alpha = weights / weights.sum(axis=0)
        for k in range(self.total.size):
            order = K @ alpha[:, k] - shift
            start = filled(np.zeros(rows.size), weights[:, k], order)
            values = K @ start - shift
            tolerance = SAMPLE_TOL * float(np.ptp(values))
            alpha[:, k] = solve_set(K, values, start, weights[:, k], tolerance)
        used = np.flatnonzero(alpha.any(axis=1))
        return np.asarray(self.operator.partial_product(rows[used], alpha[used]), dtype=np.float64)

    # Working sets

    def improve(self, active: Array, limit: Array) -> bool:
        """Solve a working set of every active column; return whether anything moved."""
        moved = np.zeros_like(self.alpha)
        for k in active:
            values = self.product[:, k] - self.shift[:, 0]
            alpha, weights = self.alpha[:, k], self.weights[:, k]
            high, low = margin_interval(values, alpha, weights)
            middle = (high + low) / 2
            free = np.flatnonzero((alpha > 0) & (alpha < weights))
            most = int(np.clip(2 * free.size, SAMPLE, LARGEST_SET))
            rising = largest(middle - values, alpha < weights, limit[k], most // 2)
            falling = largest(values - middle, alpha > 0, limit[k], most // 2)
            index = np.union1d(rising, falling)
            if free.size <= most - index.size:
                # in separate sets they would exchange weight without end
                index = np.union1d(index, free)
            # with many free points moves are expensive, and later sets move them again
            share = 0.1 if most > SAMPLE else 0.01
            tolerance = max(0.5 * limit[k], share * (high - low))
            K = np.ascontiguousarray(self.operator.entries(index, index), dtype=np.float64)
            new = solve_set(K, values[index], alpha[index], weights[index], tolerance)
            moved[index, k] = new - alpha[index]
            alpha[index] = new
        rows = np.flatnonzero(moved.any(axis=1))
        if rows.size:
            self.product[:, active] += self.operator.partial_product(rows, moved[rows][:, active])
        return bool(rows.size)


@dataclass(frozen=True)
class OneClassCenters:
    """Center rule of one-class SVMs, one per cluster, trained with the masses as weights."""

    operator: KernelOperator = field(repr=False)
    nu: float  # share of a cluster's weight that its support vectors hold
    formulation: Formulation
    tol: float = 1e-8  # of the duals
    is_rough: bool = False  # whether the tolerance follows the change of the masses
    correction: Array | None = field(default=None, repr=False)  # of the operator's products, (n, c)

    def centers(self, mass: Array, weight: Array, previous: Centers | None) -> Centers:
        """Return A, K @ A and margins. A cluster without weight keeps its SVM."""
        last: Margins | None = None if previous is None else previous.margins
        sums = mass.sum(axis=0, dtype=np.float64)
        shares = sums / weight.sum(dtype=np.float64)
        lost = shares <= DEAD
        if lost.any() and last is not None:
            mass = np.where(lost, last.weights, mass)
            sums = mass.sum(axis=0, dtype=np.float64)
        tol = self.tol
        if self.is_rough and last is not None:  # loose while the masses change much
            change = float(np.abs(mass - last.weights).sum(dtype=np.float64))
            tol = max(tol, FINER * change / float(mass.sum(dtype=np.float64)))
        elif self.is_rough:
            tol = max(tol, FIRST_TOL)
        solution = solve_dual(
            self.operator,
            mass / sums / self.nu,  # with these weights α sums to one
            self.nu,
            formulation=self.formulation,
            start=None if last is None else last.solution,
            correction=self.correction,
            tol=tol,
        )
        return self._centers_of(solution, mass, sums, np.where(lost, 0, shares).astype(mass.dtype))

    def on_surrogate(self, correction: Array | None = None) -> OneClassCenters:
        """Return the rule on the operator's surrogate, given K @ A minus its product, (n, c)."""
        operator = self.operator.surrogate or self.operator
        return replace(self, operator=operator, correction=correction, is_rough=True)

    def with_product(self, centers: Centers, product: Array) -> Centers:
        """Return the centers with the margins of this product K @ A."""
        margins: Margins = centers.margins
        solution: DualSolution = margins.solution
        problem = _Problem(self.operator, solution.weights, self.nu, self.formulation)
        is_full = solution.coefficients >= problem.given
        alpha = np.where(is_full, problem.weights, solution.coefficients / problem.total)
        problem.set_state(alpha, product.astype(np.float64) / problem.total)
        solution = replace(solution, product=product, **problem.measures())
        sums = np.asarray(margins.totals) / self.nu
        return self._centers_of(solution, margins.weights, sums, centers.shares)

    def _centers_of(
        self, solution: DualSolution, mass: Array, sums: Array, shares: AnyArray
    ) -> Centers:
        dtype = mass.dtype
        rho, squared_radius = solution.rho.astype(dtype), solution.squared_radius.astype(dtype)
        totals = (self.nu * sums).astype(dtype)
        margins = Margins(rho, squared_radius, totals, mass, solution)
        coefficients = solution.coefficients.astype(dtype, copy=False)
        product = solution.product.astype(dtype, copy=False)
        return Centers(coefficients, product, shares, margins)
