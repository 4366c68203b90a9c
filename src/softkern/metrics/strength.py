"""Criteria of spectral models: membership strength and line fit, as functions of arrays.

`softkern.selection` and the search of the spectral models use them to compare numbers of clusters
and bandwidths.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array

__all__ = ["COVERED", "line_fit", "local_maxima", "membership_strength"]

Mask = NDArray[np.bool_]

COVERED = 1e-2  # the 2015 paper's threshold for outliers: mean similarity to the training samples


def membership_strength(
    memberships: Array, weight: Array | None = None, covered: Mask | None = None
) -> float:
    """Compute the average membership strength of memberships (n, k).

    The largest memberships are averaged over the samples of each cluster, then over the clusters.
    Samples that are not covered, (n,), have membership zero. See `average_membership_strength`.

    Examples
    --------
    >>> import numpy as np
    >>> U = np.array([[0.9, 0.1], [0.7, 0.3], [0.0, 1.0]])
    >>> round(membership_strength(U), 3)
    0.9
    >>> membership_strength(U, covered=np.array([True, True, False]))
    0.4
    """
    weight = np.ones(len(memberships)) if weight is None else np.asarray(weight, np.float64)
    labels = np.argmax(memberships, axis=1)
    own = memberships.max(axis=1).astype(np.float64)
    if covered is not None:
        own = np.where(covered, own, 0.0)
    n_clusters = memberships.shape[1]
    mass = np.bincount(labels, weights=weight, minlength=n_clusters)
    total = np.bincount(labels, weights=weight * own, minlength=n_clusters)
    # an empty cluster has zero strength and lowers the average
    return float(np.divide(total, mass, out=np.zeros(n_clusters), where=mass > 0).mean())


def line_fit(
    projections: Array,
    labels: Array,
    n_clusters: int,
    similarity: Array | None = None,
    weight: Array | None = None,
    balance: float = 0.5,
) -> float:
    """Compute the balanced line fit of projections (n, k − 1) with labels (n,).

    The line fit of a cluster is one if its projections lie on a line, and zero if they spread
    evenly in all directions (eigenvalues of their covariance). The balance is the smallest cluster
    size over the largest one. For two clusters, whose projections have one column, the similarity
    (n,) to the training samples is the second one. See `balanced_line_fit`.
    """
    if not 0 <= balance <= 1:
        raise ValueError(f"balance must be a number between 0 and 1, got {balance!r}.")
    if n_clusters < 2:
        raise ValueError("one cluster has no projections and no line fit. Use n_clusters=2.")
    Z = np.asarray(projections, dtype=np.float64)
    weight = np.ones(len(Z)) if weight is None else np.asarray(weight, np.float64)
    if Z.shape[1] == 1:
        if similarity is None:
            raise ValueError("two clusters have only one projection. Pass `similarity` as well.")
        Z = np.column_stack([Z, similarity])
    width = Z.shape[1]
    fits, sizes = np.zeros(n_clusters), np.zeros(n_clusters)
    for p in range(n_clusters):
        rows = labels == p
        sizes[p] = weight[rows].sum()
        if sizes[p] > 0:
            centered = Z[rows] - np.average(Z[rows], axis=0, weights=weight[rows])
            spread = np.linalg.eigvalsh(centered.T @ (weight[rows, None] * centered))
            share = spread[-1] / spread.sum() if spread.sum() > 0 else 1.0  # a point is a line
            fits[p] = width / (width - 1) * (share - 1 / width)
    return float((1 - balance) * fits.mean() + balance * sizes.min() / sizes.max())


def local_maxima(surface: Array) -> Mask:
    """Mark the entries of a surface (k, s) that are not below any of their eight neighbors."""
    filled = np.where(np.isfinite(surface), surface, -np.inf)
    padded = np.pad(filled, 1, constant_values=-np.inf)
    rows, columns = surface.shape
    neighbors = [
        padded[1 + i : 1 + i + rows, 1 + j : 1 + j + columns]
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
        if (i, j) != (0, 0)
    ]
    return np.asarray((filled >= np.max(neighbors, axis=0)) & np.isfinite(surface))
