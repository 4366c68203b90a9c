"""Matching of clusters between two results."""

import numpy as np
import pytest

from softkern.tables.compare.clusters import match_clusters


def test_numbers_of_clusters_do_not_matter():
    rng = np.random.default_rng(0)
    before = rng.integers(-1, 6, 400)
    renamed = np.array([3, 0, 5, 1, 4, 2, -1])  # new labels of clusters 0 to 5 and of noise
    match = match_clusters(before, renamed[before])
    assert match.pairs == {label: int(renamed[label]) for label in range(6)}
    assert match.has_stayed(before, renamed[before]).all()
    assert [match.merged, match.split, match.gone, match.new] == [{}, {}, [], []]


def test_merging_is_splitting_in_reverse():
    fine, coarse = (
        np.repeat([0, 1, 2, 3], [50, 30, 20, 40]),
        np.repeat([1, 1, 1, 0], [50, 30, 20, 40]),
    )
    match, reverse = match_clusters(fine, coarse), match_clusters(coarse, fine)
    assert match.merged == reverse.split == {1: [0, 1, 2]}
    assert match.split == reverse.merged == {}
    assert match.pairs == {0: 1, 3: 0}
    assert reverse.successors(1) == [0, 1, 2]
    assert match.has_stayed(fine, coarse).all()
    assert reverse.has_stayed(coarse, fine).all()


def test_the_assignment_has_the_largest_overlap_in_total():
    """Choosing the best partner of each cluster separately would pair 0 with both."""
    before = np.repeat([0, 0, 1, 1], [60, 50, 55, 10])
    after = np.repeat([0, 1, 0, 1], [60, 50, 55, 10])
    match = match_clusters(before, after)
    assert match.pairs == {0: 1, 1: 0}


def test_a_cluster_without_a_counterpart_is_gone_or_new():
    before = np.repeat([0, 1, -1], [40, 20, 15])
    after = np.repeat([0, -1, 1], [40, 20, 15])
    match = match_clusters(before, after, ([7], [9]))
    assert (match.gone, match.new, match.pairs) == ([1, 7], [1, 9], {0: 0})
    assert match.has_stayed(before, after).sum() == 40


def test_a_few_stray_rows_do_not_match_clusters():
    """A single row of cluster 1 in a new cluster does not make the two clusters match."""
    before = np.repeat([0, 1, 1, 2], [50, 49, 1, 30])
    after = np.repeat([0, 0, 1, 1], [50, 49, 1, 30])
    match = match_clusters(before, after)
    assert match.merged == {0: [0, 1]}
    assert match.pairs == {0: 0, 2: 1}
    assert match.has_stayed(before, after).sum() == 129


@pytest.mark.parametrize("labels", [[], [-1, -1]])
def test_results_without_clusters(labels):
    match = match_clusters(labels, labels)
    assert (match.pairs, match.gone, match.new) == ({}, [], [])
    assert match.has_stayed(labels, labels).all()
