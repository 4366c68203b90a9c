"""What detectors share: one cluster of all data, scores of how typical a point is, a threshold."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from softkern._typing import Array
from softkern.models.base import KernelModel
from softkern.models.reading import Reading
from softkern.operators.base import CrossOperator, Geometry, KernelOperator

__all__ = ["Detector"]


class Detector(OutlierMixin, KernelModel):  # type: ignore[misc]
    """Base of the detectors; a member says how it scores points and what is typical."""

    _state: ClassVar[tuple[str, ...]] = ("memberships_", "outlier_scores_", "offset_")
    # whether `score_samples` is the log density where the kernel is one
    _scores_density: ClassVar[bool] = False

    @abstractmethod
    def _scores(self, geometry: Geometry) -> Array:
        """`score_samples` from the geometry, (m,)."""

    @abstractmethod
    def _typicality(self, geometry: Geometry, scores: Array) -> Array:
        """Memberships, (m,)."""

    def reading(self, X: Any) -> Reading:
        """All that the model says of new points, from one product.

        Its attributes are `scores` (of `score_samples`), `labels`, `memberships`,
        `outlier_scores` and `overlap_scores`.
        """
        rows = self._rows(X)
        geometry = self._geometry(rows)
        return self._read(geometry, self._logs(rows, geometry.product))

    def _logs(self, rows: CrossOperator, product: Array) -> Array | None:
        """log K @ a of new points, (m, 1); None where the kernel is no density."""
        return rows.log_product(self._columns, product) if self.kernel_.vanishes else None

    def _read(self, geometry: Geometry, logs: Array | None) -> Reading:
        density = None if logs is None else logs[:, 0]
        scores = density if self._scores_density else None
        scores = self._scores(geometry) if scores is None else scores
        return Reading(
            scores=lambda: scores,
            labels=lambda: np.where(scores < self.offset_, -1, 1),
            memberships=lambda: self._typicality(geometry, scores),
            outlier_scores=lambda: -(scores if density is None else density),
            overlap_scores=lambda: np.zeros(len(scores), dtype=scores.dtype),
        )

    def _training_reading(
        self, operator: KernelOperator, coefficients: Array, geometry: Geometry, weight: Array
    ) -> tuple[Geometry, Reading, Array]:
        """How training points lie, their reading, and leave-one-out outlier scores."""
        logs = others = None
        if not operator.keeps_centres:  # the stored centre is not the loop's own
            rows = self._served().cross(operator.X)
            geometry = self._geometry(rows)
            logs = self._logs(rows, geometry.product)
            if logs is not None:
                others = self._without_own(logs, operator, coefficients, weight)
        elif self.kernel_.vanishes:
            logs = operator.log_product(coefficients, geometry.product)
            others = self._log_sums_of_others(operator, coefficients, geometry.product, weight)
        reading = self._read(geometry, logs)
        return geometry, reading, reading.outlier_scores if others is None else -others[:, 0]

    def score_samples(self, X: Any) -> Array:
        """How typical new points are, (m,): the higher, the more."""
        return self.reading(X).scores

    def decision_function(self, X: Any) -> Array:
        """`score_samples` less `offset_`: negative for outliers, (m,)."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int_]:
        """−1 for outliers, 1 for others, (m,)."""
        return self.reading(X).labels

    def memberships(self, X: Any) -> Array:
        """Typicality of new points, (m,)."""
        return self.reading(X).memberships

    def outlier_scores(self, X: Any) -> Array:
        """The higher, the less typical, (m,); ranks follow distance however far a point is.

        The fitted `outlier_scores_` of the training points are leave-one-out where the kernel
        vanishes.
        """
        return self.reading(X).outlier_scores
