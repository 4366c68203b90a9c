"""Creation of a kernel from a name or function, a bandwidth rule and parameters."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from softkern.kernels.bandwidths import RULES, select_bandwidth
from softkern.kernels.base import Kernel, check_number
from softkern.kernels.dot import Linear, Polynomial, Sigmoid
from softkern.kernels.radial import Gaussian, Laplacian, Radial
from softkern.kernels.wrapped import CallableKernel, PairwiseKernel, Precomputed

__all__ = ["KERNELS", "has_open_bandwidth", "resolve"]

RADIAL: dict[str, type[Radial]] = {"rbf": Gaussian, "gaussian": Gaussian, "laplacian": Laplacian}
PLAIN: dict[str, type[Kernel]] = {
    "linear": Linear,
    "poly": Polynomial,
    "polynomial": Polynomial,
    "precomputed": Precomputed,
    "sigmoid": Sigmoid,
}
# All classes, for model files
KERNELS: tuple[type[Kernel], ...] = (
    *dict.fromkeys([*RADIAL.values(), *PLAIN.values()]),
    CallableKernel,
    PairwiseKernel,
)


def resolve(
    kernel: str | Callable[..., Any] | Kernel = "rbf",
    X: Any = None,
    *,
    bandwidth: str | float | ArrayLike = "auto",
    kernel_params: dict[str, Any] | None = None,
    sample_weight: Any = None,
    random_state: Any = 0,
) -> Kernel:
    """Create a kernel from its name and parameters.

    Parameters
    ----------
    kernel : str, callable or Kernel, default="rbf"
        ``"rbf"`` (or ``"gaussian"``), ``"laplacian"``, ``"linear"``, ``"poly"``, ``"sigmoid"``, any
        other pairwise kernel of scikit-learn by name, a function of two sets of points,
        ``"precomputed"``, or a `Kernel`, which is returned unchanged.
    X : array or CSR matrix of shape (n_samples, n_features), default=None
        The data, needed if the bandwidth is a rule.
    bandwidth : str, float or array of shape (n_features,), default="auto"
        Bandwidth of a radial kernel, or a rule of `select_bandwidth`. Other kernels accept only
        "auto".
    kernel_params : dict, default=None
        Parameters by scikit-learn's names (``gamma``, ``degree``, ``coef0``), with its defaults.
        The ``gamma`` of a radial kernel replaces the bandwidth.
    sample_weight : array of shape (n_samples,), default=None
        Weights for `select_bandwidth`.
    random_state : int, RandomState or None, default=0
        Seed for `select_bandwidth`.

    Examples
    --------
    >>> resolve("rbf", bandwidth=2.0)
    Gaussian(bandwidth=2.0)
    >>> resolve("poly", kernel_params={"degree": 2})
    Polynomial(degree=2, coef0=1.0, gamma=None)
    """
    params = dict(kernel_params or {})
    if isinstance(kernel, str) and kernel in RADIAL:
        return _radial(kernel, params, bandwidth, X, sample_weight, random_state)
    chosen = _without_bandwidth(kernel, params)
    if not _is_auto(bandwidth):
        instead = "set it in that kernel" if chosen.has_bandwidth else "take kernel='rbf'"
        raise ValueError(
            f"bandwidth={bandwidth!r} has no effect on kernel={kernel!r}; leave bandwidth='auto' "
            f"or {instead}."
        )
    return chosen


def has_open_bandwidth(kernel: Any, kernel_params: dict[str, Any] | None = None) -> bool:
    """Return whether a radial kernel is given by name without a bandwidth in its parameters.

    Examples
    --------
    >>> has_open_bandwidth("gaussian"), has_open_bandwidth("rbf", {"gamma": 1.0})
    (True, False)
    """
    return isinstance(kernel, str) and kernel in RADIAL and "gamma" not in (kernel_params or {})


def _without_bandwidth(kernel: Any, params: dict[str, Any]) -> Kernel:
    if isinstance(kernel, Kernel):
        if params:
            raise ValueError(
                f"kernel_params={params!r} cannot change {kernel!r}; pass a new kernel."
            )
        return kernel
    if callable(kernel):
        return CallableKernel(kernel, params)
    if isinstance(kernel, str) and kernel in PLAIN:
        _check_names(kernel, params, list(signature(PLAIN[kernel]).parameters))
        return PLAIN[kernel](**params)
    from sklearn.metrics.pairwise import kernel_metrics  # slow import

    if isinstance(kernel, str) and kernel in kernel_metrics():
        return PairwiseKernel(kernel, params)
    names = sorted({*RADIAL, *PLAIN, *kernel_metrics()})
    raise ValueError(f"kernel={kernel!r} is unknown; give a function, a Kernel or one of {names}.")


def _radial(
    kernel: str,
    params: dict[str, Any],
    bandwidth: Any,
    X: Any,
    sample_weight: Any,
    random_state: Any,
) -> Radial:
    _check_names(kernel, params, ["gamma"])
    if "gamma" in params:
        if not _is_auto(bandwidth):
            raise ValueError(
                f"give bandwidth={bandwidth!r} or gamma={params['gamma']!r}, not both."
            )
        gamma = check_number("gamma", params["gamma"], positive=True)
        bandwidth = 1 / np.sqrt(2 * gamma) if RADIAL[kernel] is Gaussian else 1 / gamma
    elif isinstance(bandwidth, str):
        if X is None and bandwidth in RULES:
            raise ValueError(f"bandwidth={bandwidth!r} depends on the data; pass X, or a number.")
        bandwidth = select_bandwidth(
            X, bandwidth, sample_weight=sample_weight, random_state=random_state
        )
    return RADIAL[kernel](bandwidth)


def _is_auto(bandwidth: Any) -> bool:
    return isinstance(bandwidth, str) and bandwidth == "auto"


def _check_names(kernel: str, params: dict[str, Any], names: list[str]) -> None:
    unknown = sorted(set(params) - set(names))
    if unknown:
        raise ValueError(
            f"kernel={kernel!r} takes no parameter {unknown[0]!r}; it takes {names or 'none'}."
        )
