"""suggest_n_clusters and the scorers: correct numbers of clusters and values of the indices."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softkern import (
    FuzzyCMeans,
    OutlierFuzzyCMeans,
    PossibilisticCMeans,
    plan,
    suggest_n_clusters,
)
from softkern.datasets import make_ring_outliers
from softkern.metrics.validity import (
    fuzzy_silhouette,
    partition_coefficient,
    partition_entropy,
    xie_beni,
)
from softkern.selection import validity_scorer

CENTERS = np.array([[0, 0], [9, 9], [0, 9], [9, 0], [18, 4]])
# with more centers than clusters, some centers may coincide, which raises a warning
pytestmark = pytest.mark.filterwarnings("ignore::softkern.CollapseWarning")
INDICES = ["fuzzy_silhouette", "xie_beni", "partition_coefficient", "partition_entropy"]


def blobs(c, n=120, seed=0):
    return make_blobs(n, 2, centers=CENTERS[:c], random_state=seed)[0]


def suggested_by(table):
    return table.index[table.suggested].tolist()


@pytest.mark.parametrize(
    ("kernel", "c"), [("rbf", 2), ("rbf", 3), ("rbf", 4), ("rbf", 5), ("linear", 2), ("linear", 4)]
)
def test_finds_the_number_of_separated_clusters(kernel, c):
    kinds = (FuzzyCMeans,) if c in {3, 4} else (FuzzyCMeans, OutlierFuzzyCMeans)
    for kind in kinds:
        for criterion in ("fuzzy_silhouette", "xie_beni"):
            model = kind(kernel=kernel)
            table = suggest_n_clusters(model, blobs(c), range(2, 7), criterion=criterion)
            assert suggested_by(table) == [c]


def test_table_contains_the_indices_of_the_fits():
    X = blobs(3)
    weight = np.random.default_rng(0).integers(1, 3, len(X))
    table = suggest_n_clusters(FuzzyCMeans(), X, [2, 4], sample_weight=weight)
    assert list(table.index) == [2, 4]
    assert table.index.name == "n_clusters"
    for c in (2, 4):
        model = FuzzyCMeans(c).fit(X, sample_weight=weight)
        operator = plan(X, kernel=model.kernel_).build(X)
        U = model.memberships_
        expected = {
            "fuzzy_silhouette": fuzzy_silhouette(operator, U, weight),
            "xie_beni": xie_beni(operator, U, 2.0, weight),
            "partition_coefficient": partition_coefficient(U, weight),
            "partition_entropy": partition_entropy(U, weight),
            "objective": model.objective_,
            "m": 2.0,
        }
        for name, value in expected.items():
            assert table.loc[c, name] == pytest.approx(value, rel=1e-9), name
        assert table.loc[c, "converged"]


def test_the_model_is_not_fitted_and_data_frames_are_accepted():
    model = FuzzyCMeans(7)
    frame = pd.DataFrame(blobs(3), columns=["a", "b"])
    assert suggested_by(suggest_n_clusters(model, frame, (n for n in (2, 3, 4)))) == [3]
    assert model.n_clusters == 7
    assert not hasattr(model, "labels_")


def test_ring_and_core_are_two_clusters():
    X = make_ring_outliers(random_state=0)[0]
    for criterion in ("fuzzy_silhouette", "xie_beni"):
        model = OutlierFuzzyCMeans(bandwidth=2.0)
        assert suggested_by(suggest_n_clusters(model, X, range(2, 6), criterion=criterion)) == [2]


def test_collapsed_fits_are_not_suggested():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = FuzzyCMeans(m=2.0, bandwidth=0.1, tol=1e-12, max_iter=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = suggest_n_clusters(model, X, [2, 3])
    assert (table.xie_beni > 1e3).all()
    assert suggested_by(table) == []
    lowered = suggest_n_clusters(FuzzyCMeans(bandwidth=0.1), X, [2, 3])
    assert (lowered.m < 2).all()


@pytest.mark.parametrize("index", INDICES)
def test_scorers_on_training_data_equal_the_table(index):
    X = blobs(3)
    table = suggest_n_clusters(FuzzyCMeans(), X, [3])
    sign = -1 if index in ("xie_beni", "partition_entropy") else 1
    score = validity_scorer(index)(FuzzyCMeans(3).fit(X), X)
    assert score == pytest.approx(sign * table.loc[3, index], rel=1e-6)


@pytest.mark.parametrize("index", INDICES[:2])
def test_grid_search(index):
    scorer = pickle.loads(pickle.dumps(validity_scorer(index)))  # as for other processes
    search = GridSearchCV(
        OutlierFuzzyCMeans(), {"n_clusters": [2, 3, 4], "m": [1.5, 2.0]}, scoring=scorer, cv=3
    )
    assert search.fit(blobs(3)).best_params_["n_clusters"] == 3


def test_several_scorers_at_once():
    scoring = {index: validity_scorer(index) for index in INDICES}
    search = GridSearchCV(
        FuzzyCMeans(), {"n_clusters": [2, 3]}, scoring=scoring, refit="xie_beni", cv=2
    ).fit(blobs(3))
    assert all(np.isfinite(search.cv_results_[f"mean_test_{name}"]).all() for name in scoring)


def test_weights_that_sum_to_one():
    X = np.random.default_rng(0).normal(size=(110, 2))
    X[40:80] += 8
    X[80:] += [0, 9]
    table = suggest_n_clusters(FuzzyCMeans(), X, range(2, 5), sample_weight=np.full(110, 1 / 110))
    assert suggested_by(table) == [3]
    plain = suggest_n_clusters(FuzzyCMeans(), X, range(2, 5))
    assert table.fuzzy_silhouette.to_numpy() == pytest.approx(plain.fuzzy_silhouette, rel=1e-3)


@pytest.mark.parametrize("index", INDICES)
def test_scorers_of_pipelines_use_the_transformed_data(index):
    scorer = validity_scorer(index)
    X = blobs(3) * [1.0, 50.0]
    scaler = StandardScaler().fit(X)
    expected = scorer(FuzzyCMeans(3).fit(scaler.transform(X)), scaler.transform(X))
    for pipeline in (
        make_pipeline(StandardScaler(), FuzzyCMeans(3)),
        make_pipeline(StandardScaler(), make_pipeline(FuzzyCMeans(3))),
    ):
        assert scorer(pipeline.fit(X), X) == pytest.approx(expected, rel=1e-9)


def test_grid_search_of_a_pipeline_on_a_sorted_table():
    X, y = make_blobs(120, 2, centers=CENTERS[:3], random_state=0)
    pipeline = make_pipeline(StandardScaler(), FuzzyCMeans())
    folds = KFold(3, shuffle=True, random_state=0)
    grid = {"fuzzycmeans__n_clusters": [2, 3, 4]}
    search = GridSearchCV(pipeline, grid, scoring=validity_scorer("fuzzy_silhouette"), cv=folds)
    assert search.fit(X[y.argsort()]).best_params_ == {"fuzzycmeans__n_clusters": 3}


def test_precomputed():
    X = blobs(3)
    K = np.exp(-np.square(X[:, None] - X).sum(axis=2) / 50)
    model = FuzzyCMeans(kernel="precomputed")
    assert suggested_by(suggest_n_clusters(model, K, [2, 3, 4])) == [3]
    fitted = model.set_params(n_clusters=3).fit(K)
    with pytest.raises(ValueError, match="kernel values with each other"):
        validity_scorer("fuzzy_silhouette")(fitted, K[:5])
    assert validity_scorer("partition_coefficient")(fitted, K[:5]) > 0.5


@pytest.mark.parametrize(
    ("model", "numbers", "options", "error", "message"),
    [
        (FuzzyCMeans(), [], {}, ValueError, "n_clusters_range is empty"),
        (FuzzyCMeans(), [1, 2], {}, ValueError, "contains 1. Use integers"),
        (FuzzyCMeans(), [2.5], {}, ValueError, "contains 2.5"),
        (FuzzyCMeans(), [2], {"criterion": "gap"}, ValueError, "criterion='gap' must be one of"),
        (PossibilisticCMeans(), [2], {}, TypeError, "do not sum to one"),
        (GridSearchCV(FuzzyCMeans(), {}), [2], {}, TypeError, "no parameter n_clusters"),
    ],
)
def test_bad_input(model, numbers, options, error, message):
    with pytest.raises(error, match=message):
        suggest_n_clusters(model, blobs(3), numbers, **options)


def test_unknown_index():
    with pytest.raises(ValueError, match="index='gap' must be one of"):
        validity_scorer("gap")
