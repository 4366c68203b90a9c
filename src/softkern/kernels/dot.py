"""Kernels of the inner product x · y: linear, polynomial and sigmoid.

Parameters and defaults are those of scikit-learn: ``gamma=None`` is 1 / n_features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import safe_sparse_dot

from softkern._utils.arrays import namespace
from softkern._utils.typing import Array
from softkern.exceptions import DataError
from softkern.kernels.base import Kernel, check_number

__all__ = ["Linear", "Polynomial", "Sigmoid"]


@dataclass(frozen=True)
class Linear(Kernel):
    """Linear kernel x · y. The feature space is the input space.

    Examples
    --------
    >>> import numpy as np
    >>> Linear().block(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    is_positive_semidefinite: ClassVar[bool] = True

    def block(self, X: Any, Y: Any) -> Array:
        """Return kernel values (n, m)."""
        return _products(X, Y)

    def array_block(self, X: Any, Y: Any) -> Any:
        """Return `block` for arrays of any array API library."""
        return X @ Y.T

    def check(self, X: Any) -> None:
        """Raise a DataError if ‖x‖² is too large for sums."""
        _check_size(self, X)

    def diag(self, X: Any) -> Array:
        """Return ‖x‖², (n,)."""
        return _squared_norms(X)

    def features(self, X: Any) -> Any:
        """Return X itself."""
        return X

    def squared(self) -> Polynomial:
        """Return the kernel (x · y)²."""
        return Polynomial(2, coef0=0.0, gamma=1.0)


@dataclass(frozen=True)
class Polynomial(Kernel):
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

    @property
    def is_positive_semidefinite(self) -> bool:
        """Whether c is not negative."""
        return self.coef0 >= 0

    def block(self, X: Any, Y: Any) -> Array:
        """Return kernel values (n, m)."""
        return self._of_products(_products(X, Y), X)

    def array_block(self, X: Any, Y: Any) -> Any:
        """Return `block` for arrays of any array API library."""
        return self._of_products(X @ Y.T, X)

    def check(self, X: Any) -> None:
        """Raise a DataError if a kernel value is too large for sums."""
        _check_size(self, X)

    def diag(self, X: Any) -> Array:
        """Return (γ ‖x‖² + c)^p, (n,)."""
        return self._of_products(_squared_norms(X), X)

    def squared(self) -> Polynomial:
        """Return the polynomial kernel of twice the degree."""
        return Polynomial(2 * self.degree, self.coef0, self.gamma)

    def _of_products(self, products: Any, X: Any) -> Any:
        return (_gamma(self.gamma, X) * products + self.coef0) ** self.degree


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """Sigmoid kernel tanh(γ x · y + c), which is not positive semidefinite.

    Parameters
    ----------
    gamma : float, default=None
        Factor γ, None for 1 / n_features.
    coef0 : float, default=1.0
        Constant c.

    Examples
    --------
    >>> import numpy as np
    >>> Sigmoid().block(np.array([[1.0, 2.0]]), np.array([[2.0, -3.0]]))
    array([[-0.76159416]])
    """

    gamma: float | None = None
    coef0: float = 1.0

    bound: ClassVar[float] = 1.0
    is_positive_semidefinite: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "coef0", check_number("coef0", self.coef0))
        if self.gamma is not None:
            object.__setattr__(self, "gamma", check_number("gamma", self.gamma))

    def block(self, X: Any, Y: Any) -> Array:
        """Return kernel values (n, m)."""
        return self._of_products(_products(X, Y), X)

    def array_block(self, X: Any, Y: Any) -> Any:
        """Return `block` for arrays of any array API library."""
        return self._of_products(X @ Y.T, X)

    def diag(self, X: Any) -> Array:
        """Return tanh(γ ‖x‖² + c), (n,)."""
        return self._of_products(_squared_norms(X), X)

    def _of_products(self, products: Any, X: Any) -> Any:
        return namespace(products).tanh(_gamma(self.gamma, X) * products + self.coef0)


def _check_size(kernel: Kernel, X: Any) -> None:
    """Raise a DataError if the kernel value of a row with itself is too large for sums."""
    most = float(np.finfo(X.dtype).max * np.finfo(X.dtype).eps)
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.abs(kernel.diag(X))
    row = int(np.argmax(np.where(np.isnan(values), np.inf, values)))
    if not values[row] <= most:
        raise DataError(
            f"row {row} is too large for {kernel!r} in {X.dtype}: its value with itself is "
            f"{values[row]:.3g}, above {most:.3g}. Correct or remove that row, or scale the "
            "columns down."
        )


def _products(X: Any, Y: Any) -> Array:
    """Return x · y, (n, m), as a dense array."""
    return np.asarray(safe_sparse_dot(X, Y.T, dense_output=True))


def _gamma(gamma: float | None, X: Any) -> float:
    return 1.0 / X.shape[1] if gamma is None else gamma


def _squared_norms(X: Any) -> Array:
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))
