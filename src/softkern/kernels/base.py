"""Base class of kernels: immutable values that compute similarities and state their properties.

A kernel computes its values between two sets of points (`block`) and of every point with itself
(`diag`) and, where they exist, its logarithm, its finite feature map and its powers. Operators
compute products with many points. They rely on stated properties, such as a bound or a constant
diagonal, and never on a kernel's name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any

import numpy as np

from softkern._utils.arrays import namespace
from softkern._utils.typing import Array
from softkern.rows import row_slices

DIAGONAL_ROWS = 64  # size of the blocks along the diagonal: 64 n values in total


class Kernel(ABC):
    """A similarity k(x, y) = k(y, x).

    A subclass needs `block` only. The other properties default to what holds for every kernel.
    Override those that you know more about.

    Attributes
    ----------
    constant_diagonal : bool, default=False
        Whether k(x, x) is the same for all x.
    bound : float or None, default=None
        Upper bound of ``|k(x, y)|``, None if unbounded or unknown.
    decays : bool, default=False
        Whether k(x, y) tends to zero as x moves away from y, in any direction.
    is_positive_semidefinite : bool or None, default=None
        Whether every Gram matrix is positive semidefinite, None if unknown.
    takes_points : bool, default=True
        Whether X holds points; False if it is a Gram matrix.
    has_bandwidth : bool, default=False
        Whether the kernel has a bandwidth, `with_bandwidth` and `scaled`.
    log_is_half_squared_distance : bool, default=False
        Whether log k(x, y) = −‖x − y‖² / 2 in the coordinates of `scaled`.
    log2_square_ratio : float or None, default=None
        log2 of the integral of k over that of k², per dimension; None if unknown.

    Examples
    --------
    >>> import numpy as np
    >>> class Cauchy(Kernel):
    ...     constant_diagonal, bound, decays = True, 1.0, True
    ...
    ...     def block(self, X, Y):
    ...         return 1 / (1 + np.square(X[:, None] - Y[None]).sum(axis=2))
    >>> Cauchy().block(np.array([[0.0]]), np.array([[0.0], [3.0]]))
    array([[1. , 0.1]])
    """

    constant_diagonal: bool = False
    bound: float | None = None
    decays: bool = False
    is_positive_semidefinite: bool | None = None
    takes_points: bool = True
    has_bandwidth: bool = False
    log_is_half_squared_distance: bool = False
    log2_square_ratio: float | None = None

    @abstractmethod
    def block(self, X: Any, Y: Any) -> Array:
        """Return kernel values (n, m) between rows of X (n, d) and Y (m, d), in the dtype of X."""

    def diag(self, X: Any) -> Array:
        """Return the kernel value of every row with itself, (n,)."""
        if self.constant_diagonal:
            return np.full(X.shape[0], self.block(X[:1], X[:1])[0, 0])
        parts = (X[rows] for rows in row_slices(X.shape[0], DIAGONAL_ROWS))
        return as_float(np.concatenate([self.block(x, x).diagonal() for x in parts]), X)

    def log_block(self, X: Any, Y: Any) -> Array:
        """Return the logarithm of `block`, without underflow where the kernel allows it."""
        values = self.block(X, Y)
        if (values < 0).any():
            raise ValueError(f"{self} has negative values, which have no logarithm.")
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(values))

    def array_block(self, X: Any, Y: Any) -> Any | None:
        """Return `block` for arrays of any array API library, None if not implemented."""
        return None

    def array_log_block(self, X: Any, Y: Any) -> Any | None:
        """Return `log_block` for arrays of any array API library, None if not implemented."""
        values = self.array_block(X, Y)
        return None if values is None else namespace(values).log(values)

    def features(self, X: Any) -> Any | None:
        """Return F (n, r) with F Fᵀ = K and r of the order of d, None if there is no such map."""
        return None

    def power(self, exponent: float) -> Kernel | None:
        """Return the kernel k^exponent, None if unknown."""
        return None

    def squared(self) -> Kernel | None:
        """Return the kernel k², None if unknown."""
        return self.power(2.0)

    def check(self, X: Any) -> None:  # noqa: B027 (most kernels take any X)
        """Raise a ValueError if this kernel cannot be used on X."""

    def with_bandwidth(self, bandwidth: Any) -> Kernel:
        """Return the same kernel with another bandwidth."""
        raise TypeError(f"{self} has no bandwidth.")

    def scaled(self, X: Any, origin: Array | None = None) -> Any:
        """Return (X − origin) / bandwidth in float64."""
        raise TypeError(f"{self} has no bandwidth.")

    def restrict(self, X: Any, rows: Array) -> Any:
        """Return the data of these rows."""
        return X[rows]

    def restrict_new(self, X_new: Any, rows: Array) -> Any:
        """Return new points in the form that `restrict` leaves of the support."""
        return X_new

    def between(self, X: Any, rows: Array, others: Array) -> Array:
        """Return kernel values (len(rows), len(others)) between rows of the data X."""
        return self.block(X[rows], X[others])


def as_float(values: Any, X: Any) -> Array:
    """Return kernel values in the floating dtype of the data, or float64."""
    dtype = X.dtype if np.issubdtype(X.dtype, np.floating) else np.dtype(np.float64)
    with np.errstate(over="ignore"):  # a logarithm may exceed the range of the dtype
        return np.asarray(values).astype(dtype, copy=False)


def check_number(name: str, value: Any, *, positive: bool = False) -> float:
    """Return a kernel parameter as a float; raise a ValueError if it is not finite (positive)."""
    is_number = isinstance(value, Real) and bool(np.isfinite(float(value)))
    if not is_number or (positive and not value > 0):
        kind = "a positive number" if positive else "a number"
        raise ValueError(f"{name} must be {kind}, got {value!r}.")
    return float(value)
