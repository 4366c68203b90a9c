"""The product K @ A on a GPU: exact to single precision or double, nothing of size n × n kept.

Data, coefficients and what follows from them stay on the device for as long as a loop runs
(`to_device`); arrays of the host are taken there and back. Needs PyTorch, and for kernels of x − y
Triton, which comes with PyTorch for Linux (extra ``gpu``).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from array_api_compat import is_torch_array

from softkern._utils.arrays import on_host
from softkern._utils.typing import Array
from softkern.kernels import Kernel
from softkern.operators.base import KernelOperator, ProblemSize
from softkern.operators.gpu.devices import devices, unavailable_reason
from softkern.rows import row_slices

PRECISIONS = ("float32", "float64")
GRAM_ROWS = 4096  # up to which kernel values are kept, in the precision of the data
ROWS_AT_ONCE = 2**19  # new points on the device at a time
SPLIT_ROWS = 100_000  # from which on several devices share the work
SUBSAMPLE_ROWS = 512  # whose kernel values with all others are formed as they are
DOUBTFUL = 2.0**-32  # share of Σ A below which halves have lost digits of a sum
CUTOFF = 2.0**-50  # the same where skipped frames may show


class GpuOperator(KernelOperator):
    """K multiplied on a GPU, kernel values computed anew every time.

    Gaussian and Laplacian kernels run in compiled loops that keep no K, others that are written
    for arrays of any library in tiles.

    Parameters
    ----------
    kernel : softkern.kernels.Kernel
    X : array of shape (n, d)
    device : str, default=None
        Name of a torch device, such as ``"cuda:1"``; None is all CUDA devices, which share large
        products, arrays being on the first. ``"cpu"`` runs the same code without one, for trying
        things out.
    precision : {"float32", "float64"}, default="float32"
        Of the kernel values; sums are in double precision either way. Single precision gives
        products to about 1e-6 of ``Σ |A|``.
    """

    engine: ClassVar[str] = "gpu"
    on_device: bool = True

    def __init__(
        self, kernel: Kernel, X: Any, device: str | None = None, precision: str = "float32"
    ) -> None:
        if precision not in PRECISIONS:
            raise ValueError(f"precision must be one of {PRECISIONS}, got {precision!r}.")
        missing = unavailable_reason(device)
        if missing:
            raise ValueError(f"engine={self.engine!r} cannot be used here: {missing}.")
        super().__init__(kernel, X)
        self.device, self.precision = device or "cuda", precision

    @cached_property
    def points(self) -> Any:
        """X on the device, (n, d)."""
        return self.to_device(np.ascontiguousarray(self.X))

    @cached_property
    def _support(self) -> Any:
        """The layout for products with the support itself: kernel values, for few points."""
        from softkern.operators.gpu.tiled import TiledPoints

        if self.shape[0] > GRAM_ROWS:
            return self._for_many(self.points)
        return TiledPoints(self.kernel, self.points, keeps_gram=True)

    @cached_property
    def _support_of_many(self) -> Any:
        return self._support if self.shape[0] > GRAM_ROWS else self._for_many(self.points)

    def _for_many(self, points: Any) -> Any:
        """The layout for products with many points."""
        from softkern.operators.gpu.fused import FusedPoints, SplitPoints, has_fused
        from softkern.operators.gpu.tiled import TiledPoints

        if not has_fused(self.kernel, points.device):
            return TiledPoints(self.kernel, points)
        shared = devices(self.device)
        if len(shared) > 1 and len(points) > SPLIT_ROWS:
            return SplitPoints(self.kernel, points, self.precision, shared)
        return FusedPoints(self.kernel, points, self.precision)

    def to_device(self, array: Any) -> Any:
        from softkern.operators.gpu.tiled import tensor

        return tensor(array).to(self.device)

    def _like_input(self, array: Any, given: Any) -> Any:
        """A result in the dtype of the data, where the array that was given lives."""
        array = array.to(self.points.dtype)
        return array if is_torch_array(given) else on_host(array)

    def _product(self, A: Any) -> Any:
        return self._like_input(self._support.product(self.to_device(A)), A)

    def _cross_product(self, X_new: Any, A: Any) -> Any:
        weights = self.to_device(A)
        many = X_new.shape[0] * self.shape[0] > GRAM_ROWS**2
        support = self._support_of_many if many else self._support
        if is_torch_array(X_new):
            return self._like_input(support.product(weights, X_new), X_new)
        from softkern.operators.gpu.tiled import uploaded

        out = np.empty((X_new.shape[0], A.shape[1]), dtype=self.dtype)
        parts = list(row_slices(X_new.shape[0], ROWS_AT_ONCE))
        chunks = uploaded((np.ascontiguousarray(X_new[rows]) for rows in parts), self.device)
        for rows, points in zip(parts, chunks, strict=True):
            out[rows] = on_host(support.product(weights, points))
        return out

    @classmethod
    def unsupported_reason(cls, problem: ProblemSize) -> str | None:
        """Kernels that are written for arrays of any library, on dense data."""
        if problem.is_sparse:
            return "it needs a dense array"
        point = np.zeros((1, problem.d))
        if not problem.kernel.takes_points or problem.kernel.array_block(point, point) is None:
            return f"the kernel {type(problem.kernel).__name__} is not written for GPUs"
        return None

    @property
    def rounding(self) -> float:
        if self.shape[0] <= GRAM_ROWS:
            return super().rounding
        return float(max(np.finfo(self.precision).eps, np.finfo(self.dtype).eps))

    def _doubtful(self, product: Array, A: Array) -> Array:
        share = DOUBTFUL if self.precision == "float32" else CUTOFF
        return np.asarray(product <= share * A.sum(axis=0)) | super()._doubtful(product, A)

    def _kernel_block(self, rows: Any, columns: Any) -> Array:
        block = self.kernel.array_block(self._on_points(rows), self._on_points(columns))
        return np.asarray(on_host(block))

    def _on_points(self, index: Any) -> Any:
        """Rows of the support on the device, by a slice or their numbers."""
        is_slice = isinstance(index, slice)
        return self.points[index if is_slice else self.to_device(np.asarray(index))]

    def partial_product(self, index: Any, A: Any) -> Array:
        if 2 * len(index) > self.shape[0]:
            return super().partial_product(index, A)
        if not len(index):
            return np.zeros((self.shape[0], A.shape[1]), dtype=self.dtype)
        from softkern.operators.gpu.tiled import TiledPoints

        chosen = self._on_points(index)
        few = len(index) <= SUBSAMPLE_ROWS or self.shape[0] <= GRAM_ROWS
        support = TiledPoints(self.kernel, chosen) if few else self._for_many(chosen)
        return np.asarray(self._like_input(support.product(self.to_device(A), self.points), A))

    def near_rows(self, Z: Array, k: int) -> Array:
        from softkern.operators.gpu.frames import near_rows

        return np.asarray(on_host(near_rows(self.to_device(Z), k)))

    def _far_logs(
        self, queries: Any, a: Array, own: Array | None = None, left: Array | None = None
    ) -> Array:
        with np.errstate(divide="ignore"):
            log_a = self.to_device(np.log(a.astype(np.float64)))
            log_left = None if left is None else self.to_device(np.log(left.astype(np.float64)))
        own = None if own is None else self.to_device(own)
        logs = self._support.logs(self.to_device(queries), log_a, own, log_left)
        return np.asarray(on_host(logs))

    def _check_new(self, X_new: Any) -> Any:
        if not is_torch_array(X_new):
            return super()._check_new(X_new)
        if X_new.ndim != 2 or X_new.shape[1] != self.X.shape[1]:
            raise ValueError(
                f"X_new has shape {tuple(X_new.shape)}, but the support has {self.X.shape[1]} "
                "columns."
            )
        return X_new.to(self.points.dtype)
