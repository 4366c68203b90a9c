"""Choices of rows that depend on the rows' values, never on their order.

A sample drawn by row number changes when the table is sorted, and changes again when a row of
weight two is written as two rows. Here every distinct row gets a pseudo-random number from its
own contents and the seed, so a sample is a function of the weighted data alone. The numbers are
taken after each column is centered and scaled, so the unit of a column does not matter either.
Called by the bandwidth rules, the landmark choice and the models' starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softkern._utils.random import child_seed

__all__ = [
    "canonical_rows",
    "check_weights",
    "distinct_rows",
    "duplicate_groups",
    "groups_of_rows",
    "lower_quantile",
    "lower_quantiles",
    "lowest_numbers",
    "number_uniforms",
    "order_by_mass",
    "priority_sample",
    "reduce_weights",
    "remembered",
    "row_slices",
    "row_uniforms",
    "share_among_copies",
    "varying_columns",
]

NUMBERS_AT_ONCE = 10_000_000  # of rows that are drawn by their numbers
LARGEST_COUNT = 2.0**53  # up to which whole numbers are exact
LEAST_SHARE = 2.0**-60  # of the largest weight; less is lost in the rounding of sums
_STEP = np.uint64(0x9E3779B97F4A7C15)
COMPANY = 0.01  # share of the weight up to which rows that are alike are no evidence for each other


def check_weights(sample_weight: Any, n: int) -> NDArray[np.float64]:
    """Sample weights as an array of shape (n,); ones where none are given.

    Weights count up to a common factor: where the largest is very large or small, all are divided
    by it, so that sums and products of them are numbers in any precision. A weight that is less
    than the rounding of the largest adds nothing to any sum, and is zero.

    Raises a ValueError where a weight is negative or not finite, or where all are zero.

    Examples
    --------
    >>> check_weights([2.0, 3.0], 2)
    array([2., 3.])
    >>> check_weights([1e300, 5e299, 1.0], 3)
    array([1. , 0.5, 0. ])
    """
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
    largest = weight.max()
    if not 1 / LARGEST_COUNT <= largest <= LARGEST_COUNT:
        weight, largest = weight / largest, 1.0
    return np.where(weight < LEAST_SHARE * largest, 0.0, weight)


def reduce_weights(weight: Any) -> NDArray[np.float64]:
    """Weights divided by the largest number from one that all are whole multiples of, (n,).

    A table in which every row stands twice says the same as the table itself: what is learned of
    it should not be more certain.

    Examples
    --------
    >>> reduce_weights([2.0, 4.0, 0.0, 6.0])
    array([1., 2., 0., 3.])
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


def varying_columns(X: Any) -> int:
    """How many columns of a dense table are not constant; the others are as if not there.

    Examples
    --------
    >>> varying_columns(np.array([[1.0, 2.0], [1.0, 3.0]]))
    1
    """
    return int((X[:1] != X).any(axis=0).sum())


def row_slices(n: int, rows: int) -> Iterator[slice]:
    """Slices of at most `rows` rows that cover n of them.

    Examples
    --------
    >>> list(row_slices(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, n, rows):
        yield slice(start, min(n, start + rows))


def lower_quantile(values: Any, weight: Any, share: float) -> float:
    """The first of the sorted values up to which at least this share of the weight lies.

    A share that is met exactly is not missed by rounding.

    Examples
    --------
    >>> import numpy as np
    >>> lower_quantile(np.array([3.0, 1.0, 2.0, 4.0]), np.ones(4), 0.5)
    2.0
    """
    return float(lower_quantiles(values, weight, (share,))[0])


def lower_quantiles(values: Any, weight: Any, shares: Sequence[float]) -> NDArray[np.float64]:
    """`lower_quantile` for several shares, (len(shares),), of values sorted once.

    Examples
    --------
    >>> import numpy as np
    >>> lower_quantiles(np.array([3.0, 1.0, 2.0, 4.0]), np.ones(4), [0.25, 0.5])
    array([1., 2.])
    """
    if len(weight) and weight[0] > 0 and (weight == weight[0]).all():
        wanted = np.ceil(np.asarray(shares) * len(weight) * (1 - 1e-12)).astype(np.intp) - 1
        wanted = np.clip(wanted, 0, len(weight) - 1)
        return np.asarray(np.partition(values, wanted)[wanted], dtype=np.float64)
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order], dtype=np.float64)
    place = np.searchsorted(reached, np.asarray(shares) * reached[-1] * (1 - 1e-12))
    return np.asarray(values[order[np.minimum(place, order.size - 1)]], dtype=np.float64)


def order_by_mass(mass: Any, tie: Any, tolerance: float = 1e-9) -> NDArray[np.intp]:
    """The order of clusters by decreasing mass, (c,); where masses tie, by decreasing `tie`.

    Masses tie where they follow on each other by no more than the tolerance, as a share of all:
    sums taken in another order, or memberships known to a tolerance, must not change names.

    Examples
    --------
    >>> import numpy as np
    >>> order_by_mass(np.array([1.0, 5.0, 5.0]), tie=np.array([9.0, 2.0, 3.0]))
    array([2, 1, 0])
    """
    shares = np.asarray(mass, dtype=np.float64) / max(float(np.sum(mass)), np.finfo(float).tiny)
    falling = np.argsort(-shares, kind="stable")
    ranks = np.empty(shares.size, dtype=np.intp)
    ranks[falling] = np.cumsum(-np.diff(shares[falling], prepend=shares[falling[:1]]) > tolerance)
    return np.lexsort((-np.asarray(tie), ranks))


def distinct_rows(
    X: Any, sample_weight: Any = None
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Index of one copy of every distinct row, and the summed weight of its copies.

    Rows of weight zero are left out: they are not there. The order of the result is that of the
    rows' contents, not that of the table.

    Examples
    --------
    >>> import numpy as np
    >>> index, weight = distinct_rows(np.array([[0.0], [1.0], [0.0]]))
    >>> sorted(zip(index.tolist(), weight.tolist()))
    [(0, 2.0), (1, 1.0)]
    """
    n = X.shape[0]
    weight = check_weights(sample_weight, n)
    rows = np.flatnonzero(weight > 0)
    first, group = groups_of_rows(X[rows] if rows.size < n else X)
    total = np.bincount(group, weights=weight[rows])
    return rows[first], total.astype(np.float64)


def share_among_copies(X: Any, A: NDArray[Any], sample_weight: Any) -> NDArray[Any]:
    """A (n, c) with what the copies of a row have together given to them by weight.

    For coefficients that only sums over copies determine, as those of a dual.

    Examples
    --------
    >>> import numpy as np
    >>> X, A = np.array([[0.0], [1.0], [0.0]]), np.array([[0.5], [0.5], [0.0]])
    >>> share_among_copies(X, A, np.ones(3)).ravel()
    array([0.25, 0.5 , 0.25])
    """
    weight = check_weights(sample_weight, X.shape[0])
    first, group = groups_of_rows(X)
    if first.size == X.shape[0]:
        return A
    total = np.bincount(group, weights=weight)
    share = weight / np.where(total > 0, total, 1.0)[group]
    sums = np.column_stack([np.bincount(group, weights=column) for column in A.T])
    return np.asarray(share[:, None] * sums[group], dtype=A.dtype)


def duplicate_groups(
    X: Any, sample_weight: Any = None
) -> tuple[NDArray[np.intp], NDArray[np.float64], float]:
    """What leave-the-copies-out leaves out of every row's sum.

    A row says nothing for itself, and copies of it no more: two equal errors of measurement are
    not typical for being two. A value that a larger part of the data has is: no more than 1 % of
    the weight is left out, or what the usual row holds where that is more, in a small table. All
    of it is a function of the weighted data, so that it is the same when every row is repeated.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    sample_weight : array of shape (n,), default=None

    Returns
    -------
    first : array of shape (n,)
        The number of the copy that stands for all copies of a row; a row without weight is not
        there, and stands for itself.
    left_out : array of shape (n,)
        The part of the copies that is left out, as a share of their own weight.
    company : float
        The share of all weight that this is at most.

    Examples
    --------
    >>> import numpy as np
    >>> first, left_out, company = duplicate_groups(np.array([[0.0], [1.0], [0.0], [2.0]]))
    >>> first.tolist(), left_out.tolist(), company
    ([0, 1, 0, 3], [0.5, 1.0, 0.5, 1.0], 0.25)
    """
    n = X.shape[0]
    weight = check_weights(sample_weight, n)
    there = np.flatnonzero(weight > 0)
    one, group = groups_of_rows(X[there] if there.size < n else X)
    mass = np.bincount(group, weights=weight[there] / weight.max())
    share = mass / mass.sum()
    company = max(COMPANY, lower_quantile(share, np.ones(share.size), 0.5))
    first, left_out = np.arange(n), np.ones(n)
    first[there] = there[one][group]
    left_out[there] = np.minimum(1.0, company / share)[group]
    return first, left_out, company


def row_uniforms(X: Any, seed: int = 0) -> NDArray[np.float64]:
    """One number in (0, 1) for every row of X, (n, d), made from the row's values and the seed.

    Equal rows get equal numbers. Multiplying a column by a constant leaves them as they are.

    Examples
    --------
    >>> import numpy as np
    >>> first, second, third = row_uniforms(np.array([[1.0], [5.0], [1.0]]))
    >>> first == third, first == second
    (np.True_, np.False_)
    """
    return _uniforms(_row_keys(_without_units(X)), seed)


def number_uniforms(numbers: Any, seed: int = 0) -> NDArray[np.float64]:
    """One number in (0, 1) for every whole number and the seed, the same wherever it is asked for.

    For rows in chunks, which are known by their numbers among all.

    Examples
    --------
    >>> bool(number_uniforms([7, 8])[1] == number_uniforms([8])[0])
    True
    """
    return _uniforms(np.asarray(numbers).astype(np.uint64), seed)


def lowest_numbers(count: int, size: int, seed: int = 0) -> NDArray[np.int64]:
    """At most `size` whole numbers below `count`, drawn by `number_uniforms`, in rising order.

    Examples
    --------
    >>> lowest_numbers(3, 5).tolist(), lowest_numbers(1000, 5).size
    ([0, 1, 2], 5)
    """
    kept, lots = np.empty(0, dtype=np.int64), np.empty(0)
    for some in row_slices(count, NUMBERS_AT_ONCE):
        numbers = np.arange(some.start, some.stop, dtype=np.int64)
        kept = np.concatenate([kept, numbers])
        lots = np.concatenate([lots, number_uniforms(numbers, seed)])
        if kept.size > size:
            lowest = np.argpartition(lots, size)[:size]
            kept, lots = kept[lowest], lots[lowest]
    return np.sort(kept)


def _uniforms(keys: NDArray[np.uint64], seed: int = 0) -> NDArray[np.float64]:
    keys = _mix(keys + _steps(seed))
    return ((keys >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def canonical_rows(
    X: Any, sample_weight: Any = None
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Distinct rows in a pseudo-random order that their values decide, and their weights.

    Whoever draws from cumulated weights in this order draws the same rows for any row order.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0], [5.0], [1.0]])
    >>> index, weight = canonical_rows(X)
    >>> sorted(zip(X[index, 0].tolist(), weight.tolist()))
    [(1.0, 2.0), (5.0, 1.0)]
    """
    index, weight = distinct_rows(X, sample_weight)
    order = np.argsort(_uniforms(_unitless_keys(X, index)))
    return index[order], weight[order]


def priority_sample(
    X: Any,
    size: int,
    sample_weight: Any = None,
    random_state: Any = 0,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """At most `size` distinct rows of X, with weights that stand for the whole of it.

    Priority sampling [1]_: row i gets the priority w_i / u_i with u_i uniform, the rows of highest
    priority are kept, and each then weighs max(w_i, t) where t is the first priority left out.
    Sums over the sample estimate sums over the data without bias. When all distinct rows fit,
    they are all returned with their exact weights.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    size : int
    sample_weight : array of shape (n,), default=None
    random_state : int, RandomState or None, default=0

    Returns
    -------
    index : array of shape (m,)
    weight : array of shape (m,)

    References
    ----------
    .. [1] N. Duffield, C. Lund, M. Thorup, "Priority sampling for estimation of arbitrary subset
       sums", J. ACM 54(6), 2007. :doi:`10.1145/1314690.1314696`

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(10.0)[:, None]
    >>> index, weight = priority_sample(X, 4)
    >>> shuffled, _ = priority_sample(X[::-1], 4)
    >>> sorted(X[index, 0]) == sorted(X[::-1][shuffled, 0])
    True
    """
    index, weight = distinct_rows(X, sample_weight)
    if index.size <= size:
        return index, weight
    seed = child_seed(random_state)
    priority = weight / _uniforms(_unitless_keys(X, index), seed)
    order = np.argpartition(-priority, size)
    kept = np.sort(order[:size])
    return index[kept], np.maximum(weight[kept], priority[order[size]])


@contextmanager
def remembered(X: Any, like: Any = None, distinct_of: Any = None) -> Iterator[None]:
    """Within, which rows of this array are alike is found out once; it must not change there.

    Of a million rows that takes a second, and a fit asks ten times. Nothing new is to be found out
    where X has the rows of another array in other units (`like`), or those that `distinct_rows`
    gives of it, in that order (`distinct_of`).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0], [5.0], [1.0]])
    >>> with remembered(X):
    ...     index, weight = distinct_rows(X)
    >>> weight.sum()
    np.float64(3.0)
    """
    known = None if like is None else _known(like)
    rows = _Rows(X, known)
    whole = None if distinct_of is None else _known(distinct_of)
    if whole is not None and whole.groups[0].size == X.shape[0]:
        each = np.arange(X.shape[0])
        rows.groups, rows.unitless_keys = (each, each), whole.unitless_keys
    token = _remembered.set((*_remembered.get(), rows))
    try:
        yield
    finally:
        _remembered.reset(token)


class _Rows:
    """An array, and what was found out of its rows."""

    def __init__(self, X: Any, known: _Rows | None = None) -> None:
        self.X, self.known = X, known

    def are(self, X: Any) -> bool:
        """Whether this is the same array, or another view of all of its numbers."""
        if X is self.X or sp.issparse(X) or sp.issparse(self.X):
            return X is self.X
        one, two = X.__array_interface__, self.X.__array_interface__
        return bool(one == two)

    @cached_property
    def groups(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The first of every group of equal rows, and the group of every row."""
        return _grouped(_row_keys(self.X)) if self.known is None else self.known.groups

    @cached_property
    def unitless_keys(self) -> NDArray[np.uint64]:
        """Keys of the distinct rows, in the order of the groups."""
        if self.known is not None:
            return self.known.unitless_keys
        return _row_keys(_without_units(self.X[self.groups[0]]))


_remembered: ContextVar[tuple[_Rows, ...]] = ContextVar("_remembered", default=())


def _known(X: Any) -> _Rows | None:
    """What is remembered of an array, the innermost first."""
    return next((rows for rows in reversed(_remembered.get()) if rows.are(X)), None)


def groups_of_rows(X: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first of every group of equal rows, and the group of every row.

    Examples
    --------
    >>> import numpy as np
    >>> first, group = groups_of_rows(np.array([[0.0], [1.0], [0.0]]))
    >>> bool(group[0] == group[2] != group[1])
    True
    """
    known = _known(X)
    return _grouped(_row_keys(X)) if known is None else known.groups


def _grouped(keys: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    return first, group.ravel()


def _unitless_keys(X: Any, index: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Keys of rows of X that do not depend on units; `index` are those of `distinct_rows`."""
    known = _known(X)
    if known is not None and np.array_equal(index, known.groups[0]):
        return known.unitless_keys
    return _row_keys(_without_units(X[index]))


def _mix(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: every bit of the input moves every bit of the output."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _steps(count: Any) -> NDArray[np.uint64]:
    """Odd multiples that keep columns and seeds apart; an array, whose overflow is meant."""
    return np.atleast_1d(np.asarray(count)).astype(np.uint64) * _STEP


def _terms(values: NDArray[Any], column: Any) -> NDArray[np.uint64]:
    """What each value adds to its row's key; zero adds nothing, so sparse rows stay short."""
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    terms = _mix(bits + _steps(column + 1))
    terms[values == 0] = 0
    return terms


def _row_keys(X: Any) -> NDArray[np.uint64]:
    """A 64-bit key of every row's exact values, the same for a dense and a sparse table."""
    if sp.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        total = np.concatenate([[np.uint64(0)], np.cumsum(_terms(X.data, X.indices))])
        return _mix(total[X.indptr[1:]] - total[X.indptr[:-1]])
    keys = np.zeros(X.shape[0], dtype=np.uint64)
    for column in range(X.shape[1]):
        keys += _terms(X[:, column], column)
    return _mix(keys)


def _without_units(X: Any) -> Any:
    """Columns centered and divided by their reach, rounded so that a change of unit is not seen."""
    if sp.issparse(X):
        # Centering would fill the zeros; the sign-free reach alone removes the unit.
        reach = np.asarray(abs(X).max(axis=0).todense(), dtype=np.float64).ravel()
        scaled = X.tocsr().astype(np.float64) @ sp.diags_array(_inverse(reach))
        scaled.data = scaled.data.astype(np.float32)
        return scaled
    centered = X - np.median(X, axis=0)
    return (centered * _inverse(np.abs(centered).max(axis=0))).astype(np.float32)


def _inverse(reach: NDArray[Any]) -> NDArray[Any]:
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(reach > 0, 1.0 / reach, 0.0))
