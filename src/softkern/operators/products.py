"""What follows from K @ A for the support of an operator and for new points alike.

`KernelProducts` is the matrix of kernel values between some rows and the support of an operator.
From its product follow distances to centers and logarithms. `KernelOperator` and `CrossOperator`
are its two cases.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import is_numpy_array

from softkern._utils.typing import Array
from softkern.operators.geometry import Geometry, squared_distances

if TYPE_CHECKING:
    from softkern.operators.base import KernelOperator


class KernelProducts(ABC):
    """Kernel values between the rows X (m, d) and the support of an operator (n rows)."""

    X: Any
    support: KernelOperator  # the operator over the support
    _new_features: Any = None  # of rows other than the support, where the operator has features

    @abstractmethod
    def _product(self, A: Array) -> Array:
        """K @ A, (m, c), for a checked A (n, c) of the operator's dtype."""

    @abstractmethod
    def geometry(self, A: Any) -> Geometry:
        """Similarities and distances of the rows to centers A (n, c), and the centers' norms."""

    @property
    def shape(self) -> tuple[int, int]:
        """(m, n)."""
        return self.X.shape[0], self.support.X.shape[0]

    def __matmul__(self, A: Any) -> Array:
        columns, is_vector = self.support._check_columns(A)
        product = self._product(columns)
        return product[:, 0] if is_vector else product

    def __getstate__(self) -> dict[str, Any]:
        """Without what is computed on first use, and can be computed again."""
        kept = {
            name
            for cls in type(self).__mro__
            for name, value in vars(cls).items()
            if isinstance(value, cached_property)
        }
        return {name: value for name, value in self.__dict__.items() if name not in kept}

    def diag(self) -> Array:
        """Kernel value of every row with itself, (m,)."""
        return self._diagonal.copy()

    @cached_property
    def _diagonal(self) -> Array:
        return self.support.kernel.diag(self.X)

    @cached_property
    def _device_diagonal(self) -> Any:
        return self.support.to_device(self._diagonal)

    # Distances

    def squared_distances(self, A: Any) -> Any:
        """Squared distance in feature space of every row to every center, (m, c)."""
        columns, is_vector = self.support._check_columns(A)
        if self.support.features is None:
            distances = self.geometry(columns).distances
        else:  # the product is not needed
            distances = self._feature_distances(columns)
        return distances[:, 0] if is_vector else distances

    def _feature_distances(self, A: Any) -> Any:
        features = self.support.features
        assert features is not None
        return features.distances(features.centers(A), self._new_features)

    def _geometry_of(self, A: Any, product: Any, norms: Any) -> Geometry:
        """The geometry of checked centers A (n, c), given their product and squared norms."""
        is_away = self.support.on_device and not is_numpy_array(A)
        if self.support.features is not None and not is_away:
            return Geometry(product, norms, self._feature_distances(A))
        diag = self._device_diagonal if is_away else self._diagonal
        is_semidefinite = self.support.kernel.is_positive_semidefinite
        return Geometry(product, norms, squared_distances(diag, product, norms, is_semidefinite))

    # Logarithms

    def log_product(self, A: Any, product: Array | None = None) -> Array:
        """log(K @ A) for A ≥ 0, to relative accuracy however far a row is from the support.

        Entries that the product gives too coarsely, because they underflow or vanish in its
        error, are evaluated again exactly, so that ranks far away follow distance. (The nystroem
        operator takes its approximation as it is, and evaluates again only what vanishes in it.)
        The product is computed where it is not given.
        """
        support = self.support
        columns, is_vector = support._check_columns(A)
        product = self._product(columns) if product is None else product
        product = product.reshape(-1, columns.shape[1])
        if (columns < 0).any():
            raise ValueError("log_product needs A ≥ 0: a sum of mixed signs has no logarithm.")
        doubtful = support._doubtful(product, columns)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs: Array = np.log(product)
        for c in range(columns.shape[1]):
            again = np.flatnonzero(doubtful[:, c])
            if not columns[:, c].any():
                logs[:, c] = -np.inf
            elif again.size:
                far = support._far_logs(self.X[again], columns[:, c])
                with np.errstate(over="ignore"):  # in float32 the farthest are −∞
                    logs[again, c] = far
        return logs[:, 0] if is_vector else logs
