"""How far clusters agree with known classes, as the papers count it.

Pure functions of labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from softkern._utils.typing import Array

__all__ = ["errors", "majority_accuracy", "matching_accuracy"]


def majority_accuracy(classes: Any, labels: Any) -> float:
    """Share of the points that are of the most frequent class of their cluster.

    Two clusters may have the same class, so that this is never below the share of the largest
    class, and one where every point is a cluster. The 2009 paper counts so.

    Parameters
    ----------
    classes, labels : arrays of shape (n,)

    Examples
    --------
    >>> majority_accuracy(["a", "a", "a", "b"], [0, 0, 1, 1])
    0.75
    """
    counts = _counts(classes, labels)
    return float(counts.max(axis=0).sum() / counts.sum())


def matching_accuracy(classes: Any, labels: Any) -> float:
    """Share of the points in the cluster of their class, each class with a cluster of its own.

    Of all ways to match clusters with classes one to one, the best.

    Parameters
    ----------
    classes, labels : arrays of shape (n,)

    Examples
    --------
    >>> matching_accuracy(["a", "a", "a", "b"], [0, 0, 1, 1])
    0.75
    >>> matching_accuracy(["a", "a", "a", "a"], [0, 0, 1, 1])
    0.5
    """
    counts = _counts(classes, labels)
    return float(counts[linear_sum_assignment(-counts)].sum() / counts.sum())


def errors(classes: Any, labels: Any) -> int:
    """How many points are not in the cluster of their class, clusters matched one to one.

    Examples
    --------
    >>> errors(["a", "a", "a", "b"], [0, 0, 1, 1])
    1
    """
    return round((1 - matching_accuracy(classes, labels)) * len(np.asarray(labels)))


def _counts(classes: Any, labels: Any) -> Array:
    """Points of every class in every cluster, (n_classes, n_clusters)."""
    classes, labels = np.asarray(classes), np.asarray(labels)
    if classes.shape != labels.shape or classes.ndim != 1 or not classes.size:
        raise ValueError(
            f"classes have shape {classes.shape} and labels {labels.shape}; both must be (n,)."
        )
    i, j = (np.unique(part, return_inverse=True)[1] for part in (classes, labels))
    counts = np.zeros((i.max() + 1, j.max() + 1))
    np.add.at(counts, (i, j), 1)
    return counts
