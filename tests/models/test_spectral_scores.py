"""Detection and scores of the 2015 paper, compared with its printed formulas."""

import numpy as np
import pytest

from softkern.models import spectral_scores
from softkern.rules.memberships import fuzzy
from softkern.rules.projections import prototype_distances


def random_soft(n=50, k=4, seed=0):
    rng = np.random.default_rng(seed)
    E, S = rng.normal(size=(n, k - 1)), rng.normal(size=(k, k - 1))
    return rng, E, S, fuzzy(prototype_distances(E, S), m=2)


def test_outliers_are_tested_first():
    U = np.array([[0.9, 0.1, 0.0], [0.4, 0.3, 0.3], [0.4, 0.3, 0.3], [0.9, 0.1, 0.0]])
    similarity = np.array([0.2, 0.2, 1e-5, 1e-5])
    outlier, overlap = spectral_scores.detect(U, similarity)
    assert outlier.tolist() == [False, False, True, True]
    assert overlap.tolist() == [False, True, False, False]
    outlier, overlap = spectral_scores.detect(U, similarity, outliers_first=False)
    assert outlier.tolist() == [False, False, False, True]
    assert overlap.tolist() == [False, True, True, False]


def test_overlap_score_equals_equation_four(monkeypatch):
    rng, E, S, U = random_soft()
    labels, degree = U.argmax(axis=1), rng.uniform(1, 5, 50)
    monkeypatch.setattr(spectral_scores, "BLOCK", 20)
    found = spectral_scores.overlap_score(E, U, S, degree, E, labels)
    for i in range(50):
        near = sum(np.linalg.norm(E[i] - S[p]) * U[i, p] for p in range(4))
        weighted = 0.0
        for p in range(4):
            distances = sorted(np.linalg.norm(E[i] - e) for e in E[labels == p])
            n_p = len(distances)
            falling = range(n_p, 0, -1)
            value = (
                2 * sum(d * w for d, w in zip(distances, falling, strict=True)) / (n_p * (n_p + 1))
            )
            weighted += value * U[i, p]
        assert found[i] == pytest.approx(near * weighted / degree[i], rel=1e-9)


def test_overlap_score_treats_weights_as_repeated_rows():
    rng, E, S, U = random_soft()
    labels, counts = U.argmax(axis=1), rng.integers(0, 4, 50)
    degree = rng.uniform(1, 5, 50)
    weighted = spectral_scores.overlap_score(E, U, S, degree, E, labels, counts)
    many = np.repeat(np.arange(50), counts)
    repeated = spectral_scores.overlap_score(E, U, S, degree, E[many], labels[many])
    assert weighted == pytest.approx(repeated, rel=1e-12)


def test_overlap_score_of_a_point_without_similarity_is_finite_and_largest():
    _, E, S, U = random_soft()
    labels = U.argmax(axis=1)
    degree = np.where(np.arange(50) == 3, 0.0, 1.0)
    found = spectral_scores.overlap_score(100 * E, U, 100 * S, degree, 100 * E, labels)
    assert np.isfinite(found).all()
    assert found.argmax() == 3


def test_outlier_score_equals_equation_five():
    _, E, S, U = random_soft()
    b = np.array([0.3, -0.2, 0.1])
    found = spectral_scores.outlier_score(E, U, S, b, "2015")
    for i in range(50):
        total = sum(
            (np.linalg.norm(E[i] - S[p]) - np.linalg.norm(b - S[p])) * U[i, p] for p in range(4)
        )
        assert found[i] == pytest.approx(1 - total)
    assert spectral_scores.outlier_score(E, U, S, b, "2015-corrected") == pytest.approx(2 - found)
    at_bias = spectral_scores.outlier_score(b[None], U[:1], S, b, "2015-corrected")
    assert at_bias == pytest.approx(1)
