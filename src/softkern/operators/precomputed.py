"""A Gram matrix that is given: the data are the kernel values themselves."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from softkern._utils.typing import Array
from softkern.kernels import Kernel
from softkern.operators._gram import GramOperator
from softkern.operators.base import CrossOperator, ProblemSize, row_blocks
from softkern.operators.log_sums import LogKernelSum

__all__ = ["PrecomputedOperator"]

ASYMMETRY = 1e4  # units in the last place of the largest value, between an entry and its mirror


class PrecomputedOperator(GramOperator):
    """K as the matrix that was given; new points come as their kernel values with the support.

    Parameters
    ----------
    kernel : Precomputed
    X : symmetric array of shape (n, n)

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.kernels.wrapped import Precomputed
    >>> operator = PrecomputedOperator(Precomputed(), np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> operator @ np.array([1.0, 0.0])
    array([1. , 0.5])
    """

    engine: ClassVar[str] = "precomputed"

    def __init__(self, kernel: Kernel, X: Any) -> None:
        super().__init__(kernel, X)
        _check_symmetric(self.X)

    @property
    def gram(self) -> Array:
        """The matrix given."""
        gram: Array = self.X
        return gram

    def _cross_product(self, X_new: Any, A: Array) -> Array:
        return np.asarray(X_new @ A)

    @cached_property
    def _diagonal(self) -> Array:
        return np.array(self.gram.diagonal())

    def cross(self, X_new: Any, diag: Any = None) -> CrossOperator:
        """New points as their kernel values with the support, (m, n).

        `diag` holds their values with themselves; without it they are taken to be those of the
        support where these are all equal.
        """
        return _GivenValues(self, X_new, diag)

    def compressed(self, A: Any, nonnegative: bool = False) -> tuple[Array, Array]:
        """Where diagonal values differ all rows stay: fewer of them might all be equal."""
        if self._has_equal_diagonal:
            return super().compressed(A, nonnegative)
        return np.arange(self.shape[0]), self._check_columns(A)[0]

    @cached_property
    def _has_equal_diagonal(self) -> bool:
        diag = self.diag()
        return bool(np.allclose(diag, diag[0], rtol=1e-6, atol=0))

    def _largest_value(self) -> float:
        return _largest(self.gram)

    @cached_property
    def _far_sums(self) -> LogKernelSum:
        return _GivenSums(self.kernel, self.X)

    @classmethod
    def unsupported_reason(cls, problem: ProblemSize) -> str | None:
        """A dense, square matrix only."""
        if problem.kernel.takes_points:
            return "it takes a Gram matrix, with kernel='precomputed'"
        if problem.n != problem.d:
            return f"a precomputed kernel must be square, got shape ({problem.n}, {problem.d})"
        if problem.is_sparse:
            return "a precomputed kernel must be a dense array"
        return None


class _GivenSums(LogKernelSum):
    """Logarithms of the values given: nothing else is known of the kernel."""

    def log_values(self, queries: Any, index: Array) -> Array:
        values = queries[:, index]
        if (values < 0).any():
            raise ValueError("the precomputed kernel has negative values; they have no logarithm.")
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(values))


class _GivenValues(CrossOperator):
    """New points known only by their kernel values with the support."""

    def __init__(self, support: PrecomputedOperator, X_new: Any, diag: Any) -> None:
        super().__init__(support, X_new)
        self._given = support
        self._diag = None if diag is None else np.asarray(diag, dtype=support.dtype)
        if self._diag is not None and self._diag.shape != (self.shape[0],):
            raise ValueError(f"diag has shape {self._diag.shape}; it must be ({self.shape[0]},).")

    @property
    def lengths_are_known(self) -> bool:
        """Whether they are given, or the support's are all equal."""
        return self._diag is not None or self._given._has_equal_diagonal

    def diag(self) -> Array:
        """Kernel value of every new point with itself, (m,)."""
        if self._diag is not None:
            return self._diag
        if not self.lengths_are_known:
            raise ValueError(
                "the kernel values of new points with themselves are not known: the support's "
                "differ from each other. Give cross(X_new, diag=...)."
            )
        return np.full(self.shape[0], self.support.diag()[0], dtype=self.support.dtype)


def _check_symmetric(gram: Array) -> None:
    """Refuse a matrix that is not symmetric, a block of rows at a time."""
    allowed = ASYMMETRY * np.finfo(gram.dtype).eps * _largest(gram)
    for block in row_blocks(len(gram), len(gram), gram.itemsize):
        gap = float(np.abs(gram[block] - gram[:, block].T).max())
        if gap > allowed:
            raise ValueError(
                f"the precomputed kernel is not symmetric: entries differ from their mirror by up "
                f"to {gap:.3g}. Give (K + K.T) / 2."
            )


def _largest(gram: Array) -> float:
    """The largest absolute value, without a second matrix."""
    return max(float(gram.max()), -float(gram.min()))
