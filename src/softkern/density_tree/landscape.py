"""From the landscape of a one-cluster model to its alpha tree.

Memberships of one possibilistic cluster rise and fall over data space like a landscape.
`Landscape` measures its heights at the points and its lowest points between them, and hands both
to `AlphaTree`, together with the density estimate's error where the kernel's square is known. It
gets the model as values and functions. Private to `AlphaCutClustering`, which also uses it in one
dimension to separate noise from clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.density_tree.segments import (
    Segments,
    complete_pairs,
    lengths,
    neighbor_pairs,
    require_complete_memory,
    segment_counts,
    spanning_segments,
)
from softkern.density_tree.tree import AlphaTree, Evidence
from softkern.kernels import Gaussian, Kernel
from softkern.kernels.spread import robust_spread
from softkern.operators.base import KernelOperator
from softkern.rows import lower_quantile, varying_columns

__all__ = ["Landscape", "distinct_nodes", "noise_levels"]

PLANE = 2
NOISE_CRITICAL = 1.1  # significance from which low levels are a population of their own
NOISE_CONTRAST = 0.95  # of log density, between the middle of a cluster's rows and of its noise
FEWEST_LEVELS = 20  # different densities from which on their distribution is looked at
MOST_LEVELS = 2000  # more are taken together in groups of equal mass


@dataclass(frozen=True)
class Landscape:
    """Levels of one possibilistic cluster at and between distinct points.

    A level is log Σ a K where the kernel vanishes far away, and log u for others: memberships
    saturate far from all data, levels do not.

    Attributes
    ----------
    nodes : array of shape (n, d)
        Distinct points.
    mass : array of shape (n,)
        How many rows each stands for.
    coefficients : array of shape (n,)
        The center's, a.
    eta : float
        The cluster's width, η.
    kernel : softkern.kernels.Kernel
    levels : callable
        Levels of any points (m, d), (m,).
    typicality : callable
        Their memberships u, (m,).
    operator_of : callable
        The operator of points (m, d) and a kernel, for products and new points.
    caution : float, default=1.0
        As in `Evidence`.
    """

    nodes: Array
    mass: Array
    coefficients: Array
    eta: float
    kernel: Kernel
    levels: Callable[[Array], Array]
    typicality: Callable[[Array], Array]
    operator_of: Callable[[Array, Kernel], KernelOperator]
    caution: float = 1.0

    @cached_property
    def level(self) -> NDArray[np.float64]:
        """Levels of the nodes, (n,)."""
        return np.asarray(self.levels(self.nodes), dtype=np.float64)

    def memberships(self, level: Array) -> Array:
        """Membership at these levels: log u = log u₀ + 2 p/η, since D² = K(x, x) − 2 p + ‖v‖²."""
        if not self.kernel.decays:
            return np.exp(level)
        top = int(np.argmax(self.level))
        log_top = np.log(float(self.typicality(self.nodes[top : top + 1])[0]))
        log_zero = log_top - 2 / self.eta * np.exp(self.level[top])
        return np.asarray(np.exp(log_zero + 2 / self.eta * np.exp(level)))

    def joins(self, graph: str = "knn", segment_points: int = 20) -> Segments:
        """The segments of the alpha tree with their lowest levels, highest first."""
        n, is_complete = len(self.nodes), graph == "complete"
        nodes = self.nodes.astype(np.float64)
        origin = np.median(nodes, axis=0)
        if self.kernel.has_bandwidth:
            Z = self.kernel.scaled(nodes, origin)
        else:
            Z = (nodes - origin) / robust_spread(nodes, self.mass)
        least = 0 if self.kernel.has_bandwidth and not is_complete else segment_points
        if Z.shape[1] == 1:  # sorted as they are: neighbors on the line are all pairs
            pairs = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
            return self._spanning(Z, pairs, least)
        if not is_complete:
            return self._spanning(Z, self._neighbor_pairs(Z), least)
        require_complete_memory(n)
        if not isinstance(self.kernel, Gaussian):
            return self._spanning(Z, np.stack(np.triu_indices(n, 1), axis=1), least)
        known = self._spanning(Z, self._neighbor_pairs(Z), least)
        weights = np.asarray(self.coefficients, dtype=np.float64)
        more = complete_pairs(Z, weights, self.level, known, segment_points)
        return self._spanning(Z, np.concatenate([known.pairs, more]), least)

    def _neighbor_pairs(self, Z: Array) -> NDArray[np.intp]:
        return neighbor_pairs(Z, self.operator_of(self.nodes, self.kernel).near_rows)

    def _spanning(self, Z: Array, pairs: Array, least: int) -> Segments:
        counts = segment_counts(lengths(Z, pairs), least)
        screen = self._screen() if self.nodes.dtype == np.float64 else None
        return spanning_segments(self.nodes, pairs, counts, self.level, self.levels, screen)

    def _screen(self) -> Callable[[Array], Array] | None:
        """Levels in single precision, around the middle of the nodes."""
        if not isinstance(self.kernel, Gaussian):
            return None
        middle = np.median(self.nodes, axis=0)
        coefficients = np.asarray(self.coefficients, dtype=np.float32)

        @cache
        def operator() -> KernelOperator:
            return self.operator_of((self.nodes - middle).astype(np.float32), self.kernel)

        def levels(points: Array) -> Array:
            near = operator().cross((points - middle).astype(np.float32))
            return np.asarray(near.log_product(coefficients), dtype=np.float64)

        return levels

    def tree(self, graph: str = "knn", segment_points: int = 20) -> AlphaTree:
        """The alpha tree, with evidence where the kernel gives it."""
        segments = self.joins(graph, segment_points)
        return AlphaTree(
            segments.pairs,
            self.memberships(segments.level),
            self.memberships(self.level),
            weight=self.mass,
            evidence=self._evidence(segments),
        )

    def _evidence(self, segments: Segments) -> Evidence | None:
        square, halving = self.kernel.squared(), self.kernel.log2_square_ratio
        if not self.kernel.decays or square is None or halving is None:
            return None
        a = np.asarray(self.coefficients, dtype=self.nodes.dtype)
        # equal rows are separate observations: w of them, each with the coefficient a/w
        own = a / self.mass.astype(a.dtype)
        squares = a * own
        operator = self.operator_of(self.nodes, square)
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
            continuity=1.0 if varying_columns(self.nodes) <= PLANE else 0.5,
            halving=halving,
            caution=self.caution,
        )


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


def noise_levels(
    landscape: Landscape, labels: Array, fit_line: Callable[[Array, Array], Landscape]
) -> NDArray[np.float64]:
    """The level below which each cluster's points are noise, (c,); −inf where there is none.

    Noise lies around most clusters. Where those with such a level hold at least half of the
    points, a cluster that nowhere rises above the lowest of them is noise altogether, +inf, and
    where they are at least half of the others, the rest takes the lowest. Where they hold less, a
    level is its cluster's alone: two clusters of unequal density that are not told apart have one
    too, and most of the data would be noise to it. One cluster alone has no noise, its tail is its
    own; nor have data of one column, whose levels pile up at every turning point of the density.
    `fit_line` gives the landscape of one column and its masses.
    """
    count = int(labels.max()) + 1
    found = np.full(count, -np.inf)
    if count == 1 or varying_columns(landscape.nodes) == 1:
        return found
    mass = np.bincount(labels[labels >= 0], landscape.mass[labels >= 0], count)
    peaks = np.empty(count)
    for c in range(count):
        inside = labels == c
        found[c] = _noise_level(landscape.level[inside], landscape.mass[inside], fit_line)
        peaks[c] = landscape.level[inside].max()
    if not np.isfinite(found).any() or mass[np.isfinite(found)].sum() < 0.5 * mass.sum():
        return found
    lowest = found[np.isfinite(found)].min()
    found[peaks < lowest] = np.inf
    if (peaks >= lowest).sum() < 2:  # what is left is one cluster, and its tail is its own
        return np.full(count, -np.inf)
    if np.isfinite(found[peaks >= lowest]).mean() >= 0.5:
        found = np.maximum(found, lowest)
    return found


def _noise_level(level: Array, mass: Array, fit_line: Callable[[Array, Array], Landscape]) -> float:
    """The level below which a cluster's points are noise; −inf where there is none.

    Noise is a population of its own in the distribution of the points' levels: the same test of
    significance, in one dimension. It is also far thinner than the rest: stripes of a column of
    few values are populations too, and none of them is noise.
    """
    # rounded: on a grid all inner points have one level, and rounding is no spread
    values, mass, _ = distinct_nodes(np.round(level, 9)[:, None], mass)
    if len(values) < FEWEST_LEVELS:
        return -np.inf
    if len(values) > MOST_LEVELS:
        values, mass = _binned(values, mass, MOST_LEVELS)
    tree = fit_line(values, mass).tree()
    splits = tree.edges[tree.is_split(NOISE_CRITICAL)]
    if len(splits) == 0:
        return -np.inf
    cut = float(values[splits].mean(axis=(1, 2)).min())
    low, high = (
        lower_quantile(values[side, 0], mass[side], 0.5)
        for side in (values[:, 0] < cut, values[:, 0] >= cut)
    )
    return cut if high - low > NOISE_CONTRAST else -np.inf


def _binned(values: Array, mass: Array, count: int) -> tuple[Array, Array]:
    """Means (m, 1) and masses (m,) of groups of neighboring sorted values, of equal mass."""
    middle = np.cumsum(mass) - mass / 2
    _, group = np.unique(np.floor(middle / mass.sum() * count), return_inverse=True)
    total = np.bincount(group, weights=mass)
    return (np.bincount(group, weights=mass * values[:, 0]) / total)[:, None], total
