"""K @ A for rows in chunks: every chunk is computed where it is, and small sums go round.

With landmarks (Nyström), a center is coefficients on a few hundred rows that every worker has:

    B = K_LL⁻¹ Σ K(L, X_b) A_b          (m, c)    one small sum over the chunks b
    G_b = K(X_b, L) B                   (b, c)    one map over them

so that what travels does not grow with n. Without landmarks every pair of chunks meets once and the
product is exact. Each block is the product of an operator of this machine, given as `local`.
Arrays of n rows are Dask arrays; those of the host are taken to chunks, and answered on the host.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from array_api_compat import is_dask_array
from scipy.linalg import cho_solve
from scipy.optimize import nnls

from softkern._utils.typing import Array
from softkern.dask import ChunkedRows, answers, computed, kept, shared
from softkern.kernels import Kernel
from softkern.operators.base import Cost, KernelOperator, ProblemSize
from softkern.operators.geometry import Geometry, squared_distances

__all__ = ["DistributedNystroem", "DistributedOperator", "Landmarks"]

AT_ONCE = 8  # products of pairs of chunks that one task adds up
TASK_SECONDS = 1e-3  # of Dask's own work with a task
PAIR_SECONDS = 5e-9  # of a kernel value, on one core ...
VECTOR_SECONDS = 3e-10  # ... and of its part in the product with one vector
ROUNDING = 100  # times that of an exact product: that of the landmarks' factor
CHUNK_ROWS = 100_000  # where rows are not in chunks yet

Local = Callable[[Any], KernelOperator]


@dataclass(frozen=True)
class Landmarks:
    """Rows that centers are written on, and how well.

    Attributes
    ----------
    rows : array of shape (m,)
        Their numbers.
    points : array of shape (m, d)
    lower : array of shape (m, m)
        Cholesky factor of the kernel matrix between them.
    trace_error : float
        The share of the trace of K that they leave out, as a sample of the rows says.
    row_error : float, default=0.0
        The most that they leave out of a row's own kernel value in that sample.
    """

    rows: Array
    points: Array
    lower: Array
    trace_error: float
    row_error: float = 0.0


class DistributedOperator(KernelOperator):
    """K multiplied chunk by chunk: every pair of rows, exactly.

    Parameters
    ----------
    kernel : softkern.kernels.Kernel
    X : ChunkedRows, or an array of shape (n, d)
    local : callable
        Makes the operator over the rows of one block, of this machine.
    make_sample : callable, default=None
        Makes the operator over the sample that stands for all rows; by default `local` does.

    Examples
    --------
    >>> from functools import partial
    >>> import dask.array as da
    >>> from softkern.dask import ChunkedRows
    >>> from softkern.kernels import Gaussian
    >>> from softkern.operators import TiledOperator
    >>> X = da.random.default_rng(0).normal(size=(50, 3), chunks=(20, 3))
    >>> local = partial(TiledOperator, Gaussian(0.5))
    >>> operator = DistributedOperator(Gaussian(0.5), ChunkedRows.of(X), local)
    >>> (operator @ da.ones((50, 2), chunks=(20, 2))).chunks
    ((20, 20, 10), (2,))
    """

    engine: ClassVar[str] = "distributed"
    supports_prediction: ClassVar[bool] = False
    is_in_chunks: ClassVar[bool] = True

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        local: Local,
        make_sample: Callable[[], KernelOperator] | None = None,
    ) -> None:
        if not isinstance(kernel, Kernel):
            raise TypeError(
                f"kernel must be a softkern.kernels.Kernel, got {kernel!r}; "
                "softkern.kernels.resolve makes one of a name."
            )
        self.rows = X if isinstance(X, ChunkedRows) else ChunkedRows.of(_in_chunks(X))
        self.kernel, self.X, self.local = kernel, self.rows.X, local
        self._make_sample = make_sample or partial(local, self.rows.few.X)
        kernel.check(self.rows.few.X)

    # The product

    def _product(self, A: Any) -> Any:
        if not is_dask_array(A):
            return computed(self._product(_like(A, self.X)))[0]
        return self._all_pairs(A)

    def _all_pairs(self, A: Any) -> Any:
        """Every chunk meets all the others, a few at a time; begun at once, while A is held."""
        import dask.array as da
        from dask import delayed

        A = kept(A)  # it goes to all chunks
        met, local = delayed(meet_chunks), shared(self.local)
        blocks, parts = self.X.to_delayed().ravel(), A.to_delayed().ravel()
        whole = []
        for block, size in zip(blocks, self.X.chunks[0], strict=True):
            total: Any = None
            for k in range(0, len(blocks), AT_ONCE):
                some = slice(k, k + AT_ONCE)
                total = met(local, block, list(blocks[some]), list(parts[some]), total)
            whole.append(da.from_delayed(total, (size, A.shape[1]), dtype=self.dtype))
        return kept(da.concatenate(whole))

    def _cross_product(self, X_new: Any, A: Any) -> Any:
        return self._sums_at(X_new, _like(A, self.X)).astype(self.dtype)

    def _sums_at(self, points: Any, A: Any) -> Array:
        """Σ K(points, X_b) A_b over all chunks, (m, c), added up on the workers, in float64."""
        from dask import delayed

        local, where = shared(self.local), shared(points)
        pairs = zip(self.X.to_delayed().ravel(), A.to_delayed().ravel(), strict=True)
        parts = [delayed(sum_at_points)(local, where, *pair) for pair in pairs]
        while len(parts) > 1:
            some = range(0, len(parts), AT_ONCE)
            parts = [delayed(add_up)(parts[k : k + AT_ONCE]) for k in some]
        return np.asarray(computed(parts[0])[0])

    # What follows

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self.rows.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self.rows.shape[0], self.rows.shape[0]

    @property
    def numbers(self) -> Any:
        """The number of every row, (n,)."""
        return self.rows.numbers

    def subsample(self, weight: Any) -> tuple[KernelOperator, Array]:
        """The operator over the sample that stands for all rows, and its weights."""
        return self._few, self.rows.few.weight

    @cached_property
    def _few(self) -> KernelOperator:
        return self._make_sample()

    def geometry(self, A: Any, product: Any = None) -> Geometry:
        """Similarities and distances of the rows to centers A (n, c), and their norms.

        The norms are on this machine.
        """
        columns, _ = self._check_columns(A)
        if not is_dask_array(columns):
            found = self.geometry(_like(columns, self.X))
            return Geometry(*computed(found.product, found.norms, found.distances))
        return self._geometry(columns, product)

    def _geometry(self, A: Any, product: Any) -> Geometry:
        A = kept(A)
        product = kept(self._product(A) if product is None else product)
        norms = computed((A * product).sum(axis=0, dtype=np.float64))[0].astype(self.dtype)
        is_semidefinite = self.kernel.is_positive_semidefinite
        distances = squared_distances(self.diag(), product, norms, is_semidefinite)
        return Geometry(product, norms, distances)

    def geometry_from(self, other: KernelOperator, A: Array) -> Geometry:
        """The same for centers A (m, c) over the support of an operator of this machine.

        Not kept: what is made of it would hold on to it for a whole loop.
        """
        index, weights = other.compressed(A)
        support = self.local(other.points_at(index))
        norms = np.asarray(support.squared_norms(weights), dtype=self.dtype)
        return self._lies_to(shared(support), weights, norms)

    def _lies_to(self, support: Any, A: Array, norms: Array) -> Geometry:
        """How every chunk lies to centers over a shared support."""
        like = np.empty((0, A.shape[1]), dtype=self.dtype)
        weights = shared(A.astype(self.dtype))
        fixed: dict[str, Any] = {"like": like, "support": support, "weights": weights}
        product = answers(_similarities, self.X, name="similarities", **fixed)
        distances = answers(_distances, self.X, name="distances", norms=norms, **fixed)
        return Geometry(product, norms, distances)

    def diag(self) -> Any:
        """Kernel value of every row with itself, (n,)."""
        like = np.empty(0, dtype=self.dtype)
        return answers(self.kernel.diag, self.X, name="diagonal", like=like)

    @property
    def features(self) -> None:
        """None: distances are taken from products."""
        return

    def compressed(self, A: Any, nonnegative: bool = False) -> tuple[Array, Array]:
        """Numbers of all rows that have a coefficient, and the coefficients."""
        found = computed(_like(self._check_columns(A)[0], self.X))[0]
        used = np.flatnonzero(found.any(axis=1))
        return used, found[used]

    def points_at(self, index: Any) -> Any:
        """Rows by their numbers, on this machine."""
        return computed(self.X[np.asarray(index)])[0]

    @property
    def error(self) -> float:
        """That of the operators of the blocks."""
        return self._few.error

    @property
    def distance_error(self) -> float:
        """That of the sample."""
        return self._few.distance_error

    # Costs

    @classmethod
    def refusal(cls, work: ProblemSize) -> str | None:
        """Only rows in chunks."""
        if not work.chunks:
            return "it needs X as a Dask array or dataframe"
        if not work.kernel.takes_points:
            return "it needs points, and a precomputed kernel has none"
        return None

    @classmethod
    def missing(cls, **options: Any) -> str | None:
        """Dask."""
        if importlib.util.find_spec("dask") is None:
            return "Dask is not installed (pip install 'softkern[dask]')"
        return None

    @classmethod
    def cost(cls, work: ProblemSize, rank: int | None = None, **options: Any) -> Cost:
        """Pairs of rows, with all or with landmarks twice, shared by all workers' threads.

        The memory is that of a worker, for one chunk.
        """
        others = work.n if rank is None else 2 * rank
        tasks = work.chunks**2 if rank is None else 2 * work.chunks
        seconds = work.n * others * (PAIR_SECONDS + VECTOR_SECONDS * work.n_vectors)
        rows = -(-work.n // max(1, work.chunks))
        memory = work.itemsize * rows * (2 * work.d + 4 * work.n_vectors)
        return Cost(memory, 0.0, seconds / max(1, work.threads) + tasks * TASK_SECONDS)

    def _check_columns(self, A: Any) -> tuple[Any, bool]:
        if not is_dask_array(A):
            return super()._check_columns(A)
        n = self.shape[0]
        if A.ndim not in (1, 2) or A.shape[0] != n:
            raise ValueError(f"A has shape {A.shape}; it must be ({n},) or ({n}, c).")
        is_vector = A.ndim == 1
        A = A[:, None] if is_vector else A
        return A.rechunk((self.X.chunks[0], -1)).astype(self.dtype), is_vector


class DistributedNystroem(DistributedOperator):
    """K multiplied chunk by chunk, through landmarks that every worker has.

    Parameters
    ----------
    kernel, X, local
        As in `DistributedOperator`.
    landmarks : Landmarks

    Examples
    --------
    >>> from functools import partial
    >>> import numpy as np
    >>> from softkern.kernels import Gaussian
    >>> from softkern.operators import TiledOperator
    >>> kernel, X = Gaussian(2.0), np.random.default_rng(0).normal(size=(500, 2))
    >>> lower = np.linalg.cholesky(kernel.block(X[:40], X[:40]))
    >>> few = Landmarks(np.arange(40), X[:40], lower, trace_error=0.0)
    >>> operator = DistributedNystroem(kernel, X, partial(TiledOperator, kernel), few)
    >>> bool(abs(operator @ np.ones(500) - kernel.block(X, X).sum(axis=1)).max() < 1)
    True
    """

    is_exact_support: ClassVar[bool] = False
    error_is_known: ClassVar[bool] = False

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        local: Local,
        landmarks: Landmarks,
        make_sample: Callable[[], KernelOperator] | None = None,
    ) -> None:
        super().__init__(kernel, X, local, make_sample)
        self.landmarks = landmarks
        self._last: tuple[str, Array] = ("", np.empty(0))  # what was asked last, by its name

    def on_landmarks(self, A: Any) -> Array:
        """Coefficients on the landmarks, (m, c), of the centers nearest to those of A (n, c)."""
        A = _like(A, self.X)
        if self._last[0] != A.name:
            sums = self._sums_at(self.landmarks.points, A)
            found = cho_solve((self.landmarks.lower, True), sums, check_finite=False)
            self._last = A.name, np.asarray(found)
        return self._last[1]

    @cached_property
    def _support(self) -> Any:
        """The operator over the landmarks, sent to every worker once."""
        return shared(self.local(self.landmarks.points))

    def _product(self, A: Any) -> Any:
        if not is_dask_array(A):
            return computed(self._product(_like(A, self.X)))[0]
        return self._geometry(A, None).product

    def _cross_product(self, X_new: Any, A: Any) -> Any:
        weights = self.on_landmarks(A).astype(self.dtype)
        return self.local(self.landmarks.points).cross(X_new) @ weights

    def _geometry(self, A: Any, product: Any) -> Geometry:
        weights = self.on_landmarks(A)
        norms = np.square(self.landmarks.lower.T @ weights).sum(axis=0).astype(self.dtype)
        found = self._lies_to(self._support, weights, norms)
        return replace(found, distances=kept(found.distances))

    def compressed(self, A: Any, nonnegative: bool = False) -> tuple[Array, Array]:
        """Numbers of the landmarks, and the coefficients on them nearest to the centers."""
        weights = self.on_landmarks(self._check_columns(A)[0])
        if nonnegative:
            image = self.landmarks.lower.T @ weights
            found = [nnls(self.landmarks.lower.T, column)[0] for column in image.T]
            weights = np.column_stack(found)
        is_used = weights.any(axis=1)
        return self.landmarks.rows[is_used], weights[is_used].astype(self.dtype)

    def points_at(self, index: Any) -> Any:
        """Landmarks by their numbers."""
        rows, order = self.landmarks.rows, np.argsort(self.landmarks.rows)
        return self.landmarks.points[order[np.searchsorted(rows, index, sorter=order)]]

    @property
    def error(self) -> float:
        """Rounding, and the largest part of a diagonal value that the landmarks leave out."""
        return self.attainable_error + self.landmarks.row_error

    @property
    def attainable_error(self) -> float:
        """Rounding of products with what the landmarks give."""
        return ROUNDING * super().error

    @property
    def approximation_error(self) -> float:
        """The share of the trace that the landmarks leave out."""
        return self.landmarks.trace_error


# What tasks do


def meet_chunks(
    local: Local, block: Array, others: Sequence[Array], weights: Sequence[Array], total: Any
) -> Array:
    """K(block, others) @ weights, added to what has been summed before."""
    for rows, part in zip(others, weights, strict=True):
        product = local(rows).cross(block) @ part
        total = product if total is None else total + product
    return np.asarray(total)


def sum_at_points(local: Local, points: Array, block: Array, A: Array) -> Array:
    """K(points, block) @ A, (m, c), in float64."""
    return np.asarray(local(block).cross(points) @ A, dtype=np.float64)


def add_up(parts: Sequence[Array]) -> Array:
    """The sum of a few small arrays."""
    return np.sum(parts, axis=0)


def _similarities(X: Array, support: KernelOperator, weights: Array) -> Array:
    return support.cross(X) @ weights


def _distances(X: Array, support: KernelOperator, weights: Array, norms: Array) -> Array:
    return np.asarray(support.cross(X).geometry(weights, norms).distances)


def _in_chunks(X: Any) -> Any:
    import dask.array as da

    return X if is_dask_array(X) else da.from_array(np.asarray(X), chunks=(CHUNK_ROWS, -1))


def _like(A: Any, X: Any) -> Any:
    """Columns (n, c) in the chunks of X."""
    import dask.array as da

    return A if is_dask_array(A) else da.from_array(A, chunks=(X.chunks[0], -1))
