"""Nearest neighbors: a tree for few columns, all distances for many."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial import cKDTree

TREE_COLUMNS = 8  # with more columns a tree is no faster than all pairs


def k_nearest(
    points: Any, queries: Any, k: int, threads: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return distances and indices of the k nearest points of every query, (m, k), nearest first.

    `threads` are used by the tree. Few queries do not repay them.
    """
    if not sp.issparse(points) and points.shape[1] <= TREE_COLUMNS:
        distance, index = cKDTree(points).query(queries, np.arange(1, k + 1), workers=threads)
        return distance, index
    from sklearn.neighbors import NearestNeighbors  # slow import

    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(points)
    distance, index = search.kneighbors(queries)
    return distance, index
