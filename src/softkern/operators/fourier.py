"""K @ A for the Gaussian in up to three columns by non-uniform fast Fourier transforms.

On a periodic box that holds the data and the kernel's reach around them, convolution with the
Gaussian is multiplication by its spectrum: transform A from the points to Fourier modes (type 1),
multiply, transform back to the points (type 2). The cost is O(n) plus that of a grid whose size is
the box in bandwidths. The error is absolute, so the logarithm of small entries is taken from
their few near neighbours instead (`KernelOperator.log_product`). The one file that imports finufft.
"""

from __future__ import annotations

import math
import os
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from softkern.kernels import Gaussian, Kernel
from softkern.operators.base import Cost, KernelOperator, Workload, available_threads

__all__ = ["FourierOperator"]

Array = NDArray[Any]

MODES_LIMIT = 2**27  # a larger grid takes more memory and time than it saves
RELATIVE = 1e-4  # accuracy that log_product asks of an entry before it takes it


class FourierOperator(KernelOperator):
    """The Gaussian kernel on one, two or three columns, at the cost of a few passes over the data.

    Parameters
    ----------
    kernel : softkern.kernels.Gaussian
    X : array of shape (n, d), d ≤ 3
    tolerance : float, default=None
        Error of an entry of K @ A, as a share of the largest entry of ``K @ |A|``. By default 1e-9
        for float64 and 1e-6 for float32.

    Attributes
    ----------
    modes : tuple of int
        Size of the Fourier grid.

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(5000, 2))
    >>> operator = FourierOperator(Gaussian(0.3), X)
    >>> exact = Gaussian(0.3).block(X[:5], X).sum(axis=1)
    >>> bool(np.allclose(operator.degree()[:5], exact, rtol=1e-8))
    True
    """

    engine: ClassVar[str] = "fourier"

    def __init__(self, kernel: Kernel, X: Any, tolerance: float | None = None) -> None:
        super().__init__(kernel, X)
        default = _default_tolerance(self.dtype)
        self.tolerance = default if tolerance is None else float(tolerance)
        if not 1e-13 <= self.tolerance <= 1e-1:
            raise ValueError(f"tolerance must lie between 1e-13 and 0.1, got {tolerance!r}.")
        scaled = self._scaled(self.X)
        low, high = scaled.min(axis=0), scaled.max(axis=0)
        self._centre = (low + high) / 2
        self.modes, self._period = _grid(tuple(high - low), self.tolerance)
        if math.prod(self.modes) > MODES_LIMIT:
            raise ValueError(
                f"the data are {_times(high - low)} bandwidths wide, which needs more Fourier "
                f"modes than the limit of {MODES_LIMIT:.3g}; use engine='tiled', or a larger "
                "bandwidth."
            )
        self._plans: tuple[Any, Any, int] | None = None
        self._process = os.getpid()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_plans": None}  # they hold pointers, and are made anew

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._process = os.getpid()

    def _scaled(self, X: Array) -> Array:
        assert isinstance(self.kernel, Gaussian)
        return np.asarray(self.kernel.scaled(X))

    def _product(self, A: Array) -> Array:
        if self._plans is None or self._plans[2] != os.getpid():
            self._plans = self._plan(1, self.X), self._plan(2, self.X), os.getpid()
        return self._convolve(*self._plans[:2], A, self.shape[0])

    def _cross_product(self, X_new: Array, A: Array) -> Array:
        # Beyond the reach of the data every entry is zero within the error, and the box ends.
        offset = np.abs(self._scaled(X_new) - self._centre)
        inside = np.flatnonzero((offset <= self._period / 2).all(axis=1))
        out = np.zeros((X_new.shape[0], A.shape[1]), dtype=self.dtype)
        if inside.size:
            plans = self._plan(1, self.X), self._plan(2, X_new[inside])
            out[inside] = self._convolve(*plans, A, inside.size)
        return out

    def _plan(self, transform: int, points: Array) -> Any:
        import finufft

        plan = finufft.Plan(
            transform,
            self.modes,
            eps=self.tolerance,
            isign=-1 if transform == 1 else 1,
            dtype="complex128",
            # threads of OpenMP do not survive a fork, and waiting for them would never end
            nthreads=available_threads() if os.getpid() == self._process else 1,
        )
        angles = (self._scaled(points) - self._centre) * (2 * np.pi / self._period)
        plan.setpts(*(np.ascontiguousarray(column) for column in angles.T))
        return plan

    def _convolve(self, to_modes: Any, to_points: Any, A: Array, m: int) -> Array:
        """Two real columns travel as one complex column: the kernel is real.

        They are brought to one size first, so that the error of one does not drown the other.
        """
        out = np.zeros((m, A.shape[1]), dtype=self.dtype)
        size = np.abs(A).max(axis=0, initial=0).astype(np.float64)
        filled = np.flatnonzero(size)
        for start in range(0, filled.size, 2):
            pair = filled[start : start + 2]
            column = np.zeros(A.shape[0], dtype=np.complex128)
            column.real = A[:, pair[0]] / size[pair[0]]
            if pair.size > 1:
                column.imag = A[:, pair[1]] / size[pair[1]]
            spectrum = to_modes.execute(column).reshape(self.modes)
            for axis, factor in enumerate(self._factors()):
                others = tuple(k for k in range(len(self.modes)) if k != axis)
                spectrum *= np.expand_dims(factor, others)
            values = to_points.execute(spectrum)
            for part, c in zip((values.real, values.imag), pair, strict=False):
                out[:, c] = part * size[c]
        return out

    def _factors(self) -> list[Array]:
        """The kernel's spectrum, one factor per column."""
        assert isinstance(self.kernel, Gaussian)
        return [
            self.kernel.spectrum(2 * np.pi * (np.arange(m) - m // 2) / period) / period
            for m, period in zip(self.modes, self._period, strict=True)
        ]

    @property
    def error(self) -> float:
        """The tolerance, as a share of ``Σ |A|``; measured errors are smaller (see `tolerance`)."""
        return self.tolerance + super().error

    def _doubtful(self, product: Array, A: Array) -> Array:
        return np.asarray(product <= self.tolerance / RELATIVE * product.max(axis=0, initial=0))

    @classmethod
    def unfit(cls, work: Workload) -> str | None:
        """Only the Gaussian, on at most three dense columns, of a bounded width in bandwidths."""
        if not isinstance(work.kernel, Gaussian):
            return f"it needs the Gaussian kernel, not {type(work.kernel).__name__}"
        if work.d > 3:
            return f"it needs at most 3 columns, not {work.d}"
        if work.is_sparse:
            return "it needs a dense array"
        modes, _ = _grid(_extent(work), _default_tolerance(work.dtype))
        if work.extent is not None and math.prod(modes) > MODES_LIMIT:
            return f"the data are {_times(work.extent)} bandwidths wide: too many Fourier modes"
        return None

    @classmethod
    def cost(cls, work: Workload) -> Cost:
        """A few passes over the points, and transforms of the grid."""
        tolerance = _default_tolerance(work.dtype)
        modes = math.prod(_grid(_extent(work), tolerance)[0])
        width = -math.log10(tolerance) + 1  # points of the spreading kernel, per column
        fine = modes * 2**work.d
        pairs = -(-work.columns // 2)
        memory = work.n * (8 * (6 * work.d + 10) + work.columns * work.itemsize) + 16 * (
            2 * modes + 2 * fine
        )
        spread = work.n * (width**work.d * 0.7e-9 / work.threads + 2.5e-8) + 2e-3
        step = 1.1e-9 if fine < 2**25 else 2.5e-9  # beyond the caches
        transforms = fine * math.log2(max(fine, 2)) * step / work.threads
        return Cost(memory + 32 * 2**20, work.n * 6e-8 + 1e-3, pairs * 2 * (spread + transforms))


def _default_tolerance(dtype: Any) -> float:
    return 1e-6 if np.dtype(dtype) == np.float32 else 1e-9


def _reach(tolerance: float) -> float:
    """Bandwidths at which kernel and spectrum have fallen to a tenth of the tolerance."""
    return math.sqrt(2 * math.log(10 / tolerance))


def _grid(extent: tuple[float, ...], tolerance: float) -> tuple[tuple[int, ...], Array]:
    """Modes and period per column: the data, and the reach of data and of queries around them."""
    reach = _reach(tolerance)
    # beyond this width the modes are over any limit, and would be no whole numbers any more
    period = np.minimum(np.asarray(extent, dtype=np.float64), 1e12) + 2 * reach
    return tuple(2 * math.ceil(reach * p / (2 * math.pi)) + 1 for p in period), period


def _extent(work: Workload) -> tuple[float, ...]:
    """Width of the data in bandwidths; where unknown, that of normal data at the default one."""
    if work.extent is not None:
        return work.extent
    return (8.3 * work.n ** (0.5 / work.d),) * work.d


def _times(extent: Any) -> str:
    return " × ".join(f"{width:.3g}" for width in extent)
