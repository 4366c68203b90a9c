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
    random_state: Any = 0,
) -> Kernel:
    """Create a kernel from a name of ours or scikit-learn's, or from a function (X, Y) -> (n, m).

    A `Kernel` is returned as it is. A radial kernel takes its bandwidth from a rule of
    `select_bandwidth`, which needs the data X, from a number, from one number per column, or from
    the parameter ``gamma``. Other kernels accept only ``bandwidth="auto"``.
    """
    params = dict(kernel_params or {})
    if isinstance(kernel, str) and kernel in {*RADIAL, *PLAIN}:
        names = ["gamma"] if kernel in RADIAL else list(signature(PLAIN[kernel]).parameters)
        unknown = sorted(set(params) - set(names))
        if unknown:
            raise ValueError(
                f"kernel={kernel!r} takes no parameter {unknown[0]!r}; it takes {names or 'none'}."
            )
    is_auto = isinstance(bandwidth, str) and bandwidth == "auto"
    if not (isinstance(kernel, str) and kernel in RADIAL):
        chosen = _without_bandwidth(kernel, params)
        if not is_auto:
            instead = "set it in that kernel" if chosen.has_bandwidth else "take kernel='rbf'"
            raise ValueError(
                f"bandwidth={bandwidth!r} has no effect on kernel={kernel!r}; leave "
                f"bandwidth='auto' or {instead}."
            )
        return chosen
    if "gamma" in params:
        if not is_auto:
            raise ValueError(
                f"give bandwidth={bandwidth!r} or gamma={params['gamma']!r}, not both."
            )
        gamma = check_number("gamma", params["gamma"], positive=True)
        bandwidth = 1 / np.sqrt(2 * gamma) if RADIAL[kernel] is Gaussian else 1 / gamma
    elif isinstance(bandwidth, str):
        if X is None and bandwidth in RULES:
            raise ValueError(f"bandwidth={bandwidth!r} depends on the data; pass X, or a number.")
        bandwidth = select_bandwidth(X, bandwidth, random_state=random_state)
    return RADIAL[kernel](bandwidth)


def has_open_bandwidth(kernel: Any, kernel_params: dict[str, Any] | None = None) -> bool:
    """Return whether a radial kernel is given by name without a bandwidth in its parameters."""
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
        return PLAIN[kernel](**params)
    from sklearn.metrics.pairwise import kernel_metrics  # slow import

    if isinstance(kernel, str) and kernel in kernel_metrics():
        return PairwiseKernel(kernel, params)
    names = sorted({*RADIAL, *PLAIN, *kernel_metrics()})
    raise ValueError(f"kernel={kernel!r} is unknown; give a function, a Kernel or one of {names}.")
