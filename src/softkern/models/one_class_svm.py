"""Weighted one-class support vector machines as detectors: SVDD and OC-SVM.

Both find the few points that bound the data in feature space (`softkern.solvers.dual`); what they
say of new points goes through these points alone.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from softkern._utils.typing import Array
from softkern.exceptions import warn
from softkern.models.base import UNKNOWN_LENGTHS, KernelModel
from softkern.models.checks import check_semidefinite
from softkern.models.detector import Detector
from softkern.models.point_scores import Reading
from softkern.operators.base import CrossOperator, Geometry, KernelOperator
from softkern.rows import distinct_rows, lower_quantile, share_among_copies
from softkern.rules.one_class import OCSVM, SVDD, Formulation
from softkern.solvers.dual import DualSolution, margin, margin_interval, solve_dual
from softkern.solvers.stopping import progress_bar

__all__ = ["WeightedOneClassSVM", "WeightedSVDD"]

CROSSED = 0.005  # of the scores' range: the margin that α gives no longer fits the scores
LEAST_SCALE = 0.01  # of R²: the mean decision where nearly all points lie on the margin is rounding
PARTS = 5  # into which rows are split to be scored by machines of the others
ALL_PARTS_ROWS = 5000  # distinct rows; of more, one part is enough
FEWEST_ROWS = 20  # distinct rows; of fewer, parts say nothing
PART_TOL = 1e-6  # of these machines' duals
GOLDEN = (np.sqrt(5) - 1) / 2  # whose multiples, less whole numbers, are all different
LEAST_SIMILARITY = 0.01  # of the margin's: what is further is beyond any threshold
MARGIN_ERRORS = 8  # errors of a product by which a point on the margin may seem outside


class _OneClassDetector(Detector):
    """What both detectors share; they differ in the formulation."""

    _formulation: ClassVar[Formulation]
    _auto_bandwidth: ClassVar[str] = "boundary"
    _products: ClassVar[int] = 8  # 2 to 7 working sets for n = 300 to 5000, and the start's
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "nu": [Interval(Real, 0, 1, closed="right")],
        "nu_mode": [StrOptions({"relative", "absolute"})],
        "threshold": [StrOptions({"auto", "margin", "fresh"})],
    }
    _state: ClassVar[tuple[str, ...]] = ("radius_", "gap_", "_decision_scale")

    def __init__(
        self,
        *,
        nu: float = 0.1,
        nu_mode: str = "relative",
        threshold: str = "auto",
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
        self.threshold = threshold
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

    def _fit(self, X: Any, weight: Array) -> None:
        operator = self._planned(X, weight)
        check_semidefinite(operator)
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
        self._record_dual(solution)
        total = solution.coefficients.sum(axis=0)
        alpha = share_among_copies(X, solution.coefficients / total, weight)
        geometry = operator.geometry(alpha, solution.product / total)
        if operator.is_exact_support:
            self._store(operator, alpha, geometry.norms)
            self.dual_coef_ = self.dual_coef_[:, 0]
        else:  # support vectors are few already, so that no approximation takes their place
            self.support_ = np.flatnonzero(alpha[:, 0])
            self.dual_coef_ = alpha[self.support_, 0]
            self._support, self._density = X[self.support_], None
            self._norms = self._served().squared_norms(self._columns)
        geometry, reading = self._training_reading(operator, alpha, geometry)
        self.outlier_scores_ = (
            self._training_scores(operator, alpha, geometry, weight)
            if self.kernel_.decays
            else reading.outlier_scores
        )
        self._set_margin(operator, reading.scores, geometry.distances[:, 0], solution, weight)
        if self._is_fresh():
            self._lower_threshold(X, weight)
        self._set_decision_scale(reading.scores, weight)
        self.memberships_ = reading.memberships

    def _share(self, weight: Array) -> float:
        """ν as a share of the weights' sum."""
        if self.nu_mode == "relative":
            return float(self.nu)
        needed, total = self.nu * weight.size, float(weight.sum(dtype=np.float64))
        if needed > total * (1 + 1e-12):
            raise ValueError(
                f"nu_mode='absolute' needs weights whose sum is at least nu × n = {needed:.6g}, "
                f"and theirs is {total:.6g}: no α with α ≤ w / (nu n) sums to one (eq. 11). Lower "
                f"nu to {total / weight.size:.6g}, raise the weights, or use nu_mode='relative'."
            )
        return min(1.0, needed / total)

    def _record_dual(self, solution: DualSolution) -> None:
        self.n_iter_ = solution.n_iter
        self.converged_ = bool(solution.converged.all())
        self.gap_ = float(solution.gap[0])
        history = solution.history
        self.history_ = {"objective": history["objective"], "change": history["gap"]}
        self.objective_ = history["objective"][-1]
        if not self.converged_:
            remedy = "raise one of tol and max_iter"
            if self.n_iter_ < self.max_iter:
                remedy = "it fell no further; raise tol"
            warn(
                f"the KKT gap was {self.gap_:.2g} after {self.n_iter_} iterations "
                f"(max_iter={self.max_iter}), above tol={self.tol}; {remedy}.",
                ConvergenceWarning,
            )

    def _set_margin(
        self,
        operator: KernelOperator,
        scores: Array,
        distances: Array,
        solution: DualSolution,
        weight: Array,
    ) -> None:
        """Threshold, radius and the unit of decisions, from the training points, (n,) each."""
        alpha = solution.coefficients[:, 0]
        scores, distances = scores.astype(np.float64), distances.astype(np.float64)
        high, low = margin_interval(scores, alpha, weight)
        if not operator.is_exact_support and high - low > CROSSED * float(np.ptp(scores)):
            share = self._share(weight)
            threshold = lower_quantile(scores, weight, share)
            radius = -lower_quantile(-distances, weight, share)
        else:
            # points on the margin are inside it, whatever rounding and the tolerance say
            threshold = min(margin(scores, alpha, weight), low)
            radius = -margin(-distances, alpha, weight)
        error = self._served().error
        if operator.is_exact_support:  # it gave the scores of the training points
            error = max(error, operator.error)
        self.offset_ = threshold - MARGIN_ERRORS * error
        self.radius_ = float(np.sqrt(max(radius, 0.0)))

    def _set_decision_scale(self, scores: Array, weight: Array) -> None:
        mean = float(weight @ np.abs(scores - self.offset_) / weight.sum(dtype=np.float64))
        least = max(LEAST_SCALE * self.radius_**2, float(np.finfo(np.float64).tiny))
        self._decision_scale = max(mean, least)

    # A threshold for points that were not trained on

    def _is_fresh(self) -> bool:
        """Whether the threshold is calibrated on points that were left out."""
        if self.threshold == "auto":
            return self._is_bandwidth_open
        return self.threshold == "fresh"

    def _lower_threshold(self, X: Any, weight: Array) -> None:
        """Move the threshold out, so that about the share ν of fresh points is beyond it.

        Similarity to the center is K @ α for both formulations, and a squared distance falls by
        twice as much.
        """
        kernel = self.kernel_
        if not (kernel.decays and kernel.constant_diagonal and kernel.takes_points):
            raise ValueError(
                f"threshold='fresh' needs a kernel of points that vanishes far away, such as 'rbf',"
                f" and kernel={self.kernel!r} is none; use threshold='margin'."
            )
        diagonal = float(kernel.diag(X[:1])[0])
        on_margin = (diagonal + float(self._norms[0]) - self.radius_**2) / 2
        lowered = on_margin * (1 - self._fresh_quantile(X, weight))
        self.radius_ = float(np.sqrt(self.radius_**2 + 2 * lowered))
        self.offset_ -= lowered * (2 if self._formulation.needs_lengths else 1)

    def _fresh_quantile(self, X: Any, weight: Array) -> float:
        """The ν quantile of similarities of left-out rows, in units of the margin; at most one.

        Rows are left out in parts, and a machine of the others scores them. A training point holds
        the margin where it is, the more the narrower the kernel, and a fresh one does not.
        """
        index, mass = distinct_rows(X, weight)
        if index.size < FEWEST_ROWS:
            return 1.0
        part = np.empty(index.size, dtype=np.intp)
        part[_along_a_line(self.kernel_.scaled(X[index]))] = np.arange(index.size) % PARTS
        tried = range(PARTS if index.size <= ALL_PARTS_ROWS else 1)
        share, values = self._share(weight), []
        for number in tried:
            is_left_out = part == number
            operator = self.plan_.over(X[index[~is_left_out]], self.kernel_)
            solution = solve_dual(
                operator,
                mass[~is_left_out].astype(weight.dtype),
                share,
                tol=max(self.tol, PART_TOL),
                max_iter=self.max_iter,
            )
            similarity = operator.cross(X[index[is_left_out]]) @ solution.coefficients
            values.append((similarity[:, 0] / solution.rho[0], mass[is_left_out]))
        ratios, masses = (np.concatenate(parts) for parts in zip(*values, strict=True))
        return float(np.clip(lower_quantile(ratios, masses, share), LEAST_SIMILARITY, 1.0))

    def _geometry(self, rows: CrossOperator, needs_lengths: bool = True) -> Geometry:
        if self._formulation.needs_lengths and not rows.lengths_are_known:
            raise ValueError(f"{UNKNOWN_LENGTHS} WeightedOneClassSVM does without.")
        return super()._geometry(rows, needs_lengths=self._formulation.needs_lengths)

    def _scores(self, geometry: Geometry) -> Array:
        return np.asarray(self._formulation.score(geometry)[:, 0])

    def _typicality(self, geometry: Geometry, reading: Reading) -> Array:
        decision = reading.scores.astype(np.float64) - self.offset_
        with np.errstate(over="ignore"):  # infinitely many scales away, 0 or 1
            return expit(decision / self._decision_scale).astype(reading.scores.dtype)

    def memberships(self, X: Any) -> Array:
        """Typicality of new points, (m,): ½ on the margin; see `memberships_`."""
        return super().memberships(X)

    def outlier_scores(self, X: Any) -> Array:
        """The higher, the less typical, (m,).

        For kernels that vanish far away (rbf, laplacian), −log Σ α K(x, ·): in the order of
        `decision_function` but never saturated, so that ranks follow distance however far a point
        is; the fitted `outlier_scores_` are without a row's copies. For others, minus
        `score_samples`: the squared distance from the center for the SVDD; for the OC-SVM minus a
        similarity, which with the linear or polynomial kernel is low for a point far out on the
        data's own side of the origin.
        """
        return super().outlier_scores(X)


def _along_a_line(scaled: Any) -> NDArray[np.intp]:
    """The order of rows along one direction, of parts that lie alike and that rounding leaves so.

    The direction has another number for every column, so that values on a grid do not tie.
    """
    direction = 1 + np.arange(scaled.shape[1]) * GOLDEN % 1
    return np.argsort(scaled @ direction, kind="stable")


class WeightedSVDD(_OneClassDetector):
    """The smallest ball in feature space around the data, each point with a weight of its own.

    Support vector data description of Tax and Duin with weights: points may lie outside the ball
    at a price, and the price of a point is proportional to its weight.

    Parameters
    ----------
    nu : float in (0, 1], default=0.1
        At most this share of the weight lies outside the margin, at least this share on it or
        outside; about this share of fresh points, by default. At 1 the center is the weighted mean.
    nu_mode : {"relative", "absolute"}, default="relative"
        ``"relative"``: ν is a share of Σ w, 0 ≤ α_i ≤ w_i / (ν Σ w). ``"absolute"``: of the number
        of rows n, α_i ≤ w_i / (ν n), as eq. 11 of the 2009 paper has it; it needs Σ w ≥ ν n.
    threshold : {"auto", "margin", "fresh"}, default="auto"
        Where `predict` draws the line. ``"margin"``: on the margin of the dual, as the papers do.
        A narrow kernel holds every training point inside it, and rejects many more than the share
        ν of other points, up to half of them. ``"fresh"``: the margin moved out until about the
        share ν of fresh points is beyond it, which rows left out in five parts tell (in one, above
        5000 distinct rows). ``"auto"`` is "fresh" with ``bandwidth="auto"``, "margin" where a
        bandwidth is given or the kernel has none.
    kernel : str, callable or softkern.kernels.Kernel, default="rbf"
        Positive semidefinite.
    kernel_params : dict, default=None
    bandwidth : str, float or array of shape (d,), default="auto"
        See `softkern.kernels.select_bandwidth`; "auto" is "boundary", half as wide as the data. A
        narrow one such as "scott" with nu=0.5 ranks outliers better still.
    engine : str, default="auto"
        How products with the kernel matrix are computed; see `softkern.plan`.
    engine_params : dict, default=None
        Options of the operator, such as ``{"rank": 100}`` for ``engine="nystroem"``. Its α are
        approximate and scores exact; where they contradict each other, the threshold is the
        weighted ν-quantile of the training scores, so that ν keeps its meaning at a low rank.
    tol : float, default=1e-10
        Largest KKT gap, with Σ α = 1 and relative to the largest squared distance of a point from
        the center; for `WeightedOneClassSVM` relative to ρ, where it is smaller. The error of the
        engine's products is the least that is asked for.
    max_iter : int, default=1000
        Working sets of the solver, each followed by one product.
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
        −R², R the radius, less the solver's tolerance, so that points on it are inside.
        `decision_function` is `score_samples` less this: R² − D², D² the squared distance from
        the center.
    radius_ : float
        Distance of the threshold from the center Σ α Φ(x), in feature space.
    gap_ : float
        Where the solver stopped; see `tol`.
    outlier_scores_ : array of shape (n,)
        `outlier_scores` of the training points, each without its copies with kernels that vanish.
    bandwidth_, kernel_, plan_, engine_
        As in `OneClassPCM`.
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

    _formulation: ClassVar[Formulation] = SVDD()

    def score_samples(self, X: Any) -> Array:
        """Minus the squared distance from the center in feature space, (m,)."""
        return super().score_samples(X)


class WeightedOneClassSVM(_OneClassDetector):
    """The plane in feature space that keeps the data from the origin, each point with a weight.

    One-class SVM of Schölkopf et al. with weights. For kernels with a constant diagonal, such as
    "rbf", it has the coefficients of `WeightedSVDD`; only the scale of `decision_function` differs.

    Parameters
    ----------
    nu, nu_mode, threshold, kernel, kernel_params, bandwidth, engine, engine_params
        As in `WeightedSVDD`.
    tol, max_iter, random_state, verbose
        As in `WeightedSVDD`.

    Attributes
    ----------
    offset_ : float
        ρ, or what `threshold` makes of it, less the solver's tolerance, so that points on it are
        inside.
        `decision_function` is `score_samples` less this: Σ α K(x, ·) − ρ with Σ α = 1.
    memberships_, support_, dual_coef_, radius_, gap_, outlier_scores_
        As in `WeightedSVDD`.
    bandwidth_, kernel_, plan_, engine_, n_iter_, converged_, objective_, history_
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

    _formulation: ClassVar[Formulation] = OCSVM()

    def score_samples(self, X: Any) -> Array:
        """Similarity Σ α K(x, ·) to the support vectors, with Σ α = 1, (m,)."""
        return super().score_samples(X)
