"""What follows from projections and memberships: how good a clustering is, and which points matter.

`membership_strength` and `line_fit` choose the number of clusters and the bandwidth; `detect`
finds outlier and overlap points (section 3.1 of the 2015 paper); `overlap_score` and
`outlier_score` rank them (eqs. 4 and 5), beside the comparators D-Rank and IR-Rank. All pure
functions of arrays; called by the spectral models and by `softkern.selection`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import kendalltau, rankdata

__all__ = [
    "COVERED",
    "detect",
    "distance_rank",
    "line_fit",
    "local_maxima",
    "membership_strength",
    "outlier_score",
    "overlap_score",
    "rank_correlation",
    "similarity_rank",
]

Array = NDArray[Any]
Mask = NDArray[np.bool_]

COVERED = 1e-2  # mean similarity to the training points below which a point is an outlier
BLOCK = 2**22  # distances held at once


def membership_strength(
    memberships: Array,
    weight: Array | None = None,
    covered: Mask | None = None,
) -> float:
    """Average membership strength: members' own memberships, averaged per cluster, then over them.

    Parameters
    ----------
    memberships : array of shape (n, k)
        A point is a member of the cluster of its largest membership.
    weight : array of shape (n,), default=None
    covered : bool array of shape (n,), default=None
        Points that are similar to the training points at all; the membership of the others counts
        as zero. Without it the strength goes to one as the bandwidth goes to zero.

    References
    ----------
    R. Langone, R. Mall, J. A. K. Suykens, "Soft kernel spectral clustering", IJCNN 2013.
    :doi:`10.1109/IJCNN.2013.6706850`

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
    # a cluster without members has no strength: it must not go unnoticed in the average
    return float(np.divide(total, mass, out=np.zeros(n_clusters), where=mass > 0).mean())


def line_fit(
    projections: Array,
    labels: Array,
    n_clusters: int,
    similarity: Array | None = None,
    weight: Array | None = None,
    balance: float = 0.5,
) -> float:
    """Balanced line fit: how far clusters are lines in the eigenspace, and of equal size.

    The linefit of a cluster is one where its projections lie on a line, zero where they spread
    evenly in all directions (eigenvalues of their covariance); the balance is the size of the
    smallest over that of the largest. With two clusters, whose projections have one column, the
    similarity of a point to the training points is the second one.

    Parameters
    ----------
    projections : array of shape (n, k − 1)
    labels : array of shape (n,)
    n_clusters : int
    similarity : array of shape (n,), default=None
        Mean similarity to the training points; needed for two clusters.
    weight : array of shape (n,), default=None
    balance : float, default=0.5
        Share of the balance in the result.

    References
    ----------
    C. Alzate, J. A. K. Suykens, "Multiway spectral clustering with out-of-sample extensions
    through weighted kernel PCA", IEEE Trans. PAMI 32(2), 2010. :doi:`10.1109/TPAMI.2008.292`
    """
    if not 0 <= balance <= 1:
        raise ValueError(f"balance must be a share between 0 and 1, got {balance!r}.")
    if n_clusters < 2:
        raise ValueError("one cluster has no projections and so no line fit; use n_clusters=2.")
    Z = np.asarray(projections, dtype=np.float64)
    weight = np.ones(len(Z)) if weight is None else np.asarray(weight, np.float64)
    if Z.shape[1] == 1:
        if similarity is None:
            raise ValueError("two clusters have projections on a line; give similarity as well.")
        Z = np.column_stack([Z, similarity])
    width = Z.shape[1]
    fits, sizes = np.zeros(n_clusters), np.zeros(n_clusters)
    for p in range(n_clusters):
        rows = labels == p
        sizes[p] = weight[rows].sum()
        if sizes[p] > 0:
            centred = Z[rows] - np.average(Z[rows], axis=0, weights=weight[rows])
            spread = np.linalg.eigvalsh(centred.T @ (weight[rows, None] * centred))
            share = spread[-1] / spread.sum() if spread.sum() > 0 else 1.0  # a point is a line
            fits[p] = width / (width - 1) * (share - 1 / width)
    return float((1 - balance) * fits.mean() + balance * sizes.min() / sizes.max())


def local_maxima(surface: Array) -> Mask:
    """Entries of a surface, (k, s), not below any of their eight neighbours; nan is none."""
    filled = np.where(np.isfinite(surface), surface, -np.inf)
    padded = np.pad(filled, 1, constant_values=-np.inf)
    rows, columns = surface.shape
    neighbours = [
        padded[1 + i : 1 + i + rows, 1 + j : 1 + j + columns]
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
        if (i, j) != (0, 0)
    ]
    return np.asarray((filled >= np.max(neighbours, axis=0)) & np.isfinite(surface))


# Which points matter


def detect(
    memberships: Array, similarity: Array, *, outliers_first: bool = True
) -> tuple[Mask, Mask]:
    """Outlier and overlap points of section 3.1 of the 2015 paper: two masks of shape (n,).

    Parameters
    ----------
    memberships : array of shape (n, k)
    similarity : array of shape (n,)
        Mean similarity to the training points, Σ_l Ω_il / N_tr.
    outliers_first : bool, default=True
        A point whose mean similarity is below 0.01 is an outlier, whatever its memberships, and an
        overlap point is one of the others with no membership above 0.5. False is the paper's text,
        in which an outlier must have a membership above 0.5 as well: a far point, whose projection
        is the bias, is then called an overlap point where the bias lies between clusters.

    References
    ----------
    R. Mall, R. Langone, J. A. K. Suykens, "Ranking overlap and outlier points in data using soft
    kernel spectral clustering", ESANN 2015.
    """
    top = memberships.max(axis=1)
    outlier = similarity < COVERED
    overlap = top < 0.5
    if outliers_first:
        return outlier, overlap & ~outlier
    return outlier & (top > 0.5), overlap


def overlap_score(
    projections: Array,
    memberships: Array,
    prototypes: Array,
    similarity: Array,
    all_projections: Array,
    all_labels: Array,
    weight: Array | None = None,
) -> Array:
    """Eq. 4: Δ_k Δ_ω / S of m points; the lower, the more influential an overlap point, (m,).

    Δ_k = Σ_p ‖e − s_p‖ m_p is the distance to the prototypes; Δ_ω = Σ_p m_p Δ(p) that to all
    points of every cluster p, the n_p distances sorted and weighted by n_p, ..., 1 over
    n_p (n_p + 1)/2; S the summed similarity to all points.

    Parameters
    ----------
    projections : array of shape (m, q)
        Of the points to be scored.
    memberships : array of shape (m, k)
    prototypes : array of shape (k, q)
    similarity : array of shape (m,)
        S, the degree, that of a point of the fit with itself. Where it is zero the score is the
        largest number there is.
    all_projections : array of shape (n, q)
    all_labels : array of shape (n,)
    weight : array of shape (n,), default=None
        How often each of all points counts.
    """
    weight = np.ones(len(all_labels)) if weight is None else np.asarray(weight, np.float64)
    to_prototypes = (cdist(projections, prototypes) * memberships).sum(axis=1)
    to_points = np.zeros(len(projections))
    for p in range(len(prototypes)):
        is_member = (all_labels == p) & (weight > 0)
        members, mass = all_projections[is_member], weight[is_member]
        if not len(members):
            continue
        total = mass.sum()
        rows = max(1, BLOCK // len(members))
        for start in range(0, len(projections), rows):
            part = slice(start, start + rows)
            distances = cdist(projections[part], members)
            order = np.argsort(distances, axis=1)
            counted = mass[order]
            # w equal rows after C others have the weights total − C, ..., total − C − w + 1
            counted *= total + 0.5 - np.cumsum(counted, axis=1) + counted / 2
            ordered = np.take_along_axis(distances, order, axis=1)
            value = (ordered * counted).sum(axis=1) / (total * (total + 1) / 2)
            to_points[part] += memberships[part, p] * value
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        score = to_prototypes * to_points / np.maximum(similarity, np.finfo(np.float64).tiny)
    return np.asarray(np.minimum(score, largest))


def outlier_score(
    projections: Array,
    memberships: Array,
    prototypes: Array,
    bias: Array,
    *,
    corrected: bool = True,
) -> Array:
    """Eq. 5: 1 − Σ_p (‖e − s_p‖ − ‖b − s_p‖) m_p of m points, (m,).

    As printed the sign is wrong: a point of no similarity to any other, e = b, scores 1, and one
    that is nearer to the clusters scores more. Corrected, 1 + Σ_p (...) m_p, it scores less.
    Either way it saturates at 1 far away; the models rank by the logarithm of the degree.
    """
    gaps = cdist(projections, prototypes) - cdist(bias[None], prototypes)
    distance = (gaps * memberships).sum(axis=1)
    return np.asarray(1 + distance if corrected else 1 - distance)


def distance_rank(projections: Array, all_projections: Array) -> NDArray[np.intp]:
    """D-Rank: rank 1 for the least summed distance to all projections, (m,).

    The 2015 paper names this comparator, ranking by distance, without a formula.
    """
    rows = max(1, BLOCK // len(all_projections))
    total = np.concatenate(
        [
            cdist(projections[start : start + rows], all_projections).sum(axis=1)
            for start in range(0, len(projections), rows)
        ]
    )
    return np.asarray(rankdata(total, method="min"), dtype=np.intp)


def similarity_rank(similarity: Array) -> NDArray[np.intp]:
    """IR-Rank: rank 1 for the largest summed similarity, as information retrieval ranks, (m,)."""
    return np.asarray(rankdata(-np.asarray(similarity), method="min"), dtype=np.intp)


def rank_correlation(one: Array, two: Array) -> float:
    """Kendall's τ of two rankings or scores.

    Examples
    --------
    >>> rank_correlation([1, 2, 3], [3, 2, 1])
    -1.0
    """
    return float(kendalltau(one, two).statistic)
