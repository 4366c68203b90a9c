"""Where groups may be: starts for mixtures, from k-means and from single directions.

k-means finds groups that differ in many columns. Groups that differ in one column of many, or
along a direction of little variance, are lost to it: there each column, principal direction and
independent component is looked at alone, and those furthest from having one mode are cut in two.
Called by `splitting.recursion`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd
from sklearn.exceptions import ConvergenceWarning

from softkern._utils.typing import Array
from softkern.splitting.gap_test import FEWEST, excess_mass

__all__ = ["k_means", "pair_starts", "starts"]

COUNTS = (8, 4, 3)  # groups that k-means is asked for, besides two
ROWS_A_GROUP = 15  # at least, to ask for so many
DIRECTIONS = 4  # that are cut in two
PRINCIPAL, INDEPENDENT = 10, 8  # directions of each kind that are looked at
COMPONENTS = 25  # principal directions among which independent ones are sought
LOOKED_AT = 300  # points whose excess mass is taken on every direction


def starts(X: Array, seed: int) -> Iterator[NDArray[np.intp]]:
    """Labels of the points, (n,), one start after the other."""
    for count in COUNTS:
        if len(X) >= ROWS_A_GROUP * count:
            yield k_means(X, count, seed)
    yield from pair_starts(X, seed)


def pair_starts(X: Array, seed: int) -> Iterator[NDArray[np.intp]]:
    """The same for two groups only."""
    yield k_means(X, 2, seed)
    places = _directions(X, seed)  # (n, k)
    looked_at = places[np.linspace(0, len(X) - 1, min(len(X), LOOKED_AT)).astype(np.intp)]
    found = np.array([excess_mass(column) for column in looked_at.T])
    for k in np.argsort(-found, kind="stable")[:DIRECTIONS]:
        yield (places[:, k] > _cut(places[:, k])).astype(np.intp)


def k_means(X: Array, count: int, seed: int) -> NDArray[np.intp]:
    """The best of three runs; labels from 0, fewer groups where there are fewer distinct rows."""
    from sklearn.cluster import KMeans  # takes long to import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than groups
        model = KMeans(count, n_init=3, max_iter=30, random_state=seed).fit(X)
    return np.asarray(np.unique(model.labels_, return_inverse=True)[1], dtype=np.intp)


def _directions(X: Array, seed: int) -> Array:
    """Places of the points on columns, principal and independent directions, (n, k)."""
    from sklearn.decomposition import FastICA  # takes long to import

    n, d = X.shape
    left, size, _ = svd(X - X.mean(axis=0), full_matrices=False)
    principal = (left * size)[:, : max(1, min(d, n // 4, COMPONENTS))]
    parts = [X, principal[:, :PRINCIPAL]]
    if principal.shape[1] > 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a start need not have converged
            search = FastICA(
                min(principal.shape[1], INDEPENDENT),
                whiten="unit-variance",
                fun="cube",
                max_iter=50,
                tol=1e-2,
                random_state=seed,
            )
            parts.append(search.fit_transform(principal))
    return np.column_stack(parts)


def _cut(places: Array) -> float:
    """The place that leaves the least variance on its two sides."""
    ordered = np.sort(places)
    n = len(ordered)
    below = np.arange(FEWEST, n - FEWEST + 1)
    if len(below) == 0:
        return float(np.median(ordered))
    sums = np.cumsum(ordered - ordered.mean())[below - 1]
    best = below[np.argmax(np.square(sums) / below / (n - below))]
    return float((ordered[best - 1] + ordered[best]) / 2)
