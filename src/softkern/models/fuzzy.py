"""Fuzzy c-means in feature space, and its form that finds outliers: clusters that compete.

Memberships are shares, u ∝ D²^(−1/(m−1)), that sum to one for every point. `FuzzyCMeans` takes
centers as means by u^m; `OutlierFuzzyCMeans` gives every point an outlier weight w as well and
takes means by u^m / w^q (Keller 2000; Shen, Wang and Wu 2004). Both are rules of the one loop
(`softkern.rules.fuzzy`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from softkern._utils.typing import Array
from softkern.exceptions import ParameterWarning, warn
from softkern.models.base import KernelModel
from softkern.models.checks import check_apart, check_distinct, check_semidefinite, check_start
from softkern.models.clusterer import CenterClustering
from softkern.models.point_scores import Reading
from softkern.models.starts import INITS, draw_of
from softkern.operators.base import Geometry, KernelOperator
from softkern.rules.base import Centers, Rule
from softkern.rules.centers import Mean
from softkern.rules.fuzzy import Fuzzy, OutlierFuzzy
from softkern.rules.memberships import fuzzy, log_fuzzy, outlier_weights
from softkern.solvers.initialization import best_fuzzy, by_size, select_fuzzifier
from softkern.solvers.steps import Solution

__all__ = ["FuzzyCMeans", "OutlierFuzzyCMeans"]


class _FuzzyClustering(CenterClustering):
    """What the two fuzzy models share; they differ in their membership rule."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "n_clusters": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "m": [StrOptions({"auto"}), Interval(Real, 1, None, closed="neither")],
        "init": [StrOptions(INITS), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }
    _state: ClassVar[tuple[str, ...]] = ("m_", "collapse_ratio_")
    _products: ClassVar[int] = 40
    _ahead_from: ClassVar[float] = 2000
    _loops_in_chunks: ClassVar[bool] = True
    m: Any
    init: Any
    n_init: int

    @abstractmethod
    def _memberships(self, weight: Array) -> Fuzzy | OutlierFuzzy:
        """The membership rule, with the exponent `m_`."""

    @property
    def _collapse_options(self) -> dict[str, Any]:
        """What the collapse ratio must know of the centers beside m."""
        return {}

    def _fit(self, X: Any, weight: Array) -> None:
        self._choose_number(X, weight)
        operator = self._planned(X, weight, self.n_clusters_)
        few, few_weight = operator.few(weight)
        check_distinct(self.n_clusters_, few, few_weight)
        check_semidefinite(few)
        self._choose_m(few, few_weight)
        start, first = self._start(operator, weight)
        solution = self._run(
            operator,
            Rule(self._memberships(weight), Mean()),
            start,
            weight,
            geometry=first,
            description="fuzzy c-means",
        )
        del start, first  # they make room
        if isinstance(self.init, str):
            solution = by_size(solution, weight @ solution.memberships)
        solution = replace(solution, memberships=None)  # those of what is stored take their place
        self._finish(operator, solution, weight)
        self._warn_of_coinciding(
            solution.coefficients, "use fewer clusters, a smaller m or a wider kernel"
        )

    def _choose_m(self, operator: KernelOperator, weight: Array) -> None:
        self.m_, self.collapse_ratio_ = 2.0 if isinstance(self.m, str) else float(self.m), np.inf
        if self.n_clusters_ == 1:
            return
        check_apart(operator, weight)
        self.m_, self.collapse_ratio_ = select_fuzzifier(
            operator, self.m, weight, **self._collapse_options
        )
        if self.collapse_ratio_ < 1:
            warn(
                f"with m={self.m_:g} memberships will fall back to 1/n_clusters (collapse ratio "
                f"{self.collapse_ratio_:.3g}, below one). Use m='auto', a smaller m or a wider "
                "kernel.",
                ParameterWarning,
            )

    def _start(self, operator: KernelOperator, weight: Array) -> tuple[Centers, Geometry | None]:
        """Centers of the start, and their geometry where it is known."""
        rule = self._memberships(weight)
        if not isinstance(self.init, str):
            memberships = check_start(self.init, self.n_clusters_, weight)
            power = 1.0 if getattr(rule, "plain", False) else self.m_
            mass = weight[:, None] * memberships**power
            return Mean().centers(mass, weight, None), None
        few, few_weight = operator.few(weight)
        best = best_fuzzy(
            few,
            self._memberships(few_weight),
            self.m_,
            few_weight,
            self.n_clusters_,
            draw=draw_of(self.init, few),
            n_init=self.n_init if self.n_clusters_ > 1 else 1,
            max_iter=self.max_iter,
            random_state=self._fit_seed,
        )
        if few is not operator:
            seen = operator.geometry_from(few, best.coefficients)
            mass = rule.evaluate(seen, best.centers, weight).mass
            return Mean().centers(mass, weight, None), None
        return best.centers, best.geometry if operator.ahead is operator else None

    def _log_memberships(self, geometry: Geometry) -> Array:
        return log_fuzzy(geometry.distances, self.m_)

    def _read(self, geometry: Geometry, log_products: Callable[[], Array], **parts: Any) -> Reading:
        # without an array of logarithms: the nearest center is that of the highest membership
        direct: dict[str, Callable[[], Array]] = {
            "memberships": lambda: fuzzy(geometry.distances, self.m_),
            "labels": lambda: np.argmin(geometry.distances, axis=1),
        }
        return super()._read(geometry, log_products, **direct | parts)

    def _energies(self, geometry: Geometry) -> Array:
        return geometry.distances  # log u, a logarithm of them, has no bound at a center


class FuzzyCMeans(_FuzzyClustering):
    """Fuzzy c-means in feature space; with the linear kernel, classic fuzzy c-means.

    Every point shares itself among the clusters by its distances to their centers. As m falls
    towards one, shares become all or nothing and the model kernel k-means; with a large m or a
    narrow kernel all shares become 1/n_clusters.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        ``"auto"`` takes the number of groups with a valley between any two, one where there are
        none; `n_clusters_` says how many.
    m : "auto" or float, default="auto"
        How soft the shares are, above one. ``"auto"`` is 2, or the largest below with which
        memberships do not become equal (a collapse ratio above 1.2). A number is used as given;
        a `ParameterWarning` says where memberships will become equal with it.
    init : {"k-means++", "k-means", "random", "gmm"} or array of shape (n, n_clusters), \
default="k-means++"
        Start: single points as centers, drawn by their squared distances in feature space; the
        clusters of kernel k-means; a random number for every point and cluster; memberships of a
        Gaussian mixture in input space; or given memberships.
    n_init : int, default=5
        Starts, of which the one of lowest objective is taken; a given `init` is the only one.
    bandwidth : str, float or array of shape (d,), default="auto"
        ``"auto"`` is the rule ``"within"``: as wide as the data, columns in units of their spread
        within clusters.
    tol : float, default=1e-5
    max_iter : int, default=300
    kernel, kernel_params, engine, engine_params, stopping, random_state, verbose
        As in `OneClassPCM`.

    Attributes
    ----------
    labels_ : array of shape (n,)
    n_clusters_ : int
    memberships_ : array of shape (n, n_clusters)
        Rows sum to one.
    m_ : float
        The exponent used.
    collapse_ratio_ : float
        How fast memberships leave 1/n_clusters with the exponent used; below one they fall back
        to it. Infinite for one cluster.
    objective_ : float
        Σ w u^m D².
    support_, dual_coef_, outlier_scores_, overlap_scores_
        As in `PossibilisticCMeans`.
    bandwidth_, kernel_, plan_, engine_, n_iter_, converged_, history_
        As in `OneClassPCM`.

    See Also
    --------
    OutlierFuzzyCMeans : The same with outlier weights, which takes outliers out of the centers.
    suggest_n_clusters : Compares numbers of clusters.

    References
    ----------
    J. C. Bezdek, R. Ehrlich, W. Full, "FCM: the fuzzy c-means clustering algorithm", Computers &
    Geosciences 10, 1984. :doi:`10.1016/0098-3004(84)90020-7`

    Examples
    --------
    >>> import numpy as np
    >>> from softkern import FuzzyCMeans
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> X[30:] += 8
    >>> model = FuzzyCMeans(2).fit(X)
    >>> model.predict([[0, 0]]) == model.predict([[8.5, 8.5]])
    array([False])
    >>> model.predict_proba([[4.0, 4.0]]).round(1)
    array([[0.5, 0.5]])
    """

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        m: Any = "auto",
        init: Any = "k-means++",
        n_init: int = 5,
        kernel: Any = "rbf",
        kernel_params: dict[str, Any] | None = None,
        bandwidth: Any = "auto",
        engine: str = "auto",
        engine_params: dict[str, Any] | None = None,
        tol: float = 1e-5,
        max_iter: int = 300,
        stopping: str = "relative",
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.m = m
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

    def _memberships(self, weight: Array) -> Fuzzy:
        return Fuzzy(self.m_)


class OutlierFuzzyCMeans(_FuzzyClustering):
    """Fuzzy c-means with an outlier weight for every point (FKCO); linear, Keller's algorithm.

    A point that lies far from every center gets a large weight w and a small part, u^m / w^q, in
    the centers. The weights sum to `total_weight`, so that with the default one is typical and
    the largest name the outliers.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        ``"auto"`` takes the number of groups with a valley between any two, one where there are
        none; `n_clusters_` says how many.
    m : "auto" or float, default="auto"
        How soft the shares are; see `FuzzyCMeans`.
    q : float, default=1.0
        How little outliers count, above zero. Towards zero the model is `FuzzyCMeans`, with w as
        a mere reading; the larger q, the more robust. (The paper has it the other way round.)
        From about five a center may shrink onto a single point. Where the common center of all
        points does, `collapse_ratio_` is that of `FuzzyCMeans`.
    total_weight : float, default=None
        Sum of the weights, counted with `sample_weight`; None takes the number of points.
    centers : {"weighted", "plain"}, default="weighted"
        ``"weighted"`` takes means by u^m / w^q, with which the objective falls in every step.
        ``"plain"`` takes means by u, as the paper's eq. 11 has it: w then has no influence on the
        clusters, and the objective may rise.
    init, n_init, bandwidth, tol, max_iter
        As in `FuzzyCMeans`.
    kernel, kernel_params, engine, engine_params, stopping, random_state, verbose
        As in `OneClassPCM`.

    Attributes
    ----------
    labels_ : array of shape (n,)
    n_clusters_ : int
    memberships_ : array of shape (n, n_clusters)
        Rows sum to one.
    outlier_weights_ : array of shape (n,)
        w = S^(1/(q+1)), in a unit that makes their sum `total_weight`, where S = Σ u^m D².
    objective_ : float
        Σ u^m D² / w^q.
    m_, collapse_ratio_, support_, dual_coef_, outlier_scores_, overlap_scores_, bandwidth_, \
kernel_, plan_, engine_, n_iter_, converged_, history_
        As in `FuzzyCMeans`.

    References
    ----------
    H.-B. Shen, S.-T. Wang, X.-J. Wu, "Fuzzy kernel clustering with outliers", Journal of Software
    15(7), 1021-1029, 2004. http://www.jos.org.cn/1000-9825/15/1021.htm

    A. Keller, "Fuzzy clustering with outliers", NAFIPS 2000. :doi:`10.1109/NAFIPS.2000.877407`

    Examples
    --------
    >>> from softkern import OutlierFuzzyCMeans
    >>> from softkern.datasets import make_ring_outliers
    >>> X, y = make_ring_outliers(random_state=0)
    >>> model = OutlierFuzzyCMeans(2, bandwidth=1.5).fit(X)
    >>> sorted(model.outlier_weights_.argsort()[-3:].tolist()), y[-3:].tolist()
    ([160, 161, 162], [-1, -1, -1])
    >>> bool(model.outlier_weights([[20.0, 20.0]])[0] > 1)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_FuzzyClustering._parameter_constraints,
        "q": [Interval(Real, 0, None, closed="neither")],
        "total_weight": [Interval(Real, 0, None, closed="neither"), None],
        "centers": [StrOptions({"weighted", "plain"})],
    }
    _state: ClassVar[tuple[str, ...]] = ("outlier_weights_", "_weight_unit", "_least_weight")

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        m: Any = "auto",
        q: float = 1.0,
        total_weight: float | None = None,
        centers: str = "weighted",
        init: Any = "k-means++",
        n_init: int = 5,
        kernel: Any = "rbf",
        kernel_params: dict[str, Any] | None = None,
        bandwidth: Any = "auto",
        engine: str = "auto",
        engine_params: dict[str, Any] | None = None,
        tol: float = 1e-5,
        max_iter: int = 300,
        stopping: str = "relative",
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.m = m
        self.q = q
        self.total_weight = total_weight
        self.centers = centers
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

    @property
    def _collapse_options(self) -> dict[str, Any]:
        return {"q": self.q, "plain": self.centers == "plain"}

    def _memberships(self, weight: Array) -> OutlierFuzzy:
        total = float(weight.sum()) if self.total_weight is None else float(self.total_weight)
        return OutlierFuzzy(self.m_, self.q, total, self.centers == "plain")

    def _finish(self, operator: KernelOperator, solution: Solution, weight: Array) -> Geometry:
        geometry = super()._finish(operator, solution, weight)
        rule = self._memberships(weight)
        self.outlier_weights_, self._weight_unit, self._least_weight = outlier_weights(
            rule.spread(geometry), self.q, rule.total, weight
        )
        return geometry

    def outlier_weights(self, X: Any) -> Array:
        """Outlier weights of new points, (m,), in the unit of the training points'."""
        spread = self._memberships(self.sample_weight_).spread(self._geometry(self._rows(X)))
        root = np.maximum(spread, 0) ** (1 / (self.q + 1))
        return np.maximum(self._least_weight, self._weight_unit * root).astype(root.dtype)
