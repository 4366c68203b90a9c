"""Overlap points have the same meaning for every model, in any number of columns."""

import numpy as np
import pytest

from softkern import (
    FuzzyCMeans,
    OneClassKMeans,
    OneClassMixture,
    OutlierFuzzyCMeans,
    PossibilisticCMeans,
    SoftKernelSpectralClustering,
    rank_points,
)
from softkern.rules.memberships import overlap

CENTERED = [
    FuzzyCMeans,
    OutlierFuzzyCMeans,
    OneClassMixture,
    OneClassKMeans,
    PossibilisticCMeans,
]
GAP = 8.0


def draw_clusters(d, n_between=4):
    """Draw two clusters of 100 rows on a diagonal line, followed by rows midway between them."""
    rng = np.random.default_rng(d)
    line = np.ones(d) / np.sqrt(d)
    X = rng.normal(size=(200 + n_between, d))
    X[100:200] += GAP * line
    between = X[200:]
    X[200:] = between - np.outer(between @ line, line) + GAP / 2 * line
    return X


@pytest.mark.parametrize("d", [2, 5, 10, 20, 50])
@pytest.mark.parametrize("Model", [*CENTERED, SoftKernelSpectralClustering])
def test_only_rows_midway_between_clusters_are_flagged(Model, d):
    X = draw_clusters(d)
    table = rank_points(Model(2).fit(X), false_alarms=1e-9)
    assert table.overlap_score[200:].median() > 0.55
    assert table.is_overlap[200:].sum() >= 3
    assert table.is_overlap[:200].mean() <= 0.02


@pytest.mark.parametrize("Model", CENTERED)
def test_scores_decrease_from_the_midpoint_to_the_center(Model):
    rng = np.random.default_rng(0)
    half = rng.normal(size=(100, 2)) - [4, 0]
    X = np.concatenate([half, half * [-1, 1]])  # the points and their mirror image
    model = Model(2).fit(X)
    line = np.column_stack([-np.linspace(0, 4, 9), np.zeros(9)])
    scores = model.overlap_scores(line)
    assert scores[0] == pytest.approx(1, abs=1e-3)
    assert (np.diff(scores) <= 1e-9).all()
    assert scores[8] == pytest.approx(np.exp(-4.0), rel=0.25)
    assert model.overlap_scores(X) == pytest.approx(model.overlap_scores_, abs=1e-6)


def test_overlap_is_one_only_if_the_two_lowest_energies_are_equal():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(4, 3))
    points = np.concatenate([centers, rng.normal(size=(50, 3)), (centers[:1] + centers[1:]) / 2])
    energies = ((points[:, None] - centers) ** 2).sum(axis=2)
    at_centers = ((centers[:, None] - centers) ** 2).sum(axis=2)
    score = overlap(energies, energies.argmin(axis=1), at_centers)
    assert score[:4] == pytest.approx(np.exp(-4.0))
    nearest, second = np.sort(energies, axis=1)[:, :2].T
    is_tie = second - nearest < 1e-12
    assert is_tie.any()
    assert score[is_tie] == pytest.approx(1)
    assert (score[~is_tie] < 1).all()


def test_distance_off_the_line_has_no_influence():
    centers = np.array([[0.0, 0.0], [4.0, 0.0]])
    at_centers = np.array([[0.0, 16.0], [16.0, 0.0]])
    for off in (0.0, 1.0, 100.0):
        energies = ((np.array([[1.0, off]])[:, None] - centers) ** 2).sum(axis=2)
        assert overlap(energies, np.array([0]), at_centers) == pytest.approx(np.exp(-2.0))


def test_one_cluster_or_an_empty_second_one_has_no_overlap():
    assert overlap(np.ones((3, 1)), np.zeros(3, int), np.zeros((1, 1))).tolist() == [0, 0, 0]
    energies = np.array([[1.0, np.inf], [2.0, np.inf]])
    at_centers = np.array([[0.0, np.inf], [9.0, np.inf]])
    assert overlap(energies, np.zeros(2, int), at_centers).tolist() == [0, 0]
