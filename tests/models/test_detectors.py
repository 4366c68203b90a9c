"""Laws of all detectors: one score, one threshold, the same for training and new samples."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

import softkern
from softkern import OneClassPCM, WeightedOneClassSVM, WeightedSVDD, rank_points
from softkern.rows import RowFinder

DETECTORS = [OneClassPCM, WeightedSVDD, WeightedOneClassSVM]


def normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def with_outliers(d, seed, n=450, planted=50):
    """Return normal rows and, last, rows on a sphere far around them."""
    rng = np.random.default_rng(seed)
    far = rng.normal(size=(planted, d))
    far *= (4 + 2 * np.sqrt(d)) / np.linalg.norm(far, axis=1, keepdims=True)
    return np.vstack([rng.normal(size=(n, d)), far])


def rejected(model, d, seeds=3, n=500):
    shares = []
    for seed in range(seeds):
        X = normal(n + 2000, d, seed)
        shares.append(np.mean(model.fit(X[:n]).predict(X[n:]) == -1))
    return float(np.mean(shares))


@pytest.mark.parametrize("kind", DETECTORS)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_training_samples_are_recognized(kind, make):
    X = normal(200, 3)
    X[5] = X[4]
    model = kind().fit(make(X))
    order = np.random.default_rng(1).permutation(200)
    found, expected = model.outlier_scores(make(X[order])), model.outlier_scores_[order]
    assert found == pytest.approx(expected, rel=1e-5)
    is_support = np.isin(order, model.support_)
    assert np.array_equal(found[is_support], expected[is_support])
    # one at a time as in any batch
    alone = np.array([model.outlier_scores(make(X[i : i + 1]))[0] for i in range(20)])
    assert alone == pytest.approx(model.outlier_scores_[:20], rel=1e-5)
    # a row next to it is a new one, with the training row as its neighbor
    near = model.outlier_scores(make(X + 1e-4))
    assert (near <= model.outlier_scores_ + 1e-2).all()
    assert (near < model.outlier_scores_ - 1e-3).any()


@pytest.mark.parametrize("kind", DETECTORS)
@pytest.mark.parametrize("threshold", ["fresh", "margin"])
def test_all_results_have_one_order(kind, threshold):
    model = kind() if kind is OneClassPCM else kind(threshold=threshold)
    X, new = normal(300, 4), np.vstack([normal(200, 4, 1), normal(50, 4, 2) * 10])
    model.fit(X)
    scores = model.outlier_scores(new)
    order = np.argsort(scores, kind="stable")
    for values in (
        -model.score_samples(new),
        -model.decision_function(new),
        model.outlier_probability(new),
        rank_points(model, new)["outlier_score"].to_numpy(),
    ):
        # far away, decision values of one-class SVMs are equal up to rounding
        assert (np.diff(values[order]) >= -1e-12 * np.abs(values[order][1:])).all()
    is_outlier = model.decision_function(new) < 0
    assert np.array_equal(model.predict(new) == -1, is_outlier)


@pytest.mark.parametrize("d", [1, 2, 5, 20, 60])
def test_contamination_is_the_share_of_training_and_new_samples(d):
    X = normal(500, d)
    labels = OneClassPCM(contamination=0.1).fit_predict(X)
    assert np.mean(labels == -1) == pytest.approx(0.1, abs=0.003)
    assert 0.07 < rejected(OneClassPCM(contamination=0.1), d) < 0.14


@pytest.mark.parametrize("d", [1, 5, 20, 60])
def test_nu_is_the_share_of_training_and_new_samples(d):
    X = normal(500, d)
    model = WeightedSVDD(nu=0.1).fit(X)
    assert 0.05 < np.mean(model.predict(X) == -1) <= 0.1
    assert 0.07 < rejected(WeightedSVDD(nu=0.1), d) < 0.14


@pytest.mark.parametrize("kind", DETECTORS)
@pytest.mark.parametrize("d", [5, 20])
def test_planted_outliers_are_labeled(kind, d):
    X = with_outliers(d, 0)
    labels = kind().fit_predict(X)
    assert (labels[450:] == -1).sum() >= 45
    assert (labels[:450] == -1).sum() <= 6


@pytest.mark.parametrize("kind", DETECTORS)
@pytest.mark.parametrize("d", [2, 20])
def test_outlier_probability_is_calibrated(kind, d):
    shares = []
    for seed in range(4):
        X = normal(4500, d, seed)
        probability = kind().fit(X[:500]).outlier_probability(X[500:])
        assert (probability >= 0).all()
        assert (probability <= 1).all()
        shares.append([np.mean(probability > 1 - p) for p in (0.5, 0.2, 0.1, 0.05)])
    assert np.mean(shares, axis=0) == pytest.approx([0.5, 0.2, 0.1, 0.05], rel=0.25)


def test_outlier_probability_of_other_data_types():
    X = normal(200, 3)
    model = OneClassPCM().fit(pd.DataFrame(X, columns=list("abc")))
    table = pd.DataFrame(X, columns=list("abc"))
    expected = model.outlier_probability(table)
    surprisal = rank_points(model)["outlier_score"].to_numpy()
    assert 1 - 10.0**-surprisal == pytest.approx(expected)
    dask = pytest.importorskip("dask.array")
    chunks = dask.from_array(X, chunks=(50, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of column names
        assert model.outlier_probability(chunks).compute() == pytest.approx(expected)


@pytest.mark.parametrize("kind", [WeightedSVDD, WeightedOneClassSVM])
def test_support_vectors_are_judged_without_themselves(kind):
    X = normal(120, 2)
    model = kind(nu=0.2).fit(X)
    similarity = model._stored_operator().cross(X) @ model.dual_coef_
    outside = np.setdiff1d(np.arange(120), model.support_)
    assert model.outlier_scores_[outside] == pytest.approx(-np.log(similarity[outside]))
    assert (model.outlier_scores_ >= -np.log(similarity) - 1e-9).all()
    # the slow reference leaves out one sample at a time
    exact = np.array(
        [
            kind(nu=0.2, bandwidth=model.bandwidth_)
            .fit(np.delete(X, i, 0))
            .outlier_scores(X[[i]])[0]
            for i in range(120)
        ]
    )
    found = model.outlier_scores_
    assert found[outside] == pytest.approx(exact[outside], abs=0.02)
    assert np.corrcoef(found[model.support_], exact[model.support_])[0, 1] > 0.95


def test_a_sample_without_weight_is_judged_like_any_other():
    X = normal(200, 2)
    weight = np.ones(200)
    weight[:20] = 0
    for kind in DETECTORS:
        model, rest = kind().fit(X, sample_weight=weight), kind().fit(X[20:])
        assert model.outlier_scores_[:20] == pytest.approx(rest.outlier_scores(X[:20]))


def test_log_density_judges_training_samples_with_themselves():
    X = normal(100, 2)
    model = OneClassPCM(bandwidth=0.5).fit(X)
    K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * 0.5**2))
    assert model.log_density(X) == pytest.approx(np.log(K @ model.dual_coef_))
    assert (model.score_samples(X) != model.log_density(X)).all()


def test_a_reduced_model_keeps_the_scores_of_its_support():
    X = normal(300, 2)
    model = OneClassPCM().fit(X)
    reduced = model.reduce(0.01)
    kept = reduced.support_
    assert len(kept) < 300
    assert np.array_equal(reduced.outlier_scores(X[kept]), model.outlier_scores_[kept])


def test_files_of_earlier_versions_get_the_threshold_of_this_one(tmp_path):
    from softkern.models.state import from_state, to_state

    model = OneClassPCM().fit(normal(100, 3))
    state = to_state(model)
    del state["fitted"]["support_scores"]
    state["fitted"]["offset_"] = -7.0  # a log density
    older = from_state(state)
    assert older.offset_ == model.offset_
    new = normal(50, 3, 1)
    assert np.array_equal(older.predict(new), model.predict(new))
    softkern.save(older, tmp_path / "model.safetensors")
    again = softkern.load(tmp_path / "model.safetensors")
    assert np.array_equal(again.predict(new), model.predict(new))


class TestRowFinder:
    def test_rows_are_found(self):
        X = np.round(normal(1000, 2), 1)
        finder = RowFinder(X)
        found = finder.find(X[::-1])
        assert np.array_equal(X[found], X[::-1])
        assert (finder.find(X + 1e-9) == -1).all()
        assert finder.find(np.array([[-0.0, 0.0]]))[0] == RowFinder(X).find(np.zeros((1, 2)))[0]

    def test_rows_with_equal_keys_are_compared(self, monkeypatch):
        monkeypatch.setattr(softkern.rows, "_row_keys", lambda X: np.zeros(len(X), np.uint64))
        X = np.arange(6.0).reshape(3, 2)
        assert RowFinder(X).find(X[:1] + 0.5)[0] == -1
