"""The record of per-sample results that every model returns.

Each part is computed once, on first access, from one product with the kernel. Every family of
models has a subclass that computes the parts from its geometry.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.rules.memberships import runner_up

TIE = 16.0  # rounding errors by which two equal logarithms may differ


class PointScores:
    """Labels, memberships, outlier and overlap scores of m samples.

    Parameters
    ----------
    **parts : arrays
        Parts that are known already, by the names of the attributes.

    Attributes
    ----------
    labels : array of shape (m,)
        Cluster of highest membership, also where all memberships underflow, or -1 for noise.
    memberships : array of shape (m, n_clusters), or (m,) for detectors
        Membership in every cluster. None for a ranked model without memberships.
    log_memberships : array of shape (m, n_clusters)
        Logarithms of the memberships, which do not underflow.
    outlier_scores : array of shape (m,)
        Distance from all clusters in the model's own unit. Higher means further out.
    overlap_scores : array of shape (m,)
        One where two clusters tie. By default the second highest membership over the highest.

    Examples
    --------
    >>> PointScores(log_memberships=np.log([[0.2, 0.8], [0.5, 0.5]])).labels
    array([1, 0])
    """

    def __init__(self, **parts: Any) -> None:
        vars(self).update(parts)

    @classmethod
    def fitted(cls, model: Any) -> PointScores:
        """Return the fitted attributes of a clusterer as a record."""
        names = ("labels", "memberships", "outlier_scores", "overlap_scores")
        return PointScores(**{name: getattr(model, f"{name}_") for name in names})

    log_memberships: Any  # (m, n_clusters), where known
    outlier_scores: Any  # (m,), where known

    @cached_property
    def memberships(self) -> Any:
        """Memberships, (m, n_clusters)."""
        return np.exp(self.log_memberships)

    @cached_property
    def labels(self) -> NDArray[np.int_]:
        """Clusters, (m,)."""
        logs = self.log_memberships
        # the first of those that are the largest up to rounding, as those of equal centers
        least = logs.max(axis=1, keepdims=True) - TIE * np.finfo(logs.dtype).eps
        return np.argmax(logs >= least, axis=1)

    @cached_property
    def overlap_scores(self) -> Array:
        """Overlap scores, (m,)."""
        logs = self.log_memberships
        if logs.shape[1] < 2:
            return np.zeros(len(logs), dtype=logs.dtype)
        first, second = runner_up(logs)
        return np.exp(second - first)
