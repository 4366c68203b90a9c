"""Fuzzy c-means, FKCO and Keller: contract, acceptance values of the 2004 paper, and laws."""

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from reproduce.accuracy import errors as matching_errors
from softkern import (
    CollapseWarning,
    FuzzyCMeans,
    OneClassPCM,
    OutlierFuzzyCMeans,
    PossibilisticCMeans,
    rank_points,
)
from softkern.datasets import make_ring_outliers, make_two_groups_outliers
from softkern.exceptions import ParameterWarning
from softkern.rules.memberships import LARGEST_PART, outlier_weights
from tests.models.contract import ModelContract

IRIS, SPECIES = load_iris(return_X_y=True)
TIGHT = {"tol": 1e-10, "max_iter": 3000}


class FuzzyContract(ModelContract):
    def test_scikit_learn_checks(self):
        # the check of sparse input requires two or four columns of predict_proba
        three, self.make = self.make, lambda: three(n_clusters=2)
        super().test_scikit_learn_checks()


class TestFuzzyCMeans(FuzzyContract):
    def make(self, **params):
        return FuzzyCMeans(**{"n_clusters": 3, **params})


class TestOutlierFuzzyCMeans(FuzzyContract):
    low_rank = 20  # 15 landmarks leave out the furthest rows

    def make(self, **params):
        return OutlierFuzzyCMeans(**{"n_clusters": 3, **params})

    def test_outlier_weights_pass_the_contract(self, X):
        counts = np.random.default_rng(0).integers(0, 4, len(X))
        weighted = self.make().fit(X, sample_weight=counts)
        repeated = self.make().fit(np.repeat(X, counts, axis=0))
        assert weighted.outlier_weights(X) == pytest.approx(repeated.outlier_weights(X), rel=1e-6)
        assert counts @ weighted.outlier_weights_ == pytest.approx(counts.sum())
        for engine in self.engines:
            model = self.fitted(X, engine=engine)
            assert model.outlier_weights(X) == pytest.approx(model.outlier_weights_, rel=1e-6)


def count_errors(y, labels):
    """Count points outside the best matching of classes and clusters, except the class −1."""
    return matching_errors(y[y >= 0], labels[y >= 0])


def gaussian(X, sigma):
    return np.exp(-cdist(X, X, "sqeuclidean") / (2 * sigma**2))


def run_reference(K, u, *, m=2.0, q=None, total=None, centers="weighted", weight=None, steps=50):
    """Iterate eqs. 9, 11, 19, 20 and 21 from given memberships. Return U, w and J of every step."""
    n, c = u.shape
    weight = np.ones(n) if weight is None else weight
    w = np.ones(n)
    history = []
    for _ in range(steps):
        mass = u if centers == "plain" else u**m / w[:, None] ** (q or 0)
        Q = np.empty((n, c))
        for i in range(c):
            a = weight * mass[:, i]
            N = a.sum()
            Q[:, i] = K.diagonal() - 2 / N * (K @ a) + a @ K @ a / N**2
        u = 1 / np.stack(
            [sum((Q[:, i] / Q[:, j]) ** (1 / (m - 1)) for j in range(c)) for i in range(c)], axis=1
        )
        S = (u**m * Q).sum(axis=1)
        if q is not None:
            w = S ** (1 / (q + 1))
            w *= total / (weight @ w)
        history.append(float(weight @ (S / w ** (q or 0))))
    return u, w, history


def draw_start(n, c, seed=0):
    start = np.random.default_rng(seed).uniform(size=(n, c))
    return start / start.sum(axis=1, keepdims=True)


# Acceptance values


@pytest.mark.parametrize(
    ("params", "objective", "wide", "wrong"),
    [
        ({"kernel": "linear"}, 36.878114, 3.51416, 14),
        ({"bandwidth": 1.0}, 21.253466, 1.83153, 10),
        ({"bandwidth": 5.0}, 1.438467, 3.40336, 14),
        ({"bandwidth": 2.4, "centers": "plain"}, 7.87724, 2.00745, 14),
    ],
    ids=["keller", "eq21-1", "eq21-5", "eq11-2.4"],
)
def test_acceptance_on_iris(params, objective, wide, wrong):
    model = OutlierFuzzyCMeans(3, total_weight=200.0, **TIGHT, **params)
    with warnings.catch_warnings():
        # at the value of eq. 11 two of the three centers almost coincide, which raises a warning
        warnings.simplefilter("ignore" if "centers" in params else "error", CollapseWarning)
        model.fit(IRIS)
    digits = 10 ** -len(str(objective).split(".")[1])
    assert model.objective_ == pytest.approx(objective, abs=0.5 * digits)
    # the table has 3.51416 instead of the converged value 3.514154
    assert np.ptp(model.outlier_weights_) == pytest.approx(wide, abs=7e-6)
    assert count_errors(SPECIES, model.labels_) == wrong
    assert np.argsort(-model.outlier_weights_)[:5].tolist() == [118, 117, 131, 122, 105]
    assert model.outlier_weights_.sum() == pytest.approx(200)


def test_acceptance_of_fuzzy_c_means_on_iris():
    model = FuzzyCMeans(3, kernel="linear", **TIGHT).fit(IRIS)
    assert model.objective_ == pytest.approx(60.505711, abs=5e-7)
    assert count_errors(SPECIES, model.labels_) == 16


def test_acceptance_of_the_collapse_ratio():
    model = OutlierFuzzyCMeans(3, bandwidth=1.0).fit(IRIS)
    assert model.collapse_ratio_ == pytest.approx(1.6125, abs=5e-5)
    assert model.m_ == 2


@pytest.mark.parametrize("seed", range(10))
def test_ring_is_separated_and_its_outliers_are_ranked_first(seed):
    X, y = make_ring_outliers(random_state=0)
    options = {"n_init": 1, "random_state": seed, "total_weight": 200.0}
    for sigma in (1.25, 1.5, 2.0, 4.0):
        model = OutlierFuzzyCMeans(2, bandwidth=sigma, **options, **TIGHT).fit(X)
        assert count_errors(y, model.labels_) == 0
        assert set(np.argsort(-model.outlier_weights_)[:3]) == {160, 161, 162}
        if sigma == 1.5:
            assert model.objective_ == pytest.approx(49.035372, abs=5e-7)
    default = OutlierFuzzyCMeans(2, n_init=1, random_state=seed).fit(X)
    assert count_errors(y, default.labels_) == 0
    assert set(np.argsort(-default.outlier_weights_)[:3]) == {160, 161, 162}


def test_linear_kernel_does_not_separate_the_ring():
    X, y = make_ring_outliers(random_state=0)
    for model in (FuzzyCMeans(2, kernel="linear"), OutlierFuzzyCMeans(2, kernel="linear")):
        assert count_errors(y, model.fit(X).labels_) > 30


def test_two_clusters_and_their_outliers_are_found():
    X, y = make_two_groups_outliers(random_state=0)
    for params in ({"kernel": "linear"}, {}):
        model = OutlierFuzzyCMeans(2, **params).fit(X)
        assert count_errors(y, model.labels_) == 0
        assert set(np.argsort(-model.outlier_weights_)[:4]) == set(np.flatnonzero(y == -1))


def test_outliers_beyond_the_clusters_are_detected_on_any_side():
    # the clusters differ in one column, whose spread must not hide outliers beyond them
    for seed in range(10):
        X, y = make_two_groups_outliers(random_state=seed)
        table = rank_points(OutlierFuzzyCMeans(2).fit(X))
        assert set(table.outlier_rank[y == -1]) == {1, 2, 3, 4}
        assert table.is_outlier[y == -1].all()


# Agreement


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("m", [1.4, 2.0, 2.5])
@pytest.mark.parametrize(
    "options",
    [{}, {"q": 1.0}, {"q": 1.5, "total": 60.0}, {"q": 1.0, "centers": "plain"}],
    ids=["fcm", "q1", "q1.5", "plain"],
)
def test_agrees_with_a_loop_of_the_formulas(kernel, m, options):
    # in six columns no center is on a point, for which the formulas divide zero by zero
    X = make_blobs(60, 6, centers=3, cluster_std=2.0, random_state=5)[0] / 4 + 1.0
    weight = np.random.default_rng(1).integers(1, 4, 60).astype(float)
    K = X @ X.T if kernel == "linear" else gaussian(X, 4.0)
    start = draw_start(60, 3)
    if "q" in options:
        options = {"total": weight.sum(), **options}
        words = {"total_weight": options["total"], "q": options["q"]}
        words["centers"] = options.get("centers", "weighted")
        model = OutlierFuzzyCMeans(3, m=m, **words)
    else:
        model = FuzzyCMeans(3, m=m)
    bandwidth = "auto" if kernel == "linear" else 4.0
    model.set_params(kernel=kernel, bandwidth=bandwidth, init=start)
    model.set_params(tol=0.0, max_iter=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (ConvergenceWarning, CollapseWarning, ParameterWarning))
        model.fit(X, sample_weight=weight)
    u, w, history = run_reference(K, start, m=m, weight=weight, steps=20, **options)
    assert model.memberships_ == pytest.approx(u, rel=1e-8, abs=1e-12)
    # a loop without any change stops, even with tol=0
    assert model.history_["objective"] == pytest.approx(history[: model.n_iter_], rel=1e-8)
    if "q" in options:
        assert model.outlier_weights_ == pytest.approx(w, rel=1e-8)


@pytest.mark.parametrize("m", [1.5, 2.0, 3.0])
def test_linear_kernel_equals_cmeans_of_scikit_fuzzy(m):
    skfuzzy = pytest.importorskip("skfuzzy")
    X = make_blobs(300, 4, centers=4, cluster_std=2.0, random_state=0)[0]
    start = draw_start(300, 4)
    theirs = skfuzzy.cmeans(X.T, 4, m, error=0, maxiter=60, init=start.T)
    model = FuzzyCMeans(4, m=m, kernel="linear", init=start, tol=0.0, max_iter=60)
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    assert model.memberships_ == pytest.approx(theirs[1].T, abs=1e-6)
    assert model.dual_coef_.T @ X == pytest.approx(theirs[0], abs=1e-6)


# Laws


@pytest.mark.parametrize("seed", range(10))
def test_objective_never_rises(seed):
    """Ten random problems per seed, 100 in total."""
    generator = np.random.default_rng(seed)
    for _ in range(10):
        n, d, c = (
            generator.integers(20, 60),
            generator.integers(1, 5),
            int(generator.integers(2, 5)),
        )
        X = generator.normal(size=(n, d)) + 4 * generator.integers(0, 3, (n, 1))
        words = {
            "n_clusters": c,
            "m": generator.uniform(1.1, 3.0),
            "kernel": generator.choice(["rbf", "linear", "laplacian"]),
            "bandwidth": generator.uniform(0.5, 5.0),
            "init": draw_start(n, c, seed),
            "max_iter": 60,
        }
        if words["kernel"] == "linear":
            del words["bandwidth"]
        models = [FuzzyCMeans(**words), OutlierFuzzyCMeans(q=generator.uniform(0.1, 4), **words)]
        weight = generator.integers(1, 4, n)
        for model in models:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore", (ConvergenceWarning, CollapseWarning, ParameterWarning)
                )
                objective = model.fit(X, sample_weight=weight).history_["objective"]
            assert np.all(np.diff(objective) <= 1e-9 * objective[0])


def test_objective_may_rise_with_eq_11_but_not_with_eq_21():
    X = IRIS[::2]
    rises = {"plain": [], "weighted": []}
    for seed in range(5):
        start = draw_start(len(X), 3, seed)
        for centers, found in rises.items():
            model = OutlierFuzzyCMeans(3, bandwidth=2.4, centers=centers, init=start)
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore", (ConvergenceWarning, CollapseWarning, ParameterWarning)
                )
                found.append(np.diff(model.fit(X).history_["objective"]).max())
    assert max(rises["plain"]) > 1e-6
    assert max(rises["weighted"]) <= 1e-9


def test_result_is_a_fixed_point():
    """At convergence, u, w and the centers follow from each other."""
    X = make_two_groups_outliers(random_state=1)[0]
    model = OutlierFuzzyCMeans(2, bandwidth=2.0, m=1.7, q=2.0, tol=1e-12, max_iter=5000).fit(X)
    u, w, K = model.memberships_, model.outlier_weights_, gaussian(X, 2.0)
    a = u**1.7 / w[:, None] ** 2
    assert model.dual_coef_ == pytest.approx(a / a.sum(axis=0), abs=1e-9)
    again, weights, _ = run_reference(K, u, m=1.7, q=2.0, total=len(X), steps=200)
    assert again == pytest.approx(u, abs=1e-6)
    assert weights == pytest.approx(w, abs=1e-6)


def test_small_m_equals_kernel_k_means():
    X, _ = make_blobs(200, 3, centers=4, cluster_std=1.5, random_state=2)
    hard = KMeans(4, n_init=20, random_state=0).fit(X)
    model = FuzzyCMeans(4, m=1.01, kernel="linear", n_init=20).fit(X)
    assert adjusted_rand_score(hard.labels_, model.labels_) == 1
    assert model.objective_ == pytest.approx(hard.inertia_, rel=1e-3)


def test_small_q_equals_fuzzy_c_means():
    X = make_two_groups_outliers(random_state=0)[0]
    plain = FuzzyCMeans(2, **TIGHT).fit(X)
    robust = OutlierFuzzyCMeans(2, q=1e-9, **TIGHT).fit(X)
    assert robust.memberships_ == pytest.approx(plain.memberships_, abs=1e-6)
    assert set(np.argsort(-robust.outlier_weights_)[:4]) == {120, 121, 122, 123}


def test_larger_q_is_more_robust():
    X = np.concatenate([np.random.default_rng(0).normal(size=(100, 2)), [[30.0, 0.0]]])
    reach = [
        np.abs(OutlierFuzzyCMeans(1, kernel="linear", q=q).fit(X).dual_coef_.T @ X).max()
        for q in (0.01, 0.3, 1.0, 3.0)
    ]
    assert np.all(np.diff(reach) < 0)


def test_one_cluster():
    model = OutlierFuzzyCMeans(1).fit(IRIS)
    assert np.all(model.memberships_ == 1)
    assert model.collapse_ratio_ == np.inf
    mean = FuzzyCMeans(1, kernel="linear").fit(IRIS)
    assert mean.dual_coef_.T @ IRIS == pytest.approx(IRIS.mean(axis=0)[None])


def test_rows_sum_to_one_everywhere():
    model = FuzzyCMeans(3, m=1.05).fit(IRIS)
    new = np.concatenate([IRIS, IRIS * 1e3, -IRIS])
    assert model.predict_proba(new).sum(axis=1) == pytest.approx(np.ones(len(new)))
    assert np.array_equal(model.predict_proba(new), model.memberships(new))


def test_weights_of_new_points_rise_with_distance():
    X = make_two_groups_outliers(random_state=0)[0]
    for params in ({"kernel": "linear"}, {}):
        model = OutlierFuzzyCMeans(2, **params).fit(X)
        far = np.array([[0.0, 3.0], [0, 6], [0, 9], [0, 12]])
        assert np.all(np.diff(model.outlier_weights(far)) > 0)


# Hard cases


def test_points_on_centers():
    X = np.array([[0.0, 0], [1, 0], [5, 5]]).repeat([3, 1, 2], axis=0)
    for model in (FuzzyCMeans(3), OutlierFuzzyCMeans(3)):
        model.set_params(kernel="linear").fit(X)
        assert len(set(model.labels_)) == 3
        assert model.memberships_.max(axis=1) == pytest.approx(np.ones(6))
        assert model.objective_ == pytest.approx(0, abs=1e-9)
    assert model.outlier_weights_ == pytest.approx(np.ones(6))
    assert np.isfinite(model.outlier_weights([[9.0, 9.0]])).all()


def test_clusters_without_points_have_a_center():
    # four centers, hard memberships and two tight clusters, so that memberships underflow
    generator = np.random.default_rng(0)
    X = np.concatenate([generator.normal(size=(30, 2)), 1e4 + generator.normal(size=(30, 2))])
    start = np.tile([1.0, 1e-300, 1e-300, 1e-300], (60, 1))
    start[30:] = [1e-300, 1.0, 1e-300, 1e-300]
    for cls in (FuzzyCMeans, OutlierFuzzyCMeans):
        model = cls(4, m=1.001, kernel="linear", init=start)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CollapseWarning)
            model.fit(X)
        assert np.isfinite(model.memberships_).all()
        assert model.dual_coef_.sum(axis=0) == pytest.approx(np.ones(4))


def test_outlier_weights_have_a_minimum_and_the_required_sum():
    weight = np.array([1.0, 2.0, 1.0, 1.0])
    w, unit, least = outlier_weights(np.array([0.0, 1.0, 4.0, 9.0]), 1.0, 10.0, weight)
    assert weight @ w == pytest.approx(10, rel=1e-12)
    assert w[0] == least == 2 / LARGEST_PART
    assert w[1:] == pytest.approx(unit * np.array([1, 2, 3]), rel=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_outlier_weights_do_not_depend_on_samples_at_centers(seed):
    """Weights are max(least, unit × root) and have the required sum."""
    generator = np.random.default_rng(seed)
    n, q = generator.integers(3, 60), generator.uniform(3, 40)
    spread = generator.uniform(size=n) ** generator.uniform(1, 40)
    weight = generator.integers(1, 4, n).astype(float)
    w, unit, least = outlier_weights(spread, q, 2.0 * n, weight)
    assert weight @ w == pytest.approx(2 * n, rel=1e-12)
    assert w.min() >= least == pytest.approx(2 * n / weight.sum() * LARGEST_PART ** (-1 / q))
    assert w == pytest.approx(np.maximum(least, unit * spread ** (1 / (q + 1))), rel=1e-12)


def test_outlier_weights_of_few_points():
    """Raising many points on centers to the minimum may move others below it."""
    generator = np.random.default_rng(104)
    n = int(generator.integers(2, 14))
    X = generator.normal(size=(n, int(generator.integers(1, 3))))
    X = np.round(X * generator.choice([0.6, 1, 3]), int(generator.choice([0, 0, 1, 6])))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (CollapseWarning, ConvergenceWarning, ParameterWarning))
        model = OutlierFuzzyCMeans(5, kernel="linear", q=20.0).fit(X)
    assert model.outlier_weights(X) == pytest.approx(model.outlier_weights_, rel=1e-9)
    assert model.outlier_weights_.min() >= LARGEST_PART ** (-1 / 20) * (1 - 1e-12)


@pytest.mark.parametrize("q", [3.0, 5.0, 10.0])
@pytest.mark.parametrize("X", [IRIS, make_ring_outliers(random_state=0)[0]], ids=["iris", "ring"])
def test_a_moderate_q_does_not_make_memberships_hard(X, q):
    with warnings.catch_warnings():
        warnings.simplefilter("error", CollapseWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = OutlierFuzzyCMeans(3, kernel="linear", q=q).fit(X)
        left = OutlierFuzzyCMeans(3, kernel="linear", q=q).fit(X)
    assert model.m_ == 2
    assert model.collapse_ratio_ > 1.2
    assert np.median(model.memberships_.max(axis=1)) < 0.99
    assert model.memberships_ == pytest.approx(left.memberships_)


@pytest.mark.parametrize("cls", [FuzzyCMeans, OutlierFuzzyCMeans, PossibilisticCMeans])
@pytest.mark.parametrize("engine", ["tiled", "dense"])
@pytest.mark.parametrize(
    ("offset", "dtype", "slack"), [(1e4, "f4", 1e-3), (1e6, "f8", 1e-6), (1e8, "f8", 1e-6)]
)
def test_linear_clusters_do_not_depend_on_the_origin(cls, engine, offset, dtype, slack):
    X = make_blobs(110, 2, centers=[[0, 0], [8, 8], [0, 9]], random_state=0)[0]
    far = (X + offset).astype(dtype)
    near = far.astype(float) - offset  # the data after rounding
    model = cls(3, kernel="linear", engine=engine).fit(far)
    expected = cls(3, kernel="linear").fit(near)
    assert model.converged_
    assert model.memberships_ == pytest.approx(expected.memberships_, abs=slack)
    assert model.memberships(far) == pytest.approx(model.memberships_, abs=slack)
    assert np.array_equal(model.predict(far), model.labels_)
    assert model.outlier_scores(far[:5]) == pytest.approx(
        expected.outlier_scores(near[:5]), rel=100 * slack
    )


def test_years_converge_in_float32():
    generator = np.random.default_rng(0)
    X = np.c_[generator.normal(2015, 5, 300), generator.normal(0, 5, 300)].astype(np.float32)
    assert FuzzyCMeans(3, kernel="linear").fit(X).converged_


def test_points_that_the_kernel_cannot_distinguish_are_an_error():
    X = make_blobs(50, 2, centers=[[0, 0], [9, 9]], random_state=0)[0]
    for cls in (FuzzyCMeans, OutlierFuzzyCMeans, PossibilisticCMeans):
        with pytest.raises(ValueError, match=r"bandwidth=1000000000.0.* smaller bandwidth"):
            cls(2, bandwidth=1e9).fit(X)
        with pytest.raises(ValueError, match=r"Linear\(\) cannot distinguish .* scale the data"):
            cls(2, kernel="linear").fit(X * 1e-160)
        with pytest.raises(ValueError, match=r"row 0 is too large for Linear\(\) in float64"):
            cls(2, kernel="linear").fit(X * 1e160)
        small = cls(2, kernel="linear").fit(X * 1e-140)
        assert np.array_equal(small.labels_, cls(2, kernel="linear").fit(X).labels_)
        one = cls(1, bandwidth=1e9).fit(X)
        assert np.isfinite(one.memberships_).all()


def test_a_large_q_stays_finite():
    X = make_two_groups_outliers(random_state=0)[0]
    for dtype in (np.float64, np.float32):
        model = OutlierFuzzyCMeans(2, q=20.0, bandwidth=2.0).fit(X.astype(dtype))
        assert np.isfinite(model.memberships_).all()
        assert np.isfinite(model.objective_)
        assert model.outlier_weights_.sum() == pytest.approx(len(X), rel=1e-4)


def test_collapse_is_predicted():
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = FuzzyCMeans(3, bandwidth=0.3).fit(X)  # m="auto" without a warning
    assert 1 < model.m_ < 2
    assert model.collapse_ratio_ > 1.2
    assert np.abs(model.memberships_ - 1 / 3).max() > 0.1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        left = FuzzyCMeans(3, m=2.0, bandwidth=0.3, tol=1e-9, max_iter=2000).fit(X)
    assert [w.category for w in caught] == [ParameterWarning, CollapseWarning]
    assert all(w.filename == __file__ for w in caught)  # the line that calls fit
    assert "below one" in str(caught[0].message)
    assert "centers of clusters 0 and 1" in str(caught[1].message)
    assert left.m_ == 2
    assert left.memberships_ == pytest.approx(np.full((100, 3), 1 / 3), abs=1e-3)


def test_a_given_m_is_used():
    X = make_blobs(100, 2, centers=[[0, 0], [6, 6]], random_state=0)[0]
    found = [FuzzyCMeans(2, m=m, kernel="linear").fit(X).m_ for m in (1.5, 2, 3)]
    assert found == [1.5, 2.0, 3.0]


def test_possibilistic_initialization_does_not_warn_about_m():
    X = np.random.default_rng(0).normal(size=(100, 2))
    with pytest.warns(CollapseWarning) as caught:
        PossibilisticCMeans(3, bandwidth=0.2).fit(X)
    assert len(caught) == 1
    assert "coincide" in str(caught[0].message)


@pytest.mark.parametrize("cls", [FuzzyCMeans, OutlierFuzzyCMeans, PossibilisticCMeans])
@pytest.mark.parametrize("init", ["k-means++", "k-means", "random", "gmm"])
def test_every_initialization_finds_separated_clusters(cls, init):
    X, y = make_blobs(150, 2, centers=[[0, 0], [9, 9], [0, 12]], random_state=0)
    labels = (
        cls(3, init=init, eta_scale=0.3).fit(X).labels_
        if cls is PossibilisticCMeans
        else (cls(3, init=init).fit(X).labels_)
    )
    assert adjusted_rand_score(y, labels) == 1


@pytest.mark.parametrize("cls", [FuzzyCMeans, OutlierFuzzyCMeans, PossibilisticCMeans, OneClassPCM])
def test_indefinite_kernels_are_rejected(cls):
    sigmoid = {"kernel": "sigmoid", "kernel_params": {"gamma": 0.01, "coef0": 0.1}}
    with pytest.raises(ValueError, match="not positive semidefinite"):
        cls(**sigmoid).fit(IRIS)
    with pytest.raises(ValueError, match="not positive semidefinite on these data"):
        cls(kernel=lambda X, Y: -cdist(X, Y)).fit(IRIS)
    with pytest.raises(ValueError, match="not positive semidefinite on these data"):
        cls(kernel="precomputed").fit(-cdist(IRIS, IRIS))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"m": 1.0}, "'m' parameter"),
        ({"m": 0.5}, "'m' parameter"),
        ({"q": 0.0}, "'q' parameter"),
        ({"q": -1.0}, "'q' parameter"),
        ({"total_weight": 0.0}, "'total_weight' parameter"),
        ({"centers": "bold"}, "'centers' parameter"),
        ({"n_clusters": 0}, "'n_clusters' parameter"),
        ({"n_clusters": 151}, "cannot form 151 clusters from"),
        ({"init": np.ones((3, 2))}, r"init has shape \(3, 2\)"),
        ({"init": -np.ones((150, 2))}, "nonnegative"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        OutlierFuzzyCMeans(**params).fit(IRIS)


def test_more_clusters_than_different_points():
    X = np.array([[0.0], [1.0], [2.0]]).repeat(5, axis=0)
    for cls in (FuzzyCMeans, OutlierFuzzyCMeans):
        with pytest.raises(
            ValueError, match="only 3 of the 15 rows are different. Use n_clusters=3"
        ):
            cls(4, bandwidth=1.0).fit(X)
        with pytest.raises(ValueError, match="only 2 of"):
            cls(3, bandwidth=1.0).fit(X, sample_weight=np.repeat([1, 1, 0], 5))
        assert len(set(cls(3, bandwidth=1.0).fit(X).labels_)) == 3


def test_other_kernels():
    X = IRIS[::3] / 5
    K = gaussian(X, 1.0)
    given = OutlierFuzzyCMeans(3, kernel="precomputed", **TIGHT).fit(K)
    direct = OutlierFuzzyCMeans(3, bandwidth=1.0, **TIGHT).fit(X)
    assert given.outlier_weights_ == pytest.approx(direct.outlier_weights_, rel=1e-4)
    assert given.outlier_weights(K[:5]) == pytest.approx(given.outlier_weights_[:5], rel=1e-9)
    for kernel in ("poly", "laplacian", "cosine"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (CollapseWarning, ConvergenceWarning, ParameterWarning))
            model = OutlierFuzzyCMeans(3, kernel=kernel).fit(X)
        assert np.isfinite(model.outlier_weights_).all()
        assert model.memberships_.sum(axis=1) == pytest.approx(np.ones(len(X)))
