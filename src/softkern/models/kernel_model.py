"""Base class of the estimators with a kernel: the plan, the stored centers, and new samples.

A fitted model is a few centers in feature space: support points, their coefficients and the
centers' squared norms. `fit` validates, plans, runs a solver and stores. Training samples and new
samples take the same path: one product with the kernel over the support points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from softkern._utils.arrays import on_host
from softkern._utils.sklearn_compat import Interval, StrOptions
from softkern._utils.typing import Array
from softkern.exceptions import ApproximationWarning, warn
from softkern.kernels import Kernel
from softkern.kernels.resolve import has_open_bandwidth
from softkern.kernels.wrapped import Precomputed
from softkern.models.base import SoftModel
from softkern.models.point_scores import PointScores
from softkern.models.state_schema import Floats, Indices, Pair, Spec
from softkern.operators.base import CrossOperator, Geometry, KernelOperator
from softkern.planning import Plan, plan
from softkern.rows import Rows
from softkern.rules.base import Centers, Rule
from softkern.solvers.alternate import alternate
from softkern.solvers.steps import STOPPING, Solution

# The stored centers, of the families that have them
SUPPORT: dict[str, Spec] = {
    "_support": Floats("sp", sparse=True),
    "support_": Indices("s", below="n"),
    "_density": Pair(Floats("lp", sparse=True), Floats("l|lk", low=0), nullable=True),
}
# Share of the kernel matrix left out by an approximation above which results may change: below
# it, labels and ranks of every model agree with the exact ones (benchmarks/calibrate.py).
LARGE_ERROR = 0.01
UNKNOWN_LENGTHS = (
    "Distances of new samples need their kernel values with themselves. kernel='precomputed' "
    "does not provide them where those of the training samples differ. Pass the kernel by name "
    "or as a function, or normalize the matrix: K_ij / √(K_ii K_jj)."
)


@dataclass(eq=False, repr=False, kw_only=True)
class KernelModel(SoftModel):
    """Base class of the estimators with a kernel. See the module's docstring."""

    kernel: Any = "rbf"
    kernel_params: dict[str, Any] | None = None
    bandwidth: Any = "auto"
    tol: float = 1e-4
    max_iter: int = 100

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [str, callable, Kernel],
        "kernel_params": [dict, None],
        "bandwidth": [str, Interval(Real, 0, None, closed="neither"), "array-like"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "stopping": [StrOptions(set(STOPPING))],
        **SoftModel._parameter_constraints,
    }
    # operators over stored points, by name
    _fitted: ClassVar[dict[str, Spec]] = {"_operators": Spec(transient=True)}
    _accepts_sparse: ClassVar[bool] = True

    # The rule behind bandwidth="auto": near neighbors for densities, all data for a few centers
    _auto_bandwidth: ClassVar[str] = "auto"
    # Expected products K @ A of a fit, for the plan
    _products: ClassVar[int] = 20
    _scores_class: ClassVar[type[PointScores]]
    # Message where new samples need K(x, x) and a kernel matrix has none; empty if they do not
    _unknown_lengths: ClassVar[str] = UNKNOWN_LENGTHS
    _description: ClassVar[str] = "fit"  # of the loop, in the progress bar
    # Number of samples from which the loop may use a low-rank surrogate; infinite for none
    _low_rank_from: ClassVar[float] = np.inf

    # Fitting

    def _planned(
        self, rows: Rows, n_vectors: int = 1, kernel: Kernel | None = None
    ) -> KernelOperator:
        """Plan the fit and return the operator over the rows."""
        if self._plan_like is not None:
            problem = replace(self._plan_like.problem, n=rows.shape[0])
            return self._build(replace(self._plan_like, problem=problem), rows)
        options = self._plan_options(kernel) | {"n_vectors": n_vectors}
        is_large = rows.shape[0] >= self._low_rank_from
        return self._build(plan(rows, **options, surrogate=is_large), rows)

    def _plan_options(self, kernel: Kernel | None = None) -> dict[str, Any]:
        """Return the arguments of `plan` that follow from the parameters, or a known kernel."""
        starts = self.n_init if isinstance(getattr(self, "init", None), str) else 1
        bandwidth = self._auto_bandwidth if self._is_bandwidth_open else self.bandwidth
        return {
            "kernel": kernel or self.kernel,
            "kernel_params": None if kernel else self.kernel_params,
            "bandwidth": "auto" if kernel else bandwidth,
            "products": int(self._products * starts),
            "engine": self.engine,
            "engine_params": self.engine_params,
            "random_state": self._fit_seed,
        }

    def _build(
        self, chosen: Plan, rows: Any, build: Callable[..., KernelOperator] = Plan.build
    ) -> KernelOperator:
        """Store a plan, printed if `verbose`, and build its operator. Warn of a large error."""
        self.plan_ = chosen
        self._operators: dict[str, KernelOperator] = {}  # prediction adds no attributes
        self.engine_, self.kernel_ = chosen.engine, chosen.kernel
        bandwidth = getattr(self.kernel_, "bandwidth", None)
        self.bandwidth_ = np.array(bandwidth) if isinstance(bandwidth, tuple) else bandwidth
        if self.verbose:
            from rich import print as show

            show(str(chosen))
        operator = build(chosen, rows, random_state=self._fit_seed)
        if chosen.fallback is not None and operator.engine != chosen.engine:
            self.plan_, self.engine_ = chosen.fallback, operator.engine
        self.approximation_error_ = float(operator.approximation_error)
        if not operator.error_is_known:
            self.plan_ = replace(self.plan_, approximation_error=self.approximation_error_)
        if self.approximation_error_ > LARGE_ERROR:
            warn(
                f"engine={self.engine_!r} leaves out {self.approximation_error_:.0%} of the kernel "
                "matrix (its trace), which may change clusters and ranks. Use a larger rank in "
                "engine_params, a larger bandwidth, or an exact engine.",
                ApproximationWarning,
            )
        return operator

    def _run_loop(
        self,
        operator: KernelOperator,
        rule: Rule,
        start: Centers,
        weight: Array,
        loop: Callable[..., Solution] = alternate,
        **options: Any,
    ) -> Solution:
        """Run a loop with the parameters of the model. `options` replace them or add others."""
        known = {
            "sample_weight": weight,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "stopping": self.stopping,
            "verbose": bool(self.verbose),
            "description": self._description,
        }
        return loop(operator, rule, start, **known | options)

    @property
    def _is_bandwidth_open(self) -> bool:
        """Whether the kernel has a bandwidth that "auto" chooses."""
        is_auto = isinstance(self.bandwidth, str) and self.bandwidth == "auto"
        return is_auto and has_open_bandwidth(self.kernel, self.kernel_params)

    @property
    def _is_precomputed(self) -> bool:
        if isinstance(self.kernel, Kernel):
            return not self.kernel.takes_points
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _store(
        self, operator: KernelOperator, solution: Solution, *, positive: bool = False
    ) -> None:
        """Store how the loop went, and the centers: support points, coefficients, squared norms.

        With `positive`, coefficients on landmarks are nonnegative too, as those of a density.
        """
        self._record(solution)
        coefficients = solution.coefficients
        self.support_, self._support, self.dual_coef_ = operator.compressed(coefficients, positive)
        self._norms = on_host(solution.geometry.norms)
        self._density: tuple[Any, Array] | None = None
        if operator.is_exact_support:
            return
        self._norms = self._stored_operator().squared_norms(self.dual_coef_)
        if self.kernel_.decays and not positive:
            # coefficients of both signs approximate a center best, but have no logarithm
            self._density = operator.compressed(coefficients, nonnegative=True)[1:]

    def _record(self, solution: Any, what: str = "memberships") -> None:
        """Store how the solver went, and warn where it did not converge."""
        self.n_iter_ = solution.n_iter
        self.converged_ = bool(solution.converged)
        self.objective_ = float(solution.objective)
        self.history_ = solution.history
        if self.converged_:
            return
        if getattr(solution, "cycle", 0):
            message = (
                f"Did not converge: the loop entered a cycle of {solution.cycle} steps and stopped "
                f"after {self.n_iter_} iterations at its best state. Try another initialization, "
                "nu, bandwidth or scale."
            )
        else:
            what = "objective" if getattr(self, "stopping", "") == "objective" else what
            message = (
                f"Did not converge within max_iter={self.max_iter} iterations (change of {what} "
                f"{solution.history['change'][-1]:.2g} > tol={self.tol}). Increase max_iter or tol."
            )
        warn(message, ConvergenceWarning)

    # Samples and the stored centers

    @property
    def support_vectors_(self) -> Any:
        """Training samples that new samples are compared with, (n_support, n_features).

        Most models keep all samples with a weight, one-class SVMs those on their boundary, and
        low-rank engines their landmarks. For a precomputed kernel they are kernel values.
        """
        check_is_fitted(self)
        return self._support

    @property
    def _columns(self) -> Array:
        """`dual_coef_` as (n_support, c)."""
        return self.dual_coef_.reshape(len(self.dual_coef_), -1)

    def _stored_operator(
        self, name: str = "support", points: Any = None, kernel: Kernel | None = None
    ) -> KernelOperator:
        """Return the operator over stored points, the support by default, built on first use."""
        operators: dict[str, KernelOperator] = self.__dict__.setdefault("_operators", {})
        if name not in operators:
            points = self._support if points is None else points
            kernel = self.kernel_ if kernel is None else kernel
            operators[name] = self.plan_.prediction_operator(points, kernel)
        return operators[name]

    def _check_new(self, X: Any) -> Any:
        X = super()._check_new(X)
        if not self.kernel_.has_bandwidth:  # others give a result however far a sample is
            self.kernel_.check(X)
        return X

    def _cross(self, X: Any) -> CrossOperator:
        """Validate new samples and return the operator between them and the support."""
        X = self._check_new(X)
        return self._stored_operator().cross(self.kernel_.restrict_new(X, self.support_))

    def _log_product(self, rows: CrossOperator, columns: Array, product: Array) -> Array:
        """Compute log K @ columns of samples, (m, c), on a coarser support if there is one."""
        if self._density is None:
            return rows.log_product(columns, product)
        points, coefficients = self._density
        return self._stored_operator("density", points).cross(rows.X).log_product(coefficients)

    def _geometry(self, rows: CrossOperator) -> Geometry:
        """Compute the geometry of samples relative to the stored centers."""
        if rows.lengths_are_known:
            return rows.geometry(self._columns, norms=self._norms)
        if self._unknown_lengths:
            raise ValueError(self._unknown_lengths)
        # clusters compete by differences of distances, which do not need K(x, x)
        product = rows @ self._columns
        return Geometry(product, self._norms, self._norms - 2 * product)

    def score_points(self, X: Any) -> PointScores:
        """Compute labels, memberships and scores of samples. See `SoftModel.score_points`."""
        rows = self._cross(X)
        return self._scores_class(model=self, rows=rows, geometry=self._geometry(rows))

    def _score_fitted(
        self, operator: KernelOperator, A: Array, geometry: Geometry, weight: Array
    ) -> Any:
        """Score the training samples, given the coefficients and the geometry of the loop.

        Those are not stored where the engine approximates.
        """
        rows: Any = operator
        if not operator.is_exact_support:
            rows = self._stored_operator().cross(operator.X)
            geometry = self._geometry(rows)
        training = operator, A, weight
        return self._scores_class(model=self, rows=rows, geometry=geometry, training=training)

    def _check_state(self) -> None:
        columns, n = self._support.shape[1], len(self.sample_weight_)
        is_matrix = isinstance(self.kernel_, Precomputed)
        if is_matrix and self.n_features_in_ != n:
            raise ValueError(f"a kernel matrix of {n} rows has {self.n_features_in_} columns.")
        expected = self._support.shape[0] if is_matrix else self.n_features_in_
        if columns != expected:
            raise ValueError(f"the support has {columns} columns, not {expected}.")
