"""Fuzzy c-means in feature space, and a variant with outlier weights.

Memberships are u ∝ D²^(−1/(m−1)) and sum to one for every sample. `FuzzyCMeans` takes centers as
means weighted by u^m. `OutlierFuzzyCMeans` also gives every sample an outlier weight w and takes
means weighted by u^m / w^q (Keller 2000, Shen, Wang and Wu 2004). Both are rules of the same loop
(`softkern.rules.fuzzy`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from softkern._utils.sklearn_compat import Interval, StrOptions
from softkern._utils.typing import Array
from softkern.exceptions import ParameterWarning, warn
from softkern.models._array_dispatch import dispatch_arrays
from softkern.models.checks import check_apart, check_distinct, check_semidefinite, check_start
from softkern.models.clusterer import CenterClusterer, CenterScores
from softkern.models.state_schema import Floats, Number, Spec
from softkern.operators.base import Geometry, KernelOperator
from softkern.rules.base import Centers, Rule
from softkern.rules.centers import Mean
from softkern.rules.fuzzy import Fuzzy
from softkern.rules.memberships import fuzzy, log_fuzzy, outlier_weights
from softkern.solvers.collapse import select_fuzzifier
from softkern.solvers.initialization import best_fuzzy, sort_by_mass
from softkern.solvers.steps import Solution

__all__ = ["FuzzyCMeans", "OutlierFuzzyCMeans"]


class FuzzyScores(CenterScores):
    """Results from distances, without an array of logarithms."""

    model: FuzzyCMeans

    @cached_property
    def memberships(self) -> Array:
        return fuzzy(self.geometry.distances, self.model.m_)

    @cached_property
    def labels(self) -> NDArray[np.int_]:
        return np.argmin(self.geometry.distances, axis=1)


@dataclass(eq=False, repr=False, kw_only=True)
class FuzzyCMeans(CenterClusterer):
    """Fuzzy c-means in feature space. With the linear kernel, classic fuzzy c-means.

    Each sample receives a membership in every cluster, based on its distances to the cluster
    centers. Memberships sum to one. As m approaches one, memberships become 0 or 1 and the model
    becomes kernel k-means. With a large m or a narrow kernel all memberships become 1/n_clusters.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. ``"auto"`` estimates the number of groups that are separated by density
        gaps, one where there are none.
    m : "auto" or float, default="auto"
        Fuzzifier, above one: how soft memberships are. ``"auto"`` is 2, or the largest smaller
        value with which memberships do not become equal (a collapse ratio above 1.2). A number is
        used as given, with a `ParameterWarning` where memberships become equal.
    init : {"k-means++", "k-means", "random", "gmm"} or array of shape (n_samples, n_clusters), \
default="k-means++"
        Initialization: samples drawn by their squared distances in feature space, the clusters of
        kernel k-means, random memberships, memberships of a Gaussian mixture in input space, or
        the given memberships.
    n_init : int, default=5
        Number of initializations. The one with the lowest objective is used. A given `init` is the
        only one.
    kernel : str, callable or softkern.kernels.Kernel, default="rbf"
        Kernel, by name, as a function of two arrays, or as an object.
    kernel_params : dict, default=None
        Parameters of a kernel that is given by name or as a function.
    bandwidth : str, float or array of shape (n_features,), default="auto"
        Bandwidth of the kernel, or a rule that chooses it. ``"auto"`` is the rule ``"within"``: as
        wide as the data, features scaled by their spread within clusters.
    engine, engine_params
        As in `OneClassPCM`.
    tol : float, default=1e-5
        Stop when the change that `stopping` measures is below this.
    max_iter : int, default=300
        Largest number of iterations.
    stopping : {"relative", "mean", "sum", "objective"}, default="relative"
        Measure of change. See `OneClassPCM`.
    random_state, verbose
        As in `OneClassPCM`.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of highest membership.
    n_clusters_ : int
        Number of clusters.
    memberships_ : array of shape (n_samples, n_clusters)
        Membership of each training sample in every cluster. Rows sum to one.
    m_ : float
        Fuzzifier used.
    collapse_ratio_ : float
        Growth rate of deviations from 1/n_clusters. Below one memberships become equal. Infinite
        for one cluster.
    outlier_scores_ : array of shape (n_samples,)
        Leave-one-out outlier scores. See `outlier_scores`.
    overlap_scores_ : array of shape (n_samples,)
        Overlap scores. See `overlap_scores`.
    support_ : array of shape (n_support,)
        Indices of the training samples that make up the centers.
    dual_coef_ : array of shape (n_support, n_clusters)
        Weights of these samples in every center.
    objective_ : float
        Σ w u^m D².
    bandwidth_, kernel_, plan_, engine_, approximation_error_, n_iter_, converged_, history_
        As in `OneClassPCM`.

    See Also
    --------
    OutlierFuzzyCMeans : Variant with outlier weights, which exclude outliers from the centers.
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

    m: Any = "auto"
    tol: float = 1e-05
    max_iter: int = 300

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CenterClusterer._parameter_constraints,
        "m": [StrOptions({"auto"}), Interval(Real, 1, None, closed="neither")],
    }
    _fitted: ClassVar[dict[str, Spec]] = {
        "m_": Number(low=1, above=True),
        "collapse_ratio_": Number(finite=False),
    }
    _scores_class = FuzzyScores
    _description: ClassVar[str] = "fuzzy c-means"
    _remedy: ClassVar[str] = "Use fewer clusters, a smaller m or a wider kernel"

    def _rule(self, weight: Array) -> Fuzzy:
        """Return the membership rule with the exponent `m_`."""
        return Fuzzy(self.m_)

    def _solve(self, operator: KernelOperator, weight: Array) -> Solution:
        sample, sample_weight = operator.subsample(weight)
        check_distinct(self.n_clusters_, sample, sample_weight)
        check_semidefinite(sample)
        self.m_, self.collapse_ratio_ = 2.0 if isinstance(self.m, str) else float(self.m), np.inf
        if self.n_clusters_ > 1:
            check_apart(sample, sample_weight)
            of_sample = self._rule(sample_weight)
            self.m_, self.collapse_ratio_ = select_fuzzifier(
                sample, self.m, sample_weight, q=of_sample.q, plain=of_sample.plain
            )
        if self.collapse_ratio_ < 1:
            warn(
                f"With m={self.m_:g} all memberships become 1/n_clusters (collapse ratio "
                f"{self.collapse_ratio_:.3g}, below one). Use m='auto', a smaller m or a wider "
                "kernel.",
                ParameterWarning,
            )
        start, first = self._start(operator, weight)
        rule = Rule(self._rule(weight), Mean())
        solution = self._run_loop(operator, rule, start, weight, geometry=first)
        del start, first  # to free memory
        if isinstance(self.init, str):
            solution = sort_by_mass(solution, weight)
        return replace(solution, memberships=None)  # recomputed from the stored centers

    def _start(self, operator: KernelOperator, weight: Array) -> tuple[Centers, Geometry | None]:
        """Return the initial centers, and their geometry where it is known."""
        rule = self._rule(weight)
        if not isinstance(self.init, str):
            memberships = check_start(self.init, self.n_clusters_, weight)
            mass = weight[:, None] * memberships ** (1.0 if rule.plain else self.m_)
            return Mean().centers(mass, weight, None), None
        sample, sample_weight = operator.subsample(weight)
        best = best_fuzzy(
            sample,
            self._rule(sample_weight),
            sample_weight,
            self.n_clusters_,
            init=self.init,
            n_init=self.n_init,
            max_iter=self.max_iter,
            seed=self._fit_seed,
        )
        if sample is operator:
            return best.centers, best.geometry
        geometry = operator.geometry_from(sample, best.coefficients)
        mass = rule.evaluate(geometry, best.centers, weight).mass
        return Mean().centers(mass, weight, None), None

    def _log_memberships(self, geometry: Geometry) -> Array:
        return log_fuzzy(geometry.distances, self.m_)

    def _energies(self, geometry: Geometry) -> Array:
        return geometry.distances  # log u has no bound at a center


@dataclass(eq=False, repr=False, kw_only=True)
class OutlierFuzzyCMeans(FuzzyCMeans):
    """Fuzzy c-means with outlier weights (FKCO). With the linear kernel, Keller's algorithm.

    A sample far from every center gets a large outlier weight w and a small part, u^m / w^q, in
    the centers. The weights sum to `total_weight`: by default one is typical, and the largest
    weights identify outliers.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. ``"auto"`` estimates the number of groups that are separated by density
        gaps, one where there are none.
    m : "auto" or float, default="auto"
        Fuzzifier, above one: how soft memberships are. See `FuzzyCMeans`.
    q : float, default=1.0
        How little outliers count, above zero. Towards zero the clusters are those of `FuzzyCMeans`.
        The larger q, the more robust. (The paper uses the inverse.) From about five on a center may
        shrink onto a single sample. Where the common center of all samples does, `collapse_ratio_`
        is that of `FuzzyCMeans`.
    total_weight : float, default=None
        Sum of the outlier weights, counted with `sample_weight`. None is the number of samples.
    centers : {"weighted", "plain"}, default="weighted"
        ``"weighted"`` takes means by u^m / w^q, and the objective falls in every step. ``"plain"``
        takes means by u, as in eq. 11 of the paper: w has no influence on the clusters, and the
        objective may rise.
    init : {"k-means++", "k-means", "random", "gmm"} or array of shape (n_samples, n_clusters), \
default="k-means++"
        Initialization. See `FuzzyCMeans`.
    n_init : int, default=5
        Number of initializations. The one with the lowest objective is used.
    kernel : str, callable or softkern.kernels.Kernel, default="rbf"
        Kernel, by name, as a function of two arrays, or as an object.
    kernel_params : dict, default=None
        Parameters of a kernel that is given by name or as a function.
    bandwidth : str, float or array of shape (n_features,), default="auto"
        Bandwidth of the kernel, or a rule that chooses it. ``"auto"`` is the rule ``"within"``.
    engine, engine_params
        As in `OneClassPCM`.
    tol : float, default=1e-5
        Stop when the change that `stopping` measures is below this.
    max_iter : int, default=300
        Largest number of iterations.
    stopping : {"relative", "mean", "sum", "objective"}, default="relative"
        Measure of change. See `OneClassPCM`.
    random_state, verbose
        As in `OneClassPCM`.

    Attributes
    ----------
    outlier_weights_ : array of shape (n_samples,)
        w = S^(1/(q+1)), scaled so that they sum to `total_weight`, where S = Σ u^m D².
    objective_ : float
        Σ u^m D² / w^q.
    labels_, n_clusters_, memberships_, m_, collapse_ratio_, outlier_scores_, overlap_scores_
        As in `FuzzyCMeans`.
    support_, dual_coef_, bandwidth_, kernel_, plan_, engine_, approximation_error_, n_iter_, \
converged_, history_
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

    q: float = 1.0
    total_weight: float | None = None
    centers: str = "weighted"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FuzzyCMeans._parameter_constraints,
        "q": [Interval(Real, 0, None, closed="neither")],
        "total_weight": [Interval(Real, 0, None, closed="neither"), None],
        "centers": [StrOptions({"weighted", "plain"})],
    }
    _fitted: ClassVar[dict[str, Spec]] = {
        "outlier_weights_": Floats("n", low=0, method="outlier_weights"),
        "_weight_unit": Number(low=0),
        "_least_weight": Number(low=0),
    }

    def _rule(self, weight: Array) -> Fuzzy:
        total = float(weight.sum()) if self.total_weight is None else float(self.total_weight)
        return Fuzzy(self.m_, self.q, total, self.centers == "plain")

    def _store_scores(self, scores: Any) -> None:
        super()._store_scores(scores)
        self._weigh_outliers(scores.geometry, self.sample_weight_)

    def _weigh_outliers(self, geometry: Geometry, weight: Any) -> None:
        """Set the outlier weights of the training samples, and what new samples need of them."""
        rule = self._rule(weight)
        self.outlier_weights_, self._weight_unit, self._least_weight = outlier_weights(
            rule.spread(geometry), self.q, rule.total, weight
        )

    @dispatch_arrays
    def outlier_weights(self, X: Any) -> Array:
        """Compute outlier weights of samples, in the unit of `outlier_weights_`.

        Parameters
        ----------
        X : array or CSR matrix of shape (m, n_features)
            Samples to score.

        Returns
        -------
        weights : array of shape (m,)
            One is typical. Outliers have large weights.
        """
        spread = self._rule(self.sample_weight_).spread(self._geometry(self._cross(X)))
        root = np.maximum(spread, 0) ** (1 / (self.q + 1))
        return np.maximum(self._least_weight, self._weight_unit * root).astype(root.dtype)
