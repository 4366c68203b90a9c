"""Weighted one-class support vector machines as detectors: SVDD and OC-SVM.

Both find the few samples that bound the data in feature space (`softkern.solvers.dual`). New
samples are compared with these support vectors only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from softkern._utils.arrays import on_host
from softkern._utils.progress import progress_bar
from softkern._utils.sklearn_compat import Interval, StrOptions
from softkern._utils.typing import Array
from softkern.exceptions import warn
from softkern.models.checks import check_semidefinite
from softkern.models.detector import Detector, DetectorScores
from softkern.models.kernel_model import UNKNOWN_LENGTHS, KernelModel
from softkern.models.state_schema import Number, Spec
from softkern.operators.base import Geometry, KernelOperator
from softkern.rows import Rows, lower_quantile
from softkern.rules.one_class import OCSVM, SVDD, Formulation, margin, margin_interval
from softkern.solvers.dual import DualSolution, solve_dual

__all__ = ["WeightedOneClassSVM", "WeightedSVDD"]

CROSSED = 0.005  # of the scores' range: beyond, the margin from α contradicts the scores
LEAST_SCALE = 0.01  # of R²: a smaller mean decision is rounding, where samples lie on the margin
PARTS = 5  # folds of samples that are scored by SVMs of the others
ALL_PARTS_ROWS = 5000  # distinct samples; for more, one fold is enough
FEWEST_ROWS = 20  # distinct samples; with fewer, folds are not meaningful
PART_TOL = 1e-6  # tolerance of these SVMs' duals
GOLDEN = (np.sqrt(5) - 1) / 2  # the fractional parts of its multiples all differ
LEAST_SIMILARITY = 0.01  # relative to the margin's; what is further is beyond any threshold
MARGIN_ERRORS = 8  # errors of a product by which a sample on the margin may seem outside


class MarginScores(DetectorScores):
    """Results of samples from their score relative to the margin."""

    @cached_property
    def scores(self) -> Array:
        """Score of the formulation, (m,)."""
        return np.asarray(self.model._formulation.score(self.geometry)[:, 0])

    @cached_property
    def memberships(self) -> Array:
        decision = self.scores.astype(np.float64) - self.model.offset_
        with np.errstate(over="ignore"):  # 0 or 1 at infinitely many scales
            return expit(decision / self.model._decision_scale).astype(self.scores.dtype)


@dataclass(eq=False, repr=False, kw_only=True)
class _OneClassDetector(Detector):
    """Common base class of both detectors, which differ in the formulation."""

    _formulation: ClassVar[Formulation]
    _auto_bandwidth: ClassVar[str] = "boundary"
    _products: ClassVar[int] = 8  # 2 to 7 working sets for n = 300 to 5000, and the start's
    nu: float = 0.1
    nu_mode: str = "relative"
    threshold: str = "auto"
    tol: float = 1e-10
    max_iter: int = 1000

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "nu": [Interval(Real, 0, 1, closed="right")],
        "nu_mode": [StrOptions({"relative", "absolute"})],
        "threshold": [StrOptions({"auto", "margin", "fresh"})],
    }
    _fitted: ClassVar[dict[str, Spec]] = {
        "radius_": Number(low=0),
        "gap_": Number(),
        "_decision_scale": Number(low=0, above=True),
    }
    _scores_class = MarginScores

    @property
    def scores_are_flat_within_margin(self) -> bool:
        """Whether most samples lie within the margin, where all have similar scores."""
        return self.nu < 0.5

    def _fit(self, rows: Rows) -> None:
        operator, weight = self._planned(rows), rows.weight
        check_semidefinite(operator)
        solution = self._solve(operator, weight)
        total = solution.coefficients.sum(axis=0)
        alpha = rows.share_among_duplicates(solution.coefficients / total)
        geometry = operator.geometry(alpha, solution.product / total)
        # not the landmarks of an approximation: support vectors are few already
        self.support_ = np.flatnonzero(alpha[:, 0])
        self.dual_coef_ = alpha[self.support_, 0]
        self._support = self.kernel_.restrict(operator.X, self.support_)
        self._density = None
        self._norms = on_host(geometry.norms)
        if not operator.is_exact_support:
            self._norms = self._stored_operator().squared_norms(self._columns)
        results = self._score_fitted(operator, alpha, geometry, weight)
        self.outlier_scores_ = results.outlier_scores
        self._set_margin(operator, results.geometry, solution.coefficients[:, 0], weight)
        if self.threshold == "fresh" or (self.threshold == "auto" and self._is_bandwidth_open):
            self._lower_threshold(rows)
        mean = float(weight @ np.abs(results.scores - self.offset_) / weight.sum(dtype=np.float64))
        least = max(LEAST_SCALE * self.radius_**2, float(np.finfo(np.float64).tiny))
        self._decision_scale = max(mean, least)
        self.memberships_ = results.memberships

    def _solve(self, operator: KernelOperator, weight: Array) -> DualSolution:
        """Solve the dual, store how it went, and warn where it did not converge."""
        title, goal = f"weighted {self._formulation.name}", self.tol
        with progress_bar(bool(self.verbose), title, goal, self.max_iter, "gap") as report:
            solution = solve_dual(
                operator,
                weight,
                self._share(weight),
                formulation=self._formulation,
                tol=self.tol,
                max_iter=self.max_iter,
                report=report,
            )
        history = solution.history
        self.history_ = {"objective": history["objective"], "change": history["gap"]}
        self.objective_ = history["objective"][-1]
        self.n_iter_, self.gap_ = solution.n_iter, float(solution.gap[0])
        self.converged_ = bool(solution.converged.all())
        if not self.converged_:
            remedy = "Increase max_iter or tol"
            if self.n_iter_ < self.max_iter:
                remedy = "It fell no further; increase tol"
            warn(
                f"Did not converge within max_iter={self.max_iter} iterations (KKT gap "
                f"{self.gap_:.2g} > tol={self.tol} after {self.n_iter_}). {remedy}.",
                ConvergenceWarning,
            )
        return solution

    def _share(self, weight: Array) -> float:
        """Return ν as a share of the sum of the weights."""
        if self.nu_mode == "relative":
            return float(self.nu)
        needed, total = self.nu * weight.size, float(weight.sum(dtype=np.float64))
        if needed > total * (1 + 1e-12):
            raise ValueError(
                f"nu_mode='absolute' needs a sum of weights of at least nu × n = {needed:.6g}, not "
                f"{total:.6g}: no α with α ≤ w / (nu n) sums to one (eq. 11). Decrease nu to "
                f"{total / weight.size:.6g}, increase the weights, or use nu_mode='relative'."
            )
        return min(1.0, needed / total)

    def _set_margin(
        self, operator: KernelOperator, geometry: Geometry, alpha: Array, weight: Array
    ) -> None:
        """Set threshold and radius from the geometry of the training samples and the dual."""
        scores = self._formulation.score(geometry)[:, 0].astype(np.float64)
        distances = geometry.distances[:, 0].astype(np.float64)
        high, low = margin_interval(scores, alpha, weight)
        if not operator.is_exact_support and high - low > CROSSED * float(np.ptp(scores)):
            share = self._share(weight)
            threshold = lower_quantile(scores, weight, share)
            radius = -lower_quantile(-distances, weight, share)
        else:
            # samples on the margin are inside, in spite of rounding and the tolerance
            threshold = float(min(margin(scores, alpha, weight), low))
            radius = -float(margin(-distances, alpha, weight))
        error = self._stored_operator().error
        if operator.is_exact_support:  # it computed the scores of the training samples
            error = max(error, operator.error)
        self.offset_ = threshold - MARGIN_ERRORS * error
        self.radius_ = float(np.sqrt(max(radius, 0.0)))

    def _lower_threshold(self, rows: Rows) -> None:
        """Move the threshold out, so that about the share ν of new samples is beyond it.

        Similarity to the center is K @ α in both formulations, and a squared distance falls by
        twice as much.
        """
        kernel = self.kernel_
        if not (kernel.decays and kernel.constant_diagonal and kernel.takes_points):
            raise ValueError(
                f"threshold='fresh' needs a kernel that decays to zero, such as 'rbf', not "
                f"kernel={self.kernel!r}. Use threshold='margin'."
            )
        diagonal = float(kernel.diag(rows.X[:1])[0])
        on_margin = (diagonal + float(self._norms[0]) - self.radius_**2) / 2
        lowered = on_margin * (1 - self._fresh_quantile(rows))
        self.radius_ = float(np.sqrt(self.radius_**2 + 2 * lowered))
        self.offset_ -= lowered * (2 if self._formulation.needs_lengths else 1)

    def _fresh_quantile(self, rows: Rows) -> float:
        """Return the ν quantile of similarities of left-out samples, relative to the margin.

        Samples are left out in folds, and an SVM of the others scores them: a training sample holds
        the margin in place, the more the narrower the kernel, and a new one does not.
        """
        X, weight = rows.X, rows.weight
        index, mass = rows.distinct
        if index.size < FEWEST_ROWS:
            return 1.0
        part = np.empty(index.size, dtype=np.intp)
        # folds are distributed alike: by the order along one direction, which has a different
        # number for every feature, so that values on a grid do not tie
        scaled = self.kernel_.scaled(X[index])
        direction = 1 + np.arange(scaled.shape[1]) * GOLDEN % 1
        part[np.argsort(scaled @ direction, kind="stable")] = np.arange(index.size) % PARTS
        folds = PARTS if index.size <= ALL_PARTS_ROWS else 1
        share, ratio = self._share(weight), np.zeros(index.size)
        for number in range(folds):
            rest, left_out = np.flatnonzero(part != number), np.flatnonzero(part == number)
            operator = self.plan_.prediction_operator(X[index[rest]], self.kernel_)
            solution = solve_dual(
                operator,
                mass[rest].astype(weight.dtype),
                share,
                tol=max(self.tol, PART_TOL),
                max_iter=self.max_iter,
            )
            similarity = operator.cross(X[index[left_out]]) @ solution.coefficients
            ratio[left_out] = similarity[:, 0] / solution.rho[0]
        is_scored = part < folds
        quantile = lower_quantile(ratio[is_scored], mass[is_scored], share)
        return float(np.clip(quantile, LEAST_SIMILARITY, 1.0))


class WeightedSVDD(_OneClassDetector):
    """Support vector data description: the smallest ball around weighted data in feature space.

    Samples may lie outside the ball at a price that is proportional to their weight (Tax and Duin,
    with weights).

    Parameters
    ----------
    nu : float in (0, 1], default=0.1
        At most this share of the weight lies outside the margin, at least this share on it or
        outside. By default it is also about the share of new samples that are rejected. At 1 the
        center is the weighted mean.
    nu_mode : {"relative", "absolute"}, default="relative"
        ``"relative"``: ν is a share of Σ w, 0 ≤ α_i ≤ w_i / (ν Σ w). ``"absolute"``: ν is a share
        of the n samples, α_i ≤ w_i / (ν n), as in eq. 11 of the 2009 paper. It needs Σ w ≥ ν n.
    threshold : {"auto", "margin", "fresh"}, default="auto"
        Threshold of `predict`. ``"margin"``: the margin of the dual, as in the papers, beyond which
        a narrow kernel finds up to half of all new samples. ``"fresh"``: the margin moved out until
        about the share ν of new samples is beyond it, estimated by leaving samples out in five
        folds (one fold above 5000 distinct samples). ``"auto"`` is "fresh" with
        ``bandwidth="auto"``, and "margin" where a bandwidth is given or the kernel has none.
    kernel : str, callable or softkern.kernels.Kernel, default="rbf"
        Positive semidefinite kernel, by name, as a function of two arrays, or as an object.
    kernel_params : dict, default=None
        Parameters of a kernel that is given by name or as a function.
    bandwidth : str, float or array of shape (n_features,), default="auto"
        Bandwidth of the kernel, or a rule of `softkern.kernels.select_bandwidth`. ``"auto"`` is
        "boundary", half as wide as the data. "scott" with nu=0.5 ranks outliers better still.
    engine : str, default="auto"
        How products with the kernel matrix are computed. See `softkern.plan`.
    engine_params : dict, default=None
        Options of the engine, such as ``{"rank": 100}`` for ``engine="nystroem"``. Its α are
        approximate and its scores exact. Where they disagree, the threshold is the weighted
        ν-quantile of the training scores.
    tol : float, default=1e-10
        Largest KKT gap, with Σ α = 1, relative to the largest squared distance from the center (for
        `WeightedOneClassSVM` to ρ, if smaller), but at least the error of the engine's products.
    max_iter : int, default=1000
        Largest number of working sets of the solver, each followed by one product.
    random_state : int, RandomState or None, default=0
        Random seed.
    verbose : bool, default=False
        Whether to print the plan and show a progress bar.

    Attributes
    ----------
    memberships_ : array of shape (n_samples,)
        Typicality of the training samples, 1 / (1 + exp(−d/s)): d their `decision_function`, s the
        weighted mean of ``|d|`` (at least R²/100). One half on the margin, more inside.
    support_ : array of shape (n_support,)
        Indices of the training samples with α > 0.
    dual_coef_ : array of shape (n_support,)
        α of these samples. They sum to one.
    offset_ : float
        −R², R the radius, minus the solver's tolerance, so that samples on the margin are inside.
        `decision_function` is `score_samples` minus this: R² − D², D² the squared distance from
        the center.
    radius_ : float
        Distance of the threshold from the center Σ α Φ(x) in feature space.
    gap_ : float
        KKT gap at which the solver stopped. See `tol`.
    outlier_scores_ : array of shape (n_samples,)
        Outlier scores, leave-one-out with kernels that vanish far away. See Notes.
    bandwidth_, kernel_, plan_, engine_, approximation_error_, n_iter_, converged_, objective_
        As in `OneClassPCM`, for the solver of the dual.
    history_ : dict
        Objective of every iteration, and the KKT gap as ``"change"``.

    Notes
    -----
    `score_samples` is minus the squared distance from the center in feature space. `outlier_scores`
    is −log Σ α K(x, ·) for kernels that vanish far away (rbf, laplacian): in the order of
    `decision_function`, but without saturation. For other kernels it is minus `score_samples`.

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

    _formulation: ClassVar[Formulation] = SVDD
    _unknown_lengths = f"{UNKNOWN_LENGTHS} WeightedOneClassSVM does not need them."


class WeightedOneClassSVM(_OneClassDetector):
    """One-class SVM: the hyperplane that separates weighted data from the origin.

    For kernels with a constant diagonal, such as "rbf", it has the coefficients of `WeightedSVDD`,
    and only the scale of `decision_function` differs (Schölkopf et al., with weights).

    Parameters
    ----------
    nu : float in (0, 1], default=0.1
        At most this share of the weight lies outside the margin. See `WeightedSVDD`.
    nu_mode : {"relative", "absolute"}, default="relative"
        Whether ν is a share of the sum of weights or of the number of samples.
    threshold : {"auto", "margin", "fresh"}, default="auto"
        Threshold of `predict`: the margin, or the margin moved out until about the share ν of new
        samples is beyond it. See `WeightedSVDD`.
    kernel : str, callable or softkern.kernels.Kernel, default="rbf"
        Positive semidefinite kernel, by name, as a function of two arrays, or as an object.
    kernel_params : dict, default=None
        Parameters of a kernel that is given by name or as a function.
    bandwidth : str, float or array of shape (n_features,), default="auto"
        Bandwidth of the kernel, or a rule that chooses it. ``"auto"`` is the rule "boundary".
    engine, engine_params
        As in `WeightedSVDD`.
    tol : float, default=1e-10
        Largest KKT gap. See `WeightedSVDD`.
    max_iter : int, default=1000
        Largest number of working sets of the solver, each followed by one product.
    random_state, verbose
        As in `WeightedSVDD`.

    Attributes
    ----------
    offset_ : float
        ρ, adjusted by `threshold`, minus the solver's tolerance, so that samples on the margin are
        inside. `decision_function` is `score_samples` minus this: Σ α K(x, ·) − ρ with Σ α = 1.
    memberships_, support_, dual_coef_, radius_, gap_, outlier_scores_
        As in `WeightedSVDD`.
    bandwidth_, kernel_, plan_, engine_, approximation_error_, n_iter_, converged_, \
objective_, history_
        As in `WeightedSVDD`.

    Notes
    -----
    `score_samples` is the similarity Σ α K(x, ·) to the support vectors. For kernels that do not
    vanish far away, `outlier_scores` is minus that similarity: with the linear or polynomial kernel
    it is low for a sample far out on the data's own side of the origin.

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

    _formulation: ClassVar[Formulation] = OCSVM
    _unknown_lengths = ""
