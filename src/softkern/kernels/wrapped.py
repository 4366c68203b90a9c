"""Kernels of scikit-learn by name, of a function, and of a Gram matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from softkern._utils.typing import Array
from softkern.kernels.base import Kernel, as_float, check_number
from softkern.rows import row_slices

DECAYING = {"chi2", "laplacian", "rbf"}  # exp(−γ distance)
ASYMMETRY = 1e-4  # share of the largest value, more than the rounding of float32 sums
CHECKED_ROWS = 32  # rows on which the symmetry of a function is checked
MOST_VALUES = 2**20  # per call of a function, which may form d times as many numbers


@dataclass(frozen=True)
class PairwiseKernel(Kernel):
    """A kernel of `sklearn.metrics.pairwise.kernel_metrics` by name, with scikit-learn's defaults.

    The diagonal of the cosine is zero at the origin. The additive chi² is only conditionally
    positive.
    """

    name: str
    params: dict[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        from sklearn.metrics.pairwise import kernel_metrics  # slow import

        params, name = dict(self.params), self.name
        if name not in kernel_metrics():
            raise ValueError(
                f"kernel={name!r} is unknown; scikit-learn has {sorted(kernel_metrics())}."
            )
        if params.get("gamma") is not None:  # None is scikit-learn's default
            check_number("gamma", params["gamma"], positive=name != "sigmoid")
        is_semidefinite = name not in {"additive_chi2", "sigmoid"}
        if name in {"poly", "polynomial"}:
            is_semidefinite = bool(params.get("coef0", 1) >= 0)
        vars(self).update(  # the dataclass is frozen
            params=params,
            constant_diagonal=name in {*DECAYING, "additive_chi2"},
            bound=1.0 if name in {*DECAYING, "cosine", "sigmoid"} else None,
            decays=name in DECAYING,
            is_positive_semidefinite=is_semidefinite,
        )

    def block(self, X: Any, Y: Any) -> Array:
        from sklearn.metrics.pairwise import pairwise_kernels

        return as_float(pairwise_kernels(X, Y, metric=self.name, **self.params), X)

    def features(self, X: Any) -> Any | None:
        if self.name != "cosine":
            return X if self.name == "linear" else None
        from sklearn.preprocessing import normalize

        return normalize(X)


@dataclass(frozen=True)
class CallableKernel(Kernel):
    """A kernel whose values (n, m) are ``function(X, Y, **params)``."""

    function: Callable[..., Any]
    params: dict[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", dict(self.params))

    def block(self, X: Any, Y: Any) -> Array:
        """Return checked kernel values (n, m), computed in parts of bounded size."""
        rows = max(1, MOST_VALUES // max(1, Y.shape[0]))
        if X.shape[0] <= rows:
            return self._called(X, Y)
        out = np.empty((X.shape[0], Y.shape[0]), dtype=as_float(0.0, X).dtype)
        for part in row_slices(X.shape[0], rows):
            out[part] = self._called(X[part], Y)
        return out

    def _called(self, X: Any, Y: Any) -> Array:
        result = self.function(_unwritable(X), _unwritable(Y), **self.params)
        needed = f"it must return an array of shape ({X.shape[0]}, {Y.shape[0]})"
        if sp.issparse(result) or isinstance(result, np.ma.MaskedArray):
            raise ValueError(f"the kernel function returned a {type(result).__name__}; {needed}.")
        try:
            values = np.asarray(result)
        except ValueError:  # rows of different lengths
            raise ValueError(f"the kernel function returned no table; {needed}.") from None
        if values.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"the kernel function returned shape {values.shape} for X {X.shape} and Y "
                f"{Y.shape}; {needed}."
            )
        if values.dtype.kind not in "biuf":
            raise ValueError(
                f"the kernel function returned values of type {values.dtype}; {needed}, of numbers."
            )
        is_finite = np.isfinite(values)
        if not is_finite.all():
            row, column = np.argwhere(~is_finite)[0]
            raise ValueError(
                f"the kernel function returned {values[row, column]} for x = {_shown(X, row)} and "
                f"y = {_shown(Y, column)}; values must be finite."
            )
        return as_float(values, X)

    def check(self, X: Any) -> None:
        """Raise a ValueError if the function is no symmetric kernel on a few rows of X."""
        some = X[:: max(1, X.shape[0] // CHECKED_ROWS)][:CHECKED_ROWS]
        values = self.block(some, some)
        largest = float(np.abs(values).max())
        gap = float(np.abs(values - values.T).max())
        if gap > ASYMMETRY * max(largest, np.finfo(X.dtype).tiny):
            raise ValueError(
                f"the kernel function is not symmetric: k(x, y) and k(y, x) differ by {gap:.3g}. "
                "Use (k(x, y) + k(y, x)) / 2."
            )
        numbers = np.finfo(X.dtype)
        is_small = 0 < largest < numbers.tiny / numbers.eps
        if is_small or largest > numbers.max * numbers.eps:
            remedy = "multiply it by" if is_small else "divide it by"
            raise ValueError(
                f"values of the kernel function are up to {largest:.3g}, out of scale for sums in "
                f"{X.dtype}; {remedy} a constant."
            )
        if X.shape[0] > 1:  # detect exchanged rows and columns
            self.block(some[:1], some)


def _unwritable(X: Any) -> Any:
    """Return a read-only view of the rows."""
    return np.broadcast_to(X, X.shape) if isinstance(X, np.ndarray) else X


def _shown(X: Any, row: int) -> str:
    values = X[[row]].toarray()[0] if sp.issparse(X) else X[row]
    return np.array2string(values, precision=4, threshold=6, edgeitems=3, separator=", ")


@dataclass(frozen=True)
class Precomputed(Kernel):
    """A kernel given by its Gram matrix X (n, n).

    New points are rows of kernel values with the n training points, (m, n).
    """

    takes_points = False

    def block(self, X: Any, Y: Any) -> Array:
        raise TypeError(
            "a precomputed kernel has no values beyond the matrix given; use engine='dense', or "
            "give the data and a kernel instead of the matrix."
        )

    def restrict(self, X: Any, rows: Array) -> Any:
        return X[np.ix_(rows, rows)]

    def restrict_new(self, X_new: Any, rows: Array) -> Any:
        return X_new[:, rows]

    def between(self, X: Any, rows: Array, others: Array) -> Array:
        return np.asarray(X[np.ix_(rows, others)])
