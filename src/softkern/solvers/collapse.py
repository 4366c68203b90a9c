"""Prediction whether fuzzy memberships separate clusters or all collapse to 1/c.

Equal memberships, u = 1/c with all centers equal, are always a fixed point of fuzzy c-means. Near
it the iteration is linear, and its largest multiplier is

    ρ = 2 p / (m − 1) · λ_max(D⁻¹ H K diag(a) H),    p = m, or 1 where centers are means by u

where a are the coefficients of the common center, H = I − 1 aᵀ centers at it, and D contains the
squared distances to it. Below one, small differences decay and the fit collapses from any start.
The matrix is similar to S (H K Hᵀ) S with S = √(a / D), which is symmetric and has trace one, so
that a few products with K give its largest eigenvalue. Equal memberships of the one-class mixture
are stable above a scale that follows from the largest variance in feature space, the eigenvalue of
the same matrix with S = √a (`principal_variance`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

from softkern._utils.arrays import namespace, on_host
from softkern._utils.typing import AnyArray, Array
from softkern.operators.base import KernelOperator
from softkern.rows import row_slices

SAFE_RATIO = 1.2  # above it memberships leave 1/c fast enough
CLEARLY_SAFE = 1.1  # times the safe ratio: more than the error of a low-rank factor
SMALLEST_M = 1e-6  # smallest m − 1, with practically hard memberships
CENTER_STEPS = 100  # for the common center with outlier weights
CENTER_TOL = 1e-6  # relative change of its squared distances
ON_POINT = 1e-6  # squared distance of a point on the center, relative to the mean
RESIDUAL_TOL = 1e-4  # of the eigenvector; the error of the eigenvalue is about its square
SAME_POINTS = 0.99  # cosine of the coefficients of coinciding centers
ALL_ONE = 16  # rounding errors below which the mean squared distance is zero
BLOCK_ROWS = 4096  # rows of features per block
BASIS = 12  # vectors of the eigenvalue iteration


def ratio_at(m: float, eigenvalue: float, plain: bool = False) -> float:
    """Return ρ, how fast fuzzy memberships leave u = 1/c, from λ_max, which does not depend on m.

    With `plain`, centers are means with masses u, not u^m / w^q.
    """
    return 2 * (1.0 if plain else m) / (m - 1) * eigenvalue


def largest_m(eigenvalue: float, m: float, plain: bool = False, goal: float = SAFE_RATIO) -> float:
    """Return the largest exponent up to m whose collapse ratio is above the goal."""
    if ratio_at(m, eigenvalue, plain) > goal:
        return m
    least = 2 * eigenvalue / (goal * (1 + 1e-6))  # (m − 1) / p at the goal
    lowered = 1 + least if plain else 1 / (1 - least)
    return float(min(m, max(lowered, 1 + SMALLEST_M)))


def select_fuzzifier(
    operator: KernelOperator, m: float | str, weight: Array, q: float = 0.0, plain: bool = False
) -> tuple[float, float]:
    """Return the fuzzy exponent and its collapse ratio; "auto" gives 2 or the largest safe one.

    A ratio that is clearly safe on a surrogate is not computed on the exact operator.
    """
    first = 2.0 if isinstance(m, str) else float(m)
    q = 0.0 if plain else q
    eigenvalue = collapse_eigenvalue(operator.surrogate or operator, weight, q)
    ratio = ratio_at(first, eigenvalue, plain)
    if operator.surrogate is not None and ratio < CLEARLY_SAFE * SAFE_RATIO:
        eigenvalue = collapse_eigenvalue(operator, weight, q)
    if isinstance(m, str):
        first = largest_m(eigenvalue, first, plain)
    return first, ratio_at(first, eigenvalue, plain)


def collapse_eigenvalue(operator: KernelOperator, weight: Array, q: float = 0.0) -> float:
    """Return λ_max of S (H K Hᵀ) S with S = √(a / D), between 0 and 1.

    `q` is the exponent of the outlier weights of `softkern.OutlierFuzzyCMeans`.
    """
    weight = weight.astype(np.float64)
    a = weight / weight.sum()  # coefficients of the common center, (n,)
    distances = _distances(operator, a)
    if q > 0 and a @ distances > 0:  # without spread all points are equal
        a, distances = _weighted_center(operator, weight, q, a, distances)
    # points on the common center do not move
    rounding = max(1e-10 * distances.max(initial=0), ALL_ONE * operator.distance_error)
    is_off = distances > rounding
    scale = np.sqrt(np.where(is_off, a / np.where(is_off, distances, 1), 0))
    if np.count_nonzero(scale) < 3:  # the trace is one
        return float(np.count_nonzero(scale) > 0)
    return _top_eigenvalue(operator, a, scale)


def principal_variance(operator: KernelOperator, weight: Array) -> float:
    """Return the largest variance of the weighted data in feature space, λ₁(HKH) / Σ w."""
    share = weight.astype(np.float64) / weight.sum(dtype=np.float64)
    # a low-rank operator can only underestimate distances
    for one in (operator.surrogate, operator):
        if one is not None and share @ _distances(one, share) > ALL_ONE * operator.distance_error:
            return max(_top_eigenvalue(operator, share, np.sqrt(share)), 0.0)
    return 0.0


def coinciding(coefficients: AnyArray) -> list[tuple[int, int]]:
    """Return pairs of coinciding centers, by the cosine of their coefficients (n, c).

    The cosine depends neither on the kernel nor on the width of clusters.
    """
    xp = namespace(coefficients)
    products = np.asarray(on_host(xp.matmul(xp.matrix_transpose(coefficients), coefficients)))
    lengths = np.sqrt(np.maximum(products.diagonal(), 1e-300, dtype=np.float64))
    is_same = products > SAME_POINTS * np.outer(lengths, lengths)
    rows, columns = np.nonzero(np.triu(is_same, 1))
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _weighted_center(
    operator: KernelOperator, weight: Array, q: float, mean: Array, to_mean: Array
) -> tuple[Array, Array]:
    """Return the common center with outlier weights, a ∝ weight / w^q, and D² to it, (n,) each.

    The weights w ∝ D^(2/(q+1)) depend on the center, so that both are computed in turn. A center on
    a point is held there by this point, and nothing follows for clusters. The mean is used instead.
    """
    spread, distances = float(mean @ to_mean), to_mean
    for _ in range(CENTER_STEPS):
        before = distances
        floor = 1e-12 * float(mean @ before)
        a = weight * np.maximum(before, floor) ** (-q / (q + 1))
        a /= a.sum()
        distances = _distances(operator, a)
        if a[distances <= ON_POINT * spread].sum() > 0.5:
            return mean, to_mean
        if np.abs(distances - before).max() <= CENTER_TOL * distances.max():
            break
    return a, distances


def _distances(operator: KernelOperator, a: Array) -> Array:
    return np.asarray(np.maximum(operator.squared_distances(a).astype(np.float64), 0))


def _top_eigenvalue(operator: KernelOperator, a: Array, scale: Array) -> float:
    """Return λ_max of S (H K Hᵀ) S for S = diag(scale)."""
    n = operator.shape[0]
    if operator.features is not None and operator.features.points.shape[1] < n:
        points = operator.features.points  # F (n, r), and Fᵀ Hᵀ S² H F (r, r) has the same value
        mean = np.einsum("i,ij->j", a, points)
        gram = np.zeros((mean.size, mean.size))
        for rows in row_slices(n, BLOCK_ROWS):
            block = scale[rows, None] * (points[rows] - mean)
            gram += block.T @ block
        return float(np.linalg.eigvalsh(gram)[-1])
    product = partial(_centered_product, operator, a, scale)
    if n <= BASIS:  # too small for the iteration
        return float(np.linalg.eigvalsh(product(np.eye(n)))[-1])
    start = scale * np.random.default_rng(0).normal(size=n)
    if operator.surrogate is None:
        return _top_eigenvector(product, start)[0]
    near = _top_eigenvector(partial(_centered_product, operator.surrogate, a, scale), start)[1]
    return _refined_eigenvalue(product, near)


def _centered_product(
    operator: KernelOperator, a: Array, scale: Array, v: Array
) -> NDArray[np.float64]:
    """Return S (H K Hᵀ) S v for vectors (n,) or (n, k)."""
    x = scale[:, None] * v.reshape(len(scale), -1)
    y = np.asarray(operator @ (x - np.outer(a, x.sum(axis=0))), dtype=np.float64)
    return np.asarray(scale[:, None] * (y - a @ y))


def _top_eigenvector(
    product: Callable[[Array], Array], start: Array
) -> tuple[float, NDArray[np.float64]]:
    """Return the largest eigenvalue of a symmetric matrix and its unit vector."""
    n = len(start)
    matrix = LinearOperator((n, n), matvec=product, matmat=product, dtype=np.float64)
    values, vectors = eigsh(matrix, 1, which="LA", v0=start, ncv=BASIS, tol=RESIDUAL_TOL)
    return float(values[0]), vectors[:, 0]


def _refined_eigenvalue(product: Callable[[Array], Array], near: Array) -> float:
    """Return the largest eigenvalue of a symmetric matrix from a nearby vector.

    A Davidson iteration: the space of the vector and its residuals, with one product per step.
    """
    basis, images = np.empty((len(near), 0)), np.empty((len(near), 0))
    step = near
    for _ in range(BASIS):
        basis = np.column_stack([basis, step / np.linalg.norm(step)])
        images = np.column_stack([images, product(basis[:, -1])])
        values, vectors = np.linalg.eigh(basis.T @ images)
        residual = (images - values[-1] * basis) @ vectors[:, -1]
        if np.linalg.norm(residual) <= RESIDUAL_TOL * values[-1]:
            return float(values[-1])
        step = residual - basis @ (basis.T @ residual)
    return _top_eigenvector(product, basis @ vectors[:, -1])[0]
