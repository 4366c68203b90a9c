"""The alpha tree: the clusters of every alpha cut at once, and which of them are real.

Two points belong together at level α when no point of the segment between them has a membership
of α or less [1]_. With w_ij the smallest membership along the segment, the maximum spanning tree
over w_ij therefore holds the labels of every α. Branches of the tree are peaks of the density
that the memberships describe; `AlphaTree` also knows which peaks stand out of the estimate's own
noise. This file knows graphs only: who calls it (`AlphaCutClustering`) measures the segments.

References
----------
.. [1] M. Filippone, F. Masulli, S. Rovetta, "Applying the possibilistic c-means algorithm in
   kernel-induced spaces", IEEE Trans. Fuzzy Systems 18(3), 2010.
   :doi:`10.1109/TFUZZ.2010.2043440`
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from softkern._utils.typing import Array
from softkern.density_tree._branches import best_scores, highest, sums, united
from softkern.density_tree.layout import merges
from softkern.rows import lower_quantile, order_by_mass

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "SMALL_SHARE",
    "AlphaTree",
    "Evidence",
    "drop_small",
    "filled_dimensions",
    "histogram_valley",
    "maximum_spanning_tree",
    "number_by_mass",
    "rejection_level",
]

# Standard errors by which a branch must stand out, at a dimension of the branch of 1.2 and less
# and of 1.8 and more. A curve is torn by chance far more easily than an area: these are the
# largest values of several hundred draws without structure (uniform, normal, rings, heavy tails).
CRITICAL_DIMENSIONS, CRITICAL_ERRORS = (1.2, 1.8), (3.5, 1.8)
CAUTIOUS_PLANE = 2.1  # dimensions from which on caution is not needed
SMALL_SHARE = 0.01  # of the rows, below which a group is outliers and no cluster
BINS = 512  # of the histogram whose valley is sought
# Of a mode beside the valley, as a share of the highest: a lower one is the histogram's noise.
LEAST_MODE = 0.02


@dataclass(frozen=True)
class Evidence:
    """What the significance of a split is judged by: a density estimate and its error.

    Attributes
    ----------
    mass : array of shape (n,)
        Number of observations that each point stands for in the estimate, W a_i.
    own : array of shape (n,)
        What one observation at the point adds to the density there, a_i / w_i.
    density : array of shape (n,)
        The estimate at each point, p = Σ a_j K.
    variance : array of shape (n,)
        Its sampling variance, v = Σ a_j² K².
    saddle_density, saddle_variance : arrays of shape (m,)
        The same at the lowest point of every edge of the tree.
    continuity : float, default=0.5
        Observations taken off a branch for each independent cell of the kernel in it.
    halving : float, default=0.5
        Halvings of ∫K² against ∫K per dimension of the data: ½ for the Gaussian, 1 for the
        Laplacian.
    caution : float, default=1.0
        Factor of the critical value where points fill one dimension: a fine estimate breaks up
        along a curve by chance.
    """

    mass: Array
    own: Array
    density: Array
    variance: Array
    saddle_density: Array
    saddle_variance: Array
    continuity: float = 0.5
    halving: float = 0.5
    caution: float = 1.0


class AlphaTree:
    """The maximum spanning tree of points over the smallest membership between them.

    Parameters
    ----------
    edges : array of shape (m, 2)
        Pairs of points; more than a spanning tree is reduced to one.
    saddles : array of shape (m,)
        Smallest membership along each pair's segment.
    heights : array of shape (n,)
        Membership of each point.
    weight : array of shape (n,), default=None
        How many rows each point stands for; ones by default.
    evidence : Evidence, default=None
        For `significance`; one value per edge given, so that a tree must be given with it.

    Attributes
    ----------
    edges, saddles : arrays of shape (n − 1, 2) and (n − 1,)
        The tree, highest saddle first.
    masses, peaks : arrays of shape (n − 1, 2)
        Weight and highest membership of the two branches that each edge joins.
    significance : array of shape (n − 1,)
        By how much the weaker branch of each join stands out of the estimate's noise, as a
        multiple of what chance may do: above one a split is real. NaN without evidence.

    Examples
    --------
    >>> import numpy as np
    >>> edges = np.array([[0, 1], [1, 2], [2, 3]])
    >>> tree = AlphaTree(edges, saddles=[0.6, 0.2, 0.5], heights=[0.9, 0.8, 0.7, 0.5])
    >>> tree.labels_at(0.3)
    array([0, 0, 1, 1])
    >>> tree.labels_at(0.55)
    array([ 0,  0,  1, -1])
    """

    def __init__(
        self,
        edges: Any,
        saddles: Any,
        heights: Any,
        *,
        weight: Any = None,
        evidence: Evidence | None = None,
    ) -> None:
        self.heights = np.asarray(heights, dtype=np.float64)
        n = len(self.heights)
        self.weight = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
        edges = np.asarray(edges, dtype=np.intp).reshape(-1, 2)
        saddles = np.asarray(saddles, dtype=np.float64)
        # Where memberships saturate far from all data, the density still separates saddles.
        order_by = saddles if evidence is None else evidence.saddle_density
        kept = maximum_spanning_tree(n, edges, order_by)
        self.edges, self.saddles = edges[kept], saddles[kept]
        merged = merges(n, self.edges)
        self.masses = _of_sides(merged, self.weight)
        self.peaks = self.heights[highest(merged, self.heights)[merged]]
        self.significance = np.full(len(kept), np.nan)
        if evidence is not None:
            self.significance = _significance(merged, evidence, kept)

    def __repr__(self) -> str:
        return f"AlphaTree({len(self.heights)} points, {len(self.edges)} joins)"

    def labels_at(self, alpha: float) -> NDArray[np.int64]:
        """The paper's labels at any level, (n,): −1 where u ≤ α, clusters by decreasing mass."""
        if not 0 <= alpha < 1:
            raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}.")
        component = self._components(self.saddles > alpha)
        component[self.heights <= alpha] = -1
        return number_by_mass(component, self.weight, self.heights)

    def is_split(self, threshold: float = 1.0) -> NDArray[np.bool_]:
        """Edges between branches that both stand out of the estimate's noise, (n − 1,)."""
        if np.isnan(self.significance).any():
            raise ValueError("the tree was built without evidence; give an alpha instead.")
        return np.asarray(self.significance > threshold)

    def significant_labels(self, threshold: float = 1.0) -> NDArray[np.int64]:
        """The clusters that stand out of the estimate's noise, (n,); every point has one."""
        return self.labels_without(self.is_split(threshold))

    def labels_without(self, is_cut: Any) -> NDArray[np.int64]:
        """The clusters that are left without these edges, (n,), by decreasing mass."""
        kept = ~np.asarray(is_cut, dtype=bool)
        return number_by_mass(self._components(kept), self.weight, self.heights)

    def labels_of(self, count: int) -> tuple[NDArray[np.int64], float]:
        """The tree cut into so many clusters, (n,), and the significance of the last split.

        The most significant joins are cut; without evidence those of the highest lower peak.
        Branches of less than a hundredth of the mass come last, for they are outliers rather than
        clusters. Fewer clusters than asked for come where the tree has fewer points.
        """
        values = self.significance
        if np.isnan(values).any():
            values = self.peaks.min(axis=1) - self.saddles
        order = np.lexsort([-values, self._is_small()])[: count - 1]
        is_cut = np.zeros(len(values), dtype=bool)
        is_cut[order] = True
        last = float(values[order[-1]]) if len(order) else np.inf
        return self.labels_without(is_cut), last

    def count_tips(self) -> int:
        """Into how many clusters of a hundredth of the mass or more `labels_of` can cut it."""
        return 1 + int((~self._is_small()).sum())

    def _is_small(self) -> NDArray[np.bool_]:
        """Joins of which one side holds less than a hundredth of the mass, (n − 1,)."""
        return np.asarray(self.masses.min(axis=1) < SMALL_SHARE * self.weight.sum())

    def separating_alpha(self, threshold: float = 1.0) -> float:
        """The smallest level at which all significant clusters are apart; 0 for one cluster."""
        return float(self.saddles[self.is_split(threshold)].max(initial=0.0))

    def to_pandas(self) -> pd.DataFrame:
        """One row a join, highest first: its level, its two branches, its significance."""
        import pandas as pd

        larger = np.argmax(self.masses, axis=1)[:, None]
        columns = {"alpha": self.saddles}
        for name, values in (("mass", self.masses), ("peak", self.peaks)):
            columns[f"larger_{name}"] = np.take_along_axis(values, larger, axis=1)[:, 0]
            columns[f"smaller_{name}"] = np.take_along_axis(values, 1 - larger, axis=1)[:, 0]
        return pd.DataFrame({**columns, "significance": self.significance})

    def _components(self, kept: Array) -> Array:
        n = len(self.heights)
        i, j = self.edges[kept].T
        graph = csr_array((np.ones(len(i), dtype=bool), (i, j)), shape=(n, n))
        return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def maximum_spanning_tree(n: int, edges: Array, weight: Array) -> NDArray[np.intp]:
    """Numbers of the edges of a maximum spanning tree (or forest), highest weight first.

    Examples
    --------
    >>> import numpy as np
    >>> maximum_spanning_tree(3, np.array([[0, 1], [1, 2], [0, 2]]), np.array([0.1, 0.3, 0.2]))
    array([1, 2])
    """
    order = np.argsort(-np.asarray(weight), kind="stable")
    return np.asarray(order[united(n, edges[order])[0]])


def number_by_mass(component: Array, weight: Array, heights: Array) -> NDArray[np.int64]:
    """Components renumbered from 0 by decreasing mass, then by their peak; negative stays −1."""
    labels = np.full(len(component), -1, dtype=np.int64)
    inside = component >= 0
    if not inside.any():
        return labels
    names, index = np.unique(component[inside], return_inverse=True)
    peak = np.full(len(names), -np.inf)
    np.maximum.at(peak, index, heights[inside])
    rank = np.empty(len(names), dtype=np.int64)
    order = order_by_mass(np.bincount(index, weights=weight[inside]), peak)
    rank[order] = np.arange(len(names))
    labels[inside] = rank[index]
    return labels


def drop_small(labels: Array, mass: Array) -> NDArray[np.int64]:
    """Clusters with less than 1 % of the mass become noise, −1, if two others are left.

    With one cluster there is no noise, and they stay with it.
    """
    counts = np.bincount(labels, weights=mass)
    is_small = counts < SMALL_SHARE * mass.sum()
    if not is_small.any():
        return labels
    if (~is_small).sum() < 2:
        return np.zeros_like(labels)
    numbers = np.where(is_small, -1, np.cumsum(~is_small) - 1)
    return np.asarray(numbers[labels], dtype=np.int64)


def rejection_level(values: Array, weight: Array, share: float) -> float:
    """The quantile of the values at a share of the weight; counts are rounded."""
    total = float(weight.sum())
    target = share * total
    if (weight == np.round(weight)).all():
        target = float(np.round(target))
    if target <= 0:
        return float(values.min()) / 2  # nothing is rejected
    return lower_quantile(values, weight, target / total)


def histogram_valley(memberships: Any, weight: Any = None) -> float:
    """The membership that separates the two modes of the histogram (2007 paper).

    The histogram is smoothed; of all its valleys the one counts whose lower neighboring mode
    rises farthest above it.

    Parameters
    ----------
    memberships : array of shape (n,)
    weight : array of shape (n,), default=None

    Returns
    -------
    valley : float
        0 where the histogram has one mode only: there is nothing to separate.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(0)
    >>> u = np.concatenate([generator.normal(0.3, 0.02, 500), generator.normal(0.7, 0.02, 500)])
    >>> bool(0.4 < histogram_valley(u) < 0.6)
    True
    """
    u = np.asarray(memberships, dtype=np.float64)
    weight = np.ones(len(u)) if weight is None else np.asarray(weight, dtype=np.float64)
    low, high = u.min(), u.max()
    if not high > low:
        return 0.0
    counts, bounds = np.histogram(u, bins=BINS, range=(low, high), weights=weight)
    mean = np.average(u, weights=weight)
    spread = sqrt(float(np.average(np.square(u - mean), weights=weight)))
    scott = spread * float(weight.sum()) ** -0.2 / (high - low) * BINS
    padding = int(np.ceil(4 * scott))
    smooth = gaussian_filter1d(np.pad(counts, padding), scott)
    smooth = smooth[padding : padding + BINS]
    left = np.maximum.accumulate(smooth)
    right = np.maximum.accumulate(smooth[::-1])[::-1]
    rise = np.minimum(left, right) - smooth
    if rise.max() <= LEAST_MODE * smooth.max():
        return 0.0
    at = int(np.argmax(rise))
    return float((bounds[at] + bounds[at + 1]) / 2)


def _of_sides(merged: Array, points: Array) -> Array:
    """Sums over the points of both branches of every merge, (m, 2)."""
    return np.asarray(sums(merged, points)[merged])


def _significance(merged: Array, evidence: Evidence, kept: Array) -> Array:
    """By how much the weaker branch of every join stands out, in critical values, (m,).

    A branch of N observations that joins at density λ is compared with a plateau of density λ
    over the same region, which would hold M = λ Σ 1/p observations. N has variance N, and M that
    of the estimate λ. A part of an observation is taken off for each independent cell of the
    kernel, m = Σ v/p² of them, because the estimate follows its own noise upwards. A branch that
    itself holds a better split keeps that one's value.
    """
    p = np.maximum(evidence.density, np.finfo(np.float64).tiny)
    mass = evidence.mass
    terms = (mass, mass / p, mass * evidence.variance / p**2)
    N, V, m = (_of_sides(merged, points) for points in terms)
    plateau = evidence.saddle_density[kept][:, None] * V
    error = np.sqrt(N + evidence.saddle_variance[kept][:, None] * V**2)
    z = (N - plateau - evidence.continuity * m) / np.maximum(error, np.finfo(np.float64).tiny)
    on_a_line, in_a_plane = CRITICAL_ERRORS
    line, plane = CRITICAL_DIMENSIONS
    if evidence.caution > 1:
        on_a_line, plane = evidence.caution * on_a_line, CAUTIOUS_PLANE
    z /= np.interp(_dimensions(merged, evidence), (line, plane), (on_a_line, in_a_plane))
    return np.asarray(best_scores(merged, z, len(p)))


def _dimensions(merged: Array, evidence: Evidence) -> Array:
    """How many dimensions the points of both branches of every join fill, (m, 2).

    Where points fill k dimensions evenly, Σ K² is 2^(−k/2) of Σ K for the Gaussian, whatever the
    density and the bandwidth; a point itself is left out of its sums.
    """
    tiny = np.finfo(np.float64).tiny
    own, mass = np.maximum(evidence.own, tiny), evidence.mass
    squares = _of_sides(merged, mass * np.maximum(evidence.variance / own - own, 0))
    values = _of_sides(merged, mass * np.maximum(evidence.density - own, 0))
    return filled_dimensions(squares, values, evidence.halving)


def filled_dimensions(squares: Any, values: Any, halving: float) -> Array:
    """How many dimensions points fill of whose kernel these are Σ K² and Σ K, themselves left out.

    Examples
    --------
    >>> float(filled_dimensions(0.25, 1.0, halving=0.5))
    4.0
    """
    tiny = np.finfo(np.float64).tiny
    ratio = np.maximum(squares, tiny) / np.maximum(values, tiny)
    return np.asarray(-np.log2(np.minimum(ratio, 1)) / halving)
