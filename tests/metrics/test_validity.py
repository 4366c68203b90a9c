"""Validity indices: equality with sums over pairs and with scikit-learn, and invariances."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_samples

from softkern.kernels import Gaussian, Linear
from softkern.metrics.validity import (
    fuzzy_silhouette,
    partition_coefficient,
    partition_entropy,
    xie_beni,
)
from softkern.operators.dense import DenseOperator
from softkern.operators.features import FeatureOperator


@pytest.fixture
def X():
    return make_blobs(60, 3, centers=3, random_state=0)[0]


@pytest.fixture
def U():
    u = np.random.default_rng(0).uniform(size=(60, 3)) ** 4
    return u / u.sum(axis=1, keepdims=True)


def indices(X, U, weight=None):
    operator = DenseOperator(Gaussian(2.0), X)
    return [
        partition_coefficient(U, weight),
        partition_entropy(U, weight),
        xie_beni(operator, U, 1.7, weight),
        fuzzy_silhouette(operator, U, weight),
    ]


def test_partition_indices_of_hard_and_of_equal_memberships():
    hard, equal = np.eye(4)[[0, 1, 2, 3, 3]], np.full((5, 4), 0.25)
    assert partition_coefficient(hard) == 1
    assert partition_coefficient(equal) == pytest.approx(0.25)
    assert partition_entropy(hard) == 0
    assert partition_entropy(equal) == pytest.approx(np.log(4))


def test_xie_beni_in_data_space(X, U):
    m = 2.3
    centers = (U**m).T @ X / (U**m).sum(axis=0)[:, None]
    spread = (U**m * cdist(X, centers, "sqeuclidean")).sum()
    gap = min(((centers[i] - centers[j]) ** 2).sum() for i in range(3) for j in range(i))
    value = xie_beni(FeatureOperator(Linear(), X), U, m)
    assert value == pytest.approx(spread / (60 * gap), rel=1e-10)


def test_silhouettes_equal_those_of_scikit_learn_for_squared_distances(X, U):
    labels = U.argmax(axis=1)
    top = np.sort(U, axis=1)
    certainty = (top[:, -1] - top[:, -2]) ** 2
    expected = certainty @ silhouette_samples(X, labels, metric="sqeuclidean") / certainty.sum()
    value = fuzzy_silhouette(FeatureOperator(Linear(), X), U, alpha=2.0)
    assert value == pytest.approx(expected, rel=1e-10)


def test_silhouettes_in_feature_space(X, U):
    K = np.exp(-cdist(X, X, "sqeuclidean") / 8)
    pairs = 2 - 2 * K  # squared distances between images
    np.fill_diagonal(pairs, 0)
    labels = U.argmax(axis=1)
    top = np.sort(U, axis=1)
    certainty = top[:, -1] - top[:, -2]
    expected = certainty @ silhouette_samples(pairs, labels, metric="precomputed") / certainty.sum()
    assert indices(X, U)[3] == pytest.approx(expected, rel=1e-10)


def test_integer_weights_equal_repeated_samples(X, U):
    counts = np.random.default_rng(1).integers(0, 4, 60)
    repeated = indices(np.repeat(X, counts, axis=0), np.repeat(U, counts, axis=0))
    assert indices(X, U, counts) == pytest.approx(repeated, rel=1e-10)


def test_silhouettes_leave_out_the_weight_of_the_sample_itself(X, U):
    """A sample with a weight below one leaves out its own weight, not a whole sample."""
    weight = np.random.default_rng(3).uniform(0.05, 2.5, 60)
    pairs = 2 - 2 * np.exp(-cdist(X, X, "sqeuclidean") / 8)
    labels, top = U.argmax(axis=1), np.sort(U, axis=1)
    silhouettes = []
    for i in range(60):
        means = []
        for k in range(3):
            mass = weight * (labels == k)
            means.append(mass @ pairs[i] / (mass.sum() - (labels[i] == k) * min(weight[i], 1)))
        a = means.pop(labels[i])
        silhouettes.append((min(means) - a) / max(a, min(means)))
    certainty = weight * (top[:, -1] - top[:, -2])
    assert indices(X, U, weight)[3] == pytest.approx(
        certainty @ np.array(silhouettes) / certainty.sum(), rel=1e-10
    )


def test_indices_do_not_depend_on_the_origin(X, U):
    here, far = FeatureOperator(Linear(), X), FeatureOperator(Linear(), X + 1e7)
    assert xie_beni(far, U) == pytest.approx(xie_beni(here, U), rel=1e-6)
    assert fuzzy_silhouette(far, U) == pytest.approx(fuzzy_silhouette(here, U), rel=1e-6)


def test_order_of_samples_and_clusters_does_not_matter(X, U):
    order = np.random.default_rng(2).permutation(60)
    assert indices(X[order], U[order][:, [2, 0, 1]]) == pytest.approx(indices(X, U), rel=1e-10)


def test_cluster_of_one_sample(X):
    labels = np.r_[0, np.ones(59, int)]
    value = fuzzy_silhouette(FeatureOperator(Linear(), X), np.eye(2)[labels])
    expected = silhouette_samples(X, labels, metric="sqeuclidean").mean()
    assert value == pytest.approx(expected, rel=1e-10)


def test_undefined_indices(X):
    operator = FeatureOperator(Linear(), X)
    one, equal = np.ones((60, 1)), np.full((60, 3), 1 / 3)
    assert np.isnan(xie_beni(operator, one))
    assert np.isnan(fuzzy_silhouette(operator, one))
    assert np.isnan(fuzzy_silhouette(operator, equal))
    assert xie_beni(operator, equal) > 1e6
    assert xie_beni(operator, np.eye(3)[np.zeros(60, int)]) == np.inf
    assert np.isnan(fuzzy_silhouette(operator, np.eye(3)[np.zeros(60, int)]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda U: (U[:, 0], None), "shape \\(n, c\\)"),
        (lambda U: (U[:5], None), "5 rows, but the operator has 60"),
        (lambda U: (U, -np.ones(60)), "not negative"),
        (lambda U: (U, np.zeros(60)), "zero for every row"),
        (lambda U: (U, np.ones(3)), "X has 60 rows"),
    ],
)
def test_bad_input(change, message, X, U):
    with pytest.raises(ValueError, match=message):
        xie_beni(FeatureOperator(Linear(), X), change(U)[0], sample_weight=change(U)[1])
