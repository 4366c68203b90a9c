"""K @ A for the Gaussian in up to three columns by non-uniform fast Fourier transforms.

On a periodic box that holds the data and the kernel's reach around them, convolution with the
Gaussian is multiplication by its spectrum: transform A from the points to Fourier modes (type 1),
multiply, transform back to the points (type 2). The cost is O(n) plus that of a grid whose size is
the box in bandwidths. The error is absolute, so the logarithm of small entries is taken from
their few near neighbors instead (`KernelOperator.log_product`). The one file that imports finufft.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from softkern._utils.threads import available_threads, is_forked
from softkern._utils.typing import Array
from softkern.kernels import Gaussian, Kernel
from softkern.operators.base import KernelOperator, ProblemSize, blocked_product

MODES_LIMIT = 2**27  # a larger grid takes more memory and time than it saves
FEW_MODES = 2**16  # of which a transform takes milliseconds; more than pairs of points save nothing
PEAK_ROWS = 256  # of the support that its largest entry is read from
RELATIVE = 1e-4  # accuracy that log_product asks of an entry before it takes it
WIDEST = 1e12  # bandwidths; beyond, the number of modes is over any limit
KEPT_BYTES = 2**26  # modes of the last coefficients are kept for new points up to this size

# One or two columns of K @ A: their numbers, their sizes, and their scaled modes on the grid
Modes = tuple[Array, Array, Array]

# Of the reference machine (benchmarks/calibrate.py)
STEP_SECONDS = 1.1e-9  # of one thread, for N log2(N) of a grid of N numbers
LARGE_STEP_SECONDS = 2.5e-9  # the same, of a grid beyond the caches
CACHE_MODES = 2**25  # a grid of no more than these stays in the caches
PAIR_SECONDS = 1.5e-8  # a kernel value and its weighted sum, without transforms


class FourierOperator(KernelOperator):
    """The Gaussian kernel on up to three columns, at the cost of a few passes over the data.

    Parameters
    ----------
    kernel : softkern.kernels.Gaussian
    X : array of shape (n, d), d ≤ 3
    tolerance : float, default=None
        Error of an entry of K @ A, as a share of the largest entry of ``K @ |A|``. By default 1e-9
        for float64 and 1e-6 for float32.
    """

    engine: ClassVar[str] = "fourier"
    kernel: Gaussian

    def __init__(self, kernel: Kernel, X: Any, tolerance: float | None = None) -> None:
        super().__init__(kernel, X)
        self.tolerance = float(default_tolerance(self.dtype) if tolerance is None else tolerance)
        if not 1e-13 <= self.tolerance <= 1e-1:
            raise ValueError(f"tolerance must lie between 1e-13 and 0.1, got {tolerance!r}.")
        low, high = self.X.min(axis=0).astype(np.float64), self.X.max(axis=0).astype(np.float64)
        self._origin = low + (high - low) / 2
        extent = 2 * self.kernel.scaled(high[None], self._origin)[0]
        self.modes, self._period = fourier_grid(tuple(extent), self.tolerance)
        if math.prod(self.modes) > MODES_LIMIT:
            raise ValueError(
                f"the data are {_times(extent)} bandwidths wide, which needs more Fourier "
                f"modes than the limit of {MODES_LIMIT:.3g}; use engine='tiled', or a larger "
                "bandwidth."
            )
        self._forget()

    def _forget(self) -> None:
        """Drop transforms, which hold pointers, and modes: both are made anew when needed."""
        self._process = os.getpid()
        self._plans: dict[int, Any] = {}  # to modes (1) and back to the support (2)
        self._kept: tuple[Array, list[Modes]] | None = None
        self._peak: tuple[Array, Array] | None = None
        self._lock = threading.RLock()  # a transform has one workspace

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_plans": {}, "_kept": None, "_peak": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def _product(self, A: Array) -> Array:
        out = np.zeros((self.shape[0], A.shape[1]), dtype=self.dtype)
        with self._locked():
            _write(out, self._modes(A), self._support_plan(2))
        return out

    def _locked(self) -> Any:
        if self._process != os.getpid():
            self._forget()  # a fork has no threads for the plans, and may hold the lock for good
        return self._lock

    def _cross_product(self, X_new: Array, A: Array) -> Array:
        out = np.zeros((X_new.shape[0], A.shape[1]), dtype=self.dtype)
        # Beyond the reach of the data every entry is zero within the error, and the box ends.
        is_inside = np.abs(self.kernel.scaled(X_new, self._origin)) <= self._period / 2
        inside = np.flatnonzero(is_inside.all(axis=1))
        if inside.size == 0:
            return out
        fine = math.prod(self.modes) * 2 ** len(self.modes)
        transforms = -(-A.shape[1] // 2) * transform_seconds(fine, available_threads())
        if inside.size * float(self.shape[0]) * PAIR_SECONDS <= transforms:
            out[inside] = blocked_product(self.kernel, X_new[inside], self.X, A)
            return out
        values, to_points = np.zeros((inside.size, A.shape[1])), self._plan(2, X_new[inside])
        with self._locked():
            _write(values, self._known_modes(A), to_points)
        out[inside] = values
        return out

    def _known_modes(self, A: Array) -> Iterable[Modes]:
        """Modes of A, those of the last call where A is the same and they are not too large."""
        if self._kept is not None and np.array_equal(self._kept[0], A):
            return self._kept[1]
        if A.nbytes + -(-A.shape[1] // 2) * math.prod(self.modes) * 16 > KEPT_BYTES:
            return self._modes(A)
        self._kept = A.copy(), list(self._modes(A))
        return self._kept[1]

    def _support_plan(self, transform: int) -> Any:
        """The transform of the support, kept for the next product."""
        if transform not in self._plans:
            self._plans[transform] = self._plan(transform, self.X)
        return self._plans[transform]

    def _plan(self, transform: int, points: Array) -> Any:
        import finufft

        plan = finufft.Plan(
            transform,
            self.modes,
            eps=self.tolerance,
            isign=-1 if transform == 1 else 1,
            dtype="complex128",
            # threads of OpenMP do not survive a fork, and waiting for them would never end
            nthreads=1 if is_forked() else available_threads(),
        )
        angles = self.kernel.scaled(points, self._origin) * (2 * np.pi / self._period)
        plan.setpts(*(np.ascontiguousarray(column) for column in angles.T))
        return plan

    def _modes(self, A: Array) -> Iterator[Modes]:
        """K's spectrum times that of A, two real columns as one complex one: the kernel is real.

        They are brought to one size first, so that the error of one does not drown the other.
        """
        size = np.abs(A).max(axis=0, initial=0).astype(np.float64)
        filled = np.flatnonzero(size)
        for start in range(0, filled.size, 2):
            pair = filled[start : start + 2]
            column = np.zeros(A.shape[0], dtype=np.complex128)
            column.real = A[:, pair[0]] / size[pair[0]]
            if pair.size > 1:
                column.imag = A[:, pair[1]] / size[pair[1]]
            spectrum = self._support_plan(1).execute(column).reshape(self.modes)
            for axis, (m, period) in enumerate(zip(self.modes, self._period, strict=True)):
                factor = self.kernel.spectrum(2 * np.pi * (np.arange(m) - m // 2) / period) / period
                others = tuple(k for k in range(len(self.modes)) if k != axis)
                spectrum *= np.expand_dims(factor, others)
            yield pair, size[pair], spectrum

    @property
    def error(self) -> float:
        """The tolerance, as a share of ``Σ |A|``; measured errors are smaller (see `tolerance`)."""
        return self.tolerance + super().error

    @property
    def distance_error(self) -> float:
        """That of the product too: a distance below it is none."""
        return max(super().distance_error, 2 * self.tolerance)

    def _doubtful(self, product: Array, A: Array) -> Array:
        # the error is a share of the largest entry over the support, which queries need not reach
        peak = product.max(axis=0, initial=0)
        if product.shape[0] != self.shape[0]:
            if self._peak is None or not np.array_equal(self._peak[0], A):
                rows = self.X[:: max(1, self.shape[0] // PEAK_ROWS)]
                self._peak = A.copy(), self._cross_product(rows, A).max(axis=0, initial=0)
            peak = np.maximum(peak, self._peak[1])
        return product <= self.tolerance / RELATIVE * peak

    @classmethod
    def unsupported_reason(cls, problem: ProblemSize) -> str | None:
        if not isinstance(problem.kernel, Gaussian):
            return f"it needs the Gaussian kernel, not {type(problem.kernel).__name__}"
        if problem.d > 3:
            return f"it needs at most 3 columns, not {problem.d}"
        if problem.is_sparse:
            return "it needs a dense array"
        if problem.extent is None:
            return None
        modes, _ = fourier_grid(problem.extent, default_tolerance(problem.dtype))
        if math.prod(modes) <= min(MODES_LIMIT, max(FEW_MODES, problem.n**2)):
            return None
        width = _times(problem.extent)
        return f"the data are {width} bandwidths wide: too many Fourier modes for {problem.n} rows"


def _write(out: Array, all_modes: Iterable[Modes], to_points: Any) -> None:
    """Write the columns of K @ A at the points of a transform into out (m, c)."""
    for columns, sizes, spectrum in all_modes:
        values = to_points.execute(spectrum)
        for part, c, size in zip((values.real, values.imag), columns, sizes, strict=False):
            out[:, c] = part * size


def transform_seconds(fine: int, threads: int) -> float:
    """Seconds of a fast Fourier transform of so many numbers."""
    step = STEP_SECONDS if fine < CACHE_MODES else LARGE_STEP_SECONDS
    return fine * math.log2(max(fine, 2)) * step / threads


def default_tolerance(dtype: Any) -> float:
    """The tolerance of an operator that was given none."""
    return 1e-6 if np.dtype(dtype) == np.float32 else 1e-9


def fourier_grid(extent: tuple[float, ...], tolerance: float) -> tuple[tuple[int, ...], Array]:
    """Modes and period per column: the data, and the reach of data and of queries around them."""
    # bandwidths at which kernel and spectrum have fallen to a tenth of the tolerance
    reach = math.sqrt(2 * math.log(10 / tolerance))
    period = np.minimum(np.asarray(extent, dtype=np.float64), WIDEST) + 2 * reach
    return tuple(2 * math.ceil(reach * p / (2 * math.pi)) + 1 for p in period), period


def _times(extent: Any) -> str:
    return " × ".join(f"{width:.3g}" for width in extent)
