"""Membership rules: squared distances to centres, D² (n, c), become memberships U (n, c).

Pure array functions of ufuncs and reductions, so that the same code runs on any array type.
Logarithms are given where memberships themselves underflow. Called by the models' rules.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "fuzzy",
    "hard",
    "log_fuzzy",
    "log_joint",
    "log_mixture",
    "log_possibilistic",
    "log_total",
    "outlier_weights",
    "possibilistic",
]

Array = NDArray[Any]

LARGEST_PART = 1e6  # of a point in a centre, 1 / w^q, where that of the mean weight is one


def possibilistic(distances: Array, eta: Any) -> Array:
    """u = exp(−D²/η), eq. 16 of Filippone et al. 2010: typicality, each cluster for itself."""
    return np.asarray(np.exp(log_possibilistic(distances, eta)))


def log_possibilistic(distances: Array, eta: Any) -> Array:
    """Logarithm of `possibilistic`, −D²/η, which does not underflow."""
    return np.asarray(-distances / eta)


def fuzzy(distances: Array, m: float) -> Array:
    """u ∝ D²^(−1/(m−1)), rows sum to one: memberships that compete.

    A point that lies on centres shares itself among them alone.

    Examples
    --------
    >>> import numpy as np
    >>> fuzzy(np.array([[1.0, 3.0], [0.0, 2.0]]), m=2.0)
    array([[0.75, 0.25],
           [1.  , 0.  ]])
    """
    share = _shares(distances, m)
    share /= np.einsum("ij->i", share)[:, None]  # far quicker than sums along short rows
    return share


def log_fuzzy(distances: Array, m: float) -> Array:
    """Logarithm of `fuzzy`, which does not underflow where m is near one.

    Examples
    --------
    >>> import numpy as np
    >>> log_fuzzy(np.array([[1.0, 10.0]]), m=1.001).round(1)
    array([[    0. , -2302.6]])
    """
    nearest = distances.min(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(distances)
        np.subtract(np.log(nearest), logs, out=logs)
        logs /= m - 1.0
        if not (nearest > 0).all():  # some points lie on centres
            logs = np.where(nearest > 0, logs, np.where(distances <= 0, 0, -np.inf))
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    return np.asarray(logs, dtype=distances.dtype)


def outlier_weights(
    spread: Array, q: float, total: float, sample_weight: Array
) -> tuple[Array, float, float]:
    """w = S^(1/(q+1)) × unit, of weighted sum `total`: eq. 19 of Shen, Wang and Wu 2004.

    S (n,) is Σ u^m D² of every point. A point on a centre would get no weight and hold the centre
    for good, by the rounding of its distance; so w is bounded below, such that 1 / w^q is at most a
    million times that of the mean weight. Among such weights it is the best.

    Returns
    -------
    w : array of shape (n,)
    unit, least : float
        Of these points, so that w of any other is max(least, unit × S^(1/(q+1))).

    Examples
    --------
    >>> import numpy as np
    >>> outlier_weights(np.array([1.0, 9.0]), q=1.0, total=2.0, sample_weight=np.ones(2))[0]
    array([0.5, 1.5])
    """
    mean = total / float(sample_weight.sum())
    root = np.maximum(spread, 0) ** (1.0 / (q + 1.0))
    weighted = float(sample_weight @ root)
    if weighted <= 0:  # every point lies on a centre
        return np.full_like(root, mean), 0.0, mean
    least = mean * LARGEST_PART ** (-1.0 / q)
    unit, held = total / weighted, 0
    is_least = unit * root < least
    while held < (held := int(np.count_nonzero(is_least))):
        # what is raised to the least is taken from the others, of which some may fall below it
        free = total - least * float(sample_weight @ is_least)
        unit = free / float(sample_weight @ np.where(is_least, 0, root))
        is_least |= unit * root < least
    return np.maximum(least, unit * root).astype(root.dtype), unit, least


def log_joint(closeness: Array, cluster_weights: Array, scale: Any) -> Array:
    """log γ_k + s_k/σ, (n, c): cluster weight times similarity, eqs. 12 and 13 of Bicego 2009.

    Closeness s is −D² (SVDD) or the signed distance to the margin (OC-SVM).
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(cluster_weights) + closeness / scale)


def log_total(joint: Array) -> Array:
    """log Σ_k exp(joint), (n,), without overflow: a point's part of f_LL, eq. 16."""
    top = joint.max(axis=1)
    return np.asarray(top + np.log(np.exp(joint - top[:, None]).sum(axis=1)))


def log_mixture(joint: Array) -> Array:
    """Logarithms of memberships whose rows sum to one, (n, c), eq. 14 of Bicego 2009.

    Examples
    --------
    >>> import numpy as np
    >>> joint = log_joint(np.array([[-1e4, -2e4]]), np.array([0.5, 0.5]), 1.0)
    >>> log_mixture(joint)
    array([[     0., -10000.]])
    """
    return np.asarray(joint - log_total(joint)[:, None])


def hard(closeness: Array) -> Array:
    """One for the nearest centre, zero for the others, (n, c); the first where several are.

    Examples
    --------
    >>> import numpy as np
    >>> hard(np.array([[-1.0, -3.0], [-2.0, -0.5]]))
    array([[1., 0.],
           [0., 1.]])
    """
    nearest = closeness.argmax(axis=1)
    return np.asarray((np.arange(closeness.shape[1]) == nearest[:, None]).astype(closeness.dtype))


def _shares(distances: Array, m: float) -> Array:
    """(D²_nearest / D²)^(1/(m−1)), (n, c): relative to the nearest, so that no power overflows."""
    # over columns that lie together: along short rows it takes ten times as long
    nearest = np.minimum.reduce(np.ascontiguousarray(distances.T))[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = nearest / distances
        if m != 2:
            share = share ** (1.0 / (m - 1.0))
    if (nearest > 0).all():
        return np.asarray(share)
    return np.where(nearest > 0, share, (distances <= 0).astype(distances.dtype))
