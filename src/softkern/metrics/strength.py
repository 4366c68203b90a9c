"""Criteria of spectral models: membership strength and line fit, as functions of arrays.

`softkern.selection` and the search of the spectral models use them to compare numbers of clusters
and bandwidths.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter

from softkern._utils.typing import Array

Mask = NDArray[np.bool_]

COVERED = 1e-2  # the 2015 paper's threshold for outliers: mean similarity to the training samples


def membership_strength(
    memberships: Array, weight: Array | None = None, covered: Mask | None = None
) -> float:
    """Compute the average membership strength of memberships (n, k).

    The largest memberships are averaged over the samples of each cluster, then over the clusters.
    Samples that are not covered, (n,), have membership zero. An empty cluster has strength zero.
    """
    weight = np.ones(len(memberships)) if weight is None else np.asarray(weight, np.float64)
    labels, n_clusters = np.argmax(memberships, axis=1), memberships.shape[1]
    own = memberships.max(axis=1).astype(np.float64)
    if covered is not None:
        own = np.where(covered, own, 0.0)
    mass = np.bincount(labels, weights=weight, minlength=n_clusters)
    total = np.bincount(labels, weights=weight * own, minlength=n_clusters)
    return float(np.divide(total, mass, out=np.zeros(n_clusters), where=mass > 0).mean())


def line_fit(
    projections: Array,
    labels: Array,
    n_clusters: int,
    similarity: Array,
    weight: Array,
    balance: float = 0.5,
) -> float:
    """Compute the balanced line fit of projections (n, k − 1) with labels (n,).

    The line fit of a cluster is one if its projections lie on a line, and zero if they spread
    evenly in all directions (eigenvalues of their covariance). The balance is the smallest cluster
    size over the largest one. For two clusters, whose projections have one column, the similarity
    (n,) to the training samples is the second one. C. Alzate, J. A. K. Suykens, "Multiway spectral
    clustering with out-of-sample extensions through weighted kernel PCA", 2010,
    :doi:`10.1109/TPAMI.2008.292`.
    """
    Z = np.asarray(projections, dtype=np.float64)
    Z = np.column_stack([Z, similarity]) if Z.shape[1] == 1 else Z
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
    """Mark the finite entries of a surface (k, s) that are not below any of their neighbors."""
    values = np.where(np.isfinite(surface), surface, -np.inf)
    highest = maximum_filter(values, size=3, mode="constant", cval=-np.inf)
    return np.asarray((values >= highest) & np.isfinite(surface))
