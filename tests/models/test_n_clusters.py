"""n_clusters="auto" for models with centers."""

import numpy as np
import pytest

from softkern import FuzzyCMeans, OneClassKMeans, OneClassMixture, OutlierFuzzyCMeans
from softkern.rows import Rows
from softkern.splitting.split import estimate_n_clusters
from tests.draws import blobs

MODELS = [FuzzyCMeans, OutlierFuzzyCMeans, OneClassMixture, OneClassKMeans]


@pytest.mark.parametrize(
    ("Model", "d"),  # all use the same rule
    [*((Model, 2) for Model in MODELS), (FuzzyCMeans, 10), (OneClassMixture, 10)],
)
def test_number_of_separated_blobs_is_found(Model, d):
    model = Model("auto").fit(blobs(4, d, d))
    assert model.n_clusters_ == model.memberships_.shape[1] == 4
    assert sorted(np.bincount(model.labels_)) == pytest.approx([60] * 4, abs=3)
    assert model.n_clusters == "auto"


@pytest.mark.parametrize("Model", MODELS)
def test_one_cluster_is_not_split(Model):
    model = Model("auto").fit(np.random.default_rng(0).normal(size=(200, 3)))
    assert model.n_clusters_ == 1
    assert not model.labels_.any()


def test_order_units_and_repeats_instead_of_weights_do_not_matter():
    X = blobs(3, 4, 0)
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 4, len(X))
    order = rng.permutation(counts.sum())
    many = np.repeat(X, counts, axis=0)[order] * [1, 1000, 1e-3, 7]
    assert estimate_n_clusters(Rows(X, counts)) == estimate_n_clusters(Rows(many)) == 3


def test_auto_with_a_precomputed_matrix_is_an_error():
    K = np.exp(-np.square(np.arange(20.0)[:, None] - np.arange(20.0)))
    with pytest.raises(ValueError, match="n_clusters='auto' needs the data"):
        FuzzyCMeans("auto", kernel="precomputed").fit(K)
