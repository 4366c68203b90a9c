"""The Gram matrix, formed once and kept: the fastest product where n × n numbers fit.

Also the operator of a precomputed kernel, whose matrix is the data.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from softkern.kernels import Kernel, Precomputed
from softkern.operators.base import (
    Cost,
    CrossOperator,
    KernelOperator,
    Workload,
    blocked_product,
    row_blocks,
)

__all__ = ["DenseOperator"]

Array = NDArray[Any]

SQUARE = 1024  # rows and columns computed at once


class DenseOperator(KernelOperator):
    """K as an array of n × n numbers.

    Parameters
    ----------
    kernel : softkern.kernels.Kernel
    X : array or CSR matrix of shape (n, d)
        For `softkern.kernels.Precomputed`, the symmetric Gram matrix itself.

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

    def __init__(self, kernel: Kernel, X: Any) -> None:
        super().__init__(kernel, X)
        if isinstance(kernel, Precomputed):
            _check_gram(self.X)
            self.gram = self.X
        else:
            self.gram = self._build()

    def _build(self) -> Array:
        """Blocks on and above the diagonal, mirrored: half the work, symmetric to the last bit."""
        n = self.X.shape[0]
        gram = np.empty((n, n), dtype=self.dtype)
        slices = [slice(i, min(n, i + SQUARE)) for i in range(0, n, SQUARE)]
        for i, rows in enumerate(slices):
            for columns in slices[i:]:
                block = self.kernel.block(self.X[rows], self.X[columns])
                if rows == columns:
                    block = (block + block.T) / 2
                gram[rows, columns] = block
                gram[columns, rows] = block.T
        if self.kernel.is_shift_invariant:
            np.fill_diagonal(gram, self.kernel.diag(self.X[:1])[0])
        return gram

    def _product(self, A: Array) -> Array:
        return np.asarray(self.gram @ A)

    def _cross_product(self, X_new: Any, A: Array) -> Array:
        if isinstance(self.kernel, Precomputed):
            return np.asarray(X_new @ A)
        return blocked_product(self.kernel, X_new, self.X, A)

    def diag(self) -> Array:
        """Kernel value of every support point with itself, (n,)."""
        return np.array(self.gram.diagonal())

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
        return np.asarray((np.ascontiguousarray(A.T) @ self.gram[index]).T)

    def compressed(self, A: Any, nonnegative: bool = False) -> tuple[Any, Array]:
        """Support points and coefficients that give the same centres: (X_s, A_s).

        Of a precomputed kernel all rows stay: new points come with their values for all.
        """
        if isinstance(self.kernel, Precomputed):
            return self.X, self._check_columns(A)[0]
        return super().compressed(A, nonnegative)

    def cross(self, X_new: Any, diag: Any = None) -> CrossOperator:
        """The matrix of kernel values between new points (rows) and the support (columns).

        For a precomputed kernel X_new holds these values, and `diag` the new points' values with
        themselves; without it they are taken to be those of the support where these are all equal.
        """
        if isinstance(self.kernel, Precomputed):
            return _PrecomputedCross(self, X_new, diag)
        return super().cross(X_new)

    def _log_product(self, queries: Any, product: Array, A: Array) -> Array:
        if not isinstance(self.kernel, Precomputed):
            return super()._log_product(queries, product, A)
        if (product < 0).any():
            raise ValueError("the precomputed kernel gives negative sums; they have no logarithm.")
        with np.errstate(divide="ignore"):  # nothing but the matrix is known of the kernel
            return np.asarray(np.log(product))

    @property
    def error(self) -> float:
        """Rounding of sums over n terms, as a share of ``Σ |A|``."""
        return super().error * max(1.0, float(np.sqrt(self.shape[0])) / 16)

    def _largest_value(self) -> float:
        if self.kernel.is_positive_semidefinite:
            return super()._largest_value()
        return float(np.abs(self.gram).max())

    @classmethod
    def unfit(cls, work: Workload) -> str | None:
        """Never: any kernel, any data; only the memory may be missing."""
        if isinstance(work.kernel, Precomputed) and work.n != work.d:
            return f"a precomputed kernel must be square, got shape ({work.n}, {work.d})"
        if isinstance(work.kernel, Precomputed) and work.is_sparse:
            return "a precomputed kernel must be a dense array"
        return None

    @classmethod
    def cost(cls, work: Workload) -> Cost:
        """n² numbers, one exponential each to build and one multiplication each to use."""
        pairs, numbers = work.n**2, work.n**2 * work.itemsize
        is_given = isinstance(work.kernel, Precomputed)
        speed = 2.0 if work.itemsize == 4 else 1.0
        memory = 0 if is_given else numbers + 4 * min(SQUARE**2 * 8, numbers)
        memory += 2 * (work.n * work.columns + work.values) * work.itemsize + 2**20
        setup = 0.0 if is_given else pairs * (1e-8 + 4e-11 * work.d)
        product = numbers / (1e11 if numbers < 16 * 2**20 else 3e10)
        if work.columns > 1:
            product += pairs * work.columns / (1.5e10 * speed)
        return Cost(memory, setup, product)


class _PrecomputedCross(CrossOperator):
    """New points known only by their kernel values with the support."""

    def __init__(self, support: DenseOperator, X_new: Any, diag: Any) -> None:
        super().__init__(support, X_new)
        self._diag = None if diag is None else np.asarray(diag, dtype=support.dtype)
        if self._diag is not None and self._diag.shape != (self.shape[0],):
            raise ValueError(f"diag has shape {self._diag.shape}; it must be ({self.shape[0]},).")

    def diag(self) -> Array:
        """Kernel value of every new point with itself, (m,)."""
        if self._diag is not None:
            return self._diag
        known = self.support.diag()
        if not np.allclose(known, known[0], rtol=1e-6):
            raise ValueError(
                "the kernel values of new points with themselves are not known: the support's "
                "differ from each other. Give cross(X_new, diag=...)."
            )
        return np.full(self.shape[0], known[0], dtype=self.support.dtype)


def _check_gram(gram: Array) -> None:
    """Refuse a matrix that is not symmetric, a block of rows at a time."""
    scale = float(np.abs(gram).max())
    tolerance = 1e4 * np.finfo(gram.dtype).eps * scale
    for rows in row_blocks(len(gram), len(gram), gram.itemsize):
        gap = float(np.abs(gram[rows] - gram[:, rows].T).max())
        if gap > tolerance:
            raise ValueError(
                f"the precomputed kernel is not symmetric: entries differ from their mirror by up "
                f"to {gap:.3g}. Give (K + K.T) / 2."
            )
