"""Raw tables in Python: preparation as on the command line, saved with the model."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

import softkern
from softkern import AutoClustering, rank_points
from softkern.exceptions import DataError
from softkern.models.state import to_state
from softkern.tables.cli import run
from tests.test_files import assert_same


@pytest.fixture(scope="module")
def customers():
    """Two groups that differ in age and amount, and other common columns. Row 7 has no numbers."""
    rng = np.random.default_rng(0)
    group = np.arange(300) % 2
    table = pd.DataFrame(
        {
            "customer": np.arange(300) + 1,
            "age": 30 + 30 * group + rng.normal(0, 4, 300),
            "spent": np.exp(4 + 3 * group + rng.normal(0, 0.7, 300)),
            "visits": 20 + 15 * group + rng.normal(0, 3, 300),
            "distance": rng.normal(5, 1, 300),
            "since": pd.date_range("2020-01-01", periods=300),
            "city": rng.choice(["Bern", "Basel", "Genf"], 300),
        }
    )
    numbers = ["age", "spent", "visits", "distance"]
    table[numbers] = table[numbers].mask(rng.uniform(size=(300, 4)) < 0.05)
    table.loc[7, numbers] = np.nan
    return table


@pytest.fixture(scope="module")
def model(customers):
    return softkern.cluster(customers)


def test_raw_tables_are_prepared(customers, model):
    others = np.arange(300) != 7
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(np.arange(300)[others] % 2, model.labels_[others]) > 0.95
    assert not rank_points(model)["is_outlier"].any()  # missing cells make no outliers
    text = "\n".join(model.notes_)
    for words in (
        "filled in",
        "left out 1 row without any value",
        "left out 'customer': it numbers the rows",
        "left out 'since': dates",
        "left out 'city': text column; use categories=['city'] to include it",
    ):
        assert words in text
    assert "--" not in text  # notes in Python name no options of the command line
    assert "numbers the rows" in model._repr_html_inner()


def test_a_row_without_any_value_is_in_no_cluster_and_no_outlier(customers, model):
    assert model.labels_[7] == -1
    assert (model.memberships_[7] == 0).all()
    ranks = rank_points(model)
    assert not ranks["is_outlier"][7]
    assert not ranks["is_overlap"][7]
    without = softkern.cluster(customers.drop(index=7))
    assert np.array_equal(without.labels_, np.delete(model.labels_, 7))
    assert without.outlier_scores_ == pytest.approx(np.delete(model.outlier_scores_, 7))


def test_training_rows_are_predicted_like_new_ones(customers, model):
    assert np.array_equal(model.predict(customers), model.labels_)
    assert model.memberships(customers) == pytest.approx(model.memberships_, abs=1e-6)
    # columns match by name in any order, and excluded columns may be missing
    others = customers[["visits", "spent", "distance", "age"]]
    assert np.array_equal(model.predict(others), model.labels_)
    assert np.array_equal(model.predict(customers.to_numpy()), model.labels_)  # by position
    with pytest.raises(DataError, match="lacks 'age'"):
        model.predict(customers.drop(columns="age"))
    with pytest.raises(ValueError, match="features"):
        model.predict(customers.to_numpy()[:, :3])


def test_the_command_line_gives_the_same_result(customers, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    customers.to_csv("table.csv", index=False)
    assert run(["analyze", "table.csv", "-o", "out", "--no-report", "-q"]) == 0
    points, ranks = pd.read_csv("out/points.csv"), rank_points(model).drop(index=7)
    assert np.array_equal(points["label"], ranks["label"])
    assert points["outlier_score"].to_numpy() == pytest.approx(ranks["outlier_score"].to_numpy())
    features = json.loads(Path("out/run.json").read_text())["preparation"]["features"]
    assert features == model.preparation_.get_feature_names_out().tolist()
    softkern.save(model, "python.safetensors")
    for file in ("python.safetensors", "out/model.safetensors"):
        assert run(["score", file, "table.csv", "-o", "s.csv", "-q", "--force"]) == 0
        scored = pd.read_csv("s.csv")
        assert np.array_equal(scored["label"].drop(index=7), ranks["label"])
        assert np.isnan(scored["label"][7])


def test_files_and_clones_keep_the_preparation(customers, model, tmp_path):
    softkern.save(model, tmp_path / "model.safetensors")
    again = softkern.load(tmp_path / "model.safetensors")
    assert again.notes_ == model.notes_
    assert_same(to_state(again), to_state(model))
    assert np.array_equal(again.predict(customers), model.labels_)
    assert np.array_equal(clone(model).fit(customers).labels_, model.labels_)


def test_arrays_are_prepared_like_tables():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[150:, 0] += 8
    plain = softkern.cluster(X)
    numbered = softkern.cluster(np.column_stack([np.arange(300), X]))
    assert np.array_equal(numbered.labels_, plain.labels_)
    assert "left out 'x1': it numbers the rows" in numbered.notes_
    frame = pd.DataFrame(X)  # its columns are called 0 to 3
    assert np.array_equal(softkern.cluster(frame).predict(X), plain.labels_)
    as_they_are = AutoClustering().fit(X)
    assert as_they_are.preparation_ is None
    assert np.array_equal(as_they_are.labels_, plain.labels_)


def test_other_kinds_of_dataframes():
    class Column(list):
        def to_numpy(self):
            return np.array(self)

    class Table:
        columns = ("a", "b")
        shape = (100, 2)

        def __getitem__(self, name):
            return Column(
                (np.arange(100) % 2) * 9.0 + np.random.default_rng(len(name)).normal(size=100)
            )

    model = softkern.cluster(Table())
    assert model.preparation_.columns_ == ["a", "b"]
    assert len(model.predict(Table())) == 100


def test_blank_text_is_missing():
    """As in a file, a column of numbers stays numeric, and "" is not a category."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40).astype(str)})
    table["kind"] = ["x", "y"] * 20
    holes = table.copy()
    holes.loc[3, "b"], holes.loc[5, "kind"] = "", "  "
    table.loc[3, "b"], table.loc[5, "kind"] = None, None
    found = [softkern.cluster(one, categories=["kind"]) for one in (table, holes)]
    assert found[0].notes_ == found[1].notes_
    assert np.array_equal(found[0].outlier_scores_, found[1].outlier_scores_)


def test_columns_and_categories(customers):
    model = softkern.cluster(customers, columns=["age", "customer"], categories=["city"])
    assert model.preparation_.get_feature_names_out().tolist() == ["customer", "age", "city"]
    model = AutoClustering(prepare={"columns": ["age"]}).fit(customers)
    assert model.preparation_.columns_ == ["age"]


def test_rows_of_weight_zero_do_not_affect_the_preparation(customers):
    weight = np.ones(300)
    weight[:50] = 0
    model = softkern.cluster(customers, sample_weight=weight)
    rest = softkern.cluster(customers[50:])
    assert_same(vars(model.preparation_), vars(rest.preparation_))
    assert np.array_equal(model.labels_[50:], rest.labels_)
    assert len(model.labels_) == 300


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(5), "two dimensions"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "several columns are called 'a'"),
        (pd.DataFrame({"who": ["a", "b"] * 9}), "no column to work with"),
    ],
)
def test_invalid_tables(X, message):
    with pytest.raises(DataError, match=message):
        softkern.cluster(X)


def test_verbose_prints_every_stage(customers, capsys):
    softkern.cluster(customers, verbose=True)
    text = " ".join(capsys.readouterr().out.split())
    for words in ("left out 'customer'", "searching for separated clusters", "2 found"):
        assert words in text
    for name in ("FuzzyCMeans", "OneClassMixture", "SoftKernelSpectralClustering"):
        assert f"{name}, on all rows and on halves of them" in text
    softkern.cluster(customers)
    assert capsys.readouterr().out == ""
