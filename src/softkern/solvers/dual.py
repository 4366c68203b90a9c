"""The weighted one-class dual: SVDD and OC-SVM for all clusters at once.

For every column of weights w the dual has coefficients 0 ≤ α_i ≤ w_i with Σ α = ν Σ w that minimize
αᵀKα (OC-SVM), or αᵀKα − (Σ α) Σ α_i K_ii (SVDD: eq. 10 of Bicego and Figueiredo, whose "min" is a
maximum, in this scale). At the optimum α_i = w_i where the field, half the gradient, is below a
threshold, α_i = 0 above it, and α_i is in between on the threshold, the margin.

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

from softkern._utils.typing import Array
from softkern.operators.base import KernelOperator
from softkern.rules.one_class import Formulation
from softkern.solvers._dual_problem import Problem, State, margin, margin_interval

__all__ = ["DualSolution", "Duals", "margin", "margin_interval", "solve_dual", "with_product"]

PATIENCE = 25  # iterations in which the gap must halve, unless rounding prevents it


@dataclass(frozen=True)
class DualSolution:
    """Solution of the dual for c columns of weights, returned by `solve_dual`.

    Attributes
    ----------
    coefficients : array of shape (n, c)
        α, with 0 ≤ α ≤ w and Σ α = ν Σ w in every column.
    product : array of shape (n, c)
        K @ α.
    rho : array of shape (c,)
        Value of K α on the margin: the middle between the largest value with α > 0 and the
        smallest with α < w. Without points with α < w, as for ν = 1, it is the former.
    squared_radius : array of shape (c,)
        Squared distance of the margin from the center Σ α Φ(x) / Σ α, by the same interval.
    gap : array of shape (c,)
        The KKT gap, by how much this interval is crossed, relative to Σ α and to `unit`.
        LIBSVM's measure is ``gap * unit * Σ α``.
    n_iter : int
        Number of working sets, each followed by one product.
    converged : array of bool of shape (c,)
        Whether the gap is within the tolerance or the error of the operator.
    unit : array of shape (c,)
        Scale of the scores: the largest squared distance of a point from the first center, or ρ
        if it is smaller (OC-SVM).
    weights : array of shape (n, c)
        The weights w.
    history : dict
        ``"objective"`` (summed over columns, for Σ α = 1) and ``"gap"`` (the largest) of every
        iteration.
    """

    coefficients: Array
    product: Array
    rho: Array
    squared_radius: Array
    gap: Array
    n_iter: int
    converged: Array
    unit: Array
    weights: Array
    history: dict[str, list[float]] = field(default_factory=dict)


def solve_dual(
    operator: KernelOperator,
    weights: ArrayLike,
    nu: float,
    *,
    formulation: Formulation | str = "ocsvm",
    start: DualSolution | None = None,
    correction: Array | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    report: Callable[[int, float], None] | None = None,
) -> DualSolution:
    """Solve the weighted OC-SVM or SVDD, one problem per column of weights.

    Parameters
    ----------
    operator : KernelOperator
        Operator of a positive semidefinite kernel. The dual of an approximation is solved for
        the approximate kernel.
    weights : array of shape (n, c) or (n,)
        Weights w, not negative, with a positive sum in every column.
    nu : float in (0, 1]
        Share of a column's weight in α. At 1, α = w.
    formulation : {"ocsvm", "svdd"} or Formulation, default="ocsvm"
        The solutions differ only if the diagonal of the kernel is not constant.
    start : DualSolution, default=None
        Solution for similar weights, to start from.
    correction : array of shape (n, c), default=None
        Difference between K @ α and the product of the operator, for Σ α = 1.
    tol : float, default=1e-6
        Tolerance of the gap, at least the error of the operator.
    max_iter : int, default=1000
        Largest number of working sets.
    report : callable, default=None
        Function that is called with every iteration and its gap.

    References
    ----------
    M. Bicego, M. A. T. Figueiredo, "Soft clustering using weighted one-class support vector
    machines", Pattern Recognition 42(1), 2009. :doi:`10.1016/j.patcog.2008.07.004`

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.kernels import Gaussian
    >>> from softkern.operators.dense import DenseOperator
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0]])
    >>> solution = solve_dual(DenseOperator(Gaussian(1.0), X), np.ones(4), nu=0.5)
    >>> solution.coefficients[:, 0].round(1)  # the outlier, and the edge of the others
    array([0.5, 0. , 0.5, 1. ])
    """
    problem = Problem.of(operator, weights, nu, formulation)
    alpha = problem.weights.copy() if nu == 1 else problem.start(start)
    state = State(alpha, problem.product(alpha))
    if correction is not None:
        state.product += correction
    spread, error = problem.spread(state), 2 * operator.attainable_error
    history: dict[str, list[float]] = {"objective": [], "gap": []}
    largest: list[float] = []
    for iteration in range(1, max_iter + 1):
        gaps, unit = problem.gaps(state, spread)
        limit = np.maximum(tol * unit, error)
        largest.append(float(gaps.max()))
        history["gap"].append(float((gaps / unit).max()))
        history["objective"].append(problem.objective(state))
        if report is not None:
            report(iteration, history["gap"][-1])
        active = np.flatnonzero(gaps > limit)
        if active.size == 0 or iteration == max_iter or _stalled(largest):
            break
        if not problem.improve(state, active, limit):
            break
    rho, squared_radius = problem.margin(state)
    return DualSolution(
        coefficients=problem.given_scale(state.alpha).astype(operator.dtype),
        product=(state.product * problem.total).astype(operator.dtype),
        rho=rho * problem.total,
        squared_radius=squared_radius,
        gap=gaps / unit,
        n_iter=iteration,
        converged=gaps <= limit,
        unit=unit,
        weights=problem.given,
        history=history,
    )


def with_product(
    solution: DualSolution,
    operator: KernelOperator,
    product: Array,
    nu: float,
    formulation: Formulation | str = "ocsvm",
) -> DualSolution:
    """Return the solution with the margin and the gap of this product K @ α, (n, c)."""
    problem = Problem.of(operator, solution.weights, nu, formulation)
    is_full = solution.coefficients >= problem.given
    alpha = np.where(is_full, problem.weights, solution.coefficients / problem.total)
    state = State(alpha, product.astype(np.float64) / problem.total)
    gaps, unit = problem.gaps(state, problem.spread(state))
    rho, squared_radius = problem.margin(state)
    return replace(
        solution,
        product=product,
        rho=rho * problem.total,
        squared_radius=squared_radius,
        gap=gaps / unit,
        unit=unit,
    )


@dataclass(frozen=True)
class Duals:
    """Solver of the duals of `softkern.rules.one_class.OneClassCenters` on one operator."""

    operator: KernelOperator
    nu: float
    formulation: Formulation
    correction: Array | None = None

    def train(self, weights: Array, start: DualSolution | None, tol: float) -> DualSolution:
        """Solve the dual for every column of weights (n, c)."""
        return solve_dual(
            self.operator,
            weights,
            self.nu,
            formulation=self.formulation,
            start=start,
            correction=self.correction,
            tol=tol,
        )

    def on_operator(self, operator: KernelOperator, correction: Array | None) -> Duals:
        """Return the solver on another operator, given a correction of its products, (n, c)."""
        return replace(self, operator=operator, correction=correction)

    def with_product(self, solution: DualSolution, product: Array) -> DualSolution:
        """Return the solution with the margins and the gap of this product."""
        return with_product(solution, self.operator, product, self.nu, self.formulation)


def _stalled(gaps: list[float]) -> bool:
    return len(gaps) > PATIENCE and min(gaps[-PATIENCE:]) > 0.5 * min(gaps[:-PATIENCE])
