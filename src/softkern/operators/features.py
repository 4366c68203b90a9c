"""K @ A = F (Fᵀ A) for kernels with a finite feature map F, such as linear and cosine."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from softkern._utils.typing import Array
from softkern.operators.base import KernelOperator, ProblemSize
from softkern.operators.geometry import feature_sums


class FeatureOperator(KernelOperator):
    """K as the product of two thin matrices: neither its memory nor its time grows with n²."""

    engine: ClassVar[str] = "features"

    @cached_property
    def _rows(self) -> Any:
        """F (n, r), sparse where the data are."""
        return self.kernel.features(self.X)

    def _product(self, A: Array) -> Array:
        return self._times(self._rows, self._rows, A)

    def release(self) -> None:
        """Free the features less their middle, which are computed again when needed."""
        self.__dict__.pop("features", None)

    def _cross_product(self, X_new: Any, A: Array) -> Array:
        return self._times(self.kernel.features(X_new), self._rows, A)

    def partial_product(self, index: Any, A: Any) -> Array:
        return self._times(self._rows, self._rows[index], np.asarray(A, self.dtype))

    def _times(self, rows: Any, support: Any, A: Array) -> Array:
        return np.asarray(rows @ feature_sums(support, A).astype(self.dtype))

    @classmethod
    def unsupported_reason(cls, problem: ProblemSize) -> str | None:
        if problem.kernel.features(np.ones((1, problem.d), dtype=problem.dtype)) is None:
            return f"it needs a finite feature map, and {type(problem.kernel).__name__} has none"
        return None
