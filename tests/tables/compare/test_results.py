"""Comparison of the clusters and rows of two results."""

import numpy as np
import pandas as pd
import pytest

from softkern.tables.compare import compare_points
from softkern.tables.compare.results import match_clusters
from softkern.tables.compare.text import summarize_points


def points(labels, *, ids=None, outliers=(), first_row=1):
    labels = np.asarray(labels)
    rows = np.arange(first_row, first_row + len(labels))
    table = pd.DataFrame({"row": rows, "label": labels, "membership": 0.9})
    table["is_outlier"] = np.isin(np.arange(len(labels)), outliers)
    table["outlier_score"] = np.where(table["is_outlier"], 9.0, 1.0)
    return table if ids is None else table.assign(id=ids)


def test_identical_results():
    one = points([0, 0, 1, 1, -1], outliers=[4])
    found = compare_points(one, one)
    assert found.is_same
    assert (found.shared, found.moved, found.added, found.removed, found.adjusted_rand_index) == (
        5,
        0,
        0,
        0,
        1,
    )
    assert summarize_points(found) == "the same 2 clusters; none of 5 rows moved."
    assert found.rows.empty
    assert list(found.rows.columns)[:3] == ["change", "row_before", "row_after"]


def test_order_does_not_matter_with_identifiers():
    ids = [f"{i:03d}" for i in range(40)]
    labels = np.random.default_rng(0).integers(0, 3, 40)
    one = points(labels, ids=ids)
    turned = points(labels[::-1], ids=ids[::-1])
    assert compare_points(one, turned, key="id").is_same
    assert not compare_points(one, turned, key="row").is_same


def test_moved_rows_come_first_and_clear_moves_before_others():
    before = points(np.repeat([0, 1], 20), outliers=[30])
    after = points(np.repeat([0, 1], 20), outliers=[31])
    after.loc[[3, 7, 9], "label"] = 1
    after.loc[3, "membership"], after.loc[7, "membership"] = 0.5, 1.0
    found = compare_points(before, after)
    assert found.rows["change"].tolist() == ["moved"] * 3 + [
        "no longer an outlier",
        "now an outlier",
    ]
    assert found.rows["row_after"].tolist() == [8, 10, 4, 31, 32]
    assert (found.moved, found.outliers_new, found.outliers_gone) == (3, 1, 1)
    text = "2 clusters now, 2 before; 3 of 40 rows moved; 1 new outlier"
    assert summarize_points(found) == f"{text}; 1 row is no longer outlying."


def test_rows_are_added_and_removed():
    before = points([0, 0, 0, 1, 1, 1], ids=list("abcdef"))
    after = points([1, 1, 0, 0, 0, 0], ids=list("bcefgh"), outliers=[5])
    found = compare_points(before, after, key="id")
    assert (found.shared, found.moved, found.added, found.removed) == (4, 0, 2, 2)
    assert found.rows[["change", "id"]].to_numpy().tolist() == [
        ["added", "h"], ["added", "g"], ["removed", "a"], ["removed", "d"],
    ]  # fmt: skip
    assert found.rows["row_before"].isna().tolist() == [True, True, False, False]
    assert "2 rows added, 2 removed; outliers among the added rows: 1" in summarize_points(found)


def test_identifiers_that_name_several_rows_are_ignored():
    before = points([0, 0, 1, 1], ids=["a", "a", "b", "c"])
    after = points([1, 0, 1, 1], ids=["a", "a", "b", "c"])
    found = compare_points(before, after, key="id")
    assert (found.shared, found.moved, found.added) == (2, 0, 0)


def test_clusters_of_one_model_match_by_number():
    """All rows of cluster 0 moved to cluster 1: a model does not rename its clusters."""
    before, after = points(np.repeat([0, 1], 10)), points(np.repeat([1, 1], 10))
    found = compare_points(before, after, is_same_model=True)
    assert (found.moved, found.match.gone, found.match.merged) == (10, [0], {})
    text = "cluster 0 has no rows now; 10 of 20 rows moved, 10 of them from cluster 0 to cluster 1"
    assert text in summarize_points(found)


def test_without_shared_rows_clusters_are_matched_by_the_model():
    before, after = points(np.repeat([0, 1], 10)), points(np.repeat([1, 0], [8, 6]), outliers=[1])
    assigned = np.repeat([0, 1], [8, 6])
    found = compare_points(before, after, key=None, labels_by_old_model=assigned)
    assert (found.match.pairs, found.shared, found.adjusted_rand_index) == ({0: 1, 1: 0}, 0, 1)
    assert not found.is_same
    assert summarize_points(found).endswith("outliers: 0 of 20 rows before, 1 of 14 rows now.")
    same = compare_points(
        before, after, key=None, labels_by_old_model=after["label"], is_same_model=True
    )
    assert same.adjusted_rand_index is None


@pytest.mark.parametrize("n", [1, 2])
def test_very_few_rows(n):
    one = points([0] * n)
    assert compare_points(one, one).is_same


def test_merged_clusters_are_summarized_in_one_sentence():
    before, after = points([0, 0, 0, 0, 1, 1, 2, 2]), points([0, 0, 0, 1, 1, 1, 1, 1])
    assert summarize_points(compare_points(before, after)) == (
        "2 clusters now, 3 before: clusters 1 and 2 merged into 1; 1 of 8 rows moved."
    )


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
