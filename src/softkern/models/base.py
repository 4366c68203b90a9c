"""What all estimators share: validation, the plan, the fitted state, and new points.

A fitted model is a few centres: support points, their coefficients and the centres' squared
norms. `fit` validates, plans, runs the loop and stores; everything a fitted model says of new
points goes through `_cross`, the one path.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from softkern.kernels import Kernel, Precomputed
from softkern.kernels.resolve import has_open_bandwidth
from softkern.models.html import fitted_html
from softkern.operators.base import CrossOperator, Geometry, KernelOperator
from softkern.operators.dense import DenseOperator
from softkern.operators.fourier import FourierOperator
from softkern.operators.tiled import TiledOperator
from softkern.planning import ENGINES, Plan, plan
from softkern.rows import check_weights
from softkern.solvers.alternate import Rule, Solution, alternate

__all__ = ["KernelModel"]

Array = NDArray[Any]

# Pairs of new and support points from which a Fourier grid is quicker than all pairs.
MANY_PAIRS = 3e8


class KernelModel(BaseEstimator):  # type: ignore[misc]
    """Base of all estimators; see the module's docstring.

    Subclasses have the parameters `kernel`, `kernel_params`, `bandwidth`, `engine`, some of them
    `engine_params`, `tol`, `max_iter`, `stopping`, `random_state` and `verbose`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [str, callable, Kernel],
        "kernel_params": [dict, None],
        "bandwidth": [str, Interval(Real, 0, None, closed="neither"), "array-like"],
        "engine": [StrOptions({"auto", *ENGINES})],
        "engine_params": [dict, None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "stopping": [StrOptions({"mean", "sum"})],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # What bandwidth="auto" means: near neighbours for densities, the whole for a few centres.
    _auto_bandwidth: ClassVar[str] = "auto"

    def _prepare(self, X: Any, sample_weight: Any, columns: int) -> tuple[KernelOperator, Array]:
        """Check everything, choose bandwidth and engine, and build the operator."""
        self._validate_params()
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        weight = check_weights(sample_weight, X.shape[0]).astype(X.dtype)
        self.sample_weight_ = weight
        chosen = plan(
            X,
            kernel=self.kernel,
            kernel_params=self.kernel_params,
            bandwidth=self._bandwidth_rule(),
            columns=columns,
            engine=self.engine,
            sample_weight=weight,
            random_state=self.random_state,
        )
        self._take_kernel(chosen.kernel)
        return self._build(chosen, X, weight), weight

    def _take_kernel(self, kernel: Kernel) -> None:
        """The kernel that was chosen, and its bandwidth for users to read."""
        self.kernel_ = kernel
        self.bandwidth_ = getattr(kernel, "bandwidth", None)
        if isinstance(self.bandwidth_, tuple):
            self.bandwidth_ = np.array(self.bandwidth_)

    def _build(self, chosen: Plan, X: Any, weight: Array) -> KernelOperator:
        """The operator of a plan, shown first where asked for."""
        self.engine_ = chosen
        options = dict(getattr(self, "engine_params", None) or {})
        if chosen.engine == "nystroem":
            options.setdefault("sample_weight", weight)
            options.setdefault("random_state", self.random_state)
        if self.verbose:
            from rich import print as show

            show(str(chosen))
        return chosen.build(X, **options)

    def _bandwidth_rule(self) -> Any:
        is_auto = isinstance(self.bandwidth, str) and self.bandwidth == "auto"
        is_open = is_auto and has_open_bandwidth(self.kernel, self.kernel_params)
        return self._auto_bandwidth if is_open else self.bandwidth

    def _run(
        self,
        operator: KernelOperator,
        rule: Rule,
        start: Array,
        weight: Array,
        description: str,
        first: Geometry | None = None,
    ) -> Solution:
        """The loop, with this model's stopping; `first` is the start's geometry where known."""
        return alternate(
            operator,
            rule,
            start,
            sample_weight=weight,
            tol=self.tol,
            max_iter=self.max_iter,
            geometry=first,
            stopping=getattr(self, "stopping", "mean"),
            verbose=bool(self.verbose),
            description=description,
        )

    def _record(self, solution: Solution) -> None:
        """How the loop went, for users to read."""
        self.n_iter_ = solution.n_iter
        self.converged_ = solution.converged
        self.objective_ = solution.objective
        self.history_ = solution.history
        if not solution.converged:
            warnings.warn(
                f"the change of memberships was {solution.history['change'][-1]:.2g} after "
                f"max_iter={self.max_iter} iterations, above tol={self.tol}; raise one of them.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _store(
        self,
        operator: KernelOperator,
        coefficients: Array,
        norms: Array,
        nonnegative: bool = False,
    ) -> None:
        """Keep what new points need: support points, coefficients, squared norms."""
        stored = operator.compressed(coefficients, nonnegative)
        self._support, self._coefficients = stored
        self._norms = norms
        if operator.engine == "nystroem":
            landmarks = TiledOperator(self.kernel_, self._support)
            self._norms = landmarks.squared_norms(self._coefficients)

    def _training(
        self, operator: KernelOperator, geometry: Geometry
    ) -> tuple[KernelOperator | CrossOperator, Geometry]:
        """How training points lie to the stored centres, and what multiplies them.

        Where the stored centres are not the loop's own, a training point is told the same as if
        it were new.
        """
        if operator.engine != "nystroem":
            return operator, geometry
        rows = self._cross(operator.X)
        return rows, rows.geometry(self._coefficients, self._norms)

    def _training_log_sums(
        self,
        rows: KernelOperator | CrossOperator,
        geometry: Geometry,
        a: Array,
        weight: Array,
    ) -> tuple[Array, Array]:
        """log K @ a of the training points, (n,), and the same without one copy of themselves.

        `rows` and `geometry` are those of `_training`, a (n,) the centre's coefficients.
        """
        if isinstance(rows, CrossOperator):  # points have no part of their own in the landmarks
            logs = rows.log_product(self._coefficients, geometry.product)[:, 0]
            return logs, logs
        logs = rows.log_product(a, geometry.product)
        if a.size == 1:
            return logs, logs
        return logs, rows.log_product_of_others(a, a / np.maximum(weight, 1), geometry.product)

    def _check_new(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(
            self, X, accept_sparse="csr", dtype=self._coefficients.dtype, reset=False
        )

    def _cross(self, X: Any) -> CrossOperator:
        """Kernel values between checked new points and the support, ready to be multiplied."""
        if isinstance(self.kernel_, Precomputed):
            return DenseOperator(self.kernel_, self._support).cross(X)
        pairs = float(X.shape[0]) * self._support.shape[0]
        if self.engine_.engine == "fourier" and pairs > MANY_PAIRS:
            return FourierOperator(self.kernel_, self._support).cross(X)
        return TiledOperator(self.kernel_, self._support).cross(X)

    def _new_distances(self, X: Any) -> Array:
        """Squared distance of new points to every centre, (m, c)."""
        X = self._check_new(X)
        return self._cross(X).squared_distances(self._coefficients, self._norms)

    # Notebooks ask for one or the other; both show scikit-learn's diagram first.

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + fitted_html(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += fitted_html(self)
        return bundle

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_precomputed
        return tags

    @property
    def _is_precomputed(self) -> bool:
        """Whether the user gives kernel values in place of points."""
        is_named = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return is_named or isinstance(self.kernel, Precomputed)

    @property
    def _is_density(self) -> bool:
        """Whether the kernel falls to zero far away: distances saturate there, log K @ A not."""
        return self.kernel_.is_shift_invariant
