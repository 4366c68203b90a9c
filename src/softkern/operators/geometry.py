"""How points lie to centers, and distances that keep their digits.

Every function here is written against the array API: it runs where the operator's arrays live.
D² = K_xx − 2 G + ‖center‖² loses the digits that points have in common. From features less a point
in their middle (`FeaturePoints`), distances have all the digits that the data have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import device, is_numpy_array

from softkern._utils.arrays import namespace, row_sums
from softkern.rows import row_slices

GAP_ROWS = 8192  # summed at once, in float64
MIDDLE_ROWS = 1024  # at least, where there are as many
ON_CENTER = 8  # rounding errors of K(x, x): a squared distance below them is zero
BLOCK_ROWS = 4096  # summed in the data's own dtype, the blocks' sums in float64


@dataclass(frozen=True)
class Geometry:
    """How points lie to centers: what one product gives."""

    product: Any  # K @ A, (n, c)
    norms: Any  # squared lengths of the centers, (c,)
    distances: Any  # squared distances to them, (n, c)

    def gaps(self, A: Any) -> Any:
        """Squared distances between the centers A (n, c), whose columns sum to one, (c, c).

        From distances, which have the digits that norms far from the origin lose: the mean of D²
        to center k over the points of center j is their own spread and the gap.
        """
        xp = namespace(A, self.distances)
        means = xp.zeros((A.shape[1], A.shape[1]), dtype=xp.float64, device=device(A))
        for rows in row_slices(A.shape[0], GAP_ROWS):
            distances = xp.astype(self.distances[rows, :], xp.float64, copy=False)
            means += xp.astype(A[rows, :], xp.float64, copy=False).T @ distances
        gaps = means - xp.linalg.diagonal(means)[:, None]
        return (gaps + gaps.T) / 2


def center_norms(A: Any, product: Any) -> Any:
    """Squared lengths colsum(A ∘ K A) of centers, (c,); n terms are summed in float64."""
    if is_numpy_array(A):
        total = np.einsum("ij,ij->j", A, product, dtype=np.float64)
        return total.astype(product.dtype, copy=False)
    xp = namespace(A, product)
    return xp.astype(xp.sum(A * product, axis=0, dtype=xp.float64), product.dtype, copy=False)


def squared_distances(diag: Any, product: Any, norms: Any, is_semidefinite: bool | None) -> Any:
    """D² = diag(K) − 2 K A + ‖center‖², (m, c).

    Where K is semidefinite, a value that is negative or less than its rounding error is zero.
    """
    distances = -2 * product
    distances += diag[:, None]
    distances += norms
    if not is_semidefinite:
        return distances
    # what is left of a point that lies on a center depends on the order of additions
    eps = float(namespace(distances).finfo(distances.dtype).eps)
    distances[distances <= ON_CENTER * eps * diag[:, None]] = 0
    return distances


@dataclass(frozen=True)
class FeaturePoints:
    """Features less a point in their middle, the origin for points and centers."""

    points: Any  # (n, r)
    origin: Any  # (r,)
    norms: Any  # ‖point‖², (n,)

    @classmethod
    def of(cls, features: Any) -> FeaturePoints:
        """Of F (n, r)."""
        # some rows show where the middle is; all of them would cost more than the distances
        some = features[:: max(1, features.shape[0] // MIDDLE_ROWS), :]
        if is_numpy_array(some):
            origin = np.median(some, axis=0).astype(some.dtype, copy=False)
        else:
            origin = namespace(some).sort(some, axis=0)[some.shape[0] // 2, :]
        points = features - origin
        return cls(points, origin, row_sums(points, points))

    def centers(self, A: Any) -> Any:
        """Centers of coefficients A (n, c) as vectors, (r, c)."""
        xp = namespace(A, self.points)
        sums = feature_sums(self.points, A)
        total = xp.sum(A, axis=0, dtype=xp.float64)
        # the coefficients of a mean sum to one, but for the rounding of as many terms
        slack = min(1e-2, (16 + A.shape[0]) * float(xp.finfo(A.dtype).eps))
        is_mean = xp.abs(total - 1) <= slack
        away = xp.astype(self.origin, xp.float64)[:, None] * (total - 1)
        means = sums / xp.where(is_mean, total, xp.ones_like(total))
        return xp.astype(xp.where(is_mean, means, sums + away), self.points.dtype, copy=False)

    def distances(self, centers: Any, features: Any | None = None) -> Any:
        """D² (m, c) of centers (r, c) to other points' features (m, r), or to these points."""
        points, norms = self.points, self.norms
        if features is not None:
            points = features - self.origin
            norms = row_sums(points, points)
        distances = points @ (-2 * centers)
        distances += norms[:, None]
        xp = namespace(centers)
        distances += xp.sum(centers * centers, axis=0)
        if is_numpy_array(distances):
            return np.maximum(distances, 0, out=distances)
        return xp.clip(distances, min=0.0)


def feature_sums(features: Any, A: Any) -> Any:
    """Fᵀ A, (r, c), in float64; F may be sparse."""
    xp = namespace(A)
    total = xp.zeros((features.shape[1], A.shape[1]), dtype=xp.float64, device=device(A))
    for rows in row_slices(A.shape[0], BLOCK_ROWS):
        total += features[rows, :].T @ A[rows, :]
    return total
