"""K @ A = F (Fᵀ A) for kernels with a finite feature map F, such as linear and cosine."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from softkern._utils.typing import Array
from softkern.operators.base import Geometry, KernelOperator, ProblemSize
from softkern.operators.geometry import FeatureGeometry, FeaturePoints, feature_sums

__all__ = ["FeatureOperator"]


class FeatureOperator(KernelOperator):
    """K as the product of two thin matrices: neither its memory nor its time grows with n².

    Parameters
    ----------
    kernel : softkern.kernels.Kernel
        One whose `features` are not None.
    X : array or CSR matrix of shape (n, d)

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.kernels import Linear
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> FeatureOperator(Linear(), X) @ np.ones(2)
    array([1., 4.])
    """

    engine: ClassVar[str] = "features"

    @cached_property
    def _rows(self) -> Any:
        """F (n, r), sparse where the data are."""
        return self.kernel.features(self.X)

    @cached_property
    def features(self) -> FeaturePoints | None:
        """The support in the feature map; None where it is sparse and must stay so."""
        return FeaturePoints.of(self._rows)

    def _product(self, A: Array) -> Array:
        return self._times(self._rows, self._rows, A)

    def lean_geometry(self, A: Any) -> Geometry:
        """As `geometry`; the product is not kept, since the centers are vectors."""
        if self.features is None:
            return self.geometry(A)
        columns, _ = self._check_columns(A)
        vectors = feature_sums(self._rows, columns).astype(self.dtype)
        norms = (vectors * vectors).sum(axis=0)
        distances = self.features.distances(self.features.centers(columns))
        return cast(Geometry, FeatureGeometry(self._rows, vectors, norms, distances))

    def release(self) -> None:
        """Let go of the features less their middle, which are made again where they are needed."""
        self.__dict__.pop("features", None)

    def _cross_product(self, X_new: Any, A: Array) -> Array:
        return self._times(self.kernel.features(X_new), self._rows, A)

    def partial_product(self, index: Any, A: Any) -> Array:
        """K @ A, (n, c), for an A that is zero but in the rows `index`, A (len(index), c)."""
        return self._times(self._rows, self._rows[index], np.asarray(A, self.dtype))

    def _times(self, rows: Any, support: Any, A: Array) -> Array:
        return np.asarray(rows @ feature_sums(support, A).astype(self.dtype))

    @classmethod
    def unsupported_reason(cls, problem: ProblemSize) -> str | None:
        """Only kernels with a finite feature map."""
        if problem.kernel.features(np.ones((1, problem.d), dtype=problem.dtype)) is None:
            return f"it needs a finite feature map, and {type(problem.kernel).__name__} has none"
        return None
