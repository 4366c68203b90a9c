"""Typical tables: recognized columns are reported and do not decide the clusters alone."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import KNNImputer

import softkern
from softkern.tables.cli import run
from tests.tables.preparation.helpers import prepare, texts


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def groups(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    X[n // 2 :] += 9
    return pd.DataFrame(X, columns=["x", "y"]), rng


def analyze(table, *options):
    table.to_csv("data.csv", index=False)
    command = ["analyze", "data.csv", "-o", "out", "--no-report", "-q", "--force"]
    assert run([*command, *map(str, options)]) == 0
    return json.loads(Path("out/run.json").read_text()), pd.read_csv("out/points.csv")


def test_uninformative_columns_do_not_change_the_result():
    table, rng = groups()
    _, plain = analyze(table)
    others = table.assign(customer=rng.permutation(300) + 7000, one=1)
    others.insert(0, "id", np.arange(300))
    record, points = analyze(others)
    assert points["label"].tolist() == plain["label"].tolist()
    assert record["preparation"]["features"] == ["x", "y"]
    printed = "\n".join(record["input"]["notes"])
    assert "left out 'id', 'customer': they number the rows" in printed
    record, _ = analyze(others, "--columns", "x,id")
    assert record["preparation"]["features"] == ["id", "x"]


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_a_yes_no_column_does_not_double_the_clusters(share):
    table, rng = groups()
    record, _ = analyze(table.assign(member=(rng.uniform(size=300) < share).astype(int)))
    assert record["result"]["clusters"] == 2
    assert any("'member' has two values" in note for note in record["input"]["notes"])


@pytest.mark.parametrize("count", [2, 3, 5])
def test_random_categories_do_not_multiply_the_clusters(count):
    table, rng = groups()
    table["z"] = rng.normal(size=300)
    table["color"] = np.array(["amber", "blue", "coral", "dun", "ecru"])[
        rng.integers(count, size=300)
    ]
    record, points = analyze(table, "--categories", "color")
    assert record["result"]["clusters"] == 2
    assert points["label"].nunique() == 2
    assert points["label"][:150].nunique() == points["label"][150:].nunique() == 1


def test_a_column_that_is_mostly_empty_is_left_out_unless_named():
    table, rng = groups()
    table["rare"] = np.where(rng.uniform(size=300) < 0.1, rng.normal(size=300), np.nan)
    record, _ = analyze(table)
    assert record["result"]["clusters"] == 2
    printed = "\n".join(record["input"]["notes"])
    assert "left out 'rare': it lacks more than half of its values" in printed
    preparation, _ = prepare(table, columns=["x", "rare"])
    assert preparation.columns_ == ["x", "rare"]
    preparation, prepared = prepare(table[["rare"]])
    assert preparation.columns_ == ["rare"]
    assert "they are used because there are no others" in texts(prepared.notes)[1]


def test_new_rows_are_transformed_and_imputed_alike():
    table, rng = groups()
    table["amount"] = np.exp(0.7 * table["x"])
    table.loc[rng.uniform(size=300) < 0.1, "y"] = np.nan
    record, points = analyze(table)
    printed = "\n".join(record["input"]["notes"])
    assert "filled in" in printed
    assert "from the nearest rows" in printed
    assert run(["score", "out/model.safetensors", "data.csv", "-o", "s.csv", "--chunk", "77"]) == 0
    assert pd.read_csv("s.csv")["label"].tolist() == points["label"].tolist()
    # the groups are 9 apart: medians of all rows would move rows to the other group
    assert (points["label"][:150].nunique(), points["label"][150:].nunique()) == (1, 1)


def test_rows_without_any_value_are_left_out_and_scored_blank():
    table, _ = groups()
    table.loc[[3, 8], ["x", "y"]] = np.nan
    table["name"] = "somebody"
    record, points = analyze(table)
    assert len(points) == 298
    assert any("left out 2 rows without any value" in note for note in record["input"]["notes"])
    assert run(["score", "out/model.safetensors", "data.csv", "-o", "s.csv"]) == 0
    assert pd.read_csv("s.csv")["label"].isna().sum() == 2


def test_a_model_without_preparation_cannot_impute(capsys):
    table, _ = groups()
    softkern.save(softkern.OneClassPCM().fit(table), "plain.safetensors")
    table.loc[5, "x"] = np.nan
    table.to_csv("new.csv", index=False)
    command = ["score", "plain.safetensors", "new.csv", "-o", "s.csv"]
    for how in ([], ["--missing", "neighbors"], ["--missing", "impute"]):
        assert run([*command, *how]) == 3
        assert "Use --missing drop" in capsys.readouterr().err
    assert run([*command, "--missing", "drop"]) == 0


def test_missing_categories_are_imputed_from_the_nearest_rows():
    table, _ = groups()
    table["kind"] = ["a"] * 150 + ["b"] * 150
    table.loc[[5, 200], "kind"] = None
    preparation, prepared = prepare(table, categories=["kind"])
    assert preparation.get_feature_names_out().tolist() == ["x", "y", "kind=b"]
    assert prepared.features.loc[[5, 200], "kind=b"].to_numpy() == pytest.approx([0, 1])
    assert "2 missing values in 2 of 300 rows, in 'kind' (2)" in str(prepared.notes[0])
    assert preparation.fill_values_[2:] in ([0.0], [1.0])


def test_cells_are_not_imputed_between_two_groups():
    """Some of the nine nearest rows are in the other group. Their mean lies between the groups."""
    rng = np.random.default_rng(0)
    side = np.arange(400) % 2
    table = pd.DataFrame({"x": 20 * side + rng.normal(size=400), "y": rng.normal(size=400)})
    table.loc[:99, "x"] = np.nan
    _, prepared = prepare(table, scale="none")
    filled = prepared.features["x"][:100]
    assert (np.abs(filled - 10) > 5).mean() > 0.95
    means = KNNImputer(n_neighbors=9).fit_transform(table)[:100, 0]  # means of both groups
    assert (np.abs(means - 10) > 5).mean() < 0.5


def test_duplicate_rows_are_reported():
    table, _ = groups()
    _, prepared = prepare(pd.concat([table, table[:20]]))
    assert "duplicate rows: 20 of 320" in texts(prepared.notes)


def test_extreme_values_are_reported_and_stay_numbers():
    table, _ = groups()
    table.loc[:6, "x"] = -999
    _, prepared = prepare(table)
    assert any("'x' contains -999" in note for note in texts(prepared.notes))
    assert not any("--na" in note for note in texts(prepared.notes))
    assert np.abs(prepared.values[:7, 0]).min() > 50  # they stay extreme


def test_identifiers_are_used_if_there_is_nothing_else():
    preparation, prepared = prepare(pd.DataFrame({"id": range(40), "key": range(7, 47)}))
    assert preparation.columns_ == ["id", "key"]
    assert "look like identifiers; they are used" in texts(prepared.notes)[0]


@pytest.mark.parametrize(
    "table",
    [
        {"x": [1, 2, 3]},
        {"x": [1, 2, 4], "y": [0, 1, 1]},
        {"id": range(40)},
        {"id": range(40), "number": range(7, 47)},
        {"a": [0, 1] * 30, "b": [0, 0, 1] * 20},
        {"a": [True, False, True, True]},
        {f"x{j}": np.random.default_rng(j).lognormal(size=40) for j in range(200)},
        {"zeros": np.maximum(0, np.random.default_rng(0).negative_binomial(1, 0.1, 300) - 5)},
        {"when": pd.date_range("2020-01-30", periods=60).strftime("%Y%m%d").astype(int)},
        {
            "seconds": 1_700_000_000 + np.random.default_rng(0).integers(9**8, size=60),
            "x": range(60),
        },
    ],
)
def test_small_and_unusual_tables_are_prepared(table):
    preparation, prepared = prepare(pd.DataFrame(table))
    assert preparation.get_feature_names_out().tolist()
    assert np.isfinite(prepared.values).all()
    again = preparation.prepare(pd.DataFrame(table))
    assert np.array_equal(again.values, prepared.values)


def test_models_of_versions_that_saved_the_preparation_apart_are_rejected(capsys):
    """They expect scaled numbers, but would score a raw table without a warning."""
    table, _ = groups()
    table.to_csv("data.csv", index=False)
    model = softkern.OneClassPCM().fit(table / 100)
    softkern.save(model, "old.safetensors", preparation={"columns": ["x", "y"]})
    assert run(["score", "old.safetensors", "data.csv", "-o", "s.csv"]) == 5
    assert "earlier version of softkern" in capsys.readouterr().err
