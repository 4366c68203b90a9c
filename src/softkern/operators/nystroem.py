"""K @ A through a low-rank factor: K ≈ F Fᵀ with a few hundred landmarks.

F is a partial Cholesky factor of K. Its pivots, the landmarks, are drawn with probability
proportional to what is not yet explained of the diagonal (randomly pivoted Cholesky), which is
near the best rank can do for any kernel; or drawn uniformly, or given. What is left of the
diagonal bounds the error of every entry.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dtrsm
from scipy.optimize import nnls

from softkern._utils.random import as_random_state, child_seed
from softkern._utils.typing import Array
from softkern.kernels import Kernel
from softkern.operators.base import BLOCK_BYTES, Cost, KernelOperator, ProblemSize, row_blocks
from softkern.rows import Rows, check_weights, row_uniforms

__all__ = ["NystroemOperator"]

DEFAULT_RANK = 500
PANEL = 100  # landmarks proposed at once
ROUNDING = 100  # times that of an exact product: the factor's own

# Of the reference machine (benchmarks/calibrate.py)
VALUE_SECONDS = 25e-9  # an entry of the factor, once
COLUMN_SECONDS = 2e-10  # and for every column of the data
RANK_SECONDS = 5e-11  # and for every landmark before it
CACHE_VALUES = 2**22  # a factor of no more than these stays in the caches
CACHE_BANDWIDTH = 6e10  # bytes a second of a product with one vector
MEMORY_BANDWIDTH = 3e10  # the same, of larger factors
VALUES_PER_SECOND = 6e9  # float64 values times vectors, where there are several
FLOAT32_SPEED = 1.4  # times float64
BLOCKS_HELD = 6  # temporary blocks of kernel values


class NystroemOperator(KernelOperator):
    """K as F Fᵀ, F (n, rank) a partial Cholesky factor on landmarks.

    Parameters
    ----------
    kernel : softkern.kernels.Kernel
        Positive semidefinite.
    X : array or CSR matrix of shape (n, d)
    rank : int or None, default=500
        Landmarks at most; None takes as many as `trace_tolerance` asks for, up to n: memory is that
        of n × rank numbers.
    trace_tolerance : float, default=1e-6
        Stop when the trace error is below this share of the trace.
    row_tolerance : float, default=inf
        And when no row has more than this share of the largest diagonal value left.
    landmarks : {"rpcholesky", "uniform"} or array of int, default="rpcholesky"
        How landmarks are chosen, or their row numbers.
    sample_weight : array of shape (n,), default=None
        Rows count this often in the choice of landmarks and in the trace.
    random_state : int, RandomState or None, default=0

    Attributes
    ----------
    rank : int
    landmarks : array of shape (rank,)
        Row numbers.
    trace_error : float
        trace(K − F Fᵀ) / trace(K).
    residual : array of shape (n,)
        diag(K − F Fᵀ); ``|K_ij − (F Fᵀ)_ij| ≤ √(residual_i residual_j)``.

    References
    ----------
    Y. Chen, E. N. Epperly, J. A. Tropp, R. J. Webber, "Randomly pivoted Cholesky: practical
    approximation of a kernel matrix with few entry evaluations", CPAM 78(5), 2025.
    :doi:`10.1002/cpa.22234`

    E. N. Epperly, J. A. Tropp, R. J. Webber, "Embrace rejection: kernel matrix approximation by
    accelerated randomly pivoted Cholesky", 2024. :doi:`10.48550/arXiv.2410.03969`

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(2000, 5))
    >>> operator = NystroemOperator(Gaussian(3.0), X, rank=100)
    >>> bool(operator.trace_error < 0.01)
    True
    """

    engine: ClassVar[str] = "nystroem"
    is_exact_support: ClassVar[bool] = False
    error_is_known: ClassVar[bool] = False
    supports_prediction: ClassVar[bool] = False

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        rank: int | None = DEFAULT_RANK,
        trace_tolerance: float = 1e-6,
        row_tolerance: float = np.inf,
        landmarks: Any = "rpcholesky",
        sample_weight: Any = None,
        random_state: Any = 0,
    ) -> None:
        super().__init__(kernel, X)
        n = self.shape[0]
        if rank is not None and rank < 1:
            raise ValueError(f"rank must be at least 1, or None, got {rank!r}.")
        if not 0 <= trace_tolerance < 1:
            raise ValueError(f"trace_tolerance must lie in [0, 1), got {trace_tolerance!r}.")
        if not row_tolerance >= 0:
            raise ValueError(f"row_tolerance must not be negative, got {row_tolerance!r}.")
        self.trace_tolerance, self.row_tolerance = float(trace_tolerance), float(row_tolerance)
        self._weight = X.weight if isinstance(X, Rows) else check_weights(sample_weight, n)
        self.residual = self.diag().astype(np.float64)
        if (self.residual < 0).any():
            raise ValueError(f"{kernel!r} is not positive semidefinite: k(x, x) < 0 occurs.")
        self._panels: list[Array] = []  # Fᵀ in pieces (t, n)
        self.landmarks = np.empty(0, dtype=np.intp)
        proposals = _Proposals(self, landmarks, as_random_state(random_state))
        self._factorize(proposals, n if rank is None else min(rank, n))

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        X: Any,
        *,
        sample_weight: Any = None,
        random_state: Any = 0,
        **options: Any,
    ) -> Self:
        """The operator, its landmarks drawn by these weights and this seed."""
        return cls(kernel, X, sample_weight=sample_weight, random_state=random_state, **options)

    # The factor

    def _factorize(self, proposals: _Proposals, rank: int) -> None:
        floor = 100 * np.finfo(self.dtype).eps * float(self._diagonal.max())
        largest = self.row_tolerance * float(self._diagonal.max())

        def is_left() -> bool:
            return self.trace_error > self.trace_tolerance or bool(self.residual.max() > largest)

        while self.rank < rank and is_left():
            candidates = proposals.draw(min(PANEL, rank - self.rank))
            if candidates.size == 0:
                break
            accepted = self._accept(candidates, proposals, floor)
            if accepted.size:
                self._add_panel(accepted)

    def _accept(self, candidates: Array, proposals: _Proposals, floor: float) -> Array:
        """Those candidates that a one-by-one factorization would have drawn as well."""
        block = self.kernel.block(self.X[candidates], self.X[candidates]).astype(np.float64)
        for panel in self._panels:
            part = panel[:, candidates].astype(np.float64)
            block -= part.T @ part
        before = block.diagonal().copy()
        self.residual[candidates[before <= floor]] = 0  # what is left of them is rounding
        accepted: list[int] = []
        for i in range(candidates.size):
            if block[i, i] > floor and proposals.keep(block[i, i] / before[i]):
                accepted.append(i)
                column = block[i:, i] / np.sqrt(block[i, i])
                block[i:, i:] -= np.outer(column, column)
        return np.asarray(candidates[accepted])

    def _add_panel(self, chosen: Array) -> None:
        """Rows of Fᵀ for new landmarks, and what they leave of the diagonal."""
        n = self.shape[0]
        panel, explained = np.empty((chosen.size, n), dtype=self.dtype), np.empty(n)
        points = self.X[chosen]
        known = [old[:, chosen] for old in self._panels]
        square = self._left(points, chosen, points, known)
        square = np.asarray((square + square.T) / 2, dtype=np.float64)
        lower = np.linalg.cholesky(square + 1e-14 * np.trace(square) * np.eye(chosen.size))
        for rows in row_blocks(n, 4 * chosen.size, 8):
            left = self._left(points, rows, self.X[rows], known)
            # lower⁻¹ left, on the transposes: they are laid out as BLAS wants them
            solved = dtrsm(1.0, lower, left.T.astype(np.float64), side=1, trans_a=1, lower=1)
            panel[:, rows] = solved.T
            explained[rows] = np.square(solved).sum(axis=1)
        left = self.residual - explained
        if (left < -1e-2 * self._diagonal.max()).any():
            raise ValueError(
                f"{self.kernel!r} is not positive semidefinite on these data, and has no Cholesky "
                "factor; use engine='blocked'."
            )
        self.residual = np.maximum(left, 0)
        self.residual[chosen] = 0
        self._panels.append(panel)
        self.landmarks = np.concatenate([self.landmarks, chosen])

    def _left(self, points: Any, rows: Any, X_rows: Any, known: list[Array]) -> Array:
        """K(points, rows) less what the panels so far explain, (t, rows)."""
        left = self.kernel.block(points, X_rows)
        for old, part in zip(self._panels, known, strict=True):
            left -= part.T @ old[:, rows]
        return left

    @property
    def rank(self) -> int:
        """Number of landmarks."""
        return int(self.landmarks.size)

    @property
    def trace_error(self) -> float:
        """trace(K − F Fᵀ) / trace(K), rows counted with their weights."""
        trace = float(self._weight @ self._diagonal)
        return float(self._weight @ self.residual) / trace if trace > 0 else 0.0

    # The product

    def _product(self, A: Array) -> Array:
        out = np.zeros((self.shape[0], A.shape[1]), dtype=self.dtype)
        for panel in self._panels:
            out += panel.T @ (panel @ A)
        return out

    def partial_product(self, index: Any, A: Any) -> Array:
        """K @ A, (n, c), for an A that is zero but in the rows `index`, A (len(index), c)."""
        out = np.zeros((self.shape[0], A.shape[1]), dtype=self.dtype)
        for panel in self._panels:
            out += panel.T @ (panel[:, index] @ A).astype(self.dtype)
        return out

    @property
    def features(self) -> None:
        """None: distances are those of the factor."""
        return

    def _cross_product(self, X_new: Any, A: Array) -> Array:
        if self.rank == 0:  # K is zero
            return np.zeros((X_new.shape[0], A.shape[1]), dtype=self.dtype)
        image, lower = self._landmark_form(A)
        # Fᵀ of new points is lower⁻¹ K(landmarks, X_new): solve on the side of A, once.
        weights = solve_triangular(lower, image, lower=True, trans="T", check_finite=False)
        weights, points = weights.astype(self.dtype), self.X[self.landmarks]
        out = np.empty((X_new.shape[0], A.shape[1]), dtype=self.dtype)
        for rows in row_blocks(X_new.shape[0], self.rank, 8):
            out[rows] = self.kernel.block(X_new[rows], points) @ weights
        return out

    def entries(self, rows: Any, columns: Any) -> Array:
        """Values (len(rows), len(columns)) of F Fᵀ."""
        out = np.zeros((len(rows), len(columns)), dtype=self.dtype)
        for panel in self._panels:
            out += panel[:, rows].T @ panel[:, columns]
        return out

    def image(self, A: Any) -> Array:
        """Fᵀ A, (rank, c): how much of the centers every landmark explains beyond those before."""
        return self._landmark_form(self._check_columns(A)[0])[0]

    def compressed(self, A: Any, nonnegative: bool = False) -> tuple[Array, Array]:
        """Landmarks, and the coefficients on them nearest to the centers in feature space."""
        columns, _ = self._check_columns(A)
        if self.rank == 0:
            return super().compressed(A, nonnegative)
        image, lower = self._landmark_form(columns)
        if nonnegative:
            weights = np.column_stack([nnls(lower.T, column)[0] for column in image.T])
        else:
            weights = solve_triangular(lower, image, lower=True, trans="T", check_finite=False)
        used = weights.any(axis=1)
        return self.landmarks[used], weights[used].astype(self.dtype)

    def _landmark_form(self, A: Array) -> tuple[Array, Array]:
        """Fᵀ A (rank, c), and the Cholesky factor of K between landmarks (rank, rank)."""
        image = np.concatenate([panel @ A for panel in self._panels]).astype(np.float64)
        return image, self.lower

    @property
    def lower(self) -> Array:
        """The Cholesky factor of K between landmarks, (rank, rank)."""
        lower = np.concatenate([panel[:, self.landmarks] for panel in self._panels]).T
        return np.tril(lower.astype(np.float64))

    @property
    def error(self) -> float:
        """Largest residual: ``|K_ij − (F Fᵀ)_ij| ≤ max residual``."""
        return float(self.residual.max()) + self.attainable_error

    @property
    def attainable_error(self) -> float:
        """Rounding of products with F Fᵀ, as a share of ``Σ |A|``."""
        return ROUNDING * super().error

    @property
    def approximation_error(self) -> float:
        """The trace error."""
        return self.trace_error

    def _doubtful(self, product: Array, A: Array) -> Array:
        return np.asarray(product <= 100 * np.finfo(self.dtype).eps * A.sum(axis=0))

    @classmethod
    def refusal(cls, work: ProblemSize) -> str | None:
        """Only kernels that have a Cholesky factor."""
        if not work.kernel.takes_points:
            return "the kernel is a matrix already; use engine='precomputed'"
        if work.kernel.is_positive_semidefinite is False:
            return f"it needs a positive semidefinite kernel, and {work.kernel!r} is not"
        return None

    @classmethod
    def cost(cls, work: ProblemSize, rank: int | None = DEFAULT_RANK, **options: Any) -> Cost:
        """N × rank numbers, passed over twice in a product."""
        rank = work.n if rank is None else min(rank, work.n)
        numbers = work.n * rank
        speed = FLOAT32_SPEED if work.itemsize == 4 else 1.0
        memory = numbers * work.itemsize + BLOCKS_HELD * BLOCK_BYTES + 3 * work.vectors
        memory += 40 * work.n + rank * rank * 16
        seconds = VALUE_SECONDS + COLUMN_SECONDS * work.d + RANK_SECONDS * rank
        bandwidth = CACHE_BANDWIDTH if numbers < CACHE_VALUES else MEMORY_BANDWIDTH
        product = 2 * numbers * work.itemsize / bandwidth
        if work.n_vectors > 1:
            product += 2 * numbers * work.n_vectors / (VALUES_PER_SECOND * speed)
        return Cost(memory, numbers * seconds / speed, product)


class _Proposals:
    """Candidate landmarks, drawn the same for any order of the rows."""

    def __init__(
        self, operator: NystroemOperator, landmarks: Any, generator: np.random.RandomState
    ) -> None:
        self.operator = operator
        self.generator = generator
        n = operator.shape[0]
        if isinstance(landmarks, str) and landmarks == "rpcholesky":
            self.queue: Array | None = None
            self.index, self.weight = operator.canonical_rows(operator._weight)
        elif isinstance(landmarks, str) and landmarks == "uniform":
            size = min(n, 10_000)
            index, _ = operator.support_rows.reweighted(operator._weight).sample(size, generator)
            uniforms = row_uniforms(operator.X[index], child_seed(generator))
            self.queue = index[np.argsort(uniforms)]
        elif isinstance(landmarks, str):
            raise ValueError(
                f"landmarks={landmarks!r} is unknown; give 'rpcholesky', 'uniform' or row numbers."
            )
        else:
            self.queue = np.unique(np.asarray(landmarks, dtype=np.intp))
            if self.queue.size == 0 or self.queue[0] < 0 or self.queue[-1] >= n:
                raise ValueError(f"landmarks must be row numbers between 0 and {n - 1}.")

    def draw(self, size: int) -> Array:
        """Up to `size` candidates."""
        if self.queue is not None:
            drawn, self.queue = self.queue[:size], self.queue[size:]
            return drawn
        mass = np.cumsum(self.weight * self.operator.residual[self.index])
        if not mass[-1] > 0:
            return self.index[:0]
        at = np.searchsorted(mass, self.generator.uniform(0, mass[-1], size), side="right")
        drawn = self.index[np.minimum(at, len(self.index) - 1)]
        # draws keep their order, and a row drawn twice is kept once
        return np.asarray(drawn[np.sort(np.unique(drawn, return_index=True)[1])])

    def keep(self, share: float) -> bool:
        """Whether a candidate that has lost part of its residual since it was drawn stays."""
        return self.queue is not None or self.generator.uniform() < share
