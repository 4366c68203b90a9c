"""How well a fuzzy partition fits: indices of memberships U (n, c) in feature space.

Partition coefficient and entropy look at memberships alone; Xie and Beni's index and the fuzzy
silhouette at distances in feature space too, which they take from one product K @ A each. All
count a weight of two as two rows. Called by `softkern.selection`.
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
    """Mean of Σ u²: one where shares are all or nothing, 1/c where they are equal.

    It tends to fall with the number of clusters, so that it is a help and no judge.

    Parameters
    ----------
    memberships : array of shape (n, c)
        Rows sum to one.
    sample_weight : array of shape (n,), default=None

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
    memberships, weight = _checked(memberships, sample_weight)
    return float(weight @ np.square(memberships).sum(axis=1) / weight.sum())


def partition_entropy(memberships: Any, sample_weight: Any = None) -> float:
    """Mean of −Σ u log u: zero where shares are all or nothing, log c where they are equal.

    Parameters
    ----------
    memberships : array of shape (n, c)
        Rows sum to one.
    sample_weight : array of shape (n,), default=None

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
    memberships, weight = _checked(memberships, sample_weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(memberships > 0, memberships * np.log(memberships), 0)
    return float(-(weight @ terms.sum(axis=1)) / weight.sum())


def xie_beni(
    operator: KernelOperator, memberships: Any, m: float = 2.0, sample_weight: Any = None
) -> float:
    """Mean of Σ u^m D² over the squared distance of the nearest two centers; less is better.

    Centers are the means by u^m in feature space. NaN for one cluster, infinite where two centers
    coincide.

    Parameters
    ----------
    operator : KernelOperator
    memberships : array of shape (n, c)
    m : float, default=2.0
    sample_weight : array of shape (n,), default=None

    References
    ----------
    X. L. Xie, G. Beni, "A validity measure for fuzzy clustering", IEEE Trans. PAMI 13(8), 1991.
    :doi:`10.1109/34.85677`

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.kernels import Linear
    >>> from softkern.operators import FeatureOperator
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> U = np.array([[1.0, 0.0], [1, 0], [0, 1], [0, 1]])
    >>> xie_beni(FeatureOperator(Linear(), X), U)
    0.0025
    """
    memberships, weight = _checked(memberships, sample_weight, operator)
    if memberships.shape[1] < 2:
        return float("nan")
    mass = weight[:, None] * memberships**m
    total = mass.sum(axis=0)
    if not (total > 0).all():  # a cluster without points lies nowhere
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
    """Mean silhouette, each point counted by how surely it has its cluster; at most one, the best.

    A point's silhouette is (b − a) / max(a, b), where a is its mean squared distance in feature
    space to the other points of its cluster (that of its largest membership) and b to those of the
    nearest other cluster. It counts (u₁ − u₂)^α, the difference of its two largest memberships.
    Squared distances, in place of the paper's plain ones, are what a product K @ A can sum.
    NaN where fewer than two clusters have points, or where no point prefers one.

    Parameters
    ----------
    operator : KernelOperator
    memberships : array of shape (n, c)
    sample_weight : array of shape (n,), default=None
    alpha : float, default=1.0

    References
    ----------
    R. J. G. B. Campello, E. R. Hruschka, "A fuzzy extension of the silhouette width criterion for
    cluster analysis", Fuzzy Sets and Systems 157(21), 2006. :doi:`10.1016/j.fss.2006.07.006`

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.kernels import Linear
    >>> from softkern.operators import FeatureOperator
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> U = np.array([[1.0, 0.0], [1, 0], [0, 1], [0, 1]])
    >>> round(fuzzy_silhouette(FeatureOperator(Linear(), X), U), 3)
    0.99
    """
    memberships, weight = _checked(memberships, sample_weight, operator)
    if memberships.shape[1] < 2:
        return float("nan")
    labels = memberships.argmax(axis=1)
    first, second = runner_up(memberships)
    sureness = weight * (first - second) ** alpha
    silhouettes = _silhouettes(operator, labels, memberships.shape[1], weight)
    if silhouettes is None or not sureness.any():
        return float("nan")
    return float(sureness @ silhouettes / sureness.sum())


def _silhouettes(
    operator: KernelOperator, labels: Array, n_clusters: int, weight: Array
) -> Array | None:
    """Of every point, (n,); None where fewer than two clusters have points."""
    members = weight[:, None] * (labels[:, None] == np.arange(n_clusters))
    members = members[:, members.any(axis=0)]
    if members.shape[1] < 2:
        return None
    size = members.sum(axis=0)
    # mean of ‖x − y‖² over the points y of a cluster: x to their mean, and their own spread
    distances = operator.geometry(members / size).distances.astype(np.float64)
    means = np.maximum(distances + np.einsum("ij,ij->j", members / size, distances), 0)
    is_own = members > 0
    own = np.where(is_own, means * size, 0).sum(axis=1)
    # one copy of the point itself is left out
    others = np.where(is_own, size - np.minimum(weight, 1)[:, None], 0).sum(axis=1)
    a = np.where(others > 0, own / np.where(others > 0, others, 1), 0)
    b = np.where(is_own, np.inf, means).min(axis=1)
    top = np.maximum(a, b)
    # a cluster of one point has no inner distance; its silhouette is zero by convention
    return np.where((others > 0) & (top > 0), (b - a) / np.where(top > 0, top, 1), 0)


def _checked(
    memberships: Any, sample_weight: Any, operator: KernelOperator | None = None
) -> tuple[Array, Array]:
    """U (n, c) and weights (n,) in float64."""
    memberships = np.asarray(memberships, dtype=np.float64)
    if memberships.ndim != 2 or memberships.shape[0] == 0:
        raise ValueError(f"memberships have shape {memberships.shape}; they must be (n, c).")
    n = memberships.shape[0]
    if operator is not None and operator.shape[0] != n:
        raise ValueError(f"memberships have {n} rows, but the operator {operator.shape[0]} points.")
    return memberships, check_weights(sample_weight, n)
