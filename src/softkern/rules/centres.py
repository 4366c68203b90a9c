"""Centre rules: memberships become coefficients A (n, c) of centres over the support points.

Pure array functions. A weighted mean in feature space has coefficients that are positive and sum
to one; they are taken from logarithms, so that memberships that underflow still have a centre.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["weighted_mean"]

Array = NDArray[Any]


def weighted_mean(log_memberships: Array, sample_weight: Array) -> Array:
    """A = w u / Σ w u in every column, (n, c), from log u (n, c) and w (n,).

    The constrained form of Filippone et al. 2010, appendix B: the same centre, no underflow.

    Examples
    --------
    >>> import numpy as np
    >>> weighted_mean(np.array([[-5000.0], [-5000.0]]), np.array([1.0, 3.0]))
    array([[0.25],
           [0.75]])
    """
    top = log_memberships.max(axis=0, keepdims=True)
    weights = np.exp(log_memberships - top) * sample_weight[:, None]
    return np.asarray(weights / weights.sum(axis=0, keepdims=True))
