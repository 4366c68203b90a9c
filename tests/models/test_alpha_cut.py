import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from softkern import AlphaCutClustering, OneClassPCM
from softkern.density_tree.landscape import Landscape, distinct_nodes
from softkern.density_tree.layout import maximum_spanning_tree
from softkern.density_tree.segments import (
    _gaussian_levels,
    _path_levels,
    neighbor_pairs,
    segment_counts,
)
from tests.models.contract import ModelContract

PAPER = {"stopping": "sum", "tol": 0.01}


class TestAlphaCutClustering(ModelContract):
    low_rank = 30
    low_rank_agreement = 0.6  # its kernel is narrower: the rank leaves out more than half
    products = 3  # memberships have another kernel

    def make(self, **params):
        return AlphaCutClustering(**params)


def data_set(name):
    """Return the feature columns of a CSV file of the project. Skip the test without it."""
    default = Path(__file__).parents[3] / "shared" / "data"
    path = Path(os.environ.get("SOFTKERN_DATA", default)) / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"needs {path}; set SOFTKERN_DATA")
    return pd.read_csv(path).drop(columns="label").to_numpy(dtype=float)


def reference_set(name):
    return data_set(f"../reference/{name}")


def same_partition(a, b):
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return (
        len(pairs) == len(set(a.tolist())) == len(set(b.tolist()))
        and ((a == -1) == (b == -1)).all()
    )


def sizes(labels):
    return np.bincount(labels[labels >= 0]).tolist()


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(400, 2, centers=[(0, 0), (6, 0), (0, 7)], cluster_std=0.8, random_state=0)


@pytest.fixture(scope="module")
def unequal():
    X, _ = make_blobs([60, 250, 120], 2, centers=[(0, 0), (5, 0), (1, 6)], random_state=0)
    return np.vstack([X, np.random.default_rng(0).uniform(-4, 9, (40, 2))])


@pytest.fixture(scope="module")
def model_of_unequal(unequal):
    return AlphaCutClustering().fit(unequal)


# Values of the papers


def test_iris_at_ten_percent_rejection():
    model = AlphaCutClustering(bandwidth=0.5, rejection=0.1, **PAPER).fit(data_set("iris"))
    assert model.n_iter_ == 7
    assert model.eta_ == pytest.approx(0.8768763219, rel=1e-8)
    assert model.typicality_.sum() == pytest.approx(55.5588454, rel=1e-8)
    assert sizes(model.labels_) == [86, 49]


def test_dense_regions_at_the_printed_level():
    X = reference_set("dense_regions_0")
    model = AlphaCutClustering(bandwidth=0.5, alpha=0.3667, **PAPER).fit(X)
    assert model.typicality_.sum() == pytest.approx(552.0170134, rel=1e-8)
    assert sizes(model.labels_) == [459, 133, 124]
    assert (model.labels_ == -1).sum() == 784
    valley = AlphaCutClustering(bandwidth=0.5, alpha="valley", graph="knn", **PAPER).fit(X)
    assert valley.n_clusters_ == 3
    assert 0.3645 < valley.alpha_ < 0.3680


def test_six_clusters_at_ten_percent_rejection():
    X = reference_set("six_clusters_2")
    model = AlphaCutClustering(bandwidth=0.5, rejection=0.1, **PAPER).fit(X)
    # this value of the table is from one step later than the others, hence the seventh digit
    assert model.alpha_ == pytest.approx(0.3525732523, rel=1e-7)
    assert sizes(model.labels_) == [82, 59, 32, 30, 30, 28]
    assert sizes(model.labels_at(0.3525732523)) == [82, 59, 32, 30, 30, 28]


def test_gaussian_outliers_at_ten_percent_rejection():
    X = reference_set("gaussian_outliers_0")
    model = AlphaCutClustering(bandwidth=1.0, rejection=0.1, **PAPER).fit(X)
    assert model.alpha_ == pytest.approx(0.1682479365, rel=1e-8)
    assert (model.labels_ == -1).sum() == 43


# The tree against the definition


def compute_pairs_slowly(X, one_class, sigma, points=20):
    """Return the smallest membership on every segment, one segment at a time, (n, n)."""
    support, a = X, one_class.dual_coef_

    def density(places):
        return np.exp(-cdist(places, support, "sqeuclidean") / (2 * sigma**2)) @ a

    norm = a @ density(X)
    n = len(X)
    out = np.empty((n, n))
    for i in range(n):
        for j in range(i, n):
            length = np.linalg.norm(X[i] - X[j]) / sigma
            inner = min(200, max(points, int(np.ceil(length / 0.5)) - 1))
            t = (np.arange(inner + 2) / (inner + 1))[:, None]
            p = density((1 - t) * X[i] + t * X[j]).min()
            out[i, j] = out[j, i] = np.exp(-(1 - 2 * p + norm) / one_class.eta_)
    return out


@pytest.mark.parametrize("sigma", [0.3, 0.8])
def test_labels_of_the_tree_equal_the_definition_at_every_alpha(sigma):
    X = make_blobs(90, 2, centers=3, cluster_std=1.2, center_box=(-4, 4), random_state=3)[0]
    model = AlphaCutClustering(bandwidth=sigma, rejection=0.1, graph="complete").fit(X)
    one_class = OneClassPCM(bandwidth=sigma).fit(X)
    between = compute_pairs_slowly(X, one_class, sigma)
    u = model.typicality_
    assert np.diag(between) == pytest.approx(u, rel=1e-9)
    for alpha in np.random.default_rng(0).uniform(u.min() * 0.99, u.max() * 1.01, 60):
        direct = connected_components(sp.csr_array(between > alpha), directed=False)[1]
        assert same_partition(model.labels_at(alpha), np.where(u > alpha, direct, -1))


def test_levels_by_products_equal_direct_evaluation(blobs):
    Z = blobs[0][:80] / 0.4
    a = np.random.default_rng(0).dirichlet(np.ones(len(Z)))
    levels = _gaussian_levels(Z, a, 7)
    for i, j in [(0, 1), (3, 70), (20, 55)]:
        t = (np.arange(1, 8) / 8)[:, None]
        places = (1 - t) * Z[i] + t * Z[j]
        direct = np.log(np.exp(-cdist(places, Z, "sqeuclidean") / 2) @ a).min()
        assert levels[i, j] == pytest.approx(direct, rel=1e-9)
        assert levels[j, i] == pytest.approx(direct, rel=1e-9)


def test_path_levels_equal_the_bottlenecks(blobs):
    X, mass, _ = distinct_nodes(blobs[0][:60], np.ones(60))
    segments = Landscape(X, mass, OneClassPCM(bandwidth=0.5).fit(X)).joins()
    best = np.full((60, 60), -np.inf)
    best[tuple(segments.pairs.T)] = best[tuple(segments.pairs[:, ::-1].T)] = segments.level
    for k in range(60):  # Floyd and Warshall
        best = np.maximum(best, np.minimum(best[:, [k]], best[k]))
    off = ~np.eye(60, dtype=bool)
    assert _path_levels(60, segments)[off] == pytest.approx(best[off])


def test_labels_of_the_neighbor_graph_mostly_equal_those_of_the_complete_graph():
    agree = []
    for seed in range(6):
        X = make_blobs(200, 2, centers=4, cluster_std=1.0, random_state=seed)[0]
        complete, knn = (
            AlphaCutClustering(bandwidth=0.6, rejection=0.1, graph=graph).fit(X)
            for graph in ("complete", "knn")
        )
        u = np.quantile(complete.typicality_, [0.05, 0.1, 0.3, 0.5, 0.8])
        agree += [same_partition(complete.labels_at(a), knn.labels_at(a)) for a in u]
    assert np.mean(agree) >= 0.9


def test_neighbor_pairs_connect_distant_clusters():
    Z = np.concatenate([np.random.default_rng(k).normal(1000 * k, 1, (15, 2)) for k in range(20)])
    pairs = neighbor_pairs(Z)
    assert len(maximum_spanning_tree(len(Z), pairs, np.ones(len(pairs)))[0]) == len(Z) - 1
    nearest = np.argsort(squareform(pdist(Z)), axis=1)[:, 1:11]
    keys = {tuple(sorted(pair)) for pair in pairs.tolist()}
    assert all(tuple(sorted((i, int(j)))) in keys for i in range(len(Z)) for j in nearest[i])


def test_segments_are_divided_into_steps_of_half_a_bandwidth():
    Z = np.array([0.0, 0.3, 0.5, 3.2, 30.0, 1e8])[:, None]
    pairs = np.column_stack([np.zeros(6, dtype=int), np.arange(6)])
    assert segment_counts(Z, pairs, 0).tolist() == [0, 0, 0, 6, 59, 200]
    assert segment_counts(Z, pairs, 20).tolist() == [20, 20, 20, 20, 59, 200]


# Training points and new points


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"alpha": 0.4},
        {"alpha": "valley"},
        {"rejection": 0.2},
        {"kernel": "laplacian"},
        {"kernel": "poly", "rejection": 0.1},
        {"alpha": 0.99},
        {"engine": "tiled"},
        {"engine": "fourier"},
    ],
    ids=str,
)
def test_training_points_are_predicted_like_new_ones(unequal, model_of_unequal, parameters):
    model = AlphaCutClustering(**parameters).fit(unequal) if parameters else model_of_unequal
    inside = model.labels_ >= 0
    assert (model.predict(unequal) == model.labels_).all()
    assert model.memberships(unequal) == pytest.approx(model.memberships_)
    assert model.memberships_.shape == (len(unequal), model.n_clusters_)
    if model.n_clusters_:
        assert model.memberships_.sum(axis=1) == pytest.approx(1, abs=1e-9)
        assert (model.labels_[inside] == model.memberships_[inside].argmax(axis=1)).all()
    assert sorted(set(model.labels_[inside])) == list(range(model.n_clusters_))
    assert (np.diff(sizes(model.labels_)) <= 0).all()


def test_new_points(blobs):
    X, y = blobs
    model = AlphaCutClustering().fit(X[::2])
    assert adjusted_rand_score(y[1::2], model.predict(X[1::2])) > 0.98
    far = model.memberships([[1e5, 0.0], [-1e5, 3.0]])
    assert np.isfinite(far).all()
    assert far.sum(axis=1) == pytest.approx(1)
    scores = model.outlier_scores([[0.0, 0.0], [20.0, 20.0], [500.0, 0.0]])
    assert (np.diff(scores) > 0).all()
    between = model.overlap_scores([[0.0, 0.0], [3.0, 0.0]])
    assert between[1] > between[0]


def test_labels_by_membership_nearly_equal_the_cut_of_the_tree(unequal):
    model = AlphaCutClustering(rejection=0.1).fit(unequal)
    tree = model.labels_at(model.alpha_)
    assert adjusted_rand_score(tree, model.labels_) > 0.98


# Invariances


@pytest.mark.parametrize("parameters", [{}, {"rejection": 0.1}], ids=str)
def test_order_of_rows(unequal, model_of_unequal, parameters):
    order = np.random.default_rng(1).permutation(len(unequal))
    model = AlphaCutClustering(**parameters).fit(unequal) if parameters else model_of_unequal
    shuffled = AlphaCutClustering(**parameters).fit(unequal[order])
    assert (shuffled.labels_ == model.labels_[order]).all()
    assert shuffled.tree_.significance == pytest.approx(model.tree_.significance, rel=1e-12)


@pytest.mark.parametrize("parameters", [{}, {"rejection": 0.1}], ids=str)
def test_unit_of_a_column(unequal, model_of_unequal, parameters):
    model = AlphaCutClustering(**parameters).fit(unequal) if parameters else model_of_unequal
    wide = AlphaCutClustering(**parameters).fit(unequal * [1000, 1])
    assert (wide.labels_ == model.labels_).all()
    assert wide.alpha_ == pytest.approx(model.alpha_)


@pytest.mark.parametrize("parameters", [{}, {"rejection": 0.1}, {"alpha": "valley"}], ids=str)
def test_weights_are_repeated_rows(unequal, parameters):
    counts = np.random.default_rng(2).integers(0, 4, len(unequal))
    weighted = AlphaCutClustering(**parameters).fit(unequal, sample_weight=counts)
    repeated = AlphaCutClustering(**parameters).fit(np.repeat(unequal, counts, axis=0))
    assert (np.repeat(weighted.labels_, counts) == repeated.labels_).all()
    assert weighted.alpha_ == pytest.approx(repeated.alpha_, rel=1e-9)
    assert weighted.tree_.significance == pytest.approx(repeated.tree_.significance, rel=1e-6)
    assert weighted.predict(unequal[counts == 0]).shape == ((counts == 0).sum(),)


def test_engines_agree(blobs):
    found = [
        AlphaCutClustering(engine=e).fit(blobs[0]).labels_ for e in ("dense", "tiled", "fourier")
    ]
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()


def test_float32(blobs):
    model = AlphaCutClustering().fit(blobs[0].astype(np.float32))
    assert model.memberships_.dtype == np.float32
    assert adjusted_rand_score(model.labels_, AlphaCutClustering().fit(blobs[0]).labels_) > 0.99


# Defaults


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "draw",
    [
        lambda g: g.uniform(size=(700, 2)),
        lambda g: g.uniform(size=(400, 1)),
        lambda g: g.normal(size=(700, 2)),
        lambda g: g.normal(size=(400, 1)),
        lambda g: g.normal(size=(500, 5)),
    ],
    ids=["uniform 2", "uniform 1", "normal 2", "normal 1", "normal 5"],
)
def test_data_without_structure_are_not_split(draw, seed):
    model = AlphaCutClustering().fit(draw(np.random.default_rng(seed)))
    assert model.n_clusters_ == 1
    assert model.alpha_ == 0


@pytest.mark.parametrize("seed", range(2))
def test_number_of_clusters_of_simple_data_is_found(seed):
    families = [
        make_moons(600, noise=0.07, random_state=seed),
        make_circles(800, noise=0.05, factor=0.45, random_state=seed),
        make_blobs(600, 2, centers=[(0, 0), (7, 0), (0, 7), (7, 7)], random_state=seed),
        make_blobs(600, 5, centers=3 * np.eye(5)[:3] * 2, cluster_std=0.7, random_state=seed),
    ]
    for X, y in families:
        model = AlphaCutClustering().fit(X)
        assert model.n_clusters_ == len(set(y))
        assert adjusted_rand_score(y, model.labels_) > 0.95


@pytest.mark.parametrize("seed", range(2))
def test_noise_between_clusters_is_detected(seed):
    X, y = make_blobs(1200, 2, centers=[(2, 2), (8, 8)], cluster_std=0.4, random_state=seed)
    noise = np.random.default_rng(seed).uniform(0, 10, (500, 2))
    labels = AlphaCutClustering().fit(np.vstack([X, noise])).labels_
    assert (labels[1200:] == -1).mean() > 0.7
    found = [np.bincount(labels[:1200][y == c] + 1).argmax() for c in (0, 1)]
    assert len({0, *found}) == 3
    assert all((labels[:1200][y == c] + 1 == found[c]).mean() > 0.9 for c in (0, 1))


@pytest.mark.parametrize(("n", "width", "seed"), [(150, 0.4, 0), (300, 0.5, 2), (150, 0.3, 0)])
def test_a_dense_cluster_beside_another_does_not_turn_others_into_noise(n, width, seed):
    """Both are one mode with two populations of levels. The upper exceeds all other peaks."""
    rng = np.random.default_rng(seed)
    others = [(x, y) for x in (0, 6, 12) for y in (0, 6)]
    parts = [np.array(place) + rng.normal(size=(n, 2)) for place in [*others, (6, -6)]]
    dense = (6 + 5 * width, -6) + width * rng.normal(size=(n, 2))
    model = AlphaCutClustering().fit(np.concatenate([*parts, dense]))
    labels = model.labels_[: 6 * n]
    assert model.n_clusters_ == 7
    assert (labels == -1).mean() < 0.01
    assert adjusted_rand_score(np.repeat(np.arange(6), n), labels) > 0.95


# A given number of clusters


@pytest.mark.parametrize(
    ("parameters", "count"),
    [({}, 1), ({}, 2), ({}, 3), ({}, 4), ({}, 6), ({"bandwidth": 0.5}, 2), ({"bandwidth": 0.5}, 3)],
    ids=str,
)
def test_the_tree_is_cut_into_the_given_number_of_clusters(blobs, count, parameters):
    X, y = blobs
    model = AlphaCutClustering(n_clusters=count, **parameters).fit(X)
    assert model.n_clusters_ == count
    assert sorted(set(model.labels_.tolist())) == list(range(count))  # without noise
    assert np.array_equal(model.predict(X), model.labels_)
    if count == 3:
        assert adjusted_rand_score(y, model.labels_) > 0.98


def test_outliers_are_not_counted_in_a_given_number_of_clusters(blobs):
    X, y = blobs
    far = np.array([[60.0, 60.0], [60.1, 60.0], [-70.0, 0.0]])
    model = AlphaCutClustering(n_clusters=3).fit(np.vstack([X, far]))
    assert adjusted_rand_score(y, model.labels_[: len(y)]) > 0.98


def test_n_clusters_and_alpha_exclude_each_other(blobs):
    for parameters in ({"alpha": 0.4}, {"alpha": "valley"}, {"rejection": 0.1}):
        with pytest.raises(ValueError, match="exclude each other"):
            AlphaCutClustering(n_clusters=2, **parameters).fit(blobs[0])
    with pytest.raises(ValueError, match="'n_clusters' parameter"):
        AlphaCutClustering(n_clusters=0).fit(blobs[0])


def test_there_are_no_more_clusters_than_distinct_rows():
    X = np.repeat(np.eye(2) * 5, 10, axis=0)
    assert AlphaCutClustering(n_clusters=4).fit(X).n_clusters_ == 2


# Scales


def test_clusters_of_different_density_are_found():
    """A single bandwidth joins the dense clusters or splits the wide one."""
    generator = np.random.default_rng(0)
    dense = [generator.normal(c, 0.12, (120, 2)) for c in ((0, 0), (1.1, 0), (0, 1.1))]
    X = np.vstack([*dense, generator.normal((12, 12), 2.5, (300, 2))])
    y = np.repeat([0, 1, 2, 3], [120, 120, 120, 300])
    model = AlphaCutClustering().fit(X)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(y, model.labels_) > 0.95


@pytest.mark.parametrize("times", [2, 3])
def test_repeating_the_whole_table_changes_nothing(unequal, model_of_unequal, times):
    once = model_of_unequal
    again = AlphaCutClustering().fit(np.tile(unequal, (times, 1)))
    assert np.array_equal(again.labels_, np.tile(once.labels_, times))
    assert again.alpha_ == pytest.approx(once.alpha_)
    assert again.tree_.significance == pytest.approx(once.tree_.significance)


def test_constant_columns_are_ignored():
    X, y = make_moons(400, noise=0.08, random_state=0)
    model = AlphaCutClustering().fit(np.hstack([X, np.ones((400, 3))]))
    assert adjusted_rand_score(y, model.labels_) > 0.95


def test_few_distant_rows_are_no_cluster():
    generator = np.random.default_rng(0)
    X = np.vstack([generator.normal(c, 1, (400, 2)) for c in ((0, 0), (9, 0))])
    X = np.vstack([X, generator.normal((40, 40), 0.2, (5, 2))])
    model = AlphaCutClustering().fit(X)
    assert model.n_clusters_ == 2
    assert set(np.argsort(-model.outlier_scores_)[:5]) == set(range(800, 805))


# Bad input


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.5, 2.0, "otsu"])
def test_alpha_outside_its_range_is_an_error(blobs, alpha):
    with pytest.raises(ValueError, match="'alpha' parameter"):
        AlphaCutClustering(alpha=alpha).fit(blobs[0])


def test_labels_at_before_fit_and_outside_the_range_is_an_error(blobs):
    with pytest.raises(NotFittedError):
        AlphaCutClustering().labels_at(0.5)
    with pytest.raises(ValueError, match="between 0 and 1"):
        AlphaCutClustering().fit(blobs[0]).labels_at(1.5)


def test_labels_at_the_level_zero_of_the_model():
    model = AlphaCutClustering().fit(np.random.default_rng(0).normal(size=(100, 2)))
    assert model.alpha_ == 0
    assert (model.labels_at(model.alpha_) == model.labels_).all()


def test_a_complete_graph_that_exceeds_memory_is_an_error(monkeypatch, blobs):
    monkeypatch.setattr("softkern.density_tree.segments.available_memory", lambda: 2**20)
    model = AlphaCutClustering(graph="complete", rejection=0.1)
    with pytest.raises(MemoryError, match=r"n = 400 points, and .* give graph='knn'"):
        model.fit(blobs[0])
    assert AlphaCutClustering(graph="knn", rejection=0.1).fit(blobs[0]).n_clusters_ >= 3


def test_alpha_and_rejection_exclude_each_other(blobs):
    with pytest.raises(ValueError, match="not both"):
        AlphaCutClustering(alpha=0.5, rejection=0.1).fit(blobs[0])


def test_data_without_a_density_between_points_are_rejected(blobs):
    with pytest.raises(ValueError, match="density between samples"):
        AlphaCutClustering(kernel="precomputed").fit(np.eye(5))
    with pytest.raises(TypeError, match="dense data is required"):
        AlphaCutClustering().fit(sp.csr_matrix(blobs[0]))
    with pytest.raises(ValueError, match=r"alpha='auto' needs a kernel density.*rejection"):
        AlphaCutClustering(kernel="poly").fit(blobs[0])


@pytest.mark.parametrize("X", [np.ones((1, 2)), np.ones((30, 2))])
def test_one_distinct_point(X):
    with pytest.raises(ValueError, match="at least two different points"):
        AlphaCutClustering().fit(X)
    for parameters in ({}, {"alpha": 0.5}, {"rejection": 0.01}, {"alpha": "valley"}):
        model = AlphaCutClustering(bandwidth=1.0, **parameters).fit(X)
        assert (model.labels_ == 0).all()
        assert model.n_clusters_ == 1


def test_one_point_far_away(blobs):
    X, y = blobs
    X = np.vstack([X, [[1e8, 1e8]]])
    for parameters in ({}, {"rejection": 0.05}):
        model = AlphaCutClustering(**parameters).fit(X)
        assert adjusted_rand_score(y, model.labels_[:-1]) > 0.9
        assert model.outlier_scores_.argmax() == len(y)


@pytest.mark.parametrize("bandwidth", [1e-7, 1e4])
def test_extremely_small_and_large_bandwidths(blobs, bandwidth):
    model = AlphaCutClustering(bandwidth=bandwidth).fit(blobs[0][:200])
    assert 1 <= model.n_clusters_ <= 3
    assert np.isfinite(model.tree_.significance).all()


def test_all_noise(blobs):
    model = AlphaCutClustering(alpha=0.9999).fit(blobs[0])
    assert model.n_clusters_ == 0
    assert (model.labels_ == -1).all()
    assert model.memberships_.shape == (len(blobs[0]), 0)
    assert (model.overlap_scores_ == 0).all()


def test_nan_and_weights(blobs):
    X = blobs[0].copy()
    with pytest.raises(ValueError, match="all|zero for every row"):
        AlphaCutClustering().fit(X, sample_weight=np.zeros(len(X)))
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        AlphaCutClustering().fit(X)


def test_a_point_without_mass_has_memberships():
    X = np.concatenate([np.arange(1.0, 9)[:, None], -np.arange(1.0, 9)[:, None]])
    model = AlphaCutClustering(kernel="linear", alpha=0.2).fit(X)
    result = model.memberships([[0.0], [3.0]])
    if model.n_clusters_:
        assert result.sum(axis=1) == pytest.approx(np.ones(2))
    assert np.isfinite(model.overlap_scores([[0.0], [3.0]])).all()


@pytest.mark.parametrize("values", [2, 3, 5])
@pytest.mark.parametrize("seed", [0, 2])
def test_rows_of_a_column_of_few_values_are_no_noise(values, seed):
    generator = np.random.default_rng(seed)
    labels = np.arange(600) % 2
    X = np.c_[generator.normal(size=600) + 6 * labels, generator.integers(0, values, 600)]
    model = AlphaCutClustering().fit(X)
    assert model.n_clusters_ == 2
    assert not (model.labels_ < 0).any()
