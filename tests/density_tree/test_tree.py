from time import process_time

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import pdist, squareform

from softkern import AlphaCutClustering, OneClassPCM
from softkern.datasets import make_dense_regions
from softkern.density_tree.layout import maximum_spanning_tree, united
from softkern.density_tree.tree import (
    AlphaTree,
    Evidence,
    filled_dimensions,
    histogram_valley,
)
from softkern.rows import number_by_mass


def same_partition(a, b):
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return (
        len(pairs) == len(set(a.tolist())) == len(set(b.tolist()))
        and ((a == -1) == (b == -1)).all()
    )


def random_graph(seed, n=60):
    """Draw a complete graph whose saddles lie below the heights at both ends."""
    generator = np.random.default_rng(seed)
    heights = generator.uniform(0.1, 0.9, n)
    pairs = np.argwhere(np.triu(np.ones((n, n)), 1))
    saddles = heights[pairs].min(axis=1) * generator.uniform(0, 1, len(pairs)) ** 3
    return pairs, saddles, heights


def direct_labels(pairs, saddles, heights, alpha):
    """Return labels as the papers define them: points above α, joined by segments above α."""
    n = len(heights)
    joined = pairs[saddles > alpha]
    graph = csr_array((np.ones(len(joined)), joined.T), shape=(n, n))
    labels = connected_components(graph, directed=False)[1]
    return np.where(heights > alpha, labels, -1)


@pytest.mark.parametrize("seed", range(5))
def test_labels_at_any_alpha_equal_the_definition(seed):
    pairs, saddles, heights = random_graph(seed)
    tree = AlphaTree(pairs, saddles, heights)
    for alpha in np.random.default_rng(seed).uniform(0, 1, 40):
        direct = direct_labels(pairs, saddles, heights, alpha)
        assert same_partition(tree.labels_at(alpha), direct)


def test_maximum_spanning_tree_accepts_zero_weights_and_repeated_pairs():
    edges = np.array([[0, 1], [1, 0], [1, 2], [2, 2]])
    kept, _ = maximum_spanning_tree(3, edges, np.array([0.2, 0.5, 0.0, 1.0]))
    assert kept.tolist() == [1, 2]


def test_a_forest_stays_a_forest():
    tree = AlphaTree([[0, 1], [2, 3]], [0.5, 0.4], [0.9, 0.8, 0.7, 0.6])
    assert tree.labels_at(0.01).tolist() == [0, 0, 1, 1]


def test_one_point():
    tree = AlphaTree(np.empty((0, 2)), [], [0.5])
    assert tree.labels_at(0.4).tolist() == [0]
    assert tree.labels_at(0.6).tolist() == [-1]
    assert len(tree.to_pandas()) == 0


@pytest.mark.parametrize("alpha", [1.0, -3.0, np.nan])
def test_alpha_outside_its_range_is_an_error(alpha):
    tree = AlphaTree([[0, 1]], [0.5], [0.9, 0.8])
    with pytest.raises(ValueError, match="alpha must lie between 0 and 1"):
        tree.labels_at(alpha)


def test_a_level_of_zero_leaves_out_only_heights_of_zero():
    tree = AlphaTree([[0, 1], [1, 2], [2, 3]], [0.5, 0.0, 0.0], [0.9, 0.8, 0.7, 0.0])
    assert tree.labels_at(0).tolist() == [0, 0, 1, -1]
    joined = AlphaTree([[0, 1]], [1e-300], [0.9, 0.8])
    assert joined.labels_at(0).tolist() == [0, 0]


def test_the_separating_level_of_one_cluster_is_zero():
    tree = two_peaks(4, 0.1)
    assert tree.separating_alpha() == 0
    assert (tree.labels_at(0) == tree.significant_labels()).all()


def test_clusters_are_numbered_by_mass_then_peak():
    component = np.array([7, 7, 3, 3, 5, -1])
    heights = np.array([0.2, 0.3, 0.9, 0.1, 0.5, 0.1])
    labels = number_by_mass(component, np.array([1, 1, 1, 1, 5, 9.0]), heights)
    assert labels.tolist() == [2, 2, 1, 1, 0, -1]


def two_peaks(count, valley):
    """Two plateaus of `count` observations each. The saddle has the share `valley`."""
    n = 2 * count
    pairs = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    saddle = np.where(pairs[:, 0] == count - 1, valley, 1.0)
    evidence = Evidence(
        mass=np.ones(n),
        own=np.full(n, 2 / count),  # Σ K² is half of Σ K: two dimensions
        density=np.ones(n),
        variance=np.full(n, 1 / count),
        saddle_density=saddle,
        saddle_variance=saddle / count,
    )
    return AlphaTree(pairs, saddle / 2, np.full(n, 0.6), evidence=evidence)


def test_only_deep_gaps_between_many_points_are_significant():
    assert two_peaks(200, 0.1).is_split().sum() == 1
    assert two_peaks(200, 0.95).is_split().sum() == 0
    assert two_peaks(4, 0.1).is_split().sum() == 0


def test_significance_equals_the_formula_for_the_weaker_branch():
    count, valley = 50, 0.3
    tree = two_peaks(count, valley)
    plateau = valley * count
    variance = count + plateau**2 * (valley / count) / valley**2
    expected = (count - plateau - 0.5) / np.sqrt(variance)
    assert tree.significance[-1] == pytest.approx(expected / 1.8, rel=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_estimated_dimension_is_that_of_the_filled_space(d):
    X = np.random.default_rng(0).uniform(size=(3000, d))
    X = np.hstack([X, np.zeros((3000, 3 - d))])
    K = np.exp(-squareform(pdist(X, "sqeuclidean")) / (2 * 0.05**2))
    own = np.full(3000, 1 / 3000)
    evidence = Evidence(
        mass=np.ones(3000),
        own=own,
        density=K @ own,
        variance=K**2 @ own**2,
        saddle_density=np.empty(0),
        saddle_variance=np.empty(0),
    )
    merged = united(3000, np.stack([np.arange(2999), np.arange(1, 3000)], axis=1))[1]
    filled = filled_dimensions(
        evidence.mass, evidence.own, evidence.density, evidence.variance, evidence.halving, merged
    )
    assert filled[-1, 0] == pytest.approx(d, abs=0.2)


def test_significant_labels_and_the_level_that_separates_them():
    tree = two_peaks(100, 0.2)
    labels = tree.significant_labels()
    assert np.bincount(labels).tolist() == [100, 100]
    alpha = tree.separating_alpha()
    assert alpha == pytest.approx(0.1)
    assert same_partition(tree.labels_at(alpha), labels)


def test_an_automatic_cut_without_evidence_is_an_error():
    tree = AlphaTree([[0, 1]], [0.5], [0.9, 0.8])
    with pytest.raises(ValueError, match="without evidence; give an alpha"):
        tree.significant_labels()


def test_to_pandas_has_one_row_per_join():
    pairs, saddles, heights = random_graph(0)
    weight = np.random.default_rng(0).integers(1, 4, len(heights))
    tree = AlphaTree(pairs, saddles, heights, weight=weight)
    frame = tree.to_pandas()
    assert len(frame) == len(heights) - 1
    assert frame["alpha"].is_monotonic_decreasing
    assert (frame["larger_mass"] >= frame["smaller_mass"]).all()
    assert frame.iloc[-1][["larger_mass", "smaller_mass"]].sum() == weight.sum()
    assert frame.iloc[-1][["larger_peak", "smaller_peak"]].max() == heights.max()


def test_a_large_tree_equals_the_definition_within_seconds():
    n = 100_000
    generator = np.random.default_rng(0)
    heights = generator.uniform(size=n)
    pairs = np.concatenate(
        [np.stack([np.arange(n - 1), np.arange(1, n)], 1), generator.integers(0, n, (900_000, 2))]
    )
    saddles = heights[pairs].min(axis=1) * generator.uniform(0.5, 1, len(pairs))
    start = process_time()
    tree = AlphaTree(pairs, saddles, heights)
    labels = tree.labels_at(0.7)
    assert process_time() - start < 20
    assert same_partition(labels, direct_labels(pairs, saddles, heights, 0.7))
    assert len(set(labels.tolist())) > 100


@pytest.mark.parametrize("seed", range(20))
def test_valley_of_the_dense_regions_is_that_of_the_2007_paper(seed):
    X = make_dense_regions(random_state=seed)[0]
    model = OneClassPCM(bandwidth=0.5, stopping="sum", tol=0.01).fit(X)
    assert 0.3645 < histogram_valley(model.memberships_) < 0.3680


def test_valley_treats_weights_as_repeats_and_is_zero_for_one_mode():
    generator = np.random.default_rng(0)
    u = np.r_[generator.normal(0.3, 0.03, 300), generator.normal(0.6, 0.05, 300)]
    counts = generator.integers(0, 4, len(u))
    repeated = histogram_valley(np.repeat(u, counts))
    assert histogram_valley(u[counts > 0], counts[counts > 0]) == pytest.approx(repeated)
    assert histogram_valley(generator.normal(0.5, 0.1, 1000)) == 0
    assert histogram_valley(np.full(10, 0.4)) == 0


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_is_cut_into_the_given_number_of_clusters(seed):
    tree = AlphaTree(*random_graph(seed))
    before, last = tree.labels_of(1)
    assert (before == 0).all()
    assert last == np.inf
    for count in range(2, 10):
        labels, _ = tree.labels_of(count)
        assert sorted(set(labels.tolist())) == list(range(count))
        assert (np.diff(np.bincount(labels)) <= 0).all()  # largest cluster first
        # one cluster of the coarser cut is split, the others stay
        assert len(set(zip(before.tolist(), labels.tolist(), strict=True))) == count
        before = labels
    assert len(set(tree.labels_of(1000)[0].tolist())) == len(tree.heights)


def test_the_cut_into_the_significant_number_is_the_significant_cut():
    X = np.concatenate([np.random.default_rng(k).normal(9 * k, 1, (40, 2)) for k in range(4)])
    tree = AlphaCutClustering(bandwidth=0.6).fit(X).tree_
    count = int(tree.is_split(1.0).sum()) + 1
    assert same_partition(tree.labels_of(count)[0], tree.significant_labels())
