import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from softkern.splitting import split as module
from softkern.splitting.split import separations, split, split_into


def draw_clusters(n, d, centers, distance, seed=0):
    """Draw unit normal clusters, each shifted along another column. Return their labels too."""
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % centers
    X = generator.normal(size=(n, d))
    X[np.arange(n), labels] += distance / np.sqrt(2)
    return X, labels


@pytest.mark.parametrize("d", [4, 10, 30, 100])
def test_two_blobs_are_found_in_any_number_of_columns(d):
    X, labels = draw_clusters(600, d, 2, 5.0, seed=d)
    found = split(X)
    assert found.max() == 1
    assert adjusted_rand_score(labels, found) > 0.9


STRUCTURELESS = {
    "normal": lambda g, n, d: g.normal(size=(n, d)),
    "uniform": lambda g, n, d: g.uniform(size=(n, d)),
    "heavy tails": lambda g, n, d: g.standard_t(3, size=(n, d)),
    "skewed": lambda g, n, d: g.lognormal(size=(n, d)),
    "correlated": lambda g, n, d: g.normal(size=(n, d)) @ g.normal(size=(d, d)),
}


@pytest.mark.parametrize(("n", "d"), [(150, 4), (400, 10), (300, 60)])
@pytest.mark.parametrize("draw", STRUCTURELESS.values(), ids=STRUCTURELESS)
def test_one_cluster_is_not_split(draw, n, d):
    X = draw(np.random.default_rng(n + d), n, d)
    assert split(X).max() == 0


@pytest.mark.parametrize("count", [3, 5])
def test_several_clusters_are_found(count):
    X, labels = draw_clusters(120 * count, 8, count, 9.0)
    assert adjusted_rand_score(labels, split(X)) > 0.97


def test_clusters_within_clusters_are_found():
    """Two near clusters beside a distant one are separated only in a table of their own rows."""
    X, labels = draw_clusters(900, 6, 3, 5.5)
    X[labels == 2, 5] += 60
    assert adjusted_rand_score(labels, split(X)) > 0.9


def test_a_small_cluster_is_found_unless_below_min_cluster():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 5))
    X[:40, 1] += 8
    assert adjusted_rand_score(np.arange(600) < 40, split(X)) > 0.95
    assert split(X, min_cluster=60).max() == 0


def test_offset_and_unit_do_not_matter():
    X, _ = draw_clusters(300, 5, 2, 5.0)
    moved = X * [1000, 1e-3, 1, 1, 7] + [0, 9, 1e4, 0, 3]
    assert adjusted_rand_score(split(X), split(moved)) > 0.99


def test_the_largest_cluster_is_the_first():
    X, labels = draw_clusters(600, 6, 3, 9.0)
    kept = (labels == 1) | (np.arange(600) % 4 == 0) | ((labels == 2) & (np.arange(600) % 2 == 0))
    for found in (split(X[kept]), split_into(X[kept], 3), split_into(X[kept], 4)):
        assert (np.diff(np.bincount(found)) <= 0).all()


def test_clusters_do_not_depend_on_the_seed():
    X, _ = draw_clusters(400, 6, 2, 6.0)
    assert adjusted_rand_score(split(X, 0), split(X, 1)) > 0.97


@pytest.mark.parametrize("shape", [(1, 3), (5, 2), (30, 1), (40, 0), (12, 50)])
def test_small_tables_are_one_cluster(shape):
    assert split(np.random.default_rng(0).normal(size=shape)).tolist() == [0] * shape[0]
    assert split(np.ones(shape)).tolist() == [0] * shape[0]


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_split_into_returns_the_given_number_of_clusters(count):
    X, labels = draw_clusters(300, 6, 3, 9.0)
    found = split_into(X, count)
    assert sorted(set(found.tolist())) == list(range(count))
    if count == 3:
        assert adjusted_rand_score(labels, found) > 0.97


def test_there_are_no_more_clusters_than_distinct_rows():
    X = np.repeat(np.eye(4)[:3], 10, axis=0)
    assert sorted(set(split_into(X, 5).tolist())) == [0, 1, 2]


def test_separation_is_below_one_by_chance_and_above_between_clusters():
    X, labels = draw_clusters(600, 10, 2, 6.0)
    assert separations(X, labels)[0, 1] > 1.5
    one = np.random.default_rng(0).normal(size=(600, 10))
    halves = (one[:, 0] > 0).astype(int)
    found = separations(one, halves)
    assert found[0, 1] < 1
    assert np.isinf(np.diag(found)).all()
    assert found == pytest.approx(found.T)


def test_separation_of_a_single_row_is_zero():
    X, labels = draw_clusters(100, 4, 2, 6.0)
    assert separations(X, np.where(np.arange(100) == 0, 2, labels))[2, 0] == 0


def test_a_partition_differs_from_one_with_nearly_all_rows_in_a_single_cluster():
    halves, lump = np.arange(400) % 2, (np.arange(400) >= 2).astype(np.intp)
    assert module._is_same(halves, halves)
    assert module._is_same(halves, 1 - halves)
    assert not module._is_same(halves, lump)
    assert not module._is_same(lump, halves)
