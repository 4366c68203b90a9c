"""The size of a problem and the cost of an operator, which `plan` and cost models exchange."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from softkern._utils.typing import Array
from softkern.kernels import Kernel
from softkern.rows import Rows, column_ranges


@dataclass(frozen=True)
class ProblemSize:
    """The size of a product, as cost models need it."""

    n: int
    d: int
    kernel: Kernel
    n_vectors: int = 1  # columns of A
    products: int = 1
    dtype: Any = np.float64
    extent: tuple[float, ...] | None = None  # of the data in bandwidths, per column, where known
    sample: Array | None = field(default=None, compare=False)  # of the data in bandwidths, (m, d)
    nonzeros: int | None = None  # of sparse data
    threads: int = 1

    @classmethod
    def of(cls, X: Any, kernel: Kernel) -> ProblemSize:
        """Return the size of one product with these data."""
        n, d = X.shape
        nonzeros = int(X.nnz) if sp.issparse(X) else None
        return cls(n, d, kernel, dtype=X.dtype, nonzeros=nonzeros)

    def with_extent(self, X: Any) -> ProblemSize:
        """Add the width of every column in bandwidths, where the kernel has bandwidths."""
        if not self.kernel.has_bandwidth or not isinstance(X, np.ndarray):
            return self
        low, high = column_ranges(X)
        return replace(self, extent=tuple(self.kernel.scaled(high[None], low)[0].tolist()))

    def with_sample(self, rows: Rows, size: int, random_state: Any) -> ProblemSize:
        """Add a sample of the data, where the extent is known."""
        if self.extent is None:
            return self
        index, _ = rows.reweighted().sample(size, random_state)
        return replace(self, sample=self.kernel.scaled(rows.X[index], rows.X.min(axis=0)))

    @property
    def is_sparse(self) -> bool:
        """Whether the data are a sparse matrix."""
        return self.nonzeros is not None

    @property
    def values(self) -> int:
        """Number of values in the data."""
        return self.n * self.d if self.nonzeros is None else 2 * self.nonzeros

    @property
    def itemsize(self) -> int:
        """Bytes of one number."""
        return int(np.dtype(self.dtype).itemsize)

    @property
    def vectors(self) -> int:
        """Bytes of one array of the shape of A."""
        return self.n * self.n_vectors * self.itemsize


@dataclass(frozen=True)
class Cost:
    """Peak memory of an operator beyond the data, and its time on the reference machine."""

    memory: int  # bytes on the host
    setup: float  # seconds, once
    product: float  # seconds, every K @ A
    device: int = 0  # bytes on the operator's own device

    def total(self, products: int) -> float:
        """Seconds of the set-up and all products."""
        return self.setup + products * self.product
