"""The alpha tree: the clusters of every alpha cut at once, and which of them are significant.

Two points belong to the same cluster at level α if no point of the segment between them has a
membership of α or less [1]_. With w_ij the smallest membership along the segment, the maximum
spanning tree over w_ij therefore holds the labels of every α. Branches of the tree are peaks of the
density, and `AlphaTree` tests which peaks exceed the noise of the estimate. `Landscape` measures
the segments.

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

from softkern._utils.typing import Array
from softkern.density_tree.layout import (
    best_scores,
    components,
    highest,
    maximum_spanning_tree,
    sums,
)
from softkern.rows import lower_quantile, number_by_mass

if TYPE_CHECKING:
    import pandas as pd

# Standard errors by which a branch must exceed the noise, at a dimension of the branch of 1.2 and
# less and of 1.8 and more. A curve breaks by chance far more easily than an area: these are the
# largest values of several hundred draws without structure (uniform, normal, rings, heavy tails).
CRITICAL_DIMENSIONS, CRITICAL_ERRORS = (1.2, 1.8), (3.5, 1.8)
CAUTIOUS_PLANE = 2.1  # dimensions from which on caution is not needed
SMALL_SHARE = 0.01  # of the rows, below which a group is outliers and no cluster
BINS = 512  # of the histogram whose valley is sought
# Of a mode beside the valley, as a share of the highest: a lower one is the histogram's noise.
LEAST_MODE = 0.02


@dataclass(frozen=True)
class Evidence:
    """What the significance of a split is judged by: a density estimate and its error."""

    mass: Array  # (n,), observations that each point stands for in the estimate, W a_i
    own: Array  # (n,), what one observation adds to the density at its point, a_i / w_i
    density: Array  # (n,), the estimate, p = Σ a_j K
    variance: Array  # (n,), its sampling variance, v = Σ a_j² K²
    saddle_density: Array  # (m,), the same at the lowest point of every edge of the tree
    saddle_variance: Array  # (m,)
    # Observations removed from a branch for each independent cell of the kernel in it
    continuity: float = 0.5
    # Halvings of ∫K² against ∫K per dimension of the data: ½ for the Gaussian, 1 for the Laplacian
    halving: Any = 0.5
    # Factor of the critical value where points fill one dimension: a fine estimate breaks up along
    # a curve by chance
    caution: float = 1.0


class AlphaTree:
    """The maximum spanning tree of points over the smallest membership between them.

    Parameters
    ----------
    edges : array of shape (m, 2)
        Pairs of points, which are reduced to a spanning tree.
    saddles : array of shape (m,)
        Smallest membership along the segment of each pair.
    heights : array of shape (n,)
        Membership of each point.
    weight : array of shape (n,), default=None
        Number of rows that each point stands for; ones by default.
    evidence : Evidence, default=None
        The density estimate, for `significance`.

    Attributes
    ----------
    edges, saddles : arrays of shape (n − 1, 2) and (n − 1,)
        The tree, highest saddle first.
    masses, peaks : arrays of shape (n − 1, 2)
        Weight and highest membership of the two branches that each edge joins.
    significance : array of shape (n − 1,)
        By how much the weaker branch of each join exceeds the noise of the estimate, as a multiple
        of the critical value. A split above one is significant. NaN without evidence.

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
        kept, merged = maximum_spanning_tree(n, edges, order_by)
        self.edges, self.saddles = edges[kept], saddles[kept]
        self.masses = sums(merged, self.weight)[merged]
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
        component = components(len(self.heights), self.edges[self.saddles > alpha])[1]
        component[self.heights <= alpha] = -1
        return number_by_mass(component, self.weight, self.heights)

    def is_split(self, threshold: float = 1.0) -> NDArray[np.bool_]:
        """Edges between branches that both exceed the noise of the estimate, (n − 1,)."""
        if np.isnan(self.significance).any():
            raise ValueError("the tree was built without evidence; give an alpha instead.")
        return np.asarray(self.significance > threshold)

    def significant_labels(self, threshold: float = 1.0) -> NDArray[np.int64]:
        """The clusters that exceed the noise of the estimate, (n,); every point has one."""
        return self.labels_without(self.is_split(threshold))

    def labels_without(self, is_cut: Any) -> NDArray[np.int64]:
        """The clusters that are left without these edges, (n,), by decreasing mass."""
        kept = ~np.asarray(is_cut, dtype=bool)
        component = components(len(self.heights), self.edges[kept])[1]
        return number_by_mass(component, self.weight, self.heights)

    def labels_of(self, count: int) -> tuple[NDArray[np.int64], float]:
        """The tree cut into `count` clusters, (n,), and the significance of the last split.

        The most significant joins are cut, without evidence those of the highest lower peak.
        Branches with less than a hundredth of the mass come last, since they are outliers rather
        than clusters. There are fewer clusters if the tree has fewer points.
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
        """Number of clusters with a hundredth of the mass or more that `labels_of` can return."""
        return 1 + int((~self._is_small()).sum())

    def _is_small(self) -> NDArray[np.bool_]:
        """Joins with less than a hundredth of the mass on one side, (n − 1,)."""
        return np.asarray(self.masses.min(axis=1) < SMALL_SHARE * self.weight.sum())

    def separating_alpha(self, threshold: float = 1.0) -> float:
        """The smallest level at which all significant clusters are apart; 0 for one cluster."""
        return float(self.saddles[self.is_split(threshold)].max(initial=0.0))

    def to_pandas(self) -> pd.DataFrame:
        """One row per join, highest first: its level, its two branches, its significance."""
        import pandas as pd

        larger = np.argmax(self.masses, axis=1)[:, None]
        columns = {"alpha": self.saddles}
        for name, values in (("mass", self.masses), ("peak", self.peaks)):
            columns[f"larger_{name}"] = np.take_along_axis(values, larger, axis=1)[:, 0]
            columns[f"smaller_{name}"] = np.take_along_axis(values, 1 - larger, axis=1)[:, 0]
        return pd.DataFrame({**columns, "significance": self.significance})


def drop_small(labels: Array, mass: Array) -> NDArray[np.int64]:
    """Turn clusters with less than 1 % of the mass into noise, −1, if two others are left.

    With one cluster there is no noise.
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

    Parameters
    ----------
    memberships : array of shape (n,)
        Memberships, of which a histogram is smoothed.
    weight : array of shape (n,), default=None
        Their weights; ones by default.

    Returns
    -------
    valley : float
        The valley whose lower neighboring mode rises farthest above it; 0 for a single mode.

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
    smooth = gaussian_filter1d(counts, scott, mode="constant")
    left = np.maximum.accumulate(smooth)
    right = np.maximum.accumulate(smooth[::-1])[::-1]
    rise = np.minimum(left, right) - smooth
    if rise.max() <= LEAST_MODE * smooth.max():
        return 0.0
    at = int(np.argmax(rise))
    return float((bounds[at] + bounds[at + 1]) / 2)


def _significance(merged: Array, evidence: Evidence, kept: Array) -> Array:
    """By how much the weaker branch of every join exceeds the noise, in critical values, (m,).

    A branch of N observations that joins at density λ is compared with a plateau of density λ over
    the same region, which would hold M = λ Σ 1/p observations. N has variance N, and M that of the
    estimate λ. A part of an observation is removed for each independent cell of the kernel,
    m = Σ v/p² of them, because the estimate follows its own noise upwards. A branch that contains a
    better split keeps the value of that split.
    """
    p = np.maximum(evidence.density, np.finfo(np.float64).tiny)
    mass = evidence.mass
    terms = (mass, mass / p, mass * evidence.variance / p**2)
    N, V, m = (sums(merged, points)[merged] for points in terms)  # of both sides, (m, 2)
    plateau = evidence.saddle_density[kept][:, None] * V
    error = np.sqrt(N + evidence.saddle_variance[kept][:, None] * V**2)
    z = (N - plateau - evidence.continuity * m) / np.maximum(error, np.finfo(np.float64).tiny)
    on_a_line, in_a_plane = CRITICAL_ERRORS
    line, plane = CRITICAL_DIMENSIONS
    if evidence.caution > 1:
        on_a_line, plane = evidence.caution * on_a_line, CAUTIOUS_PLANE
    filled = filled_dimensions(
        mass, evidence.own, evidence.density, evidence.variance, evidence.halving, merged
    )
    z /= np.interp(filled, (line, plane), (on_a_line, in_a_plane))
    return np.asarray(best_scores(merged, z, len(p)))


def filled_dimensions(
    mass: Array, own: Array, density: Array, variance: Array, halving: Any, merged: Any = None
) -> Array:
    """How many dimensions points fill, all of them or both branches of every join, (m, 2).

    Where points fill k dimensions evenly, Σ K² is 2^(−k/2) of Σ K for the Gaussian, both without
    the points themselves, whatever the density and the bandwidth. Arguments as in `Evidence`.
    """
    tiny = np.finfo(np.float64).tiny
    own = np.maximum(own, tiny)
    terms = mass * np.maximum(variance / own - own, 0), mass * np.maximum(density - own, 0)
    squares, values = (t.sum() if merged is None else sums(merged, t)[merged] for t in terms)
    ratio = np.maximum(squares, tiny) / np.maximum(values, tiny)
    return np.asarray(-np.log2(np.minimum(ratio, 1)) / halving)
