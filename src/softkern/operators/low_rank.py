"""K @ A through a low-rank factor: K ≈ F Fᵀ with a few hundred landmarks.

F is a partial Cholesky factor of K. Its pivots, the landmarks, are drawn with probability
proportional to what is not yet explained of the diagonal (randomly pivoted Cholesky), which is
near the best rank can do for any kernel; or drawn uniformly, or given. What is left of the
diagonal bounds the error of every entry.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from array_api_compat import device, is_numpy_array
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from softkern._utils.arrays import like, namespace, on_host
from softkern._utils.random import as_random_state
from softkern._utils.typing import Array
from softkern.kernels import Kernel
from softkern.operators._pivoted_cholesky import PivotedCholesky, Proposals
from softkern.operators.base import KernelOperator, ProblemSize, row_blocks
from softkern.rows import Rows

DEFAULT_RANK = 500
ROUNDING = 100  # times that of an exact product: the factor's own


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
        factor = PivotedCholesky(self.diag(), self.dtype, repr(kernel))
        trace = float(weight @ self._diagonal)
        largest = row_tolerance * float(self._diagonal.max())

        def trace_error() -> float:
            return float(weight @ factor.residual) / trace if trace > 0 else 0.0

        def is_done() -> bool:
            return trace_error() <= trace_tolerance and bool(factor.residual.max() <= largest)

        proposals = Proposals(landmarks, self.support_rows, as_random_state(random_state))
        factor.extend(self._block, proposals, n if rank is None else min(rank, n), is_done)
        self._panels, self.landmarks = factor.panels, factor.landmarks
        self.rank, self.residual = int(factor.landmarks.size), factor.residual
        self.trace_error = self.approximation_error = trace_error()

    # The device

    def to_device(self, array: Any) -> Any:
        return like(array, self._points) if self.on_device else array

    def _block(self, rows: Any, columns: Any) -> Any:
        """Kernel values (len(rows), len(columns)) on the device of the factor."""
        if not self.on_device:
            return self.kernel.block(self.X[rows], self.X[columns])
        return self.kernel.array_block(self._points[rows], self._points[columns])

    def _kernel_block(self, rows: Any, columns: Any) -> Array:
        return np.asarray(on_host(self._block(rows, columns)))

    # The product

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

    @property
    def features(self) -> None:
        """None: distances are those of the factor."""
        return

    def _cross_product(self, X_new: Any, A: Array) -> Array:
        if self.rank == 0:  # K is zero
            return np.zeros((X_new.shape[0], A.shape[1]), dtype=self.dtype)
        # Fᵀ of new points is lower⁻¹ K(landmarks, X_new): solve on the side of A, once.
        weights = self._landmark_weights(self._image(A)).astype(self.dtype)
        points = self.X[self.landmarks]
        out = np.empty((X_new.shape[0], A.shape[1]), dtype=self.dtype)
        for rows in row_blocks(X_new.shape[0], self.rank, 8):
            out[rows] = self.kernel.block(X_new[rows], points) @ weights
        return out

    def image(self, A: Any) -> Array:
        """Fᵀ A, (rank, c): the part of the centers that each landmark adds to those before."""
        return self._image(self._check_columns(A)[0])

    def _image(self, A: Any) -> Array:
        columns = self._on_panels(A)
        image = np.concatenate([on_host(panel @ columns) for panel in self._panels])
        return image.astype(np.float64)

    def _landmark_weights(self, image: Array) -> Array:
        """Coefficients on the landmarks, (rank, c), of centers of this image."""
        return solve_triangular(self.lower, image, lower=True, trans="T", check_finite=False)

    def compressed(self, A: Any, nonnegative: bool = False) -> tuple[Array, Array]:
        """Landmarks, and the coefficients on them nearest to the centers in feature space."""
        if self.rank == 0:
            return super().compressed(A, nonnegative)
        image = self.image(A)
        if nonnegative:
            lower = self.lower
            weights = np.column_stack([nnls(lower.T, column)[0] for column in image.T])
        else:
            weights = self._landmark_weights(image)
        used = weights.any(axis=1)
        return self.landmarks[used], weights[used].astype(self.dtype)

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
