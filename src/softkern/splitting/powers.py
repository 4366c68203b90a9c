"""The power that makes a column least skewed (Yeo and Johnson 2000), from its inner values.

A value x becomes sign(x) ((1 + |x|)^p − 1) / p with p = λ above zero and p = 2 − λ below it. The
log-likelihood of a normal column is concave in λ (Marchand et al. 2022), so that its slope has one
root. `sklearn.preprocessing.PowerTransformer` gives the same λ, but from all values, and overflows
at far ones: here the inner values alone give λ, mean and spread, and λ is bounded so that every
value stays finite. Called by `splitting.observations`.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import exprel

from softkern._utils.typing import Array

MAX_EXPONENT = 300.0  # of e, whose square is still finite
HEADROOM = 20.0  # times the largest inner value: new values that stay finite
SMALL = 0.02  # exponents below which differences lose digits


def least_skewed(column: Array, inner: Array) -> Array:
    """Transform values around zero by the power of their inner ones, scaled by mean and spread."""
    power = find_power(column, inner)
    image = _raise(inner, power)
    return (_raise(column, power) - image.mean()) / (image.std() or 1.0)


def find_power(column: Array, inner: Array) -> float:
    """λ of the inner values, with which no value of the column overflows; 1 for a constant column.

    The slope of the mean log-likelihood is mean(s l) − cov(t, t′) / var(t), with t = s l g(p l),
    l = log(1 + |x|), s = sign(x), g(u) = (eᵘ − 1)/u, and t′ = l² g′(p l).
    """
    largest = max(float(np.abs(column).max()), HEADROOM * float(np.abs(inner).max()))
    if np.ptp(inner) == 0:
        return 1.0
    limit = max(MAX_EXPONENT / np.log1p(largest), 1.0)
    is_below, logs = inner < 0, np.log1p(np.abs(inner))
    signed = np.where(is_below, -logs, logs)

    def slope(power: float) -> float:
        exponent = np.where(is_below, 2 - power, power) * logs
        growth = exprel(exponent)
        image, change = signed * growth, logs**2 * _growth_slope(exponent, growth)
        image = image - image.mean()
        variance = float(image @ image)
        # so far off that all values are equal: back towards 1
        return signed.mean() - float(image @ change) / variance if variance > 0 else 1 - power

    # far from the root all values may be equal but for rounding: extend the interval step by step
    low, high = max(-1.0, 2 - limit), min(3.0, limit)
    while slope(low) < 0 and low > 2 - limit:
        low, high = max(2 * low - 1, 2 - limit), low
    while slope(high) > 0 and high < limit:
        low, high = high, min(2 * high - 1, limit)
    if slope(low) <= 0:
        return low
    return high if slope(high) >= 0 else float(brentq(slope, low, high))


def _raise(x: Array, power: float) -> Array:
    logs = np.log1p(np.abs(x))
    return np.sign(x) * logs * exprel(np.where(x < 0, 2 - power, power) * logs)


def _growth_slope(u: Array, growth: Array) -> Array:
    """g′(u) = (1 + (u − 1) g) / u, and its series where that loses digits."""
    is_small = np.abs(u) < SMALL
    series = 1 / 2 + u * (1 / 3 + u * (1 / 8 + u * (1 / 30 + u * (1 / 144 + u / 840))))
    return np.where(is_small, series, (1 + (u - 1) * growth) / np.where(is_small, 1.0, u))
