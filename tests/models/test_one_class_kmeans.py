"""Camastra and Verri's clustering: the contract, k-means as its limit, and laws."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score

from softkern import CollapseWarning, OneClassKMeans, OneClassMixture
from tests.models.contract import ModelContract
from tests.models.test_one_class_mixture import accuracy, configured, literal_dual


class TestOneClassKMeans(ModelContract):
    def make(self, **params):
        return OneClassKMeans(**{"n_clusters": 3, "n_init": 2, **params})


class TestOneClassKMeansFromPoints(TestOneClassKMeans):
    """Engines differ in the products alone, which are tested above."""

    engines = ("dense",)

    def make(self, **params):
        return super().make(**{"init": "random", **params})


def one_hot(labels):
    return (labels[:, None] == np.arange(labels.max() + 1)).astype(float)


def test_at_nu_one_it_is_k_means():
    X = make_blobs(150, 3, centers=4, cluster_std=2.5, random_state=1)[0]
    peer = KMeans(4, init=X[:4], n_init=1, tol=0, max_iter=100).fit(X)
    start = np.zeros((150, 4))
    start[np.arange(4), np.arange(4)] = 1
    model = OneClassKMeans(4, nu=1.0, kernel="linear", init=start).fit(X)
    assert np.array_equal(model.labels_, peer.labels_)
    assert model.dual_coef_.T @ X == pytest.approx(peer.cluster_centers_)
    assert model.objective_ == pytest.approx(peer.inertia_)
    assert np.all(np.diff(model.history_["objective"]) <= 1e-9)


@pytest.mark.parametrize("formulation", ["svdd", "ocsvm"])
def test_agrees_with_the_literal_loop(formulation):
    X = make_blobs(40, 2, centers=2, cluster_std=2.0, random_state=0)[0]
    K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * 3.0**2))
    labels = np.random.default_rng(0).integers(0, 2, 40)
    model = OneClassKMeans(
        nu=0.5, formulation=formulation, init=one_hot(labels), bandwidth=3.0, tol=1e-6
    ).fit(X)
    for _ in range(50):
        depth = np.empty((40, 2))
        for k in range(2):
            weights = (labels == k).astype(float)
            total = 0.5 * weights.sum()
            alpha, field, margin = literal_dual(K, weights, 0.5, np.zeros(40))
            norm = alpha @ field / total**2
            depth[:, k] = 2 * field / total - norm if formulation == "svdd" else field - margin
        labels = depth.argmax(axis=1)
    assert np.array_equal(model.labels_, labels)
    # the loop has ended on a fixed point: machines of the clusters give the clusters
    again = OneClassKMeans(
        nu=0.5, formulation=formulation, init=model.memberships_, bandwidth=3.0
    ).fit(X)
    assert np.array_equal(again.labels_, model.labels_)
    assert again.n_iter_ == 2


def test_it_is_the_mixture_of_no_softness():
    X = make_blobs(120, 2, centers=3, random_state=5)[0]
    hard = OneClassKMeans(3, bandwidth=3.0).fit(X)
    soft = OneClassMixture(3, scale=1e-6, init=hard.memberships_, bandwidth=3.0).fit(X)
    assert np.array_equal(soft.labels_, hard.labels_)


@pytest.mark.parametrize(
    ("name", "printed"),
    [("wbc", 97.1), ("wine", 96.1), ("pima_tr", 70.0), ("biomed", 83.0), ("iris", 91.6)],
)
def test_table_2_from_k_means(name, printed):
    X, y, params = configured(name)
    start = one_hot(KMeans(params["n_clusters"], n_init=5, random_state=0).fit_predict(X))
    model = OneClassKMeans(formulation="ocsvm", init=start, **params).fit(X)
    assert accuracy(model.labels_, y) == pytest.approx(printed, abs=2.0)


def test_empty_cluster_is_seeded_again():
    X, y = make_blobs(90, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    start = np.stack([y == 0, y == 1, y == 0], axis=1).astype(float)  # two clusters, twice one
    with pytest.warns(CollapseWarning, match="seeded again with the point furthest"):
        model = OneClassKMeans(3, bandwidth=6.0, init=start).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    weights = np.random.default_rng(0).integers(1, 4, 90)
    with pytest.warns(CollapseWarning):
        weighted = OneClassKMeans(3, bandwidth=6.0, init=start).fit(X, sample_weight=weights)
    rows = np.repeat(np.arange(90), weights)
    with pytest.warns(CollapseWarning):
        repeated = OneClassKMeans(3, bandwidth=6.0, init=start[rows]).fit(X[rows])
    assert np.array_equal(weighted.predict(X), repeated.predict(X))


@pytest.mark.filterwarnings("ignore::softkern.CollapseWarning")
def test_a_cycle_is_found_and_said():
    X, _, params = configured("pima_tr")
    params |= {"formulation": "ocsvm", "init": "random", "n_init": 1}
    with pytest.warns(ConvergenceWarning, match="came back to where it was"):
        model = OneClassKMeans(**params).fit(X)
    assert model.converged_ is False
    assert model.n_iter_ < 100
    assert model.objective_ in model.history_["objective"]
    assert np.array_equal(model.predict(X), model.labels_)


@pytest.mark.filterwarnings("ignore::softkern.CollapseWarning")
def test_fewer_distinct_points_than_clusters():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0)
    for init in ("random", "kmeans"):
        model = OneClassKMeans(3, bandwidth=1.0, init=init).fit(X)
        assert np.unique(model.labels_).size == 2
        assert model.radius_ == pytest.approx(np.zeros(3), abs=1e-6)
        assert np.array_equal(model.predict(X), model.labels_)


def test_scores():
    X, y = make_blobs(100, centers=[[0, 0], [8, 0]], random_state=0)
    model = OneClassKMeans(2).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert np.array_equal(model.memberships_, one_hot(model.labels_))
    middle, inside = model.overlap_scores([[4.0, 0.0], [0.0, 0.0]])
    assert middle > 0.5 > inside
    assert model.overlap_scores(X) == pytest.approx(model.overlap_scores(), abs=1e-9)
    assert np.all(np.diff(model.outlier_scores([[0.0, 0.0], [0.0, 9.0], [0.0, 900.0]])) > 0)
    alone = OneClassKMeans(1).fit(X)
    assert alone.overlap_scores() == pytest.approx(0)


def test_precomputed_and_sparse():
    X = np.abs(make_blobs(60, 3, centers=2, random_state=0)[0])
    K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * 2.0**2))
    direct = OneClassKMeans(bandwidth=2.0).fit(X)
    given = OneClassKMeans(kernel="precomputed").fit(K)
    assert adjusted_rand_score(given.labels_, direct.labels_) == 1
    sparse = OneClassKMeans(bandwidth=2.0).fit(sp.csr_matrix(X))
    assert adjusted_rand_score(sparse.labels_, direct.labels_) == 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"nu": 0.0}, "nu"),
        ({"nu": 2.0}, "nu"),
        ({"n_clusters": 51}, "n_clusters=51 is more than the number of points"),
        ({"init": "gmm"}, "init"),
        ({"init": np.zeros((50, 2))}, "no column all zero"),
        ({"kernel": "sigmoid"}, "not positive semidefinite"),
    ],
)
def test_bad_parameters_of_its_own(params, message):
    X = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(ValueError, match=message):
        OneClassKMeans(**params).fit(X)


def test_before_fit():
    with pytest.raises(NotFittedError):
        OneClassKMeans().overlap_scores()


EIGHT = [[0.276191], [-6.335314], [-4.191137], [-2.269595], [-0.666785], [2.213519], [0.337411]]


@pytest.mark.filterwarnings("ignore::softkern.CollapseWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("X", "params"),
    [
        ([*EIGHT, [-1.280081]], {"n_clusters": 5, "kernel": "linear", "formulation": "ocsvm"}),
        ([[0.0, 1.0], [2.0, 3.0]] * 4, {"n_clusters": 3, "kernel": "linear"}),
        ([[i * 1.0, i % 3] for i in range(30)], {"n_clusters": 3, "bandwidth": 1e9}),
    ],
)
def test_seeding_again_leaves_no_cluster_empty(X, params):
    model = OneClassKMeans(**params).fit(X)
    assert np.isfinite(model.radius_).all()
    assert np.array_equal(model.predict(X), model.labels_)


@pytest.mark.filterwarnings("ignore::softkern.CollapseWarning")
@pytest.mark.parametrize(
    ("X", "params"),
    [
        ([[0, 1], [2, -1], [2, 1], [-1, -1], [0, -1]], {"n_clusters": 2, "nu": 0.1}),
        (np.ones((10, 2)), {"n_clusters": 3}),
    ],
)
def test_ties_go_to_the_first_for_training_and_new_points(X, params):
    X = np.asarray(X, dtype=float)
    model = OneClassKMeans(kernel="linear", formulation="ocsvm", **params).fit(X)
    assert np.array_equal(model.predict(X), model.labels_)


def test_lengths_of_new_points_are_not_needed():
    X = make_blobs(60, 2, centers=3, random_state=0)[0]
    given = OneClassKMeans(3, kernel="precomputed").fit(X @ X.T)
    points = OneClassKMeans(3, kernel="linear").fit(X)
    new = X[:9] + 0.3
    assert adjusted_rand_score(given.predict(new @ X.T), points.predict(new)) == 1
    with pytest.raises(ValueError, match="predict and memberships do without"):
        given.outlier_scores(new @ X.T)
