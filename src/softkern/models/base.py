"""What all estimators share: validation, the plan, the fitted state, and new points.

A fitted model is a few centers: support points, their coefficients and the centers' squared norms.
`fit` validates, plans, runs a solver and stores. What a fitted model says of new points goes
through one operator over the stored support, which the plan builds (`_served`), and one `reading`
of it, the training points' as the new ones'.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from softkern._utils.arrays import on_host
from softkern._utils.random import fixed_seed
from softkern._utils.typing import Array
from softkern.dask import is_chunked
from softkern.exceptions import ApproximationWarning, warn
from softkern.kernels import Kernel
from softkern.kernels.resolve import has_open_bandwidth
from softkern.models._array_dispatch import answering, taken
from softkern.models.checks import check_scales
from softkern.models.html import fitted_html
from softkern.operators.base import CrossOperator, Geometry, KernelOperator
from softkern.planning import Plan, plan
from softkern.rows import check_weights, duplicate_groups, remembered
from softkern.solvers.stopping import STOPPING

__all__ = ["FIT_ATTRIBUTES", "SAMPLE_ATTRIBUTES", "UNKNOWN_LENGTHS", "KernelModel"]

# Fitted attributes that say how a fit went; those of an inner model where a model is made of one.
FIT_ATTRIBUTES = (
    "kernel_",
    "bandwidth_",
    "plan_",
    "engine_",
    "approximation_error_",
    "n_iter_",
    "converged_",
    "objective_",
    "history_",
)

# What a fit to Dask arrays keeps of the sample that stands for all rows: their numbers, weights
# that sum to those of all, and how far out they are.
SAMPLE_ATTRIBUTES = ("sample_rows_", "sample_row_weights_", "sample_outlier_scores_")

# Part of the kernel matrix that an approximation leaves out from which it may change the answer:
# below it labels and ranks of every model agree with the exact ones (benchmarks/calibrate.py).
LARGE_ERROR = 0.01
UNKNOWN_LENGTHS = (
    "distances of new points need their kernel values with themselves, which kernel='precomputed' "
    "does not give where those of the training points differ. Give the kernel by name or as a "
    "function, or a matrix with a constant diagonal, K_ij / √(K_ii K_jj)."
)
# What models say of rows; see `softkern.models._array_dispatch`.
ANSWERS = {
    "decision_function",
    "fit_predict",
    "mean_similarity",
    "memberships",
    "outlier_scores",
    "outlier_weights",
    "overlap_scores",
    "predict",
    "projections",
    "score_samples",
    "typicality",
}
LEAST_LEFT = 1e-3  # of a sum without its largest part, where the sum is an approximation


class KernelModel(BaseEstimator, ABC):  # type: ignore[misc]
    """Base of all estimators; see the module's docstring.

    Subclasses have the parameters `kernel`, `kernel_params`, `bandwidth`, `engine`,
    `engine_params`, `tol`, `max_iter`, most of them `stopping`, `random_state` and `verbose`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [str, callable, Kernel],
        "kernel_params": [dict, None],
        "bandwidth": [str, Interval(Real, 0, None, closed="neither"), "array-like"],
        "engine": [str],
        "engine_params": [dict, None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "stopping": [StrOptions(set(STOPPING))],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    # What `files` keeps of a fitted model beside its parameters; subclasses add theirs.
    _state: ClassVar[tuple[str, ...]] = (
        "n_features_in_",
        "feature_names_in_",
        "sample_weight_",
        *SAMPLE_ATTRIBUTES,
        *FIT_ATTRIBUTES,
        "support_",
        "dual_coef_",
        "_support",
        "_norms",
        "_density",
    )
    _caches: ClassVar[tuple[str, ...]] = ("_operators", "_fit_seed")

    # What bandwidth="auto" means: near neighbors for densities, the whole for a few centers.
    _auto_bandwidth: ClassVar[str] = "auto"
    # Products K @ A that a fit is expected to make, for the plan.
    _products: ClassVar[int] = 20
    # Whether the loop is array operations alone, and runs over Dask arrays as it is
    _loops_in_chunks: ClassVar[bool] = False
    # Rows from which on most of them may be those of a low-rank factor; none where it is infinite.
    _ahead_from: ClassVar[float] = np.inf

    def __init_subclass__(cls, **options: Any) -> None:
        """Methods that answer for rows do so where the rows' arrays live."""
        super().__init_subclass__(**options)
        for name in ANSWERS:
            method = getattr(cls, name, None)
            if method is not None:
                setattr(cls, name, answering(method))

    # Fitting

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or a Gram matrix for kernel="precomputed"
            Of a Dask array or dataframe, fitted attributes of all rows are Dask arrays.
        y : ignored
        sample_weight : array of shape (n,), default=None
            A weight of two counts a row twice.
        """
        self._validate_params()
        self._check_parameters()
        self._fit_seed = fixed_seed(self.random_state)  # one draw, whatever the fit does with it
        for name in SAMPLE_ATTRIBUTES:  # of an earlier fit
            self.__dict__.pop(name, None)
        if is_chunked(X):
            from softkern.dask.fit import fit_in_chunks

            fit_in_chunks(self, X, sample_weight)
            return self
        sparse = "csr" if self.__sklearn_tags__().input_tags.sparse else False
        with np.errstate(invalid="ignore"):  # a sum of infinities, before they are refused
            X = validate_data(self, taken(X), accept_sparse=sparse, dtype=[np.float64, np.float32])
        check_scales(X)
        self.sample_weight_ = check_weights(taken(sample_weight), X.shape[0]).astype(X.dtype)
        self._operators: dict[str, KernelOperator] = {}
        with config_context(assume_finite=True), remembered(X):  # it has been looked at
            self._fit(X, self.sample_weight_)
        return self

    def _check_parameters(self) -> None:
        """Refuse parameters that contradict each other, before any work."""

    @abstractmethod
    def _fit(self, X: Any, weight: Array) -> None:
        """Fit checked data."""

    def _planned(
        self, X: Any, weight: Array, n_vectors: int = 1, kernel: Kernel | None = None
    ) -> KernelOperator:
        """The operator over X, of the bandwidth and the engine that the plan chooses."""
        named = {
            "kernel": self.kernel,
            "kernel_params": self.kernel_params,
            "bandwidth": self._bandwidth_rule(),
        }
        self.plan_: Plan = plan(
            X,
            **(named if kernel is None else {"kernel": kernel}),
            n_vectors=n_vectors,
            products=self._expected_products(),
            engine=self.engine,
            engine_params=self.engine_params,
            sample_weight=weight,
            random_state=self._fit_seed,
            ahead=X.shape[0] >= self._ahead_from,
        )
        self.engine_ = self.plan_.engine
        self.kernel_ = self.plan_.kernel
        bandwidth = getattr(self.kernel_, "bandwidth", None)
        self.bandwidth_ = np.array(bandwidth) if isinstance(bandwidth, tuple) else bandwidth
        if self.verbose:
            from rich import print as show

            show(str(self.plan_))
        operator = self.plan_.build(X, sample_weight=weight, random_state=self._fit_seed)
        if self.plan_.instead is not None and operator.engine != self.engine_:
            self.plan_, self.engine_ = self.plan_.instead, operator.engine
        self._note_approximation(operator)
        return operator

    def _note_approximation(self, operator: KernelOperator) -> None:
        """Keep what an approximation leaves out of the kernel matrix, and warn where it is much."""
        self.approximation_error_ = float(operator.approximation_error)
        if not operator.error_is_known:
            self.plan_ = replace(self.plan_, approximation_error=self.approximation_error_)
        if self.approximation_error_ > LARGE_ERROR:
            warn(
                f"engine={self.engine_!r} leaves out {self.approximation_error_:.0%} of the kernel "
                "matrix (its trace), which may change clusters and ranks; use a larger rank in "
                "engine_params, a larger bandwidth, or an exact engine.",
                ApproximationWarning,
            )

    def _expected_products(self) -> int:
        starts = getattr(self, "n_init", 1) if isinstance(getattr(self, "init", None), str) else 1
        return int(self._products * starts)

    @property
    def _loop_options(self) -> dict[str, Any]:
        """When the loop is to stop, and whether it shows how far it is."""
        return {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "stopping": self.stopping,
            "verbose": bool(self.verbose),
        }

    @property
    def _is_bandwidth_open(self) -> bool:
        """Whether the kernel has a bandwidth and "auto" is to choose it."""
        is_auto = isinstance(self.bandwidth, str) and self.bandwidth == "auto"
        return is_auto and has_open_bandwidth(self.kernel, self.kernel_params)

    def _bandwidth_rule(self) -> Any:
        return self._auto_bandwidth if self._is_bandwidth_open else self.bandwidth

    def _store(
        self, operator: KernelOperator, coefficients: Array, norms: Array, *, positive: bool = False
    ) -> None:
        """Keep what new points need: support rows, their coefficients, squared norms.

        With `positive`, coefficients on landmarks are not negative either: a density stays one.
        """
        self.support_, self.dual_coef_ = operator.compressed(coefficients, nonnegative=positive)
        self._support = operator.points_at(self.support_)
        self._norms = on_host(norms)
        self._density: tuple[Any, Array] | None = None
        if operator.is_exact_support:
            return
        self._norms = self._served().squared_norms(self.dual_coef_)
        if self.kernel_.decays and not positive:
            # coefficients of both signs approach a center best, but have no logarithm
            rows, density = operator.compressed(coefficients, nonnegative=True)
            self._density = operator.points_at(rows), density

    def _record(self, solution: Any, what: str = "memberships") -> None:
        """How the solver went, for users to read; a warning where it did not arrive."""
        self.n_iter_ = solution.n_iter
        self.converged_ = bool(solution.converged)
        self.objective_ = float(solution.objective)
        self.history_ = solution.history
        if self.converged_:
            return
        if getattr(solution, "cycle", 0):
            message = (
                f"the loop ran in a cycle of {solution.cycle} steps and was stopped after "
                f"{self.n_iter_} iterations at the cycle's best state; another start, nu, "
                "bandwidth or scale may converge."
            )
        else:
            what = "the objective" if getattr(self, "stopping", "") == "objective" else what
            message = (
                f"the change of {what} was {solution.history['change'][-1]:.2g} after "
                f"{self.n_iter_} iterations (max_iter={self.max_iter}), above tol={self.tol}; "
                "raise one of them."
            )
        warn(message, ConvergenceWarning)

    # New points

    def _check_new(self, X: Any) -> Any:
        check_is_fitted(self)
        if is_chunked(X):
            raise TypeError(
                "rows of Dask arrays are read by predict, memberships, outlier_scores and the "
                "other methods that answer for every chunk; this one takes rows of this machine."
            )
        sparse = "csr" if self.__sklearn_tags__().input_tags.sparse else False
        dtype = self.sample_weight_.dtype
        with np.errstate(invalid="ignore"):
            X = validate_data(self, taken(X), accept_sparse=sparse, dtype=dtype, reset=False)
        if not self.kernel_.has_bandwidth:  # far from all else is an answer where there is one
            self.kernel_.check(X)
        return X

    @property
    def support_vectors_(self) -> Any:
        """The rows of the fit that new points are compared with, (n_support, d).

        Most models keep all that have a weight, one-class machines those on their boundary, and
        engines of low rank their landmarks. Of a precomputed kernel they are kernel values.
        """
        check_is_fitted(self)
        return self._support

    def _served(self) -> KernelOperator:
        """The operator over the stored support, of the fitted engine; built when first needed."""
        return self._kept("support", self._support)

    def _kept(self, name: str, points: Any, kernel: Kernel | None = None) -> KernelOperator:
        operators: dict[str, KernelOperator] = self.__dict__.setdefault("_operators", {})
        if name not in operators:
            operators[name] = self.plan_.over(points, self.kernel_ if kernel is None else kernel)
        return operators[name]

    def _served_density(self) -> tuple[KernelOperator, Array]:
        """The same for nonnegative coefficients, where log densities need their own."""
        assert self._density is not None
        return self._kept("density", self._density[0]), self._density[1]

    @property
    def _columns(self) -> Array:
        """`dual_coef_` as (n_support, c)."""
        return self.dual_coef_.reshape(len(self.dual_coef_), -1)

    def _rows(self, X: Any) -> CrossOperator:
        """Kernel values between new points and the support, ready to be multiplied."""
        X = self._check_new(X)
        return self._served().cross(self.kernel_.restrict_new(X, self.support_))

    def _geometry(self, rows: CrossOperator, needs_lengths: bool = True) -> Geometry:
        """How new points lie to the stored centers.

        Without `needs_lengths`, distances may be missing (NaN) where a precomputed kernel does not
        give the new points' values with themselves.
        """
        if rows.lengths_are_known:
            return rows.geometry(self._columns, self._norms)
        if needs_lengths:
            raise ValueError(UNKNOWN_LENGTHS)
        product = rows @ self._columns
        return Geometry(product, self._norms, np.full_like(product, np.nan))

    # Leave-the-copies-out

    @staticmethod
    def _log_sums_of_others(
        operator: KernelOperator, coefficients: Array, product: Array, weight: Array
    ) -> Array:
        """log K @ A of the training points, each without itself and its copies, (n, c).

        How much of the copies is left out, `softkern.rows.duplicate_groups` says.
        """
        first, left_out, _ = duplicate_groups(operator.X, weight)
        if np.unique(first[weight > 0]).size == 1:  # there are no others
            return operator.log_product(coefficients, product)
        together = _summed_at(first, coefficients)
        columns = [
            operator.log_product_of_others(a, a * left_out.astype(a.dtype), g)
            for a, g in zip(together.T, product.T, strict=True)
        ]
        return np.stack(columns, axis=1)[first]

    @staticmethod
    def _without_own(
        logs: Array, operator: KernelOperator, coefficients: Array, weight: Array
    ) -> Array:
        """The same where the stored centers approach the loop's: log K @ A less a point's own part.

        What is left of a point that is its own neighbor only is lost in the approximation.
        """
        first, left_out, _ = duplicate_groups(operator.X, weight)
        own = _summed_at(first, coefficients)[first] * left_out[:, None] * operator.diag()[:, None]
        return KernelModel._less(logs, own)

    @staticmethod
    def _less(logs: Array, own: Array) -> Array:
        """Logarithms of sums, less their own parts."""
        farthest = 0.5 * np.log(np.finfo(logs.dtype).max)  # beyond, the inverse might overflow
        inverse = np.exp(np.minimum(-logs, farthest))
        return logs + np.log(np.maximum(1 - own * inverse, LEAST_LEFT)).astype(logs.dtype)

    def _without_itself(
        self, logs: Array, own: Array, number: Array, A: Array, product: Array
    ) -> Array:
        """log K @ A of rows of a fit to chunks, each less its own part, (m, c).

        Exactly where the support is all rows, which are known by their number.
        """
        if self.plan_.options.get("rank") is not None:
            return self._less(logs, own)
        place = np.minimum(np.searchsorted(self.support_, number), len(self.support_) - 1)
        there = np.flatnonzero(self.support_[place] == number)
        others, served = logs.copy(), self._served()
        for k, a in enumerate(A.T):
            some = place[there]
            others[there, k] = served.log_product_of_others(a, a, product[there, k], some)
        return others

    def without_rows(self) -> Self:
        """A small copy of a model that was fitted to Dask arrays, without what it says of its rows.

        It answers for new points and can be sent, pickled and saved; of any other model, itself.
        """
        if not hasattr(self, "sample_rows_"):
            return self
        from softkern.dask.fit import alone

        return alone(self)

    # Notebooks ask for one or the other; both show scikit-learn's diagram first.

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + fitted_html(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += fitted_html(self)
        return bundle

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = str(super().__repr__(N_CHAR_MAX))
        error = getattr(self, "approximation_error_", 0.0)
        return f"{text} [{self.engine_}, error {error:.2g}]" if error else text

    # The operators over the support are built anew where they are needed.

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {**super().__getstate__()}
        state.pop("_operators", None)
        return state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_precomputed
        return tags

    @property
    def _is_precomputed(self) -> bool:
        """Whether the user gives kernel values in place of points."""
        if isinstance(self.kernel, Kernel):
            return not self.kernel.takes_points
        return isinstance(self.kernel, str) and self.kernel == "precomputed"


def _summed_at(first: Array, coefficients: Array) -> Array:
    """Coefficients (n, c) with those of copies summed in the row that stands for them."""
    together = np.zeros_like(coefficients)
    np.add.at(together, first, coefficients)
    return together
