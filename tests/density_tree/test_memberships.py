"""The kernel of the memberships: as wide as the clusters allow."""

import numpy as np
import pytest
from sklearn.datasets import make_circles

from softkern import AlphaCutClustering
from softkern.density_tree.landscape import Landscape, membership_kernel
from softkern.models.alpha_cut import Density


def draw_bridged_blobs(d, count, seed):
    """Two blobs 6 s.d. apart in the first column, followed by rows midway between them."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(1000 + count, d))
    X[500:1000, 0] += 6
    X[1000:] *= 0.1
    X[1000:, 0] += 3
    return X


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 4])
def test_rows_between_clusters_belong_to_both(d, count):
    X = draw_bridged_blobs(d, count, seed=d)
    model = AlphaCutClustering().fit(X)
    assert model.n_clusters_ == 2
    assert model.memberships_[1000:].max(axis=1).mean() < 0.8
    assert model.memberships(np.eye(1, d) * 3).max() < 0.75
    assert np.median(model.memberships_[:1000].max(axis=1)) > 0.95
    inside = model.labels_ >= 0
    assert (np.argmax(model.memberships_, axis=1) == model.labels_)[inside].all()


def test_concentric_rings_have_clear_memberships():
    X = make_circles(600, factor=0.4, noise=0.03, random_state=0)[0]
    model = AlphaCutClustering().fit(X)
    own = model.memberships_[np.arange(600), model.labels_]
    assert model.n_clusters_ == 2
    assert (own > 2 / 3).mean() > 0.98  # with a kernel as wide as the rings: none of the inner


def test_a_small_cluster_keeps_its_memberships():
    generator = np.random.default_rng(0)
    large, small = generator.normal(size=(1200, 2)), 0.1 * generator.normal(size=(15, 2))
    X = np.concatenate([large, small + np.array([4.5, 0])])
    labels = np.repeat([0, 1], [1200, 15])
    landscape = Landscape(X, np.ones(len(X)), Density(bandwidth=0.2).fit(X))
    wide = membership_kernel(landscape, labels)
    mass = wide.block(X, X) @ np.eye(2)[labels]
    assert (mass[1200:, 1] > 2 * mass[1200:, 0]).mean() >= 0.9


def test_the_kernel_is_not_widened_for_one_cluster():
    X = np.random.default_rng(0).normal(size=(100, 2))
    landscape = Landscape(X, np.ones(100), Density(bandwidth=0.3).fit(X))
    assert membership_kernel(landscape, np.zeros(100, dtype=int)) is landscape.kernel
    assert membership_kernel(landscape, np.full(100, -1)) is landscape.kernel


def test_a_given_bandwidth_is_used_for_memberships():
    X = draw_bridged_blobs(2, 1, seed=0)
    model = AlphaCutClustering(bandwidth=0.5).fit(X)
    values = model.kernel_.block(X, model.one_class_._support)
    mass = values @ model._cluster_coefficients[:, :-1]
    assert model.memberships_ == pytest.approx(mass / mass.sum(axis=1, keepdims=True), abs=1e-9)
