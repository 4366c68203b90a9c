"""Kernels of the inner product x · y: linear, polynomial and sigmoid.

Parameters and defaults are those of scikit-learn: ``gamma=None`` is 1 / n_features.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import safe_sparse_dot

from softkern._utils.arrays import namespace
from softkern._utils.typing import Array
from softkern.exceptions import DataError
from softkern.kernels.base import Kernel, check_number


class Dot(Kernel):
    """A kernel f(x · y)."""

    @abstractmethod
    def _of_products(self, products: Any, d: int) -> Any:
        """Apply f to inner products of rows with d columns."""

    def block(self, X: Any, Y: Any) -> Array:
        products = np.asarray(safe_sparse_dot(X, Y.T, dense_output=True))
        return np.asarray(self._of_products(products, X.shape[1]))

    def array_block(self, X: Any, Y: Any) -> Any:
        return self._of_products(X @ Y.T, X.shape[1])

    def diag(self, X: Any) -> Array:
        is_sparse = sp.issparse(X)
        squares = X.multiply(X).sum(axis=1) if is_sparse else np.einsum("ij,ij->i", X, X)
        return np.asarray(self._of_products(np.asarray(squares).ravel(), X.shape[1]))

    def check(self, X: Any) -> None:
        """Raise a DataError if the kernel value of a row with itself is too large for sums."""
        most = float(np.finfo(X.dtype).max * np.finfo(X.dtype).eps)
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.abs(self.diag(X))
        row = int(np.argmax(np.where(np.isnan(values), np.inf, values)))
        if not values[row] <= most:
            raise DataError(
                f"row {row} is too large for {self!r} in {X.dtype}: its value with itself is "
                f"{values[row]:.3g}, above {most:.3g}. Correct or remove that row, or scale the "
                "columns down."
            )


@dataclass(frozen=True)
class Linear(Dot):
    """Linear kernel x · y. The feature space is the input space.

    Examples
    --------
    >>> import numpy as np
    >>> Linear().block(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    is_positive_semidefinite = True

    def _of_products(self, products: Any, d: int) -> Any:
        return products

    def features(self, X: Any) -> Any:
        return X

    def squared(self) -> Polynomial:
        return Polynomial(2, coef0=0.0, gamma=1.0)


@dataclass(frozen=True)
class Polynomial(Dot):
    """Polynomial kernel (γ x · y + c)^p.

    Parameters
    ----------
    degree : int, default=3
        Exponent p.
    coef0 : float, default=1.0
        Constant c.
    gamma : float, default=None
        Factor γ, None for 1 / n_features.

    Examples
    --------
    >>> import numpy as np
    >>> Polynomial(degree=2).block(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[42.25]])
    """

    degree: int = 3
    coef0: float = 1.0
    gamma: float | None = None

    def __post_init__(self) -> None:
        degree = check_number("degree", self.degree)
        if degree < 1 or degree != int(degree):
            raise ValueError(f"degree must be a whole number of at least 1, got {self.degree!r}.")
        object.__setattr__(self, "degree", int(degree))
        object.__setattr__(self, "coef0", check_number("coef0", self.coef0))
        if self.gamma is not None:
            object.__setattr__(self, "gamma", check_number("gamma", self.gamma, positive=True))
        object.__setattr__(self, "is_positive_semidefinite", self.coef0 >= 0)

    def _of_products(self, products: Any, d: int) -> Any:
        gamma = 1.0 / d if self.gamma is None else self.gamma
        return (gamma * products + self.coef0) ** self.degree

    def squared(self) -> Polynomial:
        return Polynomial(2 * self.degree, self.coef0, self.gamma)


@dataclass(frozen=True)
class Sigmoid(Dot):
    """Sigmoid kernel tanh(γ x · y + c), which is not positive semidefinite."""

    gamma: float | None = None
    coef0: float = 1.0

    bound = 1.0
    is_positive_semidefinite = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "coef0", check_number("coef0", self.coef0))
        if self.gamma is not None:
            object.__setattr__(self, "gamma", check_number("gamma", self.gamma))

    def _of_products(self, products: Any, d: int) -> Any:
        gamma = 1.0 / d if self.gamma is None else self.gamma
        return namespace(products).tanh(gamma * products + self.coef0)
