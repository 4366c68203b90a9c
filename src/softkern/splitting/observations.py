"""Prepare a table for splitting: observations on continuous columns of one scale.

Columns with few values, and rounded ones, have piles of equal values, and piles are not clusters:
a value stands for all that would have been rounded to it. Skewed columns are transformed, since a
long tail has no gap but hides the gaps of other columns. Called by the models that split.

The transformation is the power of Yeo and Johnson (2000): x becomes sign(x) ((1 + |x|)^p − 1) / p
with p = λ above zero and p = 2 − λ below it. `sklearn.preprocessing.PowerTransformer` gives the
same λ, but from all values, and overflows at far ones: here the inner values alone give λ, mean and
spread, and λ is bounded so that every value stays finite.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import boxcox1p, exprel, ndtri

from softkern._utils.typing import Array
from softkern.rows import Rows, lower_quantile
from softkern.splitting.gap_test import dip, quantile
from softkern.splitting.settings import SPLITTING

FARTHEST = 1e30  # inner spreads: farther values are clipped, so that their powers are finite
MAX_EXPONENT = 300.0  # of e, whose square is still finite
HEADROOM = 20.0  # times the largest inner value: new values that stay finite
SMALL = 0.02  # exponents below which differences lose digits


def observation_rows(rows: Rows, most: int, seed: int = 0) -> NDArray[np.intp]:
    """Return row numbers as observations, about `most` at most; a weight of two repeats a row.

    They are in the order of the rows' values, whatever their units. If most rows are repeated,
    the whole table counts once: duplicates lie close together and would be clusters.
    """
    index, mass = rows.sample(most, seed)
    order = np.lexsort(rows.X[index].T[::-1])
    index, mass = index[order], mass[order]
    mass = mass / lower_quantile(mass, mass, 0.5)
    total = float(mass.sum())
    counts = mass if total <= most else mass * (most / total)
    whole = np.maximum(np.round(counts), counts > 0).astype(np.intp)
    return np.repeat(index, whole)


def make_continuous(X: Array, seed: int = 0) -> Array:
    """Return columns without piles or skew, of about unit spread, (n, k), without constant ones.

    A discrete column becomes normal scores whose ties are broken at random: alone it has one mode,
    together with others it may separate clusters. Observations of other columns lie at random
    between the midpoints to the neighboring values.
    """
    generator = np.random.default_rng(seed)
    n = len(X)
    columns = []
    for column in np.asarray(X, dtype=np.float64).T:
        values, place, counts = np.unique(column, return_inverse=True, return_counts=True)
        if len(values) == 1:
            continue
        if is_discrete(counts):
            scores = np.empty(n)
            order = np.lexsort([generator.uniform(size=n), place])
            scores[order] = ndtri((np.arange(n) + 0.5) / n)
            columns.append(scores)
            continue
        images = straighten(values, counts)
        middles = (images[1:] + images[:-1]) / 2
        low = np.append(2 * images[0] - middles[0], middles)
        high = np.append(middles, 2 * images[-1] - middles[-1])
        columns.append(low[place] + (high - low)[place] * generator.uniform(size=n))
    return np.column_stack(columns) if columns else np.empty((n, 0))


def straighten(values: Array, counts: Array) -> Array:
    """Transform the distinct, sorted values of a column, each in the middle of its pile.

    A continuous column gets the power that makes it least skewed, by all but its outermost values:
    to bring a few far values closer it would bring all of them closer. A column with a clear gap is
    skewed by its clusters, which a power would move together, and is only scaled.
    """
    if is_discrete(counts):
        return np.asarray(ndtri((np.cumsum(counts) - counts / 2) / counts.sum()))
    spread = quantile(values, 0.84) - quantile(values, 0.16)
    with np.errstate(over="ignore"):
        scaled = (values - quantile(values, 0.5)) / (spread or 1.0)
    x = np.clip(scaled, -FARTHEST, FARTHEST)
    if dip(x) > SPLITTING.clear_gap:
        return np.asarray((x - x.mean()) / x.std())
    first, last = quantile(x, SPLITTING.outermost), quantile(x, 1 - SPLITTING.outermost)
    inner = x[(x >= first) & (x <= last)]
    return least_skewed(x, inner if len(inner) >= SPLITTING.few_values else x)


def is_discrete(counts: Array) -> bool:
    """Return whether a column has few values, or many rows at one of them."""
    is_large = counts.max() > SPLITTING.large_pile * counts.sum()
    return bool(len(counts) <= SPLITTING.few_values or is_large)


def least_skewed(column: Array, inner: Array) -> Array:
    """Transform values around zero by the power of their inner ones, scaled by mean and spread."""
    power = find_power(column, inner)
    images, inner = (
        np.sign(x) * boxcox1p(np.abs(x), np.where(x < 0, 2 - power, power)) for x in (column, inner)
    )
    return np.asarray((images - inner.mean()) / (inner.std() or 1.0))


def find_power(column: Array, inner: Array) -> float:
    """Return λ of the inner values, with which no value of the column overflows; 1 if constant.

    The log-likelihood of a normal column is concave in λ (Marchand et al. 2022), so that its slope
    has one root. The mean slope is mean(s l) − cov(t, t′) / var(t), with t = s l g(p l),
    l = log(1 + |x|), s = sign(x), g(u) = (eᵘ − 1)/u, and t′ = l² g′(p l).
    """
    if np.ptp(inner) == 0:
        return 1.0
    largest = max(float(np.abs(column).max()), HEADROOM * float(np.abs(inner).max()))
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


def _growth_slope(u: Array, growth: Array) -> Array:
    """g′(u) = (1 + (u − 1) g) / u, and its series where that loses digits."""
    is_small = np.abs(u) < SMALL
    series = 1 / 2 + u * (1 / 3 + u * (1 / 8 + u * (1 / 30 + u * (1 / 144 + u / 840))))
    return np.where(is_small, series, (1 + (u - 1) * growth) / np.where(is_small, 1.0, u))
