"""From a fitted one-cluster model to its alpha tree.

Memberships of `OneClassPCM` rise and fall over data space like a landscape. `Landscape` measures
its heights at the points and its lowest points between them, and hands both to `AlphaTree`,
together with the density estimate's error where the kernel is one whose square is known.
Private to `AlphaCutClustering`, which also uses it in one dimension to tell noise from clusters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softkern.alpha_tree.segments import (
    Segments,
    complete_pairs,
    measure_segments,
    neighbour_pairs,
    segment_counts,
)
from softkern.alpha_tree.tree import AlphaTree, Evidence, maximum_spanning_tree
from softkern.kernels import Gaussian, Kernel, Laplacian
from softkern.kernels.bandwidths import robust_spread
from softkern.models.one_class_pcm import OneClassPCM
from softkern.planning import plan

__all__ = ["Landscape", "distinct_nodes", "noise_levels"]

Array = NDArray[Any]

PLANE = 2
FEWEST_LEVELS = 20  # different densities from which on their distribution is looked at
MOST_LEVELS = 2000  # more are taken together in groups of equal mass


class Landscape:
    """Levels of a one-cluster model at and between distinct points.

    A level is log Σ a K where the kernel vanishes far away, and log u for others: memberships
    saturate far from all data, levels do not.

    Parameters
    ----------
    one_class : OneClassPCM
        Fitted on `nodes`.
    nodes : array of shape (n, d)
        Distinct points.
    mass : array of shape (n,)
        How many rows each stands for.
    """

    def __init__(self, one_class: OneClassPCM, nodes: Array, mass: Array) -> None:
        self.one_class = one_class
        self.nodes = nodes
        self.mass = mass
        self.level = self.levels(nodes)
        top = int(np.argmax(self.level))
        log_top = np.log(float(one_class.memberships(nodes[top : top + 1])[0]))
        self._log_zero = log_top - self._slope * np.exp(self.level[top])

    @property
    def kernel(self) -> Kernel:
        """The kernel that was chosen."""
        return self.one_class.kernel_

    @property
    def _slope(self) -> float:
        return 2 / self.one_class.eta_

    def levels(self, points: Array) -> NDArray[np.float64]:
        """Levels of any points, (m,)."""
        return np.asarray(self.one_class.score_samples(points), dtype=np.float64)

    def memberships(self, level: Array) -> Array:
        """Membership at these levels: log u = log u₀ + 2 p/η, since D² = K(x, x) − 2 p + ‖v‖²."""
        if not self.kernel.is_shift_invariant:
            return np.exp(level)
        return np.asarray(np.exp(self._log_zero + self._slope * np.exp(level)))

    def segments(self, graph: str, segment_points: int) -> Segments:
        """The lowest levels between points, on a graph that holds a maximum spanning tree."""
        is_radial = isinstance(self.kernel, Gaussian | Laplacian)
        nodes = self.nodes.astype(np.float64)
        if isinstance(self.kernel, Gaussian | Laplacian):
            Z = self.kernel.scaled(nodes)
        else:
            Z = nodes / robust_spread(nodes, self.mass)
        Z = Z - np.median(Z, axis=0)
        least = segment_points if graph == "complete" or not is_radial else 0
        if self.nodes.shape[1] == 1:  # sorted as they are: neighbours on the line are all pairs
            pairs = np.stack([np.arange(len(Z) - 1), np.arange(1, len(Z))], axis=1)
            return self._measure(Z, pairs, least)
        if graph == "complete" and not isinstance(self.kernel, Gaussian):
            return self._measure(Z, np.argwhere(np.triu(np.ones((len(Z),) * 2), 1)), least)
        known = self._measure(Z, neighbour_pairs(Z), least)
        if graph != "complete":
            return known
        weights = np.asarray(self.one_class.dual_coef_, dtype=np.float64)
        more = complete_pairs(Z, weights, self.level, known, segment_points)
        found = self._measure(Z, more, least)
        return Segments(
            np.concatenate([known.pairs, found.pairs]),
            np.concatenate([known.level, found.level]),
            np.concatenate([known.place, found.place]),
        )

    def _measure(self, Z: Array, pairs: Array, least: int) -> Segments:
        length = np.linalg.norm(Z[pairs[:, 0]] - Z[pairs[:, 1]], axis=1)
        counts = segment_counts(length, least)
        return measure_segments(self.nodes, pairs, counts, self.level, self.levels)

    def tree(self, graph: str = "knn", segment_points: int = 20) -> AlphaTree:
        """The alpha tree, with evidence where the kernel gives it."""
        segments = self.segments(graph, segment_points)
        kept = maximum_spanning_tree(len(self.nodes), segments.pairs, segments.level)
        segments = segments[kept]
        return AlphaTree(
            segments.pairs,
            self.memberships(segments.level),
            self.memberships(self.level),
            weight=self.mass,
            evidence=self._evidence(segments),
        )

    def _evidence(self, segments: Segments) -> Evidence | None:
        square = _squared(self.kernel)
        if square is None:
            return None
        a = np.asarray(self.one_class.dual_coef_, dtype=self.nodes.dtype)
        # equal rows are separate observations: w of them, each with the coefficient a/w
        own = a / self.mass.astype(a.dtype)
        squares = a * own
        operator = plan(self.nodes, kernel=square, iterations=2).build(self.nodes)
        points = segments.points(self.nodes)
        lows = operator.cross(points) @ squares if len(points) else np.empty(0)
        return Evidence(
            mass=self.mass.sum() * a.astype(np.float64),
            own=own.astype(np.float64),
            density=np.exp(self.level),
            variance=np.maximum(operator @ squares, squares).astype(np.float64),
            saddle_density=np.exp(segments.level),
            saddle_variance=np.maximum(lows, 0).astype(np.float64),
            # In the plane isolated points (noise between dense clusters) form chains by chance:
            # with a whole observation taken off they count for nothing. In many columns all
            # points are nearly isolated, and half of one must do.
            continuity=1.0 if self.nodes.shape[1] <= PLANE else 0.5,
            halving=0.5 if isinstance(square, Gaussian) else 1.0,
        )


def _squared(kernel: Kernel) -> Kernel | None:
    """The kernel whose values are the squares of this one's, where there is one."""
    if isinstance(kernel, Gaussian):
        return Gaussian(np.asarray(kernel.bandwidth) / np.sqrt(2))
    if isinstance(kernel, Laplacian):
        return Laplacian(np.asarray(kernel.bandwidth) / 2)
    return None


def distinct_nodes(X: Array, weight: Array) -> tuple[Array, Array, NDArray[np.intp]]:
    """Distinct rows in the order of their values, their weights, and the node of every row.

    Rows of weight zero are no nodes; theirs is −1.
    """
    rows = np.flatnonzero(weight > 0)
    rows = rows[np.lexsort(X[rows].T[::-1])]
    is_new = np.ones(rows.size, dtype=bool)
    is_new[1:] = (X[rows[1:]] != X[rows[:-1]]).any(axis=1)
    number = np.cumsum(is_new) - 1
    node = np.full(len(X), -1, dtype=np.intp)
    node[rows] = number
    return X[rows[is_new]], np.bincount(number, weights=weight[rows]), node


def noise_levels(landscape: Landscape, labels: Array) -> NDArray[np.float64]:
    """The level below which each cluster's points are noise, (c,); −inf where there is none.

    A cluster that nowhere rises above the lowest of these levels is noise altogether, +inf. Where
    at least half of the others have such a level, the rest takes the lowest. One cluster alone
    has no noise, its tail is its own; nor have data of one column, whose levels pile up at every
    turning point of the density.
    """
    count = int(labels.max()) + 1
    found = np.full(count, -np.inf)
    if count == 1 or landscape.nodes.shape[1] == 1:
        return found
    peaks = np.empty(count)
    for c in range(count):
        inside = labels == c
        found[c] = _noise_level(landscape.level[inside], landscape.mass[inside])
        peaks[c] = landscape.level[inside].max()
    if not np.isfinite(found).any():
        return found
    lowest = found[np.isfinite(found)].min()
    found[peaks < lowest] = np.inf
    if np.isfinite(found[peaks >= lowest]).mean() >= 0.5:
        found = np.maximum(found, lowest)
    return found


def _noise_level(level: Array, mass: Array) -> float:
    """The level below which a cluster's points are noise; −inf where there is none.

    Noise is a population of its own in the distribution of the points' levels: the same test of
    significance, in one dimension.
    """
    # rounded: on a grid all inner points have one level, and rounding is no spread
    values, mass, _ = distinct_nodes(np.round(level, 9)[:, None], mass)
    if len(values) < FEWEST_LEVELS:
        return -np.inf
    if len(values) > MOST_LEVELS:
        values, mass = _binned(values, mass, MOST_LEVELS)
    one_class = OneClassPCM(bandwidth="tree", max_iter=1000).fit(values, sample_weight=mass)
    tree = Landscape(one_class, values, mass).tree()
    splits = tree.edges[tree.is_split()]
    return float(values[splits].mean(axis=(1, 2)).min(initial=np.inf)) if len(splits) else -np.inf


def _binned(values: Array, mass: Array, count: int) -> tuple[Array, Array]:
    """Means (m, 1) and masses (m,) of groups of neighbouring sorted values, of equal mass."""
    middle = np.cumsum(mass) - mass / 2
    _, group = np.unique(np.floor(middle / mass.sum() * count), return_inverse=True)
    total = np.bincount(group, weights=mass)
    return (np.bincount(group, weights=mass * values[:, 0]) / total)[:, None], total
