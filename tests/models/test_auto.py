import pickle
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine, make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV

import softkern
from softkern import AutoClustering, FuzzyCMeans, rank_points
from softkern.exceptions import ApproximationWarning, CollapseWarning, DataError, warn
from softkern.models import auto_decision, kernel_model
from softkern.models.auto_decision import SOFT_MODELS
from tests.models.contract import QUIET, ModelContract


class AutomaticContract(ModelContract):
    """The contract without kernel and loop, which the inner models choose."""

    def make(self, **params):
        return AutoClustering(**params)

    def test_grid_search(self, X):
        by_number = {"scoring": lambda model, X, y=None: model.n_clusters_, "cv": 2}
        search = GridSearchCV(self.make(), {"n_clusters": [2, 3]}, **by_number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QUIET)
            assert search.fit(X).best_params_ == {"n_clusters": 3}

    def test_convergence_and_plan_are_reported(self, X):
        model = self.fitted(X)
        assert model.converged_ is True
        assert len(model.history_["objective"]) == model.n_iter_
        assert "n = " in str(model.plan_)
        assert np.all(np.asarray(model.bandwidth_) > 0)

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"n_clusters": 0}, "n_clusters"),
            ({"n_clusters": "many"}, "n_clusters"),
            ({"engine": "quantum"}, "engine"),
        ],
    )
    def test_bad_parameters(self, params, message, X):
        with pytest.raises(ValueError, match=message):
            self.make(**params).fit(X)


class TestInFewColumns(AutomaticContract):
    low_rank = 30
    low_rank_agreement = 0.6  # as for AlphaCutClustering
    products = 3  # memberships have another kernel


class TestInManyColumns(AutomaticContract):
    engines = ("dense", "tiled", "nystroem")
    low_rank = 100
    low_rank_agreement = 0.6  # as for OneClassPCM in as many columns
    products = 4  # of two models: one for clusters, one for outliers at two scales
    test_scikit_learn_checks = None  # same data as in few columns

    @pytest.fixture
    def X(self):
        centers = 8 * np.eye(5)[:3]
        return make_blobs(150, 5, centers=centers, random_state=0)[0]

    def test_units_do_not_matter(self, X):
        units = np.array([1000, 1e-3, 1, 7, 50])
        one, two = self.fitted(X), self.make().fit(X * units)
        assert self.same(one.predict(X), two.predict(X * units))
        assert two.memberships(X * units) == pytest.approx(one.memberships(X), abs=1e-3)
        assert self.rank_agreement(one.outlier_scores_, two.outlier_scores_) > 1 - 1e-6

    def test_column_names(self, X):
        names = list("abcde")
        table = pd.DataFrame(X, columns=names)
        model = self.make().fit(table)
        assert list(model.feature_names_in_) == names
        for name in ("predict", "memberships", "outlier_scores", "overlap_scores"):
            assert len(getattr(model, name)(table)) == len(X)  # without a warning
        with pytest.raises(ValueError, match="feature names"):
            model.predict(table[names[::-1]])


def draw_clusters(count, d, n=150, distance=8.0, seed=0):
    """Draw unit normal clusters, each shifted along another column. Return their labels too."""
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % count
    X = generator.normal(size=(n, d))
    X[np.arange(n), labels] += distance / np.sqrt(2)
    return X, labels


def assert_same(one, two, X):
    """Assert that two models have the same clusters and memberships."""
    assert one.n_clusters_ == two.n_clusters_
    assert adjusted_rand_score(one.predict(X), two.predict(X)) == 1
    assert np.sort(one.memberships(X), axis=1) == pytest.approx(
        np.sort(two.memberships(X), axis=1), abs=1e-5
    )


# Clusters and outliers


@pytest.mark.parametrize("d", [1, 2, 3, 4, 10, 40])
def test_two_blobs_in_any_number_of_columns(d):
    generator = np.random.default_rng(d)
    labels = np.arange(400) % 2
    X = generator.normal(size=(400, d))
    X[:, 0] += 7 * labels
    model = AutoClustering().fit(X)
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(labels, model.labels_) > 0.95


@pytest.mark.parametrize("d", [2, 5, 20])
def test_one_cluster_is_not_split(d):
    model = AutoClustering().fit(np.random.default_rng(d).normal(size=(300, d)))
    assert model.n_clusters_ == 1
    assert (model.labels_ == 0).all()
    assert (model.memberships_ == 1).all()
    assert (model.overlap_scores_ == 0).all()
    assert list(model.comparison_["clusters"]) == [1]
    assert "no " in model.reason_


def test_clusters_of_any_shape_in_two_columns():
    X, y = make_moons(500, noise=0.08, random_state=0)
    assert adjusted_rand_score(y, AutoClustering().fit(X).labels_) > 0.95


def test_classes_of_wine_are_found():
    X, y = load_wine(return_X_y=True)
    model = softkern.cluster(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) > 0.8


@pytest.mark.parametrize("d", [5, 30])
def test_the_midpoint_of_two_clusters_belongs_to_both(d):
    X, labels = draw_clusters(2, d, n=400)
    ends = np.stack([X[labels == c].mean(axis=0) for c in (0, 1)])
    model = AutoClustering().fit(X)
    middle = ends.mean(axis=0, keepdims=True)
    assert model.memberships(middle) == pytest.approx(np.full((1, 2), 0.5), abs=0.25)
    assert model.overlap_scores(middle)[0] > 2 * model.overlap_scores(ends).max()
    assert model.memberships(ends).max(axis=1) == pytest.approx(1, abs=0.1)


def test_equal_rows_far_from_all_others_are_flagged():
    X, _ = draw_clusters(2, 5, n=600)
    X[:3] = -999.0
    table = rank_points(AutoClustering().fit(X))
    assert table.sort_index()["is_outlier"].to_numpy()[:3].all()
    assert table["is_outlier"].sum() <= 5


@pytest.mark.parametrize(("d", "far"), [(4, 1), (4, 5), (10, 5), (30, 1)])
def test_few_rows_far_from_all_clusters_are_in_no_cluster(d, far):
    X, _ = draw_clusters(2, d, n=600)
    X[:far, 2:] += 40 / np.sqrt(d - 2)
    model = AutoClustering().fit(X)
    assert model.n_clusters_ == 2
    assert (model.labels_[:far] == -1).all()
    assert (model.labels_[far:] >= 0).all()
    assert np.array_equal(model.predict(X), model.labels_)
    assert (model.predict(X[:far] + 1) == -1).all()


def test_outliers_of_a_single_cluster_belong_to_it():
    """With a single cluster, noise would be nothing but a second cluster."""
    X = np.random.default_rng(0).normal(size=(600, 5))
    X[:5] += 20
    model = AutoClustering().fit(X)
    assert (model.labels_ == 0).all()
    assert rank_points(model).sort_index()["is_outlier"].to_numpy()[:5].all()


# A given number of clusters


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("d", [2, 6])
def test_a_given_number_of_clusters_is_used(d, count):
    X, labels = draw_clusters(min(3, d), d, n=300)
    model = AutoClustering(count).fit(X)
    assert model.n_clusters_ == model.memberships_.shape[1] == count
    assert sorted(set(model.labels_.tolist())) == list(range(count))
    if count == len(set(labels)):
        assert adjusted_rand_score(labels, model.labels_) > 0.95


@pytest.mark.parametrize(("n", "count"), [(2, 2), (8, 2), (9, 5), (40, 7)])
def test_a_given_number_of_clusters_is_used_for_few_rows(n, count):
    X = np.random.default_rng(0).normal(size=(n, 6))
    model = AutoClustering(count).fit(X)
    assert model.n_clusters_ == count
    assert set(model.labels_.tolist()) == set(range(count))
    assert np.array_equal(model.predict(X), model.labels_)


def test_the_function_equals_the_estimator():
    X, _ = draw_clusters(2, 5)
    weight = np.arange(len(X)) % 3
    one = softkern.cluster(X, 3, sample_weight=weight, random_state=1)
    two = AutoClustering(3, prepare=True, random_state=1).fit(X, sample_weight=weight)
    assert np.array_equal(one.memberships_, two.memberships_)


# Reported attributes


def test_models_are_compared_and_one_is_chosen():
    X, _ = draw_clusters(3, 6, n=300)
    model = AutoClustering().fit(X)
    table = model.comparison_
    assert list(table.columns) == ["model", "clusters", "separation", "stability", "taken"]
    assert set(table["model"]) == set(SOFT_MODELS)
    assert table["taken"].tolist() == [True] + [False] * (len(table) - 1)
    assert table["model"][0] == type(model.model_).__name__
    assert table["clusters"][0] == model.n_clusters_
    assert table["stability"].between(-1, 1).all()
    assert "gaps between its clusters" in model.reason_
    assert model.repeats_ == 0


def test_halves_are_fitted_with_the_plan_of_all_rows(monkeypatch):
    planned = []

    def plan(rows, **options):
        planned.append(rows.shape[0])
        return softkern.plan(rows, **options)

    monkeypatch.setattr(kernel_model, "plan", plan)
    AutoClustering().fit(draw_clusters(3, 6, n=300)[0])
    assert planned == [300] * 4  # three models and the model of outlier scores


def test_repeated_rows_are_counted():
    X, _ = draw_clusters(2, 5)
    assert AutoClustering().fit(np.vstack([X, X[:7]])).repeats_ == 7


# Invariances


@pytest.mark.parametrize("d", [2, 6])
def test_repeating_the_whole_table_changes_nothing(d):
    X, _ = draw_clusters(2, d, n=200, distance=6.0)
    X[0] += 40
    once, thrice = (AutoClustering().fit(np.tile(X, (k, 1))) for k in (1, 3))
    assert_same(once, thrice, X)
    flags = [rank_points(model)["is_outlier"].sort_index().to_numpy() for model in (once, thrice)]
    assert np.array_equal(np.tile(flags[0], 3), flags[1])
    assert thrice.repeats_ == 400


@pytest.mark.parametrize("d", [4, 8])
def test_weights_are_repeated_rows_for_near_clusters(d):
    X, _ = draw_clusters(2, d, n=160, distance=5.0)
    counts = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = AutoClustering().fit(X, sample_weight=counts)
    assert_same(weighted, AutoClustering().fit(np.repeat(X, counts, axis=0)), X)


@pytest.mark.parametrize("d", [4, 12])
def test_row_order_does_not_matter_for_near_clusters(d):
    X, _ = draw_clusters(2, d, n=160, distance=5.0)
    order = np.random.default_rng(1).permutation(len(X))
    assert_same(AutoClustering().fit(X), AutoClustering().fit(X[order]), X)


def test_row_order_does_not_matter_for_a_subsample(monkeypatch):
    settings = replace(auto_decision.SPLITTING, max_rows=700)
    monkeypatch.setattr(auto_decision, "SPLITTING", settings)
    X, labels = draw_clusters(2, 4, n=800, distance=6.0)
    order = np.random.default_rng(1).permutation(len(X))
    one = AutoClustering().fit(X)
    assert_same(one, AutoClustering().fit(X[order]), X)
    assert adjusted_rand_score(labels, one.labels_) > 0.95


# Small and degenerate tables


EDGES = {
    "one row": np.ones((1, 5)),
    "two rows": np.arange(10.0).reshape(2, 5),
    "equal rows": np.ones((30, 5)),
    "one row, two columns": np.ones((1, 2)),
    "two rows, two columns": np.arange(4.0).reshape(2, 2),
    "equal rows, two columns": np.ones((30, 2)),
    "more columns than rows": np.random.default_rng(0).normal(size=(20, 60)),
    "two values": np.random.default_rng(0).integers(0, 2, (60, 6)).astype(float),
}


@pytest.mark.parametrize("X", EDGES.values(), ids=EDGES)
@pytest.mark.parametrize("count", ["auto", 1])
def test_small_tables_are_one_cluster(X, count):
    model = AutoClustering(count).fit(X)
    assert model.n_clusters_ == 1
    assert (model.labels_ == 0).all()
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.isfinite(model.outlier_scores_).all()


def test_more_columns_than_rows():
    X, labels = draw_clusters(2, 120, n=80, distance=16.0)
    assert adjusted_rand_score(labels, AutoClustering().fit(X).labels_) > 0.9


@pytest.mark.parametrize("d", [2, 5])
def test_constant_columns_change_nothing(d):
    X, _ = draw_clusters(2, d, n=200)
    constant = np.full((200, 3), 7.0)
    one = AutoClustering().fit(X)
    two = AutoClustering().fit(np.hstack([X, constant]))
    assert one.n_clusters_ == two.n_clusters_ == 2
    assert adjusted_rand_score(one.labels_, two.labels_) == 1


# Saved models


@pytest.mark.parametrize("d", [2, 6])
@pytest.mark.parametrize("count", [1, 2])
def test_files_and_pickles_give_the_same_results(tmp_path, d, count):
    X, _ = draw_clusters(count, d)
    X[0] += 60
    model = AutoClustering().fit(X)
    softkern.save(model, tmp_path / "model.safetensors")
    for other in (softkern.load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.memberships(X), model.memberships(X))
        assert np.array_equal(other.predict(X), model.labels_)
        assert np.array_equal(other.outlier_scores(X), model.outlier_scores(X))
        assert other.reason_ == model.reason_
        pd.testing.assert_frame_equal(other.comparison_, model.comparison_)
    assert clone(model).get_params() == model.get_params()


def make_hard_tables():
    """Tables for which some of the trial models do not converge or coincide."""
    rng = np.random.default_rng(0)

    def two(n, d):
        return np.concatenate([rng.normal(size=(n, d)), rng.normal(size=(n, d)) + 8])

    return {
        "few rows": two(6, 5),
        "repeats": np.repeat(two(20, 6), 5, axis=0),
        "constant columns": np.column_stack([two(40, 4), np.ones((80, 3))]),
        "skew": np.exp(two(60, 5)),
        "200 columns": two(30, 200),
        "one group": rng.normal(size=(150, 6)),
        "yes and no": rng.integers(0, 2, (120, 6)).astype(float),
        "two columns": two(30, 2),
    }


@pytest.mark.parametrize(
    ("name", "n_clusters"),
    [
        *((name, "auto") for name in make_hard_tables()),
        ("repeats", 3),
        ("skew", 3),
        ("one group", 3),
    ],
)
def test_trial_fits_raise_no_warnings(name, n_clusters):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        softkern.cluster(make_hard_tables()[name], n_clusters)


def replace_models(monkeypatch, **makers):
    """Compare only the models that these functions make."""
    monkeypatch.setattr(auto_decision, "SOFT_MODELS", makers)


def make_failing(error):
    def make(*args, **options):
        raise error

    return make


def test_warnings_of_trial_fits_are_suppressed(monkeypatch):
    tried = []

    def make(*args, name, maker, **options):
        tried.append(name)
        warn(f"{name} is not sure", CollapseWarning)
        return maker(*args, **options)

    replace_models(
        monkeypatch, **{k: partial(make, name=k, maker=v) for k, v in SOFT_MODELS.items()}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        softkern.cluster(make_hard_tables()["repeats"])
    assert set(tried) == set(SOFT_MODELS)


def test_an_approximation_in_a_trial_fit_is_reported(monkeypatch):
    def make(*args, **options):
        warn("half of the kernel matrix is left out", ApproximationWarning)
        return SOFT_MODELS["FuzzyCMeans"](*args, **options)

    replace_models(monkeypatch, FuzzyCMeans=make)
    with pytest.warns(ApproximationWarning, match="half of the kernel"):
        softkern.cluster(draw_clusters(2, 5)[0])


def test_trial_fits_do_not_change_the_warning_filters(monkeypatch):
    """Filters are shared by all threads, and another one may change them during the fit."""
    before = list(warnings.filters)

    def make(*args, **options):
        assert warnings.filters == before
        return SOFT_MODELS["FuzzyCMeans"](*args, **options)

    replace_models(monkeypatch, FuzzyCMeans=make)
    softkern.cluster(draw_clusters(2, 5)[0])


@pytest.mark.parametrize("error", [ValueError("a bug"), RuntimeError("a bug")])
def test_errors_in_trial_fits_are_not_hidden(monkeypatch, error):
    replace_models(
        monkeypatch, FuzzyCMeans=SOFT_MODELS["FuzzyCMeans"], OneClassMixture=make_failing(error)
    )
    with pytest.raises(type(error), match="a bug"):
        softkern.cluster(draw_clusters(2, 5)[0])


def test_models_that_cannot_be_fitted_are_left_out(monkeypatch):
    makers = SOFT_MODELS | {"FuzzyCMeans": make_failing(DataError("too few rows"))}
    replace_models(monkeypatch, **makers)
    model = softkern.cluster(draw_clusters(2, 5)[0])
    table = model.comparison_.set_index("model")
    assert model.n_clusters_ == 2
    assert table.loc["FuzzyCMeans", "clusters"] == 0
    assert not table.loc["FuzzyCMeans", "taken"]


def test_there_is_one_cluster_if_no_model_can_be_fitted(monkeypatch):
    replace_models(monkeypatch, FuzzyCMeans=make_failing(DataError("too few rows")))
    model = softkern.cluster(draw_clusters(2, 5)[0])
    assert model.n_clusters_ == 1
    assert "no model could be fitted" in model.reason_


def test_a_failed_fit_leaves_no_results(monkeypatch):
    X, _ = draw_clusters(2, 5)
    model = AutoClustering().fit(X[:, :2])
    replace_models(monkeypatch, FuzzyCMeans=make_failing(RuntimeError("a bug")))
    with pytest.raises(RuntimeError, match="a bug"):
        model.fit(X)
    assert not hasattr(model, "reason_")
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_clusters_are_numbered_by_size_without_gaps(monkeypatch):
    """A model may lose clusters: if two centers coincide, one of them has no rows."""

    class WithTwin(FuzzyCMeans):
        def _fit(self, rows):
            start = self.init
            self.n_clusters += 1
            self.init = np.column_stack([start[:, :1] / 2, start[:, :1] / 2, start[:, :0:-1]])
            super()._fit(rows)

    X = np.random.default_rng(0).normal(size=(250, 6))
    X[100:150, 0] += 9
    X[150:, 1] += 9
    replace_models(monkeypatch, FuzzyCMeans=WithTwin)
    model = AutoClustering().fit(X)
    sizes = np.bincount(model.labels_)
    assert model.n_clusters_ == model.memberships_.shape[1] == len(sizes) == 3
    assert (np.diff(sizes) <= 0).all()
    assert (sizes > 0).all()
    assert model.comparison_["clusters"][0] == 3
    assert model.memberships_.sum(axis=1) == pytest.approx(1)
    assert np.array_equal(np.argmax(model.memberships_, axis=1), model.labels_)
    assert np.array_equal(model.predict(X), np.argmax(model.memberships(X), axis=1))


def test_a_saved_model_has_the_same_cluster_numbers(tmp_path, monkeypatch):
    def fit_reversed(self, rows):
        self.init = self.init[:, ::-1]
        fit(self, rows)

    X = np.random.default_rng(0).normal(size=(210, 5))
    X[140:, 0] += 9
    fit = FuzzyCMeans._fit
    monkeypatch.setattr(FuzzyCMeans, "_fit", fit_reversed)
    replace_models(monkeypatch, FuzzyCMeans=FuzzyCMeans)
    model = AutoClustering().fit(X)
    assert np.bincount(model.labels_).tolist() == [140, 70]
    softkern.save(model, tmp_path / "model.safetensors")
    assert np.array_equal(softkern.load(tmp_path / "model.safetensors").predict(X), model.labels_)
