"""Membership strength, line fit and local maxima: equality with direct computations."""

import numpy as np
import pytest

from softkern.models.spectral_search import SpectralSearch, line_fit, membership_strength


def test_membership_strength_is_the_mean_of_means():
    rng = np.random.default_rng(0)
    U = rng.dirichlet(np.ones(4), 50)
    labels = U.argmax(axis=1)
    covered = rng.random(50) < 0.7
    means = [U[labels == p, p].mean() for p in range(4)]
    assert membership_strength(U) == pytest.approx(np.mean(means))
    means = [(U[labels == p, p] * covered[labels == p]).mean() for p in range(4)]
    assert membership_strength(U, covered=covered) == pytest.approx(np.mean(means))
    counts = rng.integers(0, 3, 50)
    repeated = membership_strength(np.repeat(U, counts, axis=0))
    assert membership_strength(U, counts) == pytest.approx(repeated)
    # the strength of a cluster without members is zero
    assert membership_strength(np.array([[1.0, 0.0]])) == 0.5


def test_line_fit_is_one_for_lines_and_zero_for_a_cloud():
    t = np.linspace(0.1, 1, 30)[:, None]
    lines = np.vstack([t * [1, 0, 0], t * [0, 1, 0], t * [0, 0, 1], t * [-1, -1, -1]])
    labels = np.repeat(np.arange(4), 30)

    def fit_lines(projections, labels, n_clusters, **options):
        n = len(projections)
        return line_fit(projections, labels, n_clusters, None, np.ones(n), **options)

    assert fit_lines(lines, labels, 4) == pytest.approx(1)
    cloud = np.random.default_rng(0).normal(size=(40_000, 3))
    parts = np.random.default_rng(1).integers(0, 4, 40_000)
    assert fit_lines(cloud, parts, 4, balance=0) == pytest.approx(0, abs=0.02)
    assert fit_lines(lines[:90], labels[:90], 4, balance=1) == 0
    fit = fit_lines(lines[10:], labels[10:], 4, balance=1)
    assert fit == pytest.approx(20 / 30)
    two = np.r_[t, -t]
    value = line_fit(two, np.repeat([0, 1], 30), 2, np.abs(two[:, 0]), np.ones(60))
    assert value == pytest.approx(1)


def test_local_maxima():
    surface = np.array([[1, 0, 3, 0], [0, 0, 0, np.nan], [5, 0, 2, 1.0]])
    ones = np.ones_like(surface)
    search = SpectralSearch(np.arange(3), [None] * 4, ones, surface, ones, ones)
    assert np.argwhere(search.is_maximum).tolist() == [[0, 0], [0, 2], [2, 0], [2, 2]]
