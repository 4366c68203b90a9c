"""Columns with a long tail, and the logarithm by which they are taken.

A logarithm brings far values near, so it must be earned: the tail is long without the furthest
values, and a few normal groups, each a stretch of the sorted values, describe the column
better in logarithms than as it is. Two groups far apart, and few far values, are such groups as
they are. Called by `softkern.tables.preparation.kinds`.

`softkern.splitting.observations` straightens columns too, by another rule, since it has another
purpose. Here models, outlier scores and users see the result: it is undone to fill in cells, what
lies far out must stay far out, and a column that is not clearly skewed is left alone. There only
a test for valleys sees it: every column is made as normal as a power can make it, far values
included, because a tail that stays long hides the valleys of other columns; it must also hold for
arrays that nobody prepared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softkern._utils.typing import Array

__all__ = ["Bend", "fit_signed_log"]

SHAPE_POINTS = 64  # quantiles that stand for a column's shape
TRIMMED = 0.01  # share at each end that the shape does not look at: far values are no shape
FEWEST_SHAPED = 20  # distinct values from which a shape can be seen
TAIL = 0.08  # quantile that says how long a side is: fewer far values are no tail, and more of
# them are LEAST_GROUP quantiles at least, so that they can be a group
LONG_TAIL = 2.5  # from the median to that quantile, in lengths of the other side
LEAST_GROUP = 4  # of the quantiles, that make a group of their own
GROUPS = 5  # normal groups that a column may hold
GROUP_COST = 3.0  # log-likelihood of these points that another group must gain
BEND_GAIN = 11.0  # the same, that a logarithm must gain; 12 to 14 for exponential amounts
ENOUGH = 0.5  # of what the best bend gains; the slightest with as much is taken
UNITS = 4.0 ** np.arange(1, -7, -1)  # in which the logarithm sets in, in spreads of the column
ROUNDING = 1e-12  # of a group's squares
FENCE = 5.0  # lengths from the median to the 10 % quantile, below which values are no origin


@dataclass(frozen=True)
class Bend:
    """x by its logarithm beyond `origin`, and as it is before it.

    asinh((s x − origin) / unit) where that is positive, (s x − origin) / unit elsewhere, with
    s = ±1 the side of the long tail. A value below all others stays as far away as it is.

    Examples
    --------
    >>> import numpy as np
    >>> bend = Bend(1.0, origin=0.0, unit=1.0)
    >>> bend.forward(np.array([-999.0, 0.0, 1e4])).round(1)
    array([-999. ,    0. ,    9.9])
    >>> bend.backward(bend.forward(np.array([-7.0, 1e9]))).round(3).tolist()
    [-7.0, 1000000000.0]
    """

    sign: float
    origin: float
    unit: float

    def forward(self, x: Array) -> Array:
        """From the column's unit."""
        z = (self.sign * x - self.origin) / self.unit
        return np.asarray(self.sign * np.where(z > 0, np.arcsinh(np.maximum(z, 0)), z))

    def backward(self, y: Array) -> Array:
        """To the column's unit."""
        z = self.sign * y
        z = np.where(z > 0, np.sinh(np.maximum(z, 0)), z)
        return np.asarray(self.sign * (self.origin + self.unit * z))

    def log_slope(self, x: Array) -> Array:
        """Logarithm of the derivative."""
        z = np.maximum((self.sign * x - self.origin) / self.unit, 0)
        return np.asarray(-np.log(self.unit) - 0.5 * np.log1p(z**2))


def fit_signed_log(values: Array, counts: Array) -> Bend | None:
    """The logarithm that makes a skewed column plain; None where it had better be left."""
    if values.size < FEWEST_SHAPED:
        return None
    shape = _quantiles(values, counts, np.linspace(TRIMMED, 1 - TRIMMED, SHAPE_POINTS))
    sign, origin, spread = _long_side(values, counts)
    if sign == 0:
        return None
    bends = [Bend(sign, origin, unit) for unit in (spread * UNITS).tolist()]
    likelihood = _likelihood(np.stack([shape, *(bend.forward(shape) for bend in bends)]))
    gain = likelihood[1:] + [bend.log_slope(shape).sum() for bend in bends] - likelihood[0]
    if not gain.max() > BEND_GAIN:
        return None
    # no more than is needed: what a logarithm brings near can no longer be far out
    return bends[int(np.argmax(gain >= max(BEND_GAIN, ENOUGH * gain.max())))]


def _quantiles(values: Array, counts: Array, shares: Array) -> Array:
    """Quantiles of sorted values, each spread as far as half the way to its nearest neighbor.

    So a rounded column has no ties, and nothing lies in the gap between two groups.
    """
    gaps = np.diff(values)
    half = 0.5 * np.minimum(np.append(gaps, gaps[-1]), np.insert(gaps, 0, gaps[0]))
    half = np.minimum(half, np.median(gaps))  # copies of a far value stay together
    reached = np.cumsum(counts) / counts.sum()
    place = np.minimum(np.searchsorted(reached, shares), values.size - 1)
    within = 1 - (reached[place] - shares) * counts.sum() / counts[place]  # 0 to 1 of its copies
    return np.asarray(values[place] + half[place] * (2 * within - 1))


def _long_side(values: Array, counts: Array) -> tuple[float, float, float]:
    """The side of the long tail (0: none), the value where the other side ends, and a spread."""
    low, ten, middle, ninety, high = _quantiles(
        values, counts, np.array([TAIL, 0.1, 0.5, 0.9, 1 - TAIL])
    )
    # a value that is far below all others, such as -999, is not where the column begins
    first = values[np.searchsorted(values, middle - FENCE * (middle - ten))]
    last = values[np.searchsorted(values, middle + FENCE * (ninety - middle), "right") - 1]
    below, above = middle - max(low, first), min(high, last) - middle
    if high - middle > LONG_TAIL * below:
        return 1.0, float(first), float(high - max(low, first)) / 4
    if middle - low > LONG_TAIL * above:
        return -1.0, float(-last), float(min(high, last) - low) / 4
    return 0.0, 0.0, 0.0


def _likelihood(points: Array) -> Array:
    """Log-likelihood of points, (m, n), under one to five normal groups, each a stretch of them.

    Σ over groups of k (log(k/n) − log s), without constants, at the best cuts of each row of sorted
    points, (m,); every further group costs as much as its parameters could gain by chance.
    """
    n = points.shape[1]
    # the group from i to j, by distances from its first point: a far group costs no digits
    distance = np.triu(points[:, None, :] - points[:, :, None])
    size = np.maximum(np.arange(n)[None, :] - np.arange(n)[:, None] + 1, 1)
    mean = distance.cumsum(axis=2) / size
    square = (distance**2).cumsum(axis=2) / size
    variance = np.maximum(square - mean**2, ROUNDING * square + np.finfo(float).tiny)
    group = size * (np.log(size / n) - 0.5 * np.log(variance))
    group[:, np.tri(n, k=LEAST_GROUP - 2, dtype=bool)] = -np.inf  # too few points, or none
    reached = group[:, 0]  # of the points up to j, in one group
    total = reached[:, -1]
    for further in range(1, GROUPS):
        reached = (reached[:, :-1, None] + group[:, 1:]).max(axis=1)
        total = np.maximum(total, reached[:, -1] - further * GROUP_COST)
    return np.asarray(total)
