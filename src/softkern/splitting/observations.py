"""Prepare a table for splitting: observations on continuous columns of one scale.

Columns with few values, and rounded ones, have piles of equal values, and piles are not clusters:
a value stands for all that would have been rounded to it. Skewed columns are transformed, since a
long tail has no gap but hides the gaps of other columns. Called by the models that split.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from softkern._utils.typing import Array
from softkern.rows import Rows, lower_quantile
from softkern.splitting.gap_test import dip, quantile
from softkern.splitting.powers import least_skewed
from softkern.splitting.settings import SPLITTING

FARTHEST = 1e30  # inner spreads: farther values are clipped, so that their powers are finite


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
