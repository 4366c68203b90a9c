"""Calibration of outlier scores: from a model's own unit to the share of typical samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.rows import lower_quantile

# A tail is fitted through the scores that these shares of the samples exceed: once roughly, to
# detect outliers, and again without them. `benchmarks/ranking.py` is the study behind the numbers.
ROUGH_TAIL = (0.5, 0.2)
FINAL_TAIL = (0.2, 0.1, 0.05)
LEFT_OUT_SURPRISAL = 3.5  # in the rough tail; samples beyond are excluded from the final one
MOST_OUTLIERS = 0.2  # where a larger share is beyond, none is excluded
FEWEST_IN_TAIL = 10.0  # samples above the tail's start, which is lowered to the median for it
# Shape of the tail: 0 is exponential, 1 as heavy as Cauchy's. Quantiles of few samples determine it
# badly, so it is shrunk towards its prior, the lower end of the range.
SHAPE_RANGE = (0.1, 1.0)
SHAPE_PRIOR_SPREAD = 0.1  # standard deviation of the shape around its prior
SHAPE_ESTIMATE_SPREAD = 1.8  # of its estimate from quantiles with one sample above the last
ROUNDING = 1e3  # in units of eps: scores of equal samples that were summed in another order


class Calibration:
    """Distribution of typical outlier scores (n,), which may include outliers.

    Weights count as repeated scores. At most the share `most` is excluded as outliers. Above the
    `threshold` t, the share of samples at least as far out as s falls as a generalized Pareto
    tail, (1 + shape (s − t) / scale)^(−1 / shape).
    """

    def __init__(
        self, scores: Array, weight: Array | None = None, *, most: float = MOST_OUTLIERS
    ) -> None:
        scores = np.asarray(scores) + 0.0  # also floats from integers
        weight = np.ones(len(scores)) if weight is None else np.asarray(weight, dtype=np.float64)
        values, mass = _distinct(scores, weight)
        values, self._ends = _without_infinities(values, mass)
        self._dtype = scores.dtype
        typical = np.isfinite(values)
        if self._fit(values[typical], mass[typical], ROUGH_TAIL):
            is_near = self.surprisal(values) <= LEFT_OUT_SURPRISAL
            if mass[~is_near].sum() <= most * mass.sum():
                typical = is_near
        self._fit(values[typical], mass[typical], FINAL_TAIL)

    def _fit(self, values: Array, mass: Array, shares: tuple[float, ...]) -> bool:
        """Fit the counted part and the tail to distinct values. Return whether there is a tail."""
        total = float(mass.sum())
        above = total - np.cumsum(mass)  # strictly above each value
        above[-1] = 0.0
        depth = -np.log((above + mass / 2) / total)  # half of equal samples count as further out
        start = max(shares[0], min(FEWEST_IN_TAIL / total, ROUGH_TAIL[0]))
        quantiles = lower_quantile(values, mass, 1 - np.array([start, *shares[1:]]))
        first, *_, last = np.searchsorted(values, quantiles)
        self.threshold = float(values[first])
        self.shape = _shape(quantiles, shares[-1] * total)
        if first < last:
            rise = np.expm1(self.shape * (depth[last] - depth[first])) / self.shape
            self.scale = float((values[last] - values[first]) / rise)
        else:
            self.scale = _spread(values, mass, first, self._dtype)
        self._values, self._depth = values[: first + 1], depth[: first + 1]
        return first < last

    def surprisal(self, scores: Array) -> NDArray[np.float64]:
        """Compute −log10 of the share of typical samples at least as far out, (m,).

        It strictly increases with the scores.
        """
        s = np.asarray(scores, dtype=np.float64)
        low, high = self._ends
        s = np.where(s == -np.inf, low, np.where(s == np.inf, high, s))
        inside = np.interp(s, self._values, self._depth)
        with np.errstate(over="ignore"):  # where the scale is a rounding error
            below = np.exp(np.minimum(s - self._values[0], 0) / self.scale)
            excess = np.maximum(s - self.threshold, 0) / self.scale
        beyond = np.log1p(self.shape * excess) / self.shape
        return np.asarray((inside * below + beyond) / np.log(10))


# The tail


def _shape(q: Array, count: float) -> float:
    """Estimate the shape (Pickands) from three quantiles, each with half as many samples above.

    The estimate is shrunk towards the lower end of its range, the less the more samples are above
    the last quantile. Fewer quantiles, or equal scores, give the lower end.
    """
    gaps = np.diff(q)
    if len(gaps) < 2 or not gaps.all():
        return SHAPE_RANGE[0]
    estimate = np.log2(gaps[1]) - np.log2(gaps[0])
    trust = SHAPE_PRIOR_SPREAD**2 / (SHAPE_PRIOR_SPREAD**2 + SHAPE_ESTIMATE_SPREAD**2 / count)
    return float(np.clip(SHAPE_RANGE[0] + trust * (estimate - SHAPE_RANGE[0]), *SHAPE_RANGE))


def _spread(values: Array, mass: Array, first: int, dtype: Any) -> float:
    """Return a scale where equal scores leave no tail: the spread of the scores below it.

    Ten or more equal samples are evidence that any other is unusual. With fewer, the scores above
    count too.
    """
    few = float(mass.sum()) < FEWEST_IN_TAIL
    typical = slice(None) if few else slice(first + 1)
    distance = np.abs(values[typical] - values[first])
    spread = float(np.average(distance, weights=mass[typical]))
    size = float(np.abs(values[typical]).max()) or 1.0
    return spread or (1.0 if few else ROUNDING * float(np.finfo(dtype).eps) * size)


def _without_infinities(values: Array, mass: Array) -> tuple[Array, tuple[float, float]]:
    """Return sorted values, finite where many are infinite, and the values that replace ±∞.

    A few infinite scores are extreme outliers. Where many samples have them, they are typical, and
    are placed one range above the others.
    """
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        finite = np.zeros(1)
    low, high = finite[0], finite[-1]
    width = (high - low) or max(abs(high), 1.0)
    is_high = values == np.inf
    many = mass[is_high].sum() > MOST_OUTLIERS * mass.sum()
    ends = (low - width, high + width if many else np.inf)
    values = np.where(values == -np.inf, ends[0], np.where(is_high, ends[1], values))
    return values, ends


# Equal scores


def _groups(scores: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the ascending order of the scores, and the group of each in that order.

    Scores that differ by rounding form one group. A chain of near values that is longer than
    rounding can explain does not.
    """
    order = np.argsort(scores, kind="stable")
    if not order.size:
        return order, order
    s = scores[order].astype(np.float64)
    eps = np.finfo(scores.dtype if scores.dtype.kind == "f" else np.float64).eps
    typical = np.median(np.abs(s[np.isfinite(s)])) if np.isfinite(s).any() else 1.0
    tolerance = ROUNDING * eps * np.maximum(np.abs(s), typical)
    with np.errstate(invalid="ignore"):
        is_new = np.concatenate([[False], s[1:] - s[:-1] > tolerance[:-1]])  # ∞ − ∞ is no step
    group = np.cumsum(is_new)
    first = np.searchsorted(group, group)
    last = np.searchsorted(group, group, side="right") - 1
    with np.errstate(invalid="ignore"):
        is_chain = s[last] - s[first] > 10 * tolerance
    is_step = np.concatenate([[False], s[1:] > s[:-1]])
    return order, np.cumsum(is_new | (is_chain & is_step))


def _distinct(scores: Array, weight: Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return distinct scores of positive weight, ascending, and the weight of each."""
    scores, weight = scores[weight > 0], weight[weight > 0]
    order, group = _groups(scores)
    _, start = np.unique(group, return_index=True)
    mass = np.bincount(group, weights=weight[order]).astype(np.float64)
    return scores[order][start].astype(np.float64), mass


def ranks_of(scores: Array) -> NDArray[np.int64]:
    """Return ranks, 1 for the highest score. Equal scores share the best of their ranks."""
    order, group = _groups(scores)
    higher = len(scores) - np.searchsorted(group, group, side="right")
    ranks = np.empty(len(scores), dtype=np.int64)
    ranks[order] = 1 + higher
    return ranks


def repeats_of(scores: Array, weight: Array) -> float:
    """Return how often the median score occurs, at least once.

    Repeating every row adds no evidence: the same samples should be flagged.
    """
    _, mass = _distinct(scores, weight)
    return max(1.0, lower_quantile(mass, np.ones(mass.size), 0.5))


def threshold_of(scores: Array, weight: Array, share: float) -> float:
    """Return a value below the highest scores that hold at most this share of the weight."""
    values, mass = _distinct(scores, weight)
    # the place of the last sample that is not flagged
    last = np.searchsorted(values, lower_quantile(values, mass, 1 - share))
    if last == len(values) - 1:
        return np.inf
    most = np.finfo(np.float64).max
    low, high = np.clip(values[last : last + 2], -most, most)
    return float(low / 2 + high / 2) if high < most else float(most)
