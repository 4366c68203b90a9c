"""Hard clustering with one-class SVMs (Camastra and Verri 2005): k-means whose centres are spheres.

The rule is in `softkern.rules.one_class`; with ν = 1 it is kernel k-means, which is also the
start ``"kmeans"``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from softkern.exceptions import CollapseWarning
from softkern.models.one_class_base import (
    SAME_SCATTER,
    OneClassClusters,
    by_size,
    point_weights,
)
from softkern.operators.base import Geometry, KernelOperator
from softkern.rules.one_class import HardRule, depth, nearest
from softkern.solvers.alternate import Solution, alternate, best_of
from softkern.solvers.starts import check_start

__all__ = ["OneClassKMeans"]

Array = NDArray[Any]


class OneClassKMeans(OneClassClusters):
    """Hard clusters, each a one-class SVM: Camastra and Verri's kernel method.

    As k-means, with the centre of the smallest sphere around a cluster's points in place of their
    mean: every point goes to the nearest centre, then every cluster's machine is trained on its
    own points [1]_. The 2009 paper compares its soft form with this one [2]_. Nothing bounds the
    loop but ν = 1, kernel k-means: it may go round, which is found and said.

    Parameters
    ----------
    n_clusters : int, default=2
    formulation : {"svdd", "ocsvm"}, default="svdd"
        Nearest by the distance to the sphere's centre, or by the depth inside the margin in
        LIBSVM's scale, as in the tables of the 2009 paper; there large clusters starve small ones.
    nu : float in (0, 1], default=0.95
        Share of a cluster's points that shapes it. At one, centres are means.
    init : {"kmeans", "random"} or array of shape (n, n_clusters), default="kmeans"
        The first clusters: those of kernel k-means; single points, drawn as k-means++ draws them;
        or given weights.
    n_init : int, default=5
        Random starts; kept is the one of the least scatter.
    bandwidth : str, float or array of shape (d,), default="auto"
        ``"auto"`` is the rule ``"global"``.
    kernel, kernel_params, engine, engine_params, tol, max_iter, stopping, random_state, verbose
        As in `OneClassMixture`.

    Attributes
    ----------
    labels_ : array of shape (n,)
    memberships_ : array of shape (n, n_clusters)
        One for a point's own cluster, zero for the others.
    cluster_weights_ : array of shape (n_clusters,)
        Share of the weight in every cluster.
    dual_coef_, offset_, radius_
        As in `OneClassMixture`.
    objective_ : float
        Σ w D² to the own centres.
    bandwidth_, kernel_, engine_, n_iter_, converged_, history_
        As in `OneClassMixture`.

    References
    ----------
    .. [1] F. Camastra, A. Verri, "A novel kernel method for clustering", IEEE Trans. Pattern
       Analysis and Machine Intelligence 27(5), 2005. :doi:`10.1109/TPAMI.2005.88`
    .. [2] M. Bicego, M. A. T. Figueiredo, "Soft clustering using weighted one-class support vector
       machines", Pattern Recognition 42(1), 2009. :doi:`10.1016/j.patcog.2008.07.004`

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from softkern import OneClassKMeans
    >>> X, y = make_blobs(90, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> model = OneClassKMeans(n_clusters=3).fit(X)
    >>> model.cluster_weights_.round(2)
    array([0.33, 0.33, 0.33])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OneClassClusters._parameter_constraints,
        "init": [StrOptions({"random", "kmeans"}), "array-like"],
    }
    _state: ClassVar[tuple[str, ...]] = ("_totals", "_depth_error", "_training_gap", "_mean_gap")

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        formulation: str = "svdd",
        nu: float = 0.95,
        init: Any = "kmeans",
        n_init: int = 5,
        kernel: Any = "rbf",
        kernel_params: dict[str, Any] | None = None,
        bandwidth: Any = "auto",
        engine: str = "auto",
        engine_params: dict[str, Any] | None = None,
        tol: float = 1e-4,
        max_iter: int = 300,
        stopping: str = "absolute",
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.formulation = formulation
        self.nu = nu
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or a Gram matrix for kernel="precomputed"
        y : ignored
        sample_weight : array of shape (n,), default=None
            A weight of two counts a row twice.
        """
        operator, weight, generator = self._machines(X, sample_weight)
        solution = best_of(self._runs(operator, weight, generator), margin=SAME_SCATTER)
        if isinstance(self.init, str):
            solution = by_size(solution)
        rule: HardRule = solution.rule
        self._totals, self._depth_error = rule.totals, rule.depth_error
        self._training_gap = self._gap(self._keep(operator, solution, weight))
        gap = float(weight @ self._training_gap / weight.sum())
        self._mean_gap = gap if 0 < gap < np.inf else 1.0
        self._warn_of_collapse(rule)
        return self

    def _runs(
        self, operator: KernelOperator, weight: Array, generator: np.random.RandomState
    ) -> Iterator[Solution]:
        if not isinstance(self.init, str):
            yield self._run_from(operator, weight, check_start(self.init, self.n_clusters, weight))
            return
        starts = [
            point_weights(operator, weight, self.n_clusters, generator) for _ in range(self.n_init)
        ]
        if self.init == "random":
            yield from (self._run_from(operator, weight, start) for start in starts)
            return
        runs = (self._run_from(operator, weight, start, means=True) for start in starts)
        means = best_of(runs, margin=SAME_SCATTER)
        yield self._run_from(operator, weight, means.memberships, geometry=means.geometry)

    def _run_from(
        self,
        operator: KernelOperator,
        weight: Array,
        start: Array,
        *,
        means: bool = False,
        geometry: Geometry | None = None,
    ) -> Solution:
        """The loop from start weights; with `means`, kernel k-means.

        The geometry belongs to a start in which a cluster may be empty.
        """
        own = {"nu": 1.0, "formulation": "svdd"} if means else {}
        rule = HardRule(**self._rule_options(operator, weight) | own)
        if geometry is None:
            coefficients, product = rule.train(weight[:, None] * start)
        else:
            coefficients, product = rule.coefficients(geometry, start)
        options = self._loop_options(weight)
        options["geometry"] = operator.geometry(coefficients, product)
        options["description"] = "kernel k-means" if means else "one-class k-means"
        return alternate(operator, rule, coefficients, **options)

    def _warn_of_collapse(self, rule: HardRule) -> None:
        if rule.reseeded:
            warnings.warn(
                f"{rule.reseeded} times a cluster had lost all its points and was seeded again "
                "with the point furthest from its own centre; use fewer clusters, init='kmeans', "
                "or formulation='svdd'.",
                CollapseWarning,
                stacklevel=3,
            )

    def _depth(self, geometry: Geometry) -> Array:
        return depth(geometry, self.formulation, self.offset_, self._totals)

    def _gap(self, geometry: Geometry) -> Array:
        """How much nearer the nearest cluster is than the next, (m,)."""
        if self.n_clusters == 1:
            return np.full(len(geometry.product), np.inf, dtype=geometry.product.dtype)
        second, first = np.partition(self._depth(geometry), -2, axis=1)[:, -2:].T
        return np.asarray(first - second)

    def _log_memberships(self, geometry: Geometry) -> Array:
        """Zero for the own cluster, −∞ for the others, (m, c)."""
        with np.errstate(divide="ignore"):
            return np.log(nearest(self._depth(geometry), self._depth_error))

    def overlap_scores(self, X: Any = None) -> Array:
        """How near the second cluster is, (m,): one where two tie, 1/e at the mean difference.

        Memberships are zero and one, so it is told from what they were decided by. Without X, the
        training points.
        """
        check_is_fitted(self)
        gap = self._training_gap if X is None else self._gap(self._new_geometry(X)[1])
        return np.asarray(np.exp(-gap / self._mean_gap))
