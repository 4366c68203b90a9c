"""Scores of samples: outlier scores in all columns, clusters in coordinates of their own."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.models.point_scores import PointScores


class AutoScores(PointScores):
    """Scores of samples X by an `AutoClustering` with a model of outliers, and one of clusters.

    Without a model of clusters there is one cluster.
    """

    def __init__(self, model: Any, X: Array, **known: Any) -> None:
        super().__init__(**known)
        self._model, self._X = model, X
        # columns of the memberships that are clusters, in their order; older files have all
        self._columns = getattr(model, "_columns", None)

    @cached_property
    def _mapped(self) -> PointScores:
        """Scores by the model of clusters."""
        if self._model.model_ is None:
            n, dtype = len(self._X), self._X.dtype
            return PointScores(
                memberships=np.ones((n, 1), dtype=dtype),
                labels=np.zeros(n, dtype=np.int64),
                overlap_scores=np.zeros(n, dtype=dtype),
            )
        scores: PointScores = self._model.model_.score_points(
            self._model._coordinates.forward(self._X)
        )
        return scores

    @cached_property
    def memberships(self) -> Array:
        """Memberships, (m, c)."""
        memberships: Array = self._mapped.memberships
        if self._columns is None:
            return memberships
        chosen = memberships[:, self._columns]
        if chosen.shape == memberships.shape:
            return chosen
        total = chosen.sum(axis=1, keepdims=True)
        even = 1 / len(self._columns)
        return np.where(total > 0, chosen / np.where(total > 0, total, 1), even)

    @cached_property
    def labels(self) -> NDArray[np.int_]:
        """Clusters, (m,), −1 for noise."""
        labels = np.asarray(self._mapped.labels, dtype=np.int64)
        if self._columns is not None:
            number = np.full(self._mapped.memberships.shape[1], -1, dtype=np.int64)
            number[self._columns] = np.arange(len(self._columns))
            labels = number[labels]
            # a dropped cluster may be the largest of a new sample
            labels = np.where(labels < 0, np.argmax(self.memberships, axis=1), labels)
        radius = getattr(self._model, "_noise_radius", None)  # older files have none
        return labels if radius is None else np.where(radius.is_noise(self._X), -1, labels)

    @cached_property
    def outlier_scores(self) -> Array:
        """Outlier scores, (m,)."""
        scores: Array = self._model.one_class_.score_points(self._X).outlier_scores
        return scores

    @cached_property
    def overlap_scores(self) -> Array:
        """Overlap scores, (m,)."""
        return self._mapped.overlap_scores
