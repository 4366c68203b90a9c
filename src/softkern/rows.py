"""Rows, their weights and their duplicates: choices that do not depend on the order of rows.

A sample drawn by row number changes when a table is sorted, and again when a row of weight two is
written as two rows. Here every distinct row gets a pseudo-random number from its values and the
seed, so that a sample is a function of the weighted data alone. Columns are centered and scaled
first, so that their units do not matter either. A fit makes one `Rows` and passes it to the
bandwidth rules, the operators and the initializations, so that duplicates are detected once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from softkern._utils.random import child_seed

NUMBERS_AT_ONCE = 10_000_000  # row numbers drawn in one step
COMPARED_VALUES = 2**22  # values of duplicates compared in one step
LARGEST_COUNT = 2.0**53  # whole numbers are exact up to here
LEAST_SHARE = 2.0**-60  # of the largest weight; smaller weights are lost when summed
DUPLICATE_SHARE = 0.01  # of the weight: equal rows with less do not make each other typical
_STEP = np.uint64(0x9E3779B97F4A7C15)

Index = NDArray[np.intp]
Weights = NDArray[np.float64]


# Weights


def check_weights(sample_weight: Any, n: int) -> Weights:
    """Return valid sample weights (n,), scaled by `scale_weights`; None gives ones."""
    if sample_weight is None:
        return np.ones(n)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}, but X has {n} rows; "
            f"sample_weight.shape should be ({n},)."
        )
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if bad.size:
        raise ValueError(
            f"sample_weight[{bad[0]}] is {weight[bad[0]]}; weights must be finite and not negative."
        )
    if not weight.any():
        raise ValueError("sample_weight is zero for every row; at least one must be positive.")
    return scale_weights(weight)


def scale_weights(weight: Any) -> Weights:
    """Return weights whose sums and products neither overflow nor lose digits, (n,).

    Only ratios of weights matter. If the largest is very large or small, all are divided by it.
    A weight below the rounding error of the largest becomes zero.
    """
    weight = np.asarray(weight, dtype=np.float64)
    largest = weight.max()
    if not 1 / LARGEST_COUNT <= largest <= LARGEST_COUNT:
        weight, largest = weight / largest, 1.0
    return np.where(weight < LEAST_SHARE * largest, 0.0, weight)


def reduce_weights(weight: Any) -> Weights:
    """Divide weights by the largest number from one that all are multiples of, (n,).

    A table in which every row occurs twice carries no more evidence than the table itself.
    """
    weight = np.asarray(weight, dtype=np.float64)
    positive = weight[weight > 0]
    if positive.size == 0 or positive.min() <= 1:
        return weight
    if (positive == np.round(positive)).all() and positive.max() < LARGEST_COUNT:
        return weight / float(np.gcd.reduce(positive.astype(np.int64)))
    ratio = positive / positive.min()
    is_multiple = np.abs(ratio - np.round(ratio)) <= 1e-6 * ratio
    return weight / positive.min() if is_multiple.all() else weight


def lower_quantile(values: Any, weight: Any, share: Any) -> Any:
    """Return the smallest value up to which at least this share, or each of several, lies."""
    exact = 1 - 1e-12  # a share that is met exactly is not missed by rounding
    if len(weight) and weight[0] > 0 and (weight == weight[0]).all():
        place = np.ceil(np.asarray(share) * len(weight) * exact).astype(np.intp) - 1
        place = np.clip(place, 0, len(weight) - 1)
        quantiles = np.partition(values, place)[place]
    else:
        order = np.argsort(values, kind="stable")
        reached = np.cumsum(weight[order], dtype=np.float64)
        place = np.searchsorted(reached, np.asarray(share) * reached[-1] * exact)
        quantiles = values[order[np.minimum(place, order.size - 1)]]
    return np.asarray(quantiles, dtype=np.float64) if np.ndim(share) else float(quantiles)


def order_by_mass(mass: Any, tie: Any, tolerance: float = 1e-9) -> Index:
    """Return the order of clusters by decreasing mass, (c,), and by decreasing `tie` among equals.

    Consecutive masses are equal if they differ by at most the tolerance, as a share of the total:
    another order of additions, or the tolerance of the loop, must not rename clusters.
    """
    shares = np.asarray(mass, dtype=np.float64) / max(float(np.sum(mass)), np.finfo(float).tiny)
    falling = np.argsort(-shares, kind="stable")
    ranks = np.empty(shares.size, dtype=np.intp)
    ranks[falling] = np.cumsum(-np.diff(shares[falling], prepend=shares[falling[:1]]) > tolerance)
    return np.lexsort((-np.asarray(tie), ranks))


def number_by_mass(component: Any, weight: Any, heights: Any) -> NDArray[np.int64]:
    """Number components from 0 by decreasing mass, then by their largest height; −1 stays."""
    labels = np.full(len(component), -1, dtype=np.int64)
    inside = component >= 0
    names, index = np.unique(component[inside], return_inverse=True)
    peak = np.full(len(names), -np.inf)
    np.maximum.at(peak, index, heights[inside])
    order = order_by_mass(np.bincount(index, weights=weight[inside]), peak)
    labels[inside] = np.argsort(order)[index]
    return labels


def column_ranges(X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the smallest and the largest value of every column, (d,) each."""
    low, high = X.min(axis=0), X.max(axis=0)
    return (low.toarray().ravel(), high.toarray().ravel()) if sp.issparse(X) else (low, high)


def varying_columns(X: Any) -> int:
    """Return the number of columns that are not constant."""
    low, high = column_ranges(X)
    return int(np.count_nonzero(high > low))


def row_slices(n: int, rows: int) -> Iterator[slice]:
    """Yield slices of at most `rows` rows that cover n rows."""
    for start in range(0, n, rows):
        yield slice(start, min(n, start + rows))


# Rows


class Rows:
    """The rows of a table X (n, d) with checked weights (n,), and cached facts about duplicates.

    The table must not be modified meanwhile. Rows of weight zero are ignored.
    """

    _origin: Rows | None = None  # the same rows with other weights or units

    def __init__(self, X: Any, weight: Any = None) -> None:
        self.X, self.shape = X, X.shape
        self.weight = np.ones(X.shape[0]) if weight is None else weight

    @classmethod
    def of(cls, X: Any, sample_weight: Any = None) -> Rows:
        """Return rows as they are, or those of a table and weights after validation."""
        if isinstance(X, Rows):
            return X
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        return cls(X, check_weights(sample_weight, X.shape[0]))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the caches."""
        return Rows, (self.X, self.weight)

    def reweighted(self, weight: Any = None) -> Rows:
        """Return the same rows with other checked weights, or without."""
        is_same = (self.weight == 1).all() if weight is None else weight is self.weight
        if is_same:
            return self
        rows = Rows(self.X, weight)
        rows._origin = self._origin or self
        return rows

    def scaled(self, scale: Any) -> Rows:
        """Return the same rows with columns divided by `scale`, (d,)."""
        is_sparse = sp.issparse(self.X)
        X = self.X @ sp.diags_array(1.0 / scale) if is_sparse else self.X / scale
        rows = Rows(X, self.weight)
        rows._origin = self._origin or self
        rows.distinct = self.distinct
        return rows

    def take(self, index: Index) -> Rows:
        """Return some of the rows."""
        rows = Rows(self.X[index], self.weight[index])
        _, first, group = np.unique(self.groups[1][index], return_index=True, return_inverse=True)
        rows.groups = first, group.ravel()
        return rows

    @cached_property
    def groups(self) -> tuple[Index, Index]:
        """The first row of every group of equal rows, (m,), and the group of every row, (n,)."""
        if self._origin is not None:
            return self._origin.groups
        return _group_rows(self.X, _row_keys(self.X))

    @cached_property
    def distinct(self) -> tuple[Index, Weights]:
        """Index of one duplicate of every distinct row, and the summed weights, (m,) each.

        The order depends on the values of the rows, not on that of the table.
        """
        present, first, group = self._present
        return first, np.bincount(group, self.weight[present]).astype(np.float64)

    @cached_property
    def _present(self) -> tuple[Index, Index, Index]:
        """Rows with a weight, (p,), the first of every group of equal ones, and their groups."""
        present, (first, group) = np.flatnonzero(self.weight > 0), self.groups
        if present.size == self.shape[0]:
            return present, first, group
        _, place, group = np.unique(group[present], return_index=True, return_inverse=True)
        return present, present[place], group

    @cached_property
    def distinct_rows(self) -> Rows:
        """The distinct rows with their summed weights."""
        index, weight = self.distinct
        rows, each = Rows(self.X[index], weight), np.arange(index.size)
        rows.groups, rows._keys = (each, each), self._keys
        return rows

    @cached_property
    def _keys(self) -> NDArray[np.uint64]:
        """Keys of the distinct rows that do not depend on units, (m,)."""
        index = self.distinct[0]
        if self._origin is not None and np.array_equal(index, self._origin.distinct[0]):
            return self._origin._keys
        return _row_keys(_without_units(self.X[index]))

    @cached_property
    def canonical(self) -> tuple[Index, Weights]:
        """Distinct rows in a pseudo-random order that depends on their values, and their weights.

        Draws from cumulated weights in this order do not depend on the order of the table.
        """
        index, weight = self.distinct
        order = np.argsort(key_uniforms(self._keys))
        return index[order], weight[order]

    def sample(self, size: int, random_state: Any = 0) -> tuple[Index, Weights]:
        """Draw at most `size` distinct rows, with weights that represent all of them.

        Priority sampling (Duffield, Lund and Thorup, J. ACM 54(6), 2007): row i gets the priority
        w_i / u_i with u_i uniform, the rows of highest priority are drawn, and each then weighs
        max(w_i, t), where t is the highest priority left out. Sums over the sample estimate sums
        over the data without bias.
        """
        index, weight = self.distinct
        if index.size <= size:
            return index, weight
        priority = weight / key_uniforms(self._keys, child_seed(random_state))
        order = np.argpartition(-priority, size)
        drawn = np.sort(order[:size])
        return index[drawn], np.maximum(weight[drawn], priority[order[size]])

    @cached_property
    def duplicates(self) -> tuple[Index, Weights, float]:
        """What leave-one-out sums leave out of every row besides the row itself.

        The row that represents all duplicates of a row, (n,), the share of their weight that is
        left out, (n,), and the largest share of the total weight that is.

        Neither a row nor its duplicates are evidence for the row: two equal errors of measurement
        are not typical. A value that a larger part of the data has is typical. At most 1 % of the
        weight is left out, or the median weight of a distinct row where that is more.
        """
        present, one, group = self._present
        mass = np.bincount(group, weights=self.weight[present] / self.weight.max())
        share = mass / mass.sum()
        largest = max(DUPLICATE_SHARE, lower_quantile(share, np.ones(share.size), 0.5))
        first, left_out = np.arange(self.shape[0]), np.ones(self.shape[0])
        first[present] = one[group]
        left_out[present] = np.minimum(1.0, largest / share)[group]
        return first, left_out, largest

    def share_among_duplicates(self, A: NDArray[Any]) -> NDArray[Any]:
        """Distribute sums of coefficients (n, c) over duplicates by weight, (n, c)."""
        first, group = self.groups
        if first.size == self.shape[0]:
            return A
        total = np.bincount(group, weights=self.weight)
        share = self.weight / np.where(total > 0, total, 1.0)[group]
        sums = np.column_stack([np.bincount(group, weights=column) for column in A.T])
        return np.asarray(share[:, None] * sums[group], dtype=A.dtype)


# Pseudo-random numbers of rows


def row_uniforms(X: Any, seed: int = 0) -> Weights:
    """Return a number in (0, 1) from the values of every row and the seed, for any units, (n,)."""
    return key_uniforms(_row_keys(_without_units(X)), seed)


def lowest_numbers(count: int, size: int, seed: int = 0) -> NDArray[np.int64]:
    """Draw at most `size` row numbers below `count` by their `key_uniforms`, in rising order."""
    drawn, uniforms = np.empty(0, dtype=np.int64), np.empty(0)
    for part in row_slices(count, NUMBERS_AT_ONCE):
        numbers = np.arange(part.start, part.stop, dtype=np.int64)
        drawn = np.concatenate([drawn, numbers])
        uniforms = np.concatenate([uniforms, key_uniforms(numbers, seed)])
        if drawn.size > size:
            lowest = np.argpartition(uniforms, size)[:size]
            drawn, uniforms = drawn[lowest], uniforms[lowest]
    return np.sort(drawn)


def key_uniforms(keys: Any, seed: int = 0) -> Weights:
    """Return a number in (0, 1) for every key or row number (n,) and the seed."""
    keys = np.asarray(keys, dtype=np.uint64)
    return ((_mix(keys, seed) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def _group_rows(X: Any, keys: NDArray[np.uint64]) -> tuple[Index, Index]:
    """Group rows by their keys, and split groups whose rows differ although their keys agree."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    duplicates = np.flatnonzero(first[group] != np.arange(group.size))
    differs = np.zeros(duplicates.size, dtype=bool)
    for part in row_slices(duplicates.size, max(1, COMPARED_VALUES // max(1, X.shape[1]))):
        rows = duplicates[part]
        unequal = X[rows] != X[first[group[rows]]]
        differs[part] = np.asarray(unequal.sum(axis=1)).ravel() > 0  # sparse ones have no any
    if differs.any():
        apart = duplicates[differs]
        others, places = _group_rows(X[apart], keys[apart])
        group[apart] = first.size + places
        first = np.concatenate([first, apart[others]])
    return first, group


def _row_keys(X: Any) -> NDArray[np.uint64]:
    """Return a 64-bit key of every row's values, equal for dense and sparse tables.

    It is a sum over the values, to which zeros add nothing.
    """
    if sp.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        bits = X.data.astype(np.float64).view(np.uint64)
        terms = _mix(bits, X.indices + 1) * (X.data != 0)
        total = np.concatenate([[np.uint64(0)], np.cumsum(terms)])
        return _mix(total[X.indptr[1:]] - total[X.indptr[:-1]])
    keys = np.zeros(X.shape[0], dtype=np.uint64)
    for column, values in enumerate(X.T, 1):
        bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
        keys += _mix(bits, column) * (values != 0)
    return _mix(keys)


def _mix(keys: NDArray[np.uint64], step: Any = 0) -> NDArray[np.uint64]:
    """Mix the bits of keys (the finalizer of splitmix64). `step` separates columns and seeds."""
    keys = keys + np.atleast_1d(np.asarray(step)).astype(np.uint64) * _STEP
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _without_units(X: Any) -> Any:
    """Return columns centered and divided by their range, rounded to hide a change of units."""
    if sp.issparse(X):  # centering would fill in the zeros
        largest = np.asarray(abs(X).max(axis=0).todense(), dtype=np.float64).ravel()
        inverse = 1.0 / np.where(largest > 0, largest, np.inf)
        scaled = X.tocsr().astype(np.float64) @ sp.diags_array(inverse)
        scaled.data = scaled.data.astype(np.float32)
        return scaled
    centered = X - np.median(X, axis=0)
    largest = np.abs(centered).max(axis=0)
    return (centered * (1.0 / np.where(largest > 0, largest, np.inf))).astype(np.float32)
