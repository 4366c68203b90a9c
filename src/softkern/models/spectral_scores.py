"""Scores of samples from their projections and similarities; used by the spectral models."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.models.point_scores import PointScores
from softkern.rules.memberships import fuzzy, log_fuzzy
from softkern.rules.projections import prototype_distances


class SpectralScores(PointScores):
    """Scores of samples and their positions in the eigenspace.

    They follow from one product with `rows`, or from the given `parts`.
    """

    def __init__(self, model: Any, rows: Any = None, **parts: Array) -> None:
        super().__init__(**parts)
        self._model, self._rows = model, rows

    @cached_property
    def _product(self) -> Array:
        """Products with the coefficients of the projections and of the degree, (m, n_clusters)."""
        model = self._model
        return np.asarray(self._rows @ np.column_stack([model.dual_coef_, model._degree_coef]))

    @cached_property
    def projections(self) -> Array:
        """e = K(X, support) α + b, (m, n_clusters − 1)."""
        return self._product[:, :-1].astype(np.float64) + self._model.bias_

    @cached_property
    def log_similarity(self) -> Array:
        """Logarithm of the mean kernel value with the training samples, (m,)."""
        model, degree = self._model, self._product[:, -1:]
        if not model.kernel_.decays:
            return model._log_share(degree[:, 0])
        logs = model._log_product(self._rows, model._degree_coef[:, None], degree)[:, 0]
        return np.asarray(logs.astype(np.float64) - np.log(model._total_weight))

    @cached_property
    def mean_similarity(self) -> Array:
        """Mean kernel value with the training samples, (m,)."""
        return np.exp(self.log_similarity)

    @cached_property
    def memberships(self) -> Array:
        """Memberships of the model, (m, n_clusters)."""
        return self._model._memberships(self).astype(self._model.sample_weight_.dtype)

    @cached_property
    def labels(self) -> NDArray[np.int_]:
        """Clusters of the largest membership, (m,)."""
        return np.argmax(self.memberships, axis=1)

    @cached_property
    def outlier_scores(self) -> Array:
        """−log of the mean similarity, (m,)."""
        return -self.log_similarity

    @cached_property
    def log_memberships(self) -> Array:
        """Soft memberships in both models: overlap scores are their ratio."""
        return log_fuzzy(self._distances, m=2)

    @cached_property
    def soft_memberships(self) -> Array:
        """Soft memberships, (m, n_clusters)."""
        return np.asarray(fuzzy(self._distances, m=2))

    @cached_property
    def _distances(self) -> Array:
        return prototype_distances(self.projections, self._model.prototypes_)
