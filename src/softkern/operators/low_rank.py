"""K @ A through a low-rank factor: K ≈ F Fᵀ with a few hundred landmarks.

F is a partial Cholesky factor of K. Its pivots, the landmarks, are drawn with probability
proportional to what is not yet explained of the diagonal (randomly pivoted Cholesky), which comes
close to the best factor of its rank for any kernel; or drawn uniformly, or given. What is left of
the diagonal bounds the error of every entry. The factor may live on a device. Landmarks are
selected on the host, and do not depend on the order of the samples.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from array_api_compat import device, is_numpy_array
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dtrsm
from scipy.optimize import nnls

from softkern._utils.arrays import like, namespace, on_host
from softkern._utils.random import as_random_state, child_seed
from softkern._utils.typing import Array
from softkern.kernels import Kernel
from softkern.operators.base import KernelOperator, ProblemSize, row_blocks
from softkern.rows import Rows, row_uniforms

DEFAULT_RANK = 500
ROUNDING = 100  # times that of an exact product: the factor's own
PANEL = 100  # landmarks proposed at once
UNIFORM_ROWS = 10_000  # that uniform landmarks are drawn from


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
    points : array of shape (n, d), default=None
        X on a device, where the factor is to live there.

    References
    ----------
    Y. Chen, E. N. Epperly, J. A. Tropp, R. J. Webber, "Randomly pivoted Cholesky: practical
    approximation of a kernel matrix with few entry evaluations", CPAM 78(5), 2025.
    :doi:`10.1002/cpa.22234`

    E. N. Epperly, J. A. Tropp, R. J. Webber, "Embrace rejection: kernel matrix approximation by
    accelerated randomly pivoted Cholesky", 2024. :doi:`10.48550/arXiv.2410.03969`
    """

    engine: ClassVar[str] = "nystroem"
    is_exact_support: ClassVar[bool] = False
    error_is_known: ClassVar[bool] = False

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
        points: Any = None,
    ) -> None:
        super().__init__(kernel, Rows.of(X, sample_weight))
        n, weight = self.shape[0], self.support_rows.weight
        if rank is not None and rank < 1:
            raise ValueError(f"rank must be at least 1, or None, got {rank!r}.")
        if not 0 <= trace_tolerance < 1:
            raise ValueError(f"trace_tolerance must lie in [0, 1), got {trace_tolerance!r}.")
        if not row_tolerance >= 0:
            raise ValueError(f"row_tolerance must not be negative, got {row_tolerance!r}.")
        self._points, self.on_device = points, points is not None
        self._panels: list[Any] = []  # Fᵀ in pieces (t, n), on the device of the points
        self.landmarks = np.empty(0, dtype=np.intp)
        self.residual = self._diagonal.astype(np.float64)  # the diagonal of K − F Fᵀ
        if (self.residual < 0).any():
            raise ValueError(f"{kernel!r} is not positive semidefinite: k(x, x) < 0 occurs.")
        trace, largest = float(weight @ self._diagonal), float(self._diagonal.max())
        proposals = Proposals(landmarks, self.support_rows, as_random_state(random_state))
        rank = n if rank is None else min(rank, n)
        while self.landmarks.size < rank:
            is_near = weight @ self.residual <= trace_tolerance * trace
            if is_near and self.residual.max() <= row_tolerance * largest:
                break
            candidates = proposals.draw(min(PANEL, rank - self.landmarks.size), self.residual)
            if candidates.size == 0:
                break
            accepted = self._accept(candidates, proposals)
            if accepted.size:
                self._add_panel(accepted)
        self.rank = int(self.landmarks.size)
        self.trace_error = float(weight @ self.residual) / trace if trace > 0 else 0.0
        self.approximation_error = self.trace_error

    def _accept(self, candidates: Array, proposals: Proposals) -> Array:
        """Select the candidates that a one-by-one factorization would have drawn as well."""
        floor = 100 * np.finfo(self.dtype).eps * float(self._diagonal.max())
        square = self._kernel_block(candidates, candidates).astype(np.float64)
        for panel in self._panels:
            part = on_host(panel[:, candidates]).astype(np.float64)
            square -= part.T @ part
        before = square.diagonal().copy()
        self.residual[candidates[before <= floor]] = 0  # the rest of them is rounding
        accepted: list[int] = []
        for i in range(candidates.size):
            if square[i, i] > floor and proposals.keep(square[i, i] / before[i]):
                accepted.append(i)
                column = square[i:, i] / np.sqrt(square[i, i])
                square[i:, i:] -= np.outer(column, column)
        return np.asarray(candidates[accepted])

    def _add_panel(self, chosen: Array) -> None:
        """Add rows of Fᵀ for new landmarks, and subtract the part of the diagonal they explain."""
        n = self.shape[0]
        own = self._unexplained(chosen, chosen)
        xp, dtype = namespace(own), self._points.dtype if self.on_device else self.dtype
        panel = xp.empty((chosen.size, n), dtype=dtype, device=device(own))
        square = on_host(own)
        square = np.asarray((square + square.T) / 2, dtype=np.float64)
        lower = np.linalg.cholesky(square + 1e-14 * np.trace(square) * np.eye(chosen.size))
        explained = np.empty(n)
        for rows in row_blocks(n, 4 * chosen.size, 8):
            values = self._unexplained(chosen, rows)
            if is_numpy_array(values):  # on the transposes, whose memory layout BLAS needs
                transposed = values.T.astype(np.float64)
                solved = dtrsm(1.0, lower, transposed, side=1, trans_a=1, lower=1).T
            else:
                solved = xp.linalg.solve(like(lower, values), xp.astype(values, xp.float64))
            panel[:, rows] = solved
            explained[rows] = on_host((solved * solved).sum(axis=0))
        residual = self.residual - explained
        if (residual < -1e-2 * float(self._diagonal.max())).any():
            raise ValueError(
                f"{self.kernel!r} is not positive semidefinite on these data, and has no Cholesky "
                "factor; use engine='blocked'."
            )
        self.residual = np.maximum(residual, 0)
        self.residual[chosen] = 0
        self._panels.append(panel)
        self.landmarks = np.concatenate([self.landmarks, chosen])

    def _unexplained(self, chosen: Array, rows: Any) -> Any:
        """K(chosen, rows) minus the part that the panels so far explain, (t, rows)."""
        values = self._block(chosen, rows)
        for panel in self._panels:
            values -= panel[:, chosen].T @ panel[:, rows]
        return values

    def to_device(self, array: Any) -> Any:
        return like(array, self._points) if self.on_device else array

    def _block(self, rows: Any, columns: Any) -> Any:
        """Kernel values (len(rows), len(columns)) on the device of the factor."""
        if not self.on_device:
            return self.kernel.block(self.X[rows], self.X[columns])
        return self.kernel.array_block(self._points[rows], self._points[columns])

    def _kernel_block(self, rows: Any, columns: Any) -> Array:
        return np.asarray(on_host(self._block(rows, columns)))

    def _product(self, A: Any) -> Any:
        return self.partial_product(slice(None), A)

    def partial_product(self, index: Any, A: Any) -> Any:
        columns = self._on_panels(A)
        xp = namespace(columns)
        dtype = self._points.dtype if self.on_device else self.dtype
        out = xp.zeros((self.shape[0], A.shape[1]), dtype=dtype, device=device(columns))
        for panel in self._panels:
            out += panel.T @ xp.astype(panel[:, index] @ columns, dtype, copy=False)
        return on_host(out) if is_numpy_array(A) else out

    def _on_panels(self, A: Any) -> Any:
        """Coefficients ready to be multiplied with the panels, on their device."""
        if not self.on_device:
            return A
        columns = self.to_device(A)
        return namespace(columns).astype(columns, self._points.dtype, copy=False)

    def entries(self, rows: Any, columns: Any) -> Array:
        """Values (len(rows), len(columns)) of F Fᵀ."""
        out = np.zeros((len(rows), len(columns)), dtype=self.dtype)
        for panel in self._panels:
            out += on_host(panel[:, rows].T @ panel[:, columns])
        return out

    features = None  # distances are those of the factor

    def _cross_product(self, X_new: Any, A: Array) -> Array:
        if self.rank == 0:  # K is zero
            return np.zeros((X_new.shape[0], A.shape[1]), dtype=self.dtype)
        # Fᵀ of new points is lower⁻¹ K(landmarks, X_new): solve on the side of A, once.
        weights = self._landmark_weights(A).astype(self.dtype)
        points = self.X[self.landmarks]
        out = np.empty((X_new.shape[0], A.shape[1]), dtype=self.dtype)
        for rows in row_blocks(X_new.shape[0], self.rank, 8):
            out[rows] = self.kernel.block(X_new[rows], points) @ weights
        return out

    def image(self, A: Any) -> Array:
        """Fᵀ A, (rank, c): the part of the centers that each landmark adds to those before."""
        columns = self._on_panels(self._check_columns(A)[0])
        image = np.concatenate([on_host(panel @ columns) for panel in self._panels])
        return image.astype(np.float64)

    def _landmark_weights(self, A: Any, nonnegative: bool = False) -> Array:
        """Coefficients on the landmarks, (rank, c), nearest to the centers in feature space."""
        image, lower = self.image(A), self.lower
        if nonnegative:
            return np.column_stack([nnls(lower.T, column)[0] for column in image.T])
        return solve_triangular(lower, image, lower=True, trans="T", check_finite=False)

    def compressed(self, A: Any, nonnegative: bool = False) -> tuple[Array, Any, Array]:
        """Landmarks, and the coefficients on them nearest to the centers in feature space."""
        if self.rank == 0:
            return super().compressed(A, nonnegative)
        weights = self._landmark_weights(A, nonnegative)
        used = weights.any(axis=1)
        rows = self.landmarks[used]
        return rows, self.X[rows], weights[used].astype(self.dtype)

    @property
    def lower(self) -> Array:
        """The Cholesky factor of K between landmarks, (rank, rank)."""
        lower = np.concatenate([on_host(panel[:, self.landmarks]) for panel in self._panels]).T
        return np.tril(lower.astype(np.float64))

    @property
    def error(self) -> float:
        """Largest residual: ``|K_ij − (F Fᵀ)_ij| ≤ max residual``."""
        return float(self.residual.max()) + self.attainable_error

    @property
    def attainable_error(self) -> float:
        """Rounding of products with F Fᵀ, as a share of ``Σ |A|``."""
        return ROUNDING * super().error

    def _doubtful(self, product: Array, A: Array) -> Array:
        return np.asarray(product <= 100 * np.finfo(self.dtype).eps * A.sum(axis=0))

    @classmethod
    def unsupported_reason(cls, problem: ProblemSize) -> str | None:
        if problem.kernel.is_positive_semidefinite is False:
            return f"it needs a positive semidefinite kernel, and {problem.kernel!r} is not"
        return super().unsupported_reason(problem)


class Proposals:
    """Candidate landmarks, drawn in the same way for any order of the samples.

    `landmarks` are "rpcholesky", "uniform" or row numbers.
    """

    def __init__(self, landmarks: Any, rows: Rows, generator: np.random.RandomState) -> None:
        self.generator, n = generator, rows.shape[0]
        self.queue: Array | None = None
        if isinstance(landmarks, str) and landmarks == "rpcholesky":
            self.index, self.weight = rows.canonical
        elif isinstance(landmarks, str) and landmarks == "uniform":
            index, _ = rows.sample(min(n, UNIFORM_ROWS), generator)
            uniforms = row_uniforms(rows.X[index], child_seed(generator))
            self.queue = index[np.argsort(uniforms)]
        elif isinstance(landmarks, str):
            raise ValueError(
                f"landmarks={landmarks!r} is unknown; give 'rpcholesky', 'uniform' or row numbers."
            )
        else:
            self.queue = np.unique(np.asarray(landmarks, dtype=np.intp))
            if self.queue.size == 0 or self.queue[0] < 0 or self.queue[-1] >= n:
                raise ValueError(f"landmarks must be row numbers between 0 and {n - 1}.")

    def draw(self, size: int, residual: Array) -> Array:
        """Draw up to `size` candidates by the residual (n,) of the diagonal."""
        if self.queue is not None:
            drawn, self.queue = self.queue[:size], self.queue[size:]
            return drawn
        mass = np.cumsum(self.weight * residual[self.index])
        if not mass[-1] > 0:
            return self.index[:0]
        at = np.searchsorted(mass, self.generator.uniform(0, mass[-1], size), side="right")
        drawn = self.index[np.minimum(at, len(self.index) - 1)]
        # draws keep their order, and a row drawn twice is used once
        return np.asarray(drawn[np.sort(np.unique(drawn, return_index=True)[1])])

    def keep(self, share: float) -> bool:
        """Decide whether a candidate stays that has lost part of its residual since the draw."""
        return self.queue is not None or self.generator.uniform() < share
