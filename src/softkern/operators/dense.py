"""The Gram matrix, formed once and kept: the fastest product where n × n numbers fit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import numpy as np
from sklearn import config_context

from softkern._utils.threads import available_threads, one_thread
from softkern._utils.typing import Array
from softkern.operators.base import KernelOperator, blocked_product
from softkern.rows import row_slices

SQUARE = 512  # rows and columns computed at once


class DenseOperator(KernelOperator):
    """K as an array of n × n numbers (`gram`), formed when it is first multiplied."""

    engine: ClassVar[str] = "dense"

    @cached_property
    def gram(self) -> Array:
        """Squares on and above the diagonal, mirrored: half the work, symmetric to the last bit."""
        n = self.X.shape[0]
        gram = np.empty((n, n), dtype=self.dtype)

        def fill(square: tuple[slice, slice]) -> None:
            rows, columns = square
            with config_context(assume_finite=True):  # X has been checked
                block = self.kernel.block(self.X[rows], self.X[columns])
            if rows == columns:
                block = (block + block.T) / 2
            gram[rows, columns] = block
            gram[columns, rows] = block.T

        squares = combinations_with_replacement(row_slices(n, SQUARE), 2)
        with one_thread("blas"), ThreadPoolExecutor(available_threads()) as pool:
            list(pool.map(fill, squares))
        np.fill_diagonal(gram, self._diagonal)
        return gram

    def _product(self, A: Array) -> Array:
        return np.asarray(self.gram @ A)

    def _cross_product(self, X_new: Any, A: Array) -> Array:
        return blocked_product(self.kernel, X_new, self.X, A)

    def columns(self, index: Any) -> Array:
        return np.ascontiguousarray(self.gram[:, np.atleast_1d(index)])

    def entries(self, rows: Any, columns: Any) -> Array:
        return np.asarray(self.gram[np.ix_(rows, columns)])

    def partial_product(self, index: Any, A: Any) -> Array:
        if 4 * len(index) > self.shape[0]:
            return super().partial_product(index, A)
        # K is symmetric, and its rows lie together
        return np.asarray((np.ascontiguousarray(A.T, self.dtype) @ self.gram[index]).T)

    @property
    def error(self) -> float:
        """Rounding of sums over n terms, as a share of ``Σ |A|``."""
        return super().error * max(1.0, float(np.sqrt(self.shape[0])) / 16)
