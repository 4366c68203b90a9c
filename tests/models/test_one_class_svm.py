"""Weighted SVDD and one-class SVM: contract, acceptance values of the paper, and laws."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.svm import OneClassSVM

from softkern import WeightedOneClassSVM, WeightedSVDD
from tests.models.contract import ModelContract

DATA = Path(os.environ.get("SOFTKERN_DATA", Path(__file__).parents[3] / "shared" / "data"))
BOTH = (WeightedSVDD, WeightedOneClassSVM)


def load_real(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"needs {name}; set SOFTKERN_DATA to the folder that holds it")
    return pd.read_csv(path).drop(columns="label").to_numpy(float)


def start_weights(n, k=0):
    """Return the initial weights Z0 of the acceptance values."""
    i = np.arange(n)
    return (((37 * i + 61 * k + 11 * i * k) % 101) + 1) / 102


class TestWeightedSVDD(ModelContract):
    def make(self, **params):
        return WeightedSVDD(**params)


class TestWeightedOneClassSVM(ModelContract):
    def make(self, **params):
        return WeightedOneClassSVM(**params)

    def test_scikit_learn_checks(self):
        # the threshold for fresh points takes most of the time and is tested in the class above
        fresh, self.make = self.make, lambda: fresh(threshold="margin")
        super().test_scikit_learn_checks()


@pytest.mark.parametrize("engine", ["dense", "tiled"])
@pytest.mark.parametrize(
    ("data", "tau", "nu", "rho", "squared_radius"),
    [
        (lambda: load_iris().data, 0.85, 0.97, 0.2665091710, 0.6681654935),
        (lambda: load_real("wbc.csv"), 0.002, 0.99, 0.8635532091, 0.0529898309),
        (lambda: scale_by_std(load_real("wine.csv")), 0.01, 0.98, 0.8437990900, 0.0947729351),
        (lambda: scale_by_max(load_real("pima_tr.csv")), 0.1, 0.69, 0.9673465816, 0.0209566858),
        (lambda: scale_by_std(load_real("biomed.csv")), 0.002, 0.95, 0.9915355109, 0.0014228233),
    ],
    ids=["iris", "wbc", "wine", "pima_tr", "biomed"],
)
def test_acceptance(engine, data, tau, nu, rho, squared_radius):
    X = data()
    params = {"nu": nu, "bandwidth": 1 / np.sqrt(2 * tau), "engine": engine, "tol": 1e-12}
    weight = start_weights(len(X))
    machine = WeightedOneClassSVM(**params).fit(X, sample_weight=weight)
    ball = WeightedSVDD(**params).fit(X, sample_weight=weight)
    assert machine.offset_ == pytest.approx(rho, rel=1e-8)
    assert ball.radius_**2 == pytest.approx(squared_radius, rel=1e-8)
    assert -ball.offset_ == pytest.approx(squared_radius, rel=1e-8)


def scale_by_std(X):
    return X / X.std(axis=0, ddof=1)


def scale_by_max(X):
    return X / X.max(axis=0)


@pytest.fixture
def X():
    return make_blobs(150, 2, centers=[[0, 0], [6, 6], [0, 8]], random_state=0)[0]


def test_scores_equal_their_definition(X):
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    new = np.random.default_rng(1).uniform(-3, 10, (30, 2))
    for kind in BOTH:
        model = kind(nu=0.3, bandwidth=1.5).fit(X, sample_weight=weight)
        K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * 1.5**2))
        cross = np.exp(-cdist(new, X, "sqeuclidean") / (2 * 1.5**2))
        alpha = np.zeros(len(X))
        alpha[model.support_] = model.dual_coef_
        assert alpha.sum() == pytest.approx(1)
        assert np.all(alpha <= weight / (0.3 * weight.sum()) * (1 + 1e-12))
        if kind is WeightedSVDD:
            scores = -(1 - 2 * cross @ alpha + alpha @ K @ alpha)
            assert model.offset_ == pytest.approx(-(model.radius_**2), abs=1e-6)
        else:
            scores = cross @ alpha
        assert model.score_samples(new) == pytest.approx(scores, abs=1e-12)
        assert model.decision_function(new) == pytest.approx(scores - model.offset_, abs=1e-12)
        assert model.outlier_scores(new) == pytest.approx(-np.log(cross @ alpha), rel=1e-9)
        left_out = np.minimum(1, 0.01 / (weight / weight.sum()))  # 1 % of the weight at most
        others = np.log(K @ alpha - alpha * left_out)
        assert model.outlier_scores_ == pytest.approx(-others, rel=1e-8)
        inside = model.memberships(new) >= 0.5
        assert np.array_equal(inside, model.predict(new) == 1)


def test_svdd_and_one_class_svm_are_equal_for_the_gaussian(X):
    ball, plane = WeightedSVDD(nu=0.2).fit(X), WeightedOneClassSVM(nu=0.2).fit(X)
    assert np.array_equal(ball.support_, plane.support_)
    assert ball.dual_coef_ == pytest.approx(plane.dual_coef_, abs=1e-6)
    assert np.array_equal(ball.predict(X), plane.predict(X))
    assert ball.radius_ == pytest.approx(plane.radius_)
    # D² − R² = 2 (ρ − f)
    assert ball.decision_function(X) == pytest.approx(2 * plane.decision_function(X), abs=1e-6)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("nu", [0.01, 0.1, 0.5, 0.95])
def test_nu_bounds_the_share_outside(kind, nu, X):
    weight = np.random.default_rng(0).uniform(0, 1, len(X))
    model = kind(nu=nu).fit(X, sample_weight=weight)
    outside = weight[model.predict(X) == -1].sum() / weight.sum()
    support = weight[model.support_].sum() / weight.sum()
    assert outside <= nu + 1e-9
    assert support >= nu - 1e-9


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("engine", ["dense", "tiled", "fourier", "nystroem"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_points_on_the_margin_are_inliers(kind, engine, dtype, X):
    X = X.astype(dtype)
    model = kind(nu=0.2, bandwidth=2.0, engine=engine).fit(X)
    bound = 1 / (0.2 * len(X))
    free = model.support_[model.dual_coef_ < bound * (1 - 1e-5)]
    assert free.size > 2
    assert np.all(model.predict(X[free]) == 1)
    noise = 1e-3 if engine == "nystroem" else {"float32": 1e-4, "float64": 1e-7}[dtype.__name__]
    assert np.abs(model.decision_function(X[free])).max() < noise


@pytest.mark.parametrize("kind", BOTH)
def test_nu_of_one_gives_the_mean(kind, X):
    weight = np.random.default_rng(0).uniform(0.1, 1, len(X))
    model = kind(nu=1.0, bandwidth=2.0).fit(X, sample_weight=weight)
    assert model.dual_coef_ == pytest.approx(weight / weight.sum(), rel=1e-12)
    assert (model.decision_function(X) >= 0).sum() == 1  # ρ is the largest value
    assert model.n_iter_ == 1


@pytest.mark.parametrize("kind", BOTH)
def test_ranks_follow_the_distance_of_far_points(kind, X):
    for kernel in ("rbf", "laplacian"):
        model = kind(kernel=kernel).fit(X)
        far = np.array([[30.0, 0], [100, 0], [1e4, 0], [1e6, 0]])
        assert np.all(np.diff(model.outlier_scores(far)) > 0)
        assert np.all(model.predict(far) == -1)
    X[:4] = [[40, 0], [80, 0], [160, 0], [320, 0]]
    scores = kind().fit(X).outlier_scores_
    assert np.array_equal(np.argsort(-scores)[:4], [3, 2, 1, 0])


def test_linear_svdd_is_the_smallest_enclosing_ball():
    # an equilateral triangle and points inside it: center and circumradius are known
    angles = np.pi * np.array([0.5, 0.5 + 2 / 3, 0.5 + 4 / 3])
    corners = 2 * np.c_[np.cos(angles), np.sin(angles)] + [10, -20]
    inside = np.random.default_rng(0).uniform(-0.5, 0.5, (50, 2)) + np.array([10, -20])
    X = np.vstack([inside, corners])
    model = WeightedSVDD(nu=0.01, kernel="linear").fit(X)
    assert model.radius_ == pytest.approx(2)
    assert model.dual_coef_ @ X[model.support_] == pytest.approx([10, -20])
    assert model.decision_function([[10, -17.0], [10, -20]]) == pytest.approx([4 - 9, 4])
    assert np.all(np.diff(model.outlier_scores([[10, -17.0], [10, 0], [1e5, 0]])) > 0)


def test_absolute_nu_refers_to_the_number_of_rows():
    X = np.random.default_rng(0).normal(size=(100, 2))
    weight = np.full(100, 0.5)
    with pytest.raises(ValueError, match=r"at least nu × n = 60, not 50"):
        WeightedSVDD(nu=0.6, nu_mode="absolute").fit(X, sample_weight=weight)
    absolute = WeightedSVDD(nu=0.2, nu_mode="absolute").fit(X, sample_weight=weight)
    relative = WeightedSVDD(nu=0.4).fit(X, sample_weight=weight)
    assert np.array_equal(absolute.dual_coef_, relative.dual_coef_)
    assert absolute.dual_coef_.max() <= 0.5 / (0.2 * 100) + 1e-12
    full = WeightedSVDD(nu=0.5, nu_mode="absolute").fit(X, sample_weight=weight)
    assert full.dual_coef_ == pytest.approx(np.full(100, 0.01))


@pytest.mark.parametrize("kind", BOTH)
def test_precomputed(kind, X):
    K = np.exp(-cdist(X, X, "sqeuclidean") / 8)
    new = X[:7] + 0.5
    given = kind(kernel="precomputed").fit(K)
    points = kind(bandwidth=2.0).fit(X)
    cross = np.exp(-cdist(new, X, "sqeuclidean") / 8)
    assert given.decision_function(cross) == pytest.approx(points.decision_function(new), abs=1e-6)
    assert np.array_equal(given.support_, points.support_)


def test_one_class_svm_does_not_need_the_diagonal_of_new_points(X):
    given = WeightedOneClassSVM(kernel="precomputed").fit(X @ X.T)
    points = WeightedOneClassSVM(kernel="linear").fit(X)
    scores = given.decision_function((X[:7] + 0.5) @ X.T)
    assert scores == pytest.approx(points.decision_function(X[:7] + 0.5), abs=1e-7)


@pytest.mark.parametrize("kind", BOTH)
def test_duplicates(kind):
    X = np.zeros((50, 3))
    model = kind(bandwidth=1.0).fit(X)
    assert np.all(model.predict(X) == 1)
    assert model.radius_ == pytest.approx(0, abs=1e-6)
    assert model.predict([[5.0, 0, 0]]) == [-1]
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 2)), 5, axis=0)
    assert kind().fit(X).converged_


def test_agrees_with_scikit_learn(X):
    weight = np.random.default_rng(0).uniform(0.2, 1, len(X))
    peer = OneClassSVM(nu=0.2, gamma=0.125, tol=1e-10).fit(X, sample_weight=weight)
    model = WeightedOneClassSVM(nu=0.2, bandwidth=2.0).fit(X, sample_weight=weight)
    total = 0.2 * weight.sum()
    assert np.array_equal(model.support_, peer.support_)
    assert model.decision_function(X) == pytest.approx(peer.decision_function(X) / total, abs=2e-6)


@pytest.mark.parametrize("kind", BOTH)
def test_no_convergence_raises_a_warning(kind, X):
    with pytest.warns(ConvergenceWarning, match="KKT gap .* Increase max_iter or tol"):
        model = kind(max_iter=1).fit(X)
    assert model.converged_ is False


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"nu": 0.0}, "nu"),
        ({"nu": 1.2}, "nu"),
        ({"nu_mode": "printed"}, "nu_mode"),
        ({"kernel": "sigmoid"}, "not positive semidefinite and defines no distances"),
        ({"kernel": "poly", "kernel_params": {"coef0": -1.0}}, "not positive semidefinite"),
        ({"kernel": lambda A, B: -cdist(A, B)}, "has the eigenvalue -"),
    ],
)
def test_bad_parameters(kind, params, message, X):
    with pytest.raises(ValueError, match=message):
        kind(**params).fit(X)


def test_indefinite_matrix():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="not positive semidefinite on these data"):
        WeightedSVDD(kernel="precomputed").fit(K)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("rank", [3, 10, 30])
@pytest.mark.filterwarnings("ignore::softkern.exceptions.ApproximationWarning")
def test_nu_bounds_the_share_outside_with_a_low_rank(kind, rank):
    X = np.random.default_rng(0).normal(size=(800, 4))
    weight = np.random.default_rng(1).uniform(0.5, 1, 800)
    params = {"engine": "nystroem", "engine_params": {"rank": rank}, "threshold": "margin"}
    model = kind(nu=0.1, **params).fit(X, sample_weight=weight)
    outside = weight @ (model.predict(X) == -1) / weight.sum()
    assert 0.08 < outside <= 0.1


@pytest.mark.parametrize("engine", ["auto", "dense"])
def test_scores_far_below_kernel_values_are_accurate(engine):
    # kernel values reach 7e7 and ρ is 1: a gap relative to squared distances is not enough
    generator = np.random.default_rng(7)
    X = generator.normal(size=(400, 1)) + generator.choice([0, 12, 18], size=(400, 1))
    model = WeightedOneClassSVM(kernel="poly", nu=0.05, engine=engine).fit(X)
    peer = OneClassSVM(kernel="poly", gamma=1.0, coef0=1.0, nu=0.05, tol=1e-10).fit(X)
    total = 0.05 * 400
    assert model.converged_
    assert model.score_samples(X) == pytest.approx(peer.score_samples(X) / total, rel=1e-4)
    assert model.offset_ == pytest.approx(peer.offset_[0] / total, rel=1e-5)
    assert 0.04 <= np.mean(model.predict(X) == -1) <= 0.05


def test_svdd_needs_the_diagonal_of_new_samples(X):
    model = WeightedSVDD(kernel="precomputed").fit(X @ X.T)
    with pytest.raises(ValueError, match="normalize the matrix.*WeightedOneClassSVM does not need"):
        model.predict(X[:3] @ X.T)


def test_matrix_with_an_unequal_diagonal_is_recognized():
    X = np.random.default_rng(0).normal(size=(40, 2)) + np.array([3.0, 0.0])
    K = X @ X.T
    model = WeightedSVDD(nu=0.05, kernel="precomputed").fit(K)
    with pytest.raises(ValueError, match="kernel values with themselves"):
        model.score_samples(K[:3])


def rejected_share(model, columns, seeds=6, n=300):
    """Return the share of new points of the same distribution that a model rejects."""
    shares = []
    for seed in range(seeds):
        X = np.random.default_rng(seed).normal(size=(n + 2000, columns))
        shares.append(np.mean(model.fit(X[:n]).predict(X[n:]) == -1))
    return float(np.mean(shares))


@pytest.mark.parametrize(
    ("kind", "columns"),  # few of both, which are equal for radial kernels
    [*((WeightedSVDD, d) for d in (1, 2, 12, 30)), *((WeightedOneClassSVM, d) for d in (2, 12))],
)
@pytest.mark.parametrize("nu", [0.05, 0.2])
def test_about_nu_of_fresh_points_are_rejected(kind, columns, nu):
    assert rejected_share(kind(nu=nu), columns) == pytest.approx(nu, abs=0.03)


def test_the_margin_rejects_more_in_many_columns():
    assert rejected_share(WeightedSVDD(nu=0.05, threshold="margin"), 12) > 0.1


@pytest.mark.parametrize("kind", BOTH)
def test_the_fresh_threshold_is_outside_the_margin(kind, X):
    fresh, margin = kind(nu=0.2).fit(X), kind(nu=0.2, threshold="margin").fit(X)
    assert fresh.offset_ <= margin.offset_
    assert fresh.radius_ >= margin.radius_
    assert fresh.score_samples(X) == pytest.approx(margin.score_samples(X))
    given = kind(nu=0.2, bandwidth=fresh.bandwidth_).fit(X)
    assert given.offset_ == margin.offset_  # the margin of the papers for a given bandwidth
    again = kind(nu=0.2, bandwidth=fresh.bandwidth_, threshold="fresh").fit(X)
    assert again.offset_ == pytest.approx(fresh.offset_)


def test_a_fresh_threshold_needs_a_kernel_that_vanishes(X):
    with pytest.raises(ValueError, match="threshold='fresh' needs .* Use threshold='margin'"):
        WeightedSVDD(kernel="linear", threshold="fresh").fit(X)


@pytest.mark.parametrize("kind", BOTH)
def test_outliers_among_blobs_are_ranked_first(kind):
    values = []
    for seed in range(4):
        X, _ = make_blobs(500, 2, centers=5, random_state=seed)
        noise = np.random.default_rng(seed).uniform(X.min(axis=0) - 2, X.max(axis=0) + 2, (25, 2))
        scores = kind().fit(np.vstack([X, noise])).outlier_scores_
        values.append(roc_auc_score(np.arange(525) >= 500, scores))
    assert np.mean(values) > 0.9
