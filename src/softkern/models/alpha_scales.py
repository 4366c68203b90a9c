"""Clusters at the scale of each part of the data: alpha trees at a ladder of bandwidths.

One bandwidth cannot serve groups of different density. In each part of the data, trees at
bandwidths from coarse to fine are looked at until one splits, and each side is then treated as a
table of its own, with its own bandwidths, until nothing splits. How far the ladder reaches depends
on the number of columns: in a few, a fine estimate's noise is known well enough to be told from
structure; in many it is not, and there a split of the tree must be confirmed by a valley on the
line between its sides (`softkern.splitting`). Private to `AlphaCutClustering`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from softkern._typing import Array
from softkern.alpha_tree.landscape import Landscape
from softkern.alpha_tree.tree import AlphaTree
from softkern.rows import priority_sample, varying_columns
from softkern.splitting.observations import continuous, repeated
from softkern.splitting.recursion import separations, split

__all__ = ["Scales", "search_scales"]

# Bandwidths of the ladder, in those of the rule "tree", by the number of columns: as fine as
# structureless data allow without a split (benchmarks/calibrate.py).
LADDERS = {1: (1.0,), 2: (1.0, 0.7, 0.5, 0.35), 3: (1.0, 0.7)}
CRITICAL = 1.0  # significance of a split, at the rule's own bandwidth
CRITICAL_FINER = 1.3  # at finer ones, which are tried besides
CRITICAL_OF_PART = 1.3  # within a part, where all bandwidths are tried again
CAUTION = 2.0  # along curves, which a fine estimate and a second look at a part break up
FILLED = 0.92  # of its columns, from which on a part is no curve
ROUND = (0.75, 1.6)  # shares of the kurtosis of normal points that a round group has
FEWEST_ROUND = 40.0  # rows of a part in which round groups are sought
FEWEST = 12.0  # rows of a part that is looked at
SAMPLE = 3000  # distinct rows on which the ladder is searched
CONFIRMED = 2000  # rows on which valleys are looked for
FEW_COLUMNS = 3

Fit = Callable[[Array, Array, float], Landscape]


@dataclass(frozen=True)
class Scales:
    """Clusters, and the finest bandwidth that any of them needed.

    Attributes
    ----------
    labels : array of shape (n,)
        Of the nodes, from 0.
    finest : float
        In bandwidths of the rule "tree" of all data.
    significance : float
        Of the least significant split; ∞ where there is none.
    """

    labels: NDArray[np.int64]
    finest: float
    significance: float


def search_scales(
    nodes: Array, mass: Array, fit: Fit, count: int | None = None, seed: int = 0
) -> Scales:
    """The clusters of distinct points.

    Parameters
    ----------
    nodes : array of shape (n, d)
    mass : array of shape (n,)
        How many rows each point stands for.
    fit : callable
        The landscape of points, their masses, and a factor of the bandwidth.
    count : int, default=None
        How many clusters to cut the tree into; None finds it.
    """
    rows, weight = np.arange(len(nodes)), mass
    if len(nodes) > SAMPLE:
        rows, weight = priority_sample(nodes, SAMPLE, mass, seed)
        weight = weight * (len(rows) / weight.sum())  # a sample is no more certain than its size
    search = _Search(fit, seed)
    points = nodes[rows]
    labels = search.split(points, weight) if count is None else search.cut(points, weight, count)
    if labels.max() > 0 and varying_columns(nodes) > FEW_COLUMNS and count is None:
        labels = _confirmed(points, weight, labels, seed)
    if len(rows) < len(nodes):
        spread = np.maximum(points.std(axis=0), np.finfo(np.float64).tiny)
        labels = labels[cKDTree(points / spread).query(nodes / spread)[1]]
    if labels.max() == 0:
        return Scales(labels, 1.0, np.inf)
    width = _width(fit(points, weight, 1.0))
    return Scales(labels, min(1.0, search.finest / width), search.significance)


class _Search:
    """Splits of parts, part by part; keeps the finest bandwidth and the least significance."""

    def __init__(self, fit: Fit, seed: int) -> None:
        self._fit = fit
        self._seed = seed
        self.finest = np.inf
        self.significance = np.inf

    def split(self, nodes: Array, mass: Array, is_part: bool = False) -> NDArray[np.int64]:
        """Clusters of a part, from 0."""
        labels = np.zeros(len(nodes), dtype=np.int64)
        if mass.sum() < FEWEST or len(nodes) < 3:
            return labels
        found = self._best(nodes, mass, is_part)
        if found is None:
            return self._split_round(nodes, mass) if is_part else labels
        tree, width, significance, critical = found
        parts = tree.significant_labels(critical)
        self._note(width, significance)
        count = 0
        for part in range(int(parts.max()) + 1):
            inside = parts == part
            inner = self.split(nodes[inside], mass[inside], True)
            labels[inside] = inner + count
            count += int(inner.max()) + 1
        return labels

    def _split_round(self, nodes: Array, mass: Array) -> NDArray[np.int64]:
        """A part that fills its columns, split where a valley lies between round groups.

        Round groups that touch are told apart by the line between them long before a tree sees
        the saddle. Curves, and clusters with noise around them, have valleys on lines as well, and
        are left whole: the groups must be as round as normal ones.
        """
        labels = np.zeros(len(nodes), dtype=np.int64)
        d = nodes.shape[1]
        if not 2 <= d <= FEW_COLUMNS or mass.sum() < FEWEST_ROUND:
            return labels
        if _filled_dimensions(self._fit(nodes, mass, 1.0)) < FILLED * d:
            return labels
        rows = repeated(nodes, mass, CONFIRMED, self._seed)
        labels[rows] = split(continuous(nodes[rows], self._seed), self._seed)
        groups = [nodes[labels == k] for k in range(int(labels.max()) + 1)]
        return labels if all(_is_round(group) for group in groups) else np.zeros_like(labels)

    def cut(self, nodes: Array, mass: Array, count: int) -> NDArray[np.int64]:
        """The tree cut into so many clusters, at the scale where the last split is clearest."""
        labels = np.zeros(len(nodes), dtype=np.int64)
        best = -np.inf
        for factor in _ladder(nodes):
            landscape = self._landscape(nodes, mass, factor, factor < 1)
            tree = landscape.tree()
            found, clearest = tree.labels_of(count)
            if clearest > best:
                labels, best = found, clearest
                self.finest, self.significance = _width(landscape), clearest
        return labels

    def _best(
        self, nodes: Array, mass: Array, is_part: bool
    ) -> tuple[AlphaTree, float, float, float] | None:
        """The coarsest tree with a significant split: bandwidth, significance, critical value.

        A finer one shows what the coarse one shows, and breaks up what it should not.
        """
        for factor in _ladder(nodes):
            landscape = self._landscape(nodes, mass, factor, is_part or factor < 1)
            tree = landscape.tree()
            highest = float(tree.significance.max(initial=-np.inf))
            critical = CRITICAL if factor == 1 else CRITICAL_FINER
            critical = CRITICAL_OF_PART if is_part else critical
            if highest > critical:
                return tree, _width(landscape), highest / critical, critical
        return None

    def _landscape(self, nodes: Array, mass: Array, factor: float, is_cautious: bool) -> Landscape:
        landscape = self._fit(nodes, mass, factor)
        return replace(landscape, caution=CAUTION) if is_cautious else landscape

    def _note(self, width: float, significance: float) -> None:
        self.finest = min(self.finest, width)
        self.significance = min(self.significance, significance)


def _ladder(nodes: Array) -> tuple[float, ...]:
    """Factors of the bandwidth that are tried, the coarsest first."""
    return LADDERS.get(varying_columns(nodes), (1.0,))


def _width(landscape: Landscape) -> float:
    """The bandwidth as one number, comparable between parts of the same data."""
    bandwidth = np.asarray(landscape.kernel.bandwidth, dtype=np.float64)  # type: ignore[attr-defined]
    return float(np.exp(np.log(bandwidth).mean()))


def _is_round(points: Array) -> bool:
    """Whether points have about the kurtosis of normal ones, in all directions (Mardia 1970)."""
    n, d = points.shape
    if n <= 2 * d:
        return False
    centred = points - points.mean(axis=0)
    covariance = centred.T @ centred / n
    if np.linalg.matrix_rank(covariance) < d:
        return False
    squares = np.einsum("ij,ij->i", centred, np.linalg.solve(covariance, centred.T).T)
    share = float(np.square(squares).mean()) / (d * (d + 2))
    return ROUND[0] < share < ROUND[1]


def _filled_dimensions(landscape: Landscape) -> float:
    """How many dimensions the points fill at the scale of the kernel, as `AlphaTree` counts them.

    Zero where the kernel does not say.
    """
    square, halving = landscape.kernel.squared(), landscape.kernel.halving
    if square is None or halving is None:
        return 0.0
    a = np.asarray(landscape.coefficients, dtype=np.float64)
    own = np.maximum(a / landscape.mass, np.finfo(np.float64).tiny)
    squares = landscape.operator_of(landscape.nodes, square) @ (a * own).astype(
        landscape.nodes.dtype
    )
    values = np.exp(landscape.level) - own
    ratio = float(landscape.mass @ np.maximum(squares / own - own, 0))
    ratio /= max(float(landscape.mass @ np.maximum(values, 0)), np.finfo(np.float64).tiny)
    return float(-np.log2(min(max(ratio, np.finfo(np.float64).tiny), 1.0)) / halving)


def _confirmed(nodes: Array, mass: Array, labels: Array, seed: int) -> NDArray[np.int64]:
    """Clusters between which there is a valley on a line; others are merged."""
    rows = repeated(nodes, mass, CONFIRMED, seed)
    X = continuous(nodes[rows], seed)
    while labels.max() > 0 and X.shape[1] > 0:
        inside = np.unique(labels[rows], return_inverse=True)[1]
        depths = separations(X, inside, seed)
        i, j = np.unravel_index(np.argmin(depths), depths.shape)
        if depths[i, j] > 1:
            return labels
        names = np.unique(labels[rows])
        labels = np.where(labels == names[j], names[i], labels)
        labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        if len(np.unique(labels[rows])) == 1:
            break
    return np.zeros(len(nodes), dtype=np.int64)
