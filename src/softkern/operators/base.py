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
from functools import cached_property
from typing import Any, ClassVar

import joblib
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator
from scipy.special import logsumexp
from sklearn.utils import check_array

from softkern.kernels import Gaussian, Kernel
from softkern.operators.geometry import FeaturePoints
from softkern.operators.logs import near_logs

__all__ = [
    "Cost",
    "CrossOperator",
    "Geometry",
    "KernelOperator",
    "Workload",
    "blocked_product",
    "row_blocks",
]

Array = NDArray[Any]

TREE_COLUMNS = 8  # beyond these, a tree of neighbours is no quicker than all pairs
LOST_DIGITS = 10.0  # a difference this many times √eps of its terms is computed anew
GAP_ROWS = 8192  # summed at once, in float64
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
    nonzeros: int | None = None  # of sparse data
    iterations: int = 1
    threads: int = 1

    @classmethod
    def of(cls, X: Any, kernel: Kernel) -> Workload:
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


@dataclass(frozen=True)
class Geometry:
    """How support points lie to centres: what one product tells."""

    product: Array  # K @ A, (n, c)
    norms: Array  # squared lengths of the centres, (c,)
    distances: Array  # squared distances to them, (n, c)

    def take(self, order: Array) -> Geometry:
        """The same of some centres, or of all in another order."""
        return Geometry(self.product[:, order], self.norms[order], self.distances[:, order])

    def gaps(self, A: Array) -> Array:
        """Squared distances between the centres A (n, c), whose columns sum to one, (c, c).

        From distances, which have the digits that norms far from the origin lose: the mean of D²
        to centre k over the points of centre j is their own spread and the gap.
        """
        means = np.zeros((A.shape[1], A.shape[1]))
        for start in range(0, A.shape[0], GAP_ROWS):
            rows = slice(start, start + GAP_ROWS)
            means += A[rows].T @ self.distances[rows].astype(np.float64, copy=False)
        gaps = means - means.diagonal()[:, None]
        return np.asarray((gaps + gaps.T) / 2)


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
        """Bound of ``|(self @ A) − K A|`` for every column, as a share of ``Σ |A|``."""
        return float(16 * np.finfo(self.dtype).eps) * self._largest_value()

    def _largest_value(self) -> float:
        """Largest kernel value: on the diagonal of a semidefinite kernel, else from some rows."""
        if self.kernel.is_shift_invariant:
            return 1.0
        if self.kernel.is_positive_semidefinite:
            return float(np.abs(self.diag()).max())
        return 4 * float(np.abs(self.kernel.block(self.X[:64], self.X)).max())

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

    def entries(self, rows: Any, columns: Any) -> Array:
        """Values (len(rows), len(columns)) of the matrix that `@` multiplies with.

        Kernel values, or what stands for them where the operator is an approximation.
        """
        return self.kernel.block(self.X[rows], self.X[columns])

    def partial_product(self, index: Any, A: Any) -> Array:
        """K @ A, (n, c), for an A that is zero but in the rows `index`, A (len(index), c)."""
        full = np.zeros((self.shape[0], A.shape[1]), dtype=self.dtype)
        full[index] = A
        return self._product(full)

    def degree(self) -> Array:
        """Row sums of K, (n,): the unnormalised kernel density of every point."""
        return np.asarray(self @ np.ones(self.shape[0], dtype=self.dtype))

    def squared_norms(self, A: Any) -> Array:
        """Squared length of every centre, colsum(A ∘ K A), (c,)."""
        return self.geometry(A).norms

    def squared_distances(self, A: Any) -> Array:
        """Squared distance in feature space of every support point to every centre, (n, c)."""
        columns, is_vector = self._check_columns(A)
        known = self._feature_points
        if known is None:
            distances = self.geometry(columns).distances
        else:  # the product is not needed
            distances = known.distances(known.centres(columns))
        return distances[:, 0] if is_vector else distances

    def geometry(self, A: Any, product: Array | None = None) -> Geometry:
        """Similarities and distances of the support to centres A (n, c), and their norms.

        The product K @ A is computed where it is not given.
        """
        columns, _ = self._check_columns(A)
        product = self._product(columns) if product is None else product.reshape(columns.shape)
        total = np.einsum("ij,ij->j", columns, product, dtype=np.float64)  # n terms want digits
        norms = np.asarray(total, dtype=self.dtype)
        known = self._feature_points
        if known is None:
            distances = self._distances(self.diag(), product, norms)
        else:
            distances = known.distances(known.centres(columns))
        return Geometry(product, norms, distances)

    @cached_property
    def _feature_points(self) -> FeaturePoints | None:
        """The support in a finite feature map, from which distances are taken; None without."""
        return FeaturePoints.of(self._feature_rows())

    def _feature_rows(self) -> Any | None:
        """F (n, r) with F Fᵀ = K, where there is such an array."""
        return self.kernel.features(self.X)

    @property
    def distance_error(self) -> float:
        """Rounding of a squared distance, of the order of that of the largest number in its sum."""
        known = self._feature_points
        sizes = self.diag() if known is None else known.norms
        limits = np.finfo(self.dtype)
        largest = float(np.abs(sizes).max(initial=0))
        return max(4 * float(limits.eps) * largest, float(limits.tiny) / float(limits.eps))

    @property
    def features(self) -> FeaturePoints | None:
        """The support as points of features, where centres are best written down in these."""
        return None

    def centre_geometry(self, centres: Array) -> Geometry:
        """As `geometry`, for centres that are written down as vectors in `features`, (r, c)."""
        known = self.features
        if known is None:
            raise ValueError(f"{self!r} has no features in which a centre could be written down.")
        vectors = centres + known.origin[:, None]
        norms = np.einsum("ij,ij->j", vectors, vectors)
        return Geometry(self._feature_rows() @ vectors, norms, known.distances(centres))

    def compressed(self, A: Any, nonnegative: bool = False) -> tuple[Any, Array]:
        """Support points and coefficients that give the same centres: (X_s, A_s).

        New points need no more than these. Rows without weight are left out. With `nonnegative`,
        the coefficients of an A ≥ 0 are not negative either: a density stays one.
        """
        columns, _ = self._check_columns(A)
        used = np.flatnonzero(columns.any(axis=1))
        if used.size in (0, self.shape[0]):
            return self.X, columns
        return self.X[used], columns[used]

    def log_product(self, A: Any, product: Array | None = None) -> Array:
        """log(K @ A) for A ≥ 0, to relative accuracy however far a point is from the support.

        Entries that the product gives too coarsely, because they underflow or vanish in its
        error, are evaluated again exactly, so that ranks far away follow distance. (The nystroem
        operator takes its approximation as it is, and evaluates again only what vanishes in it.)
        The product is computed where it is not given.
        """
        columns, is_vector = self._check_columns(A)
        product = self._product(columns) if product is None else product.reshape(columns.shape)
        logs = self._log_product(self.X, product, columns)
        return logs[:, 0] if is_vector else logs

    def log_product_of_others(self, a: Any, own: Any, product: Array | None = None) -> Array:
        """Logarithm of Σ_r K(x_i, x_r) a_r, (n,), each row i without the part `own_i` of a_i.

        With own = a a point does not vouch for itself, and isolated points keep their order,
        which the sum with themselves would hide.
        """
        columns, _ = self._check_columns(a)
        left = columns[:, 0] - np.asarray(own, dtype=self.dtype)
        if (left < 0).any():
            raise ValueError("own must not exceed a.")
        product = (self._product(columns) if product is None else product).reshape(-1)
        others = product - (columns[:, 0] - left) * self.diag()
        lost = others <= LOST_DIGITS * np.sqrt(np.finfo(self.dtype).eps) * product
        lost |= self._doubtful(others[:, None], columns)[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(others)
        rows = np.flatnonzero(lost)
        if rows.size:
            logs[rows] = self._exact_logs(self.X[rows], columns[:, 0], rows, left[rows])
        return np.asarray(logs)

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
        A = A.toarray() if sp.issparse(A) else np.asarray(A)
        n = self.shape[0]
        if A.dtype.kind not in "biuf":
            raise ValueError(f"A must hold real numbers, got dtype {A.dtype}.")
        if A.ndim not in (1, 2) or A.shape[0] != n:
            raise ValueError(f"A has shape {A.shape}; it must be ({n},) or ({n}, c).")
        columns = np.ascontiguousarray(A.reshape(n, -1) if A.size else A.reshape(n, 0), self.dtype)
        if not np.isfinite(columns).all():
            raise ValueError("A contains NaN or infinity.")
        return columns, A.ndim == 1

    def _check_new(self, X_new: Any) -> Any:
        X_new = check_array(X_new, accept_sparse="csr", dtype=self.dtype)
        if sp.issparse(X_new) and not sp.issparse(self.X):
            X_new = X_new.toarray()
        if X_new.shape[1] != self.X.shape[1]:
            raise ValueError(
                f"X_new has {X_new.shape[1]} columns, but the support has {self.X.shape[1]}."
            )
        return X_new

    def _distances(self, diag: Array, product: Array, norms: Array) -> Array:
        """D² = diag(K) − 2 G + ‖centre‖², (m, c)."""
        distances = -2 * product
        distances += diag[:, None]
        distances += norms
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
        for c in range(A.shape[1]):
            rows = np.flatnonzero(doubtful[:, c])
            if not A[:, c].any():
                logs[:, c] = -np.inf
            elif rows.size:
                logs[rows, c] = self._exact_logs(queries[rows], A[:, c])
        return np.asarray(logs)

    def _exact_logs(
        self, queries: Any, a: Array, own: Array | None = None, left: Array | None = None
    ) -> Array:
        """Logarithm of Σ_r K(x, x_r) a_r without underflow, (m,), for the queries given.

        Where queries are support points, `own` are their numbers, and `left` what takes the place
        of their own weights.
        """
        used = np.flatnonzero(a > 0)
        with np.errstate(divide="ignore"):
            log_a = np.log(a[used].astype(np.float64))
            log_left = None if left is None else np.log(left.astype(np.float64))
        if own is not None:
            place = np.searchsorted(used, own)
            is_used = used[np.minimum(place, used.size - 1)] == own
            own = np.where(is_used, place, -1)
        if self._has_tree:
            points, scaled = self._tree_points(used, queries)
            return near_logs(points, log_a, scaled, own, log_left)
        out = np.empty(queries.shape[0])
        points = self.X[used]
        for rows in row_blocks(queries.shape[0], used.size, 8):
            log_block = self.kernel.log_block(queries[rows], points).astype(np.float64)
            terms = log_block + log_a
            if own is not None and log_left is not None:
                itself = np.flatnonzero(own[rows] >= 0)
                at = itself, own[rows][itself]
                terms[at] = log_block[at] + log_left[rows][itself]
            out[rows] = logsumexp(terms, axis=1)
        return out

    @property
    def _has_tree(self) -> bool:
        return isinstance(self.kernel, Gaussian) and self.X.shape[1] <= TREE_COLUMNS

    def _tree_points(self, used: Array, queries: Any) -> tuple[Array, Array]:
        """Support points in use and queries, in bandwidths."""
        assert isinstance(self.kernel, Gaussian)
        points = self.kernel.scaled(_dense(self.X[used]))
        return points, self.kernel.scaled(_dense(queries))


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
        distances = self.geometry(columns, np.asarray(norms)).distances
        return distances[:, 0] if is_vector else distances

    def geometry(self, A: Any, norms: Array) -> Geometry:
        """Similarities and distances of the new points to centres A (n, c) of known norms."""
        columns, _ = self.support._check_columns(A)
        product = self.support._cross_product(self.X, columns)
        known = self.support._feature_points
        if known is None:
            distances = self.support._distances(self.diag(), product, norms)
        else:
            features = self.support.kernel.features(self.X)
            distances = known.distances(known.centres(columns), features)
        return Geometry(product, norms, distances)

    def log_product(self, A: Any, product: Array | None = None) -> Array:
        """log(K @ A) for A ≥ 0, as `KernelOperator.log_product`."""
        columns, is_vector = self.support._check_columns(A)
        if product is None:
            product = self.support._cross_product(self.X, columns)
        logs = self.support._log_product(self.X, product, columns)
        return logs[:, 0] if is_vector else logs


def available_threads() -> int:
    """Cores this process may use, container limits heeded."""
    return int(joblib.cpu_count())


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
