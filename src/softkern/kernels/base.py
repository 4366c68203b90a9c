"""What a kernel is: an immutable value that gives similarities and states its own properties.

A kernel knows its values between two sets of points (`block`) and of every point with itself
(`diag`) and, where they exist, its logarithm, its finite feature map and the kernel of its squares.
How a product with many points is computed is `softkern.operators`' concern; what may be relied on
there (a bound, a constant diagonal, whether values vanish far away) is stated here and never
inferred from a kernel's name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any

import numpy as np

from softkern._utils.arrays import namespace
from softkern._utils.typing import Array
from softkern.rows import row_slices

__all__ = ["Kernel", "as_float", "check_number"]

DIAGONAL_ROWS = 64  # of the squares along the diagonal: 64 n values, never n × n


class Kernel(ABC):
    """A similarity k(x, y) = k(y, x).

    A kernel of your own needs `block` only, and `CallableKernel` is the short way. What a kernel
    states of itself is by default what holds for any; state more where more is known.

    Examples
    --------
    >>> import numpy as np
    >>> class Cauchy(Kernel):
    ...     constant_diagonal, bound, vanishes = True, 1.0, True
    ...
    ...     def block(self, X, Y):
    ...         return 1 / (1 + np.square(X[:, None] - Y[None]).sum(axis=2))
    >>> Cauchy().block(np.array([[0.0]]), np.array([[0.0], [3.0]]))
    array([[1. , 0.1]])
    """

    @property
    def constant_diagonal(self) -> bool:
        """Whether k(x, x) is the same for all x."""
        return False

    @property
    def bound(self) -> float | None:
        """A number that no ``|k(x, y)|`` exceeds; None where there is none or it is not known."""
        return None

    @property
    def vanishes(self) -> bool:
        """Whether k(x, y) tends to zero as x goes far from y, in any direction."""
        return False

    @property
    def takes_points(self) -> bool:
        """Whether X holds rows of a vector space; False where it is a Gram matrix."""
        return True

    @property
    def is_positive_semidefinite(self) -> bool | None:
        """Whether every Gram matrix is positive semidefinite; None: not known."""
        return None

    @property
    def halving(self) -> float | None:
        """Halvings of the integral of k² against that of k, per dimension; None: not known."""
        return None

    @property
    def has_bandwidth(self) -> bool:
        """Whether there are a bandwidth, `with_bandwidth` and `scaled`."""
        return False

    @property
    def log_is_half_squared_distance(self) -> bool:
        """Whether log k(x, y) is −‖x − y‖² / 2 in the coordinates of `scaled`."""
        return False

    @abstractmethod
    def block(self, X: Any, Y: Any) -> Array:
        """Kernel values (n, m) between the rows of X (n, d) and of Y (m, d), in X's dtype."""

    def diag(self, X: Any) -> Array:
        """Kernel values (n,) of every row with itself."""
        if self.constant_diagonal:
            return np.full(X.shape[0], self.block(X[:1], X[:1])[0, 0])
        squares = (X[rows] for rows in row_slices(X.shape[0], DIAGONAL_ROWS))
        return as_float(np.concatenate([self.block(x, x).diagonal() for x in squares]), X)

    def log_block(self, X: Any, Y: Any) -> Array:
        """Logarithm of `block`; kernels that underflow far away give it without underflow."""
        values = self.block(X, Y)
        if (values < 0).any():
            raise ValueError(f"{self} has negative values, and they have no logarithm.")
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(values))

    def array_block(self, X: Any, Y: Any) -> Any | None:
        """As `block`, for arrays of any library that follows the array API; None: not known."""
        return None

    def array_log_block(self, X: Any, Y: Any) -> Any | None:
        """Logarithm of `array_block`; kernels that underflow far away give it without underflow."""
        values = self.array_block(X, Y)
        return None if values is None else namespace(values).log(values)

    def features(self, X: Any) -> Any | None:
        """F (n, r) with F Fᵀ = K and r of the order of d, or None where there is no such map."""
        return None

    def powered(self, power: float) -> Kernel | None:
        """The kernel whose values are a power of this one's; None: not known."""
        return None

    def squared(self) -> Kernel | None:
        """The kernel whose values are the squares of this one's; None: not known."""
        return self.powered(2.0)

    def check(self, X: Any) -> None:  # noqa: B027 (most kernels take any X)
        """Raise a ValueError where this kernel cannot be used on X."""

    def with_bandwidth(self, bandwidth: Any) -> Kernel:
        """The same kernel of another bandwidth."""
        raise TypeError(f"{self} has no bandwidth.")

    def scaled(self, X: Any, origin: Array | None = None) -> Any:
        """(X − origin) / bandwidth, in float64."""
        raise TypeError(f"{self} has no bandwidth.")

    def restrict(self, X: Any, rows: Array) -> Any:
        """The data of these rows alone."""
        return X[rows]

    def restrict_new(self, X_new: Any, rows: Array) -> Any:
        """New points as data beside `restrict`'s."""
        return X_new

    def between(self, X: Any, rows: Array, others: Array) -> Array:
        """Kernel values (len(rows), len(others)) between rows of the data X."""
        return self.block(X[rows], X[others])


def as_float(values: Any, X: Any) -> Array:
    """Kernel values in the dtype of the data, where that is a floating one."""
    dtype = X.dtype if np.issubdtype(X.dtype, np.floating) else np.dtype(np.float64)
    with np.errstate(over="ignore"):  # a logarithm may be beyond all numbers of the dtype
        return np.asarray(values).astype(dtype, copy=False)


def check_number(name: str, value: Any, *, positive: bool = False) -> float:
    """A kernel's parameter as a float; a ValueError where it is no finite (positive) number."""
    is_number = isinstance(value, Real) and bool(np.isfinite(float(value)))
    if not is_number or (positive and not value > 0):
        kind = "a positive number" if positive else "a number"
        raise ValueError(f"{name} must be {kind}, got {value!r}.")
    return float(value)
