"""Fuzzy c-means in feature space, and its form that finds outliers: clusters that compete.

Memberships are shares, u ∝ D²^(−1/(m−1)), that sum to one for every point. `FuzzyCMeans` takes
centres as means by u^m; `OutlierFuzzyCMeans` gives every point an outlier weight w as well and
takes means by u^m / w^q (Keller 2000; Shen, Wang and Wu 2004). Both are rules of the one loop
(`softkern.rules.fuzzy`).
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils._param_validation import Interval, StrOptions

from softkern.exceptions import CollapseWarning
from softkern.models.base import KernelModel
from softkern.models.clustering import CentreClustering
from softkern.operators.base import Geometry, KernelOperator
from softkern.rules.fuzzy import FuzzyRule, OutlierFuzzyRule
from softkern.rules.memberships import log_fuzzy
from softkern.solvers.alternate import Solution
from softkern.solvers.starts import (
    best_fuzzy,
    check_apart,
    check_distinct,
    check_n_clusters,
    check_start,
    safe_m,
)

__all__ = ["FuzzyCMeans", "OutlierFuzzyCMeans"]

Array = NDArray[Any]

SAME_CENTRE = 1e-6  # squared distance of two centres, as a share of the mean to the nearest


class _Fuzzy(CentreClustering):
    """What the two fuzzy models share; they differ in their rule."""

    _auto_bandwidth: ClassVar[str] = "global"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "m": [Interval(Real, 1, None, closed="neither")],
        "lower_m": ["boolean"],
        "init": [StrOptions({"k-means++"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }
    _state: ClassVar[tuple[str, ...]] = ("m_", "collapse_ratio_")
    n_clusters: int
    m: float
    lower_m: bool
    init: Any
    n_init: int

    @abstractmethod
    def _rule(self, weight: Array) -> FuzzyRule | OutlierFuzzyRule:
        """The model as a rule, with the exponent `m_`."""

    @property
    def _collapse_options(self) -> dict[str, Any]:
        """What the collapse ratio must know of the centres beside m."""
        return {}

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or a Gram matrix for kernel="precomputed"
        y : ignored
        sample_weight : array of shape (n,), default=None
            A weight of two counts a row twice.
        """
        operator, weight = self._prepare(X, sample_weight, columns=self.n_clusters)
        check_n_clusters(self.n_clusters, operator.shape[0])
        check_distinct(self.n_clusters, operator.X, weight)
        self.m_, self.collapse_ratio_ = float(self.m), np.inf
        if self.n_clusters > 1:
            check_apart(operator, weight)
            self.m_, self.collapse_ratio_ = safe_m(
                operator, self.m_, weight, is_lowered=self.lower_m, **self._collapse_options
            )
        rule = self._rule(weight)
        start, first = self._start(operator, rule)
        solution = self._run(operator, rule, start, weight, "fuzzy c-means", first)
        del solution.memberships  # told anew from the centres, by logarithms
        self._finish(operator, solution, weight)
        self._warn_of_collapse(solution, weight)
        return self

    def _start(
        self, operator: KernelOperator, rule: FuzzyRule | OutlierFuzzyRule
    ) -> tuple[Array, Geometry | None]:
        """Coefficients of the start, and their geometry where it is known."""
        if not isinstance(self.init, str):
            start = check_start(self.init, self.n_clusters, rule.weight)
            return rule.means(start), None
        best = best_fuzzy(
            operator,
            rule,
            self.n_clusters,
            n_init=self.n_init if self.n_clusters > 1 else 1,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )
        return best.coefficients, best.geometry

    def _warn_of_collapse(self, solution: Solution, weight: Array) -> None:
        geometry = solution.geometry
        gaps = geometry.gaps(solution.coefficients)
        width = float(weight @ geometry.distances.min(axis=1)) / float(weight.sum())
        pairs = np.argwhere(np.triu(gaps < SAME_CENTRE * width, 1))
        if pairs.size:
            named = ", ".join(f"{i} and {j}" for i, j in pairs[:5])
            warnings.warn(
                f"centres {named} coincide: there are fewer clusters than n_clusters="
                f"{self.n_clusters}. Use fewer clusters, a smaller m or a wider kernel.",
                CollapseWarning,
                stacklevel=3,
            )

    def predict_proba(self, X: Any) -> Array:
        """Memberships of new points, (m, n_clusters); rows sum to one."""
        return self.memberships(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # scikit-learn's check of sparse input reads them of whatever has predict_proba
        tags.classifier_tags = ClassifierTags(multi_class=self.n_clusters != 2)
        return tags

    def _log_memberships(self, geometry: Geometry) -> Array:
        return log_fuzzy(geometry.distances, self.m_)


class FuzzyCMeans(_Fuzzy):
    """Fuzzy c-means in feature space; with the linear kernel, classic fuzzy c-means.

    Every point shares itself among the clusters by its distances to their centres. As m falls
    towards one, shares become all or nothing and the model kernel k-means; with a large m or a
    narrow kernel all shares become 1/n_clusters, which `softkern.collapse_ratio` foresees.

    Parameters
    ----------
    n_clusters : int, default=2
    m : float, default=2.0
        How soft the shares are, above one.
    lower_m : bool, default=True
        Where memberships with m would become equal, take the largest m with which they do not
        (a collapse ratio above 1.2), and say so by a `CollapseWarning`.
    init : "k-means++" or array of shape (n, n_clusters), default="k-means++"
        Start: points as centres, drawn by their squared distances in feature space; or
        memberships.
    n_init : int, default=5
        Starts, of which the one of lowest objective is taken; a given `init` is the only one.
    bandwidth : str, float or array of shape (d,), default="auto"
        ``"auto"`` is the rule ``"global"``: a few centres need a kernel as wide as clusters are.
    tol : float, default=1e-5
        Stop when memberships change less than this on average.
    max_iter : int, default=300
    kernel, kernel_params, engine, engine_params, random_state, verbose
        As in `OneClassPCM`.

    Attributes
    ----------
    labels_ : array of shape (n,)
    memberships_ : array of shape (n, n_clusters)
        Rows sum to one.
    m_ : float
        The exponent used.
    collapse_ratio_ : float
        Of the exponent used; infinite for one cluster.
    dual_coef_ : array of shape (n, n_clusters)
        Weight of every training point in every centre.
    objective_ : float
        Σ w u^m D².
    bandwidth_, kernel_, engine_, n_iter_, converged_, history_
        As in `OneClassPCM`.

    See Also
    --------
    OutlierFuzzyCMeans : The same with outlier weights, which takes outliers out of the centres.
    collapse_ratio : The test behind `lower_m`.
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
        n_clusters: int = 2,
        *,
        m: float = 2.0,
        lower_m: bool = True,
        init: Any = "k-means++",
        n_init: int = 5,
        kernel: Any = "rbf",
        kernel_params: dict[str, Any] | None = None,
        bandwidth: Any = "auto",
        engine: str = "auto",
        engine_params: dict[str, Any] | None = None,
        tol: float = 1e-5,
        max_iter: int = 300,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.m = m
        self.lower_m = lower_m
        self.init = init
        self.n_init = n_init
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.bandwidth = bandwidth
        self.engine = engine
        self.engine_params = engine_params
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def _rule(self, weight: Array) -> FuzzyRule:
        return FuzzyRule(self.m_, weight)


class OutlierFuzzyCMeans(_Fuzzy):
    """Fuzzy c-means with an outlier weight for every point (FKCO); linear, Keller's algorithm.

    A point that lies far from every centre gets a large weight w and a small part, u^m / w^q, in
    the centres. The weights sum to `total_weight`, so that with the default one is typical and
    the largest name the outliers.

    Parameters
    ----------
    n_clusters : int, default=2
    m : float, default=2.0
        How soft the shares are, above one.
    q : float, default=1.0
        How little outliers count, above zero. Towards zero the model is `FuzzyCMeans`, with w as
        a mere reading; the larger q, the more robust. (The paper has it the other way round.)
        From about five a centre may shrink onto a single point. Where the common centre of all
        points does, `collapse_ratio_` is that of `FuzzyCMeans`.
    total_weight : float, default=None
        Sum of the weights, counted with `sample_weight`; None takes the number of points.
    centres : {"eq21", "eq11"}, default="eq21"
        ``"eq21"`` takes means by u^m / w^q, with which the objective falls in every step.
        ``"eq11"`` takes means by u, as the paper's distance has it: w then has no influence on the
        clusters, and the objective may rise.
    lower_m, init, n_init, bandwidth, tol, max_iter
        As in `FuzzyCMeans`.
    kernel, kernel_params, engine, engine_params, random_state, verbose
        As in `OneClassPCM`.

    Attributes
    ----------
    labels_ : array of shape (n,)
    memberships_ : array of shape (n, n_clusters)
        Rows sum to one.
    outlier_weights_ : array of shape (n,)
        w = S^(1/(q+1)), in a unit that makes their sum `total_weight`, where S = Σ u^m D².
    objective_ : float
        Σ u^m D² / w^q.
    m_, collapse_ratio_, dual_coef_, bandwidth_, kernel_, engine_, n_iter_, converged_, history_
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
        **_Fuzzy._parameter_constraints,
        "q": [Interval(Real, 0, None, closed="neither")],
        "total_weight": [Interval(Real, 0, None, closed="neither"), None],
        "centres": [StrOptions({"eq21", "eq11"})],
    }
    _state: ClassVar[tuple[str, ...]] = ("outlier_weights_", "_weight_unit", "_least_weight")

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        m: float = 2.0,
        q: float = 1.0,
        total_weight: float | None = None,
        centres: str = "eq21",
        lower_m: bool = True,
        init: Any = "k-means++",
        n_init: int = 5,
        kernel: Any = "rbf",
        kernel_params: dict[str, Any] | None = None,
        bandwidth: Any = "auto",
        engine: str = "auto",
        engine_params: dict[str, Any] | None = None,
        tol: float = 1e-5,
        max_iter: int = 300,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.m = m
        self.q = q
        self.total_weight = total_weight
        self.centres = centres
        self.lower_m = lower_m
        self.init = init
        self.n_init = n_init
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.bandwidth = bandwidth
        self.engine = engine
        self.engine_params = engine_params
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def outlier_weights(self, X: Any) -> Array:
        """Outlier weights of new points, (m,), in the unit of the training points'."""
        distances = self._new_geometry(X)[1].distances
        return self._weigh(distances)

    @property
    def _collapse_options(self) -> dict[str, Any]:
        return {"q": self.q, "centres": self.centres}

    def _rule(self, weight: Array) -> OutlierFuzzyRule:
        total = float(weight.sum()) if self.total_weight is None else float(self.total_weight)
        return OutlierFuzzyRule(self.m_, weight, self.q, total, self.centres)

    def _finish(self, operator: KernelOperator, solution: Solution, weight: Array) -> Geometry:
        geometry = super()._finish(operator, solution, weight)
        told = self._rule(weight).outlier_weights(geometry, self.memberships_)
        self.outlier_weights_, self._weight_unit, self._least_weight = told
        return geometry

    def _weigh(self, distances: Array) -> Array:
        """w = max(least, unit × S^(1/(q+1))) of points by their distances to the centres."""
        memberships = np.exp(log_fuzzy(distances, self.m_))
        spread = np.einsum("ij,ij->i", memberships**self.m_, distances)
        root = np.maximum(spread, 0) ** (1 / (self.q + 1))
        weights = np.maximum(self._least_weight, self._weight_unit * root)
        return np.asarray(weights, dtype=root.dtype)
