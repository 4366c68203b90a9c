"""Base class of the detectors: one cluster of all data, typicality scores, a threshold."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from softkern._utils.arrays import is_dask, like, on_host
from softkern._utils.typing import Array
from softkern.models._array_dispatch import dispatch_arrays
from softkern.models.calibration import calibrate
from softkern.models.kernel_model import SUPPORT, KernelModel
from softkern.models.point_scores import KernelScores
from softkern.models.state_schema import Floats, Number, Spec

__all__ = ["Detector"]


class DetectorScores(KernelScores):
    """Results of samples from their similarity to the one center.

    Subclasses compute `memberships`.
    """

    @cached_property
    def scores(self) -> Array:
        """Typicality as `score_samples` returns it, in the order of the outlier scores, (m,)."""
        return -self.outlier_scores

    @cached_property
    def labels(self) -> NDArray[np.int_]:
        return np.where(self.scores < self.model.offset_, -1, 1)

    @cached_property
    def outlier_scores(self) -> Array:
        """Outlier scores, (m,). Those of training samples leave out the sample itself."""
        scores, model = self._outlier_scores(), self.model
        if model._support_scores is not None:
            number = model._stored_operator().row_finder.find(self.rows.X)
            is_known = number >= 0
            scores[is_known] = model._support_scores[number[is_known]]
        return scores

    def _outlier_scores(self) -> Array:
        """Compute outlier scores, (m,), of new samples as if none were a training sample."""
        return -self.log_of_others[:, 0]

    @cached_property
    def overlap_scores(self) -> Array:
        return np.zeros_like(self.geometry.product[:, 0])


class Detector(OutlierMixin, KernelModel):  # type: ignore[misc]
    """Base class of the detectors. Their `score_points` also has `scores`.

    A training sample is judged without itself, in the fit and when it is passed as a new sample.
    """

    _fitted: ClassVar[dict[str, Spec]] = {
        **SUPPORT,
        "dual_coef_": Floats("s"),
        "_norms": Floats("1"),
        "memberships_": Floats("n", low=0, method="memberships"),
        "outlier_scores_": Floats("n", finite=False, method="outlier_scores"),
        "offset_": Number(finite=False),  # infinite where too many rows are infinitely far
        # leave-one-out scores of the support points, where these are training samples
        "_support_scores": Floats("s", finite=False, nullable=True, optional=True),
    }
    _support_scores: Array | None

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

    def outlier_probability(self, X: Any) -> Any:
        """Compute the share of typical samples that lie less far out.

        It is calibrated: of new samples like those of the fit, a share p exceeds 1 − p, for each p.
        Beyond the training samples the share follows a fitted tail. Outliers among the training
        samples do not count as typical, as long as they are less than a fifth.

        Parameters
        ----------
        X : array or CSR matrix of shape (m, n_features)
            Samples to score.

        Returns
        -------
        probability : array of shape (m,)
            From 0 to 1, in the order of `outlier_scores`.
        """
        scores, share_within = self.outlier_scores(X), calibrate(self).share_within
        if is_dask(scores):
            return scores.map_blocks(share_within, dtype=np.float64)
        return like(share_within(on_host(scores)), scores)
