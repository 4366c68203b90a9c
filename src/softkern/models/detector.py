"""What detectors share: one cluster of all data, scores of how typical a point is, a threshold."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from softkern._utils.typing import Array
from softkern.models.base import KernelModel
from softkern.models.point_scores import Reading
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
    def _typicality(self, geometry: Geometry, reading: Reading) -> Array:
        """Memberships, (m,), from the geometry or from the scores of the reading."""

    def reading(self, X: Any) -> Reading:
        """All that the model says of new points, from one product.

        Its attributes are `scores` (of `score_samples`), `labels`, `memberships`,
        `outlier_scores` and `overlap_scores`.
        """
        rows = self._rows(X)
        return self._read_rows(rows, self._geometry(rows))

    def _read_rows(self, rows: CrossOperator, geometry: Geometry) -> Reading:
        """Of new points whose geometry is known."""
        return self._read(geometry, lambda: rows.log_product(self._columns, geometry.product))

    def _read(
        self,
        geometry: Geometry,
        log_product: Callable[[], Array],
        **parts: Callable[[], Array],
    ) -> Reading:
        """Of points whose log K @ a, (m, 1), is asked for only where the kernel is a density.

        `parts` take the place of what is usual.
        """
        is_density = self.kernel_.decays
        is_score = is_density and self._scores_density
        density = cache(lambda: log_product()[:, 0])
        usual: dict[str, Callable[[], Array]] = {
            "scores": lambda: density() if is_score else self._scores(geometry),
            "labels": lambda: np.where(reading.scores < self.offset_, -1, 1),
            "memberships": lambda: self._typicality(geometry, reading),
            "outlier_scores": lambda: -(density() if is_density else reading.scores),
            "overlap_scores": lambda: np.zeros_like(geometry.product[:, 0]),
        }
        reading = Reading(**usual | parts)
        return reading

    def _training_reading(
        self, operator: KernelOperator, coefficients: Array, geometry: Geometry
    ) -> tuple[Geometry, Reading]:
        """How training points lie to the stored center, and their reading as new points."""
        if operator.is_exact_support:
            return geometry, self._read(
                geometry, lambda: operator.log_product(coefficients, geometry.product)
            )
        rows = self._served().cross(operator.X)  # the stored center is not the loop's own
        geometry = self._geometry(rows)
        return geometry, self._read_rows(rows, geometry)

    def _training_scores(
        self, operator: KernelOperator, coefficients: Array, geometry: Geometry, weight: Array
    ) -> Array:
        """−log K @ a of the training points without their copies, of a kernel that vanishes."""
        if operator.is_exact_support:
            others = self._log_sums_of_others(operator, coefficients, geometry.product, weight)
        else:
            logs = self._served().cross(operator.X).log_product(self._columns, geometry.product)
            others = self._without_own(logs, operator, coefficients, weight)
        return -others[:, 0]

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

        The fitted `outlier_scores_` of the training points are leave-the-copies-out where the
        kernel vanishes: a row is scored by the others, and rows equal to it are not others as long
        as they hold no more than 1 % of the weight. A training row that is asked for again is a
        new point, which finds itself among the training points.
        """
        return self.reading(X).outlier_scores
