"""A Gram matrix that is given: the data are the kernel values themselves."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from softkern._utils.typing import Array
from softkern.kernels import Kernel
from softkern.operators.base import CrossOperator, ProblemSize, row_blocks
from softkern.operators.dense import DenseOperator

ASYMMETRY = 1e4  # units in the last place of the largest value, between an entry and its mirror


class PrecomputedOperator(DenseOperator):
    """K as the symmetric matrix X (n, n); new points are their kernel values with the support."""

    engine: ClassVar[str] = "precomputed"

    def __init__(self, kernel: Kernel, X: Any) -> None:
        super().__init__(kernel, X)
        allowed = ASYMMETRY * np.finfo(self.dtype).eps * self._largest_value()
        for block in row_blocks(self.shape[0], self.shape[0], self.X.itemsize):
            gap = float(np.abs(self.X[block] - self.X[:, block].T).max())
            if gap > allowed:
                raise ValueError(
                    f"the precomputed kernel is not symmetric: entries differ from their mirror by "
                    f"up to {gap:.3g}. Give (K + K.T) / 2."
                )

    @cached_property
    def gram(self) -> Array:
        return np.asarray(self.X)

    def _cross_product(self, X_new: Any, A: Array) -> Array:
        return np.asarray(X_new @ A)

    @cached_property
    def _diagonal(self) -> Array:
        return np.array(self.gram.diagonal())

    def cross(self, X_new: Any, diag: Any = None) -> CrossOperator:
        """New points as their kernel values with the support, (m, n).

        `diag` holds their values with themselves (default: those of the support, if all equal).
        """
        return _GivenValues(self, X_new, diag)

    def compressed(self, A: Any, nonnegative: bool = False) -> tuple[Array, Any, Array]:
        """Where diagonal values differ all rows stay: fewer of them might all be equal."""
        if self.has_equal_diagonal:
            return super().compressed(A, nonnegative)
        return np.arange(self.shape[0]), self.X.copy(), self._check_columns(A)[0]

    @cached_property
    def has_equal_diagonal(self) -> bool:
        """Whether all points have the same kernel value with themselves."""
        return bool(np.allclose(self._diagonal, self._diagonal[0], rtol=1e-6, atol=0))

    def _largest_value(self) -> float:
        return max(float(self.X.max()), -float(self.X.min()))  # without a second matrix

    @classmethod
    def unsupported_reason(cls, problem: ProblemSize) -> str | None:
        if problem.kernel.takes_points:
            return "it takes a Gram matrix, with kernel='precomputed'"
        if problem.n != problem.d:
            return f"a precomputed kernel must be square, got shape ({problem.n}, {problem.d})"
        if problem.is_sparse:
            return "a precomputed kernel must be a dense array"
        return None


class _GivenValues(CrossOperator):
    """New points known only by their kernel values with the support."""

    def __init__(self, support: PrecomputedOperator, X_new: Any, diag: Any) -> None:
        super().__init__(support, X_new)
        if diag is None and support.has_equal_diagonal:
            diag = np.full(self.shape[0], support.diag()[0])
        self.lengths_are_known = diag is not None
        self._given = None if diag is None else np.asarray(diag, dtype=support.dtype)
        if self._given is not None and self._given.shape != (self.shape[0],):
            raise ValueError(f"diag has shape {self._given.shape}; it must be ({self.shape[0]},).")

    @property
    def _diagonal(self) -> Array:
        if self._given is None:
            raise ValueError(
                "the kernel values of new points with themselves are not known: the support's "
                "differ from each other. Give cross(X_new, diag=...)."
            )
        return self._given
