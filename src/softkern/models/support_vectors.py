"""Weighted one-class support vector machines as detectors: SVDD and OC-SVM.

Both find the few points that bound the data in feature space, `solvers.dual` does the work,
and what they say of new points goes through these points alone.
"""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import OutlierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from softkern.kernels import Precomputed
from softkern.models.base import KernelModel
from softkern.operators.base import Geometry, KernelOperator
from softkern.operators.tiled import TiledOperator
from softkern.rows import share_among_copies
from softkern.solvers.alternate import progress_bar
from softkern.solvers.dual import (
    DualSolution,
    attainable_error,
    margin,
    margin_interval,
    solve_dual,
)

__all__ = [
    "UNKNOWN_LENGTHS",
    "WeightedOneClassSVM",
    "WeightedSVDD",
    "check_semidefinite",
    "lengths_are_known",
]

Array = NDArray[Any]

PROBE = 256  # rows on which an unknown kernel is tried
CROSSED = 0.005  # of the scores' range: what α says of the margin no longer fits the scores
UNKNOWN_LENGTHS = (
    "distances of new points need their kernel values with themselves, which kernel='precomputed' "
    "does not tell where those of the training points differ. Give the kernel by name or as a "
    "function, or a matrix with a constant diagonal, K_ij / √(K_ii K_jj)."
)


class _OneClassDetector(OutlierMixin, KernelModel):  # type: ignore[misc]
    """What both detectors share; a subclass says which formulation, and its score."""

    _formulation: ClassVar[str]
    _title: ClassVar[str]
    # Only a wide kernel rejects about ν of fresh points; a narrow one up to half of them at ν = .1,
    # the middle of the data among them.
    _auto_bandwidth: ClassVar[str] = "global"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "nu": [Interval(Real, 0, 1, closed="right")],
        "nu_mode": [StrOptions({"relative", "printed"})],
    }
    _state: ClassVar[tuple[str, ...]] = (
        "gap_",
        "support_",
        "offset_",
        "radius_",
        "_scale",
        "_others",
    )

    def __init__(
        self,
        *,
        nu: float = 0.1,
        nu_mode: str = "relative",
        kernel: Any = "rbf",
        kernel_params: dict[str, Any] | None = None,
        bandwidth: Any = "auto",
        engine: str = "auto",
        engine_params: dict[str, Any] | None = None,
        tol: float = 1e-10,
        max_iter: int = 1000,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.nu = nu
        self.nu_mode = nu_mode
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.bandwidth = bandwidth
        self.engine = engine
        self.engine_params = engine_params
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @property
    def scores_are_flat_within_margin(self) -> bool:
        """Whether most points lie within the margin, where all score alike."""
        return self.nu < 0.5

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the support vectors and the margin.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or a Gram matrix for kernel="precomputed"
        y : ignored
        sample_weight : array of shape (n,), default=None
            The paper's weights: how much of a point counts. A weight of two counts a row twice.
        """
        operator, weight = self._prepare(X, sample_weight, columns=1)
        check_semidefinite(operator)
        with progress_bar(bool(self.verbose), self._title, self.tol, self.max_iter) as report:
            solution = solve_dual(
                operator,
                weight,
                self._share(weight),
                formulation=self._formulation,
                tol=self.tol,
                max_iter=self.max_iter,
                report=report,
            )
        self._record_dual(solution)
        alpha = solution.coefficients / solution.coefficients.sum(axis=0)
        alpha = share_among_copies(operator.X, alpha, weight)
        geometry = operator.geometry(alpha, solution.product / solution.coefficients.sum(axis=0))
        self.support_ = np.flatnonzero(alpha[:, 0])
        self.dual_coef_ = alpha[self.support_, 0]
        self._store_support(operator, alpha, geometry.norms)
        rows, geometry = self._training(operator, geometry)
        self._set_margin(operator, geometry, solution, weight)
        _, self._others = (
            self._training_log_sums(rows, geometry, alpha[:, 0], weight)
            if self._is_density
            else (None, self._score(geometry))
        )
        return self

    def _store_support(self, operator: KernelOperator, alpha: Array, norms: Array) -> None:
        """Support vectors and their α: few already, so no approximation takes their place."""
        if operator.engine != "nystroem":
            self._store(operator, alpha, norms)
            return
        self._support, self._coefficients = operator.X[self.support_], alpha[self.support_]
        support = TiledOperator(self.kernel_, self._support)
        self._norms = support.squared_norms(self._coefficients)

    def _share(self, weight: Array) -> float:
        """ν as a share of the weights' sum."""
        if self.nu_mode == "relative":
            return float(self.nu)
        needed, total = self.nu * weight.size, float(weight.sum(dtype=np.float64))
        if needed > total * (1 + 1e-12):
            raise ValueError(
                f"nu_mode='printed' needs weights whose sum is at least nu × n = {needed:.6g}, and "
                f"theirs is {total:.6g}: no α with α ≤ w / (nu n) sums to one (eq. 11). Lower nu "
                f"to {total / weight.size:.6g}, raise the weights, or use nu_mode='relative'."
            )
        return min(1.0, needed / total)

    def _record_dual(self, solution: DualSolution) -> None:
        self.n_iter_ = solution.n_iter
        self.converged_ = bool(solution.converged.all())
        self.objective_ = solution.history["objective"][-1]
        self.gap_ = float(solution.gap[0])
        self.history_ = {
            "objective": solution.history["objective"],
            "change": solution.history["gap"],
        }
        if not self.converged_:
            warnings.warn(
                f"the optimality gap was {self.gap_:.2g} after {self.n_iter_} iterations, above "
                f"tol={self.tol}; raise one of tol and max_iter={self.max_iter}"
                f"{'' if self.n_iter_ == self.max_iter else ', the former as it fell no further'}.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _set_margin(
        self, operator: KernelOperator, geometry: Geometry, solution: DualSolution, weight: Array
    ) -> None:
        """Threshold, radius, and the typicality of the training points."""
        alpha = solution.coefficients[:, 0]
        scores = self._score(geometry).astype(np.float64)
        distances = geometry.distances[:, 0].astype(np.float64)
        high, low = margin_interval(scores, alpha, weight)
        if operator.engine == "nystroem" and high - low > CROSSED * float(np.ptp(scores)):
            share = self._share(weight)
            threshold = lower_quantile(scores, weight, share)
            radius = -lower_quantile(-distances, weight, share)
        else:
            # points on the margin are inside it, whatever rounding and the tolerance say
            threshold = min(margin(scores, alpha, weight), low)
            radius = -margin(-distances, alpha, weight)
        self.offset_ = threshold - 8 * attainable_error(operator)
        self.radius_ = float(np.sqrt(max(radius, 0.0)))
        decision = scores - self.offset_
        mean = float(weight @ np.abs(decision) / weight.sum(dtype=np.float64))
        # where nearly all points lie on the margin, their mean is rounding
        self._scale = max(mean, 0.01 * self.radius_**2, float(np.finfo(np.float64).tiny))
        self.memberships_ = self._typicality(decision).astype(operator.dtype)

    def _typicality(self, decision: Array) -> Array:
        return np.asarray(expit(decision / self._scale))

    def _score(self, geometry: Geometry) -> Array:
        """`score_samples` of the training points, (n,)."""
        raise NotImplementedError

    def _new_scores(self, X: Any) -> Array:
        """`score_samples` of checked new points, (m,)."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> Array:
        """`score_samples` less `offset_`, (m,): negative outside the margin."""
        return np.asarray(self.score_samples(X) - self.offset_)

    def predict(self, X: Any) -> NDArray[np.int_]:
        """−1 outside the margin, 1 on it and inside, (m,)."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def memberships(self, X: Any) -> Array:
        """Typicality of new points, (m,): ½ on the margin; see `memberships_`."""
        X = self._check_new(X)
        scores = self._new_scores(X)
        return self._typicality(scores - self.offset_).astype(scores.dtype)

    def outlier_scores(self, X: Any = None) -> Array:
        """The higher, the less typical, (m,).

        For kernels that vanish far away (rbf, laplacian), −log Σ α K(x, ·): in the order of
        `decision_function` but never saturated, so that ranks follow distance however far a point
        is, and of the training points none vouches for itself. For others, minus `score_samples`:
        the squared distance from the centre for the SVDD; for the OC-SVM minus a similarity, which
        with the linear or polynomial kernel is low for a point far out on the data's own side of
        the origin. Without X, the training points.
        """
        check_is_fitted(self)
        if X is None:
            return np.asarray(-self._others)
        X = self._check_new(X)
        if self._is_density:
            return np.asarray(-self._cross(X).log_product(self._coefficients)[:, 0])
        return -self._new_scores(X)


class WeightedSVDD(_OneClassDetector):
    """The smallest ball in feature space around the data, each point with a weight of its own.

    Support vector data description of Tax and Duin with weights: points may lie outside the ball
    at a price, and the price of a point is proportional to its weight.

    Parameters
    ----------
    nu : float in (0, 1], default=0.1
        At most this share of the weight lies outside the margin, at least this share on it or
        outside. At 1 the centre is the weighted mean.
    nu_mode : {"relative", "printed"}, default="relative"
        ``"relative"``: ν is a share of Σ w, 0 ≤ α_i ≤ w_i / (ν Σ w). ``"printed"``: of the number
        of rows n, α_i ≤ w_i / (ν n), as eq. 11 has it; it needs Σ w ≥ ν n.
    kernel : str, callable or softkern.kernels.Kernel, default="rbf"
        Positive semidefinite.
    kernel_params : dict, default=None
    bandwidth : str, float or array of shape (d,), default="auto"
        See `softkern.kernels.select_bandwidth`; "auto" is "global", as wide as the data, and
        rejects about the share ν. A narrow one such as "scott" with nu=0.5 ranks outliers better.
    engine : {"auto", "dense", "tiled", "fourier", "nystroem"}, default="auto"
        How products with the kernel matrix are computed; see `softkern.plan`.
    engine_params : dict, default=None
        Options of the operator, such as ``{"rank": 100}`` for ``engine="nystroem"``. Its α are
        approximate and scores exact; where they contradict each other, the threshold is the
        weighted ν-quantile of the training scores, so that ν keeps its meaning at a low rank.
    tol : float, default=1e-10
        Largest breach of the optimality conditions, with Σ α = 1 and relative to the largest
        squared distance of a point from the centre; `DualSolution` says how it
        compares with LIBSVM's.
    max_iter : int, default=1000
        Blocks of points, each followed by one product.
    random_state : int, RandomState or None, default=0
    verbose : bool, default=False
        Print the plan and show a progress bar.

    Attributes
    ----------
    memberships_ : array of shape (n,)
        Typicality of the training points, 1 / (1 + exp(−d/s)): d their `decision_function`, s the
        weighted mean of ``|d|`` (at least R²/100). One half on the margin, more inside.
    support_ : array of shape (n_support,)
        Rows with α > 0.
    dual_coef_ : array of shape (n_support,)
        α of these; they sum to one.
    offset_ : float
        −R², R the radius, less the solver's tolerance, so that points on the margin are inside.
        `decision_function` is `score_samples` less this: R² − D², D² the squared distance from
        the centre.
    radius_ : float
        Distance of the margin from the centre Σ α Φ(x), in feature space.
    gap_ : float
        Where the solver stopped; see `tol`.
    bandwidth_, kernel_, engine_
        What was chosen.
    n_iter_, converged_, objective_, history_
        How the solver went; ``history_["change"]`` is the gap.

    References
    ----------
    M. Bicego, M. A. T. Figueiredo, "Soft clustering using weighted one-class support vector
    machines", Pattern Recognition 42(1), 2009. :doi:`10.1016/j.patcog.2008.07.004`

    D. M. J. Tax, R. P. W. Duin, "Support vector data description", Machine Learning 54, 2004.
    :doi:`10.1023/B:MACH.0000008084.60811.49`

    Examples
    --------
    >>> import numpy as np
    >>> from softkern import WeightedSVDD
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = WeightedSVDD(nu=0.05).fit(X)
    >>> model.predict([[0, 0], [9, 9]])
    array([ 1, -1])
    >>> bool(np.mean(model.predict(X) == -1) <= 0.05)
    True
    """

    _formulation: ClassVar[str] = "svdd"
    _title: ClassVar[str] = "weighted SVDD"

    def _score(self, geometry: Geometry) -> Array:
        return np.asarray(-geometry.distances[:, 0])

    def _new_scores(self, X: Any) -> Array:
        if not lengths_are_known(self):
            raise ValueError(f"{UNKNOWN_LENGTHS} WeightedOneClassSVM does without.")
        return -self._cross(X).squared_distances(self._coefficients, self._norms)[:, 0]

    def score_samples(self, X: Any) -> Array:
        """Minus the squared distance from the centre in feature space, (m,)."""
        return self._new_scores(self._check_new(X))


class WeightedOneClassSVM(_OneClassDetector):
    """The plane in feature space that keeps the data from the origin, each point with a weight.

    One-class SVM of Schölkopf et al. with weights. For kernels with a constant diagonal, such as
    "rbf", it has the coefficients of `WeightedSVDD`; only the scale of `decision_function` differs.

    Parameters
    ----------
    nu, nu_mode, kernel, kernel_params, bandwidth, engine, engine_params
        As in `WeightedSVDD`.
    tol, max_iter, random_state, verbose
        As in `WeightedSVDD`.

    Attributes
    ----------
    offset_ : float
        ρ, less the solver's tolerance, so that points on the margin are inside.
        `decision_function` is `score_samples` less this: Σ α K(x, ·) − ρ with Σ α = 1.
    memberships_, support_, dual_coef_, radius_, gap_
        As in `WeightedSVDD`.
    bandwidth_, kernel_, engine_, n_iter_, converged_, objective_, history_
        As in `WeightedSVDD`.

    References
    ----------
    M. Bicego, M. A. T. Figueiredo, "Soft clustering using weighted one-class support vector
    machines", Pattern Recognition 42(1), 2009. :doi:`10.1016/j.patcog.2008.07.004`

    B. Schölkopf, J. C. Platt, J. Shawe-Taylor, A. J. Smola, R. C. Williamson, "Estimating the
    support of a high-dimensional distribution", Neural Computation 13(7), 2001.
    :doi:`10.1162/089976601750264965`

    Examples
    --------
    >>> import numpy as np
    >>> from softkern import WeightedOneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> weights = np.where(X[:, 0] > 0, 1.0, 0.01)  # the right half is what counts
    >>> model = WeightedOneClassSVM(nu=0.05).fit(X, sample_weight=weights)
    >>> model.predict([[1, 0], [-3, 0]])
    array([ 1, -1])
    """

    _formulation: ClassVar[str] = "ocsvm"
    _title: ClassVar[str] = "weighted OC-SVM"

    def _score(self, geometry: Geometry) -> Array:
        return np.asarray(geometry.product[:, 0])

    def _new_scores(self, X: Any) -> Array:
        return np.asarray((self._cross(X) @ self._coefficients)[:, 0])

    def score_samples(self, X: Any) -> Array:
        """Similarity Σ α K(x, ·) to the support vectors, with Σ α = 1, (m,)."""
        return self._new_scores(self._check_new(X))


def lower_quantile(values: Array, weight: Array, share: float) -> float:
    """The value below which at most the share of the weight lies, and at least it up to the value.

    Examples
    --------
    >>> import numpy as np
    >>> lower_quantile(np.array([3.0, 1.0, 2.0, 4.0]), np.ones(4), 0.5)
    2.0
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order], dtype=np.float64)
    place = np.searchsorted(reached, share * reached[-1] * (1 - 1e-12))
    return float(values[order[min(int(place), order.size - 1)]])


def lengths_are_known(model: KernelModel) -> bool:
    """Whether K(x, x) of new points follows from what a fitted model knows."""
    if not isinstance(model.kernel_, Precomputed):
        return True
    diag = np.asarray(model._support).diagonal()
    return bool(np.allclose(diag, diag[0], rtol=1e-6))


def check_semidefinite(operator: KernelOperator) -> None:
    """Raise a ValueError where the dual is not convex: the kernel is not positive semidefinite.

    Where nobody knows of the kernel, the values between some rows are looked at.
    """
    known = operator.kernel.is_positive_semidefinite
    if known is False:
        raise ValueError(
            f"{operator.kernel!r} is not positive semidefinite, and the one-class dual needs a "
            "kernel that is; use 'rbf', 'laplacian', 'linear' or 'poly' with coef0 ≥ 0."
        )
    if known is None:
        rows = np.unique(np.linspace(0, operator.shape[0] - 1, PROBE).astype(np.intp))
        values = operator.entries(rows, rows).astype(np.float64)
        spectrum = np.linalg.eigvalsh((values + values.T) / 2)
        if spectrum[0] < -100 * np.finfo(operator.dtype).eps * rows.size * np.abs(spectrum).max():
            raise ValueError(
                "the kernel is not positive semidefinite on these data: the matrix of "
                f"{rows.size} rows has the eigenvalue {spectrum[0]:.3g}. The one-class dual needs "
                "a kernel that is."
            )
