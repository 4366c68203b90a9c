"""The spanning tree of lowest levels, computed from a close look at few segments."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

from softkern.density_tree import segments as module
from softkern.density_tree.layout import maximum_spanning_tree
from softkern.density_tree.segments import (
    CLOSEST_PAIRS,
    _closest_pairs,
    measure_segments,
    neighbor_pairs,
    segment_counts,
    spanning_segments,
)


def make_levels(X, weight):
    """Return the log densities of a unit Gaussian kernel and the numbers of places evaluated."""
    evaluated = []

    def levels(places):
        evaluated.append(len(places))
        squares = np.square(places[:, None] - X).sum(axis=2)
        return np.log(np.exp(-squares / 2) @ weight + 1e-300)

    return levels, evaluated


@pytest.mark.parametrize("d", [2, 4, 10])
@pytest.mark.parametrize("repeats", [1, 3])  # repeats make ties of weights and levels
def test_the_tree_equals_that_of_all_segments(monkeypatch, d, repeats):
    monkeypatch.setattr(module, "FEW_VALUES", 0)
    X = 2 * make_blobs(60 // repeats, d, centers=4, random_state=d)[0]
    X = np.concatenate([X + 40 * k for k in range(repeats)])
    levels, _ = make_levels(X, np.full(len(X), 1 / len(X)))
    pairs = neighbor_pairs(X)
    counts, level = segment_counts(X, pairs, 0), levels(X)
    every = measure_segments(X, pairs, counts, level, levels)
    tree = every[maximum_spanning_tree(len(X), pairs, every.level)[0]]
    found = spanning_segments(X, pairs, counts, level, levels)
    assert np.array_equal(found.pairs, tree.pairs)
    assert np.array_equal(found.level, tree.level)
    assert np.array_equal(found.place, tree.place)


@pytest.mark.parametrize("seed", range(4))
def test_a_rough_screen_gives_the_same_tree(monkeypatch, seed):
    monkeypatch.setattr(module, "FEW_VALUES", 0)
    X = 2 * np.random.default_rng(seed).normal(size=(80, 5))
    levels, _ = make_levels(X, np.full(80, 1 / 80))
    pairs = neighbor_pairs(X)
    arguments = X, pairs, segment_counts(X, pairs, 0), levels(X), levels

    def add_error(places):
        exact = levels(places)
        return exact + np.random.default_rng(0).uniform(-1, 1, len(places)) * module.SCREENED

    exact, found = spanning_segments(*arguments), spanning_segments(*arguments, add_error)
    assert np.array_equal(found.pairs, exact.pairs)
    assert np.array_equal(found.level, exact.level)


def test_most_segments_are_evaluated_only_in_the_middle(monkeypatch):
    monkeypatch.setattr(module, "FEW_VALUES", 0)
    X = 2 * np.random.default_rng(0).normal(size=(300, 8))
    levels, evaluated = make_levels(X, np.full(300, 1 / 300))
    pairs = neighbor_pairs(X)
    counts, level = segment_counts(X, pairs, 0), levels(X)
    evaluated.clear()
    spanning_segments(X, pairs, counts, level, levels)
    assert sum(evaluated) < 0.4 * counts.sum()


def test_all_segments_are_measured_if_there_are_few():
    X = np.random.default_rng(0).normal(size=(30, 2))
    levels, evaluated = make_levels(X, np.ones(30))
    pairs = neighbor_pairs(X)
    counts = np.full(len(pairs), 3)
    spanning_segments(X, pairs, counts, levels(X), levels)
    assert sum(evaluated) == 30 + 3 * len(pairs)


def test_no_segments():
    levels, _ = make_levels(np.zeros((1, 2)), np.ones(1))
    found = spanning_segments(
        np.zeros((1, 2)), np.empty((0, 2), dtype=int), np.empty(0, dtype=int), np.zeros(1), levels
    )
    assert len(found.pairs) == 0


@pytest.mark.parametrize("d", [2, 5, 12])
@pytest.mark.parametrize("apart", [1.0, 8.0, 30.0])
def test_closest_pairs_equal_those_of_all_distances(d, apart):
    generator = np.random.default_rng(d)
    Z = generator.normal(size=(1500, d)) * generator.uniform(0.5, 2, size=d)
    small, large = np.arange(0, 600), np.arange(600, 1500)
    Z[large, 0] += apart
    distance = cdist(Z[small], Z[large])
    near = np.argsort(distance, axis=1)[:, :5]
    ranked = np.sort(np.take_along_axis(distance, near, axis=1).ravel())[:CLOSEST_PAIRS]
    pairs = _closest_pairs(Z, large, small)
    assert np.linalg.norm(Z[pairs[:, 0]] - Z[pairs[:, 1]], axis=1) == pytest.approx(ranked)
    assert set(pairs[:, 0].tolist()) <= set(small.tolist())
