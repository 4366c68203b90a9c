"""Estimators on Dask arrays give the same results for any chunks."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

import softkern
from softkern.exceptions import DataError
from softkern.models.state_schema import fitted_specs

N = 600
MODELS = {
    "AlphaCutClustering": {},
    "FuzzyCMeans": {"n_clusters": 3},
    "KernelSpectralClustering": {"n_clusters": 3, "bandwidth": 3.0},
    "OneClassKMeans": {"n_clusters": 3},
    "OneClassMixture": {"n_clusters": 3},
    "OneClassPCM": {},
    "OutlierFuzzyCMeans": {"n_clusters": 3},
    "PossibilisticCMeans": {"n_clusters": 3},
    "SoftKernelSpectralClustering": {"n_clusters": 3, "bandwidth": 3.0},
    "WeightedOneClassSVM": {},
    "WeightedSVDD": {},
    "AutoClustering": {},
}
LOOPS = {
    "FuzzyCMeans": {"n_clusters": 3, "m": 1.8, "bandwidth": 5.0, "n_init": 2, "tol": 1e-8},
    "OneClassPCM": {"bandwidth": 2.0, "tol": 1e-8},
    "OutlierFuzzyCMeans": {"n_clusters": 3, "m": 1.8, "bandwidth": 5.0, "n_init": 2, "tol": 1e-7},
    "PossibilisticCMeans": {"n_clusters": 3, "bandwidth": 5.0, "eta": 0.3, "tol": 1e-8},
}


@pytest.fixture(autouse=True)
def _single_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def X():
    centers = np.array([[0, 0, 0, 0], [12, 0, 0, 0], [0, 12, 0, 0.0]])
    return make_blobs(N, centers=centers, random_state=3)[0]


@pytest.fixture(scope="module")
def weight():
    return np.random.default_rng(0).integers(0, 3, N).astype(float)


def make(name, options, **more):
    return getattr(softkern, name)(**options, **more)


def in_chunks(X, chunk):
    return da.from_array(X, chunks=(chunk, -1))


@pytest.mark.parametrize("name", LOOPS)
def test_all_pairs_equal_the_fit_in_memory(name, X, weight):
    one = make(name, LOOPS[name], engine="tiled").fit(X, sample_weight=weight)
    params = {"rank": None, "sample_rows": 300}
    slack = 0.05 if name == "OneClassPCM" else 1e-5  # the wide kernel comes from the subsample
    for chunk in (N, 333) if name == "FuzzyCMeans" else (500,):
        model = make(name, LOOPS[name], engine="distributed", engine_params=params)
        model.fit(in_chunks(X, chunk), sample_weight=in_chunks(weight[:, None], 77)[:, 0])
        assert model.engine_ == "distributed"
        assert isinstance(model.memberships_, da.Array)
        assert model.memberships_.compute() == pytest.approx(one.memberships_, abs=1e-6)
        assert model.memberships(X[:9]) == pytest.approx(one.memberships(X[:9]), abs=1e-6)
        assert model.outlier_scores(X[:9]) == pytest.approx(one.outlier_scores(X[:9]), abs=slack)
        is_used = weight > 0
        assert model.outlier_scores_.compute()[is_used] == pytest.approx(
            one.outlier_scores_[is_used], abs=slack
        )
        assert model.objective_ == pytest.approx(one.objective_, rel=1e-6)
        if hasattr(one, "labels_"):
            assert np.array_equal(model.labels_.compute(), one.labels_)
        else:
            assert model.offset_ == pytest.approx(one.offset_, abs=1e-6)
            assert np.array_equal(model.predict(in_chunks(X, 600)).compute(), one.predict(X))


@pytest.mark.parametrize("name", ["FuzzyCMeans", "OneClassPCM"])
def test_landmarks_are_accurate_and_independent_of_chunks(name, X, weight):
    options = {**LOOPS[name], "bandwidth": 5.0, "tol": 1e-3}
    one = make(name, options, engine="tiled").fit(X, sample_weight=weight)
    params = {"rank": 150, "sample_rows": 400}
    models = [
        make(name, options, engine="nystroem", engine_params=params).fit(
            in_chunks(X, chunk), sample_weight=weight
        )
        for chunk in (N, 451)
    ]
    first = models[0].memberships_.compute()
    for model in models[1:]:
        assert model.memberships_.compute() == pytest.approx(first, abs=1e-8)
        assert model.outlier_scores_.compute() == pytest.approx(
            models[0].outlier_scores_.compute(), abs=1e-6
        )
        assert np.array_equal(model.support_, models[0].support_)
    assert 0 < models[0].approximation_error_ < 0.01
    assert len(models[0].support_) <= 150
    assert np.array_equal(models[0].support_vectors_, X[models[0].support_])
    assert first == pytest.approx(one.memberships_, abs=0.01)
    scores = models[0].outlier_scores_.compute(), one.outlier_scores_
    ranks = [np.argsort(np.argsort(s)) for s in scores]
    is_used = weight > 0
    assert np.corrcoef(ranks[0][is_used], ranks[1][is_used])[0, 1] > 0.99


@pytest.mark.parametrize("name", MODELS)
def test_every_estimator_fits_and_predicts(name, X, weight):
    model = make(name, MODELS[name], engine_params={"sample_rows": 300})
    before = clone(model).get_params()
    model.fit(in_chunks(X, 500), sample_weight=weight)
    assert model.get_params() == before
    assert model.sample_rows_.shape == (300,)
    assert model.sample_weight_.shape == (N,)
    new = in_chunks(X + 0.5, 400)
    for method in ("predict", "memberships", "outlier_scores"):
        lazy = getattr(model, method)(new)
        assert isinstance(lazy, da.Array)
        here = getattr(model, method)(X + 0.5)
        assert lazy.shape == here.shape
        assert lazy.dtype == here.dtype
        assert lazy.compute() == pytest.approx(here, abs=1e-9)
    assert model.memberships_.compute() == pytest.approx(model.memberships(X), abs=1e-9)
    if hasattr(model, "labels_"):
        labels = model.labels_.compute()
        assert np.array_equal(labels, model.predict(X))
        truth = np.argmin(((X[:, None, :2] - np.array([[0, 0], [12, 0], [0, 12]])) ** 2).sum(2), 1)
        clear = labels >= 0
        assert clear.mean() > 0.8
        table = pd.crosstab(labels[clear], truth[clear]).to_numpy()
        assert table.max(axis=1).sum() > 0.98 * clear.sum()
    scores = model.outlier_scores_.compute()
    assert scores.shape == (N,)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", ["AlphaCutClustering", "FuzzyCMeans", "WeightedSVDD"])
def test_complete_subsample_equals_the_fit_in_memory(name, X):
    one = make(name, MODELS[name]).fit(X)
    model = make(name, MODELS[name]).fit(in_chunks(X, 500))
    assert model.engine_ == one.engine_
    assert model.memberships_.compute() == pytest.approx(one.memberships(X), abs=1e-12)
    assert model.outlier_scores_.compute() == pytest.approx(one.outlier_scores_, abs=1e-12)
    assert np.array_equal(model.support_, one.support_) if hasattr(one, "support_") else True


def test_options_for_dask_are_not_passed_to_the_subsample(X):
    params = {"rank": 40, "sample_rows": 300}
    model = softkern.WeightedSVDD(engine="distributed", engine_params=params)
    assert model.fit(in_chunks(X, 400)).engine_ == "dense"


def test_subsample_scores_exclude_the_row_itself(X):
    far = np.vstack([X, [[40, 40, 40, 40.0]]])
    model = softkern.WeightedSVDD(bandwidth=2.0, engine_params={"sample_rows": N})
    model.fit(in_chunks(far, 500), sample_weight=np.r_[np.ones(N), 9.0])
    assert N in model.sample_rows_
    assert int(model.outlier_scores_.argmax()) == N


def test_dataframes_and_column_names(X):
    frame = pd.DataFrame(X, columns=list("abcd"))
    table = dd.from_pandas(frame, npartitions=3)
    model = softkern.OneClassPCM(engine_params={"sample_rows": 300}).fit(table)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.predict(table).compute() == pytest.approx(model.predict(frame))
    with pytest.raises(DataError, match="select them in that order"):
        model.predict(table[list("badc")])
    with pytest.raises(DataError, match="expecting 4 features"):
        model.predict(in_chunks(X[:, :3], 500))


def test_given_initialization(X, weight):
    start = np.random.default_rng(5).dirichlet(np.ones(3), N)
    options = {**LOOPS["FuzzyCMeans"], "init": start, "tol": 1e-4}
    one = softkern.FuzzyCMeans(**options, engine="tiled").fit(X, sample_weight=weight)
    options |= {"engine": "tiled", "init": in_chunks(start, 200)}
    model = softkern.FuzzyCMeans(**options).fit(in_chunks(X, 500), sample_weight=weight)
    assert model.memberships_.compute() == pytest.approx(one.memberships_, abs=1e-6)
    with pytest.raises(ValueError, match=r"init has shape \(600, 2\)"):
        model.set_params(init=start[:, :2]).fit(in_chunks(X, 500))


def test_float32_is_kept(X):
    model = softkern.FuzzyCMeans(3, engine="nystroem", engine_params={"rank": 60})
    model.fit(in_chunks(X.astype(np.float32), 500))
    assert model.memberships_.dtype == model.outlier_scores_.dtype == np.float32
    assert model.memberships_.compute().dtype == np.float32


def test_failed_fit_leaves_declared_attributes_only(X, monkeypatch):
    def fail(*arguments):
        raise MemoryError

    monkeypatch.setattr("softkern.dask.fit._set_row_attributes", fail)
    for name in ("FuzzyCMeans", "OneClassPCM"):
        options = {**LOOPS[name], "bandwidth": 9.0, "tol": 1e-3}
        model = make(name, options, engine="nystroem", engine_params={"rank": 150})
        with pytest.raises(MemoryError):
            model.fit(in_chunks(X, 500))
        declared = fitted_specs(type(model)).keys() | model.get_params().keys()
        assert vars(model).keys() <= declared


def test_landmark_options_are_not_passed_to_the_local_engine(X):
    params = {"rank": 60, "trace_tolerance": 1e-3, "local": "tiled", "sample_rows": 300}
    model = softkern.FuzzyCMeans(3, engine="nystroem", engine_params=params)
    model.fit(in_chunks(X, 500))
    assert model.predict(X[:5]).shape == (5,)


def test_unsupported_input(X):
    with pytest.raises(ValueError, match="needs a matrix in memory"):
        softkern.OneClassPCM(kernel="precomputed").fit(in_chunks(X, 500))
    with pytest.raises(ValueError, match="needs X as a Dask array"):
        softkern.OneClassPCM(engine="distributed").fit(X)
    with pytest.raises(DataError, match="rows are different"):
        softkern.FuzzyCMeans(5, engine="nystroem", bandwidth=1.0).fit(da.ones((50, 2), chunks=20))
    bad = X.copy()
    bad[550, 2] = np.nan
    with pytest.raises(DataError, match="chunk 1, row 50 of it"):
        softkern.WeightedSVDD().fit(in_chunks(bad, 500))


def test_rank_points(X, tmp_path):
    far = np.vstack([X, [[60, 60, 60, 60.0], [-40, -40, 40, 40.0]]])
    for name in ("OneClassPCM", "FuzzyCMeans"):
        options = {**LOOPS[name], "tol": 1e-3}
        model = make(name, options, engine_params={"sample_rows": 300}).fit(in_chunks(far, 400))
        top, table = softkern.rank_points(model, n_top=10)
        whole = table.compute()
        assert whole.index.tolist() == list(range(N + 2))
        assert top.index[:2].tolist() == [N, N + 1]
        assert top["outlier_rank"][:3].tolist() == [1, 2, 3]
        assert top["outlier_rank"].count() == 10
        assert whole.index[whole["is_outlier"]].isin(top.index).all()
        assert top["is_outlier"][[N, N + 1]].all()
        assert whole["is_outlier"].mean() < 0.01
        pd.testing.assert_frame_equal(whole.loc[top.index], top[whole.columns])
        softkern.save(model, tmp_path / "model.safetensors")
        again = softkern.load(tmp_path / "model.safetensors")
        new = softkern.rank_points(again, in_chunks(far + 0.1, 300)).table.compute()
        here = softkern.rank_points(again, far + 0.1)[new.columns]
        pd.testing.assert_frame_equal(new, here)
        assert not hasattr(model.set_params(engine_params=None).fit(X), "sample_rows_")


def test_tables_with_any_columns(X):
    frame = pd.DataFrame(X.copy(), columns=["height", "weight", "age", "size"])
    frame.insert(0, "name", [f"row {k}" for k in range(N)])
    frame.loc[[3, 400], "age"] = np.nan
    frame.loc[7, frame.columns[1:]] = np.nan
    empty = dd.from_pandas(frame.iloc[:0], npartitions=1)
    table = dd.concat([empty, dd.from_pandas(frame, npartitions=3)])
    one, model = softkern.cluster(frame), softkern.cluster(table)
    assert model.notes_ == one.notes_
    assert np.array_equal(model.labels_.compute(), one.labels_)
    assert model.outlier_scores_.compute() == pytest.approx(one.outlier_scores_)
    assert np.array_equal(model.predict(table).compute(), one.predict(frame))
    top, ranks = softkern.rank_points(model)
    assert ranks["label"].compute().tolist() == one.labels_.tolist()
    assert len(top) <= N
    new = softkern.rank_points(model, table).table.compute()
    assert new["label"].tolist() == one.predict(frame).tolist()
    assert new.index.tolist() == list(range(N))
    assert "softkern-fitted" in model._repr_html_()


def test_models_without_rows(X):
    model = softkern.OneClassPCM(engine_params={"sample_rows": 300}).fit(in_chunks(X, 400))
    assert np.array_equal(model.fit_predict(in_chunks(X, 400)).compute(), model.predict(X))
    small = model.without_rows()
    assert not hasattr(small, "memberships_")
    assert np.array_equal(small.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="Pass the samples as X"):
        softkern.rank_points(small)
    with pytest.raises(TypeError, match="takes samples in memory"):
        model.score_points(in_chunks(X, 400))
