"""Kernel spectral clustering: the weighted eigenproblem.

The dual of Alzate and Suykens (2010, :doi:`10.1109/TPAMI.2008.292`) is D⁻¹ M_D Ω α = λ α with
M_D = I − 1 1ᵀD⁻¹/(1ᵀD⁻¹1). Its k − 1 leading vectors give the projections e = Ω α + b of the
points. With weights w (a weight of two means two equal rows), Ω α becomes K (w ∘ α) and the degree
d = K w. With β = √(w d) α the problem is symmetric,

    (I − v vᵀ) S (I − v vᵀ) β = λ β,    S = √(w/d) K √(w/d),    v ∝ √(w/d),

and needs only products K @ A. An isolated point would be an eigenvector with eigenvalue one, so
that such points are excluded and have the projection b. Eigenvectors are scaled to Σ w α² = 1, or
to Σ w d α² = 1, on which the scores of the 2015 paper depend. Called by the spectral models;
`softkern.rules.projections` turns projections into clusters.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigh, qr

from softkern._utils.progress import Report
from softkern._utils.threads import one_thread
from softkern._utils.typing import Array
from softkern.exceptions import DataError
from softkern.operators.base import KernelOperator

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
    """The q leading solutions of the eigenproblem over the n training points."""

    coefficients: Array  # w ∘ α, (n, q), so that e = K @ coefficients + bias
    eigenvalues: Array  # in decreasing order, (q,)
    bias: Array  # b, (q,)
    projections: Array  # e of the training points, (n, q)
    degree: Array  # K w, including the similarity of a point to itself, (n,)
    takes_part: NDArray[np.bool_]  # (n,), not for isolated points, which have no coefficients
    next_eigenvalue: float  # the first one left out
    # "objective", minus the sum of the eigenvalues, and "change", the largest residual ‖Sβ − λβ‖,
    # of every iteration
    history: dict[str, list[float]] = field(repr=False)
    converged: bool  # whether the residual is within the tolerance
    objective: float  # minus the sum of the eigenvalues
    n_iter: int

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
    """Compute the `count` = k − 1 leading solutions of the weighted dual from products K @ A.

    Up to 800 rows a dense solver is used, beyond that a block Krylov method. For rows in canonical
    order the results do not depend on the order of the table. Rows of weight zero are excluded, and
    so is a point whose similarity to all others is below a thousandth of that to itself: its
    eigenvector would have the eigenvalue one and precede those of all clusters. `own` (n,) is the
    part of the weight that is the row itself and not duplicates or rows it represents, by default
    one or the whole weight if it is smaller. Without `strict`, fewer solutions than `count` are no
    error.
    """
    weight = np.asarray(weight, dtype=np.float64)
    own = np.minimum(weight, 1.0) if own is None else np.asarray(own, dtype=np.float64)
    degree, takes_part = _degree(operator, weight, own)
    scale = np.sqrt(np.divide(weight, degree, out=np.zeros_like(weight), where=takes_part))
    if count == 0:  # a single cluster
        empty, none = np.empty((operator.shape[0], 0)), np.empty(0)
        history: dict[str, list[float]] = {"objective": [0.0], "change": [0.0]}
        return Spectrum(empty, none, none, empty, degree, weight > 0, 0.0, history, True, 0.0, 1)
    present = int(takes_part.sum())
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
    # the smallest residual that the error of the operator allows
    eps = float(np.finfo(operator.dtype).eps)
    tol = max(tol, 100 * eps, operator.attainable_error)
    if operator.shape[0] <= DENSE_ROWS:
        values, vectors, history = _all_at_once(operator, scale, wanted)
        if report is not None:
            report(1, history["change"][-1])
    else:
        values, vectors, history = _by_blocks(operator, scale, count, wanted, tol, max_iter, report)
    is_positive = values[:count] > 1e3 * eps
    if strict and not is_positive.all():
        raise DataError(
            f"{count + 1} clusters need {count} eigenvectors, and the kernel matrix has "
            f"{is_positive.sum()} with a nonzero eigenvalue: the points are too similar in this "
            "kernel. Use fewer clusters or a smaller bandwidth."
        )
    count = max(1, int(is_positive.sum()))
    mass = weight if vector_scale == "unit" else weight * degree
    coefficients = weight[:, None] * _scaled(vectors[:, :count], scale, weight, mass)
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
        history["change"][-1] <= tol,
        history["objective"][-1],
        len(history["change"]),
    )


def _scaled(vectors: Array, scale: Array, weight: Array, mass: Array) -> Array:
    """Return α = β / √(w d), with Σ mass α² = 1 and the longer tail positive, (n, q)."""
    shrink = np.divide(scale, weight, out=np.zeros_like(scale), where=scale > 0)  # 1/√(w d)
    alpha = shrink[:, None] * vectors
    alpha /= np.abs(alpha).max(axis=0)  # avoids overflow for extreme degrees
    signs = np.where(weight @ alpha**3 < 0, -1.0, 1.0)
    return np.asarray(alpha * (signs / np.sqrt(mass @ alpha**2)))


def _degree(operator: KernelOperator, weight: Array, own: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return K w, (n,), with values within the rounding error set to zero, and the connected rows.

    These are similar to others beyond the rounding error.
    """
    degree = np.asarray(operator @ weight, dtype=np.float64)
    floor = 1e-6 * float(np.abs(degree).max())
    if degree.min() < -floor:
        worst = int(np.argmin(degree))
        raise DataError(
            f"point {worst} has a degree (its summed similarities) of {degree[worst]:.3g}; kernel "
            "spectral clustering needs similarities that are not negative: use kernel='rbf', or "
            "'cosine' on data without negative values."
        )
    floor = min(floor, operator.error * weight.sum() if np.isfinite(operator.error) else 0.0)
    degree[degree <= floor] = 0.0
    itself = own * np.asarray(operator.diag(), dtype=np.float64)
    is_connected = degree - itself > np.maximum(ISOLATED * itself, floor)
    return degree, is_connected & (degree > 0) & (weight > 0)


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
    operator: KernelOperator,
    scale: Array,
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
    n, v = len(scale), scale / np.linalg.norm(scale)

    def centered(block: Array) -> Array:  # (I − v vᵀ) S (I − v vᵀ) B
        block = block - np.outer(v, v @ block)
        product = np.asarray(operator @ (scale[:, None] * block), dtype=np.float64)
        product *= scale[:, None]
        product -= np.outer(v, v @ product)
        return product

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
