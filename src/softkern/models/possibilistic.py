"""Possibilistic c-means in feature space: clusters that do not compete, and one for all data.

Memberships are typicalities, u = exp(−D²/η), each cluster for itself; centers are means weighted by
them (Filippone, Masulli and Rovetta 2007, 2010). With one cluster that is a robust kernel density.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from softkern._utils.arrays import column_sums, on_host
from softkern._utils.typing import Array
from softkern.dask import kept, quantile
from softkern.dask.fit import answer_in_chunks
from softkern.exceptions import CollapseWarning, warn
from softkern.kernels import Kernel
from softkern.models.base import KernelModel
from softkern.models.checks import (
    FEWEST_DIGITS,
    check_apart,
    check_n_clusters,
    check_semidefinite,
    check_start,
)
from softkern.models.clusterer import CenterClustering
from softkern.models.detector import Detector
from softkern.models.point_scores import Reading
from softkern.models.starts import INITS, draw_of
from softkern.models.two_scale_scores import (
    WIDE,
    WIDEST,
    combined,
    log_background_density,
    suspects,
    usual,
    usual_distance,
    usual_in_chunks,
    widened,
)
from softkern.operators.base import CrossOperator, Geometry, KernelOperator
from softkern.planning import plan
from softkern.rows import (
    COMPANY,
    duplicate_groups,
    lower_quantile,
    order_by_mass,
    priority_sample,
)
from softkern.rules.base import Rule
from softkern.rules.centers import Mean
from softkern.rules.fuzzy import Fuzzy
from softkern.rules.memberships import fuzzy, hard
from softkern.rules.possibilistic import Possibilistic, estimate_eta
from softkern.solvers.alternate import alternate
from softkern.solvers.initialization import best_fuzzy, select_fuzzifier
from softkern.solvers.steps import Solution

__all__ = ["OneClassPCM", "PossibilisticCMeans"]

# Squared distance of two centers, in units of the wider cluster's η, below which they are one
# cluster: each is as typical of it as its own center (u > .95). Centers on the way to each other
# slow down and stop at 1e-6 to 1e-2 of it; those that stay apart are at .2 and above.
SAME_PLACE = 0.05
MASS_SAMPLE = 2000  # support rows from which the mass around a row is estimated ...
MASS_GAIN = 4  # ... where there are so many times more
SURELY_MORE = 10 * COMPANY  # an estimated mass that is above the company for sure
MOST_SUSPECTS = 0.5  # share of the support up to which their part is taken off, not the rest summed
SCALES = (1.0, 0.5, 0.25)  # that eta_scale="auto" tries; with less, one group can hold two centers


class OneClassPCM(Detector):
    """One possibilistic cluster in feature space: density, typicality, outliers.

    All data are one cluster around one center in feature space; memberships fall with the
    distance from it. In data space that is a kernel density whose weights leave out what is not
    typical. Outliers are the points of lowest density, at the kernel's own scale or at that of all
    data: a few points that lie close together and far from the rest are outliers too.

    Parameters
    ----------
    eta_scale : float, default=1.0
        The papers' γ: the cluster's width η as a multiple of the mean squared distance.
    contamination : float in (0, 0.5], default=0.1
        Share of the training data that `predict` calls outliers.
    kernel : str, callable or softkern.kernels.Kernel, default="rbf"
    kernel_params : dict, default=None
    bandwidth : str, float or array of shape (d,), default="auto"
        See `softkern.kernels.select_bandwidth`.
    engine : str, default="auto"
        How products with the kernel matrix are computed; see `softkern.plan`.
    engine_params : dict, default=None
        Options of the operator, such as ``{"rank": 100}`` for ``engine="nystroem"``.
    tol : float, default=1e-4
        Stop when memberships change less than this on average.
    max_iter : int, default=100
    stopping : {"relative", "mean", "sum", "objective"}, default="relative"
        What `tol` bounds: the weighted mean of the change of memberships as a share of the largest
        (``"relative"``) or not as a share (``"mean"``), the change summed over all points (the
        papers' rule, ``"sum"``), or the change of the objective as a share of it.
    random_state : int, RandomState or None, default=0
    verbose : bool, default=False
        Print the plan and show a progress bar.

    Attributes
    ----------
    memberships_ : array of shape (n,)
        Typicality u = exp(−D²/η) of the training points.
    eta_ : float
    offset_ : float
        `decision_function` is `score_samples` less this.
    outlier_scores_ : array of shape (n,)
        Of the training points, each without its copies; see `outlier_scores`.
    support_ : array of shape (n_support,)
        Rows that the center is made of.
    dual_coef_ : array of shape (n_support,)
        Their weights in it; they sum to one.
    bandwidth_, kernel_, plan_, engine_
        What was chosen; `engine_` is the plan's name for how products are computed.
    approximation_error_ : float
        Part of the kernel matrix that the engine leaves out; zero for exact ones.
    reduction_error_ : float
        The bound of `reduce`; zero for a model that was not reduced.
    n_iter_, converged_, objective_, history_
        How the loop went.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "eta_scale": [Interval(Real, 0, None, closed="neither")],
        "contamination": [Interval(Real, 0, 0.5, closed="right")],
    }
    _state: ClassVar[tuple[str, ...]] = (
        "eta_",
        "reduction_error_",
        "_wide",
        "_evidence",
        "_company",
        "_standards",
    )
    _products: ClassVar[int] = 5
    _loops_in_chunks: ClassVar[bool] = True
    _scores_density: ClassVar[bool] = True
    _wide: Kernel | None = None  # model files of before have one scale

    def __init__(
        self,
        *,
        eta_scale: float = 1.0,
        contamination: float = 0.1,
        kernel: Any = "rbf",
        kernel_params: dict[str, Any] | None = None,
        bandwidth: Any = "auto",
        engine: str = "auto",
        engine_params: dict[str, Any] | None = None,
        tol: float = 1e-4,
        max_iter: int = 100,
        stopping: str = "relative",
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.eta_scale = eta_scale
        self.contamination = contamination
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.bandwidth = bandwidth
        self.engine = engine
        self.engine_params = engine_params
        self.tol = tol
        self.max_iter = max_iter
        self.stopping = stopping
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, weight: Array) -> None:
        operator, solution = self._fit_density(X, weight)
        coefficients = solution.coefficients
        self._choose_scales(*operator.few(weight))
        if operator.is_in_chunks:
            self._settle_in_chunks(operator, coefficients, weight)
            return
        geometry, reading = self._training_reading(operator, coefficients, solution.geometry)
        self.outlier_scores_ = (
            self._training_scores(operator, coefficients, geometry, weight)
            if self.kernel_.decays
            else reading.outlier_scores
        )
        self.memberships_ = reading.memberships
        self.offset_ = _threshold(reading.scores, weight, self.contamination)

    def _fit_density(self, X: Any, weight: Array) -> tuple[KernelOperator, Solution]:
        """The center alone, without what is said of the training points."""
        operator = self._planned(X, weight)
        check_semidefinite(operator.few(weight)[0])
        start = Mean().centers(weight[:, None], weight, None)
        first = operator.geometry(start.coefficients)
        ones = np.ones_like(first.distances)
        eta = _first_eta(operator, first.distances, ones, weight, self.eta_scale)
        solution = alternate(
            operator,
            Rule(Possibilistic(eta), Mean()),
            start,
            sample_weight=weight,
            geometry=first,
            description="density of the rows",
            **self._loop_options,
        )
        self.reduction_error_ = 0.0
        self._record(solution)
        self.eta_ = float(eta[0])
        positive = self.kernel_.decays
        norms = solution.geometry.norms
        self._store(operator, solution.coefficients, norms, positive=positive)
        self.offset_, self._wide = 0.0, None
        return operator, solution

    def _settle_in_chunks(self, operator: KernelOperator, coefficients: Any, weight: Any) -> None:
        """What is usual, and the threshold, from all rows."""
        self._own = coefficients * operator.diag()[:, None]
        if self._wide is not None:
            like = np.empty((0, 2), dtype=operator.dtype)
            given = self._own, operator.numbers
            pair = answer_in_chunks(self, "_surprisals", operator.X, *given, like=like)
            self._standards = np.array([usual_in_chunks(kept(pair)[:, k], weight) for k in (0, 1)])
        scores = answer_in_chunks(self, "score_samples", operator.X)
        self.offset_ = _threshold_in_chunks(scores, weight, self.contamination)

    # Outlyingness at two scales

    def _choose_scales(self, operator: KernelOperator, weight: Array) -> None:
        """The wide kernel, the company, and the coefficients of what is evidence for others."""
        self._standards = np.array([[0.0, 1.0], [0.0, 1.0]])
        self._evidence, self._company = self.dual_coef_, COMPANY
        kernel = self.kernel_
        if not (kernel.decays and kernel.takes_points):
            return
        distance = usual_distance(kernel, operator.X, weight, self._fit_seed)
        widest = widened(kernel, distance, WIDEST)
        if distance <= WIDE or widest is None:  # the kernel itself is as wide as the data
            return
        self._wide = widened(kernel, distance, WIDE)
        first, left_out, self._company = duplicate_groups(self._support, self.dual_coef_)
        mass = self._mass_where_small(widest)
        own = np.bincount(first, weights=self.dual_coef_, minlength=first.size)[first] * left_out
        self._evidence = np.where(suspects(mass, own), 0, self.dual_coef_)

    def _mass_where_small(self, kernel: Kernel) -> Array:
        """K a of the support in a wide kernel, (n,): where it is a few per cent, to all digits.

        The mean over a sample of the support tells rows that see far more: of as many values, one
        that should be 2 % is never 10 % by chance.
        """
        support, coefficients = self._support, self.dual_coef_
        rows, weight = priority_sample(support, MASS_SAMPLE, coefficients, self._fit_seed)
        if MASS_GAIN * rows.size > coefficients.size:
            return self.plan_.over(support, kernel) @ coefficients
        few = self.plan_.over(support[rows], kernel)
        mass = few.cross(support) @ weight.astype(coefficients.dtype)
        is_small = mass < SURELY_MORE
        if is_small.any():
            mass[is_small] = (
                self.plan_.over(support, kernel).cross(support[is_small]) @ coefficients
            )
        return np.asarray(mass)

    def _log_scales(
        self, rows: CrossOperator, geometry: Geometry, by: KernelOperator
    ) -> tuple[Array, Array]:
        """Logarithms of the narrow and the wide density of points, (m,) each.

        The geometry was computed `by` an operator.
        """
        assert self._wide is not None
        wide = self._kept("wide", self._support, self._wide)
        is_support = rows.X is self._support  # of which a kernel value is that of both points
        over_all = wide if is_support else wide.cross(rows.X)
        narrow = self._log_narrow(rows, geometry.product, by.error_is_known)
        return narrow, over_all.log_product(self._evidence)

    def _log_narrow(self, rows: CrossOperator, product: Array, is_exact: bool = True) -> Array:
        """Logarithm of the narrow density, (m,), from the product with all coefficients, (m, 1).

        What few suspects have of it is taken off; where that leaves hardly any digits, it is summed
        again.
        """
        suspects = np.flatnonzero(self._evidence != self.dual_coef_)
        if not suspects.size:
            return rows.log_product(self._evidence, product)
        is_few = suspects.size <= MOST_SUSPECTS * self._evidence.size
        if not (is_few and is_exact):
            return rows.log_product(self._evidence)
        few = self.plan_.over(self._support[suspects], self.kernel_).cross(rows.X)
        whole = product.reshape(-1)
        left = whole - few @ self.dual_coef_[suspects]
        is_lost = left <= np.sqrt(np.finfo(whole.dtype).eps) * whole
        return rows.log_product(self._evidence, np.where(is_lost, 0, left))

    def _isolation(self, rows: CrossOperator, geometry: Geometry) -> Array:
        """`outlier_scores` of new points, (m,), where there are two scales."""
        narrow, wide = self._log_scales(rows, geometry, rows.support)
        surroundings = log_background_density(wide, narrow, self._company)
        return combined(-narrow, -surroundings, self._standards)

    def _training_scores(
        self, operator: KernelOperator, coefficients: Array, geometry: Geometry, weight: Array
    ) -> Array:
        if self._wide is None:
            return super()._training_scores(operator, coefficients, geometry, weight)
        is_whole = np.array_equal(self.support_, np.arange(operator.shape[0]))
        points = self._support if is_whole else operator.X
        narrow, wide = self._log_scales(self._served().cross(points), geometry, operator)
        if operator.is_exact_support:
            evidence = np.zeros_like(coefficients)
            evidence[self.support_, 0] = self._evidence
            others = self._log_sums_of_others(operator, evidence, np.exp(narrow)[:, None], weight)
        else:
            others = self._without_own(narrow[:, None], operator, coefficients, weight)
        pair = -others[:, 0], -log_background_density(wide, narrow, self._company)
        self._standards = np.array([usual(surprisals, weight) for surprisals in pair])
        return combined(*pair, self._standards)

    def _surprisals(self, X: Any, own: Array, number: Array) -> Array:
        """−log densities of rows of the fit at two scales, (m, 2), the narrow one without a row."""
        rows = self._rows(X)
        narrow, wide = self._log_scales(rows, self._geometry(rows), rows.support)
        logs, evidence = narrow[:, None], self._evidence[:, None]
        others = self._without_itself(logs, own, number, evidence, np.exp(logs))[:, 0]
        return -np.column_stack([others, log_background_density(wide, narrow, self._company)])

    def _scores_by_others(self, X: Any, own: Array, number: Array) -> Array:
        """Outlier scores of rows of the fit, whose number and own part in the sum are known."""
        if not self.kernel_.decays:
            return self.outlier_scores(X)
        if self._wide is not None:
            near, far = self._surprisals(X, own, number).T
            return combined(near, far, self._standards)
        rows = self._rows(X)
        product = rows @ self._columns
        logs = rows.log_product(self._columns, product)
        return -self._without_itself(logs, own, number, self._columns, product)[:, 0]

    def _store(self, *arguments: Any, **options: Any) -> None:
        super()._store(*arguments, **options)
        self.dual_coef_ = self.dual_coef_[:, 0]

    def _scores(self, geometry: Geometry) -> Array:
        """−D²/η, for kernels that do not vanish."""
        return geometry.distances[:, 0] / -self.eta_

    def _typicality(self, geometry: Geometry, reading: Reading) -> Array:
        return np.exp(geometry.distances[:, 0] / -self.eta_)

    def _read_product(self, rows: CrossOperator, product: Array) -> Reading:
        """Of new points whose product with the center, (m,), is known."""
        return self._read_rows(rows, rows.geometry(self._columns, self._norms, product[:, None]))

    def _read_rows(self, rows: CrossOperator, geometry: Geometry) -> Reading:
        if self._wide is None:
            return super()._read_rows(rows, geometry)
        return self._read(
            geometry,
            lambda: rows.log_product(self._columns, geometry.product),
            outlier_scores=lambda: self._isolation(rows, geometry),
        )

    def score_samples(self, X: Any) -> Array:
        """Typicality on a scale that does not saturate: log density, or −D²/η; (m,)."""
        return super().score_samples(X)

    def memberships(self, X: Any) -> Array:
        """Typicality u = exp(−D²/η) of new points, (m,)."""
        return super().memberships(X)

    def outlier_scores(self, X: Any) -> Array:
        """The higher, the less typical, (m,); ranks follow distance however far a point is.

        With kernels of a bandwidth the larger of two: −log density at that bandwidth, which finds
        gaps among the data, and at a wide one, which finds what is far from them; the latter
        without what a point's nearest neighbors hold, up to 1 % of the weight, so that outliers
        do not hide each other. Both are counted from the median training point, in units of the
        range of the inner four fifths; more than one unit of the former counts by its logarithm,
        since in a tail of few points gaps are chance. With a kernel as wide as the data −log
        density, with others that vanish likewise, else D²/η.

        The fitted `outlier_scores_` are those of the training points, scored by the others: rows
        equal to one are not others as long as they hold no more than 1 % of the weight. Scores do
        not change when every row is repeated. A training row that is asked for again is a new
        point, which finds itself among its neighbors.
        """
        return super().outlier_scores(X)

    def reduce(self, tolerance: float = 1e-3, random_state: Any = None) -> Self:
        """A copy of this model on fewer support points, for prediction at their cost.

        The center v is replaced by v_S on points chosen by randomly pivoted Cholesky, with
        coefficients that are not negative. For every point x, old or new,
        ``|log u(x) − log u_S(x)| ≤ 2 ‖v − v_S‖ √K(x, x) / η``, which is stored as
        `reduction_error_` (with the largest K(x, x) of the training points). Where no fewer
        points suffice, the copy keeps them all.

        Parameters
        ----------
        tolerance : float, default=1e-3
            For that bound.
        random_state : int, RandomState or None, default=None
            None takes the model's own.
        """
        check_is_fitted(self)
        if not tolerance > 0:
            raise ValueError(f"tolerance must be positive, got {tolerance!r}.")
        if self.kernel_.is_positive_semidefinite is not True:
            raise ValueError(f"reduce needs a positive semidefinite kernel, not {self.kernel_!r}.")
        seed = self.random_state if random_state is None else random_state
        reduced = copy.copy(self)
        reduced._operators = {}
        for landmarks in self._candidates(tolerance, seed):
            rows, weights, error = self._project(landmarks)
            if error <= tolerance:
                reduced.support_, reduced.dual_coef_ = self.support_[rows], weights
                reduced._support = self._support[rows]
                reduced._evidence = np.where(self._evidence[rows] > 0, weights, 0)
                reduced.reduction_error_ = error
                break
        return reduced

    def _bound(self, gap: Array) -> Array:
        """2 ‖v − v_S‖ √K(x, x) / η."""
        largest = np.sqrt(float(self.kernel_.diag(self._support).max()))
        return 2 * np.sqrt(np.maximum(gap, 0)) * largest / self.eta_

    def _factor(self, seed: Any = 0, **options: Any) -> Any:
        """A partial Cholesky factor of the kernel matrix between support points."""
        options = {"trace_tolerance": 0.0, **options}
        chosen = plan(self._support, kernel=self.kernel_, engine="nystroem", engine_params=options)
        return chosen.build(self._support, sample_weight=self.dual_coef_, random_state=seed)

    def _candidates(self, tolerance: float, seed: Any) -> Iterator[Array]:
        """Growing sets of support points, the first about large enough for the tolerance."""
        rank, size = 32, self._support.shape[0]
        while rank < size:
            rank = min(2 * rank, size)
            factor = self._factor(seed, rank=rank)
            image = factor.image(self._columns)[:, 0]
            # what each further landmark leaves of the center, if coefficients were free
            bounds = self._bound(self._norms[0] - np.cumsum(np.square(image)))
            enough = np.flatnonzero(bounds <= 0.9 * tolerance)
            if enough.size:
                count = enough[0] + 1
                while count < factor.rank:
                    yield factor.landmarks[:count]
                    count = int(1.2 * count) + 1
                yield factor.landmarks

    def _project(self, landmarks: Array) -> tuple[Array, Array, float]:
        """Places in the support, coefficients of these, and the bound of their error."""
        factor = self._factor(rank=None, landmarks=landmarks)
        rows, weights = factor.compressed(self._columns, nonnegative=True)
        points = self._support[rows]
        inner = self._served().cross(points) @ self._columns  # ⟨v, Φ(point)⟩
        norm = self.plan_.over(points, self.kernel_).squared_norms(weights)[0]
        gap = self._norms[0] - 2 * weights[:, 0] @ inner[:, 0] + norm
        return rows, weights[:, 0], float(self._bound(gap))


class PossibilisticCMeans(CenterClustering):
    """Possibilistic c-means in feature space (PCM_Φ); with the linear kernel, classic PCM.

    Each cluster has memberships of its own that do not compete, so that outliers have low
    memberships in all of them. The price, which the papers name: several centers can end on one
    place. They are then one cluster, and a `CollapseWarning` says how many are left.

    Parameters
    ----------
    n_clusters : int, default=2
    eta : "auto", float or array of shape (n_clusters,), default="auto"
        Squared width of the clusters in feature space; ``"auto"`` takes it from the start.
    eta_scale : "auto" or float, default="auto"
        The papers' γ, with ``eta="auto"``. ``"auto"`` is 1, or 1/2 or 1/4 where more clusters are
        left with it. With ``update_eta`` it is 1.
    update_eta : bool, default=False
        Estimate η again in every step, as the papers allow; clusters may then shrink to points,
        which raises an error.
    init : {"k-means++", "k-means", "random", "gmm"} or array of shape (n, n_clusters), \
default="k-means++"
        How the kernel fuzzy c-means is started whose memberships are the start; or memberships.
        See `FuzzyCMeans`.
    n_init : int, default=5
        Starts of the fuzzy c-means; the best is taken.
    bandwidth : str, float or array of shape (d,), default="auto"
        ``"auto"`` is the rule ``"within"``: as wide as the data, columns in units of their spread
        within clusters.
    kernel, kernel_params, engine, engine_params, tol, max_iter, stopping, random_state, verbose
        As in `OneClassPCM`.

    Attributes
    ----------
    labels_ : array of shape (n,)
    n_clusters_ : int
        Clusters that are left when coinciding ones are one; the arrays below have so many columns.
    memberships_ : array of shape ``(n, n_clusters_)``
        u = exp(−D²/η); rows do not sum to one.
    eta_ : array of shape ``(n_clusters_,)``
    eta_scale_ : float
        The γ used.
    support_ : array of shape (n_support,)
        Rows that the centers are made of.
    dual_coef_ : array of shape ``(n_support, n_clusters_)``
        Their weights in every center.
    outlier_scores_, overlap_scores_ : arrays of shape (n,)
        Of the training points; outlier scores leave-one-out with kernels that vanish.
    bandwidth_, kernel_, plan_, engine_, n_iter_, converged_, objective_, history_
        As in `OneClassPCM`.

    References
    ----------
    M. Filippone, F. Masulli, S. Rovetta, "Applying the possibilistic c-means algorithm in
    kernel-induced spaces", IEEE Trans. Fuzzy Systems 18(3), 2010.
    :doi:`10.1109/TFUZZ.2010.2043440`

    Examples
    --------
    >>> import numpy as np
    >>> from softkern import PossibilisticCMeans
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> X[30:] += 8
    >>> model = PossibilisticCMeans(2, kernel="linear").fit(X)
    >>> model.predict([[0, 0]]) == model.predict([[8.5, 8.5]])
    array([False])
    """

    memberships_sum_to_one: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "eta": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither"), "array-like"],
        "eta_scale": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "update_eta": ["boolean"],
        "init": [StrOptions(INITS), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }
    _state: ClassVar[tuple[str, ...]] = ("eta_", "eta_scale_")
    _products: ClassVar[int] = 40
    _ahead_from: ClassVar[float] = 2000
    _loops_in_chunks: ClassVar[bool] = True

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        eta: Any = "auto",
        eta_scale: Any = "auto",
        update_eta: bool = False,
        init: Any = "k-means++",
        n_init: int = 5,
        kernel: Any = "rbf",
        kernel_params: dict[str, Any] | None = None,
        bandwidth: Any = "auto",
        engine: str = "auto",
        engine_params: dict[str, Any] | None = None,
        tol: float = 1e-4,
        max_iter: int = 100,
        stopping: str = "relative",
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.eta = eta
        self.eta_scale = eta_scale
        self.update_eta = update_eta
        self.init = init
        self.n_init = n_init
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.bandwidth = bandwidth
        self.engine = engine
        self.engine_params = engine_params
        self.tol = tol
        self.max_iter = max_iter
        self.stopping = stopping
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        if isinstance(self.eta, str):
            return
        eta = np.asarray(self.eta, dtype=np.float64)
        if eta.ndim > 1 or eta.size not in (1, self.n_clusters) or not (eta > 0).all():
            raise ValueError(
                f"eta={self.eta!r} must be one positive number, or {self.n_clusters} of them."
            )

    def _fit(self, X: Any, weight: Array) -> None:
        operator = self._planned(X, weight, self.n_clusters)
        check_n_clusters(self.n_clusters, operator.shape[0])
        check_semidefinite(operator.few(weight)[0])
        memberships = self._start(operator, weight)
        start = Mean().centers(weight[:, None] * memberships, weight, None)
        first = operator.geometry(start.coefficients)

        def run(scale: float) -> Solution:
            eta = self._start_eta(operator, first.distances, memberships, weight, scale)
            rule = Rule(Possibilistic(eta, scale, self.update_eta), Mean())
            options: dict[str, Any] = {"geometry": first, "description": "possibilistic c-means"}
            return _without_copies(self._run(operator, rule, start, weight, **options))

        solution = self._most_clusters(run)
        if isinstance(self.init, str):  # clusters that were given keep their order
            solution = _taken(solution, _largest_first(solution, weight))
        end: Any = solution.rule.memberships
        self.eta_ = end.eta
        self.eta_scale_ = float(end.eta_scale)
        self.n_clusters_ = len(end.eta)
        self._finish(operator, solution, weight)
        if self.n_clusters_ < self.n_clusters:
            warn(
                f"of the {self.n_clusters} clusters asked for {self.n_clusters_} "
                f"{'is' if self.n_clusters_ == 1 else 'are'} left, for centers coincide: "
                "possibilistic clusters do not compete, and several have found the same place. Use "
                "fewer clusters, a smaller eta_scale, or AlphaCutClustering.",
                CollapseWarning,
            )

    def _most_clusters(self, run: Callable[[float], Solution]) -> Solution:
        """The solution of the given γ, or of the largest with which the most clusters are left."""
        if not isinstance(self.eta_scale, str):
            return run(float(self.eta_scale))
        is_open = isinstance(self.eta, str) and not self.update_eta
        best = run(SCALES[0])
        for scale in SCALES[1:] if is_open else ():
            if len(best.geometry.norms) == self.n_clusters:
                break
            other = run(scale)
            best = other if len(other.geometry.norms) > len(best.geometry.norms) else best
        return best

    def _start(self, operator: KernelOperator, weight: Array) -> Array:
        """Memberships of the start, (n, c): those of kernel fuzzy c-means."""
        if not isinstance(self.init, str):
            return check_start(self.init, self.n_clusters, weight)
        if self.n_clusters == 1:
            return np.ones_like(weight)[:, None]
        few, few_weight = operator.few(weight)
        check_apart(few, few_weight)
        m, _ = select_fuzzifier(few, "auto", few_weight)
        best = best_fuzzy(
            few,
            Fuzzy(m),
            m,
            few_weight,
            self.n_clusters,
            draw=draw_of(self.init, few),
            n_init=self.n_init,
            max_iter=self.max_iter,
            random_state=self._fit_seed,
        )
        if few is operator:
            return best.memberships
        return fuzzy(operator.geometry_from(few, best.coefficients).distances, m)

    def _start_eta(
        self, operator: KernelOperator, distances: Array, start: Array, weight: Array, scale: float
    ) -> Array:
        if isinstance(self.eta, str):
            return _first_eta(operator, distances, start, weight, scale)
        eta = np.asarray(self.eta, dtype=distances.dtype)
        return np.broadcast_to(eta, (self.n_clusters,)).copy()

    def _log_memberships(self, geometry: Geometry) -> Array:
        """log u = −D²/η, (m, c)."""
        return Possibilistic(self.eta_).log_memberships(geometry)

    @property
    def _widths(self) -> Any:
        return self.eta_


def _without_copies(solution: Solution) -> Solution:
    """The clusters of which no two centers coincide: the first of those that do."""
    rule: Any = solution.rule.memberships
    gaps = on_host(solution.geometry.gaps(solution.coefficients))
    is_same = gaps < SAME_PLACE * np.maximum(rule.eta[:, None], rule.eta)
    kept: list[int] = []
    for k in range(len(gaps)):
        if not is_same[k, kept].any():
            kept.append(k)
    return solution if len(kept) == len(gaps) else _taken(solution, np.array(kept))


def _taken(solution: Solution, order: Array) -> Solution:
    """The same of some clusters, or of all in another order, with their widths."""
    rule: Any = solution.rule.memberships
    smallest = None if rule.smallest is None else rule.smallest[order]
    rule = replace(rule, eta=rule.eta[order], smallest=smallest)
    return replace(solution.take(order), rule=replace(solution.rule, memberships=rule))


def _largest_first(solution: Solution, weight: Array) -> Array:
    """The order of the clusters by the weight of the points that each fits best."""
    mass = on_host(column_sums(hard(solution.memberships), weight))
    return order_by_mass(mass, solution.geometry.norms)


def _first_eta(
    operator: KernelOperator, distances: Array, memberships: Array, weight: Array, scale: float
) -> Array:
    """η of the start, (c,); of a cluster whose points coincide, the largest of all, or one."""
    eta = on_host(estimate_eta(distances, memberships, weight, scale))
    floor, largest = FEWEST_DIGITS * operator.distance_error, float(eta.max())
    return np.where(eta > floor, eta, largest if largest > floor else 1.0).astype(eta.dtype)


def _threshold_in_chunks(scores: Any, weight: Any, share: float) -> float:
    """The same as `_threshold`, of Dask arrays."""
    scores = kept(scores)
    low = quantile(scores, weight, share)
    following = quantile(scores, (weight > 0) & (scores > _surely_above(low, scores.dtype)), 0.0)
    return low if not np.isfinite(following) else (low + following) / 2


def _threshold(scores: Array, weight: Array, share: float) -> float:
    """The value half way above the lowest scores that hold this share of the weight."""
    scores, weight = scores[weight > 0], weight[weight > 0]
    low = lower_quantile(scores, weight, share)
    above = scores[scores > _surely_above(low, scores.dtype)]
    return low if above.size == 0 else (low + float(above.min())) / 2


def _surely_above(score: float, dtype: Any) -> float:
    """Beyond which another score is a larger one: equal points differ by rounding."""
    return score + 1e3 * float(np.finfo(dtype).eps) * max(1.0, abs(score))
