"""Kernels of the scaled difference (x − y) / bandwidth: Gaussian and Laplacian.

Differences are computed before anything is rounded, so that data far from the origin lose no
digits.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from softkern._utils.arrays import namespace
from softkern._utils.typing import Array
from softkern.kernels.base import Kernel, as_float
from softkern.kernels.spread import FARTHEST, check_reach

DIFFERENCE_COLUMNS = 16  # up to here, distances from differences are as fast as from products
ORIGIN_ROWS = 64  # rows from which the origin is taken


@dataclass(frozen=True)
class Radial(Kernel):
    """A kernel of the difference x − y, with each column divided by its bandwidth."""

    bandwidth: float | tuple[float, ...]

    constant_diagonal = True
    bound = 1.0
    decays = True
    is_positive_semidefinite = True
    has_bandwidth = True

    def __init__(self, bandwidth: float | ArrayLike = 1.0) -> None:
        values = np.asarray(bandwidth, dtype=np.float64)
        if values.ndim > 1 or values.size == 0:
            raise ValueError(
                f"bandwidth has shape {values.shape}; give one number or one per column."
            )
        if not (np.isfinite(values).all() and (values > 0).all()):
            raise ValueError(f"bandwidth must be positive and finite, got {bandwidth!r}.")
        hashable = float(values) if values.ndim == 0 else tuple(values.tolist())
        object.__setattr__(self, "bandwidth", hashable)

    @staticmethod
    @abstractmethod
    def _factor_logs(differences: Any) -> Any:
        """Return the logarithm of one column's factor from scaled differences."""

    @abstractmethod
    def _logarithm(self, X: Any, Y: Any) -> Array:
        """Return the logarithm of the kernel values, (n, m), in float64."""

    def block(self, X: Any, Y: Any) -> Array:
        return as_float(np.exp(self._logarithm(X, Y)), X)

    def log_block(self, X: Any, Y: Any) -> Array:
        return as_float(self._logarithm(X, Y), X)

    def column_logs(self, X: Array, Y: Array) -> Array:
        """Return the part of every column in `log_block`, (d, n, m), for dense rows."""
        unit = np.broadcast_to(np.asarray(self.bandwidth), (X.shape[1],))[:, None, None]
        return self._factor_logs((X.T[:, :, None] - Y.T[:, None, :]) / unit)

    def array_block(self, X: Any, Y: Any) -> Any:
        logs = self.array_log_block(X, Y)
        return namespace(logs).exp(logs)

    def array_log_block(self, X: Any, Y: Any) -> Any:
        widths = np.broadcast_to(np.asarray(self.bandwidth), (X.shape[1],)).tolist()
        gaps = ((X[:, k][:, None] - Y[:, k][None, :]) / width for k, width in enumerate(widths))
        return sum(self._factor_logs(gap) for gap in gaps)

    def with_bandwidth(self, bandwidth: float | ArrayLike) -> Self:
        return type(self)(bandwidth)

    def check(self, X: Any) -> None:
        """Raise a ValueError if the number of columns differs or distances would overflow."""
        self._check_columns(X)
        # A bandwidth far below all distances is allowed (every point is isolated), as long as
        # values in units of the bandwidth are finite.
        narrow = FARTHEST * np.minimum(self.bandwidth, 1 / FARTHEST)
        check_reach(X, np.maximum(self.bandwidth, narrow))

    def _check_columns(self, X: Any) -> None:
        if isinstance(self.bandwidth, tuple) and len(self.bandwidth) != X.shape[1]:
            raise ValueError(
                f"bandwidth has {len(self.bandwidth)} values, one per column, but X has "
                f"{X.shape[1]} columns."
            )

    def scaled(self, X: Any, origin: Array | None = None) -> Any:
        """Return (X − origin) / bandwidth in float64. A sparse X takes no origin."""
        if sp.issparse(X):
            if origin is not None:
                raise ValueError("an origin cannot be subtracted from sparse rows.")
            scale = np.broadcast_to(1.0 / np.asarray(self.bandwidth), (X.shape[1],))
            return X.astype(np.float64) @ sp.diags_array(scale)
        X = np.asarray(X, dtype=np.float64)
        with np.errstate(over="ignore"):  # a new point may be infinitely many bandwidths away
            return (X if origin is None else X - origin) / np.asarray(self.bandwidth)

    def _differences(self, X: Any, Y: Any, metric: str, power: int) -> Array:
        """Return ``Σ (|x_j − y_j| / b_j)^power``, (n, m), for dense rows and a metric of SciPy."""
        # Divide columns by the power of two next to the bandwidth, which is exact, and differences
        # by the rest of it.
        rest, exponent = np.frexp(np.asarray(self.bandwidth))
        unit = np.ldexp(1.0, exponent)
        with np.errstate(over="ignore"):
            X, Y = np.asarray(X, dtype=np.float64) / unit, np.asarray(Y, dtype=np.float64) / unit
        if rest.ndim:
            return np.asarray(cdist(X, Y, metric, w=rest ** float(-power)))
        distances = np.asarray(cdist(X, Y, metric))
        distances /= rest**power
        return distances


@dataclass(frozen=True, init=False)
class Gaussian(Radial):
    """Gaussian kernel exp(−‖x − y‖² / 2σ²), with the bandwidth σ in units of the data.

    Parameters
    ----------
    bandwidth : float or array of shape (d,), default=1.0
        σ, one number or one per column.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> Gaussian(5.0).block(X, X).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    >>> bool(np.isclose(Gaussian([3.0, 4.0]).block(X, X)[0, 1], np.exp(-1)))
    True
    """

    log2_square_ratio = 0.5
    log_is_half_squared_distance = True

    def power(self, exponent: float) -> Gaussian:
        """Return the Gaussian of bandwidth σ / √exponent."""
        return Gaussian(np.asarray(self.bandwidth) / np.sqrt(exponent))

    def _logarithm(self, X: Any, Y: Any) -> Array:
        self._check_columns(X)
        is_dense = not (sp.issparse(X) or sp.issparse(Y))
        if is_dense and X.shape[1] <= DIFFERENCE_COLUMNS:
            return np.asarray(-0.5 * self._differences(X, Y, "sqeuclidean", 2))
        from sklearn.metrics.pairwise import euclidean_distances  # slow import

        # products are faster, but a common offset costs digits
        origin = np.median(Y[:: max(1, Y.shape[0] // ORIGIN_ROWS)], axis=0) if is_dense else None
        X, Y = self.scaled(X, origin), self.scaled(Y, origin)
        return np.asarray(-0.5 * euclidean_distances(X, Y, squared=True))

    @staticmethod
    def _factor_logs(differences: Any) -> Any:
        return -0.5 * differences * differences

    def spectrum(self, frequency: Array) -> Array:
        """Return the Fourier transform √(2π) exp(−ω²/2) of one scaled column."""
        return np.asarray(np.sqrt(2 * np.pi) * np.exp(-0.5 * np.square(frequency)))


@dataclass(frozen=True, init=False)
class Laplacian(Radial):
    """Laplacian kernel ``exp(−Σ |x_j − y_j| / b_j)``, with the bandwidth b in units of the data.

    Parameters
    ----------
    bandwidth : float or array of shape (d,), default=1.0
        b, one number or one per column.

    Examples
    --------
    >>> import numpy as np
    >>> float(Laplacian(2.0).block(np.array([[0.0]]), np.array([[4.0]]))[0, 0].round(4))
    0.1353
    """

    log2_square_ratio = 1.0

    def power(self, exponent: float) -> Laplacian:
        """Return the Laplacian of bandwidth b / exponent."""
        return Laplacian(np.asarray(self.bandwidth) / exponent)

    @staticmethod
    def _factor_logs(differences: Any) -> Any:
        return -namespace(differences).abs(differences)

    def _logarithm(self, X: Any, Y: Any) -> Array:
        self._check_columns(X)
        if sp.issparse(X) or sp.issparse(Y):
            from sklearn.metrics.pairwise import manhattan_distances  # slow import

            return np.asarray(-manhattan_distances(self.scaled(X), self.scaled(Y)))
        return -self._differences(X, Y, "cityblock", 1)
