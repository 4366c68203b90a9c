"""Input checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from softkern._utils.arrays import namespace
from softkern._utils.typing import Array
from softkern.exceptions import DataError, Remedy
from softkern.operators.base import KernelOperator
from softkern.rows import column_ranges

FEWEST_DIGITS = 16.0  # least ratio of the largest squared distance to its rounding error
PROBE = 256  # rows on which an unknown kernel is checked


def check_scales(X: Any) -> None:
    """Raise an error for columns whose values overflow in sums, or underflow in products."""
    numbers = np.finfo(X.dtype)
    low, high = column_ranges(X)
    largest = np.maximum(high, -low)
    column = int(np.argmax(largest))
    if largest[column] > numbers.max * numbers.eps:
        values = X[:, [column]].toarray() if sp.issparse(X) else X[:, [column]]
        row = int(np.argmax(np.abs(values)))
        raise DataError(
            f"column {column} holds {values[row, 0]:.6g} in row {row}, too large for sums in "
            f"{X.dtype}. Correct or remove that row, or divide the column by a constant."
        )
    extent = high - low
    narrow = np.flatnonzero((extent > 0) & (extent < numbers.tiny / numbers.eps))
    if narrow.size:
        column = int(narrow[0])
        raise DataError(
            f"the values of column {column} differ by at most {extent[column]:.3g}, too little for "
            f"products in {X.dtype}. Multiply the column by a constant, or leave it out."
        )


def check_n_clusters(n_clusters: int, n: int) -> None:
    """Raise an error for more clusters than samples."""
    if n_clusters > n:
        raise DataError(
            f"cannot form {n_clusters} clusters from n_samples = {n}.",
            [Remedy("n_clusters", n, "or fewer")],
        )


def check_distinct(n_clusters: int, operator: KernelOperator, weight: Array) -> None:
    """Raise an error for more clusters than distinct samples of positive weight."""
    count = operator.support_rows.reweighted(weight).distinct[0].size
    if count < n_clusters:
        check_n_clusters(n_clusters, operator.shape[0])
        raise DataError(
            f"cannot form {n_clusters} clusters: only {count} of the {operator.shape[0]} rows are "
            "different.",
            [Remedy("n_clusters", count, "or fewer")],
        )


def check_apart(operator: KernelOperator, weight: Array) -> None:
    """Raise an error for samples whose distances in feature space are lost in rounding."""
    least = FEWEST_DIGITS * operator.distance_error
    with np.errstate(over="ignore", invalid="ignore"):
        # no two samples are further apart than twice the largest distance from the mean
        from_one = np.asarray(operator.distances_to_rows([np.argmax(weight)]))[weight > 0].max()
        if 4 * least < from_one < np.inf:
            return
        distances = np.asarray(operator.squared_distances(weight / weight.sum()))
        largest = distances[weight > 0].max()
    kernel = operator.kernel
    if not np.isfinite(largest):
        raise DataError(f"values of {kernel!r} overflow in {operator.dtype}. Scale the data down.")
    rows = operator.support_rows.reweighted(weight)
    if largest > least or rows.distinct[0].size < 2:  # all samples are equal
        return
    remedy = "Center and scale the data, or use another kernel"
    if kernel.has_bandwidth:
        remedy = "Use a smaller bandwidth"
    raise DataError(
        f"{kernel!r} cannot distinguish these samples in {operator.dtype}: their squared distances "
        f"from the mean in feature space are at most {largest:.3g}, below the rounding error. "
        f"{remedy}."
    )


def check_start(init: Any, n_clusters: int, weight: Array) -> Array:
    """Check initial memberships or weights, (n, c), in the library of the weights."""
    start = namespace(weight).asarray(init, dtype=weight.dtype)
    if start.shape != (weight.size, n_clusters):
        raise ValueError(f"init has shape {start.shape}, expected ({weight.size}, {n_clusters}).")
    if not (np.isfinite(start).all() and (start >= 0).all() and (weight @ start > 0).all()):
        raise ValueError("init must be finite and nonnegative, and no column may be all zero.")
    return start


def check_semidefinite(operator: KernelOperator) -> None:
    """Raise an error for a kernel without distances; an unknown one is checked on some rows."""
    if operator.kernel.is_positive_semidefinite:
        return
    if operator.kernel.is_positive_semidefinite is False:
        raise ValueError(
            f"{operator.kernel!r} is not positive semidefinite and defines no distances. Use "
            "'rbf', 'laplacian', 'linear', or 'poly' with coef0 ≥ 0."
        )
    rows = np.unique(np.linspace(0, operator.shape[0] - 1, PROBE).astype(np.intp))
    values = np.asarray(operator.entries(rows, rows), dtype=np.float64)
    spectrum = np.linalg.eigvalsh((values + values.T) / 2)
    if spectrum[0] < -100 * np.finfo(operator.dtype).eps * rows.size * np.abs(spectrum).max():
        raise ValueError(
            "the kernel is not positive semidefinite on these data and defines no distances: "
            f"the matrix of {rows.size} rows has the eigenvalue {spectrum[0]:.3g}. Use another "
            "kernel, such as 'rbf', or remove the negative eigenvalues of the matrix."
        )
