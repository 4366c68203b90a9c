"""From the density of a one-cluster model to its alpha tree, noise, and kernel of memberships.

`Landscape` computes the density at the points and its lowest values between them, and builds the
`AlphaTree`, with the error of the density estimate where the square of the kernel is known. Called
by `AlphaCutClustering`, which also uses it in one dimension to separate noise from clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.density_tree.segments import (
    Segments,
    complete_pairs,
    neighbor_pairs,
    require_complete_memory,
    segment_counts,
    spanning_segments,
)
from softkern.density_tree.tree import AlphaTree, Evidence
from softkern.kernels import Gaussian, Kernel
from softkern.kernels.spread import robust_spread
from softkern.rows import Rows, lower_quantile, varying_columns

PLANE = 2
NOISE_CRITICAL = 1.1  # significance from which low levels are a population of their own
NOISE_CONTRAST = 0.95  # of log density, between the middle of a cluster's rows and of its noise
FEWEST_LEVELS = 20  # different densities from which their distribution is tested
MOST_LEVELS = 2000  # more are averaged in groups of equal mass
WIDTH_SAMPLE = 2000  # points that decide the width of the kernel of memberships
WIDER = 2**0.25  # from one width to the next
CLEARLY = 2.0  # times the share of any other cluster
UNCLEAR = 0.015  # of the points that may become unclear, of all
UNCLEAR_OF_ONE = 0.1  # and of each cluster


@dataclass(frozen=True)
class Landscape:
    """Levels of one possibilistic cluster at and between distinct points.

    A level is log Σ a K where the kernel vanishes far away, and log u for other kernels:
    memberships saturate far from all data, levels do not.
    """

    nodes: Array  # (n, d), distinct points
    mass: Array  # (n,), number of rows that each point stands for
    model: Any  # a `OneClassPCM` fitted to the nodes

    @property
    def kernel(self) -> Kernel:
        """The kernel of the model."""
        kernel: Kernel = self.model.kernel_
        return kernel

    @property
    def bandwidth(self) -> NDArray[np.float64]:
        """The bandwidth of the kernel, one for all columns or one each."""
        return np.asarray(self.model.bandwidth_, dtype=np.float64)

    @cached_property
    def coefficients(self) -> Array:
        """Coefficients a of the nodes in the center, (n,)."""
        coefficients = np.zeros(len(self.nodes), dtype=self.nodes.dtype)
        coefficients[self.model.support_] = self.model.dual_coef_
        return coefficients

    @cached_property
    def level(self) -> NDArray[np.float64]:
        """Levels of the nodes, (n,)."""
        return np.asarray(self.model.score_samples(self.nodes), dtype=np.float64)

    @cached_property
    def own(self) -> Array:
        """Coefficient of a single observation at each node, (n,): equal rows are separate ones."""
        return self.coefficients / self.mass.astype(self.nodes.dtype)

    @cached_property
    def _square(self) -> Any:
        """The operator of the nodes and the squared kernel, where the square is known."""
        square = self.kernel.squared()
        if square is None or self.kernel.log2_square_ratio is None:
            return None
        return self.model.plan_.prediction_operator(self.nodes, square)

    @cached_property
    def variance(self) -> Array | None:
        """Sampling variance of the density at the nodes, (n,), where the square is known."""
        if self._square is None:
            return None
        squares = self.coefficients * self.own
        return np.maximum(self._square @ squares, squares).astype(np.float64)

    def memberships(self, level: Array) -> Array:
        """Membership at these levels: log u = log u₀ + 2 p/η, since D² = K(x, x) − 2 p + ‖v‖²."""
        if not self.kernel.decays:
            return np.exp(level)
        top, eta = int(np.argmax(self.level)), self.model.eta_
        log_top = np.log(float(self.model.memberships(self.nodes[top : top + 1])[0]))
        log_zero = log_top - 2 / eta * np.exp(self.level[top])
        return np.asarray(np.exp(log_zero + 2 / eta * np.exp(level)))

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
        if is_complete:
            require_complete_memory(n)
            if not isinstance(self.kernel, Gaussian):
                return self._spanning(Z, np.stack(np.triu_indices(n, 1), axis=1), least)
        pairs = neighbor_pairs(
            Z, self.model.plan_.prediction_operator(self.nodes, self.kernel).near_rows
        )
        known = self._spanning(Z, pairs, least)
        if not is_complete:
            return known
        weights = self.coefficients.astype(np.float64)
        more = complete_pairs(Z, weights, self.level, known, segment_points)
        return self._spanning(Z, np.concatenate([known.pairs, more]), least)

    def _spanning(self, Z: Array, pairs: Array, least: int) -> Segments:
        is_double = self.nodes.dtype == np.float64
        return spanning_segments(
            self.nodes,
            pairs,
            segment_counts(Z, pairs, least),
            self.level,
            self.model.score_samples,
            self._rough_levels if is_double and isinstance(self.kernel, Gaussian) else None,
        )

    @cached_property
    def _rough_operator(self) -> tuple[Any, Array]:
        """The operator in single precision, around the middle of the nodes, and that middle."""
        middle = np.median(self.nodes, axis=0)
        nodes = (self.nodes - middle).astype(np.float32)
        return self.model.plan_.prediction_operator(nodes, self.kernel), middle

    def _rough_levels(self, points: Array) -> Array:
        """Levels of any points in single precision, (m,)."""
        operator, middle = self._rough_operator
        near = operator.cross((points - middle).astype(np.float32))
        levels = near.log_product(self.coefficients.astype(np.float32))
        return np.asarray(levels, dtype=np.float64)

    def tree(
        self, graph: str = "knn", segment_points: int = 20, *, caution: float = 1.0
    ) -> AlphaTree:
        """The alpha tree, with evidence where the kernel gives it; `caution` as in `Evidence`."""
        segments = self.joins(graph, segment_points)
        return AlphaTree(
            segments.pairs,
            self.memberships(segments.level),
            self.memberships(self.level),
            weight=self.mass,
            evidence=self._evidence(segments, caution) if self.kernel.decays else None,
        )

    def _evidence(self, segments: Segments, caution: float) -> Evidence | None:
        if self.variance is None:
            return None
        points = segments.points(self.nodes)
        squares = self.coefficients * self.own
        lows = self._square.cross(points) @ squares if len(points) else np.empty(0)
        return Evidence(
            mass=self.mass.sum() * self.coefficients.astype(np.float64),
            own=self.own.astype(np.float64),
            density=np.exp(self.level),
            variance=self.variance,
            saddle_density=np.exp(segments.level),
            saddle_variance=np.maximum(lows, 0).astype(np.float64),
            # In the plane isolated points (noise between dense clusters) form chains by chance:
            # with a whole observation removed they count for nothing. In many columns all points
            # are nearly isolated, and half of one must do.
            continuity=1.0 if varying_columns(self.nodes) <= PLANE else 0.5,
            halving=self.kernel.log2_square_ratio,
            caution=caution,
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
    """The level below which each cluster's points are noise, (c,); −∞ where there is none.

    `fit_line` returns the landscape of one column and its masses.

    Most clusters may have noise around them. If clusters with a level of their own hold at least
    half of the points, a cluster that nowhere exceeds the lowest of these levels is noise
    altogether, +∞. If they are at least half of the clusters left, the others get the lowest level
    too. If they hold less, every level counts for its own cluster only: two clusters of unequal
    density that are not separated have a level too, by which most of the data would be noise. A
    single cluster has no noise, since its tail is its own, and neither have data of one column,
    whose levels pile up at every turning point of the density.
    """
    count = int(labels.max()) + 1
    none = np.full(count, -np.inf)
    if count == 1 or varying_columns(landscape.nodes) == 1:
        return none
    mass = np.bincount(labels[labels >= 0], landscape.mass[labels >= 0], count)
    levels, peaks = np.empty(count), np.empty(count)
    for c in range(count):
        inside = labels == c
        levels[c] = _noise_level(landscape.level[inside], landscape.mass[inside], fit_line)
        peaks[c] = landscape.level[inside].max()
    has_level = np.isfinite(levels)
    if not has_level.any() or mass[has_level].sum() < 0.5 * mass.sum():
        return levels
    lowest = levels[has_level].min()
    levels[peaks < lowest] = np.inf
    is_left = peaks >= lowest
    if is_left.sum() < 2:
        return none
    return np.maximum(levels, lowest) if np.isfinite(levels[is_left]).mean() >= 0.5 else levels


def _noise_level(level: Array, mass: Array, fit_line: Callable[[Array, Array], Landscape]) -> float:
    """The level below which a cluster's points are noise; −∞ where there is none.

    Noise is a population of its own in the distribution of levels, by the same test of
    significance in one dimension. It is also far less dense than the rest: stripes of a column of
    few values are populations too, but no noise.
    """
    # rounded: on a grid all inner points have one level, and rounding is no spread
    values, mass, _ = distinct_nodes(np.round(level, 9)[:, None], mass)
    if len(values) < FEWEST_LEVELS:
        return -np.inf
    if len(values) > MOST_LEVELS:  # means of groups of neighboring values, of equal mass
        place = np.cumsum(mass) - mass / 2
        _, group = np.unique(np.floor(place / mass.sum() * MOST_LEVELS), return_inverse=True)
        total = np.bincount(group, weights=mass)
        values = (np.bincount(group, weights=mass * values[:, 0]) / total)[:, None]
        mass = total
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


def membership_kernel(landscape: Landscape, labels: Array, seed: Any = 0) -> Kernel:
    """The kernel of memberships: in each column as wide as the clusters allow.

    In the kernel of the tree a row's own mass outweighs all others where data are sparse, and a row
    between two clusters would belong to one alone. In a kernel as wide as the clusters it belongs
    to each by half, but clusters that surround each other merge. This is therefore the widest
    kernel in which nearly all points still clearly belong to their own cluster. `labels` (n,) are
    the clusters of the nodes, −1 for none.
    """
    kernel = landscape.kernel
    inside = np.flatnonzero(labels >= 0)
    if np.unique(labels[inside]).size < 2:
        return kernel
    rows, weight = Rows(landscape.nodes[inside], landscape.mass[inside]).sample(WIDTH_SAMPLE, seed)
    points = landscape.nodes[inside[rows]]
    number = np.unique(labels[inside[rows]], return_inverse=True)[1]
    columns = np.where(number[:, None] == np.arange(number.max() + 1), weight[:, None], 0.0)
    shares = columns / columns.sum(axis=0)
    squares = np.square(points - (shares.T @ points)[number])
    spread = np.sqrt(np.average(squares, axis=0, weights=weight))
    narrow = np.broadcast_to(landscape.bandwidth, spread.shape)

    operator_of = landscape.model.plan_.prediction_operator

    def widened(times: float) -> Kernel:
        return kernel.with_bandwidth(np.clip(times * narrow, narrow, np.maximum(narrow, spread)))

    def clear(times: float) -> Array:
        """Return the shares of all points, and of each cluster, clearly in their cluster."""
        mass = operator_of(points, widened(times)) @ columns.astype(points.dtype)
        own = np.take_along_axis(mass, number[:, None], axis=1)[:, 0]
        np.put_along_axis(mass, number[:, None], 0, axis=1)
        is_clear = own > CLEARLY * mass.max(axis=1)
        return np.append(is_clear @ weight / weight.sum(), is_clear @ shares)

    least = clear(1.0) - np.append(UNCLEAR, np.full(shares.shape[1], UNCLEAR_OF_ONE))
    times, most = 1.0, float((spread / narrow).max()) * WIDER
    while times * WIDER < most and (clear(times * WIDER) >= least).all():
        times *= WIDER
    return kernel if times == 1 else widened(times)
