"""Kernels computed elsewhere: scikit-learn's by name, a function, a Gram matrix."""

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

VANISHING = {"chi2", "laplacian", "rbf"}  # exp(−γ distance)
ASYMMETRY = 1e-4  # as a share of the largest value; float32 loses less in a function's own sums
CHECKED_ROWS = 32  # on which a function's symmetry is tried
MOST_VALUES = 2**20  # that a function is asked for at once: it may form d times as many numbers


@dataclass(frozen=True)
class PairwiseKernel(Kernel):
    """Any pairwise kernel of scikit-learn, by name, with scikit-learn's defaults.

    Parameters
    ----------
    name : str
        A key of `sklearn.metrics.pairwise.kernel_metrics`, such as ``"cosine"`` or ``"chi2"``.
    params : dict, default={}
        Passed on to it.

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
        from sklearn.metrics.pairwise import kernel_metrics  # takes long to import

        object.__setattr__(self, "params", dict(self.params))
        if self.name not in kernel_metrics():
            raise ValueError(
                f"kernel={self.name!r} is unknown; scikit-learn has {sorted(kernel_metrics())}."
            )
        if self.params.get("gamma") is not None:  # None is scikit-learn's default
            check_number("gamma", self.params["gamma"], positive=self.name != "sigmoid")

    @property
    def constant_diagonal(self) -> bool:
        """True where k(x, x) is a function of x − x; the cosine's is zero at the origin."""
        return self.name in {*VANISHING, "additive_chi2"}

    @property
    def bound(self) -> float | None:
        """One, but for the additive chi², the linear and the polynomial kernel."""
        return 1.0 if self.name in {*VANISHING, "cosine", "sigmoid"} else None

    @property
    def vanishes(self) -> bool:
        """True where k falls exponentially with a distance."""
        return self.name in VANISHING

    @property
    def is_positive_semidefinite(self) -> bool:
        """False for the additive chi² (only conditionally so) and the sigmoid."""
        if self.name in {"poly", "polynomial"}:
            return bool(self.params.get("coef0", 1) >= 0)
        return self.name not in {"additive_chi2", "sigmoid"}

    def block(self, X: Any, Y: Any) -> Array:
        """Kernel values (n, m)."""
        from sklearn.metrics.pairwise import pairwise_kernels

        return as_float(pairwise_kernels(X, Y, metric=self.name, **self.params), X)

    def features(self, X: Any) -> Any | None:
        """Rows of unit length for the cosine, X for the linear kernel."""
        from sklearn.preprocessing import normalize

        return {"cosine": normalize, "linear": lambda rows: rows}.get(self.name, lambda _: None)(X)


@dataclass(frozen=True)
class CallableKernel(Kernel):
    """A function of two sets of points: ``function(X, Y, **params)`` gives values (n, m).

    Parameters
    ----------
    function : callable
    params : dict, default={}
        Passed on to it.

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
        """Kernel values (n, m), checked; the function is asked for so many at a time at most."""
        rows = max(1, MOST_VALUES // max(1, Y.shape[0]))
        if X.shape[0] <= rows:
            return self._called(X, Y)
        out = np.empty((X.shape[0], Y.shape[0]), dtype=as_float(0.0, X).dtype)
        for part in row_slices(X.shape[0], rows):
            out[part] = self._called(X[part], Y)
        return out

    def _called(self, X: Any, Y: Any) -> Array:
        found = self.function(_unwritable(X), _unwritable(Y), **self.params)
        asked = f"it must return an array of shape ({X.shape[0]}, {Y.shape[0]})"
        if sp.issparse(found) or isinstance(found, np.ma.MaskedArray):
            raise ValueError(f"the kernel function returned a {type(found).__name__}; {asked}.")
        try:
            values = np.asarray(found)
        except ValueError:  # rows of different lengths
            raise ValueError(f"the kernel function returned no table; {asked}.") from None
        if values.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"the kernel function returned shape {values.shape} for X {X.shape} and Y "
                f"{Y.shape}; {asked}."
            )
        if values.dtype.kind not in "biuf":
            raise ValueError(
                f"the kernel function returned values of type {values.dtype}; {asked}, of numbers."
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
        """Raise a ValueError where the function is not one of pairs of rows, on a few rows of X."""
        some = X[:: max(1, X.shape[0] // CHECKED_ROWS)][:CHECKED_ROWS]
        values = self.block(some, some)
        largest = float(np.abs(values).max())
        gap = float(np.abs(values - values.T).max())
        if gap > ASYMMETRY * max(largest, np.finfo(X.dtype).tiny):
            raise ValueError(
                f"the kernel function is not symmetric: k(x, y) and k(y, x) differ by {gap:.3g}. "
                "A kernel must be; (k(x, y) + k(y, x)) / 2 is."
            )
        numbers = np.finfo(X.dtype)
        is_small = 0 < largest < numbers.tiny / numbers.eps
        if is_small or largest > numbers.max * numbers.eps:
            remedy = "multiply it by" if is_small else "divide it by"
            raise ValueError(
                f"values of the kernel function are up to {largest:.3g}, out of scale for sums in "
                f"{X.dtype}; {remedy} a constant."
            )
        if X.shape[0] > 1:  # another number of rows than of columns: which is which?
            self.block(some[:1], some)


def _unwritable(X: Any) -> Any:
    """The same rows, which a function cannot change."""
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
    """The data are the kernel values themselves: X is the Gram matrix, (n, n).

    New points are given as their kernel values with the n training points, (m, n).

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
        """Raise a TypeError: there are no points."""
        raise TypeError(
            "a precomputed kernel has no values beyond the matrix given; use engine='dense', or "
            "give the data and a kernel instead of the matrix."
        )

    def restrict(self, X: Any, rows: Array) -> Any:
        """The Gram matrix of these rows, (r, r)."""
        return X[np.ix_(rows, rows)]

    def restrict_new(self, X_new: Any, rows: Array) -> Any:
        """Kernel values of new points with these rows, (m, r)."""
        return X_new[:, rows]

    def between(self, X: Any, rows: Array, others: Array) -> Array:
        """Entries of the Gram matrix, (len(rows), len(others))."""
        return np.asarray(X[np.ix_(rows, others)])
