"""Base class of the detectors: one cluster of all data, typicality scores, a threshold."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from softkern._utils.typing import Array
from softkern.models._array_dispatch import dispatch_arrays
from softkern.models.kernel_model import SUPPORT, KernelModel
from softkern.models.point_scores import KernelScores
from softkern.models.state_schema import Floats, Number, Spec

__all__ = ["Detector"]


class DetectorScores(KernelScores):
    """Results of samples from their similarity to the one center.

    Subclasses compute `scores`, which are those of `score_samples`, and `memberships`.
    """

    scores: Any  # typicality on a scale that does not saturate, (m,)

    @cached_property
    def labels(self) -> NDArray[np.int_]:
        return np.where(self.scores < self.model.offset_, -1, 1)

    @cached_property
    def outlier_scores(self) -> Array:
        is_density = self.model.kernel_.decays
        return -(self.log_of_others[:, 0] if is_density else self.scores)

    @cached_property
    def overlap_scores(self) -> Array:
        return np.zeros_like(self.geometry.product[:, 0])


class Detector(OutlierMixin, KernelModel):  # type: ignore[misc]
    """Base class of the detectors. Their `score_points` also has `scores`."""

    _fitted: ClassVar[dict[str, Spec]] = {
        **SUPPORT,
        "dual_coef_": Floats("s"),
        "_norms": Floats("1"),
        "memberships_": Floats("n", low=0, method="memberships"),
        "outlier_scores_": Floats("n", finite=False, method="outlier_scores"),
        "offset_": Number(),
    }
    fit_predict = dispatch_arrays(OutlierMixin.fit_predict)

    @dispatch_arrays
    def score_samples(self, X: Any) -> Array:
        """Score how typical samples are, on a scale that does not saturate.

        Parameters
        ----------
        X : array or CSR matrix of shape (m, n_features)
            Samples to score.

        Returns
        -------
        scores : array of shape (m,)
            Higher means more typical.
        """
        scores: Any = self.score_points(X)
        return scores.scores

    @dispatch_arrays
    def decision_function(self, X: Any) -> Array:
        """Compute `score_samples` minus `offset_`.

        Parameters
        ----------
        X : array or CSR matrix of shape (m, n_features)
            Samples to score.

        Returns
        -------
        decision : array of shape (m,)
            Negative for outliers.
        """
        scores: Any = self.score_points(X)
        return scores.scores - self.offset_
