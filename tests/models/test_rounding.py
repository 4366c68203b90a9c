"""Results do not depend on the order of summation."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from softkern import FuzzyCMeans, OutlierFuzzyCMeans, PossibilisticCMeans
from softkern.operators.dense import DenseOperator

CLUSTERS = make_blobs(110, 2, centers=[[0, 0], [8, 8], [0, 9]], random_state=0)[0]
FAR = (CLUSTERS + 1e4).astype(np.float32)
TWO_PLACES = np.repeat([[0.3, 0.7], [1.1, 2.3]], [30, 1], axis=0)


def perturb_rounding(monkeypatch, seed):
    """Round the entries of products at random."""
    product = DenseOperator._product
    generator = np.random.default_rng(seed)

    def rounded(self, A):
        exact = product(self, A)
        noise = generator.uniform(-1, 1, exact.shape).astype(exact.dtype)
        return exact * (1 + 2 * np.finfo(exact.dtype).eps * noise)

    monkeypatch.setattr(DenseOperator, "_product", rounded)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
def test_more_clusters_than_distinct_rows(seed, monkeypatch):
    exact = PossibilisticCMeans(5, engine="dense").fit(TWO_PLACES)
    perturb_rounding(monkeypatch, seed)
    model = PossibilisticCMeans(5, engine="dense").fit(TWO_PLACES)
    assert model.memberships_ == pytest.approx(exact.memberships_, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_possibilistic_clusters_far_from_the_origin(seed, monkeypatch):
    exact = PossibilisticCMeans(3, kernel="linear", engine="dense").fit(FAR.astype(float) - 1e4)
    perturb_rounding(monkeypatch, seed)
    model = PossibilisticCMeans(3, kernel="linear", engine="dense").fit(FAR)
    assert model.eta_scale_ == exact.eta_scale_
    assert model.memberships_ == pytest.approx(exact.memberships_, abs=1e-3)


@pytest.mark.parametrize("cls", [FuzzyCMeans, OutlierFuzzyCMeans])
def test_overlap_far_from_the_origin(cls):
    exact = cls(3, kernel="linear").fit(FAR.astype(float) - 1e4)
    model = cls(3, kernel="linear").fit(FAR)
    assert model.overlap_scores_ == pytest.approx(exact.overlap_scores_, abs=1e-3)
