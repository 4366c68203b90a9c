"""What is asked of an operator, what it costs, and what the machine has to offer.

`ProblemSize` and `Cost` are all that `plan` and the operators' cost models exchange.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp

from softkern._utils.threads import libraries, one_thread
from softkern._utils.typing import Array
from softkern.kernels import Kernel

__all__ = ["Cost", "ProblemSize", "available_threads", "one_blas_thread"]


@dataclass(frozen=True)
class ProblemSize:
    """What a product will be asked to do; all that `plan` and an operator's cost model know."""

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
        """One product with the data at hand."""
        n, d = X.shape
        nonzeros = int(X.nnz) if sp.issparse(X) else None
        return cls(n, d, kernel, dtype=X.dtype, nonzeros=nonzeros)

    @property
    def is_sparse(self) -> bool:
        """Whether the data are a sparse matrix."""
        return self.nonzeros is not None

    @property
    def values(self) -> int:
        """Numbers that the data hold."""
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
    """What an operator promises: peak memory beyond the data, and time on the reference machine."""

    memory: int  # bytes on the host
    setup: float  # seconds, once
    product: float  # seconds, every K @ A
    device: int = 0  # bytes on the operator's own device


def available_threads() -> int:
    """Threads this process may use: its cores, container limits heeded, or OpenMP's limit.

    The limit is read anew at every call: that of OMP_NUM_THREADS, of `threadpool_limits` and of
    joblib's workers counts.
    """
    limits = [int(library.num_threads) for library in _openmp().lib_controllers]
    return max(1, min([_cores(), *limits]))


@cache
def _cores() -> int:
    return int(joblib.cpu_count())  # reads files of the container: too slow for every product


@cache
def _openmp() -> Any:
    return libraries().select(user_api="openmp")


def one_blas_thread() -> AbstractContextManager[Any]:
    """While threads of ours run, BLAS starts none of its own within each of them."""
    return one_thread("blas")
