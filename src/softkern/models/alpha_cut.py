"""Clusters of any shape: one possibilistic cluster in feature space, cut at a level.

`OneClassPCM` gives every place in data space a typicality; the places above a level α fall into
separate regions, and these are the clusters (Filippone, Masulli and Rovetta 2007, 2010). The
alpha tree (`softkern.density_tree`) holds them for every α, with the significance of each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from softkern._utils.neighbors import k_nearest
from softkern._utils.progress import stage
from softkern._utils.random import child_seed
from softkern._utils.sklearn_compat import Interval, StrOptions
from softkern._utils.typing import Array
from softkern.density_tree.bandwidth_search import Scales, search_scales
from softkern.density_tree.landscape import Landscape, distinct_nodes, noise_levels
from softkern.density_tree.memberships import membership_kernel
from softkern.density_tree.tree import SMALL_SHARE, AlphaTree, histogram_valley, number_by_mass
from softkern.kernels import Gaussian, Kernel, resolve, select_bandwidth
from softkern.kernels.resolve import RADIAL
from softkern.models._array_dispatch import dispatch_arrays
from softkern.models.base import FIT_ATTRIBUTES
from softkern.models.clusterer import Clusterer
from softkern.models.kernel_model import KernelModel
from softkern.models.one_class_pcm import OneClassPCM
from softkern.models.point_scores import PointScores
from softkern.models.state_schema import Floats, Indices, Instance, KernelSpec, Number, Spec
from softkern.operators.base import KernelOperator
from softkern.planning.engines import prediction_parameters
from softkern.rows import Rows, lower_quantile, reduce_weights
from softkern.rules.memberships import runner_up

__all__ = ["AlphaCutClustering"]

READ = ("memberships", "labels", "typicality", "outlier_scores", "overlap_scores")
COMPLETE_LIMIT = 2000  # points up to which all pairs are looked at


class Density(OneClassPCM):
    """The density alone, for trees that are only looked at: training points get no scores."""

    def _fit(self, rows: Rows) -> None:
        self._fit_density(rows)


class AlphaCutScores(PointScores):
    """Results of samples whose kernel sums with every cluster are known.

    The last column of `product` (m, c + 1) is the part that belongs to no cluster.
    """

    def __init__(self, model: AlphaCutClustering, X: Array) -> None:
        rows = model._stored_operator().cross(X)
        self._model, self._X = model, X
        self._product = rows @ model._cluster_coefficients
        self._whole = model.one_class_._scores_from_product(rows, self._product.sum(axis=1))

    @cached_property
    def memberships(self) -> Array:
        return self._model._shares(self._X, self._product[:, :-1])

    @cached_property
    def labels(self) -> NDArray[np.int_]:
        return self._model._labels(self.memberships, self._whole, self._product)

    @cached_property
    def typicality(self) -> Array:
        """Typicality in the one cluster of all data, (m,)."""
        return self._whole.memberships

    @cached_property
    def outlier_scores(self) -> Array:
        return self._whole.outlier_scores

    @cached_property
    def overlap_scores(self) -> Array:
        return _ratio(self.memberships)


class AlphaCutClustering(Clusterer, KernelModel):
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
    n_clusters : int, default=None
        Cut the tree into so many clusters, at its most significant joins; None finds the number.
        Fewer come where further branches are so small that they are nowhere the densest. Not
        together with a level.
    segment_points : int, default=20
        Inner points at which a segment is looked at on the complete graph, at least; more where
        they would be over half a bandwidth apart. On the neighbor graph that spacing alone
        counts.
    graph : {"auto", "complete", "knn"}, default="auto"
        Pairs of points that are looked at: all of them, or each point's ten nearest and the
        closest pairs between separate groups. ``"auto"`` takes all for a given level, up to 2000
        points and with the Gaussian kernel, as the papers do; the neighbors otherwise.
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
        Each cluster's share of the kernel mass at a point, half and half between two of them. Rows
        sum to one; the largest share is the label, noise aside. Where the bandwidth was chosen
        too, the mass is taken in a kernel as wide as the clusters allow: a row far from all others
        would otherwise be its own evidence.
    typicality_ : array of shape (n,)
        The one-cluster memberships u.
    alpha_ : float
        The level. With ``alpha="auto"`` the smallest at which all clusters are apart, 0 for one.
    tree_ : softkern.density_tree.tree.AlphaTree
        Over the distinct points, in the order of their values.
    node_ : array of shape (n,)
        The point of `tree_` that each row is; the nearest one for a row without weight.
    level_ : array of shape (n,)
        The α from which on `labels_at` says noise of each row.
    one_class_ : OneClassPCM
        The model of all data.
    outlier_scores_, overlap_scores_ : arrays of shape (n,)
        Of the training points; outlier scores leave-one-out.
    eta_, bandwidth_, kernel_, plan_, engine_, approximation_error_, n_iter_, converged_, \
objective_, history_
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
        "n_clusters": [None, Interval(Integral, 1, None, closed="left")],
        "segment_points": [Interval(Integral, 1, None, closed="left")],
        "graph": [StrOptions({"auto", "complete", "knn"})],
        "eta_scale": [Interval(Real, 0, None, closed="neither")],
    }
    _fitted: ClassVar[dict[str, Spec]] = {
        "typicality_": Floats("n", low=0, method="typicality"),
        "alpha_": Number(low=0),
        "eta_": Number(low=0, above=True),
        "tree_": Instance("AlphaTree"),
        "node_": Indices("n"),
        "level_": Floats("n", low=0),
        "one_class_": Instance("OneClassPCM"),
        "_noise_levels": Floats("c", finite=False, nullable=True),
        "_cluster_coefficients": Floats("s+"),
        "_membership_kernel": KernelSpec(nullable=True, optional=True),
    }
    _accepts_sparse: ClassVar[bool] = False
    _membership_kernel: Kernel | None = None  # the model's own, as in files of before

    def __init__(
        self,
        *,
        alpha: Any = "auto",
        rejection: float | None = None,
        n_clusters: int | None = None,
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
        stopping: str = "relative",
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.alpha = alpha
        self.rejection = rejection
        self.n_clusters = n_clusters
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

    # What a fitted model says

    def score_points(self, X: Any) -> AlphaCutScores:
        """Compute labels, memberships and scores of samples; see `SoftModel.score_points`."""
        return AlphaCutScores(self, self._check_new(X))

    @property
    def support_vectors_(self) -> Any:
        """The different rows of the fit that new points are compared with, (n_support, d)."""
        check_is_fitted(self)
        return self.one_class_.support_vectors_

    @dispatch_arrays
    def typicality(self, X: Any) -> Array:
        """Compute the typicality of samples in the one cluster of all data.

        Parameters
        ----------
        X : array of shape (m, n_features)
            Samples to score.

        Returns
        -------
        typicality : array of shape (m,)
            Typicality u from 0 to 1.
        """
        return self.score_points(X).typicality

    def labels_at(self, alpha: float) -> NDArray[np.int64]:
        """The papers' labels of the training points at any level from 0, (n,), without a refit."""
        check_is_fitted(self)
        labels = self.tree_.labels_at(alpha)[self.node_]
        labels[self.level_ <= alpha] = -1
        return labels

    def _stored_operator(self, *arguments: Any, **options: Any) -> KernelOperator:
        return self.one_class_._stored_operator(*arguments, **options)

    def _labels(self, shares: Array, whole: Any, product: Array) -> NDArray[np.int64]:
        if shares.shape[1] == 0:
            return np.full(len(shares), -1, dtype=np.int64)
        labels = np.argmax(shares, axis=1).astype(np.int64)
        if self._noise_levels is not None:
            is_noise = product[:, -1] > product[:, :-1].max(axis=1)  # near what is no cluster
            if np.isfinite(self._noise_levels).any():
                is_noise |= whole.scores < self._noise_levels[labels]
        else:
            # α may be the membership of a point, which another batch gives with another rounding
            is_noise = whole.memberships <= self.alpha_ * (1 + 64 * np.finfo(shares.dtype).eps)
        labels[is_noise] = -1
        return labels

    def _shares(self, X: Array, mass: Array) -> Array:
        """Each cluster's share of the kernel mass at points, (m, c).

        `mass` is that of the model's own kernel.
        """
        if mass.shape[1] < 2:
            return np.ones_like(mass)
        A, operator = self._cluster_coefficients[:, :-1], self._stored_operator()
        if self._membership_kernel is not None:
            operator = self._stored_operator("memberships", kernel=self._membership_kernel)
            mass = operator.cross(X) @ A
        if not self.kernel_.decays:
            largest = np.maximum(np.abs(mass), np.finfo(mass.dtype).tiny)
            is_top = mass == mass.max(axis=1, keepdims=True)
            mass = np.where(is_top, largest, np.maximum(mass, 0))
            return mass / mass.sum(axis=1, keepdims=True)
        mass = np.maximum(mass, 0)
        total = mass.sum(axis=1, keepdims=True)
        shares = mass / np.where(total > 0, total, 1)
        vanishing = 10 * operator.error * float(A.sum(axis=0).max())
        far = np.flatnonzero(mass.max(axis=1) <= vanishing)
        if far.size:  # shares of what the product cannot resolve, from logarithms
            shares[far] = softmax(operator.cross(X[far]).log_product(A, mass[far]), axis=1)
        return shares

    # How a fit goes

    def _fit(self, rows: Rows) -> None:
        X, weight = rows.X, rows.weight
        nodes, mass, self.node_ = distinct_nodes(X, weight)
        mass = reduce_weights(mass)
        with stage("scales at which parts stand out"):
            scales = self._search_scales(nodes, mass)
        bandwidth = self._bandwidth_rule()
        if scales is not None and scales.finest < 1:
            bandwidth = scales.finest * np.asarray(
                select_bandwidth(nodes, bandwidth, sample_weight=mass)
            )
        with stage("how dense it is around every row"):
            self.one_class_ = self._fit_one_class(nodes, mass, bandwidth)
        landscape = _landscape(self.one_class_, nodes, mass)
        with stage("the tree of dense parts"):
            self.tree_: AlphaTree = landscape.tree(self._graph(len(nodes)), self.segment_points)
        with stage("clusters and memberships"):
            labels = self._cut(landscape, scales)
            read = self._settle(landscape, labels, is_wide=scales is not None)
        is_left_out = weight == 0
        if is_left_out.any():  # they go with the nearest node, as new points do
            unit = 2.0 ** np.frexp(np.abs(X).max())[1]  # squares of large values would overflow
            self.node_[is_left_out] = k_nearest(nodes / unit, X[is_left_out] / unit, 1)[1][:, 0]
        scores: Any = _of_rows(
            read, self.node_, is_left_out, lambda: AlphaCutScores(self, X[is_left_out])
        )
        self._store_scores(scores)
        self.typicality_ = scores.typicality
        self.level_ = self.tree_.heights[self.node_]
        own = self.typicality_[is_left_out]
        self.level_[is_left_out] = np.minimum(self.level_[is_left_out], own)

    def _check_state(self) -> None:
        inner, n_nodes = self.one_class_, len(self.tree_.heights)
        is_node = self.node_ < n_nodes
        if inner.n_features_in_ != self.n_features_in_ or not is_node.all():
            raise ValueError("one_class_ or tree_ belong to other samples.")
        if len(inner._support) != len(self._cluster_coefficients):
            raise ValueError("one_class_ has another number of support points.")

    def _check_parameters(self) -> None:
        if self.rejection is not None and not isinstance(self.alpha, str):
            raise ValueError(
                f"give alpha={self.alpha!r} or rejection={self.rejection!r}, not both."
            )
        is_level_given = self.rejection is not None or self.alpha != "auto"
        if self.n_clusters is not None and is_level_given:
            raise ValueError(
                f"n_clusters={self.n_clusters!r} and a level (alpha, rejection) exclude each other."
            )
        if self._is_precomputed:
            raise ValueError(
                "AlphaCutClustering needs points of a vector space, since it looks between them; "
                "kernel='precomputed' has none. Give the data and a kernel."
            )
        if not self._is_automatic or (isinstance(self.kernel, str) and self.kernel in RADIAL):
            return
        kernel = resolve(self.kernel, kernel_params=self.kernel_params)
        if not kernel.decays or kernel.squared() is None:
            raise ValueError(
                f"alpha='auto' needs a kernel density, and kernel={self.kernel!r} is none; give "
                "alpha=<a number>, rejection=<a share>, or kernel='rbf'."
            )

    @property
    def _is_automatic(self) -> bool:
        return self.rejection is None and isinstance(self.alpha, str) and self.alpha == "auto"

    def _search_scales(self, nodes: Array, mass: Array) -> Scales | None:
        """Clusters at several scales, where both the level and the bandwidth are to be found."""
        is_asked = self._is_automatic or self.n_clusters is not None
        if not is_asked or not self._is_bandwidth_open:
            return None

        def fit(points: Array, weight: Array, bandwidth: Any) -> Landscape:
            served = prediction_parameters(self.engine, self.engine_params)
            one_class = self._one_class(bandwidth, Density, **served)
            return _landscape(one_class.fit(points, sample_weight=weight), points, weight)

        seed = child_seed(self._fit_seed)
        return search_scales(nodes, mass, fit, self.n_clusters, seed)

    def _one_class(
        self, bandwidth: Any, kind: type[OneClassPCM] = OneClassPCM, **options: Any
    ) -> OneClassPCM:
        shared = {
            "eta_scale": self.eta_scale,
            "kernel": self.kernel,
            "kernel_params": self.kernel_params,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "stopping": self.stopping,
            "random_state": self._fit_seed,
        }
        return kind(bandwidth=bandwidth, **shared, **options)

    def _fit_one_class(self, nodes: Array, mass: Array, bandwidth: Any) -> OneClassPCM:
        one_class = self._one_class(
            bandwidth, engine=self.engine, engine_params=self.engine_params, verbose=self.verbose
        ).fit(nodes, sample_weight=mass)
        for name in ("eta_", *FIT_ATTRIBUTES):
            setattr(self, name, getattr(one_class, name))
        return one_class

    def _graph(self, n: int) -> str:
        if self.graph != "auto":
            return self.graph
        is_paper = not self._is_automatic and isinstance(self.kernel_, Gaussian)
        return "complete" if is_paper and n <= COMPLETE_LIMIT else "knn"

    def _cut(self, landscape: Landscape, scales: Scales | None) -> NDArray[np.int64]:
        """Choose the level; the cluster of every node, (n,), −1 for none."""
        tree = self.tree_
        self._noise_levels: Array | None = None
        if self.n_clusters is not None:
            labels = tree.labels_of(self.n_clusters)[0] if scales is None else scales.labels
            self.alpha_ = 0.0
            self._noise_levels = np.full(int(labels.max()) + 1, -np.inf)
            return labels
        if self._is_automatic:
            labels = tree.significant_labels() if scales is None else scales.labels
            labels = _without_small(labels, landscape.mass)
            self.alpha_ = tree.separating_alpha() if labels.max() > 0 else 0.0
            self._noise_levels = noise_levels(landscape, labels, self._fit_line)
            return labels
        if self.rejection is not None:
            self.alpha_ = _rejection_level(tree.heights, tree.weight, self.rejection)
        elif isinstance(self.alpha, str):
            self.alpha_ = histogram_valley(tree.heights, tree.weight)
        else:
            self.alpha_ = float(self.alpha)
        return tree.labels_at(self.alpha_)

    def _settle(self, landscape: Landscape, partition: Array, is_wide: bool) -> PointScores:
        """Turn the tree's clusters into columns of coefficients, the way new points see them.

        Their shares are taken in a wide kernel, or in the model's own.

        A cluster that is nowhere the largest is dropped; the others are put in order of the mass
        that they win. Returns the reading of the nodes, their outlier scores without themselves.
        """
        a, support = self.one_class_.dual_coef_, self.one_class_.support_
        count = int(partition.max(initial=-1)) + 1
        numbers = np.append(np.arange(count), -1)  # the nodes of no cluster have the last column
        of_clusters = np.where(partition[support, None] == numbers, a[:, None], 0)
        self._cluster_coefficients = of_clusters.astype(landscape.nodes.dtype)
        self._membership_kernel = (
            membership_kernel(landscape, partition, self._fit_seed) if is_wide else None
        )
        read = AlphaCutScores(self, landscape.nodes)
        labels = number_by_mass(read.labels, landscape.mass, landscape.level)
        won = range(int(labels.max(initial=-1)) + 1)
        first = [int(read.labels[np.argmax(labels == c)]) for c in won]
        lost = a - of_clusters[:, first].sum(axis=1)
        kept = np.column_stack([of_clusters[:, first], lost])
        self._cluster_coefficients = np.ascontiguousarray(kept, dtype=landscape.nodes.dtype)
        if self._noise_levels is not None:
            self._noise_levels = self._noise_levels[first]
        self.n_clusters_ = len(first)
        parts = {"labels": labels, "memberships": read.memberships[:, first]}
        if len(first) < count:
            read = AlphaCutScores(self, landscape.nodes)
            parts = {"labels": read.labels, "memberships": read.memberships}
        parts["outlier_scores"] = self.one_class_.outlier_scores_
        parts |= {"typicality": read.typicality, "overlap_scores": read.overlap_scores}
        return PointScores(**parts)

    def _fit_line(self, values: Array, mass: Array) -> Landscape:
        """The landscape of a single column (m, 1), by the rules of this model's defaults."""
        served = prediction_parameters(self.engine, self.engine_params)
        one_class = Density(bandwidth="tree", max_iter=1000, **served)
        return _landscape(one_class.fit(values, sample_weight=mass), values, mass)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = False
        return tags


def _landscape(one_class: OneClassPCM, nodes: Array, mass: Array) -> Landscape:
    """What the alpha tree needs of a model that was fitted to distinct points."""
    coefficients = np.zeros(len(nodes), dtype=one_class.dual_coef_.dtype)
    coefficients[one_class.support_] = one_class.dual_coef_
    return Landscape(
        nodes,
        mass,
        coefficients,
        one_class.eta_,
        one_class.kernel_,
        levels=one_class.score_samples,
        typicality=one_class.memberships,
        operator_of=one_class.plan_.prediction_operator,
    )


def _of_rows(
    read: PointScores, node: Array, is_new: Array, new: Callable[[], PointScores]
) -> PointScores:
    """The reading of all rows, each that of its node, or that of a new point where it is one."""
    parts = {name: getattr(read, name)[node] for name in READ}
    if is_new.any():
        scores = new()
        for name, part in parts.items():
            part[is_new] = getattr(scores, name)
    return PointScores(**parts)


def _without_small(labels: Array, mass: Array) -> NDArray[np.int64]:
    """Groups of fewer than one row in a hundred are outliers, −1, where two clusters are left.

    Beside a single cluster they stay with it: with one cluster there is no noise.
    """
    counts = np.bincount(labels, weights=mass)
    is_small = counts < SMALL_SHARE * mass.sum()
    if not is_small.any():
        return labels
    if (~is_small).sum() < 2:
        return np.zeros_like(labels)
    numbers = np.where(is_small, -1, np.cumsum(~is_small) - 1)
    return np.asarray(numbers[labels], dtype=np.int64)


def _ratio(shares: Array) -> Array:
    """The second largest share over the largest, (m,)."""
    if shares.shape[1] < 2:
        return np.zeros(len(shares), dtype=shares.dtype)
    first, second = runner_up(shares)
    return second / first


def _rejection_level(values: Array, weight: Array, share: float) -> float:
    """The largest value among the lowest that hold this share of the weight.

    Whole weights are counts, and their share is rounded to one.
    """
    total = float(weight.sum())
    target = share * total
    if (weight == np.round(weight)).all():
        target = float(np.round(target))
    if target <= 0:
        return float(values.min()) / 2  # nothing is rejected
    return lower_quantile(values, weight, target / total)
