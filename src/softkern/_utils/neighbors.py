"""Nearest neighbors: a tree in few columns, all distances in many."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial import cKDTree

__all__ = ["TREE_COLUMNS", "nearest"]

TREE_COLUMNS = 8  # beyond these, a tree of neighbors is no quicker than all pairs


def nearest(
    points: Any, queries: Any, k: int, threads: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Distances and numbers of the k nearest points of every query, (m, k), nearest first.

    `threads` are those of the tree; a few queries do not repay them.
    """
    if not sp.issparse(points) and points.shape[1] <= TREE_COLUMNS:
        distance, index = cKDTree(points).query(queries, np.arange(1, k + 1), workers=threads)
        return distance, index
    from sklearn.neighbors import NearestNeighbors  # takes long to import

    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(points)
    distance, index = search.kneighbors(queries)
    return distance, index
