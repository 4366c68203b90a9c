"""What operators share whose matrix is an array: the dense one and that of a given matrix."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from softkern._utils.typing import Array
from softkern.operators.base import KernelOperator, ProblemSize

__all__ = ["GramOperator", "product_seconds"]

# Of the reference machine (benchmarks/calibrate.py)
CACHE_BYTES = 16 * 2**20  # a matrix of no more than these stays in the caches
CACHE_BANDWIDTH = 1e11  # bytes a second of a product with one vector
MEMORY_BANDWIDTH = 3e10  # the same, of larger matrices
VALUES_PER_SECOND = 1.5e10  # float64 values times vectors, where there are several
FLOAT32_SPEED = 2.0  # times float64


class GramOperator(KernelOperator):
    """K as an array of n × n numbers."""

    @property
    @abstractmethod
    def gram(self) -> Array:
        """The matrix, (n, n)."""

    def _product(self, A: Array) -> Array:
        return np.asarray(self.gram @ A)

    def columns(self, index: Any) -> Array:
        """Columns of K as an array, (n, len(index))."""
        return np.ascontiguousarray(self.gram[:, np.atleast_1d(np.asarray(index))])

    def entries(self, rows: Any, columns: Any) -> Array:
        """Values (len(rows), len(columns)) of K."""
        return np.asarray(self.gram[np.ix_(rows, columns)])

    def partial_product(self, index: Any, A: Any) -> Array:
        """K @ A, (n, c), for an A that is zero but in the rows `index`, A (len(index), c)."""
        if 4 * len(index) > self.shape[0]:
            return super().partial_product(index, A)
        # K is symmetric, and its rows lie together
        return np.asarray((np.ascontiguousarray(A.T, self.dtype) @ self.gram[index]).T)

    @property
    def error(self) -> float:
        """Rounding of sums over n terms, as a share of ``Σ |A|``."""
        return super().error * max(1.0, float(np.sqrt(self.shape[0])) / 16)


def product_seconds(work: ProblemSize) -> float:
    """Seconds of a product with n × n numbers in memory."""
    numbers = work.n**2 * work.itemsize
    seconds = numbers / (CACHE_BANDWIDTH if numbers < CACHE_BYTES else MEMORY_BANDWIDTH)
    if work.n_vectors > 1:
        speed = FLOAT32_SPEED if work.itemsize == 4 else 1.0
        seconds += work.n**2 * work.n_vectors / (VALUES_PER_SECOND * speed)
    return seconds
