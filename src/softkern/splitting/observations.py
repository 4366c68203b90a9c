"""A table as the splitting sees it: observations on continuous columns of one scale.

Columns of a few values, and rounded ones, pile up at their values, and piles are no groups: a
value stands for all that would have been rounded to it. Skewed columns are straightened, since a
long tail has no valley but hides those of other columns. Called by the models that split.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from sklearn.preprocessing import PowerTransformer

from softkern._typing import Array

__all__ = ["continuous"]

FEW_VALUES = 20
LARGE_PILE = 0.1  # of the rows at one value


def continuous(X: Array, seed: int = 0) -> Array:
    """Columns without piles or skew, of about unit spread, (n, k); constant columns are left out.

    A column of few values, or with a pile of rows at one of them, becomes normal scores whose ties
    are broken at random: alone it has one mode, together with others it may tell groups apart.
    """
    generator = np.random.default_rng(seed)
    columns = []
    for column in np.asarray(X, dtype=np.float64).T:
        values, place, counts = np.unique(column, return_inverse=True, return_counts=True)
        if len(values) == 1:
            continue
        if len(values) <= FEW_VALUES or counts.max() > LARGE_PILE * len(column):
            order = np.lexsort([generator.uniform(size=len(column)), place])
            scores = np.empty(len(column))
            scores[order] = ndtri((np.arange(len(column)) + 0.5) / len(column))
            columns.append(scores)
        else:
            columns.append(_spread_out(_straight(values), place, generator))
    return np.column_stack(columns) if columns else np.empty((len(X), 0))


def _straight(values: Array) -> Array:
    """Distinct values by the power that makes them least skewed (Yeo and Johnson 2000)."""
    low, middle, high = np.quantile(values, [0.16, 0.5, 0.84])
    scaled = (values - middle) / ((high - low) or 1.0)
    return np.asarray(PowerTransformer().fit_transform(scaled[:, None])[:, 0])


def _spread_out(values: Array, place: Array, generator: np.random.Generator) -> Array:
    """Every observation anywhere between the middles to the neighbouring values."""
    middles = (values[1:] + values[:-1]) / 2
    low = np.concatenate([[2 * values[0] - middles[0]], middles])
    high = np.concatenate([middles, [2 * values[-1] - middles[-1]]])
    return np.asarray(low[place] + (high - low)[place] * generator.uniform(size=len(place)))
