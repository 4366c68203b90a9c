"""Robust spreads of columns, and checks of their magnitude, for the bandwidth rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.exceptions import DataError
from softkern.rows import Rows, column_ranges, lower_quantile, row_slices, scale_weights

SPREAD_SAMPLE = 20_000  # rows from which the quantiles of a column are taken
STRIP = 256  # columns of a wide sparse table that are made dense at a time
NORMAL_RANGE = 2.5631031310892007  # 10 to 90 % quantile range of the standard normal
# Below this share of the standard deviation, the quantile range of a column with one value in most
# rows does not describe the other rows.
SMALL_RANGE = 0.1
TIED = 0.25  # distinct values per row below which a column is recorded in steps
FEWEST_STEPS = 5  # distinct values of such a column; fewer are categories, such as yes and no
NOISE = 1e-12  # a spread below this share of a column's values is rounding
FARTHEST = 1e150  # the sum of squares over columns is still finite


def robust_spread(
    X: Any, weight: Array | None = None, random_state: Any = 0
) -> NDArray[np.float64]:
    """Return the spread of every column, (d,), on the scale of a normal's standard deviation.

    The spread is the 10 to 90 % quantile range. If more than half of a column is one value and
    that range is a small part of the standard deviation, the spread is the standard deviation
    between the 1 and 99 % quantiles. Far values, such as -999 in some rows, do not widen it. A
    column of two to four values has at least the step between them if other columns separate its
    rows further: a yes/no column is no gap in the data. A constant column has spread one, as it
    takes no part in any distance.
    """
    rows = X if isinstance(X, Rows) else Rows(X, None if weight is None else scale_weights(weight))
    index, weight = rows.sample(SPREAD_SAMPLE, random_state)
    sample, result = rows.X[index], np.empty(rows.shape[1])
    for strip in row_slices(result.size, STRIP):
        columns = sample[:, strip].toarray() if sp.issparse(sample) else sample[:, strip]
        columns = np.asarray(columns, dtype=np.float64)
        shares = (0.01, 0.1, 0.5, 0.9, 0.99)
        quantiles = np.apply_along_axis(lower_quantile, 0, columns, weight, shares)  # (5, d)
        low, q10, middle, q90, high = quantiles
        quantile_range = (q90 - q10) / NORMAL_RANGE
        inner = standard_deviation(np.clip(columns, low, high), weight)
        is_mostly_one = np.average(columns == middle, axis=0, weights=weight) > 0.5
        is_small = is_mostly_one & (quantile_range < SMALL_RANGE * inner)
        spread = np.where(is_small, inner, quantile_range)
        is_rounding = spread <= NOISE * np.maximum(np.abs(low), np.abs(high))
        whole = standard_deviation(columns, weight)
        is_constant = whole <= NOISE * np.abs(columns).max(axis=0)
        spread = np.where(is_rounding, np.where(is_constant, 1.0, whole), spread)
        steps = _median_steps(columns, 2, min(FEWEST_STEPS, index.size) - 1)
        result[strip] = np.maximum(spread, steps)
    return result


def column_steps(rows: Rows, random_state: Any) -> NDArray[np.float64]:
    """Return the step in which every column is recorded, (d,); zero if it is not rounded."""
    if sp.issparse(rows.X):  # mostly zeros
        return np.zeros(rows.shape[1])
    index, _ = rows.reweighted().sample(SPREAD_SAMPLE, random_state)
    columns = rows.X[index]
    categories = _median_steps(columns, 2, min(FEWEST_STEPS, index.size) - 1)
    return np.maximum(categories, _median_steps(columns, FEWEST_STEPS, TIED * index.size))


def _median_steps(columns: Array, least: float, most: float) -> NDArray[np.float64]:
    """Return the median step between values, (d,), zero unless there are `least` to `most`.

    Rows are distinct, so that as many values as rows are points and not categories.
    """
    steps = np.zeros(columns.shape[1])
    for j, column in enumerate(columns.T):
        values = np.unique(column)
        if least <= values.size <= most:
            steps[j] = np.median(np.diff(values))
    return steps


def standard_deviation(columns: Array, weight: Array) -> NDArray[np.float64]:
    """Return the weighted standard deviation of every column, (d,), without overflow."""
    centered = columns - np.average(columns, axis=0, weights=weight)
    unit = np.maximum(np.abs(centered).max(axis=0), np.finfo(float).tiny)
    return np.asarray(unit * np.sqrt(np.average((centered / unit) ** 2, axis=0, weights=weight)))


def check_reach(X: Any, unit: Any) -> None:
    """Raise a DataError if a value of X, in units of its column, is too large to be squared."""
    values = X.data if sp.issparse(X) else X
    if max(float(values.max(initial=0)), -float(values.min(initial=0))) / FARTHEST <= np.min(unit):
        return  # looking at single columns takes ten times as long
    largest = largest_values(X)
    with np.errstate(over="ignore"):
        column = int(np.argmax(largest / unit))
    if largest[column] / FARTHEST > np.broadcast_to(unit, largest.shape)[column]:
        raise DataError(
            f"column {column} holds a value of size {largest[column]:.6g}, too large for squared "
            "distances. Correct or remove that row, or rescale the column."
        )


def largest_values(X: Any) -> NDArray[np.float64]:
    """Return the largest absolute value of every column, (d,)."""
    low, high = column_ranges(X)
    return np.maximum(high, -low).astype(np.float64)
