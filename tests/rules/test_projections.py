"""Clusters from projections: sign patterns, directions, and the memberships of equation 3."""

import numpy as np
import pytest

from softkern.rules import projections
from softkern.rules.memberships import fuzzy


def soft_memberships(E, S):
    return fuzzy(projections.prototype_distances(E, S), m=2)


def label_by_directions(E):
    codes = projections.codes_of(E, np.ones(len(E)), 3, "directions")
    return projections.labels_by(E, codes, "directions")


def test_codebook_consists_of_the_most_frequent_sign_patterns():
    E = np.array([[1, 1], [1, 1], [1, 1], [-1, 1], [-1, 1], [-1, -1], [1, -1.0]]) * 0.3
    words = projections.codebook(E, np.ones(7), 2)
    assert words.tolist() == [[1, 1], [-1, 1]]
    assert projections.labels_by(E, words, "codebook").tolist() == [0, 0, 0, 1, 1, 1, 0]
    heavy = projections.codebook(E, np.array([1, 1, 1, 1, 1, 9, 1.0]), 1)
    assert heavy.tolist() == [[-1, -1]]
    assert projections.tied_words(E[3:], np.ones(4), 2) == 1
    with pytest.raises(ValueError, match="4 sign patterns, fewer than n_clusters=5"):
        projections.codebook(E, np.ones(7), 5)


def test_directions_ignore_the_length_of_rows_and_the_sign_of_columns():
    rng = np.random.default_rng(0)
    unit = np.repeat(np.eye(3), 20, axis=0) + 0.05 * rng.normal(size=(60, 3))
    E = unit * rng.uniform(0.1, 10, size=(60, 1))
    labels = label_by_directions(E)
    assert sorted(np.bincount(labels)) == [20, 20, 20]
    flipped = E * [1, -1, 1]
    again = label_by_directions(flipped)
    assert np.array_equal(labels, again)
    with pytest.raises(ValueError, match="1 directions, fewer than n_clusters=2"):
        projections.codes_of(np.ones((5, 2)), np.ones(5), 2, "directions")


def test_memberships_equal_equation_three():
    rng = np.random.default_rng(0)
    E, S = rng.normal(size=(30, 3)), rng.normal(size=(4, 3))
    found = soft_memberships(E, S)
    for i, e in enumerate(E):
        d = [1 - e @ s / (np.linalg.norm(e) * np.linalg.norm(s)) for s in S]
        products = [np.prod([d[j] for j in range(4) if j != p]) for p in range(4)]
        assert found[i] == pytest.approx(np.array(products) / sum(products), rel=1e-9)


def test_memberships_of_two_clusters_use_the_distance():
    E, S = np.array([[-1.0], [0.0], [3.0], [1.0]]), np.array([[-1.0], [3.0]])
    found = soft_memberships(E, S)
    assert found == pytest.approx(np.array([[1, 0], [0.75, 0.25], [0, 1], [0.5, 0.5]]))


def test_projections_of_zero_length_have_equal_memberships():
    S = np.random.default_rng(0).normal(size=(4, 3))
    E = np.array([[0.0, 0.0, 0.0], [1e-17, 0, 0]])
    assert soft_memberships(E, S) == pytest.approx(0.25)


def test_a_point_at_a_prototype_belongs_to_it():
    S = np.eye(3)
    found = soft_memberships(2 * S, S)
    assert np.array_equal(found, np.eye(3))


def test_one_cluster():
    centers = projections.codes_of(np.empty((5, 0)), np.ones(5), 1, "directions")
    distances = projections.prototype_distances(np.empty((5, 0)), np.empty((1, 0)))
    assert np.array_equal(fuzzy(distances, m=2), np.ones((5, 1)))
    assert not projections.labels_by(np.empty((5, 0)), centers, "directions").any()
