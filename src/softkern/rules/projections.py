"""Clusters from projections in an eigenspace: codes, assignments, prototypes, cosine distances.

Projections of well separated clusters are lines from the origin, one direction per cluster
(Alzate and Suykens 2010). Codes represent these directions: the centers of k-means on e/‖e‖, or
the most frequent sign patterns. Prototypes are the mean projections of clusters. The fuzzy rule
with m = 2 turns the distances to them into the soft memberships of Langone, Mall and Suykens 2013
(eq. 3). Pure functions of arrays, called by the spectral models.
"""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from softkern._utils.threads import one_thread
from softkern._utils.typing import Array
from softkern.exceptions import DataError

ASSIGNMENTS = ("directions", "codebook")
SEED = 0  # of k-means; rows are in canonical order
KMEANS_STARTS = 20
SUBSAMPLE_ROWS = 4096  # up to here one thread is faster


def directions(projections: Array) -> Array:
    """Return e / ‖e‖, (m, q), and zero for zero."""
    norms = np.hypot.reduce(projections, axis=1, keepdims=True)  # without overflow
    unit = np.divide(projections, norms, out=np.zeros_like(projections), where=norms > 0)
    return np.asarray(unit)


def codes_of(
    projections: Array,
    weight: Array,
    n_clusters: int,
    assignment: str,
    n_starts: int = KMEANS_STARTS,
) -> Array:
    """Return codes of the clusters, (k, q), for either assignment.

    The seed of k-means is fixed, so that the result is a function of the rows in their order.
    """
    if assignment == "codebook":
        return codebook(projections, weight, n_clusters)
    if n_clusters == 1:
        return np.empty((1, 0))
    from sklearn.cluster import KMeans  # slow import

    unit = directions(np.asarray(projections, dtype=np.float64))
    count = len(np.unique(unit.round(9), axis=0))
    if count < n_clusters:
        raise DataError(
            f"the projections point in {count} directions, fewer than "
            f"n_clusters={n_clusters}; use fewer clusters or another bandwidth."
        )
    means = KMeans(n_clusters, n_init=n_starts, random_state=SEED)
    with one_thread() if len(unit) <= SUBSAMPLE_ROWS else nullcontext():
        means.fit(unit, sample_weight=weight)
    return np.asarray(means.cluster_centers_)


def labels_by(projections: Array, codes: Array, assignment: str) -> NDArray[np.intp]:
    """Return the sign pattern with the fewest different signs, or the nearest direction, (m,)."""
    if assignment == "codebook":
        return np.argmax(_signs(projections) @ codes.T, axis=1)
    return np.argmin(cdist(directions(projections), codes, "sqeuclidean"), axis=1)


def codebook(projections: Array, weight: Array, n_clusters: int) -> Array:
    """Return the k most frequent sign patterns of the projections, (k, q), entries −1 and 1.

    Equally frequent patterns are ordered by their signs, negative first.
    """
    words, mass = _words(projections, weight)
    if len(words) < n_clusters:
        raise DataError(
            f"the projections have {len(words)} sign patterns, fewer than n_clusters={n_clusters}; "
            "use assignment='directions', fewer clusters or another bandwidth."
        )
    return np.asarray(words[np.argsort(-mass, kind="stable")[:n_clusters]])


def tied_words(projections: Array, weight: Array, n_clusters: int) -> int:
    """Return how many patterns outside of `codebook` are as frequent as its last one."""
    mass = np.sort(_words(projections, weight)[1])[::-1]
    return int((mass[n_clusters:] == mass[n_clusters - 1]).sum()) if n_clusters > 1 else 0


def _words(projections: Array, weight: Array) -> tuple[Array, Array]:
    """Return all sign patterns in the order of their signs, and the mass of each."""
    words, inverse = np.unique(_signs(projections), axis=0, return_inverse=True)
    return words, np.bincount(inverse.ravel(), weights=weight)


def prototypes(projections: Array, labels: Array, weight: Array, n_clusters: int) -> Array:
    """Return the mean projection of every cluster, (k, q), zero for an empty one."""
    members = (labels[:, None] == np.arange(n_clusters)) * weight[:, None]  # (n, k)
    mass = members.sum(axis=0)
    return np.asarray(members.T @ projections / np.where(mass > 0, mass, 1.0)[:, None])


def prototype_distances(projections: Array, centers: Array) -> Array:
    """Return cosine distances 1 − cos(e, s_p) of projections to prototypes, (m, k).

    For two clusters, projections are numbers and all cosines are ±1, so that the distance is
    |e − s_p| instead. A projection of zero is equally far from all prototypes.
    """
    if len(centers) == 1:
        return np.zeros((len(projections), 1))
    if projections.shape[1] == 1:
        return np.asarray(np.abs(projections - centers.T))
    norms = np.hypot.reduce(projections, axis=1)
    is_zero = norms <= 8 * np.finfo(np.float64).eps * np.hypot.reduce(centers, axis=1).max()
    # one minus a cosine would lose all digits near a prototype
    distances = cdist(directions(projections), directions(centers), "sqeuclidean") / 2
    distances[is_zero] = 1.0
    distances[:, ~centers.any(axis=1)] = 1.0  # clusters without connected points
    return np.asarray(distances)


def _signs(projections: Array) -> Array:
    return np.where(projections > 0, 1.0, -1.0)
