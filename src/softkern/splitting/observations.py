"""A table as the splitting sees it: observations on continuous columns of one scale.

Columns of a few values, and rounded ones, pile up at their values, and piles are no groups: a
value stands for all that would have been rounded to it. Skewed columns are straightened, since a
long tail has no valley but hides those of other columns. Called by the models that split.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from softkern._utils.typing import Array
from softkern.rows import lower_quantile, priority_sample
from softkern.splitting.gap_test import dip, quantile
from softkern.splitting.powers import least_skewed

__all__ = ["MOST_ROWS", "continuous", "has_piles", "repeated", "straightened"]

MOST_ROWS = 2000  # in which groups are looked for
FEW_VALUES = 20
LARGE_PILE = 0.1  # of the rows at one value
OUTERMOST = 0.01  # share of a column's values at each end
CLEAR_VALLEY = 0.6  # √n times the dip, from which on a column is skewed by its groups
FARTHEST = 1e30  # inner spreads; what is farther is as far, and its powers are numbers


def repeated(X: Array, weight: Array, most: int, seed: int = 0) -> NDArray[np.intp]:
    """Rows of X as observations, at most about `most`: a row of weight two stands there twice.

    They are in the order of their values, whatever their units. Where most of the table stands
    several times, it counts once: copies lie close together, and would be groups.
    """
    index, mass = priority_sample(X, most, weight, seed)
    order = np.lexsort(X[index].T[::-1])
    index, mass = index[order], mass[order]
    mass = mass / lower_quantile(mass, mass, 0.5)
    total = float(mass.sum())
    counts = mass if total <= most else mass * (most / total)
    whole = np.maximum(np.round(counts), counts > 0).astype(np.intp)
    return np.repeat(index, whole)


def continuous(X: Array, seed: int = 0) -> Array:
    """Columns without piles or skew, of about unit spread, (n, k); constant columns are left out.

    A column of few values, or with a pile of rows at one of them, becomes normal scores whose ties
    are broken at random: alone it has one mode, together with others it may tell groups apart.
    """
    generator = np.random.default_rng(seed)
    found = [
        np.unique(column, return_inverse=True, return_counts=True)
        for column in np.asarray(X, dtype=np.float64).T
    ]
    found = [parts for parts in found if len(parts[0]) > 1]
    smooth = [values for values, _, counts in found if not has_piles(counts)]
    images = iter(_straight(smooth))
    columns = []
    for _, place, counts in found:
        if has_piles(counts):
            order = np.lexsort([generator.uniform(size=len(place)), place])
            scores = np.empty(len(place))
            scores[order] = ndtri((np.arange(len(place)) + 0.5) / len(place))
            columns.append(scores)
        else:
            columns.append(_spread_out(next(images), place, generator))
    return np.column_stack(columns) if columns else np.empty((len(X), 0))


def straightened(values: Sequence[Array], counts: Sequence[Array]) -> list[Array]:
    """What the distinct, sorted values of every column become in the middle of their piles."""
    is_smooth = [not has_piles(count) for count in counts]
    images = iter(_straight([x for x, smooth in zip(values, is_smooth, strict=True) if smooth]))
    return [
        next(images) if smooth else ndtri((np.cumsum(count) - count / 2) / count.sum())
        for count, smooth in zip(counts, is_smooth, strict=True)
    ]


def has_piles(counts: Array) -> bool:
    """Whether a column has few values, or many rows at one of them."""
    return bool(len(counts) <= FEW_VALUES or counts.max() > LARGE_PILE * counts.sum())


def _straight(columns: Sequence[Array]) -> list[Array]:
    """Distinct, sorted values by the power that makes them least skewed (Yeo and Johnson 2000).

    The power is that of all but the outermost: to make a few far values less so it would draw in
    all that is far. A column with a clear valley of its own is skewed by its groups; its power
    would draw them together, and it is left as it is.
    """
    scaled = [_about_zero(values) for values in columns]
    images = [(x - x.mean()) / x.std() for x in scaled]
    skewed = [j for j, x in enumerate(scaled) if dip(x) <= CLEAR_VALLEY]
    chosen = [scaled[j] for j in skewed]
    for j, image in zip(skewed, least_skewed(chosen, [_inner(x) for x in chosen]), strict=True):
        images[j] = image
    return images


def _about_zero(values: Array) -> Array:
    low, middle, high = (quantile(values, share) for share in (0.16, 0.5, 0.84))
    with np.errstate(over="ignore"):
        return np.clip((values - middle) / ((high - low) or 1.0), -FARTHEST, FARTHEST)


def _inner(values: Array) -> Array:
    first, last = quantile(values, OUTERMOST), quantile(values, 1 - OUTERMOST)
    inner = values[(values >= first) & (values <= last)]
    return inner if len(inner) >= FEW_VALUES else values


def _spread_out(values: Array, place: Array, generator: np.random.Generator) -> Array:
    """Every observation anywhere between the middles to the neighboring values."""
    middles = (values[1:] + values[:-1]) / 2
    low = np.concatenate([[2 * values[0] - middles[0]], middles])
    high = np.concatenate([middles, [2 * values[-1] - middles[-1]]])
    return np.asarray(low[place] + (high - low)[place] * generator.uniform(size=len(place)))
