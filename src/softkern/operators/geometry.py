"""Points of a finite feature map, and distances between them that keep their digits.

D² = K_xx − 2 G + ‖centre‖² loses the digits that points have in common: far from the origin of
feature space, all of them. Distances do not depend on the origin; taken from features less a
point in their middle, they have the digits that the data have. Called by `KernelOperator`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FeaturePoints", "feature_sums"]

Array = NDArray[Any]

MIDDLE_ROWS = 1024  # at least, where there are as many
BLOCK_ROWS = 4096  # summed in the data's own dtype, the blocks' sums in float64


@dataclass(frozen=True)
class FeaturePoints:
    """Features less a point in their middle, the origin from which points and centres are told."""

    points: Array  # (n, r)
    origin: Array  # (r,)
    norms: Array  # ‖point‖², (n,)

    @classmethod
    def of(cls, features: Any | None) -> FeaturePoints | None:
        """Of F (n, r); None where there is none, or where it is sparse and must stay so."""
        if not isinstance(features, np.ndarray):
            return None
        # some rows tell where the middle is; all of them would cost more than the distances
        some = features[:: max(1, len(features) // MIDDLE_ROWS)]
        origin = np.median(some, axis=0).astype(features.dtype)
        points = features - origin
        return cls(points, origin, _squared_norms(points))

    def centres(self, A: Array) -> Array:
        """Centres of coefficients A (n, c) as vectors, (r, c)."""
        sums = feature_sums(self.points, A)
        total = A.sum(axis=0, dtype=np.float64)
        # the coefficients of a mean sum to one, but for the rounding of as many terms
        slack = min(1e-2, (16 + len(A)) * float(np.finfo(A.dtype).eps))
        is_mean = np.abs(total - 1) <= slack
        away = self.origin[:, None] * (total - 1)
        centres = np.where(is_mean, sums / np.where(is_mean, total, 1), sums + away)
        return centres.astype(self.points.dtype)

    def distances(self, centres: Array, features: Array | None = None) -> Array:
        """D² (m, c) of centres (r, c) to other points' features (m, r), or to these points."""
        points, norms = self.points, self.norms
        if features is not None:
            points = features - self.origin
            norms = _squared_norms(points)
        distances = points @ (-2 * centres)
        distances += norms[:, None]
        distances += np.einsum("ij,ij->j", centres, centres)
        np.maximum(distances, 0, out=distances)  # rounding only
        return np.asarray(distances)


def feature_sums(features: Any, A: Array) -> Array:
    """Fᵀ A, (r, c), in float64."""
    total = np.zeros((features.shape[1], A.shape[1]))
    for start in range(0, A.shape[0], BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        total += features[rows].T @ A[rows]
    return total


def _squared_norms(points: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", points, points))
