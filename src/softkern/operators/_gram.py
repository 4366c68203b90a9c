"""What operators share whose matrix is an array: the dense one and that of a given matrix."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from softkern._utils.typing import Array
from softkern.operators.base import KernelOperator

__all__ = ["GramOperator"]


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
