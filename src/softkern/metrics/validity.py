"""Validity indices of fuzzy partitions, from memberships U (n, c).

Partition coefficient and entropy use the memberships only. Xie and Beni's index and the fuzzy
silhouette also use distances in feature space, from one product K @ A each. A sample weight of two
counts as two samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from softkern._utils.typing import Array
from softkern.operators.base import KernelOperator
from softkern.rows import check_weights
from softkern.rules.memberships import runner_up

__all__ = ["fuzzy_silhouette", "partition_coefficient", "partition_entropy", "xie_beni"]


def partition_coefficient(memberships: Any, sample_weight: Any = None) -> float:
    """Compute the partition coefficient, the mean of Σ u².

    It is one for crisp memberships and 1/c for equal ones. It tends to fall with the number of
    clusters c.

    Parameters
    ----------
    memberships : array of shape (n_samples, n_clusters)
        Rows sum to one.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    coefficient : float
        Higher is better.

    References
    ----------
    J. C. Bezdek, "Cluster validity with fuzzy sets", J. Cybernetics 3(3), 1973.
    :doi:`10.1080/01969727308546047`

    Examples
    --------
    >>> import numpy as np
    >>> partition_coefficient(np.array([[1.0, 0.0], [0.5, 0.5]]))
    0.75
    """
    memberships, weight = _check(memberships, sample_weight)
    return float(weight @ np.square(memberships).sum(axis=1) / weight.sum())


def partition_entropy(memberships: Any, sample_weight: Any = None) -> float:
    """Compute the partition entropy, the mean of −Σ u log u.

    It is zero for crisp memberships and log c for equal ones.

    Parameters
    ----------
    memberships : array of shape (n_samples, n_clusters)
        Rows sum to one.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    entropy : float
        Lower is better.

    References
    ----------
    J. C. Bezdek, "Cluster validity with fuzzy sets", J. Cybernetics 3(3), 1973.
    :doi:`10.1080/01969727308546047`

    Examples
    --------
    >>> import numpy as np
    >>> round(partition_entropy(np.array([[1.0, 0.0], [0.5, 0.5]])), 4)
    0.3466
    """
    memberships, weight = _check(memberships, sample_weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(memberships > 0, memberships * np.log(memberships), 0)
    return float(-(weight @ terms.sum(axis=1)) / weight.sum())


def xie_beni(
    operator: KernelOperator, memberships: Any, m: float = 2.0, sample_weight: Any = None
) -> float:
    """Compute Xie and Beni's index.

    It is the mean of Σ u^m D², divided by the squared distance of the two nearest centers. The
    centers are the means in feature space, weighted by u^m.

    Parameters
    ----------
    operator : KernelOperator
        Products with the kernel matrix of the samples.
    memberships : array of shape (n_samples, n_clusters)
        Rows sum to one.
    m : float, default=2.0
        Fuzzy exponent.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    index : float
        Lower is better. NaN for one cluster, infinite if two centers coincide.

    References
    ----------
    X. L. Xie, G. Beni, "A validity measure for fuzzy clustering", IEEE Trans. PAMI 13(8), 1991.
    :doi:`10.1109/34.85677`

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.kernels import Linear
    >>> from softkern.operators.features import FeatureOperator
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> U = np.array([[1.0, 0.0], [1, 0], [0, 1], [0, 1]])
    >>> xie_beni(FeatureOperator(Linear(), X), U)
    0.0025
    """
    memberships, weight = _check(memberships, sample_weight, operator)
    if memberships.shape[1] < 2:
        return float("nan")
    mass = weight[:, None] * memberships**m
    total = mass.sum(axis=0)
    if not (total > 0).all():  # an empty cluster has no center
        return float("inf")
    coefficients = mass / total
    geometry = operator.geometry(coefficients)
    spread = float((mass * geometry.distances).sum()) / float(weight.sum())
    gaps = geometry.gaps(coefficients)
    nearest = float(gaps[np.triu_indices_from(gaps, 1)].min())
    return spread / nearest if nearest > 0 else float("inf")


def fuzzy_silhouette(
    operator: KernelOperator, memberships: Any, sample_weight: Any = None, alpha: float = 1.0
) -> float:
    """Compute the fuzzy silhouette: the mean silhouette, weighted by certainty.

    The silhouette of a sample is (b − a) / max(a, b), where a is its mean squared distance in
    feature space to the other samples of its cluster (the one of its largest membership), and b to
    those of the nearest other cluster. Its weight is (u₁ − u₂)^α, from its two largest memberships.
    The paper uses plain distances. Squared ones can be summed by a product K @ A.

    Parameters
    ----------
    operator : KernelOperator
        Products with the kernel matrix of the samples.
    memberships : array of shape (n_samples, n_clusters)
        Rows sum to one.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the samples.
    alpha : float, default=1.0
        Exponent of the certainty.

    Returns
    -------
    silhouette : float
        At most one. Higher is better. NaN if fewer than two clusters have samples, or if no sample
        prefers a cluster.

    References
    ----------
    R. J. G. B. Campello, E. R. Hruschka, "A fuzzy extension of the silhouette width criterion for
    cluster analysis", Fuzzy Sets and Systems 157(21), 2006. :doi:`10.1016/j.fss.2006.07.006`

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.kernels import Linear
    >>> from softkern.operators.features import FeatureOperator
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> U = np.array([[1.0, 0.0], [1, 0], [0, 1], [0, 1]])
    >>> round(fuzzy_silhouette(FeatureOperator(Linear(), X), U), 3)
    0.99
    """
    memberships, weight = _check(memberships, sample_weight, operator)
    if memberships.shape[1] < 2:
        return float("nan")
    labels = memberships.argmax(axis=1)
    members = weight[:, None] * (labels[:, None] == np.arange(memberships.shape[1]))
    members = members[:, members.any(axis=0)]
    first, second = runner_up(memberships)
    certainty = weight * (first - second) ** alpha
    if members.shape[1] < 2 or not certainty.any():
        return float("nan")
    size = members.sum(axis=0)
    # mean of ‖x − y‖² over the samples y of a cluster: distance to their mean plus their variance
    distances = operator.geometry(members / size).distances.astype(np.float64)
    means = np.maximum(distances + np.einsum("ij,ij->j", members / size, distances), 0)
    is_own = members > 0
    own = np.where(is_own, means * size, 0).sum(axis=1)
    # without the sample itself (or one of its duplicates)
    others = np.where(is_own, size - np.minimum(weight, 1)[:, None], 0).sum(axis=1)
    a = np.where(others > 0, own / np.where(others > 0, others, 1), 0)
    b = np.where(is_own, np.inf, means).min(axis=1)
    top = np.maximum(a, b)
    # by convention, the silhouette in a cluster of one sample is zero
    silhouettes = np.where((others > 0) & (top > 0), (b - a) / np.where(top > 0, top, 1), 0)
    return float(certainty @ silhouettes / certainty.sum())


def _check(
    memberships: Any, sample_weight: Any, operator: KernelOperator | None = None
) -> tuple[Array, Array]:
    """Return memberships (n, c) and weights (n,) in float64."""
    memberships = np.asarray(memberships, dtype=np.float64)
    if memberships.ndim != 2 or memberships.shape[0] == 0:
        raise ValueError(f"memberships must have shape (n, c), got {memberships.shape}.")
    n = memberships.shape[0]
    if operator is not None and operator.shape[0] != n:
        raise ValueError(f"memberships have {n} rows, but the operator has {operator.shape[0]}.")
    return memberships, check_weights(sample_weight, n)
