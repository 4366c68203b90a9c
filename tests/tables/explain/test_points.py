"""Explanations find planted causes for every model, and use the units of the table."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import softkern
from softkern import explain_points
from softkern.tables.explain import Explainer, RowView, grade

MODELS = [
    softkern.AlphaCutClustering(),
    softkern.AutoClustering(),
    softkern.FuzzyCMeans(2),
    softkern.KernelSpectralClustering(2),
    softkern.OneClassKMeans(2),
    softkern.OneClassMixture(2),
    softkern.OneClassPCM(),
    softkern.OneClassPCM(kernel="laplacian"),
    softkern.OneClassPCM(kernel="linear"),
    softkern.OutlierFuzzyCMeans(2),
    softkern.PossibilisticCMeans(2),
    softkern.SoftKernelSpectralClustering(2),
    softkern.WeightedOneClassSVM(),
    softkern.WeightedSVDD(),
]


def two_groups(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[: n // 2] += [8, 8, 0, 0]
    return X


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:40])
def test_every_model_is_explained(model):
    X = two_groups()
    X[7, 2] = 25.0
    table = explain_points(model.fit(X), [7, 8], X=X)
    assert table["column_1"][0] == "x3"
    assert table["why"][0].startswith("x3 25, usual -1.")
    assert table["share_1"][0] > 0.5


def plant_outlier(rng, d, kind):
    """Return two groups with two correlated columns, and the columns that make row 0 an outlier."""
    n = 400
    X = rng.normal(size=(n, d))
    X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=n)
    X[n // 2 :, 2:5] += 6
    if kind == "jointly":
        X[0, :2] = [2.0, -2.0]
        return X, {0, 1}
    columns = rng.choice(d, 1 if kind == "one" else 2, replace=False)
    X[0, columns] = 25.0
    return X, set(columns.tolist())


@pytest.mark.parametrize("d", [5, 20, 60])
@pytest.mark.parametrize("kind", ["one", "two", "jointly"])
def test_planted_columns_come_first(d, kind):
    first = every = 0
    for seed in range(8):
        X, cause = plant_outlier(np.random.default_rng(seed), d, kind)
        row = explain_points(softkern.OneClassPCM().fit(X), [0], X=X).iloc[0]
        named = [int(row[f"column_{k}"][1:]) - 1 for k in (1, 2, 3) if row[f"column_{k}"]]
        first += named[0] in cause
        every += cause <= set(named)
    assert first == 8
    assert every >= 7


def test_unusual_combinations_are_reported():
    rng = np.random.default_rng(0)
    height = rng.normal(170, 10, 500)
    X = pd.DataFrame({"height": height, "weight": height - 100 + rng.normal(0, 2, 500)})
    X.loc[3] = [185.0, 55.0]
    words = explain_points(softkern.OneClassPCM().fit(X), [3], X=X)["why"][3]
    assert "unusual combination: for " in words
    assert "185" in words
    assert "55" in words


def test_order_and_units_do_not_matter():
    X = two_groups()
    X[5, 1] = -20.0
    X[6] = [30.0, 8.0, 30.0, 0.0]
    first = explain_points(softkern.OneClassPCM().fit(X), [5, 6], X=X)
    scaled = X[::-1] * [1000.0, 1.0, 0.01, 1.0]
    last = len(X) - 1
    second = explain_points(softkern.OneClassPCM().fit(scaled), [last - 5, last - 6], X=scaled)
    for k in (1, 2, 3):
        assert first[f"column_{k}"].tolist() == second[f"column_{k}"].tolist()
        np.testing.assert_allclose(first[f"share_{k}"], second[f"share_{k}"], rtol=0.02)


def test_rows_between_clusters_name_both():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(301, 3)), columns=["a", "b", "c"])
    X.iloc[:200, 0] += 6
    X.iloc[100:200, 1] += 6
    X.iloc[300] = [3.0, 0.2, 0.0]  # halfway between the first and the last group
    model = softkern.FuzzyCMeans(3).fit(X)
    table = explain_points(model, [300], X=X)
    pair = sorted({model.labels_[0], model.labels_[250]})
    assert table["between"][300] == f"{pair[0]} and {pair[1]}"
    assert table["column_1"][300] == "a"
    assert "halfway in a 3" in table["why"][300]
    assert table["grade"][300] == ""


def test_overlap_points_name_the_nearer_cluster_of_each_column():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(401, 2))
    X[:200] += 10
    X[400] = [9.0, 1.0]
    model = softkern.FuzzyCMeans(2).fit(X)
    explainer = Explainer.of(model, X)
    ranks = explainer.ranks.assign(is_outlier=False, is_overlap=True)
    words = explainer.explain(explainer.rows, explainer.points, ranks, [400])["why"][0]
    a = model.labels_[0]
    assert f"nearer to cluster {a} in x1 9" in words
    assert f"nearer to cluster {1 - a} in x2 1" in words


def test_raw_tables_are_explained_in_their_own_units():
    rng = np.random.default_rng(0)
    n = 400
    table = pd.DataFrame(
        {
            "customer": np.arange(n),
            "revenue": np.exp(rng.normal(5, 1, n)).round(),
            "age": rng.normal(40, 5, n).round(),
            "plan": rng.choice(["basic", "plus"], n),
        }
    )
    table.loc[::20, "age"] = np.nan
    table.loc[11, "revenue"] = 9_999_999
    table.loc[20, "revenue"] = 8_888_888
    model = softkern.cluster(table, categories=["plan"])
    found = explain_points(model, [11, 20], X=table)
    assert found["column_1"].tolist() == ["revenue", "revenue"]
    assert found["value_1"].tolist() == [9_999_999, 8_888_888]
    assert found["why"][11].startswith("revenue 9,999,999, usual ")
    new = table.iloc[:1].assign(age=400)
    later = explain_points(model, X=table, new=new)
    assert later["column_1"].tolist() == ["age"]


def test_values_of_text_are_named():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"x": rng.normal(size=300), "y": rng.normal(size=300), "kind": ["usual"] * 300}
    )
    X.loc[:3, "kind"] = "rare"
    model = softkern.cluster(X, categories=["kind"])
    words = explain_points(model, [0], X=X)["why"][0]
    assert words == "kind rare, usual usual"


def test_without_flags_the_ten_highest_scores_are_explained():
    X = np.random.default_rng(0).uniform(size=(200, 2))
    model = softkern.OneClassPCM().fit(X)
    ranks = softkern.rank_points(model)
    assert not ranks["is_outlier"].any()
    table = explain_points(model, X=X)
    assert table["row"].tolist() == ranks["outlier_rank"].sort_values().index[:10].tolist()
    assert (table["grade"] == "").all()
    assert (table["why"] != "").all()


def test_near_duplicates_do_not_mask_each_other():
    X = two_groups(600)
    X[:5, 3] = 30 + np.arange(5) / 100
    table = explain_points(softkern.AlphaCutClustering().fit(X), range(5), X=X)
    assert (table["column_1"] == "x4").all()


def test_weights_equal_repeated_rows_in_explanations():
    X = two_groups(200)
    X[0, 0] = 40.0
    weight = np.ones(200)
    weight[1:50] = 2
    repeated = np.concatenate([X, X[1:50]])
    first = explain_points(softkern.OneClassPCM().fit(X, sample_weight=weight), [0], X=X)
    second = explain_points(softkern.OneClassPCM().fit(repeated), [0], X=repeated)
    for name in ("column_1", "low_1", "high_1", "why"):
        assert first[name][0] == second[name][0]


def test_pipelines_are_explained_in_the_columns_of_the_table():
    X = two_groups() * [1, 1, 1000, 1]
    X[3, 2] = 30_000
    model = make_pipeline(StandardScaler(), softkern.FuzzyCMeans(2)).fit(X)
    assert explain_points(model, [3], X=X)["why"][0].startswith("x3 30,000, usual -1,")


@pytest.mark.parametrize("X", [np.ones((30, 2)), np.arange(30.0)[:, None], np.ones((30, 1))])
def test_tables_without_structure(X):
    table = explain_points(softkern.OneClassPCM(bandwidth=1.0).fit(X), [0, 29], X=X)
    assert table["why"].tolist() == ["no column stands out"] * 2 or X.std() > 0


def test_invalid_arguments():
    X = two_groups(50)
    model = softkern.OneClassPCM().fit(X)
    with pytest.raises(IndexError, match="rows 0 to 49"):
        explain_points(model, [50], X=X)
    with pytest.raises(ValueError, match="fitted on 50"):
        explain_points(model, X=X[:20])
    with pytest.raises(ValueError, match="columns=0"):
        explain_points(model, X=X, columns=0)
    with pytest.raises(ValueError, match="truth values"):
        explain_points(model, [True, False], X=X)
    with pytest.raises(ValueError, match="models keep none"):
        explain_points(model, X=None)


def test_grades_rise_with_scores():
    assert [grade(score) for score in (4.0, 6.0, 10.0)] == ["mild", "strong", "extreme"]


def test_large_tables_are_sampled():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(11_000, 30))  # more than either density is fitted to
    X[0, 4] = 40.0
    model = softkern.OneClassPCM(bandwidth=5.0).fit(X)
    explainer = Explainer.of(model, X)
    table = explainer.explain(explainer.rows, explainer.points, explainer.ranks, [0])
    assert table["column_1"].tolist() == ["x5"]


def test_rare_values_of_a_single_column_are_explained():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": np.concatenate([rng.normal(0, 1, 100), rng.normal(20, 1, 100), [10.0]])})
    table = explain_points(softkern.OneClassPCM().fit(X), [200], X=X)
    assert table["why"].tolist() == ["x 10, a rare value"]


def test_values_that_contain_the_word_and_are_not_split():
    rows = RowView(["area"], np.zeros((1, 1)), np.zeros((1, 1)), {0: ["Research and Dev", "Sales"]})
    assert rows.format_range(0, 0, 1) == "Research and Dev or Sales"


def test_values_are_numbers_or_texts_of_codes():
    own, values = np.array([[38.0, 1.0]]), np.array([[0.2, 1.0]])
    rows = RowView(["age", "town"], own, values, texts={1: ["Rome", "Turin"]})
    assert [rows.format_value(0, j) for j in (0, 1)] == ["38", "Turin"]


def test_rows_of_another_array_are_compared_with_the_fitted_ones():
    X = two_groups()
    new = np.array([[0.0, 0.0, 25.0, 0.0]])
    table = explain_points(softkern.OneClassPCM().fit(X), [0], X=X, new=new)
    assert table["column_1"].tolist() == ["x3"]
