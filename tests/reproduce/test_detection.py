"""Detection accuracy against known outliers."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from reproduce.detection import detection_accuracy


class Distance(BaseEstimator):
    """Minus (or plus) the distance to the training mean."""

    def __init__(self, sign=-1):
        self.sign = sign

    def fit(self, X, y=None):
        self.mean_ = np.mean(X, axis=0)
        return self

    def score_samples(self, X):
        return self.sign * np.linalg.norm(X - self.mean_, axis=1)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(20, 2)) + 50])
    return X, np.arange(80) >= 60


def test_separated_outliers_are_detected(data):
    options = {"n_train": 40, "rejection": 0.05, "n_draws": 6}
    scores = detection_accuracy(Distance(), *data, **options)
    # all outliers are detected, and a few of the 20 inliers are below the threshold too
    assert ((scores >= 0.5) & (scores <= 1)).all()
    assert np.array_equal(scores, detection_accuracy(Distance(), *data, **options))
    assert (detection_accuracy(Distance(1), *data, **options) < 0.3).all()


def test_ties_are_rejected_as_often_as_in_training():
    """Half of the inliers lie on one spot with the lowest score."""
    X = np.repeat([0.0, 1.0], 500)[:, None]
    X = np.concatenate([X, [[50.0]]])
    is_outlier = np.arange(1001) == 1000
    options = {"n_train": 500, "rejection": 0.25, "n_draws": 4}
    scores = detection_accuracy(Distance(), X, is_outlier, **options)
    assert 1 / scores == pytest.approx(125, rel=0.5)  # about 125 tied inliers and one outlier


@pytest.mark.parametrize("change", [{"n_train": 60}, {"rejection": 0.001}, {"rejection": 1.0}])
def test_bad_parameters_are_rejected(data, change):
    options = {"n_train": 40, "rejection": 0.1, "n_draws": 1} | change
    with pytest.raises(ValueError, match="cannot train on"):
        detection_accuracy(Distance(), *data, **options)
