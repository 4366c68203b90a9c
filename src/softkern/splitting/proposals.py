"""Proposed partitions, from which mixtures start: k-means and cuts along single directions.

k-means finds clusters that differ in many columns. Clusters that differ in one column of many, or
along a direction of little variance, are found on the columns, principal directions and
independent components themselves: those furthest from having one mode are cut in two. Called by
`splitting.split`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd
from sklearn.exceptions import ConvergenceWarning

from softkern._utils.typing import Array
from softkern.splitting.gap_test import excess_mass
from softkern.splitting.settings import SPLITTING


def propose(X: Array, seed: int) -> Iterator[NDArray[np.intp]]:
    """Yield partitions of the points, each as labels (n,)."""
    for count in SPLITTING.k_means:
        if len(X) >= SPLITTING.rows_per_cluster * count:
            yield k_means(X, count, seed)
    yield from propose_pairs(X, seed)


def propose_pairs(X: Array, seed: int) -> Iterator[NDArray[np.intp]]:
    """Yield partitions into two clusters."""
    yield k_means(X, 2, seed)
    positions = _directions(X, seed)  # (n, k)
    size = min(len(X), SPLITTING.direction_rows)
    sample = positions[np.linspace(0, len(X) - 1, size).astype(np.intp)]
    masses = np.apply_along_axis(excess_mass, 0, sample)
    for k in np.argsort(-masses, kind="stable")[: SPLITTING.cut_directions]:
        yield (positions[:, k] > _cut(positions[:, k])).astype(np.intp)


def k_means(X: Array, count: int, seed: int) -> NDArray[np.intp]:
    """Return labels of the best of three runs; fewer clusters if there are fewer distinct rows."""
    from sklearn.cluster import KMeans  # slow to import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters
        model = KMeans(count, n_init=3, max_iter=30, random_state=seed).fit(X)
    return np.asarray(np.unique(model.labels_, return_inverse=True)[1], dtype=np.intp)


def _directions(X: Array, seed: int) -> Array:
    """Positions of the points on columns, principal and independent directions, (n, k)."""
    from sklearn.decomposition import FastICA  # slow to import

    n, d = X.shape
    left, size, _ = svd(X - X.mean(axis=0), full_matrices=False)
    principal = (left * size)[:, : max(1, min(d, n // 4, SPLITTING.ica_components))]
    parts = [X, principal[:, : SPLITTING.principal]]
    if principal.shape[1] > 1:
        search = FastICA(
            min(principal.shape[1], SPLITTING.independent),
            whiten="unit-variance",
            fun="cube",
            max_iter=50,
            tol=1e-2,
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a proposal need not converge
            parts.append(search.fit_transform(principal))
    return np.column_stack(parts)


def _cut(positions: Array) -> float:
    """The cut that leaves the least variance on its two sides."""
    ordered = np.sort(positions)
    n, least = len(ordered), SPLITTING.min_cluster
    below = np.arange(least, n - least + 1)
    if len(below) == 0:
        return float(np.median(ordered))
    sums = np.cumsum(ordered - ordered.mean())[below - 1]
    best = below[np.argmax(np.square(sums) / below / (n - below))]
    return float((ordered[best - 1] + ordered[best]) / 2)
