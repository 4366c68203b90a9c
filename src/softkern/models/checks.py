"""What models ask of their data before any long work."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from softkern._utils.arrays import namespace
from softkern._utils.typing import Array
from softkern.exceptions import DataError, Remedy
from softkern.operators.base import KernelOperator

__all__ = [
    "FEWEST_DIGITS",
    "check_apart",
    "check_distinct",
    "check_n_clusters",
    "check_scales",
    "check_semidefinite",
    "check_start",
]

FEWEST_DIGITS = 16.0  # times the rounding that the largest squared distance must have
HEAD = 4096  # rows that are looked at first
PROBE = 256  # rows on which an unknown kernel is tried


def check_scales(X: Any) -> None:
    """Refuse columns whose values, or the differences of them, are no numbers to compute with."""
    numbers = np.finfo(X.dtype)
    low, high = (_along(X.min(axis=0)), _along(X.max(axis=0)))
    largest = np.maximum(high, -low)
    column = int(np.argmax(largest))
    if largest[column] > numbers.max * numbers.eps:
        values = _along(X[:, [column]])
        row = int(np.argmax(np.abs(values)))
        raise DataError(
            f"column {column} holds {values[row]:.6g} in row {row}, too large for sums in "
            f"{X.dtype}; correct or remove that row, or divide the column by a constant."
        )
    reach = high - low
    narrow = np.flatnonzero((reach > 0) & (reach < numbers.tiny / numbers.eps))
    if narrow.size:
        column = int(narrow[0])
        raise DataError(
            f"the values of column {column} differ by {reach[column]:.3g} at most, too little for "
            f"products in {X.dtype}; multiply the column by a constant, or leave it out."
        )


def _along(values: Any) -> Array:
    """One row or column of an array or a sparse matrix, as a vector."""
    return np.asarray(values.toarray() if sp.issparse(values) else values).ravel()


def check_n_clusters(n_clusters: int, n: int) -> None:
    """Refuse more clusters than points."""
    if n_clusters > n:
        raise DataError(
            f"cannot form {n_clusters} clusters from n_samples = {n}.",
            [Remedy("n_clusters", n, "or fewer")],
        )


def check_distinct(n_clusters: int, operator: KernelOperator, weight: Array) -> None:
    """Refuse more clusters than different points of positive weight."""
    check_n_clusters(n_clusters, operator.shape[0])
    head = np.where(np.arange(weight.size) < max(HEAD, n_clusters), weight, 0)
    if head.any() and operator.distinct_rows(head)[0].size >= n_clusters:
        return  # most tables show enough of them at once
    count = operator.distinct_rows(weight)[0].size
    if count < n_clusters:
        raise DataError(
            f"cannot form {n_clusters} clusters: only {count} of the {operator.shape[0]} rows are "
            "different.",
            [Remedy("n_clusters", count, "or fewer")],
        )


def check_apart(operator: KernelOperator, weight: Array) -> None:
    """Refuse points whose distances in feature space vanish in the rounding of kernel values."""
    least = FEWEST_DIGITS * operator.distance_error
    some = int(np.argmax(weight))
    with np.errstate(over="ignore", invalid="ignore"):
        # no two points are further from each other than twice the furthest is from the mean
        from_one = float(np.asarray(operator.distances_to_rows([some]))[weight > 0].max())
        if 4 * least < from_one < np.inf:
            return
        distances = np.asarray(operator.squared_distances(weight / weight.sum()))
        largest = float(distances[weight > 0].max())
    kernel = operator.kernel
    if not np.isfinite(largest):
        raise DataError(f"values of {kernel!r} overflow in {operator.dtype}; scale the data down.")
    if largest > least:
        return
    if operator.distinct_rows(weight)[0].size < 2:  # there is one point only
        return
    remedy = (
        "use a smaller bandwidth"
        if kernel.has_bandwidth
        else "center and scale the data, or take another kernel"
    )
    raise DataError(
        f"{kernel!r} cannot tell these points apart in {operator.dtype}: their squared distances "
        f"from the mean in feature space are at most {largest:.3g}, and vanish in the rounding; "
        f"{remedy}."
    )


def check_start(init: Any, n_clusters: int, weight: Array) -> Array:
    """Start memberships or weights given by the user, (n, c), in the library of the weights."""
    start = namespace(weight).asarray(init, dtype=weight.dtype)
    if start.shape != (weight.size, n_clusters):
        raise ValueError(f"init has shape {start.shape}; it must be ({weight.size}, {n_clusters}).")
    if not (np.isfinite(start).all() and (start >= 0).all() and (weight @ start > 0).all()):
        raise ValueError("init must be finite and not negative, and no column all zero.")
    return start


def check_semidefinite(operator: KernelOperator) -> None:
    """Refuse a kernel that is not positive semidefinite: squared distances would be negative.

    Where it is not known of the kernel, the values between some rows are looked at.
    """
    known = operator.kernel.is_positive_semidefinite
    if known is False:
        raise ValueError(
            f"{operator.kernel!r} is not positive semidefinite, so that it has no distances; use "
            "'rbf', 'laplacian', 'linear', or 'poly' with coef0 ≥ 0."
        )
    if known is None:
        rows = np.unique(np.linspace(0, operator.shape[0] - 1, PROBE).astype(np.intp))
        values = np.asarray(operator.entries(rows, rows), dtype=np.float64)
        spectrum = np.linalg.eigvalsh((values + values.T) / 2)
        if spectrum[0] < -100 * np.finfo(operator.dtype).eps * rows.size * np.abs(spectrum).max():
            raise ValueError(
                "the kernel is not positive semidefinite on these data, so that it has no "
                f"distances: the matrix of {rows.size} rows has the eigenvalue {spectrum[0]:.3g}. "
                "Use a kernel that is, such as 'rbf', or the matrix less its negative part."
            )
