"""Clusters at the scale of each part of the data: alpha trees at a ladder of bandwidths.

One bandwidth cannot serve clusters of different density. In each part of the data, trees at
bandwidths from coarse to fine are tried until one splits, and each side is then a table of its own,
with its own bandwidths, until nothing splits. How fine the ladder is depends on the number of
columns. In a few, the noise of a fine estimate is known well enough to separate it from structure.
In many it is not, and a split of the tree must be confirmed by a density gap on the line between
its sides (`softkern.splitting`).

A tree finds the lowest point between two clusters wherever chance has made it, and along a curve
there are many points to choose from. The gaps of a tree are therefore found in one half of the
points and measured in the other: a gap by chance is none there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from softkern._utils.neighbors import k_nearest
from softkern._utils.threads import available_threads
from softkern._utils.typing import Array
from softkern.density_tree.landscape import Landscape
from softkern.density_tree.layout import flatten
from softkern.density_tree.tree import filled_dimensions
from softkern.kernels.spread import robust_spread
from softkern.rows import Rows, varying_columns
from softkern.splitting.observations import make_continuous, observation_rows
from softkern.splitting.settings import SPLITTING
from softkern.splitting.split import separations, split

RULE = "tree"  # of the coarsest bandwidth
# Bandwidths of the ladder, in those of the rule, by the number of columns: as fine as
# structureless data allow without a split (benchmarks/calibrate.py).
LADDERS = {1: (1.0,), 2: (1.0, 0.7, 0.5, 0.35), 3: (1.0, 0.7)}
CRITICAL = 1.0  # significance of a split, at the rule's own bandwidth
CRITICAL_CAUTIOUS = 1.3  # at finer ones, which are tried besides, and within parts, again
CAUTION = 2.0  # along curves, which a fine estimate and a second test of a part break up
# Density that may be left in a gap, by rows that had no part in finding it: at the rule's own
# bandwidth, more for each unit of significance beyond the critical; at other bandwidths and within
# parts; and, on the mean, between round clusters, which lines have shown already.
LEFT, LEFT_MORE = 0.4, 0.5
LEFT_CAUTIOUS = 0.3
LEFT_BETWEEN_ROUND = 0.85
HALVINGS = 3  # of the points, in which gaps are found and measured
FILLED = 0.92  # of its columns, from which on a part is no curve
ROUND = (0.75, 1.6)  # shares of the kurtosis of normal points that a round cluster has
ONE_NORMAL = 0.05  # deviation from it of a part that is one normal cluster, or its standard error
STRETCHED = 2.0  # times, in coordinates in which all clusters together are round
FEWEST_ROUND = 40.0  # rows of a part in which round clusters are searched
ROUND_SAMPLE = 600  # of these rows at most
FEWEST = 12.0  # rows of a part that may be split
# Distinct rows on which the ladder is searched, by the number of columns; with more in three
# columns pieces of a heavy tail would pass for clusters.
SAMPLES = {1: 5000, 2: 5000}
SAMPLE = 3000
FARTHEST = 1e30  # spreads from zero, which single precision holds
FEW_COLUMNS = 3  # up to which a density tree decides

Fit = Callable[[Array, Array, str | Array], Landscape]  # points, masses, bandwidth or its rule


def search_bandwidths(
    nodes: Array, mass: Array, fit: Fit, count: int | None = None, seed: int = 0
) -> tuple[NDArray[np.int64], float]:
    """The clusters of distinct points (n, d), (n,), and the finest bandwidth that any needed.

    The bandwidth is in units of that of the rule "tree". `count` is the number of clusters, or None
    to estimate it.
    """
    rows, weight = np.arange(len(nodes)), mass
    most = SAMPLES.get(varying_columns(nodes), SAMPLE)
    if len(nodes) > most:
        rows, weight = Rows(nodes, mass).sample(most, seed)
        weight = weight * (len(rows) / weight.sum())  # a sample is no more certain than its size
    search = _Search(fit, seed)
    points = np.clip(nodes[rows] / robust_spread(nodes[rows], weight), -FARTHEST, FARTHEST)
    labels = search.split(points, weight) if count is None else search.cut(points, weight, count)
    if labels.max() > 0 and varying_columns(nodes) > FEW_COLUMNS and count is None:
        labels = _merge_without_gap(points, weight, labels, seed)
    if len(rows) < len(nodes):
        labels = _labels_of_nearest(nodes, rows, labels)
    return labels, 1.0 if labels.max() == 0 else min(1.0, search.finest / search.coarsest)


class _Search:
    """Splits of parts. `finest` is the finest bandwidth that split something.

    `coarsest` is the bandwidth of the rule for all data.
    """

    def __init__(self, fit: Fit, seed: int) -> None:
        self._fit, self._seed = fit, seed
        self.coarsest = self.finest = np.inf

    def _fit_coarse(self, nodes: Array, mass: Array) -> Landscape:
        """The landscape at the bandwidth of the rule."""
        # around their own middle, where single precision has most digits
        points = np.asarray(nodes - np.median(nodes, axis=0), dtype=np.float32)
        return self._fit(points, mass, RULE)

    def split(self, nodes: Array, mass: Array, is_part: bool = False) -> NDArray[np.int64]:
        """Clusters of a part, from 0."""
        labels = np.zeros(len(nodes), dtype=np.int64)
        if mass.sum() < FEWEST or len(nodes) < 3:
            return labels
        coarse = self._fit_coarse(nodes, mass)
        if not is_part:
            self.coarsest = _width(coarse)
        is_area = 2 <= nodes.shape[1] <= FEW_COLUMNS and _fills(coarse)
        if is_part and is_area:
            deviation = abs(_kurtosis(nodes) - 1)
            if deviation < max(ONE_NORMAL, len(nodes) ** -0.5):
                return labels
        parts = self._parts(coarse, is_part)
        if parts is None:
            return self._split_round(coarse) if is_area else labels
        count = 0
        for part in range(int(parts.max()) + 1):
            inside = parts == part
            inner = self.split(nodes[inside], mass[inside], True)
            labels[inside] = inner + count
            count += int(inner.max()) + 1
        return labels

    def _split_round(self, coarse: Landscape) -> NDArray[np.int64]:
        """Clusters of a part that fills its columns, where density gaps separate round ones.

        The line between round clusters that touch separates them long before a tree has a saddle.
        Curves, and clusters with noise around them, have gaps on lines as well and are left whole:
        the clusters must be normal and of like shape, and no ridge may join them.
        """
        nodes, mass = coarse.nodes.astype(np.float64), coarse.mass
        whole = np.zeros(len(nodes), dtype=np.int64)
        if mass.sum() < FEWEST_ROUND:
            return whole
        rows = observation_rows(Rows(nodes, mass), ROUND_SAMPLE, self._seed)
        clusters = split(make_continuous(nodes[rows], self._seed), self._seed)
        labels = _labels_of_nearest(nodes, rows, clusters)
        count = int(labels.max()) + 1
        if count == 1 or not _are_round([nodes[labels == k] for k in range(count)]):
            return whole
        left = self._density_left(coarse, labels, np.stack(np.triu_indices(count, 1), axis=1))
        return labels if left.mean() < LEFT_BETWEEN_ROUND else whole

    def cut(self, nodes: Array, mass: Array, count: int) -> NDArray[np.int64]:
        """The tree cut into `count` clusters, at the scale where the last split is clearest."""
        labels = np.zeros(len(nodes), dtype=np.int64)
        coarse, best = self._fit_coarse(nodes, mass), -np.inf
        self.coarsest = _width(coarse)
        for landscape in self._ladder(coarse):
            clusters, clearest = landscape.tree().labels_of(count)
            if clearest > best:
                labels, best, self.finest = clusters, clearest, _width(landscape)
        return labels

    def _parts(self, coarse: Landscape, is_part: bool) -> NDArray[np.int64] | None:
        """The clusters of the coarsest tree with a confirmed split; None if none has one.

        A finer tree shows the same splits, and breaks up what it should not.
        """
        for landscape in self._ladder(coarse):
            if is_part or landscape is not coarse:
                tree = landscape.tree(caution=CAUTION)
                is_cut = tree.is_split(CRITICAL_CAUTIOUS)
                most = np.full(int(is_cut.sum()), LEFT_CAUTIOUS)
            else:
                tree = landscape.tree()
                is_cut = tree.is_split(CRITICAL)
                most = LEFT + LEFT_MORE * (tree.significance[is_cut] - CRITICAL)
            if not is_cut.any():
                continue
            labels = tree.labels_without(is_cut)
            is_gap = most >= 1  # so significant that nothing need be measured
            if not is_gap.all():
                pairs = labels[tree.edges[is_cut]][~is_gap]
                is_gap[~is_gap] = self._density_left(landscape, labels, pairs) < most[~is_gap]
            is_cut[is_cut] = is_gap
            if is_cut.any():
                self.finest = min(self.finest, _width(landscape))
                return tree.labels_without(is_cut)
        return None

    def _density_left(
        self, landscape: Landscape, labels: Array, pairs: Array
    ) -> NDArray[np.float64]:
        """Density in the gaps between pairs (m, 2) of clusters over that inside them, (m,).

        The median over halvings of the points, at most one. A cluster of one point is not found
        again.
        """
        nodes, mass, n = landscape.nodes, landscape.mass, len(labels)
        generator = np.random.default_rng(self._seed)
        shares = np.full((2 * HALVINGS, len(pairs)), np.nan)
        for k in range(0, 2 * HALVINGS, 2):
            first = generator.permutation(n) < n // 2
            one, two = (
                self._fit(nodes[half], mass[half], landscape.bandwidth) for half in (first, ~first)
            )
            shares[k] = _shares_left(one, labels[first], two, pairs)
            shares[k + 1] = _shares_left(two, labels[~first], one, pairs)
        shares[0, np.isnan(shares).all(axis=0)] = 1.0
        return np.asarray(np.nanmedian(shares, axis=0))

    def _ladder(self, coarse: Landscape) -> Iterator[Landscape]:
        """Landscapes of the same points, from coarse to fine."""
        for factor in LADDERS.get(varying_columns(coarse.nodes), (1.0,)):
            if factor == 1:
                yield coarse
            else:
                yield self._fit(coarse.nodes, coarse.mass, factor * coarse.bandwidth)


def _labels_of_nearest(nodes: Array, rows: Array, labels: Array) -> NDArray[np.int64]:
    """The labels of some rows, and those of the nearest of these rows for all others."""
    spread = np.maximum(nodes[rows].std(axis=0), np.finfo(np.float64).tiny)
    near = k_nearest(nodes[rows] / spread, nodes / spread, 1, available_threads())[1][:, 0]
    return np.asarray(labels[near], dtype=np.int64)


def _width(landscape: Landscape) -> float:
    """The bandwidth as one number, comparable between parts of the same data."""
    return float(np.exp(np.log(landscape.bandwidth).mean()))


def _kurtosis(points: Array) -> float:
    """Kurtosis of points in all directions, as a share of that of normal ones (Mardia 1970).

    NaN where they are too few, or do not spread in all directions.
    """
    n, d = points.shape
    centered = points - points.mean(axis=0)
    covariance = centered.T @ centered / n
    if n <= 2 * d or np.linalg.matrix_rank(covariance) < d:
        return np.nan
    squares = np.einsum("ij,ij->i", centered, np.linalg.solve(covariance, centered.T).T)
    return float(np.square(squares).mean()) / (d * (d + 2))


def _are_round(groups: list[Array]) -> bool:
    """Whether clusters may be normal and stretched alike; pieces of a curve turn."""
    if not all(ROUND[0] < _kurtosis(group) < ROUND[1] for group in groups):
        return False
    centered = [group - group.mean(axis=0) for group in groups]
    pooled = np.cov(np.concatenate(centered).T)
    spreads = [np.linalg.eigvals(np.linalg.solve(pooled, np.cov(rows.T))).real for rows in centered]
    return all(spread.max() < STRETCHED**2 * spread.min() for spread in spreads)


def _fills(landscape: Landscape) -> bool:
    """Whether points fill all columns at the scale of the kernel, if its square is known."""
    variance, halving = landscape.variance, landscape.kernel.log2_square_ratio
    if variance is None:
        return False
    own, density = landscape.own.astype(np.float64), np.exp(landscape.level)
    filled = filled_dimensions(landscape.mass, own, density, variance, halving)
    return bool(filled >= FILLED * landscape.nodes.shape[1])


def _merge_without_gap(nodes: Array, mass: Array, labels: Array, seed: int) -> NDArray[np.int64]:
    """Merge clusters without a density gap on the line between them."""
    rows = observation_rows(Rows(nodes, mass), SPLITTING.max_rows, seed)
    X = make_continuous(nodes[rows], seed)
    names, inside = np.unique(labels[rows], return_inverse=True)
    while len(names) > 1 and X.shape[1] > 0:
        depths = separations(X, inside, seed)
        i, j = np.unravel_index(np.argmin(depths), depths.shape)
        if depths[i, j] > 1:
            return np.unique(labels, return_inverse=True)[1].astype(np.int64)
        labels = np.where(labels == names[j], names[i], labels)
        names, inside = np.unique(labels[rows], return_inverse=True)
    return np.zeros(len(nodes), dtype=np.int64)


def _shares_left(
    found_in: Landscape, labels: Array, measured_in: Landscape, pairs: Array
) -> NDArray[np.float64]:
    """Density at the lowest points between clusters over that where they are dense, (m,).

    At most one; NaN for clusters that the landscape does not hold.
    """
    joins = found_in.joins()
    row, edges = flatten(len(labels), joins.pairs, -np.arange(len(joins.pairs), dtype=np.float64))
    place = np.argsort(row)
    tops, dense = {}, {}  # the highest tenth of every cluster, highest first, and its level
    for c in np.unique(labels).tolist():
        rows = np.flatnonzero(labels == c)
        tops[c] = rows[np.argsort(-found_in.level[rows], kind="stable")[: max(1, len(rows) // 10)]]
        levels = measured_in.model.score_samples(found_in.nodes[tops[c]])
        dense[c] = logsumexp(levels) - np.log(len(levels))
    shares = np.full(len(pairs), np.nan)
    for number, (i, j) in enumerate(pairs.tolist()):
        if i not in tops or j not in tops:
            continue
        start, stop = np.sort(place[[tops[i][0], tops[j][0]]])
        lowest = np.array([-edges[start:stop].min()], dtype=np.intp)
        level = measured_in.model.score_samples(joins[lowest].points(found_in.nodes))[0]
        shares[number] = np.exp(min(float(level - min(dense[i], dense[j])), 0.0))
    return shares
