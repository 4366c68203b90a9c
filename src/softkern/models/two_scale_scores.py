"""Outlier scores at two scales: how empty the neighborhood is, and how far the data are.

A narrow kernel detects a sample that is alone between clusters, but takes two outliers that lie
close together for a small cluster. A wide kernel detects distance from the data, but no gap within
them. `OneClassPCM` combines both, see its Notes. Isolated points, which see hardly any mass even in
a kernel as wide as all data, do not count for each other at any scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.kernels import Kernel
from softkern.rows import DUPLICATE_SHARE, Rows, lower_quantile

# −log k of the median pair of samples: bandwidths of 0.4 and 0.7 of its distance for a Gaussian.
WIDE = 3.125
WIDEST = 1.0
PAIR_SAMPLE = 300  # samples whose pairs are all compared
LEAST_LEFT = 1e-6  # share of a density that is left after subtraction; less is rounding
QUANTILES = (0.1, 0.5, 0.9)  # of the training samples; the outer ones are one unit apart
LEAST_UNIT = 0.01  # in log density; less is no difference


def median_distance(kernel: Kernel, rows: Rows, random_state: Any) -> float:
    """Estimate −log k of the median pair of distinct samples, 0 without pairs."""
    index, mass = rows.sample(PAIR_SAMPLE, random_state)
    if index.size < 2:
        return 0.0
    i, j = np.triu_indices(index.size, 1)
    logs = kernel.log_block(rows.X[index], rows.X[index])[i, j]
    mass = mass / mass.max()  # avoids overflow of products
    return -lower_quantile(logs, mass[i] * mass[j], 0.5)


def widen_kernel(kernel: Kernel, distance: float, exponent: float) -> Kernel | None:
    """Return the power of the kernel whose −log is `exponent` where the kernel's is `distance`.

    It is never narrower than the kernel, and None for kernels without powers.
    """
    distance = min(distance, float(np.finfo(np.float64).max))  # infinite for very narrow kernels
    return kernel.power(exponent / max(distance, exponent))


def isolated_rows(mass: Array, own: Array) -> NDArray[np.bool_]:
    """Return which points have hardly any mass of others around them in the widest kernel, (n,)."""
    is_isolated = mass - own <= DUPLICATE_SHARE
    return np.asarray(is_isolated & ~is_isolated.all())


def log_background_density(log_wide: Array, log_narrow: Array, max_share: float) -> Array:
    """Return the logarithm of the wide density minus the narrow one, (m,).

    No more than `max_share` is subtracted. Far from the data the narrow density is negligible.
    """
    with np.errstate(invalid="ignore", over="ignore"):  # −∞ − (−∞) at overflowing distances
        part = np.exp(np.minimum(log_narrow, np.log(max_share)) - log_wide)
    return log_wide + np.log1p(-np.minimum(np.nan_to_num(part), 1 - LEAST_LEFT))


def robust_location_scale(surprisals: Array, weight: Array) -> tuple[float, float]:
    """Return the median of −log densities, and the range between the first and last decile."""
    finite = np.isfinite(surprisals) & (weight > 0)
    if not finite.any():
        return 0.0, 1.0
    low, middle, high = lower_quantile(surprisals[finite], weight[finite], QUANTILES)
    return float(middle), max(float(high - low), LEAST_UNIT)


def combine_scales(narrow: Array, wide: Array, scaling: Array) -> Array:
    """Combine −log densities into one score, (m,), the larger in units of the training samples.

    In a tail of few samples narrow densities are chance, and their logarithm falls with the square
    of the gaps. Beyond one unit the narrow scale therefore counts only logarithmically.
    """
    (near_middle, near_unit), (far_middle, far_unit) = scaling
    near, far = (narrow - near_middle) / near_unit, (wide - far_middle) / far_unit
    near = np.where(near > 1, 1 + np.log(np.maximum(near, 1)), near)
    return np.maximum(near, far).astype(narrow.dtype)
