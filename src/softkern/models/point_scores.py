"""The record of per-sample results that every model returns.

Each part is computed once, on first access, from one product with the kernel. Every family of
models has a subclass that computes the parts from its geometry.

A training sample is its own nearest neighbor, so that its density overstates how typical it is.
Outlier scores of training samples therefore use log K @ A without the sample's own part. Which
duplicates count as the same sample follows from `softkern.rows.Rows.duplicates`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.operators.base import Geometry, KernelOperator
from softkern.rules.memberships import runner_up

LEAST_LEFT = 1e-3  # share of a sum that is left without its largest part, in an approximation
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


class KernelScores(PointScores):
    """Results of samples from their geometry relative to the stored centers.

    `rows` is the operator between them and the support. Training samples come with the operator of
    the fit, which is also `rows` unless it approximates, the coefficients and the weights.
    Logarithms exist for kernels that vanish far away.
    """

    model: Any
    rows: Any
    geometry: Geometry
    training: tuple[KernelOperator, Array, Array] | None = None

    @cached_property
    def columns(self) -> Array:
        """Coefficients of the centers over the support of `rows`, (n_support, c)."""
        is_operator = self.training is not None and self.training[0] is self.rows
        return self.training[1] if self.training and is_operator else self.model._columns

    @cached_property
    def log_similarities(self) -> Array:
        """log K @ A, (m, c)."""
        product = self.geometry.product
        return np.asarray(self.model._log_product(self.rows, self.columns, product))

    @cached_property
    def log_of_others(self) -> Array:
        """The same, for training samples without their own part, (m, c)."""
        if self.training is None:
            return self.log_similarities
        operator, A, weight = self.training
        if operator.is_exact_support:
            return log_sums_of_others(operator, A, self.geometry.product, weight)
        return subtract_own_parts(self.log_similarities, operator, A, weight)


def log_sums_of_others(
    operator: KernelOperator, coefficients: Array, product: Array, weight: Array
) -> Array:
    """Return log K @ A of the training samples without their own part, (n, c), exactly."""
    first, left_out, _ = operator.support_rows.reweighted(weight).duplicates
    if np.unique(first[weight > 0]).size == 1:  # there are no others
        return operator.log_product(coefficients, product)
    sums, logs = np.zeros_like(coefficients), np.empty_like(product)
    np.add.at(sums, first, coefficients)
    for k, a in enumerate(sums.T):
        logs[:, k] = operator.log_product_of_others(a, a * left_out.astype(a.dtype), product[:, k])
    return logs[first]


def subtract_own_parts(
    logs: Array, operator: KernelOperator, coefficients: Array, weight: Array
) -> Array:
    """Subtract the training samples' own parts from log K @ A, (n, c).

    For engines whose stored centers only approximate those of the loop. What is left of a sample
    without other neighbors is lost in the approximation.
    """
    first, left_out, _ = operator.support_rows.reweighted(weight).duplicates
    sums = np.zeros_like(coefficients)
    np.add.at(sums, first, coefficients)
    own = sums[first] * (left_out.astype(sums.dtype) * operator.diag())[:, None]
    return subtract_from_logs(logs, own)


def subtract_from_logs(logs: Array, own: Array) -> Array:
    """Return the logarithms of exp(logs) − own, bounded from below."""
    farthest = 0.5 * np.log(np.finfo(logs.dtype).max)  # beyond, the inverse might overflow
    inverse = np.exp(np.minimum(-logs, farthest))
    return logs + np.log(np.maximum(1 - own * inverse, LEAST_LEFT)).astype(logs.dtype)
