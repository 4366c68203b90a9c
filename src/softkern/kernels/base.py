"""What similarity means: kernels as immutable values.

A kernel knows its values between two sets of points (`block`), with themselves (`diag`), whether
it depends on the difference of two points only, whether it is positive semidefinite, and, where
they exist, its logarithm, its finite feature map and its spectrum. It knows nothing of how a
product with many points is computed: that is `softkern.operators`. `resolve` turns what a user
wrote (a name, a callable, a bandwidth rule) into one of these values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import (
    euclidean_distances,
    kernel_metrics,
    laplacian_kernel,
    linear_kernel,
    manhattan_distances,
    pairwise_kernels,
)
from sklearn.preprocessing import normalize

from softkern.kernels.bandwidths import RULES, select_bandwidth

__all__ = [
    "CallableKernel",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "PairwiseKernel",
    "Polynomial",
    "Precomputed",
    "Sigmoid",
    "resolve",
    "select_bandwidth",
]

Array = NDArray[Any]

DIFFERENCE_COLUMNS = 16  # up to these, distances are taken by differences and lose no digits


class Kernel(ABC):
    """A similarity k(x, y) = k(y, x).

    A kernel of your own needs `block` only; `diag` and the rest are derived from it. See
    `CallableKernel` for the short way.
    """

    is_shift_invariant: ClassVar[bool] = False
    vanishes: ClassVar[bool] = False
    has_bandwidth: ClassVar[bool] = False
    halving: ClassVar[float | None] = None

    @property
    def is_positive_semidefinite(self) -> bool | None:
        """Whether every Gram matrix is positive semidefinite; None where nobody knows."""
        return True

    @abstractmethod
    def block(self, X: Any, Y: Any) -> Array:
        """Kernel values (n, m) between the rows of X (n, d) and of Y (m, d), in X's dtype."""

    def diag(self, X: Any) -> Array:
        """Kernel values (n,) of every row with itself."""
        if self.is_shift_invariant:
            return np.full(X.shape[0], self.block(X[:1], X[:1])[0, 0])
        rows = 64  # small squares along the diagonal: 64 n values, never n × n
        starts = range(0, X.shape[0], rows)
        parts = [self.block(X[i : i + rows], X[i : i + rows]).diagonal() for i in starts]
        return _as_float(np.concatenate(parts), X)

    def log_block(self, X: Any, Y: Any) -> Array:
        """Logarithm of `block`; kernels that underflow far away give it without underflow."""
        values = self.block(X, Y)
        if (values < 0).any():
            raise ValueError(f"{self} has negative values, and they have no logarithm.")
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(values))

    def features(self, X: Any) -> Any | None:
        """F (n, r) with F Fᵀ = K and r of the order of d, or None where there is no such map."""
        return None

    def squared(self) -> Kernel | None:
        """The kernel whose values are the squares of this one's, where there is one."""
        return None

    def scaled(self, X: Any, origin: Any = None) -> Any:
        """(X − origin) / bandwidth; of kernels that have one."""
        raise TypeError(f"{self} has no bandwidth.")

    def check(self, X: Any) -> None:  # noqa: B027 (most kernels take any X)
        """Raise a ValueError where this kernel cannot be used on X."""


def _positive(bandwidth: float | ArrayLike) -> float | tuple[float, ...]:
    """A bandwidth as a value that can be compared and hashed; refuse what is not positive."""
    values = np.asarray(bandwidth, dtype=np.float64)
    if values.ndim > 1 or values.size == 0:
        raise ValueError(f"bandwidth has shape {values.shape}; give one number or one per column.")
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(f"bandwidth must be positive and finite, got {bandwidth!r}.")
    return float(values) if values.ndim == 0 else tuple(values.tolist())


@dataclass(frozen=True)
class _Radial(Kernel):
    """A kernel of the difference x − y, each column divided by its bandwidth."""

    bandwidth: float | tuple[float, ...]

    is_shift_invariant: ClassVar[bool] = True
    vanishes: ClassVar[bool] = True
    has_bandwidth: ClassVar[bool] = True

    def __init__(self, bandwidth: float | ArrayLike = 1.0) -> None:
        object.__setattr__(self, "bandwidth", _positive(bandwidth))

    def check(self, X: Any) -> None:
        """Raise a ValueError where the bandwidth is per column and X has other columns."""
        if isinstance(self.bandwidth, tuple) and len(self.bandwidth) != X.shape[1]:
            raise ValueError(
                f"bandwidth has {len(self.bandwidth)} values, one per column, but X has "
                f"{X.shape[1]} columns."
            )

    def scaled(self, X: Any, origin: Any = None) -> Any:
        """X less the origin, every column divided by its bandwidth, in float64."""
        if sp.issparse(X):
            scale = np.broadcast_to(1.0 / np.asarray(self.bandwidth), (X.shape[1],))
            return X.astype(np.float64) @ sp.diags_array(scale)
        X = np.asarray(X, dtype=np.float64)
        return (X if origin is None else X - origin) / np.asarray(self.bandwidth)


@dataclass(frozen=True, init=False)
class Gaussian(_Radial):
    """exp(−‖x − y‖² / 2σ²), σ the bandwidth in the data's units.

    Parameters
    ----------
    bandwidth : float or array of shape (d,), default=1.0
        σ, or one σ per column.

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

    halving: ClassVar[float | None] = 0.5

    def squared(self) -> Kernel:
        """Of a bandwidth divided by √2."""
        return Gaussian(np.asarray(self.bandwidth) / np.sqrt(2))

    def block(self, X: Any, Y: Any) -> Array:
        """Kernel values (n, m)."""
        return _as_float(np.exp(-0.5 * self._squared(X, Y)), X)

    def log_block(self, X: Any, Y: Any) -> Array:
        """−‖x − y‖² / 2σ², (n, m)."""
        return _as_float(-0.5 * self._squared(X, Y), X)

    def _squared(self, X: Any, Y: Any) -> Array:
        """Squared distances in bandwidths, (n, m), float64."""
        self.check(X)
        X, Y = self.scaled(X), self.scaled(Y)
        if sp.issparse(X) or sp.issparse(Y):
            return np.asarray(euclidean_distances(X, Y, squared=True))
        if X.shape[1] <= DIFFERENCE_COLUMNS:
            return np.asarray(cdist(X, Y, "sqeuclidean"))
        # Products are quicker than differences, but an offset that cancels costs them digits.
        offset = np.median(Y, axis=0)
        return np.asarray(euclidean_distances(X - offset, Y - offset, squared=True))

    def spectrum(self, frequency: Array) -> Array:
        """Fourier transform at angular frequencies of one scaled column, √(2π) exp(−ω²/2)."""
        return np.asarray(np.sqrt(2 * np.pi) * np.exp(-0.5 * np.square(frequency)))


@dataclass(frozen=True, init=False)
class Laplacian(_Radial):
    """``exp(−Σ |x_j − y_j| / b_j)``, b the bandwidth in the data's units.

    Parameters
    ----------
    bandwidth : float or array of shape (d,), default=1.0

    Examples
    --------
    >>> import numpy as np
    >>> float(Laplacian(2.0).block(np.array([[0.0]]), np.array([[4.0]]))[0, 0].round(4))
    0.1353
    """

    halving: ClassVar[float | None] = 1.0

    def squared(self) -> Kernel:
        """Of half the bandwidth."""
        return Laplacian(np.asarray(self.bandwidth) / 2)

    def block(self, X: Any, Y: Any) -> Array:
        """Kernel values (n, m)."""
        self.check(X)
        return _as_float(laplacian_kernel(self.scaled(X), self.scaled(Y), gamma=1.0), X)

    def log_block(self, X: Any, Y: Any) -> Array:
        """``−Σ |x_j − y_j| / b_j``, (n, m)."""
        return _as_float(-manhattan_distances(self.scaled(X), self.scaled(Y)), X)


@dataclass(frozen=True)
class Linear(Kernel):
    """x · y: feature space is the data's own space.

    Examples
    --------
    >>> import numpy as np
    >>> Linear().block(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    def block(self, X: Any, Y: Any) -> Array:
        """Kernel values (n, m)."""
        return np.asarray(linear_kernel(X, Y))

    def diag(self, X: Any) -> Array:
        """‖x‖², (n,)."""
        return np.asarray(_squared_norms(X))

    def features(self, X: Any) -> Any:
        """X itself."""
        return X


@dataclass(frozen=True)
class Polynomial(Kernel):
    """(γ x · y + c)^p.

    Parameters
    ----------
    degree : int, default=3
    coef0 : float, default=1.0
        c.
    gamma : float, default=1.0
        γ.
    """

    degree: int = 3
    coef0: float = 1.0
    gamma: float = 1.0

    def __post_init__(self) -> None:
        if self.degree < 1 or self.degree != int(self.degree):
            raise ValueError(f"degree must be a whole number of at least 1, got {self.degree!r}.")
        if not self.gamma > 0:
            raise ValueError(f"gamma must be positive, got {self.gamma!r}.")

    @property
    def is_positive_semidefinite(self) -> bool:
        """True unless c is negative."""
        return self.coef0 >= 0

    def block(self, X: Any, Y: Any) -> Array:
        """Kernel values (n, m)."""
        return np.asarray((self.gamma * linear_kernel(X, Y) + self.coef0) ** int(self.degree))

    def diag(self, X: Any) -> Array:
        """(γ ‖x‖² + c)^p, (n,)."""
        return np.asarray((self.gamma * _squared_norms(X) + self.coef0) ** int(self.degree))


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """tanh(b x · y + c); not positive semidefinite.

    Parameters
    ----------
    gamma : float, default=1.0
        b.
    coef0 : float, default=0.0
        c.
    """

    gamma: float = 1.0
    coef0: float = 0.0

    @property
    def is_positive_semidefinite(self) -> bool:
        """False."""
        return False

    def block(self, X: Any, Y: Any) -> Array:
        """Kernel values (n, m)."""
        return np.asarray(np.tanh(self.gamma * linear_kernel(X, Y) + self.coef0))

    def diag(self, X: Any) -> Array:
        """tanh(b ‖x‖² + c), (n,)."""
        return np.asarray(np.tanh(self.gamma * _squared_norms(X) + self.coef0))


@dataclass(frozen=True)
class PairwiseKernel(Kernel):
    """Any pairwise kernel of scikit-learn, by name.

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
        object.__setattr__(self, "params", dict(self.params))
        if self.name not in kernel_metrics():
            raise ValueError(
                f"kernel={self.name!r} is unknown; scikit-learn has {sorted(kernel_metrics())}."
            )

    @property
    def is_positive_semidefinite(self) -> bool:
        """False for the additive chi² (only conditionally so) and the sigmoid."""
        return self.name not in {"additive_chi2", "sigmoid"}

    def block(self, X: Any, Y: Any) -> Array:
        """Kernel values (n, m)."""
        return _as_float(pairwise_kernels(X, Y, metric=self.name, **self.params), X)

    def features(self, X: Any) -> Any | None:
        """Rows of unit length for the cosine, X for the linear kernel."""
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

    @property
    def is_positive_semidefinite(self) -> None:
        """None: nobody knows."""
        return

    def block(self, X: Any, Y: Any) -> Array:
        """Kernel values (n, m), checked for shape and finiteness."""
        values = np.asarray(self.function(X, Y, **self.params))
        if values.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"the kernel function returned shape {values.shape} for X {X.shape} and Y "
                f"{Y.shape}; it must return ({X.shape[0]}, {Y.shape[0]})."
            )
        if values.dtype.kind not in "biuf" or not np.isfinite(values).all():
            raise ValueError("the kernel function returned values that are not finite numbers.")
        return _as_float(values, X)

    def check(self, X: Any) -> None:
        """Raise a ValueError where the function is not symmetric on a few rows of X."""
        some = X[:: max(1, X.shape[0] // 32)][:32]
        values = self.block(some, some)
        gap = float(np.abs(values - values.T).max())
        if gap > 1e-4 * max(float(np.abs(values).max()), np.finfo(X.dtype).tiny):
            raise ValueError(
                f"the kernel function is not symmetric: k(x, y) and k(y, x) differ by {gap:.3g}. "
                "A kernel must be; (k(x, y) + k(y, x)) / 2 is."
            )


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The data are the kernel values themselves: X is the Gram matrix, (n, n).

    New points are given as their kernel values with the n training points, (m, n).
    """

    @property
    def is_positive_semidefinite(self) -> None:
        """None: nobody knows."""
        return

    def block(self, X: Any, Y: Any) -> Array:
        """Raise a TypeError: there are no points."""
        raise TypeError(
            "a precomputed kernel has no values beyond the matrix given; use engine='dense', or "
            "give the data and a kernel instead of the matrix."
        )


def _as_float(values: Any, X: Any) -> Array:
    """Kernel values in the dtype of the data, where that is a floating one."""
    dtype = X.dtype if np.issubdtype(X.dtype, np.floating) else np.dtype(np.float64)
    return np.asarray(values).astype(dtype, copy=False)


def _squared_norms(X: Any) -> Array:
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


_RADIAL: dict[str, type[_Radial]] = {"rbf": Gaussian, "gaussian": Gaussian, "laplacian": Laplacian}
_PLAIN: dict[str, type[Kernel]] = {
    "linear": Linear,
    "poly": Polynomial,
    "polynomial": Polynomial,
    "precomputed": Precomputed,
    "sigmoid": Sigmoid,
}


def resolve(
    kernel: str | Callable[..., Any] | Kernel = "rbf",
    X: Any = None,
    *,
    bandwidth: str | float | ArrayLike = "auto",
    kernel_params: dict[str, Any] | None = None,
    sample_weight: Any = None,
    random_state: Any = 0,
) -> Kernel:
    """The kernel that a user's words mean on the data at hand.

    Parameters
    ----------
    kernel : str, callable or Kernel, default="rbf"
        ``"rbf"``, ``"laplacian"``, ``"linear"``, ``"poly"``, ``"sigmoid"``, any other pairwise
        kernel of scikit-learn by name, a function of two sets of points, ``"precomputed"``, or a
        value of this module, which is returned as it is.
    X : array or CSR matrix of shape (n, d), default=None
        Needed where the bandwidth is a rule.
    bandwidth : str, float or array of shape (d,), default="auto"
        For the radial kernels; a rule of `select_bandwidth` or the number itself.
    kernel_params : dict, default=None
        Further parameters by scikit-learn's names (``gamma``, ``degree``, ``coef0``).
    sample_weight, random_state
        Passed on to `select_bandwidth`.

    Examples
    --------
    >>> resolve("rbf", bandwidth=2.0)
    Gaussian(bandwidth=2.0)
    >>> resolve("poly", kernel_params={"degree": 2})
    Polynomial(degree=2, coef0=1.0, gamma=1.0)
    """
    params = dict(kernel_params or {})
    if isinstance(kernel, Kernel):
        if params:
            raise ValueError(f"kernel_params={params!r} cannot change {kernel!r}; give a new one.")
        return kernel
    if callable(kernel):
        return CallableKernel(kernel, params)
    if kernel in _RADIAL:
        if "gamma" in params:
            bandwidth = _from_gamma(kernel, params.pop("gamma"), bandwidth)
        _no_more(kernel, params, ["gamma"])
        return _RADIAL[kernel](_bandwidth_value(bandwidth, X, sample_weight, random_state))
    if kernel in _PLAIN:
        try:
            return _PLAIN[kernel](**params)
        except TypeError:
            known = list(_PLAIN[kernel].__dataclass_fields__)  # type: ignore[attr-defined]
            _no_more(kernel, {k: v for k, v in params.items() if k not in known}, known)
            raise
    return PairwiseKernel(kernel, params)


def _bandwidth_value(bandwidth: Any, X: Any, sample_weight: Any, random_state: Any) -> Any:
    if not isinstance(bandwidth, str):
        return bandwidth
    if X is None and bandwidth in RULES:
        raise ValueError(f"bandwidth={bandwidth!r} is read from the data; give X, or a number.")
    return select_bandwidth(X, bandwidth, sample_weight=sample_weight, random_state=random_state)


def _from_gamma(kernel: str, gamma: float, bandwidth: Any) -> float:
    if not isinstance(bandwidth, str):
        raise ValueError(f"give bandwidth={bandwidth!r} or gamma={gamma!r}, not both.")
    if not gamma > 0:
        raise ValueError(f"gamma must be positive, got {gamma!r}.")
    return float(1 / np.sqrt(2 * gamma)) if _RADIAL[kernel] is Gaussian else 1 / gamma


def _no_more(kernel: str, params: dict[str, Any], known: list[str]) -> None:
    if params:
        raise ValueError(
            f"kernel={kernel!r} takes no parameter {sorted(params)[0]!r}; it takes {known}."
        )
