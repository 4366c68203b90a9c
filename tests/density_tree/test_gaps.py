"""Density gaps between clusters, located in one half of the points, measured in the other."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

from softkern import AlphaCutClustering, OneClassPCM
from softkern.density_tree.bandwidth_search import _Search
from softkern.density_tree.landscape import Landscape


def density_between(X, labels, pairs=((0, 1),), bandwidth=0.3, seed=0):
    def fit(points, mass, bandwidth):
        return Landscape(points, mass, OneClassPCM(bandwidth=bandwidth).fit(points))

    landscape = fit(X, np.ones(len(X)), bandwidth)
    return _Search(fit, seed)._density_left(landscape, labels, np.array(pairs))


def test_no_density_remains_between_distant_clusters():
    X, y = make_blobs(300, centers=[(0, 0), (6, 0), (0, 6)], cluster_std=0.6, random_state=0)
    assert (density_between(X, y, [(0, 1), (0, 2), (1, 2)]) < 0.01).all()


def test_full_density_remains_between_the_halves_of_one_cluster():
    X = np.random.default_rng(0).uniform(size=(600, 2))
    assert density_between(X, (X[:, 0] > 0.5).astype(int), bandwidth=0.15)[0] > 0.7


@pytest.mark.parametrize("apart", [3.0, 4.0])
def test_the_remaining_density_is_that_of_the_distributions(apart):
    """Between normal clusters at distance δ the relative density is 2 exp(−δ²/8)."""
    generator = np.random.default_rng(1)
    y = np.repeat([0, 1], 1500)
    X = generator.normal(size=(3000, 2)) + np.where(y, apart, 0.0)[:, None] * [1, 0]
    expected = 2 * np.exp(-(apart**2) / 8)
    assert density_between(X, y)[0] == pytest.approx(expected, abs=0.15)


def test_a_gap_by_chance_is_not_found_again():
    """The widest gap of points on a ring is not a gap of the other half of the points."""
    angle = np.sort(np.random.default_rng(2).uniform(0, 2 * np.pi, 400))
    gaps = np.argsort(np.diff(angle))[-2:]
    X = np.c_[np.cos(angle), np.sin(angle)]
    y = ((np.arange(400) > gaps.min()) & (np.arange(400) <= gaps.max())).astype(int)
    assert density_between(X, y, bandwidth=0.05)[0] > 0.3


def test_a_cluster_of_one_point_has_no_gap():
    X = np.r_[np.random.default_rng(0).normal(size=(50, 2)), [[9.0, 9.0]]]
    assert density_between(X, np.r_[np.zeros(50, dtype=int), 1])[0] == 1


@pytest.mark.parametrize("n", [400, 2000])
@pytest.mark.parametrize("noise", [0.05, 0.1])
def test_moons_are_not_split(n, noise):
    X, _ = make_moons(n, noise=noise, random_state=n)
    assert AlphaCutClustering().fit(X).n_clusters_ == 2
