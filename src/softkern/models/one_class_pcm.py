"""One possibilistic cluster of all data in feature space: density, typicality, outliers.

Typicalities are u = exp(−D²/η), and the center is the mean of the data weighted by them
(Filippone, Masulli and Rovetta 2007, 2010): a robust kernel density.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softkern._utils.arrays import on_host
from softkern._utils.sklearn_compat import Interval
from softkern._utils.typing import Array
from softkern.kernels import Kernel
from softkern.models.checks import FEWEST_DIGITS, check_semidefinite
from softkern.models.detector import Detector, DetectorScores
from softkern.models.kernel_model import KernelModel
from softkern.models.point_scores import log_sums_of_others, subtract_own_parts
from softkern.models.reduction import reduce_center
from softkern.models.state_schema import Check, Floats, Number, Spec, kernel_problem
from softkern.models.two_scale_scores import (
    WIDE,
    WIDEST,
    combine_scales,
    isolated_rows,
    log_background_density,
    median_distance,
    robust_location_scale,
    widen_kernel,
)
from softkern.operators.base import KernelOperator
from softkern.rows import DUPLICATE_SHARE, Rows, lower_quantile, scale_weights
from softkern.rules.base import Rule
from softkern.rules.centers import Mean
from softkern.rules.possibilistic import Possibilistic, estimate_eta
from softkern.solvers.steps import Solution

__all__ = ["OneClassPCM", "first_eta", "surely_above"]

MASS_SAMPLE = 2000  # support points from which the mass around a point is estimated ...
MASS_GAIN = 4  # ... where there are this many times more
SURELY_MORE = 10 * DUPLICATE_SHARE  # an estimated mass surely above the share of duplicates
MOST_ISOLATED = 0.5  # share of the support up to which isolated points' parts are subtracted


class PCMScores(DetectorScores):
    """Results of samples from their distance to the center, or their density."""

    model: OneClassPCM

    @cached_property
    def scores(self) -> Array:
        """Log density for kernels that vanish far away, −D²/η for others, (m,)."""
        if self.model.kernel_.decays:
            return self.log_similarities[:, 0]
        return self.geometry.distances[:, 0] / -self.model.eta_

    @cached_property
    def memberships(self) -> Array:
        return np.exp(self.geometry.distances[:, 0] / -self.model.eta_)

    @cached_property
    def outlier_scores(self) -> Array:
        if self.model._wide_kernel is None:
            return super().outlier_scores
        return combine_scales(*self.surprisals, self.model._score_scaling)

    @cached_property
    def surprisals(self) -> tuple[Array, Array]:
        """−log densities at the narrow and the wide scale, (m,) each, as outlier scores use them.

        For training samples the former leaves out the sample itself and its duplicates.
        """
        model = self.model
        narrow, wide = self.log_densities
        background = log_background_density(wide, narrow, model._max_duplicate_share)
        if self.training is not None:
            operator, coefficients, weight = self.training
            logs = narrow[:, None]
            if operator.is_exact_support:
                inliers = self._inliers[:, None]
                narrow = log_sums_of_others(operator, inliers, np.exp(logs), weight)[:, 0]
            else:
                narrow = subtract_own_parts(logs, operator, coefficients, weight)[:, 0]
        return -narrow, -background

    @cached_property
    def log_densities(self) -> tuple[Array, Array]:
        """Logarithms of the narrow and the wide density without isolated points, (m,) each."""
        model, X = self.model, self.rows.X
        wide: Any = model._stored_operator("wide", kernel=model._wide_kernel)
        # the operator itself is faster than its product with the same points
        if self.training is None or not np.array_equal(model.support_, np.arange(X.shape[0])):
            wide = wide.cross(X)
        return self._log_narrow_density(), wide.log_product(model._inlier_coef)

    @cached_property
    def _inliers(self) -> Array:
        """`columns` as a vector, without isolated points."""
        inliers: Array = self.model._inlier_coef
        if len(inliers) < len(self.columns):  # the operator of the fit has rows without weight
            inliers = np.zeros_like(self.columns[:, 0])
            inliers[self.model.support_] = self.model._inlier_coef
        return inliers

    def _log_narrow_density(self) -> Array:
        """Return the logarithm of the narrow density, (m,), from the product with all points.

        The part of a few isolated points is subtracted. Where that leaves hardly any digits, the
        density is summed again.
        """
        rows, product, coefficients = self.rows, self.geometry.product[:, 0], self.columns[:, 0]
        isolated = np.flatnonzero(self._inliers != coefficients)
        if not isolated.size:
            return rows.log_product(self._inliers, product)
        is_few = isolated.size <= MOST_ISOLATED * len(self.model.support_)
        if not (is_few and rows.support.error_is_known):
            return rows.log_product(self._inliers)
        points, kernel = rows.support.X[isolated], self.model.kernel_
        part = self.model.plan_.prediction_operator(points, kernel).cross(rows.X)
        left = product - part @ coefficients[isolated]
        is_lost = left <= np.sqrt(np.finfo(product.dtype).eps) * product
        return rows.log_product(self._inliers, np.where(is_lost, 0, left))


@dataclass(eq=False, repr=False, kw_only=True)
class OneClassPCM(Detector):
    """One possibilistic cluster in feature space: density, typicality, outliers.

    All data form one cluster around one center in feature space. Memberships fall with the
    distance from it. In data space the center is a kernel density whose weights exclude atypical
    samples. Outliers have the lowest density at the kernel's own bandwidth or at the scale of all
    data: a few samples that lie close together and far from the rest are outliers too.

    Parameters
    ----------
    eta_scale : float, default=1.0
        The papers' γ: the cluster's width η as a multiple of the mean squared distance.
    contamination : float in (0, 0.5], default=0.1
        Share of the training data that `predict` labels as outliers.
    kernel : str, callable or softkern.kernels.Kernel, default="rbf"
        Kernel, by name, as a function of two arrays, or as an object.
    kernel_params : dict, default=None
        Parameters of a kernel that is given by name or as a function.
    bandwidth : str, float or array of shape (n_features,), default="auto"
        Bandwidth of the kernel, one for all features or one each, or a rule that chooses it. See
        `softkern.kernels.select_bandwidth`.
    engine : str, default="auto"
        How products with the kernel matrix are computed. See `softkern.plan`.
    engine_params : dict, default=None
        Options of the engine, such as ``{"rank": 100}`` for ``engine="nystroem"``.
    tol : float, default=1e-4
        Stop when the change that `stopping` measures is below this.
    max_iter : int, default=100
        Largest number of iterations.
    stopping : {"relative", "mean", "sum", "objective"}, default="relative"
        Measure of change: the weighted mean change of memberships, relative to the largest
        membership (``"relative"``) or absolute (``"mean"``), the change summed over all samples
        (``"sum"``, as in the papers), or the relative change of the objective.
    random_state : int, RandomState or None, default=0
        Random seed.
    verbose : bool, default=False
        Whether to print the plan and show a progress bar.

    Attributes
    ----------
    memberships_ : array of shape (n_samples,)
        Typicality u = exp(−D²/η) of the training samples.
    eta_ : float
        Squared width η of the cluster.
    offset_ : float
        Threshold: `decision_function` is `score_samples` minus this.
    outlier_scores_ : array of shape (n_samples,)
        Leave-one-out outlier scores of the training samples. See Notes.
    support_ : array of shape (n_support,)
        Indices of the training samples that make up the center.
    dual_coef_ : array of shape (n_support,)
        Weights of these samples in the center. They sum to one.
    bandwidth_ : float, array of shape (n_features,) or None
        Bandwidth used. None for kernels without one.
    kernel_ : softkern.kernels.Kernel
        Kernel used.
    plan_ : Plan
        Plan of the computation.
    engine_ : str
        Engine used.
    approximation_error_ : float
        Share of the kernel matrix that the engine leaves out. Zero for exact engines.
    reduction_error_ : float
        Error bound of `reduce`. Zero for a model that was not reduced.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the change fell below `tol`.
    objective_ : float
        Objective at the end.
    history_ : dict
        Objective and change of every iteration.

    Notes
    -----
    `score_samples` is the log density for kernels that vanish far away, and −D²/η for others.

    With kernels that have a bandwidth, an outlier score is the larger of two: −log density at that
    bandwidth, which detects gaps within the data, and at a wide one, which detects distance from
    the data. The latter leaves out the mass of a sample's nearest neighbors, up to 1 % of the
    weight, so that outliers do not hide each other. Both are measured from the median training
    sample in units of the range between the first and the last decile. The former counts
    logarithmically beyond one unit, since gaps in a tail of few samples are chance. With a kernel
    as wide as the data, and with other kernels that vanish, the score is −log density, else D²/η.
    Scores do not change when every row is repeated.

    References
    ----------
    M. Filippone, F. Masulli, S. Rovetta, "Applying the possibilistic c-means algorithm in
    kernel-induced spaces", IEEE Trans. Fuzzy Systems 18(3), 2010.
    :doi:`10.1109/TFUZZ.2010.2043440`

    Examples
    --------
    >>> import numpy as np
    >>> from softkern import OneClassPCM
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> X[0] = [9, 9]
    >>> model = OneClassPCM(contamination=0.01).fit(X)
    >>> model.predict([[0, 0], [9, 9]])
    array([ 1, -1])
    """

    eta_scale: float = 1.0
    contamination: float = 0.1
    stopping: str = "relative"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "eta_scale": [Interval(Real, 0, None, closed="neither")],
        "contamination": [Interval(Real, 0, 0.5, closed="right")],
    }
    _fitted: ClassVar[dict[str, Spec]] = {
        "eta_": Number(low=0, above=True),
        "reduction_error_": Number(low=0, optional=True),
        # two scales: the wide kernel, coefficients without isolated points, the share of
        # duplicates that are left out, and location and scale of the scores at either scale
        "_wide_kernel": Check(kernel_problem, nullable=True, optional=True, stored_as="wide"),
        "_inlier_coef": Floats("s", low=0, stored_as="evidence"),
        "_max_duplicate_share": Number(low=0, stored_as="company"),
        "_score_scaling": Floats("22", stored_as="standards"),
    }
    _scores_class = PCMScores
    _products: ClassVar[int] = 5
    _description: ClassVar[str] = "density of the rows"
    _scores_training_samples: ClassVar[bool] = True

    def _fit(self, rows: Rows) -> None:
        operator, weight = self._planned(rows), rows.weight
        solution = self._solve(operator, weight)
        self._store_solution(operator, solution)
        if not self._scores_training_samples:
            return
        self._choose_scales(operator, weight)
        A, geometry = solution.coefficients, solution.geometry
        scores: PCMScores = self._score_fitted(operator, A, geometry, weight)
        self.memberships_ = scores.memberships
        self.offset_ = _threshold(scores.scores, weight, self.contamination)
        if self._wide_kernel is not None:
            scaling = [robust_location_scale(part, weight) for part in scores.surprisals]
            self._score_scaling = np.array(scaling)
        self.outlier_scores_ = scores.outlier_scores

    def _solve(self, operator: KernelOperator, weight: Array) -> Solution:
        """Run the loop over the samples of an operator."""
        check_semidefinite(operator.subsample(weight)[0])
        start = Mean().centers(weight[:, None], weight, None)
        first = operator.geometry(start.coefficients)
        ones = np.ones_like(first.distances)
        eta = first_eta(operator, first.distances, ones, weight, self.eta_scale)
        rule = Rule(Possibilistic(eta), Mean())
        return self._run_loop(operator, rule, start, weight, geometry=first)

    def _store_solution(self, operator: KernelOperator, solution: Solution) -> None:
        """Store the center and how the loop went."""
        rule: Any = solution.rule.memberships
        self.eta_ = float(rule.eta[0])
        self._store(operator, solution, positive=self.kernel_.decays)
        self.dual_coef_ = self.dual_coef_[:, 0]
        self.reduction_error_, self.offset_ = 0.0, 0.0
        self._wide_kernel: Kernel | None = None

    # Outlier scores at two scales

    def _choose_scales(self, operator: KernelOperator, weight: Array) -> None:
        """Choose the wide kernel, and exclude isolated points from the densities."""
        self._score_scaling = np.array([[0.0, 1.0], [0.0, 1.0]])
        self._inlier_coef, self._max_duplicate_share = self.dual_coef_, DUPLICATE_SHARE
        kernel = self.kernel_
        if not (kernel.decays and kernel.takes_points):
            return
        distance = median_distance(kernel, operator.support_rows.reweighted(weight), self._fit_seed)
        widest = widen_kernel(kernel, distance, WIDEST)
        if distance <= WIDE or widest is None:  # the kernel itself is as wide as the data
            return
        self._wide_kernel = widen_kernel(kernel, distance, WIDE)
        support = Rows(self._support, scale_weights(self.dual_coef_))
        first, left_out, self._max_duplicate_share = support.duplicates
        mass = self._mass_where_small(widest, support)
        own = np.bincount(first, weights=self.dual_coef_, minlength=first.size)[first] * left_out
        self._inlier_coef = np.where(isolated_rows(mass, own), 0, self.dual_coef_)

    def _mass_where_small(self, kernel: Kernel, points: Rows) -> Array:
        """Compute K a of the support in a wide kernel, (s,), exactly where it is a few per cent.

        Elsewhere the mean over a sample of the support is enough: among that many values, a mean
        of 2 % never reaches 10 % by chance.
        """
        support, coefficients = self._support, self.dual_coef_
        rows, weight = points.sample(MASS_SAMPLE, self._fit_seed)
        if MASS_GAIN * rows.size > coefficients.size:
            return self.plan_.prediction_operator(support, kernel) @ coefficients
        sample = self.plan_.prediction_operator(support[rows], kernel)
        mass = sample.cross(support) @ weight.astype(coefficients.dtype)
        is_small = mass < SURELY_MORE
        if is_small.any():
            exact = self.plan_.prediction_operator(support, kernel)
            mass[is_small] = exact.cross(support[is_small]) @ coefficients
        return np.asarray(mass)

    def reduce(self, tolerance: float = 1e-3, random_state: Any = None) -> Self:
        """Return a copy of this model with fewer support points, for faster prediction.

        The center v is replaced by v_S on points chosen by randomly pivoted Cholesky, with
        nonnegative coefficients. For every sample x, old or new,
        ``|log u(x) − log u_S(x)| ≤ 2 ‖v − v_S‖ √K(x, x) / η``. The bound is stored as
        `reduction_error_` (with the largest K(x, x) of the training samples).

        Parameters
        ----------
        tolerance : float, default=1e-3
            Largest value of that bound.
        random_state : int, RandomState or None, default=None
            Random seed. None uses the model's own.

        Returns
        -------
        model : OneClassPCM
            The reduced copy. It keeps all support points where no fewer suffice.
        """
        check_is_fitted(self)
        if not tolerance > 0:
            raise ValueError(f"tolerance must be positive, got {tolerance!r}.")
        if self.kernel_.is_positive_semidefinite is not True:
            raise ValueError(f"reduce needs a positive semidefinite kernel, not {self.kernel_!r}.")
        seed = self.random_state if random_state is None else random_state
        return reduce_center(self, tolerance, seed)


def first_eta(
    operator: KernelOperator, distances: Array, memberships: Array, weight: Array, scale: float
) -> Array:
    """Return the initial η, (c,), which is the largest of all, or one, for equal samples."""
    eta = on_host(estimate_eta(distances, memberships, weight, scale))
    floor, largest = FEWEST_DIGITS * operator.distance_error, float(eta.max())
    return np.where(eta > floor, eta, largest if largest > floor else 1.0).astype(eta.dtype)


def _threshold(scores: Array, weight: Array, share: float) -> float:
    """Return the midpoint above the lowest scores that hold this share of the weight."""
    scores, weight = scores[weight > 0], weight[weight > 0]
    low = lower_quantile(scores, weight, share)
    above = scores[scores > surely_above(low, scores.dtype)]
    return low if above.size == 0 else (low + float(above.min())) / 2


def surely_above(score: float, dtype: Any) -> float:
    """Return the value above which another score is larger by more than rounding."""
    return score + 1e3 * float(np.finfo(dtype).eps) * max(1.0, abs(score))
