"""Prepare a table for splitting: observations on continuous columns of one scale.

Columns with few values, and rounded ones, have piles of equal values, and piles are not clusters:
a value stands for all that would have been rounded to it. Skewed columns are transformed, since a
long tail has no gap but hides the gaps of other columns. Called by the models that split.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from softkern._utils.typing import Array
from softkern.rows import Rows, lower_quantile
from softkern.splitting.gap_test import dip, quantile
from softkern.splitting.powers import least_skewed
from softkern.splitting.settings import SPLITTING

__all__ = ["is_discrete", "make_continuous", "observation_rows", "straighten"]

FARTHEST = 1e30  # inner spreads: farther values are clipped, so that their powers are finite


def observation_rows(X: Array, weight: Array, most: int, seed: int = 0) -> NDArray[np.intp]:
    """Return row numbers of X as observations, about `most` at most; a weight of two repeats a row.

    They are in the order of the rows' values, whatever their units. If most rows are repeated,
    the whole table counts once: copies lie close together and would be clusters.
    """
    index, mass = Rows(X, weight).sample(most, seed)
    order = np.lexsort(X[index].T[::-1])
    index, mass = index[order], mass[order]
    mass = mass / lower_quantile(mass, mass, 0.5)
    total = float(mass.sum())
    counts = mass if total <= most else mass * (most / total)
    whole = np.maximum(np.round(counts), counts > 0).astype(np.intp)
    return np.repeat(index, whole)


def make_continuous(X: Array, seed: int = 0) -> Array:
    """Return columns without piles or skew, of about unit spread, (n, k), without constant ones.

    A column of few values, or with a pile of rows at one value, becomes normal scores whose ties
    are broken at random: alone it has one mode, together with others it may separate clusters.
    """
    generator = np.random.default_rng(seed)
    n = len(X)
    parts = [
        np.unique(column, return_inverse=True, return_counts=True)
        for column in np.asarray(X, dtype=np.float64).T
    ]
    parts = [part for part in parts if len(part[0]) > 1]
    images = iter(_straight([values for values, _, counts in parts if not is_discrete(counts)]))
    columns = []
    for _, place, counts in parts:
        if is_discrete(counts):
            order = np.lexsort([generator.uniform(size=n), place])
            scores = np.empty(n)
            scores[order] = ndtri((np.arange(n) + 0.5) / n)
            columns.append(scores)
        else:
            columns.append(_spread_out(next(images), place, generator))
    return np.column_stack(columns) if columns else np.empty((n, 0))


def straighten(values: Sequence[Array], counts: Sequence[Array]) -> list[Array]:
    """Transform the distinct, sorted values of every column, each in the middle of its pile."""
    is_smooth = [not is_discrete(count) for count in counts]
    images = iter(_straight([x for x, smooth in zip(values, is_smooth, strict=True) if smooth]))
    return [
        next(images) if smooth else ndtri((np.cumsum(count) - count / 2) / count.sum())
        for count, smooth in zip(counts, is_smooth, strict=True)
    ]


def is_discrete(counts: Array) -> bool:
    """Return whether a column has few values, or many rows at one of them."""
    is_large = counts.max() > SPLITTING.large_pile * counts.sum()
    return bool(len(counts) <= SPLITTING.few_values or is_large)


def _straight(columns: Sequence[Array]) -> list[Array]:
    """Transform distinct, sorted values by the power that makes them least skewed.

    The outermost values do not decide the power: to bring a few far values closer it would bring
    all of them closer. A column with a clear gap is skewed by its clusters, which a power would
    move together, and stays as it is.
    """
    scaled = [_scaled(values) for values in columns]
    images = [(x - x.mean()) / x.std() for x in scaled]
    skewed = [j for j, x in enumerate(scaled) if dip(x) <= SPLITTING.clear_gap]
    chosen = [scaled[j] for j in skewed]
    for j, image in zip(skewed, least_skewed(chosen, [_inner(x) for x in chosen]), strict=True):
        images[j] = image
    return images


def _scaled(values: Array) -> Array:
    low, middle, high = (quantile(values, share) for share in (0.16, 0.5, 0.84))
    with np.errstate(over="ignore"):
        return np.clip((values - middle) / ((high - low) or 1.0), -FARTHEST, FARTHEST)


def _inner(values: Array) -> Array:
    share = SPLITTING.outermost
    first, last = quantile(values, share), quantile(values, 1 - share)
    inner = values[(values >= first) & (values <= last)]
    return inner if len(inner) >= SPLITTING.few_values else values


def _spread_out(values: Array, place: Array, generator: np.random.Generator) -> Array:
    """Put every observation at random between the middles to the neighboring values."""
    middles = (values[1:] + values[:-1]) / 2
    low = np.concatenate([[2 * values[0] - middles[0]], middles])
    high = np.concatenate([middles, [2 * values[-1] - middles[-1]]])
    return np.asarray(low[place] + (high - low)[place] * generator.uniform(size=len(place)))
