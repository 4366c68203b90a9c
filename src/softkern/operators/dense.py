"""The Gram matrix, formed once and kept: the fastest product where n × n numbers fit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from sklearn import config_context

from softkern._utils.threads import available_threads, one_thread
from softkern._utils.typing import Array
from softkern.operators._gram import GramOperator
from softkern.operators.base import blocked_product
from softkern.rows import row_slices

__all__ = ["DenseOperator"]

SQUARE = 512  # rows and columns computed at once


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
        with one_thread("blas"), ThreadPoolExecutor(available_threads()) as pool:
            list(pool.map(fill, squares))
        np.fill_diagonal(gram, self.diag())
        return gram

    def _cross_product(self, X_new: Any, A: Array) -> Array:
        return blocked_product(self.kernel, X_new, self.X, A)
