"""The product K @ A, and what follows from it.

`KernelOperator` is the matrix K of kernel values between support points, which only some operators
form. `CrossOperator` is that between new points and the support. Distances to centers and
logarithms follow from the products of both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_array_api_obj, is_numpy_array
from sklearn import get_config
from sklearn.utils import check_array

from softkern._utils.neighbors import k_nearest
from softkern._utils.threads import available_threads
from softkern._utils.typing import Array
from softkern.kernels import Kernel
from softkern.operators.geometry import FeaturePoints, center_norms, squared_distances
from softkern.operators.geometry import Geometry as Geometry
from softkern.operators.log_sums import LogKernelSum
from softkern.operators.work import ProblemSize as ProblemSize
from softkern.rows import Rows, row_slices

LOST_DIGITS = 10.0  # a difference this many times √eps of its terms is computed anew
SMALLEST_SUM = 1e6  # smallest normal numbers below which a sum has lost terms to underflow
ROUNDING = 16  # units in the last place that a product may be off, as a share of Σ |A|
SAMPLED_ROWS = 64  # whose largest value, four times, bounds a kernel without a stated bound
BLOCK_BYTES = 32 * 2**20  # kernel values held at once by operators that work in blocks


def row_blocks(n: int, m: int, itemsize: int) -> Iterator[slice]:
    """Slices of n rows such that a block of rows × m values stays small."""
    return row_slices(n, max(1, min(n, BLOCK_BYTES // max(1, m * itemsize))))


def blocked_product(kernel: Kernel, queries: Any, X: Any, A: Array) -> Array:
    """K(queries, X) @ A, (m, c), for any kernel, exactly, one block of kernel values at a time."""
    out = np.zeros((queries.shape[0], A.shape[1]), dtype=A.dtype)
    for support in row_blocks(X.shape[0], 256, A.itemsize):
        support_rows, weights = X[support], A[support]
        for block in row_blocks(queries.shape[0], support_rows.shape[0], A.itemsize):
            out[block] += kernel.block(queries[block], support_rows) @ weights
    return out


class KernelProducts(ABC):
    """Kernel values between the rows X (m, d) and the support of an operator (n rows)."""

    X: Any
    shape: tuple[int, int]  # (m, n)
    support: KernelOperator
    _new_features: Any = None  # of rows other than the support, where the operator has features

    @abstractmethod
    def _product(self, A: Array) -> Array:
        """K @ A, (m, c), for a checked A (n, c) of the operator's dtype."""

    def __matmul__(self, A: Any) -> Array:
        columns, is_vector = self.support._check_columns(A)
        product = self._product(columns)
        return product[:, 0] if is_vector else product

    def __getstate__(self) -> dict[str, Any]:
        """Without what is computed on first use, and can be computed again."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if not isinstance(getattr(type(self), name, None), cached_property)
        }

    def diag(self) -> Array:
        """Kernel value of every row with itself, (m,)."""
        return self._diagonal.copy()

    @cached_property
    def _diagonal(self) -> Array:
        return self.support.kernel.diag(self.X)

    @cached_property
    def _device_diagonal(self) -> Any:
        return self.support.to_device(self._diagonal)

    def squared_distances(self, A: Any) -> Any:
        """Squared distance in feature space of every row to every center, (m, c)."""
        columns, is_vector = self.support._check_columns(A)
        features = self.support.features
        if features is None:
            distances = self.geometry(columns).distances
        else:  # the product is not needed
            distances = features.distances(features.centers(columns), self._new_features)
        return distances[:, 0] if is_vector else distances

    def geometry(self, A: Any, product: Any = None, *, norms: Any = None) -> Geometry:
        """Similarities and distances of the rows to centers A (n, c), and the centers' norms.

        The product K @ A and the squared norms are computed where they are not given.
        """
        support = self.support
        columns, _ = support._check_columns(A)
        product = self._product(columns) if product is None else product
        product = product.reshape(self.shape[0], columns.shape[1])
        if norms is None:
            norms = center_norms(columns, product if self is support else support._product(columns))
        is_away = support.on_device and not is_numpy_array(columns)
        features = None if is_away else support.features
        if features is None:
            diag = self._device_diagonal if is_away else self._diagonal
            is_semidefinite = support.kernel.is_positive_semidefinite
            distances = squared_distances(diag, product, norms, is_semidefinite)
        else:
            distances = features.distances(features.centers(columns), self._new_features)
        return Geometry(product, norms, distances)

    def log_product(self, A: Any, product: Array | None = None) -> Array:
        """log(K @ A) for A ≥ 0, to relative accuracy however far a row is from the support.

        Entries that underflow in the product, or vanish in its error, are evaluated again exactly,
        so that ranks far away follow distance. The product is computed where it is not given.
        """
        support = self.support
        columns, is_vector = support._check_columns(A)
        product = self._product(columns) if product is None else product
        product = product.reshape(-1, columns.shape[1])
        if (columns < 0).any():
            raise ValueError("log_product needs A ≥ 0: a sum of mixed signs has no logarithm.")
        doubtful = support._doubtful(product, columns)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs: Array = np.log(product)
        for c in np.flatnonzero(doubtful.any(axis=0)):
            again = np.flatnonzero(doubtful[:, c])
            with np.errstate(over="ignore"):  # in float32 the farthest are −∞
                logs[again, c] = support._far_logs(self.X[again], columns[:, c])
        return logs[:, 0] if is_vector else logs


class KernelOperator(KernelProducts):
    """The symmetric matrix K of kernel values between the rows of X, as something to multiply.

    A subclass implements `_product` and `_cross_product`, sets `engine`, and overrides what
    differs. Further parameters of its constructor are options that `plan(engine_params=...)` passes
    on.

    Parameters
    ----------
    kernel : softkern.kernels.Kernel
    X : array of shape (n, d), or CSR matrix where the operator takes it
        float32 and float64 are kept, anything else becomes float64.

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.kernels import Linear
    >>> from softkern.operators.features import FeatureOperator
    >>> operator = FeatureOperator(Linear(), np.array([[0.0], [1.0], [5.0]]))
    >>> operator.squared_distances(np.full(3, 1 / 3))  # to the mean of the points, 2
    array([4., 1., 9.])
    >>> operator.cross(np.array([[3.0]])).squared_distances(np.full(3, 1 / 3))
    array([1.])
    """

    engine: ClassVar[str]
    is_exact_support: ClassVar[bool] = True  # the centers of `compressed` are those of A
    error_is_known: ClassVar[bool] = True  # before the operator is built
    on_device: bool = False  # its arrays live on a device, where `to_device` takes others
    approximation_error: float = 0.0  # share of the trace of K that the operator leaves out
    points: Any = None  # X on the operator's device, where it has one
    # a cheap low-rank operator over the same rows, on which loops may iterate
    surrogate: KernelOperator | None = None

    def __init__(self, kernel: Kernel, X: Any) -> None:
        if not isinstance(kernel, Kernel):
            raise TypeError(
                f"kernel must be a softkern.kernels.Kernel, such as Gaussian(1.0), got {kernel!r}."
            )
        self.kernel = kernel
        self.support_rows = Rows.of(X)
        self.X = self.support_rows.X
        self.shape = self.X.shape[0], self.X.shape[0]
        self.dtype: np.dtype[Any] = self.X.dtype  # float32 or float64
        kernel.check(self.X)
        reason = self.unsupported_reason(ProblemSize.of(self.X, kernel))
        if reason:
            raise ValueError(f"engine={self.engine!r} cannot be used here: {reason}.")

    @abstractmethod
    def _cross_product(self, X_new: Any, A: Array) -> Array:
        """K(X_new, X) @ A, (m, c), for checked arguments."""

    @classmethod
    def unsupported_reason(cls, problem: ProblemSize) -> str | None:
        """Return why the operator cannot be used for a problem, or None."""
        if not problem.kernel.takes_points:
            return "the kernel is a matrix already; use engine='precomputed'"
        return None

    def to_device(self, array: Any) -> Any:
        """Return an array of the host on the operator's device; the same where it has none."""
        return array

    # Errors

    @property
    def error(self) -> float:
        """Bound of ``|(self @ A) − K A|`` for every column, as a share of ``Σ |A|``."""
        return ROUNDING * self.rounding * self._largest_value()

    @property
    def rounding(self) -> float:
        """Relative error of a kernel value."""
        return float(np.finfo(self.dtype).eps)

    @property
    def attainable_error(self) -> float:
        """As `error`, for the matrix that `entries` gives in place of K."""
        return self.error

    def _largest_value(self) -> float:
        """The kernel's bound, or the largest of the diagonal, or an estimate from some rows."""
        if self.kernel.bound is not None:
            return float(self.kernel.bound)
        if self.kernel.is_positive_semidefinite:
            return float(np.abs(self._diagonal).max())
        some = np.unique(np.linspace(0, self.shape[0] - 1, SAMPLED_ROWS).astype(np.intp))
        return 4 * float(np.abs(self.columns(some)).max())

    @property
    def distance_error(self) -> float:
        """Rounding of a squared distance, of the order of that of the largest number in its sum."""
        sizes = self._diagonal if self.features is None else self.features.norms
        limits, largest = np.finfo(self.dtype), float(np.abs(sizes).max())
        return max(4 * self.rounding * largest, float(limits.tiny) / float(limits.eps))

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"{type(self).__name__}({self.kernel!r}, n={n}, d={d}, {self.dtype})"

    @property
    def support(self) -> KernelOperator:  # type: ignore[override]
        """The operator itself."""
        return self

    def cross(self, X_new: Any) -> CrossOperator:
        """Kernel values between new points (rows) and the support (columns)."""
        return CrossOperator(self, X_new)

    def columns(self, index: Any) -> Array:
        """Columns of K as an array, (n, len(index))."""
        out = np.empty((self.shape[0], np.size(index)), dtype=self.dtype)
        for block in row_blocks(len(out), out.shape[1], out.itemsize):
            out[block] = self._kernel_block(block, np.atleast_1d(index))
        return out

    def _kernel_block(self, rows: Any, columns: Any) -> Array:
        """Exact kernel values (len(rows), len(columns)), on the host."""
        return self.kernel.block(self.X[rows], self.X[columns])

    def entries(self, rows: Any, columns: Any) -> Array:
        """Values (len(rows), len(columns)) of the matrix that `@` multiplies with."""
        return self._kernel_block(rows, columns)

    def partial_product(self, index: Any, A: Any) -> Array:
        """K @ A, (n, c), for an A that is zero but in the rows `index`, A (len(index), c)."""
        full = np.zeros((self.shape[0], A.shape[1]), dtype=self.dtype)
        full[index] = A
        return self._product(full)

    def near_rows(self, Z: Array, k: int) -> Array:
        """Numbers of the k points of Z (n, d) nearest to each, itself among them, (n, k)."""
        return k_nearest(Z, Z, k, available_threads())[1]

    def degree(self) -> Array:
        """Row sums of K, (n,): the unnormalized kernel density of every point."""
        return self @ np.ones(self.shape[0], dtype=self.dtype)

    def subsample(self, weight: Any) -> tuple[KernelOperator, Array]:
        """Return an operator over samples that represent all (by default itself), and weights."""
        return self, weight

    def geometry_from(self, other: KernelOperator, A: Any) -> Geometry:
        """Geometry of the support and centers A (m, c) over the support of another operator."""
        return other.cross(self.X).geometry(A)

    # Centers

    @cached_property
    def features(self) -> FeaturePoints | None:
        """The support in a finite feature map, from which distances are taken; None without."""
        features = self.kernel.features(self.X)  # a sparse one must stay so
        is_dense = features is not None and not sp.issparse(features)
        return FeaturePoints.of(features) if is_dense else None

    def squared_norms(self, A: Any) -> Any:
        """Squared length of every center, colsum(A ∘ K A), (c,)."""
        columns, _ = self._check_columns(A)
        return center_norms(columns, self._product(columns))

    def distances_to_rows(self, index: Any) -> Any:
        """Squared distance of every support point to some of them, (n, len(index))."""
        index = np.atleast_1d(index)
        if self.features is not None:
            return self.features.distances(self.features.points[index].T)
        diag, is_semidefinite = self._diagonal, self.kernel.is_positive_semidefinite
        return squared_distances(diag, self.columns(index), diag[index], is_semidefinite)

    def compressed(self, A: Any, nonnegative: bool = False) -> tuple[Array, Any, Array]:
        """The same centers for new points: numbers of rows, these points, coefficients on them.

        With `nonnegative`, the coefficients of an A ≥ 0 are not negative: a density stays one.
        """
        columns, _ = self._check_columns(A)
        used = np.flatnonzero(columns.any(axis=1))
        if used.size in (0, self.shape[0]):
            used = np.arange(self.shape[0])
        else:
            columns = columns[used]
        return used, self.kernel.restrict(self.X, used), columns

    def release(self) -> None:
        """Free arrays that are only needed while iterating."""

    def log_product_of_others(
        self, a: Any, own: Any, product: Array | None = None, rows: Array | None = None
    ) -> Array:
        """Logarithm of Σ_r K(x_i, x_r) a_r, (n,), each row i without the part `own_i` of a_i.

        With own = a this is the leave-one-out sum, in which isolated points keep their order. With
        `rows` it is that of some rows, by their numbers, of which the product is given.
        """
        columns, _ = self._check_columns(a)
        left = columns[:, 0] - np.asarray(own, dtype=self.dtype)
        if (left < 0).any():
            raise ValueError("own must not exceed a.")
        product = (self._product(columns) if product is None else product).reshape(-1)
        some = np.arange(self.shape[0]) if rows is None else rows
        left = left[some]
        others = product - (columns[some, 0] - left) * self._diagonal[some]
        lost = others <= LOST_DIGITS * np.sqrt(self.rounding) * product
        lost |= self._doubtful(others[:, None], columns)[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs: Array = np.log(others)
        if lost.any():
            numbers = some[lost]
            logs[lost] = self._far_logs(self.X[numbers], columns[:, 0], numbers, left[lost])
        return logs

    def _doubtful(self, product: Array, A: Array) -> Array:
        """Entries of K @ A, (m, c), that are not accurate in relative terms."""
        return np.asarray(product <= SMALLEST_SUM * np.finfo(self.dtype).tiny * A.sum(axis=0))

    def _far_logs(
        self, queries: Any, a: Array, own: Array | None = None, left: Array | None = None
    ) -> Array:
        """Logarithms of Σ_r K(x, x_r) a_r however small, (m,). See `LogKernelSum.logs`."""
        return self._far_sums.logs(queries, a, own, left)

    @cached_property
    def _far_sums(self) -> LogKernelSum:
        return LogKernelSum(self.kernel, self.X)

    def _check_columns(self, A: Any) -> tuple[Array, bool]:
        """A as a finite (n, c) array of this operator's dtype, and whether it was a vector.

        An array of the operator's device stays there and is not searched for NaN.
        """
        n = self.shape[0]
        is_there = self.on_device and is_array_api_obj(A) and not is_numpy_array(A)
        if not is_there:
            A = A.toarray() if sp.issparse(A) else np.asarray(A)
            if A.dtype.kind not in "biuf":
                raise ValueError(f"A must hold real numbers, got dtype {A.dtype}.")
        if A.ndim not in (1, 2) or A.shape[0] != n:
            raise ValueError(f"A has shape {tuple(A.shape)}; it must be ({n},) or ({n}, c).")
        columns = A[:, None] if A.ndim == 1 else A
        if not is_there:
            columns = np.ascontiguousarray(columns, self.dtype)
            if not (get_config()["assume_finite"] or np.isfinite(columns).all()):
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


class CrossOperator(KernelProducts):
    """Kernel values between new points (m rows) and an operator's support (n columns)."""

    lengths_are_known: bool = True  # whether `diag`, and with it distances, can be had

    def __init__(self, support: KernelOperator, X_new: Any) -> None:
        self.support = support
        self.X = support._check_new(X_new)
        self.shape = self.X.shape[0], support.shape[0]

    def __repr__(self) -> str:
        return f"CrossOperator({self.support!r}, m={self.shape[0]})"

    def _product(self, A: Array) -> Array:
        return self.support._cross_product(self.X, A)

    @cached_property
    def _new_features(self) -> Any:
        return self.support.kernel.features(self.X)
