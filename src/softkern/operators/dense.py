"""The Gram matrix, formed once and kept: the fastest product where n × n numbers fit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from sklearn import config_context

from softkern._utils.typing import Array
from softkern.operators._gram import GramOperator, product_seconds
from softkern.operators.base import (
    Cost,
    ProblemSize,
    available_threads,
    blocked_product,
    one_blas_thread,
)
from softkern.rows import row_slices

__all__ = ["DenseOperator"]

SQUARE = 512  # rows and columns computed at once
ARRAYS_A_TASK = 4  # squares of float64 that a thread holds while it computes one

# Of the reference machine (benchmarks/calibrate.py)
VALUE_SECONDS = 8e-9  # of one thread, for an entry of the matrix
COLUMN_SECONDS = 1.8e-10  # and for every column of the data


class DenseOperator(GramOperator):
    """K as an array of n × n numbers, formed when it is first multiplied.

    Parameters
    ----------
    kernel : softkern.kernels.Kernel
    X : array or CSR matrix of shape (n, d)

    Attributes
    ----------
    gram : array of shape (n, n)

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.kernels import Gaussian
    >>> operator = DenseOperator(Gaussian(1.0), np.array([[0.0], [1.0]]))
    >>> (operator @ np.array([1.0, 0.0])).round(4)
    array([1.    , 0.6065])
    """

    engine: ClassVar[str] = "dense"
    supports_prediction: ClassVar[bool] = False

    @cached_property
    def gram(self) -> Array:
        """Squares on and above the diagonal, mirrored: half the work, symmetric to the last bit."""
        n = self.X.shape[0]
        gram = np.empty((n, n), dtype=self.dtype)
        slices = list(row_slices(n, SQUARE))

        def fill(square: tuple[slice, slice]) -> None:
            rows, columns = square
            with config_context(assume_finite=True):  # X has been checked
                block = self.kernel.block(self.X[rows], self.X[columns])
            if rows == columns:
                block = (block + block.T) / 2
            gram[rows, columns] = block
            gram[columns, rows] = block.T

        squares = [(rows, columns) for i, rows in enumerate(slices) for columns in slices[i:]]
        with one_blas_thread(), ThreadPoolExecutor(available_threads()) as pool:
            list(pool.map(fill, squares))
        np.fill_diagonal(gram, self.diag())
        return gram

    def _cross_product(self, X_new: Any, A: Array) -> Array:
        return blocked_product(self.kernel, X_new, self.X, A)

    @classmethod
    def refusal(cls, work: ProblemSize) -> str | None:
        """Any kernel of points, any data; only the memory may be missing."""
        if not work.kernel.takes_points:
            return "the kernel is a matrix already; use engine='precomputed'"
        return None

    @classmethod
    def cost(cls, work: ProblemSize, **options: Any) -> Cost:
        """n² numbers, one kernel value each to build and one multiplication each to use."""
        numbers = work.n**2 * work.itemsize
        memory = numbers + ARRAYS_A_TASK * work.threads * min(SQUARE**2 * 8, numbers)
        memory += 2 * (work.vectors + work.values * work.itemsize) + 2**20
        seconds = work.n**2 * (VALUE_SECONDS + COLUMN_SECONDS * work.d) / work.threads
        return Cost(memory, seconds, product_seconds(work))
