"""Outlyingness at two scales: how empty the neighborhood is, and how far the data are.

A narrow kernel finds the point that is alone among clusters, and takes two outliers that lie close
together for a small cluster; a wide one finds whatever is far from the data, and no gap within
them. `OneClassPCM` asks both: the density at its own bandwidth, and that of a kernel as wide as the
data less the company that a point keeps, the narrow mass around it up to 1 % of all
(`softkern.rows.duplicate_groups`). Rows that see no more than that even in a kernel of the width of
all data are no evidence for each other, at any scale.

The two are brought to one scale by what is usual among the training points, and the larger counts.
In a tail of few points narrow densities are chance, and their logarithm falls with the square of
the gaps; so beyond what is usual the narrow scale counts by its logarithm only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.dask import quantile
from softkern.kernels import Kernel
from softkern.rows import COMPANY, lower_quantile, lower_quantiles, priority_sample

__all__ = [
    "combined",
    "log_background_density",
    "suspects",
    "usual",
    "usual_distance",
    "usual_in_chunks",
    "widened",
]

# −log k of the median pair of points: bandwidths of 0.4 and 0.7 of its distance for a Gaussian.
WIDE = 3.125
WIDEST = 1.0
PAIR_SAMPLE = 300  # rows whose pairs are all looked at
LEAST_LEFT = 1e-6  # of a density less the company: the rest is rounding
USUAL_SHARES = (0.1, 0.5, 0.9)  # of the training points; the outer ones are one unit apart
LEAST_UNIT = 0.01  # in log density: less is no difference


def usual_distance(kernel: Kernel, X: Any, weight: Array, random_state: Any) -> float:
    """−log k of the median pair of distinct points, from a sample; 0 where there are no pairs."""
    index, mass = priority_sample(X, PAIR_SAMPLE, weight, random_state)
    if index.size < 2:
        return 0.0
    i, j = np.triu_indices(index.size, 1)
    logs = kernel.log_block(X[index], X[index])[i, j]
    mass = mass / mass.max()  # whose products might overflow
    return -lower_quantile(logs, mass[i] * mass[j], 0.5)


def widened(kernel: Kernel, distance: float, exponent: float) -> Kernel | None:
    """The kernel's power whose −log is the exponent where that of the kernel is `distance`.

    Never narrower than the kernel itself. None where the kernel does not know its powers.
    """
    distance = min(distance, float(np.finfo(np.float64).max))  # in a kernel far below all distances
    return kernel.power(exponent / max(distance, exponent))


def suspects(mass: Array, own: Array) -> NDArray[np.bool_]:
    """Points that see no more than the company in the widest kernel, (n,), their own part aside."""
    is_suspect = mass - own <= COMPANY
    return np.asarray(is_suspect & ~is_suspect.all())


def log_background_density(log_wide: Array, log_narrow: Array, company: float) -> Array:
    """Logarithm of the wide density less the narrow one, of which no more than the company, (m,).

    Far from all points the narrow density is nothing beside the wide one.
    """
    with np.errstate(invalid="ignore", over="ignore"):  # −∞ − (−∞), so far that squares overflow
        part = np.exp(np.minimum(log_narrow, np.log(company)) - log_wide)
    return log_wide + np.log1p(-np.minimum(np.nan_to_num(part), 1 - LEAST_LEFT))


def usual(surprisals: Array, weight: Array) -> tuple[float, float]:
    """The median of −log densities and the unit, the range of the inner four fifths."""
    finite = np.isfinite(surprisals) & (weight > 0)
    if not finite.any():
        return 0.0, 1.0
    low, middle, high = lower_quantiles(surprisals[finite], weight[finite], USUAL_SHARES)
    return float(middle), max(float(high - low), LEAST_UNIT)


def usual_in_chunks(surprisals: Any, weight: Any) -> tuple[float, float]:
    """The same as `usual`, of Dask arrays."""
    weight = weight * (abs(surprisals) < np.inf)
    low, middle, high = (quantile(surprisals, weight, share) for share in USUAL_SHARES)
    if not np.isfinite(middle):
        return 0.0, 1.0
    return middle, max(high - low, LEAST_UNIT)


def combined(narrow: Array, wide: Array, standards: Array) -> Array:
    """One score, (m,), from −log densities; `standards` (2, 2) are `usual` of either scale."""
    near, far = (
        (surprisals - middle) / unit
        for surprisals, (middle, unit) in zip((narrow, wide), standards, strict=True)
    )
    near = np.where(near > 1, 1 + np.log(np.maximum(near, 1)), near)
    return np.maximum(near, far).astype(narrow.dtype)
