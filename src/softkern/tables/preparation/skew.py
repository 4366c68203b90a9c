"""Skewed columns and their log transformation.

A logarithm moves far values closer, so it is used only if the tail is long without the furthest
values, and if a few normal groups, each a range of the sorted values, describe the column better
in logarithms than without. Two groups far apart, or a few far values, do not count as skew.

Here models, outlier scores and users see the result: it must be invertible to impute cells, far
values must stay far, and a column that is not clearly skewed stays as it is. The test for density
gaps (`softkern.splitting.observations`) instead makes every column as normal as a power can make
it, as `sklearn.preprocessing.PowerTransformer` does, since long tails hide gaps in other columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softkern._utils.typing import Array

SHAPE_POINTS = 64  # quantiles that represent the shape of a column
TRIMMED = 0.01  # share at each end that is not part of the shape
FEWEST_SHAPED = 20  # distinct values from which a shape is visible
# Quantile that measures the length of a side. Fewer far values are not a tail, and more of them are
# at least LEAST_GROUP quantiles, so that they can be a group.
TAIL = 0.08
LONG_TAIL = 2.5  # least length of the longer side relative to the other one
LEAST_GROUP = 4  # quantiles in a group
GROUPS = 5  # most normal groups in a column
GROUP_COST = 3.0  # log-likelihood that another group must gain
LOG_GAIN = 11.0  # log-likelihood that a logarithm must gain; 12 to 14 for exponential amounts
ENOUGH = 0.5  # share of the best gain; the weakest logarithm that reaches it is used
UNITS = 4.0 ** np.arange(1, -7, -1)  # where the logarithm sets in, in spreads of the column
ROUNDING = 1e-12  # relative error of a group's squares
FENCE = 5.0  # lengths from the median to the 10 % quantile beyond which values are not an origin


@dataclass(frozen=True)
class SignedLog:
    """Logarithm of values beyond `origin`, linear before it.

    asinh((s x − origin) / unit) where that is positive, (s x − origin) / unit elsewhere, with
    s = ±1 the side of the long tail. A value on the short side keeps its distance.
    """

    sign: float
    origin: float
    unit: float

    def transform(self, x: Array) -> Array:
        """Transform values in the column's unit."""
        z = (self.sign * x - self.origin) / self.unit
        return np.asarray(self.sign * np.where(z > 0, np.arcsinh(np.maximum(z, 0)), z))

    def inverse_transform(self, y: Array) -> Array:
        """Return values in the column's unit."""
        z = self.sign * y
        z = np.where(z > 0, np.sinh(np.maximum(z, 0)), z)
        return np.asarray(self.sign * (self.origin + self.unit * z))

    def log_derivative(self, x: Array) -> Array:
        """Return the logarithm of the derivative."""
        z = np.maximum((self.sign * x - self.origin) / self.unit, 0)
        return np.asarray(-np.log(self.unit) - 0.5 * np.log1p(z**2))


def fit_signed_log(values: Array, counts: Array) -> SignedLog | None:
    """Return the transformation of a skewed column, or None if it is not clearly skewed."""
    if values.size < FEWEST_SHAPED:
        return None
    low, ten, middle, ninety, high = _quantiles(
        values, counts, np.array([TAIL, 0.1, 0.5, 0.9, 1 - TAIL])
    )
    # a value far below all others, such as -999, is not where the column begins
    first = values[np.searchsorted(values, middle - FENCE * (middle - ten))]
    last = values[np.searchsorted(values, middle + FENCE * (ninety - middle), "right") - 1]
    start, end = max(low, first), min(high, last)
    if high - middle > LONG_TAIL * (middle - start):
        sign, origin, spread = 1.0, float(first), (high - start) / 4
    elif middle - low > LONG_TAIL * (end - middle):
        sign, origin, spread = -1.0, float(-last), (end - low) / 4
    else:
        return None
    shape = _quantiles(values, counts, np.linspace(TRIMMED, 1 - TRIMMED, SHAPE_POINTS))
    units = spread * UNITS
    logs = SignedLog(sign, origin, units[:, None])  # one per unit
    likelihood = _likelihood(np.vstack([shape, logs.transform(shape)]))
    gain = likelihood[1:] + logs.log_derivative(shape).sum(axis=1) - likelihood[0]
    if not gain.max() > LOG_GAIN:
        return None
    # no stronger than needed: a value that a logarithm moves closer is no outlier any more
    unit = units[np.argmax(gain >= max(LOG_GAIN, ENOUGH * gain.max()))]
    return SignedLog(sign, origin, float(unit))


def _quantiles(values: Array, counts: Array, shares: Array) -> Array:
    """Return quantiles of sorted values, each spread halfway to its nearest neighbor.

    A rounded column then has no ties, and nothing lies in the gap between two groups.
    """
    gaps = np.diff(values)
    half = 0.5 * np.minimum(np.append(gaps, gaps[-1]), np.insert(gaps, 0, gaps[0]))
    half = np.minimum(half, np.median(gaps))  # duplicates of a far value stay together
    reached = np.cumsum(counts) / counts.sum()
    place = np.minimum(np.searchsorted(reached, shares), values.size - 1)
    within = 1 - (reached[place] - shares) * counts.sum() / counts[place]  # 0 to 1
    return np.asarray(values[place] + half[place] * (2 * within - 1))


def _likelihood(points: Array) -> Array:
    """Return the log-likelihood of points, (m, n), under one to five normal groups of them.

    Each group is a range of the sorted points: Σ k (log(k/n) − log s), without constants, at the
    best cuts, (m,). Every further group costs as much as its parameters could gain by chance.
    """
    n = points.shape[1]
    # the group from i to j, by distances from its first point, which avoids cancellation
    distance = np.triu(points[:, None, :] - points[:, :, None])
    size = np.maximum(np.arange(n)[None, :] - np.arange(n)[:, None] + 1, 1)
    mean = distance.cumsum(axis=2) / size
    square = (distance**2).cumsum(axis=2) / size
    variance = np.maximum(square - mean**2, ROUNDING * square + np.finfo(float).tiny)
    group = size * (np.log(size / n) - 0.5 * np.log(variance))
    group[:, np.tri(n, k=LEAST_GROUP - 2, dtype=bool)] = -np.inf  # too few points, or none
    reached = group[:, 0]  # points up to j, in one group
    total = reached[:, -1]
    for further in range(1, GROUPS):
        reached = (reached[:, :-1, None] + group[:, 1:]).max(axis=1)
        total = np.maximum(total, reached[:, -1] - further * GROUP_COST)
    return np.asarray(total)
