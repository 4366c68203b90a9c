"""Clusters of any shape: one possibilistic cluster in feature space, cut at a level.

`OneClassPCM` gives every place in data space a typicality; the places above a level α fall into
separate regions, and these are the clusters (Filippone, Masulli and Rovetta 2007, 2010). The
alpha tree (`softkern.alpha_tree.tree`) holds them for every α, and tells which are real.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.special import softmax
from sklearn.base import ClusterMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from softkern.alpha_tree.landscape import Landscape, distinct_nodes, noise_levels
from softkern.alpha_tree.tree import AlphaTree, histogram_valley, number_by_mass
from softkern.kernels import Gaussian
from softkern.models.base import KernelModel
from softkern.models.one_class_pcm import OneClassPCM
from softkern.planning import plan
from softkern.rows import check_weights

__all__ = ["AlphaCutClustering"]

Array = NDArray[Any]

COMPLETE_LIMIT = 2000  # points up to which all pairs are looked at


class AlphaCutClustering(ClusterMixin, KernelModel):  # type: ignore[misc]
    """Clusters of any shape and number, with noise, from one possibilistic cluster.

    All data are one cluster in feature space; their typicality u is a robust kernel density. Two
    points belong to the same cluster at level α when no point between them has u ≤ α, and points
    of u ≤ α are noise, −1. The number of clusters is found, not given: by default the clusters
    are those peaks that stand out of the estimate's own noise.

    Parameters
    ----------
    alpha : "auto", "valley" or float in (0, 1), default="auto"
        - ``"auto"``: each cluster is a branch of the alpha tree whose mass exceeds, by more than
          chance allows, what a plateau at the level of its saddle would hold. Every point belongs
          to a cluster, save where a cluster's points of low density are a population of their
          own: these are noise.
        - ``"valley"``: the level that separates the two modes of the memberships' histogram.
        - a number: that level.
    rejection : float in (0, 1), default=None
        Share of the points to reject; α is then the quantile of the memberships.
    segment_points : int, default=20
        Inner points at which a segment is looked at on the complete graph, at least; more where
        they would be over half a bandwidth apart. On the neighbour graph that spacing alone
        counts.
    graph : {"auto", "complete", "knn"}, default="auto"
        Pairs of points that are looked at: all of them, or each point's ten nearest and the
        closest pairs between separate groups. ``"auto"`` takes all for a given level, up to 2000
        points and with the Gaussian kernel, as the papers do; the neighbours otherwise.
    kernel : str, callable or softkern.kernels.Kernel, default="rbf"
        ``alpha="auto"`` needs "rbf" or "laplacian".
    bandwidth : str, float or array of shape (d,), default="auto"
        ``"auto"`` is the rule "tree" of `softkern.kernels.select_bandwidth`.
    eta_scale, kernel_params, engine, engine_params, tol, max_iter, stopping, random_state, verbose
        As in `OneClassPCM`.

    Attributes
    ----------
    labels_ : array of shape (n,)
        Clusters by decreasing size from 0; −1 is noise.
    n_clusters_ : int
    memberships_ : array of shape ``(n, n_clusters_)``
        Each cluster's share of the kernel mass at a point. Rows sum to one; the largest share is
        the label, noise aside.
    typicality_ : array of shape (n,)
        The one-cluster memberships u.
    alpha_ : float
        The level. With ``alpha="auto"`` the smallest at which all clusters are apart, 0 for one.
    tree_ : softkern.alpha_tree.tree.AlphaTree
        Over the distinct points, in the order of their values.
    node_ : array of shape (n,)
        The point of `tree_` that each row is; the nearest one for a row without weight.
    level_ : array of shape (n,)
        The α from which on `labels_at` says noise of each row.
    one_class_ : OneClassPCM
        The model of all data.
    eta_, bandwidth_, kernel_, engine_, n_iter_, converged_, objective_, history_
        As in `OneClassPCM`.

    Notes
    -----
    `sample_weight` counts rows: a weight of two is two rows, and a total weight of one is a single
    observation, in which no split is significant.

    References
    ----------
    M. Filippone, F. Masulli, S. Rovetta, "Applying the possibilistic c-means algorithm in
    kernel-induced spaces", IEEE Trans. Fuzzy Systems 18(3), 2010.
    :doi:`10.1109/TFUZZ.2010.2043440`

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softkern import AlphaCutClustering
    >>> X, y = make_moons(500, noise=0.08, random_state=0)
    >>> model = AlphaCutClustering().fit(X)
    >>> model.n_clusters_
    2
    >>> model.predict([[0.0, 1.0]]) == model.predict([[1.0, -0.5]])
    array([False])
    """

    memberships_sum_to_one: ClassVar[bool] = True

    _auto_bandwidth: ClassVar[str] = "tree"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "alpha": [StrOptions({"auto", "valley"}), Interval(Real, 0, 1, closed="neither")],
        "rejection": [None, Interval(Real, 0, 1, closed="neither")],
        "segment_points": [Interval(Integral, 1, None, closed="left")],
        "graph": [StrOptions({"auto", "complete", "knn"})],
        "eta_scale": [Interval(Real, 0, None, closed="neither")],
    }
    _state: ClassVar[tuple[str, ...]] = (
        "labels_",
        "n_clusters_",
        "typicality_",
        "alpha_",
        "eta_",
        "tree_",
        "node_",
        "level_",
        "one_class_",
        "_noise_levels",
        "_outlier_scores",
    )

    def __init__(
        self,
        *,
        alpha: Any = "auto",
        rejection: float | None = None,
        segment_points: int = 20,
        graph: str = "auto",
        eta_scale: float = 1.0,
        kernel: Any = "rbf",
        kernel_params: dict[str, Any] | None = None,
        bandwidth: Any = "auto",
        engine: str = "auto",
        engine_params: dict[str, Any] | None = None,
        tol: float = 1e-4,
        max_iter: int = 100,
        stopping: str = "mean",
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.alpha = alpha
        self.rejection = rejection
        self.segment_points = segment_points
        self.graph = graph
        self.eta_scale = eta_scale
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
        X : array of shape (n, d)
        y : ignored
        sample_weight : array of shape (n,), default=None
            A weight of two counts a row twice.
        """
        self._check_parameters()
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        weight = check_weights(sample_weight, X.shape[0])
        self.sample_weight_ = weight
        nodes, mass, self.node_ = distinct_nodes(X, weight)
        self.one_class_ = self._fit_one_class(nodes, mass)
        landscape = _landscape(self.one_class_, nodes, mass)
        self.tree_: AlphaTree = landscape.tree(self._graph(len(nodes)), self.segment_points)
        partition = self._cut(landscape)
        self._settle(landscape, partition)
        self.typicality_ = self.one_class_.memberships(X)
        self.memberships_, self.labels_ = self._describe(X)
        self._outlier_scores = self.one_class_.outlier_scores()[self.node_]
        is_left_out = weight == 0
        if is_left_out.any():  # they go with the nearest node, but vouch for nothing
            rest = X[is_left_out]
            self.node_[is_left_out] = cKDTree(nodes).query(rest)[1]
            self._outlier_scores[is_left_out] = self.one_class_.outlier_scores(rest)
        self.level_ = self.tree_.heights[self.node_]
        own = self.typicality_[is_left_out]
        self.level_[is_left_out] = np.minimum(self.level_[is_left_out], own)
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Cluster of new points, −1 for noise, (m,)."""
        return self._describe(self._check_new(X))[1]

    def memberships(self, X: Any) -> Array:
        """Each cluster's share of the kernel mass at new points, ``(m, n_clusters_)``."""
        return self._describe(self._check_new(X))[0]

    def typicality(self, X: Any) -> Array:
        """Typicality u of new points in the one cluster of all data, (m,)."""
        return self.one_class_.memberships(self._check_new(X))

    def labels_at(self, alpha: float) -> NDArray[np.int64]:
        """The papers' labels of the training points at any level, (n,), without another fit."""
        check_is_fitted(self)
        labels = self.tree_.labels_at(alpha)[self.node_]
        labels[self.level_ <= alpha] = -1
        return labels

    def outlier_scores(self, X: Any = None) -> Array:
        """−log density, (m,): the higher, the less typical. As `OneClassPCM.outlier_scores`."""
        check_is_fitted(self)
        if X is None:
            return self._outlier_scores
        return self.one_class_.outlier_scores(self._check_new(X))

    def overlap_scores(self, X: Any = None) -> Array:
        """Second largest share over the largest, (m,): one where two clusters tie."""
        check_is_fitted(self)
        shares = self.memberships_ if X is None else self.memberships(X)
        if shares.shape[1] < 2:
            return np.zeros(len(shares), dtype=shares.dtype)
        second, first = np.partition(shares, -2, axis=1)[:, -2:].T
        return np.asarray(second / first)

    # How a fit goes

    def _check_parameters(self) -> None:
        self._validate_params()
        if self.rejection is not None and not isinstance(self.alpha, str):
            raise ValueError(
                f"give alpha={self.alpha!r} or rejection={self.rejection!r}, not both."
            )
        if self._is_precomputed:
            raise ValueError(
                "AlphaCutClustering needs points of a vector space, since it looks between them; "
                "kernel='precomputed' has none. Give the data and a kernel."
            )

    @property
    def _is_automatic(self) -> bool:
        return self.rejection is None and isinstance(self.alpha, str) and self.alpha == "auto"

    def _fit_one_class(self, nodes: Array, mass: Array) -> OneClassPCM:
        one_class = OneClassPCM(
            eta_scale=self.eta_scale,
            kernel=self.kernel,
            kernel_params=self.kernel_params,
            bandwidth=self._bandwidth_rule(),
            engine=self.engine,
            engine_params=self.engine_params,
            tol=self.tol,
            max_iter=self.max_iter,
            stopping=self.stopping,
            random_state=self.random_state,
            verbose=self.verbose,
        ).fit(nodes, sample_weight=mass)
        for name in ("eta_", "bandwidth_", "kernel_", "engine_", "plan_", "n_iter_", "converged_"):
            setattr(self, name, getattr(one_class, name))
        self.objective_, self.history_ = one_class.objective_, one_class.history_
        if self._is_automatic and not self.kernel_.is_shift_invariant:
            raise ValueError(
                f"alpha='auto' needs a kernel density, and kernel={self.kernel!r} is none; give "
                "alpha=<a number>, rejection=<a share>, or kernel='rbf'."
            )
        return one_class

    def _graph(self, n: int) -> str:
        if self.graph != "auto":
            return self.graph
        is_paper = not self._is_automatic and isinstance(self.kernel_, Gaussian)
        return "complete" if is_paper and n <= COMPLETE_LIMIT else "knn"

    def _cut(self, landscape: Landscape) -> NDArray[np.int64]:
        """Choose the level; the cluster of every node, (n,), −1 for none."""
        tree = self.tree_
        self._noise_levels: Array | None = None
        if self._is_automatic:
            self.alpha_ = tree.separating_alpha()
            labels = tree.significant_labels()
            self._noise_levels = noise_levels(landscape, labels, _fit_line)
            return labels
        if self.rejection is not None:
            self.alpha_ = _rejection_level(tree.heights, tree.weight, self.rejection)
        elif isinstance(self.alpha, str):
            self.alpha_ = histogram_valley(tree.heights, tree.weight)
        else:
            self.alpha_ = float(self.alpha)
        return tree.labels_at(self.alpha_)

    def _settle(self, landscape: Landscape, partition: Array) -> None:
        """Turn the tree's clusters into columns of coefficients, the way new points see them.

        A cluster that is nowhere the largest is dropped; the others are put in order of the mass
        that they win.
        """
        a = np.asarray(self.one_class_.dual_coef_)
        count = int(partition.max(initial=-1)) + 1
        self._support = landscape.nodes
        self._coefficients = np.where(partition[:, None] == np.arange(count), a[:, None], 0)
        self._coefficients = self._coefficients.astype(landscape.nodes.dtype)
        _, won = self._describe(landscape.nodes)
        order = number_by_mass(won, landscape.mass, landscape.level)
        first = [int(won[np.argmax(order == c)]) for c in range(int(order.max(initial=-1)) + 1)]
        self._coefficients = np.ascontiguousarray(self._coefficients[:, first])
        if self._noise_levels is not None:
            self._noise_levels = self._noise_levels[first]
        self.n_clusters_ = len(first)

    def _describe(self, X: Array) -> tuple[Array, NDArray[np.int64]]:
        """Shares (m, c) and labels (m,) of checked points: the one path."""
        shares = self._shares(X)
        if shares.shape[1] == 0:
            return shares, np.full(len(X), -1, dtype=np.int64)
        labels = np.argmax(shares, axis=1).astype(np.int64)
        if self._noise_levels is None:
            # α may be the membership of a point, which another batch gives with another rounding
            rounding = 1 + 64 * np.finfo(X.dtype).eps
            is_noise = self.one_class_.memberships(X) <= self.alpha_ * rounding
        elif np.isfinite(self._noise_levels).any():
            is_noise = self.one_class_.score_samples(X) < self._noise_levels[labels]
        else:
            is_noise = np.zeros(len(X), dtype=bool)
        labels[is_noise] = -1
        return shares, labels

    def _shares(self, X: Array) -> Array:
        """Each cluster's share of the kernel mass at checked points, (m, c)."""
        A = self._coefficients
        if A.shape[1] < 2:
            return np.ones((len(X), A.shape[1]), dtype=A.dtype)
        cross = self._cross(X)
        mass = cross @ A
        if self.kernel_.is_shift_invariant:
            mass = np.maximum(mass, 0)
            vanishing = 10 * cross.support.error * float(A.sum(axis=0).max())
            far = np.flatnonzero(mass.max(axis=1) <= vanishing)
            near = mass.sum(axis=1, keepdims=True)
            shares = mass / np.where(near > 0, near, 1)
            if far.size:
                shares[far] = softmax(self._cross(X[far]).log_product(A), axis=1)
            return np.asarray(shares)
        mass = np.where(mass == mass.max(axis=1, keepdims=True), np.abs(mass), np.maximum(mass, 0))
        return np.asarray(
            mass / np.maximum(mass.sum(axis=1, keepdims=True), np.finfo(A.dtype).tiny)
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.pairwise = False
        return tags


def _landscape(one_class: OneClassPCM, nodes: Array, mass: Array) -> Landscape:
    """What the alpha tree needs of a model that was fitted to distinct points."""
    return Landscape(
        nodes,
        mass,
        np.asarray(one_class.dual_coef_),
        one_class.eta_,
        one_class.kernel_,
        levels=one_class.score_samples,
        typicality=one_class.memberships,
        operator_of=lambda points, kernel: plan(points, kernel=kernel, iterations=2).build(points),
    )


def _fit_line(values: Array, mass: Array) -> Landscape:
    """Of a single column (m, 1), by the rules of this model's defaults."""
    one_class = OneClassPCM(bandwidth="tree", max_iter=1000).fit(values, sample_weight=mass)
    return _landscape(one_class, values, mass)


def _rejection_level(values: Array, weight: Array, share: float) -> float:
    """The largest value among the lowest that hold this share of the weight.

    Whole weights are counts, and their share is rounded to one.
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    target = share * float(reached[-1])
    if (weight == np.round(weight)).all():
        target = float(np.round(target))
    if target <= 0:
        return float(values.min()) / 2  # nothing is rejected
    last = np.searchsorted(reached, target * (1 - 1e-12))
    return float(values[order[min(int(last), len(order) - 1)]])
