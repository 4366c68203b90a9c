"""K @ A for Dask arrays: chunks are multiplied where they are, and only small sums move.

With landmarks (Nyström), a center is a combination of a few hundred rows that every worker has:

    B = K_LL⁻¹ Σ K(L, X_b) A_b          (m, c)    one small sum over the chunks b
    G_b = K(X_b, L) B                   (b, c)    one map over them

so that the data moved do not grow with n. Without landmarks every pair of chunks is multiplied, and
the product is exact. `local` makes the operator that multiplies one block. A and the results are
Dask arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_solve
from scipy.optimize import nnls

from softkern._utils.typing import Array
from softkern.dask.chunks import map_rows
from softkern.dask.cluster import broadcast, compute, merge_parts, persist
from softkern.dask.rows import ChunkedRows
from softkern.kernels import Kernel
from softkern.operators.base import KernelOperator
from softkern.operators.geometry import Geometry, squared_distances
from softkern.operators.low_rank import NystroemOperator

SUMMED_PARTS = 8  # partial products that one task adds

Local = Callable[[Any], KernelOperator]


class DistributedOperator(KernelOperator):
    """Exact products over all pairs of rows, chunk by chunk.

    `local` makes the operator over the rows of one block. `sample` is that over the subsample.
    """

    engine: ClassVar[str] = "distributed"

    def __init__(
        self, kernel: Kernel, rows: ChunkedRows, local: Local, sample: KernelOperator
    ) -> None:
        self.kernel, self.rows, self.X, self.local = kernel, rows, rows.X, local
        self.dtype, self.shape = rows.X.dtype, (rows.X.shape[0], rows.X.shape[0])
        self.features = None  # distances follow from products
        kernel.check(rows.subsample.X)
        self.sample, self.approximation_error = sample, sample.approximation_error

    def _product(self, A: Any) -> Any:
        """Multiply every chunk with all others. It starts at once, while A is persisted."""
        import dask.array as da
        from dask import delayed

        A = persist(A)  # all chunks need it
        multiply, local = delayed(_multiply_chunks), broadcast(self.local)
        blocks, parts = self.X.to_delayed().ravel(), A.to_delayed().ravel()
        products = []
        for block, size in zip(blocks, self.X.chunks[0], strict=True):
            total: Any = None
            for k in range(0, len(blocks), SUMMED_PARTS):
                group = slice(k, k + SUMMED_PARTS)
                total = multiply(local, block, list(blocks[group]), list(parts[group]), total)
            products.append(da.from_delayed(total, (size, A.shape[1]), dtype=self.dtype))
        return persist(da.concatenate(products))

    def _cross_product(self, X_new: Any, A: Any) -> Array:
        """Σ K(X_new, X_b) A_b over all chunks, (m, c), summed on the workers in float64."""
        from dask import delayed

        multiply, local = delayed(_multiply_chunks), broadcast(self.local)
        points = broadcast(X_new)
        pairs = zip(self.X.to_delayed().ravel(), A.to_delayed().ravel(), strict=True)
        parts = [multiply(local, points, [block], [part], None) for block, part in pairs]
        add = partial(np.sum, axis=0, dtype=np.float64)
        return np.asarray(merge_parts(parts, add, SUMMED_PARTS), dtype=np.float64)

    def subsample(self, weight: Any) -> tuple[KernelOperator, Array]:
        """Return the operator over the subsample, and its weights."""
        return self.sample, self.rows.subsample.weight

    def geometry(self, A: Any, product: Any = None, *, norms: Any = None) -> Geometry:
        """Similarities and distances of the rows to centers A (n, c), and their norms.

        The norms are NumPy arrays.
        """
        A = persist(self._check_columns(A)[0])
        product = persist(self._product(A) if product is None else product)
        if norms is None:
            norms = compute((A * product).sum(axis=0, dtype=np.float64))[0].astype(self.dtype)
        is_semidefinite = self.kernel.is_positive_semidefinite
        distances = squared_distances(self.diag(), product, norms, is_semidefinite)
        return Geometry(product, norms, distances)

    def geometry_from(self, other: KernelOperator, A: Array) -> Geometry:
        """Geometry for centers A (m, c) over the support of a local operator.

        It is not persisted: arrays derived from it would keep it in memory for the whole loop.
        """
        _, points, weights = other.compressed(A)
        support = self.local(points)
        norms = np.asarray(support.squared_norms(weights), dtype=self.dtype)
        return self._geometry_to(broadcast(support), weights, norms)

    def _geometry_to(self, support: Any, A: Array, norms: Array) -> Geometry:
        """Geometry of every chunk and centers over a support that the workers have."""
        like = np.empty((0, A.shape[1]), dtype=self.dtype)
        weights = broadcast(A.astype(self.dtype))
        fixed: dict[str, Any] = {"like": like, "support": support, "weights": weights}
        product = map_rows(_similarities, self.X, name="similarities", **fixed)
        distances = map_rows(_distances, self.X, name="distances", norms=norms, **fixed)
        return Geometry(product, norms, distances)

    def diag(self) -> Any:
        """Kernel value of every row with itself, (n,)."""
        like = np.empty(0, dtype=self.dtype)
        return map_rows(self.kernel.diag, self.X, name="diagonal", like=like)

    def compressed(self, A: Any, nonnegative: bool = False) -> tuple[Array, Any, Array]:
        """Numbers of all rows with a nonzero coefficient, these rows, and the coefficients."""
        columns = compute(self._check_columns(A)[0])[0]
        used = np.flatnonzero(columns.any(axis=1))
        return used, compute(self.X[used])[0], columns[used]

    @property
    def error(self) -> float:
        """Error of the operator over the subsample."""
        return self.sample.error

    @property
    def distance_error(self) -> float:
        """Error of distances in the subsample."""
        return self.sample.distance_error

    def _check_columns(self, A: Any) -> tuple[Any, bool]:
        """Return A (n, c) in the chunks of X, and whether it was a vector (n,)."""
        is_vector = A.ndim == 1
        A = A[:, None] if is_vector else A
        return A.rechunk((self.X.chunks[0], -1)).astype(self.dtype), is_vector


class DistributedNystroem(DistributedOperator):
    """Approximate products through landmarks that every worker has.

    `factor` is the low-rank operator over the subsample of the rows, which chose the landmarks.
    """

    is_exact_support: ClassVar[bool] = False
    error_is_known: ClassVar[bool] = False

    def __init__(
        self, kernel: Kernel, rows: ChunkedRows, local: Local, factor: NystroemOperator
    ) -> None:
        super().__init__(kernel, rows, local, factor)
        sample = rows.subsample
        self.landmarks = sample.rows[factor.landmarks]  # row numbers, (m,)
        self._points, self._lower = sample.X[factor.landmarks], factor.lower
        self._support = broadcast(local(self._points))  # sent to every worker once
        self._last: tuple[str, Array] = ("", np.empty(0))  # name of the last A, and its result

    def on_landmarks(self, A: Any) -> Array:
        """Coefficients on the landmarks, (m, c), of the centers nearest to those of A (n, c)."""
        A = self._check_columns(A)[0]
        if self._last[0] != A.name:
            sums = self._cross_product(self._points, A)
            weights = cho_solve((self._lower, True), sums, check_finite=False)
            self._last = A.name, np.asarray(weights)
        return self._last[1]

    def _product(self, A: Any) -> Any:
        return self.geometry(A).product

    def geometry(self, A: Any, product: Any = None, *, norms: Any = None) -> Geometry:
        """As for exact products. Given products and norms are not needed."""
        weights = self.on_landmarks(A)
        norms = np.square(self._lower.T @ weights).sum(axis=0).astype(self.dtype)
        geometry = self._geometry_to(self._support, weights, norms)
        return replace(geometry, distances=persist(geometry.distances))

    def compressed(self, A: Any, nonnegative: bool = False) -> tuple[Array, Any, Array]:
        """Numbers and points of the landmarks, and coefficients on them nearest to the centers."""
        weights = self.on_landmarks(A)
        if nonnegative:
            image = self._lower.T @ weights
            columns = [nnls(self._lower.T, column)[0] for column in image.T]
            weights = np.column_stack(columns)
        is_used = weights.any(axis=1)
        used = weights[is_used].astype(self.dtype)
        return self.landmarks[is_used], self._points[is_used], used


# Tasks


def _multiply_chunks(
    local: Local, block: Array, others: Sequence[Array], weights: Sequence[Array], total: Any
) -> Array:
    """K(block, others) @ weights, added to the sum so far."""
    for rows, part in zip(others, weights, strict=True):
        product = local(rows).cross(block) @ part
        total = product if total is None else total + product
    return np.asarray(total)


def _similarities(X: Array, support: KernelOperator, weights: Array) -> Array:
    return support.cross(X) @ weights


def _distances(X: Array, support: KernelOperator, weights: Array, norms: Array) -> Array:
    return np.asarray(support.cross(X).geometry(weights, norms=norms).distances)
