"""Kernel spectral clustering: the weighted eigenproblem.

The dual of Alzate and Suykens (2010) is D⁻¹ M_D Ω α = λ α with M_D = I − 1 1ᵀD⁻¹/(1ᵀD⁻¹1). Its
k − 1 leading vectors give the projections e = Ω α + b of the points. With weights w (a weight of
two means two equal rows), Ω α becomes K (w ∘ α) and the degree d = K w. With β = √(w d) α
the problem is symmetric,

    (I − v vᵀ) S (I − v vᵀ) β = λ β,    S = √(w/d) K √(w/d),    v ∝ √(w/d),

and needs only products K @ A. An isolated point would be an eigenvector with eigenvalue one, so
that such points are excluded and have the projection b. Eigenvectors are scaled to Σ w α² = 1, or
to Σ w d α² = 1, on which the scores of the 2015 paper depend. Called by the spectral models;
`softkern.rules.projections` turns projections into clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigh, qr

from softkern._utils.threads import one_thread
from softkern._utils.typing import Array
from softkern.exceptions import DataError
from softkern.operators.base import KernelOperator
from softkern.solvers.stopping import Report

__all__ = ["EIGENVECTOR_SCALES", "Spectrum", "solve"]

EIGENVECTOR_SCALES = ("unit", "degree")  # ‖α‖ = 1 or ‖D^½ α‖ = 1

DENSE_ROWS = 800  # up to here a dense solver is used, which finds repeated eigenvalues
GUARD = 4  # additional vectors, which let the last one converge
SPACE_COLUMNS = 200  # largest dimension of the search space
SPACE_SIZE = 2**25  # largest number of values in it
INDEPENDENT = 1e-8  # least part of a unit residual that is outside of the space
ORTHOGONAL = 1e-10  # largest inner product of two eigenvectors
SEED = 0  # of the first block; rows are in canonical order
ISOLATED = 1e-3  # similarity of an isolated point to others, relative to that to itself
UNIQUE = 1e-7  # relative difference below which eigenvalues are equal


@dataclass(frozen=True)
class Spectrum:
    """Leading solutions of the eigenproblem over the n training points.

    Attributes
    ----------
    coefficients : array of shape (n, q)
        w ∘ α, so that e = K @ coefficients + bias.
    eigenvalues : array of shape (q,)
        Eigenvalues in decreasing order.
    bias : array of shape (q,)
        b.
    projections : array of shape (n, q)
        Projections e of the training points.
    degree : array of shape (n,)
        K w, including the similarity of a point to itself.
    takes_part : bool array of shape (n,)
        Whether a point is connected to others. Isolated points have no coefficients.
    next_eigenvalue : float
        The first one left out. If it equals the last one, the vectors are not unique.
    history : dict
        ``"objective"``, minus the sum of the eigenvalues, and ``"change"``, the largest residual
        ‖Sβ − λβ‖, of every iteration.
    converged : bool
        Whether the residual is within the tolerance.
    """

    coefficients: Array
    eigenvalues: Array
    bias: Array
    projections: Array
    degree: Array
    takes_part: NDArray[np.bool_]
    next_eigenvalue: float
    history: dict[str, list[float]] = field(repr=False)
    converged: bool

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.history["change"])

    @property
    def objective(self) -> float:
        """Minus the sum of the eigenvalues."""
        return self.history["objective"][-1]

    @property
    def is_unique(self) -> bool:
        """Whether the last eigenvalue differs from the first one left out."""
        if not self.eigenvalues.size:
            return True
        last = float(self.eigenvalues[-1])
        return last - self.next_eigenvalue > UNIQUE * last

    def leading(self, count: int) -> Spectrum:
        """Return the first `count` solutions, for fewer clusters."""
        if count >= self.eigenvalues.size:
            return self
        return replace(
            self,
            coefficients=self.coefficients[:, :count],
            eigenvalues=self.eigenvalues[:count],
            bias=self.bias[:count],
            projections=self.projections[:, :count],
            next_eigenvalue=float(self.eigenvalues[count]),
        )


# The eigenproblem


def solve(
    operator: KernelOperator,
    count: int,
    weight: Array,
    *,
    own: Array | None = None,
    vector_scale: str = "unit",
    tol: float = 1e-8,
    max_iter: int = 500,
    strict: bool = True,
    report: Report | None = None,
) -> Spectrum:
    """Compute the `count` leading solutions of the weighted dual from products K @ A.

    Up to 800 rows a dense solver is used, beyond that a block Krylov method. For rows in canonical
    order the results do not depend on the order of the table.

    A point whose similarity to all others is below a thousandth of that to itself is excluded:
    its eigenvector would have the eigenvalue one and precede those of all clusters.

    Parameters
    ----------
    operator : KernelOperator
        Operator over the n training points.
    count : int
        Number of solutions, k − 1.
    weight : array of shape (n,)
        Weights of the rows. Rows of weight zero are excluded.
    own : array of shape (n,), default=None
        Part of the weight that is the row itself and not duplicates or rows it represents. None:
        one, or the whole weight if it is smaller.
    vector_scale : {"unit", "degree"}, default="unit"
        Scale of the eigenvectors: Σ w α² = 1 or Σ w d α² = 1.
    tol : float, default=1e-8
        Largest residual ‖Sβ − λβ‖ of a unit vector, at least the error of the operator.
    max_iter : int, default=500
        Largest number of iterations.
    strict : bool, default=True
        Whether fewer solutions than `count` are an error. Otherwise fewer are returned.
    report : callable, default=None
        Function that is called with every iteration and its residual.

    References
    ----------
    C. Alzate, J. A. K. Suykens, "Multiway spectral clustering with out-of-sample extensions
    through weighted kernel PCA", IEEE Trans. PAMI 32(2), 2010. :doi:`10.1109/TPAMI.2008.292`

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.kernels import Gaussian
    >>> from softkern.operators.dense import DenseOperator
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> solved = solve(DenseOperator(Gaussian(1.0), X), 1, np.ones(4))
    >>> bool(solved.eigenvalues[0] > 0.99), np.ptp(np.sign(solved.projections[:2, 0]))
    (True, np.float64(0.0))
    """
    weight = np.asarray(weight, dtype=np.float64)
    degree = _degree(operator, weight)
    own = np.minimum(weight, 1.0) if own is None else np.asarray(own, dtype=np.float64)
    takes_part = _is_connected(operator, weight, degree, own)
    scale = np.sqrt(np.divide(weight, degree, out=np.zeros_like(weight), where=takes_part))
    present = int(takes_part.sum())
    if count == 0:  # a single cluster
        empty = np.empty((operator.shape[0], 0))
        history: dict[str, list[float]] = {"objective": [0.0], "change": [0.0]}
        none = np.empty(0)
        return Spectrum(empty, none, none, empty, degree, weight > 0, 0.0, history, True)
    if not strict:
        count = min(count, present - 1)
    if present <= count or count < 1:
        clusters = max(count, 1) + 1
        raise DataError(
            f"{clusters} clusters need at least {clusters} different points that are similar to "
            f"others, and there are {present} of {int((weight > 0).sum())}; use a larger bandwidth "
            "or fewer clusters."
        )
    wanted = min(count + 1, present - 1)
    if operator.shape[0] <= DENSE_ROWS:
        values, vectors, history = _all_at_once(operator, scale, wanted)
        if report is not None:
            report(1, history["change"][-1])
    else:
        centered = _centered_form(operator, scale)
        least = max(tol, _attainable(operator))
        values, vectors, history = _by_blocks(
            centered, operator.shape[0], count, wanted, least, max_iter, report
        )
    floor = 1e3 * np.finfo(operator.dtype).eps
    if strict:
        _check_count(values[:count], floor)
    count = max(1, int((values[:count] > floor).sum()))
    per_row = weight if vector_scale == "unit" else weight * degree
    return _spectrum(
        operator, weight, degree, scale, values, vectors[:, :count], per_row, history, tol
    )


def _spectrum(
    operator: KernelOperator,
    weight: Array,
    degree: Array,
    scale: Array,
    values: Array,
    vectors: Array,
    per_row: Array,
    history: dict[str, list[float]],
    tol: float,
) -> Spectrum:
    """Return the spectrum from the eigenvectors β of the symmetric form.

    The squares of α, weighted by `per_row`, (n,), sum to one.
    """
    count = vectors.shape[1]
    shrink = np.divide(scale, weight, out=np.zeros_like(scale), where=scale > 0)  # 1/√(w d)
    alpha = shrink[:, None] * vectors
    alpha /= np.abs(alpha).max(axis=0)  # avoids overflow for extreme degrees
    alpha *= _signs(alpha, weight) / np.sqrt(per_row @ alpha**2)
    coefficients = weight[:, None] * alpha
    product = np.asarray(operator @ coefficients, dtype=np.float64)
    bias = -(scale**2 @ product) / (scale @ scale)
    return Spectrum(
        coefficients,
        values[:count],
        bias,
        product + bias,
        degree,
        scale > 0,
        float(values[count]) if values.size > count else 0.0,
        history,
        history["change"][-1] <= max(tol, _attainable(operator)),
    )


def _degree(operator: KernelOperator, weight: Array) -> Array:
    """Return K w, (n,), with values within the rounding error set to zero."""
    degree = np.asarray(operator @ weight, dtype=np.float64)
    floor = _floor(operator, weight, degree)
    worst = int(np.argmin(degree))
    if degree[worst] < -max(floor, 1e-6 * np.abs(degree).max()):
        raise DataError(
            f"point {worst} has a degree (its summed similarities) of {degree[worst]:.3g}; kernel "
            "spectral clustering needs similarities that are not negative: use kernel='rbf', or "
            "'cosine' on data without negative values."
        )
    degree[degree <= floor] = 0.0
    return degree


def _is_connected(
    operator: KernelOperator, weight: Array, degree: Array, own: Array
) -> NDArray[np.bool_]:
    """Return which rows are similar to others beyond the rounding error, (n,)."""
    itself = own * np.asarray(operator.diag(), dtype=np.float64)
    least = np.maximum(ISOLATED * itself, _floor(operator, weight, degree))
    return np.asarray((degree - itself > least) & (degree > 0) & (weight > 0))


def _floor(operator: KernelOperator, weight: Array, degree: Array) -> float:
    """Return the rounding error of a degree."""
    floor = operator.error * weight.sum() if np.isfinite(operator.error) else 0.0
    return min(floor, 1e-6 * float(np.abs(degree).max()))


def _centered_form(operator: KernelOperator, scale: Array) -> Callable[[Array], Array]:
    """Return the function B ↦ (I − v vᵀ) S (I − v vᵀ) B of blocks B (n, c)."""
    v = scale / np.linalg.norm(scale)

    def apply(block: Array) -> Array:
        block = block - np.outer(v, v @ block)
        product = np.asarray(operator @ (scale[:, None] * block), dtype=np.float64)
        product *= scale[:, None]
        product -= np.outer(v, v @ product)
        return product

    return apply


def _all_at_once(
    operator: KernelOperator, scale: Array, wanted: int
) -> tuple[Array, Array, dict[str, list[float]]]:
    rows, v = np.arange(len(scale)), scale / np.linalg.norm(scale)
    with one_thread():
        matrix = np.asarray(operator.entries(rows, rows), dtype=np.float64)
        matrix = matrix * scale * scale[:, None]
        matrix -= np.outer(v, v @ matrix)
        matrix -= np.outer(matrix @ v, v)
        matrix = (matrix + matrix.T) / 2
        # eigenvalues of excluded rows must be below those of the others, which may be zero
        is_excluded = scale == 0
        matrix[is_excluded, is_excluded] = -1.0
        values, vectors = _leading(matrix, wanted)
    residual = float(np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max())
    return values, vectors, {"objective": [-float(values.sum())], "change": [residual]}


def _leading(matrix: Array, wanted: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of a symmetric matrix, decreasing, and their vectors."""
    last = len(matrix) - 1
    with suppress(LinAlgError):
        values, vectors = eigh(matrix, subset_by_index=(last + 1 - wanted, last))
        # for many equal values the driver may return too few or no orthogonal vectors
        gap = np.abs(vectors.T @ vectors - np.eye(vectors.shape[1])).max(initial=0.0)
        if len(values) == wanted and gap < ORTHOGONAL:
            return values[::-1].copy(), vectors[:, ::-1].copy()
    values, vectors = np.linalg.eigh(matrix)
    return values[: -wanted - 1 : -1].copy(), vectors[:, : -wanted - 1 : -1].copy()


def _by_blocks(
    centered: Callable[[Array], Array],
    n: int,
    count: int,
    wanted: int,
    tol: float,
    max_iter: int,
    report: Report | None,
) -> tuple[Array, Array, dict[str, list[float]]]:
    """Compute leading eigenvectors in a growing space of residuals, restarted when it is full.

    The first `count` are computed to the tolerance, those up to `wanted` approximately.
    Well separated clusters have eigenvalues that agree to all digits. Methods that iterate a
    single vector, such as ARPACK, miss some of them; a block of as many vectors finds them all.
    """
    width = min(wanted + GUARD, n)
    most = max(4 * width, min(SPACE_COLUMNS, SPACE_SIZE // n))
    basis = np.linalg.qr(centered(np.random.default_rng(SEED).normal(size=(n, width))))[0]
    image = centered(basis)
    history: dict[str, list[float]] = {"objective": [], "change": []}
    for iteration in range(1, max_iter + 1):
        small = basis.T @ image
        values, inner = np.linalg.eigh((small + small.T) / 2)
        values, inner = values[::-1], inner[:, ::-1]
        leading = inner[:, :width]
        residuals = image @ leading - basis @ (leading * values[:width])
        norms = np.linalg.norm(residuals, axis=0)
        history["objective"].append(-float(values[:count].sum()))
        history["change"].append(float(norms[:count].max()))
        if report is not None:
            report(iteration, history["change"][-1])
        new = _new_directions(basis, residuals[:, norms > tol / 10])
        if history["change"][-1] < tol or not new.shape[1] or iteration == max_iter:
            break
        if basis.shape[1] + new.shape[1] > most:
            best = inner[:, : most // 2]
            basis, image = basis @ best, image @ best
        basis = np.hstack([basis, new])
        image = np.hstack([image, centered(new)])
    return values[:wanted].copy(), basis @ inner[:, :wanted], history


def _new_directions(basis: Array, residuals: Array) -> Array:
    """Return an orthonormal basis of the part of the residuals outside of the space, (n, r)."""
    norms = np.linalg.norm(residuals, axis=0)
    new = residuals[:, norms > 0] / norms[norms > 0]
    for _ in range(2):  # twice, because of rounding
        new = new - basis @ (basis.T @ new)
        new, triangle, _ = qr(new, mode="economic", pivoting=True)
        new = new[:, np.abs(triangle.diagonal()) > INDEPENDENT]
    return np.asarray(new)


def _attainable(operator: KernelOperator) -> float:
    """Return the smallest residual that the error of the operator allows."""
    return max(100 * float(np.finfo(operator.dtype).eps), operator.attainable_error)


def _check_count(values: Array, floor: float) -> None:
    """Raise a DataError for more clusters than there are nonzero eigenvalues."""
    count = int((values > floor).sum())
    if count < values.size:
        raise DataError(
            f"{values.size + 1} clusters need {values.size} eigenvectors, and the kernel matrix "
            f"has {count} with a nonzero eigenvalue: the points are too similar in this kernel. "
            "Use fewer clusters or a smaller bandwidth."
        )


def _signs(alpha: Array, weight: Array) -> Array:
    """Return signs that make the longer tail of every vector positive."""
    return np.where(weight @ alpha**3 < 0, -1.0, 1.0)
