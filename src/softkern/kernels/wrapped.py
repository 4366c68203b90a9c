"""Kernels of scikit-learn by name, of a function, and of a Gram matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from softkern._utils.typing import Array
from softkern.kernels.base import Kernel, as_float, check_number
from softkern.rows import row_slices

__all__ = ["CallableKernel", "PairwiseKernel", "Precomputed"]

DECAYING = {"chi2", "laplacian", "rbf"}  # exp(−γ distance)
ASYMMETRY = 1e-4  # share of the largest value, more than the rounding of float32 sums
CHECKED_ROWS = 32  # rows on which the symmetry of a function is checked
MOST_VALUES = 2**20  # per call of a function, which may form d times as many numbers


@dataclass(frozen=True)
class PairwiseKernel(Kernel):
    """A pairwise kernel of scikit-learn by name, with its defaults.

    Parameters
    ----------
    name : str
        A key of `sklearn.metrics.pairwise.kernel_metrics`, such as ``"cosine"`` or ``"chi2"``.
    params : dict, default={}
        Parameters passed to it.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> PairwiseKernel("cosine").block(X, X).round(3)
    array([[1.   , 0.707],
           [0.707, 1.   ]])
    """

    name: str
    params: dict[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        from sklearn.metrics.pairwise import kernel_metrics  # slow import

        object.__setattr__(self, "params", dict(self.params))
        if self.name not in kernel_metrics():
            raise ValueError(
                f"kernel={self.name!r} is unknown; scikit-learn has {sorted(kernel_metrics())}."
            )
        if self.params.get("gamma") is not None:  # None is scikit-learn's default
            check_number("gamma", self.params["gamma"], positive=self.name != "sigmoid")

    @property
    def constant_diagonal(self) -> bool:
        """Whether k(x, x) is a function of x − x. That of the cosine is zero at the origin."""
        return self.name in {*DECAYING, "additive_chi2"}

    @property
    def bound(self) -> float | None:
        """One, or None for the additive chi², linear and polynomial kernels."""
        return 1.0 if self.name in {*DECAYING, "cosine", "sigmoid"} else None

    @property
    def decays(self) -> bool:
        """Whether k decreases exponentially with a distance."""
        return self.name in DECAYING

    @property
    def is_positive_semidefinite(self) -> bool:
        """False for the additive chi² (only conditionally positive) and the sigmoid."""
        if self.name in {"poly", "polynomial"}:
            return bool(self.params.get("coef0", 1) >= 0)
        return self.name not in {"additive_chi2", "sigmoid"}

    def block(self, X: Any, Y: Any) -> Array:
        """Return kernel values (n, m)."""
        from sklearn.metrics.pairwise import pairwise_kernels

        return as_float(pairwise_kernels(X, Y, metric=self.name, **self.params), X)

    def features(self, X: Any) -> Any | None:
        """Return rows of unit length for the cosine, X for the linear kernel, else None."""
        from sklearn.preprocessing import normalize

        return {"cosine": normalize, "linear": lambda rows: rows}.get(self.name, lambda _: None)(X)


@dataclass(frozen=True)
class CallableKernel(Kernel):
    """A kernel given by a function of two sets of points.

    Parameters
    ----------
    function : callable
        ``function(X, Y, **params)`` returns kernel values (n, m).
    params : dict, default={}
        Parameters passed to it.

    Examples
    --------
    >>> import numpy as np
    >>> kernel = CallableKernel(lambda X, Y: X @ Y.T + 1)
    >>> kernel.block(np.ones((1, 2)), np.ones((2, 2)))
    array([[3., 3.]])
    """

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
    if not isinstance(X, np.ndarray):
        return X
    view = X.view()
    view.flags.writeable = False
    return view


def _shown(X: Any, row: int) -> str:
    values = X[[row]].toarray()[0] if sp.issparse(X) else X[row]
    return np.array2string(values, precision=4, threshold=6, edgeitems=3, separator=", ")


@dataclass(frozen=True)
class Precomputed(Kernel):
    """A kernel given by its Gram matrix X (n, n).

    New points are rows of kernel values with the n training points, (m, n).

    Examples
    --------
    >>> import numpy as np
    >>> gram = np.array([[1.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 1.0]])
    >>> Precomputed().restrict(gram, np.array([0, 2]))
    array([[1. , 0.1],
           [0.1, 1. ]])
    """

    takes_points: ClassVar[bool] = False

    def block(self, X: Any, Y: Any) -> Array:
        """Raise a TypeError, as there are no points."""
        raise TypeError(
            "a precomputed kernel has no values beyond the matrix given; use engine='dense', or "
            "give the data and a kernel instead of the matrix."
        )

    def restrict(self, X: Any, rows: Array) -> Any:
        """Return the Gram matrix of these rows, (r, r)."""
        return X[np.ix_(rows, rows)]

    def restrict_new(self, X_new: Any, rows: Array) -> Any:
        """Return kernel values of new points with these rows, (m, r)."""
        return X_new[:, rows]

    def between(self, X: Any, rows: Array, others: Array) -> Array:
        """Return entries of the Gram matrix, (len(rows), len(others))."""
        return np.asarray(X[np.ix_(rows, others)])
