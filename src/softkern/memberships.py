"""Membership rules: squared distances to centres, D² (n, c), become memberships U (n, c).

Pure array functions of ufuncs and reductions, so that the same code runs on any array type.
Logarithms are given where memberships themselves underflow. Called by the models' rules.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["fuzzy", "log_possibilistic", "possibilistic"]

Array = NDArray[Any]


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
    nearest = distances.min(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        # relative to the nearest centre, so that no power overflows
        share = np.where(
            nearest > 0,
            (nearest / distances) ** (1.0 / (m - 1.0)),
            (distances == 0).astype(distances.dtype),
        )
    return np.asarray(share / share.sum(axis=1, keepdims=True))
