"""Agreement of clusters with known classes, counted as in the papers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix


def majority_accuracy(classes: Any, labels: Any) -> float:
    """Return the share of samples that belong to the most frequent class of their cluster (2009).

    Several clusters may have the same class, so the value is at least the share of the largest
    class, and it is one if every sample is its own cluster.
    """
    counts = _counts(classes, labels)
    return float(counts.max(axis=0).sum() / counts.sum())


def matching_accuracy(classes: Any, labels: Any) -> float:
    """Return the share of correct samples under the best one-to-one matching."""
    counts = _counts(classes, labels)
    return float(counts[linear_sum_assignment(-counts)].sum() / counts.sum())


def errors(classes: Any, labels: Any) -> int:
    """Return the number of wrong samples under the best one-to-one matching."""
    return round((1 - matching_accuracy(classes, labels)) * len(np.asarray(labels)))


def _counts(classes: Any, labels: Any) -> Any:
    """Return the contingency table, (n_classes, n_clusters)."""
    classes, labels = np.asarray(classes), np.asarray(labels)
    if classes.shape != labels.shape or classes.ndim != 1 or not classes.size:
        raise ValueError(
            f"classes have shape {classes.shape} and labels {labels.shape}. Both must be (n,)."
        )
    return np.asarray(contingency_matrix(classes, labels), dtype=np.float64)
