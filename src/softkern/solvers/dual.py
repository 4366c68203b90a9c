"""The weighted one-class dual: SVDD and OC-SVM for all clusters at once.

For every column of weights w the dual looks for coefficients 0 ≤ α_i ≤ w_i with Σ α = ν Σ w that
minimize αᵀKα (OC-SVM), or αᵀKα − (Σ α) Σ α_i K_ii (SVDD: eq. 10 of Bicego and Figueiredo, whose
"min" is a maximum, in this scale). At the optimum weight lies where the field, half the gradient,
is low: α_i = w_i below a threshold, α_i = 0 above it, and between them on it, the margin.

All that is asked of the operator is products. The points that violate these conditions most form
the working set, with those between the bounds, which a narrow kernel has many of: the set grows
with them, up to a bound. Pairwise moves (`_pairs`) solve it, and one product for all columns brings
the field of every point up to date. The start comes from a solved sample or from the solution
before, so that few working sets are needed; memory is that of one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from softkern._utils.typing import Array
from softkern.operators.base import KernelOperator
from softkern.rules.one_class import FORMULATIONS, Formulation

__all__ = ["DualSolution", "Duals", "margin", "margin_interval", "solve_dual", "with_product"]

SAMPLE = 1000  # points that give the start, and in a working set while few are free
SMALLEST_SET = 200  # points in a working set at least, where there are as many
LARGEST_SET = 5792  # and at most, however many are free: 256 MiB of kernel values
MOVES = 200_000  # pairwise moves in a set of 1000 before the field is computed anew
PATIENCE = 25  # iterations in which the gap must halve: rounding may keep it from falling further
SAMPLE_TOL = 1e-3  # of the field's range: what the sample is solved to
FULL = 1 - 1e-12  # of its room, and a point counts as filled


@dataclass(frozen=True)
class DualSolution:
    """Where the dual ended, for c columns of weights; made by `solve_dual`.

    Attributes
    ----------
    coefficients : array of shape (n, c)
        α, with 0 ≤ α ≤ w and Σ α = ν Σ w in every column.
    product : array of shape (n, c)
        K @ α.
    rho : array of shape (c,)
        Value of K α on the margin: the middle of the interval that the optimality conditions
        leave, from the largest value with α > 0 to the smallest with α < w. Where no point is left
        with α < w, as for ν = 1, the former.
    squared_radius : array of shape (c,)
        Squared distance of the margin from the center Σ α Φ(x) / Σ α, by the same interval.
    gap : array of shape (c,)
        The KKT gap, by how much the interval above is crossed: relative to Σ α (the unit scale)
        and to `unit`. LIBSVM's measure is ``gap * unit * Σ α``.
    n_iter : int
        Working sets, each followed by one product; at least one.
    converged : array of bool of shape (c,)
        Whether the gap is within the tolerance, or within the operator's own error.
    unit : array of shape (c,)
        The scale of the scores: the largest squared distance of a point from the start's center;
        for the OC-SVM ρ, where it is smaller, as scores have its size.
    weights : array of shape (n, c)
        w.
    history : dict
        ``"objective"`` (summed over the columns, unit scale) and ``"gap"`` (the largest), of
        every iteration.
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
    """Coefficients of the weighted OC-SVM or SVDD, every column of weights a problem of its own.

    Parameters
    ----------
    operator : KernelOperator
        Of a positive semidefinite kernel. Where it is an approximation, the approximation's dual
        is solved.
    weights : array of shape (n, c) or (n,)
        Not negative; every column with a positive sum.
    nu : float in (0, 1]
        Share of a column's weight that α takes up; at 1, α = w.
    formulation : {"ocsvm", "svdd"} or Formulation, default="ocsvm"
        Coefficients differ only where the kernel's diagonal is not constant.
    start : DualSolution, default=None
        Of like weights: the same margin is tried first.
    correction : array of shape (n, c), default=None
        What the operator leaves out of K @ α where Σ α = 1, as known from a like α.
    tol : float, default=1e-6
        For the gap, see `DualSolution`. The operator's error is the least that is asked for.
    max_iter : int, default=1000
    report : callable, default=None
        Called with the iteration and its gap.

    References
    ----------
    M. Bicego, M. A. T. Figueiredo, "Soft clustering using weighted one-class support vector
    machines", Pattern Recognition 42(1), 2009. :doi:`10.1016/j.patcog.2008.07.004`

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.kernels import Gaussian
    >>> from softkern.operators import DenseOperator
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0]])
    >>> solution = solve_dual(DenseOperator(Gaussian(1.0), X), np.ones(4), nu=0.5)
    >>> solution.coefficients[:, 0].round(1)  # the outlier, and the edge of the others
    array([0.5, 0. , 0.5, 1. ])
    """
    problem = _Problem.of(operator, weights, nu, formulation)
    alpha = problem.weights.copy() if nu == 1 else problem.start(start)
    state = _State(alpha, problem.product(alpha))
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
    """The same coefficients, with margin and gap as this product K @ α, (n, c), gives them."""
    problem = _Problem.of(operator, solution.weights, nu, formulation)
    is_full = solution.coefficients >= problem.given
    alpha = np.where(is_full, problem.weights, solution.coefficients / problem.total)
    state = _State(alpha, product.astype(np.float64) / problem.total)
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
    """What `softkern.rules.one_class.Machines` are trained with, on one operator."""

    operator: KernelOperator
    nu: float
    formulation: Formulation
    correction: Array | None = None

    def train(self, weights: Array, start: DualSolution | None, tol: float) -> DualSolution:
        """Every column of weights (n, c) a machine."""
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
        """The trainer on another operator, whose products are corrected by this array (n, c)."""
        return replace(self, operator=operator, correction=correction)

    def with_product(self, solution: DualSolution, product: Array) -> DualSolution:
        """A solution with the margins and the gap that this product gives it."""
        return with_product(solution, self.operator, product, self.nu, self.formulation)


@dataclass
class _State:
    """α and K α, both (n, c) and in float64."""

    alpha: Array
    product: Array


@dataclass(frozen=True)
class _Problem:
    """What stays the same while α moves, in the unit scale: Σ α = 1.

    There neither a small ν nor weights of any size under- or overflow.
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
    ) -> _Problem:
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
        """α with Σ α = ν Σ w; what is full is full to the last digit."""
        scaled = np.minimum(alpha * self.total, self.given)
        return np.where(alpha < self.weights, scaled, self.given)

    # The field, and what the optimality conditions say of it

    def field_of(self, product: Array, rows: Any = slice(None)) -> Array:
        """Half the gradient, of a column of K α and some rows, (n,)."""
        return self.formulation.field(product, self.diag[rows])

    def product(self, alpha: Array) -> Array:
        """K @ alpha in float64, (n, c)."""
        used = np.flatnonzero(alpha.any(axis=1))
        return np.asarray(self.operator.partial_product(used, alpha[used]), dtype=np.float64)

    def gaps(self, state: _State, spread: Array) -> tuple[Array, Array]:
        """KKT gaps, in the scale of the field, and the scale of the scores, (c,) each."""
        gaps, level = np.empty_like(self.total), np.empty_like(self.total)
        for k in range(gaps.size):
            values = self.field_of(state.product[:, k])
            level[k], low = margin_interval(values, state.alpha[:, k], self.weights[:, k])
            gaps[k] = max(level[k] - low, 0.0)
        unit = self.formulation.gap_unit(spread, level)
        # of equal points, for which any coefficients will do, there is no scale
        return gaps, np.maximum(unit, 1e-14 * max(self.largest, np.finfo(np.float64).tiny))

    def objective(self, state: _State) -> float:
        """αᵀKα, less Σ α_i K_ii for the SVDD, summed over columns."""
        values = self.formulation.field(state.product, self.diag[:, None])
        return float(np.einsum("ij,ij->", state.alpha, 2 * values - state.product))

    @property
    def largest(self) -> float:
        """The largest kernel value of a point with itself."""
        return float(np.abs(self.diag).max())

    def spread(self, state: _State) -> Array:
        """Largest squared distance of a weighted point from the center, (c,)."""
        norms = np.einsum("ij,ij->j", state.alpha, state.product)
        distances = self.diag[:, None] - 2 * state.product
        farthest = np.max(distances, axis=0, where=self.weights > 0, initial=-np.inf)
        return np.asarray(farthest + norms)

    def margin(self, state: _State) -> tuple[Array, Array]:
        """ρ and R², (c,), each the middle of its interval."""
        norms = np.einsum("ij,ij->j", state.alpha, state.product)
        rho, radius = np.empty_like(norms), np.empty_like(norms)
        for k in range(norms.size):
            product, alpha, weights = state.product[:, k], state.alpha[:, k], self.weights[:, k]
            rho[k] = margin(product, alpha, weights)
            radius[k] = norms[k] - margin(2 * product - self.diag, alpha, weights)
        return rho, np.maximum(radius, 0.0)

    # The start

    def start(self, previous: DualSolution | None) -> Array:
        """A first α, (n, c): shares of the weights and an order of the points, filled up."""
        if previous is not None:
            total = previous.coefficients.sum(axis=0)
            order = previous.product / np.maximum(total, np.finfo(total.dtype).tiny)
            alpha = _shares(previous) * self.weights
        else:
            order, alpha = self._order(), np.zeros_like(self.weights)
        for k in range(self.total.size):
            weights, values = self.weights[:, k], self.field_of(order[:, k])
            alpha[:, k] = _filled(alpha[:, k], weights, values)
        return alpha

    def _order(self) -> Array:
        """About what K α will be, (n, c): from every so many points, where these are enough."""
        n = self.weights.shape[0]
        rows = np.arange(0, n, max(1, -(-n // SAMPLE)))
        if n <= 2 * SAMPLE or ((self.weights[rows] > 0).sum(axis=0) < SMALLEST_SET // 2).any():
            return np.asarray(self.product(self.weights / self.weights.sum(axis=0)))
        K = np.ascontiguousarray(self.operator.entries(rows, rows), dtype=np.float64)
        # the sample stands for all: it takes up their weight
        weights = self.weights[rows] * (self.weights.sum(axis=0) / self.weights[rows].sum(axis=0))
        alpha = weights / weights.sum(axis=0)
        for k in range(self.total.size):
            order = self.field_of(K @ alpha[:, k], rows)
            alpha[:, k] = _filled(np.zeros(rows.size), weights[:, k], order)
            values = self.field_of(K @ alpha[:, k], rows)
            _solve_set(K, values, alpha[:, k], weights[:, k], SAMPLE_TOL * float(np.ptp(values)))
        used = np.flatnonzero(alpha.any(axis=1))
        return np.asarray(self.operator.partial_product(rows[used], alpha[used]), dtype=np.float64)

    # A step

    def improve(self, state: _State, active: Array, limit: Array) -> bool:
        """Solve a working set of every active column; False where nothing can move any more."""
        moved = np.zeros_like(state.alpha)
        for k in active:
            index, alpha = self._solved_set(state, int(k), float(limit[k]))
            moved[index, k] = alpha - state.alpha[index, k]
            state.alpha[index, k] = alpha
        rows = np.flatnonzero(moved.any(axis=1))
        if rows.size:
            state.product[:, active] += self.operator.partial_product(rows, moved[rows][:, active])
        return bool(rows.size)

    def _solved_set(self, state: _State, k: int, limit: float) -> tuple[Array, Array]:
        """The working set of a column, and its α at the set's own optimum."""
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
            # what one of them gains another loses: in separate sets they would never settle
            index = np.union1d(index, free)
        K = np.ascontiguousarray(self.operator.entries(index, index), dtype=np.float64)
        new = alpha[index]
        # where many are free a move is dear, and the points outside will ask for it again
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


def _stalled(gaps: list[float]) -> bool:
    return len(gaps) > PATIENCE and min(gaps[-PATIENCE:]) > 0.5 * min(gaps[:-PATIENCE])


def _shares(solution: DualSolution) -> Array:
    """α / w, (n, c), whole where rounding alone keeps it from being so."""
    alpha, weights = solution.coefficients, solution.weights
    shares = np.divide(alpha, weights, out=np.zeros_like(weights), where=weights > 0)
    return np.where(shares > 1 - 4 * np.finfo(alpha.dtype).eps, 1.0, shares)


def _filled(alpha: Array, weights: Array, order: Array) -> Array:
    """α brought to sum one: raised where the order is lowest, or lowered where it is highest."""
    missing = 1.0 - float(alpha.sum())
    rising = missing > 0
    room = weights - alpha if rising else alpha
    ranks = _first_with_room(order if rising else -order, room, abs(missing))
    room, begin = room[ranks], alpha[ranks]
    taken = np.diff(np.minimum(np.cumsum(room), abs(missing)), prepend=0.0)
    edge = weights[ranks] if rising else np.zeros_like(room)
    moved = begin + (taken if rising else -taken)
    filled = alpha.copy()
    # rounding must leave no room behind where a point is full, nor weight where it is empty
    filled[ranks] = np.where(taken >= FULL * room, np.where(room > 0, edge, begin), moved)
    return np.clip(filled, 0.0, weights)


def _first_with_room(order: Array, room: Array, missing: float) -> Array:
    """Rows in the given order, as many as are needed to take up what is missing."""
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
    """The points of largest excess among those allowed: twice as many as have some, in bounds."""
    index = np.flatnonzero(allowed)
    excess = excess[index]
    size = max(SMALLEST_SET, 2 * int((excess > limit / 4).sum())) // 2
    size = min(most, size, index.size)
    return np.asarray(index[np.argpartition(-excess, size - 1)[:size]])


def margin_interval(values: Array, alpha: Array, weights: Array) -> tuple[float, float]:
    """Largest value of the points with α > 0, and smallest of those with α < w.

    At the optimum the first is not above the second, and the margin lies between them.
    """
    high = np.max(values, where=alpha > 0, initial=-np.inf)
    low = np.min(values, where=alpha < weights, initial=np.inf)
    return float(high), float(low)


def margin(values: Array, alpha: Array, weights: Array) -> float:
    """Value on the margin, for values (n,) that fall with distance from the center.

    The middle between the largest with α > 0 and the smallest with α < w; where no point is left
    with α < w, the former.

    Examples
    --------
    >>> import numpy as np
    >>> margin(np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 0.0]), np.ones(3))
    3.0
    """
    high, low = margin_interval(values, alpha, weights)
    return (high + low) / 2 if np.isfinite(low) else high
