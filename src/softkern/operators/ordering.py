"""Rows in an order in which neighbors follow each other, so that far ones can be skipped.

In few columns a k-d tree gives the order. In many, its boxes are as wide as the data; there rows go
to the nearest of some seeds, drawn as those of k-means++, and cells that are near each other follow
each other: what lies in different clusters comes to lie in different tiles.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from softkern._utils.typing import Array
from softkern.rows import row_slices

TREE_COLUMNS = 6  # beyond these, boxes of near points fill the space
SEEDS = 32
SEED_SAMPLE = 1000  # rows that the seeds are drawn from
LEAST_ROWS = 2048  # that cells are worth their making for
MOST_NEAR = 0.8  # share of near pairs up to which they are
ROWS_AT_ONCE = 4096
FARTHEST = 1e100  # bandwidths from the middle of the data; beyond it all is far
TILE_REACH = 1.5  # distances to a tile's share of neighbors that a tile extends


class Ordering:
    """How to put rows beside their neighbors; `reach` is a distance in `scaled` coordinates."""

    def __init__(self, X: Array, scaled: Callable[[Array], Array], reach: float) -> None:
        self.reach, self.scaled = reach, scaled
        self.has_tree = X.shape[1] <= TREE_COLUMNS
        self.seeds: Array | None = None
        if self.has_tree or len(X) < LEAST_ROWS:
            return
        sample = self._points(X[:: -(-len(X) // SEED_SAMPLE)])
        seeds = _seeds(sample)
        if _share_of_near_cells(sample, seeds, reach) <= MOST_NEAR:
            self.seeds = seeds

    def order(self, X: Array) -> tuple[Array, list[int]]:
        """Row numbers (m,), and places between which rows do not matter to each other."""
        if self.has_tree:
            # cut in the middle, not at the median: gaps between groups become gaps between tiles
            cuts = {"leafsize": 64, "compact_nodes": False, "balanced_tree": False}
            return np.asarray(cKDTree(self.scaled(X), **cuts).indices), []
        if self.seeds is None:
            return np.arange(len(X)), []
        cells, radius = np.empty(len(X), dtype=np.intp), np.zeros(len(self.seeds))
        for rows in row_slices(len(X), ROWS_AT_ONCE):
            points = self._points(X[rows])
            cells[rows] = _nearest(points, self.seeds)
            np.maximum(radius, _radii(points, self.seeds, cells[rows]), out=radius)
        sizes = np.bincount(cells)
        there = np.flatnonzero(sizes)
        gaps = np.linalg.norm(np.diff(self.seeds[there], axis=0), axis=1)
        is_far = gaps - radius[there[1:]] - radius[there[:-1]] > self.reach
        breaks: list[int] = np.cumsum(sizes[there])[:-1][is_far].tolist()
        return np.argsort(cells, kind="stable"), breaks

    def _points(self, X: Array) -> Array:
        """Coordinates whose squares do not overflow."""
        return np.clip(self.scaled(X), -FARTHEST, FARTHEST)


def share_of_near_pairs(sample: Array, reach: float, tile_share: float) -> float:
    """Share of the pairs of tiles that have points within `reach`, as a sample (m, d) shows it.

    `tile_share` is the part of all rows that a tile holds.
    """
    m, d = sample.shape
    if d > TREE_COLUMNS:
        share = _share_of_near_cells(sample, _seeds(sample), reach)
        return share if share <= MOST_NEAR else 1.0
    # a tile reaches as far as the distance within which a point has a tile's share around it
    distance = cdist(sample, sample)
    neighbor = min(m - 1, max(1, round(tile_share * m)))
    extent = np.partition(distance, neighbor, axis=1)[:, neighbor]
    extent = TILE_REACH * extent * (tile_share * m / neighbor) ** (1 / d)
    return float((distance <= reach + extent + extent[:, None]).mean())


def _share_of_near_cells(sample: Array, seeds: Array, reach: float) -> float:
    cells = _nearest(sample, seeds)
    part = np.bincount(cells, minlength=len(seeds)) / len(sample)
    radius = _radii(sample, seeds, cells)
    is_near = cdist(seeds, seeds) <= reach + radius + radius[:, None]
    return float(part @ is_near @ part)


def _seeds(sample: Array) -> Array:
    """Some of the points, each drawn by its squared distance to those before, neighbors next."""
    generator = np.random.default_rng(0)
    chosen = [int(generator.integers(len(sample)))]
    nearest = np.square(sample - sample[chosen[0]]).sum(axis=1)
    while len(chosen) < SEEDS and nearest.sum() > 0:
        reached = np.cumsum(nearest)
        drawn = np.searchsorted(reached, generator.uniform(0, reached[-1]), "right")
        chosen.append(min(int(drawn), len(sample) - 1))
        nearest = np.minimum(nearest, np.square(sample - sample[chosen[-1]]).sum(axis=1))
    seeds = sample[chosen]
    return seeds if len(seeds) < 2 else seeds[leaves_list(linkage(seeds, "average"))]


def _nearest(points: Array, seeds: Array) -> Array:
    """The number of the nearest seed of every point, (n,)."""
    return np.asarray((np.square(seeds).sum(axis=1) - 2 * points @ seeds.T).argmin(axis=1))


def _radii(points: Array, seeds: Array, cells: Array) -> Array:
    """The distance from every seed to the farthest point of its cell, (c,)."""
    radius = np.zeros(len(seeds))
    np.maximum.at(radius, cells, np.linalg.norm(points - seeds[cells], axis=1))
    return radius
