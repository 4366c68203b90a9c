"""Kernel sums of training samples without the sample itself and its duplicates.

A training sample is its own nearest neighbor, so that its density overstates how typical it is.
Outlier scores of training samples therefore use log K @ A without the sample's own part. Which
duplicates count as the same sample follows from `softkern.rows.Rows.duplicates`.
"""

from __future__ import annotations

import numpy as np

from softkern._utils.typing import Array
from softkern.operators.base import KernelOperator

LEAST_LEFT = 1e-3  # share of a sum that is left without its largest part, in an approximation


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
