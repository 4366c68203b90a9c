"""The product K @ A, and all that follows from it.

`KernelOperator` is a kernel and its support points X, and stands for the matrix K of kernel
values between them, which only the dense operator ever forms. An operator says how the product is
computed, for the support itself and for new points; distances to centres, columns, degrees,
logarithms and the view as a scipy LinearOperator are derived here once for all. It also says what
it will cost (`unfit`, `cost`), so that `plan` can choose without knowing any operator's inside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import joblib
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator
from scipy.spatial import cKDTree
from scipy.special import logsumexp
from sklearn.utils import check_array

from softkern.kernels import Gaussian, Kernel

__all__ = ["Cost", "CrossOperator", "KernelOperator", "Workload", "blocked_product", "row_blocks"]

Array = NDArray[Any]

TREE_COLUMNS = 8  # beyond these, a tree of neighbours is no quicker than all pairs
TAIL_ACCURACY = 1e-6  # of log_product far away, in the logarithm
BLOCK_BYTES = 32 * 2**20  # kernel values held at once by whoever works in blocks


@dataclass(frozen=True)
class Workload:
    """What a product will be asked to do; all that `plan` and an operator's cost model know."""

    n: int
    d: int
    kernel: Kernel
    columns: int = 1
    dtype: Any = np.float64
    extent: tuple[float, ...] | None = None  # of the data in bandwidths, per column, where known
    sample: Array | None = field(default=None, compare=False)  # of the data in bandwidths, (m, d)
    is_sparse: bool = False
    iterations: int = 1
    threads: int = 1

    @classmethod
    def of(cls, X: Any, kernel: Kernel) -> Workload:
        """One product with the data at hand."""
        n, d = X.shape
        return cls(n, d, kernel, dtype=X.dtype, is_sparse=bool(sp.issparse(X)))

    @property
    def itemsize(self) -> int:
        """Bytes of one number."""
        return int(np.dtype(self.dtype).itemsize)


@dataclass(frozen=True)
class Cost:
    """What an operator promises: peak memory beyond the data, and time on the reference machine."""

    memory: int  # bytes
    setup: float  # seconds, once
    product: float  # seconds, every K @ A


def row_blocks(n: int, m: int, itemsize: int) -> Iterator[slice]:
    """Slices of n rows such that a block of rows × m values stays small."""
    rows = max(1, min(n, BLOCK_BYTES // max(1, m * itemsize)))
    for start in range(0, n, rows):
        yield slice(start, min(n, start + rows))


def blocked_product(kernel: Kernel, queries: Any, X: Any, A: Array) -> Array:
    """K(queries, X) @ A, (m, c), for any kernel, exactly, one block of kernel values at a time."""
    out = np.zeros((queries.shape[0], A.shape[1]), dtype=A.dtype)
    for support in row_blocks(X.shape[0], 256, A.itemsize):
        support_rows, weights = X[support], A[support]
        for rows in row_blocks(queries.shape[0], support_rows.shape[0], A.itemsize):
            out[rows] += kernel.block(queries[rows], support_rows) @ weights
    return out


class KernelOperator(ABC):
    """The symmetric matrix K of kernel values between the rows of X, as something to multiply.

    A subclass implements `_product`, `_cross_product`, `unfit` and `cost`, and sets `engine`.

    Parameters
    ----------
    kernel : softkern.kernels.Kernel
    X : array of shape (n, d), or CSR matrix where the operator takes it
        float32 and float64 are kept, anything else becomes float64.
    """

    engine: ClassVar[str]

    def __init__(self, kernel: Kernel, X: Any) -> None:
        if not isinstance(kernel, Kernel):
            raise TypeError(
                f"kernel must be a softkern.kernels.Kernel, got {kernel!r}; "
                "softkern.kernels.resolve makes one of a name."
            )
        self.kernel = kernel
        self.X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        kernel.check(self.X)
        reason = self.unfit(Workload.of(self.X, kernel))
        if reason:
            raise ValueError(f"engine={self.engine!r} cannot be used here: {reason}.")

    # What an operator must say

    @abstractmethod
    def _product(self, A: Array) -> Array:
        """K @ A, (n, c), for a checked A (n, c) of this operator's dtype."""

    @abstractmethod
    def _cross_product(self, X_new: Any, A: Array) -> Array:
        """K(X_new, X) @ A, (m, c), for checked arguments."""

    @classmethod
    @abstractmethod
    def unfit(cls, work: Workload) -> str | None:
        """Why this operator cannot do the work, or None where it can."""

    @classmethod
    @abstractmethod
    def cost(cls, work: Workload) -> Cost:
        """What the work will cost."""

    @property
    def error(self) -> float:
        """Bound of ``|(self @ A) − K A|`` for every column, as a share of ``Σ |A| max K``."""
        return float(16 * np.finfo(self.dtype).eps)

    # What follows

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        dtype: np.dtype[Any] = self.X.dtype
        return dtype

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self.X.shape[0], self.X.shape[0]

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"{type(self).__name__}({self.kernel!r}, n={n}, d={d}, {self.dtype})"

    def __matmul__(self, A: Any) -> Array:
        columns, is_vector = self._check_columns(A)
        product = self._product(columns)
        return product[:, 0] if is_vector else product

    def cross(self, X_new: Any) -> CrossOperator:
        """The matrix of kernel values between new points (rows) and the support (columns)."""
        return CrossOperator(self, X_new)

    def diag(self) -> Array:
        """Kernel value of every support point with itself, (n,)."""
        return self.kernel.diag(self.X)

    def columns(self, index: Any) -> Array:
        """Columns of K as an array, (n, len(index))."""
        index = np.atleast_1d(np.asarray(index))
        out = np.empty((self.shape[0], index.size), dtype=self.dtype)
        for rows in row_blocks(self.shape[0], index.size, self.dtype.itemsize):
            out[rows] = self.kernel.block(self.X[rows], self.X[index])
        return out

    def degree(self) -> Array:
        """Row sums of K, (n,): the unnormalised kernel density of every point."""
        return np.asarray(self @ np.ones(self.shape[0], dtype=self.dtype))

    def squared_norms(self, A: Any, product: Array | None = None) -> Array:
        """Squared length of every centre, colsum(A ∘ K A), (c,)."""
        columns, _ = self._check_columns(A)
        product = self._product(columns) if product is None else product
        return np.asarray(np.einsum("ij,ij->j", columns, product.reshape(columns.shape)))

    def squared_distances(self, A: Any) -> Array:
        """Squared distance in feature space of every support point to every centre, (n, c)."""
        columns, is_vector = self._check_columns(A)
        product = self._product(columns)
        distances = self._distances(self.diag(), product, self.squared_norms(columns, product))
        return distances[:, 0] if is_vector else distances

    def log_product(self, A: Any) -> Array:
        """log(K @ A) for A ≥ 0, to relative accuracy however far a point is from the support.

        Entries that the product gives too coarsely, because they underflow or vanish in its
        error, are evaluated again exactly, so that ranks far away follow distance.
        """
        columns, is_vector = self._check_columns(A)
        logs = self._log_product(self.X, self._product(columns), columns)
        return logs[:, 0] if is_vector else logs

    def aslinearoperator(self) -> LinearOperator:
        """The operator as scipy.sparse.linalg knows it."""
        return LinearOperator(
            shape=self.shape,
            dtype=self.dtype,
            matvec=lambda v: self @ v.ravel(),
            rmatvec=lambda v: self @ v.ravel(),
            matmat=lambda M: self @ M,
            rmatmat=lambda M: self @ M,
        )

    # What the square and the rectangular operator share

    def _check_columns(self, A: Any) -> tuple[Array, bool]:
        """A as a finite (n, c) array of this operator's dtype, and whether it was a vector."""
        A = np.asarray(A)
        n = self.shape[0]
        if A.ndim not in (1, 2) or A.shape[0] != n:
            raise ValueError(f"A has shape {A.shape}; it must be ({n},) or ({n}, c).")
        columns = np.ascontiguousarray(A.reshape(n, -1) if A.size else A.reshape(n, 0), self.dtype)
        if not np.isfinite(columns).all():
            raise ValueError("A contains NaN or infinity.")
        return columns, A.ndim == 1

    def _check_new(self, X_new: Any) -> Any:
        X_new = check_array(X_new, accept_sparse="csr", dtype=self.dtype)
        if X_new.shape[1] != self.X.shape[1]:
            raise ValueError(
                f"X_new has {X_new.shape[1]} columns, but the support has {self.X.shape[1]}."
            )
        return X_new

    def _distances(self, diag: Array, product: Array, norms: Array) -> Array:
        """D² = diag(K) − 2 G + ‖centre‖², (m, c)."""
        distances = diag[:, None] - 2 * product + norms
        if self.kernel.is_positive_semidefinite:
            np.maximum(distances, 0, out=distances)  # rounding only
        return np.asarray(distances)

    def _doubtful(self, product: Array, A: Array) -> Array:
        """Entries of K @ A, (m, c), that are not accurate in relative terms."""
        return np.asarray(product <= 1e6 * np.finfo(self.dtype).tiny * A.sum(axis=0))

    def _log_product(self, queries: Any, product: Array, A: Array) -> Array:
        if (A < 0).any():
            raise ValueError("log_product needs A ≥ 0: a sum of mixed signs has no logarithm.")
        doubtful = self._doubtful(product, A)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(product)
        rows = np.flatnonzero(doubtful.any(axis=1))
        if rows.size:
            logs[rows] = self._exact_logs(queries[rows], A)
        return np.asarray(logs)

    def _exact_logs(self, queries: Any, A: Array) -> Array:
        """Logarithm of Σ_r K(x, x_r) A_r without underflow, (m, c), for the queries given."""
        with np.errstate(divide="ignore"):
            log_A = np.log(A.astype(np.float64))
        out = np.empty((queries.shape[0], A.shape[1]), dtype=self.dtype)
        if isinstance(self.kernel, Gaussian) and self.X.shape[1] <= TREE_COLUMNS:
            points = self.kernel.scaled(np.asarray(self.X, dtype=np.float64))
            for c in range(A.shape[1]):
                support = np.isfinite(log_A[:, c])
                out[:, c] = _near_logs(
                    points[support],
                    log_A[support, c],
                    self.kernel.scaled(queries.astype(np.float64)),
                )
            return out
        for rows in row_blocks(queries.shape[0], self.shape[0], 8):
            log_block = self.kernel.log_block(queries[rows], self.X)
            for c in range(A.shape[1]):
                out[rows, c] = logsumexp(log_block + log_A[:, c], axis=1)
        return out


class CrossOperator:
    """Kernel values between new points (m rows) and an operator's support (n columns).

    Made by `KernelOperator.cross`.
    """

    def __init__(self, support: KernelOperator, X_new: Any) -> None:
        self.support = support
        self.X = support._check_new(X_new)

    @property
    def shape(self) -> tuple[int, int]:
        """(m, n)."""
        return self.X.shape[0], self.support.shape[0]

    def __repr__(self) -> str:
        return f"CrossOperator({self.support!r}, m={self.shape[0]})"

    def __matmul__(self, A: Any) -> Array:
        columns, is_vector = self.support._check_columns(A)
        product = self.support._cross_product(self.X, columns)
        return product[:, 0] if is_vector else product

    def diag(self) -> Array:
        """Kernel value of every new point with itself, (m,)."""
        return self.support.kernel.diag(self.X)

    def squared_distances(self, A: Any, norms: Array | None = None) -> Array:
        """Squared distance of every new point to every centre, (m, c).

        `norms` are the centres' squared norms (`KernelOperator.squared_norms`), where known.
        """
        columns, is_vector = self.support._check_columns(A)
        if norms is None:
            norms = self.support.squared_norms(columns)
        product = self.support._cross_product(self.X, columns)
        distances = self.support._distances(self.diag(), product, np.asarray(norms))
        return distances[:, 0] if is_vector else distances

    def log_product(self, A: Any) -> Array:
        """log(K @ A) for A ≥ 0, as `KernelOperator.log_product`."""
        columns, is_vector = self.support._check_columns(A)
        product = self.support._cross_product(self.X, columns)
        logs = self.support._log_product(self.X, product, columns)
        return logs[:, 0] if is_vector else logs


def available_threads() -> int:
    """Cores this process may use, container limits heeded."""
    return int(joblib.cpu_count())


def _near_logs(points: Array, log_weights: Array, queries: Array) -> Array:
    """Logarithm of Σ w exp(−r²/2) for every query, (m,), over the points that matter.

    With the nearest at distance r, all n points beyond √(r² + 2 log(n/ε)) together add less than
    ε of what the nearest adds, if weights are equal; their largest ratio is added to n.
    """
    tree = cKDTree(points)
    nearest, _ = tree.query(queries, workers=-1)
    slack = np.log(tree.n / TAIL_ACCURACY) + np.ptp(log_weights)
    radius = np.sqrt(np.square(nearest) + 2 * slack) * (1 + 1e-12)
    logs = np.empty(len(queries))
    for rows in row_blocks(len(queries), 8 * 1024, 8):
        near = tree.query_ball_point(queries[rows], radius[rows], workers=-1)
        counts = np.array([len(neighbours) for neighbours in near])
        support = np.concatenate(near).astype(np.intp)
        query = np.repeat(np.arange(rows.start, rows.stop), counts)
        squared = np.square(points[support] - queries[query]).sum(axis=1)
        terms = log_weights[support] - 0.5 * (squared - np.square(nearest)[query])
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        logs[rows] = np.log(np.add.reduceat(np.exp(terms - log_weights.max()), starts))
    return np.asarray(logs + log_weights.max() - 0.5 * np.square(nearest))
