"""Clusters of any shape: one possibilistic cluster in feature space, cut at a level.

`OneClassPCM` gives every point of the data space a typicality. The points above a level α form
separate regions, which are the clusters (Filippone, Masulli and Rovetta 2007, 2010). The alpha tree
(`softkern.density_tree`) holds them for every α, with the significance of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from softkern._utils.neighbors import k_nearest
from softkern._utils.progress import stage
from softkern._utils.random import child_seed
from softkern._utils.sklearn_compat import Interval, StrOptions
from softkern._utils.typing import Array
from softkern.density_tree.bandwidth_search import search_bandwidths
from softkern.density_tree.landscape import (
    Landscape,
    distinct_nodes,
    membership_kernel,
    noise_levels,
)
from softkern.density_tree.tree import (
    AlphaTree,
    drop_small,
    histogram_valley,
    rejection_level,
)
from softkern.kernels import Gaussian, Kernel, select_bandwidth
from softkern.kernels.resolve import RADIAL, resolve
from softkern.models._array_dispatch import dispatch_arrays
from softkern.models.alpha_cut_scores import AlphaCutScores
from softkern.models.base import FIT_ATTRIBUTES
from softkern.models.clusterer import Clusterer
from softkern.models.kernel_model import KernelModel
from softkern.models.one_class_pcm import OneClassPCM
from softkern.models.point_scores import PointScores
from softkern.models.state_schema import Check, Floats, Indices, Number, Spec, Typed, kernel_problem
from softkern.planning.engines import prediction_parameters
from softkern.rows import Rows, number_by_mass, reduce_weights

COMPLETE_LIMIT = 2000  # points up to which all pairs are examined


class Density(OneClassPCM):
    """A density for trees that are only examined: training samples get no scores."""

    _scores_training_samples: ClassVar[bool] = False


@dataclass(eq=False, repr=False, kw_only=True)
class AlphaCutClustering(Clusterer, KernelModel):
    """Clusters of any shape and number, with noise, from one possibilistic cluster.

    All samples form one cluster in feature space, whose typicality u is a robust kernel density.
    Two samples belong to the same cluster at level α if no point between them has u ≤ α, and
    samples with u ≤ α are noise. By default clusters are the significant modes of the density.

    Parameters
    ----------
    alpha : "auto", "valley" or float in (0, 1), default="auto"
        Level at which the density is cut.

        - ``"auto"``: clusters are the branches of the alpha tree whose mass significantly exceeds
          that of a plateau at the level of their saddle. Noise are samples of low density in a
          cluster if they are a population of their own.
        - ``"valley"``: the level that separates the two modes of the histogram of typicality.
    rejection : float in (0, 1), default=None
        Share of samples to reject as noise. The level is that quantile of the typicality.
    n_clusters : int, default=None
        Number of clusters into which the tree is cut, at its most significant joins. None
        estimates it. Fewer result if further branches are nowhere the densest. Excludes a level.
    segment_points : int, default=20
        Smallest number of inner points at which segments of the complete graph are evaluated. They
        are half a bandwidth apart at most, as on the neighbor graph.
    graph : {"auto", "complete", "knn"}, default="auto"
        Pairs of samples between which the density is evaluated: all of them, or each sample's ten
        nearest and the closest pairs between components. ``"auto"`` uses all pairs, as the papers
        do, for a given level, up to 2000 samples and the Gaussian kernel.
    eta_scale : float, default=1.0
        As in `OneClassPCM`: factor of the width η.
    kernel : str, callable or softkern.kernels.Kernel, default="rbf"
        Kernel. ``alpha="auto"`` needs "rbf" or "laplacian".
    kernel_params : dict, default=None
        Parameters of the kernel.
    bandwidth : str, float or array of shape (n_features,), default="auto"
        Bandwidth of the kernel. ``"auto"`` is the rule "tree" of
        `softkern.kernels.select_bandwidth`, and finer bandwidths where clusters need them.
    tol : float, default=1e-4
        Tolerance of the stopping rule.
    max_iter : int, default=100
        Maximal number of iterations.
    stopping : str, default="relative"
        Stopping rule, as in `OneClassPCM`.
    engine, engine_params, random_state, verbose
        As in `OneClassPCM`.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of each sample, the largest cluster first; −1 is noise.
    n_clusters_ : int
        Number of clusters.
    memberships_ : array of shape (n_samples, n_clusters_)
        Shares of the clusters in the kernel mass, which sum to one. The largest gives the label,
        except for noise. If the bandwidth was chosen, the kernel is as wide as the clusters allow.
    typicality_ : array of shape (n_samples,)
        Membership u in the one cluster of all samples.
    alpha_ : float
        The level. With ``alpha="auto"`` the smallest one that separates all clusters, 0 for one.
    tree_ : softkern.density_tree.tree.AlphaTree
        The tree of the distinct samples, in the order of their values.
    node_ : array of shape (n_samples,)
        Node of `tree_` of each sample; the nearest one for a sample without weight.
    level_ : array of shape (n_samples,)
        The α from which `labels_at` returns noise for each sample.
    one_class_ : OneClassPCM
        The model of all samples.
    outlier_scores_ : array of shape (n_samples,)
        Negative log density of the training samples, leave-one-out.
    overlap_scores_ : array of shape (n_samples,)
        Second largest membership over the largest.
    eta_, bandwidth_, kernel_, plan_, engine_, approximation_error_, n_iter_, converged_, \
objective_, history_
        Those of `one_class_`.

    Notes
    -----
    `sample_weight` counts samples: with a total weight of one no split is significant.

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

    alpha: Any = "auto"
    rejection: float | None = None
    n_clusters: int | None = None
    segment_points: int = 20
    graph: str = "auto"
    eta_scale: float = 1.0
    stopping: str = "relative"

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
        "tree_": Typed("AlphaTree"),
        "node_": Indices("n"),
        "level_": Floats("n", low=0),
        "one_class_": Typed("OneClassPCM"),
        "_noise_levels": Floats("c", finite=False, nullable=True),
        "_cluster_coefficients": Floats("s+"),
        "_membership_kernel": Check(kernel_problem, nullable=True, optional=True),
    }
    _accepts_sparse: ClassVar[bool] = False

    def score_points(self, X: Any) -> AlphaCutScores:
        """Compute labels, memberships and scores of samples; see `SoftModel.score_points`."""
        return AlphaCutScores(self, self._check_new(X))

    @property
    def _support(self) -> Any:
        return self.one_class_._support

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
        """Return the labels of the training samples at any level, without a refit.

        Parameters
        ----------
        alpha : float
            Level from 0 to 1.

        Returns
        -------
        labels : array of shape (n_samples,)
            Cluster of each sample, −1 for noise.
        """
        check_is_fitted(self)
        labels = self.tree_.labels_at(alpha)[self.node_]
        labels[self.level_ <= alpha] = -1
        return labels

    def _fit(self, rows: Rows) -> None:
        X, weight = rows.X, rows.weight
        nodes, mass, self.node_ = distinct_nodes(X, weight)
        mass = reduce_weights(mass)
        is_open, labels = self._is_bandwidth_open, None
        bandwidth = self._auto_bandwidth if is_open else self.bandwidth
        if is_open and (self._is_automatic or self.n_clusters is not None):
            with stage("searching for clusters at several bandwidths"):
                labels, finest = search_bandwidths(
                    nodes, mass, self._fit_trial, self.n_clusters, child_seed(self._fit_seed)
                )
            if finest < 1:
                rule = select_bandwidth(nodes, bandwidth, sample_weight=mass)
                bandwidth = finest * np.asarray(rule)
        with stage("density"):
            options = {name: getattr(self, name) for name in ("engine", "engine_params", "verbose")}
            model = OneClassPCM(bandwidth=bandwidth, **options, **self._shared_parameters)
            landscape = _landscape(model, nodes, mass)
        self.one_class_ = model
        for name in ("eta_", *FIT_ATTRIBUTES):
            setattr(self, name, getattr(model, name))
        with stage("density tree"):
            graph = self.graph
            if graph == "auto":
                is_paper = not self._is_automatic and isinstance(self.kernel_, Gaussian)
                graph = "complete" if is_paper and len(nodes) <= COMPLETE_LIMIT else "knn"
            self.tree_: AlphaTree = landscape.tree(graph, self.segment_points)
        with stage("clusters and memberships"):
            is_wide = labels is not None
            parts = self._store_clusters(landscape, self._cut(landscape, labels), is_wide)
        parts = {name: part[self.node_] for name, part in parts.items()}
        left_out = np.flatnonzero(weight == 0)
        if left_out.size:  # samples without weight are scored as new ones
            unit = 2.0 ** np.frexp(np.abs(X).max())[1]  # squares of large values would overflow
            self.node_[left_out] = k_nearest(nodes / unit, X[left_out] / unit, 1)[1][:, 0]
            scores = AlphaCutScores(self, X[left_out])
            for name, part in parts.items():
                part[left_out] = getattr(scores, name)
        self._store_scores(PointScores(**parts))
        self.typicality_ = parts["typicality"]
        self.level_ = self.tree_.heights[self.node_]
        self.level_[left_out] = np.minimum(self.level_, self.typicality_)[left_out]

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
                f"Pass alpha={self.alpha!r} or rejection={self.rejection!r}, not both."
            )
        is_level_given = self.rejection is not None or self.alpha != "auto"
        if self.n_clusters is not None and is_level_given:
            raise ValueError(
                f"n_clusters={self.n_clusters!r} and a level (alpha, rejection) exclude each other."
            )
        if self._is_precomputed:
            raise ValueError(
                "AlphaCutClustering evaluates the density between samples, which "
                "kernel='precomputed' does not provide. Pass the data and a kernel."
            )
        if not self._is_automatic or (isinstance(self.kernel, str) and self.kernel in RADIAL):
            return
        kernel = resolve(self.kernel, kernel_params=self.kernel_params)
        if not kernel.decays or kernel.squared() is None:
            raise ValueError(
                f"alpha='auto' needs a kernel density, and kernel={self.kernel!r} is none. Use "
                "kernel='rbf', or pass alpha=<a number> or rejection=<a share>."
            )

    @property
    def _is_automatic(self) -> bool:
        return self.rejection is None and bool(self.alpha == "auto")

    @property
    def _shared_parameters(self) -> dict[str, Any]:
        names = ("eta_scale", "kernel", "kernel_params", "tol", "max_iter", "stopping")
        return {"random_state": self._fit_seed} | {name: getattr(self, name) for name in names}

    def _fit_trial(self, nodes: Array, mass: Array, bandwidth: Any) -> Landscape:
        """Fit the landscape of a tree that is only examined."""
        options = prediction_parameters(self.engine, self.engine_params) | self._shared_parameters
        return _landscape(Density(bandwidth=bandwidth, **options), nodes, mass)

    def _fit_line(self, values: Array, mass: Array) -> Landscape:
        """Fit the landscape of a single column (m, 1), with default parameters."""
        options = prediction_parameters(self.engine, self.engine_params)
        return _landscape(Density(bandwidth="tree", max_iter=1000, **options), values, mass)

    def _cut(self, landscape: Landscape, labels: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Choose the level, and return the clusters of the nodes, by default those searched."""
        tree = self.tree_
        self._noise_levels: Array | None = None
        if self.n_clusters is not None:
            if labels is None:
                labels = tree.labels_of(self.n_clusters)[0]
            self.alpha_ = 0.0
            self._noise_levels = np.full(int(labels.max()) + 1, -np.inf)
            return labels
        if self._is_automatic:
            if labels is None:
                labels = tree.significant_labels()
            labels = drop_small(labels, landscape.mass)
            self.alpha_ = tree.separating_alpha() if labels.max() > 0 else 0.0
            self._noise_levels = noise_levels(landscape, labels, self._fit_line)
            return labels
        if self.rejection is not None:
            self.alpha_ = rejection_level(tree.heights, tree.weight, self.rejection)
        elif isinstance(self.alpha, str):
            self.alpha_ = histogram_valley(tree.heights, tree.weight)
        else:
            self.alpha_ = float(self.alpha)
        return tree.labels_at(self.alpha_)

    def _store_clusters(
        self, landscape: Landscape, partition: Array, is_wide: bool
    ) -> dict[str, Array]:
        """Store coefficients of the clusters, and return the scores of the nodes by name.

        Memberships use a wide kernel, or the model's own. Clusters that are nowhere the largest
        are dropped. The others are ordered by the mass that they win.
        """
        a, support = self.one_class_.dual_coef_, self.one_class_.support_
        count = int(partition.max(initial=-1)) + 1
        numbers = np.append(np.arange(count), -1)  # nodes of no cluster are the last column
        of_clusters = np.where(partition[support, None] == numbers, a[:, None], 0)
        self._cluster_coefficients = of_clusters.astype(landscape.nodes.dtype)
        self._membership_kernel: Kernel | None = (
            membership_kernel(landscape, partition, self._fit_seed) if is_wide else None
        )
        scores = AlphaCutScores(self, landscape.nodes)
        labels = number_by_mass(scores.labels, landscape.mass, landscape.level)
        winners = range(int(labels.max(initial=-1)) + 1)
        order = [int(scores.labels[np.argmax(labels == c)]) for c in winners]
        rest = a - of_clusters[:, order].sum(axis=1)
        columns = np.column_stack([of_clusters[:, order], rest])
        self._cluster_coefficients = np.ascontiguousarray(columns, dtype=landscape.nodes.dtype)
        if self._noise_levels is not None:
            self._noise_levels = self._noise_levels[order]
        self.n_clusters_ = len(order)
        parts = {"labels": labels, "memberships": scores.memberships[:, order]}
        if len(order) < count:
            scores = AlphaCutScores(self, landscape.nodes)
            parts = {"labels": scores.labels, "memberships": scores.memberships}
        return parts | {
            "outlier_scores": self.one_class_.outlier_scores_,
            "typicality": scores.typicality,
            "overlap_scores": scores.overlap_scores,
        }


def _landscape(model: OneClassPCM, nodes: Array, mass: Array) -> Landscape:
    """Fit a model to distinct points."""
    return Landscape(nodes, mass, model._fit_rows(Rows(nodes, mass.astype(nodes.dtype))))
