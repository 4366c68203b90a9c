"""The power that makes a column least skewed (Yeo and Johnson 2000), for many columns at once.

A value x becomes sign(x) ((1 + |x|)^p − 1) / p with p = λ above zero and p = 2 − λ below it. The
log-likelihood of a normal column is concave in λ (Marchand et al. 2022), so that its slope has one
root, found for all columns together by the rule of Anderson and Björck (1973).
`sklearn.preprocessing.PowerTransformer` and `scipy.stats.yeojohnson` give the same λ, but from all
values, with overflow at far ones, and more than ten times slower: here the inner values alone give
λ, mean and spread, and λ is bounded so that every value stays finite. Called by
`splitting.observations`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softkern._utils.typing import Array

__all__ = ["least_skewed"]

CELLS = 2**15  # numbers per block of columns: they stay in the cache
START = 2.0  # first interval of λ on either side of 1, which leaves a column as it is
TOLERANCE = 1e-6  # of the last step of λ; the remaining error is far smaller
MAX_STEPS = 100
MAX_EXPONENT = 300.0  # of e, whose square is still finite
HEADROOM = 20.0  # times the largest inner value: new values that stay finite
SMALL = 0.02  # exponents below which differences lose digits


def least_skewed(columns: Sequence[Array], inner: Sequence[Array]) -> list[Array]:
    """Transform columns by the power of their inner values, scaled by their mean and spread.

    Parameters
    ----------
    columns : sequence of arrays of shape (n_j,)
        Values around zero, of about unit spread.
    inner : sequence of arrays of shape (m_j,)
        Values of each column that decide its power.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import skew
    >>> column = np.random.default_rng(0).lognormal(size=1000) - 1
    >>> bool(abs(skew(least_skewed([column], [column])[0])) < 0.3 < 3 < skew(column))
    True
    """
    order = np.argsort([-len(x) for x in inner], kind="stable")  # the longest first
    powers = np.ones(len(columns))
    start = 0
    while start < len(order):
        width = max(1, CELLS // max(len(inner[order[start]]), 1))
        block = order[start : start + width]
        limits = np.array([_max_power(columns[j], inner[j]) for j in block])
        powers[block] = _powers([inner[j] for j in block], limits)
        start += width
    return [_scaled(*pair) for pair in zip(columns, inner, powers.tolist(), strict=True)]


def _scaled(column: Array, inner: Array, power: float) -> Array:
    image = _raised(inner, power)
    return (_raised(column, power) - image.mean()) / (image.std() or 1.0)


def _raised(x: Array, power: float) -> Array:
    logs = np.log1p(np.abs(x))
    is_below = x < 0
    exponent = np.where(is_below, 2 - power, power) * logs
    return np.where(is_below, -logs, logs) * _growth(exponent)


def _max_power(column: Array, inner: Array) -> float:
    """The largest |λ| and |2 − λ| with which no value, nor one somewhat larger, overflows."""
    largest = max(float(np.abs(column).max()), HEADROOM * float(np.abs(inner).max()))
    return max(MAX_EXPONENT / np.log1p(largest), 1.0) if largest > 0 else np.inf


def _powers(columns: Sequence[Array], limits: Array) -> Array:
    """λ of every column, (k,); 1 for a constant one."""
    count = np.array([len(x) for x in columns])
    X = np.zeros((len(columns), count.max()))
    for row, x in zip(X, columns, strict=True):
        row[: len(x)] = x
    is_there = np.arange(X.shape[1]) < count[:, None]
    varies = np.ptp(np.where(is_there, X, X[:, :1]), axis=1) > 0
    slope = _Slope(X[varies], is_there[varies])
    powers = np.ones(len(columns))
    if varies.any():
        powers[varies] = _root(slope, (2 - limits)[varies], limits[varies])
    return powers


class _Slope:
    """The slope of every column's mean log-likelihood in λ, which decreases.

    It is mean(s l) − cov(t, t′) / var(t), with t = s l g(p l), l = log(1 + |x|), s = sign(x),
    g(u) = (eᵘ − 1)/u, and t′ = l² g′(p l).
    """

    def __init__(self, X: Array, is_there: Array) -> None:
        self._is_there = is_there
        self._count = is_there.sum(axis=1, keepdims=True)
        self._below = X < 0
        self._logs = np.log1p(np.abs(X))  # 0 in the padding, and so are t and t′
        self._signed = np.where(self._below, -self._logs, self._logs)
        self._mean = self._signed.sum(axis=1) / self._count[:, 0]

    def __call__(self, power: Array) -> Array:
        p = np.where(self._below, (2 - power)[:, None], power[:, None])
        exponent = p * self._logs
        growth = _growth(exponent)
        image = self._centered(self._signed * growth)
        change = self._centered(self._logs**2 * _growth_slope(exponent, growth))
        with np.errstate(invalid="ignore", divide="ignore"):
            pull = (image * change).sum(axis=1) / (image * image).sum(axis=1)
        slope = self._mean - pull
        # so far off that all values are equal in floating point: back towards 1
        return np.where(np.isfinite(slope), slope, 1 - power)

    def _centered(self, values: Array) -> Array:
        mean = values.sum(axis=1, keepdims=True) / self._count
        return np.where(self._is_there, values - mean, 0.0)


def _growth(u: Array) -> Array:
    """g(u) = (eᵘ − 1) / u."""
    is_zero = u == 0
    return np.where(is_zero, 1.0, np.expm1(u) / np.where(is_zero, 1.0, u))


def _growth_slope(u: Array, growth: Array) -> Array:
    """g′(u) = (1 + (u − 1) g) / u, and its series where that loses digits."""
    is_small = np.abs(u) < SMALL
    series = 1 / 2 + u * (1 / 3 + u * (1 / 8 + u * (1 / 30 + u * (1 / 144 + u / 840))))
    return np.where(is_small, series, (1 + (u - 1) * growth) / np.where(is_small, 1.0, u))


def _root(slope: _Slope, least: Array, most: Array) -> Array:
    """Where the slopes are zero, or the limit that is closest to it, (k,)."""
    last, at_last, power, at_power = _bracket(slope, least, most)
    is_open = (at_last > 0) & (at_power < 0)
    power = np.where(at_last <= 0, last, power)
    for _ in range(MAX_STEPS):
        with np.errstate(invalid="ignore", divide="ignore"):
            step = at_power * (power - last) / (at_power - at_last)
        step = np.where(is_open, step, 0.0)
        new = power - step
        at_new = slope(new)
        crosses = at_new * at_power <= 0
        # an end that stays counts for less, so that it is passed soon
        with np.errstate(invalid="ignore", divide="ignore"):
            factor = 1 - at_new / at_power
        factor = np.where(factor > 0, factor, 0.5)
        last = np.where(crosses, power, last)
        at_last = np.where(crosses, at_power, at_last * factor)
        power, at_power = new, at_new
        is_open &= (np.abs(step) > TOLERANCE) & (at_new != 0)
        if not is_open.any():
            break
    return power


def _bracket(slope: _Slope, least: Array, most: Array) -> tuple[Array, Array, Array, Array]:
    """Intervals in which the slopes change their sign, where they do: both ends with slopes."""
    low, high = np.maximum(1 - START, least), np.minimum(1 + START, most)
    at_low, at_high = slope(low), slope(high)
    for _ in range(MAX_STEPS):
        falls, rises = (at_low < 0) & (low > least), (at_high > 0) & (high < most)
        if not (falls.any() or rises.any()):
            break
        further = np.where(falls, 2 * low - 1, np.where(rises, 2 * high - 1, 1.0))
        further = np.clip(further, least, most)
        at_further = slope(further)
        low, high = (
            np.where(falls, further, np.where(rises, high, low)),
            np.where(rises, further, np.where(falls, low, high)),
        )
        at_low, at_high = (
            np.where(falls, at_further, np.where(rises, at_high, at_low)),
            np.where(rises, at_further, np.where(falls, at_low, at_high)),
        )
    return low, at_low, high, at_high
