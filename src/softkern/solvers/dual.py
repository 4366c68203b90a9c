"""The weighted one-class dual: SVDD and OC-SVM for all clusters at once.

For every column of weights w the dual has coefficients 0 ≤ α_i ≤ w_i with Σ α = ν Σ w that minimize
αᵀKα (OC-SVM), or αᵀKα − (Σ α) Σ α_i K_ii (SVDD: eq. 10 of Bicego and Figueiredo 2009, whose "min"
is a maximum, in this scale; :doi:`10.1016/j.patcog.2008.07.004`). At the optimum α_i = w_i where
the field, half the gradient, is below a threshold, α_i = 0 above it, and α_i is in between on the
threshold, the margin.

The operator only computes products. Points that violate these conditions most form the working
set, together with those between the bounds, of which a narrow kernel has many. Pairwise moves
(`_pairs`) solve the set, and one product for all columns updates the field of every point. A solved
sample or the previous solution gives the start, so that few working sets are needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from softkern._utils.typing import AnyArray, Array
from softkern.operators.base import KernelOperator
from softkern.rules.base import Centers
from softkern.rules.one_class import OCSVM, Formulation, Margins
from softkern.solvers._dual_problem import Problem

PATIENCE = 25  # iterations in which the gap must halve, unless rounding prevents it
DEAD = 1e-12  # a cluster with a smaller share of the weight keeps its last SVM
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
    problem = Problem(operator, weights, nu, formulation)
    alpha = problem.weights.copy() if nu == 1 else problem.first_alpha(start)
    product = problem.multiply(alpha)
    problem.set_state(alpha, product if correction is None else product + correction)
    error = 2 * operator.attainable_error
    history: dict[str, list[float]] = {"objective": [], "gap": []}
    largest: list[float] = []
    for iteration in range(1, max_iter + 1):
        gaps, unit = problem.gaps()
        limit = np.maximum(tol * unit, error)
        largest.append(float(gaps.max()))
        history["gap"].append(float((gaps / unit).max()))
        history["objective"].append(problem.objective())
        if report is not None:
            report(iteration, history["gap"][-1])
        active = np.flatnonzero(gaps > limit)
        has_stalled = iteration > PATIENCE and (
            min(largest[-PATIENCE:]) > 0.5 * min(largest[:-PATIENCE])
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
        if lost.any() and last is not None and last.weights is not None:
            mass = np.where(lost, last.weights, mass)
            sums = mass.sum(axis=0, dtype=np.float64)
        solution = solve_dual(
            self.operator,
            mass / sums / self.nu,  # with these weights α sums to one
            self.nu,
            formulation=self.formulation,
            start=None if last is None else last.solution,
            correction=self.correction,
            tol=self._tolerance(mass, last),
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
        problem = Problem(self.operator, solution.weights, self.nu, self.formulation)
        is_full = solution.coefficients >= problem.given
        alpha = np.where(is_full, problem.weights, solution.coefficients / problem.total)
        problem.set_state(alpha, product.astype(np.float64) / problem.total)
        solution = replace(solution, product=product, **problem.measures())
        sums = np.asarray(margins.totals) / self.nu
        return self._centers_of(solution, margins.weights, sums, centers.shares)

    def error(self, centers: Centers) -> float:
        """Return the largest gap of the duals."""
        return float(centers.margins.solution.gap.max())

    def _centers_of(
        self, solution: DualSolution, mass: Array, sums: Array, shares: AnyArray
    ) -> Centers:
        radius = np.maximum(solution.squared_radius, 0)
        rho, radius, totals = (
            part.astype(mass.dtype) for part in (solution.rho, radius, self.nu * sums)
        )
        coefficients = solution.coefficients.astype(mass.dtype, copy=False)
        product = solution.product.astype(mass.dtype, copy=False)
        return Centers(coefficients, product, shares, Margins(rho, radius, totals, mass, solution))

    def _tolerance(self, mass: Array, last: Margins | None) -> float:
        """Return the tolerance of the duals, which is loose while masses change much."""
        if not self.is_rough:
            return self.tol
        if last is None or last.weights is None:
            return max(self.tol, FIRST_TOL)
        change = float(np.abs(mass - last.weights).sum(dtype=np.float64))
        return max(self.tol, FINER * change / float(mass.sum(dtype=np.float64)))
