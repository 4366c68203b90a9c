"""Descriptions of clusters in comparison with all rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

import softkern
from softkern import describe_clusters
from softkern.tables.explain import cluster_lines
from softkern.tables.explain.clusters import describe


def test_effects_are_kolmogorov_smirnov_distances():
    rng = np.random.default_rng(0)
    values = pd.DataFrame({"a": rng.integers(0, 9, 200), "b": rng.normal(size=200)})
    labels = rng.integers(3, size=200)
    table = describe(values, labels).set_index(["cluster", "column"])
    for (cluster, name), row in table.iterrows():
        inside, outside = values[name][labels == cluster], values[name][labels != cluster]
        assert row["effect"] == pytest.approx(ks_2samp(inside, outside).statistic)
        assert row["median"] == np.quantile(inside, 0.5, method="inverted_cdf")
        assert row["all_high"] == np.quantile(values[name], 0.95, method="inverted_cdf")


def test_weights_equal_repeated_rows():
    rng = np.random.default_rng(0)
    values = pd.DataFrame({"a": rng.normal(size=60), "t": rng.choice(list("xyz"), 60)})
    labels, weight = rng.integers(2, size=60), rng.integers(1, 4, 60)
    first = describe(values, labels, weight)
    again = np.repeat(np.arange(60), weight)
    second = describe(values.iloc[again], labels[again])
    pd.testing.assert_frame_equal(
        first.drop(columns="rows"), second.drop(columns="rows"), check_exact=False
    )


def test_skewed_columns_are_reported_as_ratios():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [300, 100])
    money = np.exp(rng.normal(3, 0.5, 400) + 3 * (labels == 1))
    age = rng.normal(40, 4, 400) + 20 * labels
    table = describe(pd.DataFrame({"money": money, "age": age}), labels)
    words = table[table["cluster"] == 1].set_index("column")["words"]
    assert "times the median" in words["money"]
    assert words["age"].startswith("age high (median 59")


def test_one_line_per_cluster():
    cost = np.append(np.arange(1.0, 10), np.arange(120.0, 123))
    table = describe(pd.DataFrame({"cost": cost, "one": 1}), [0] * 9 + [1] * 3)
    assert cluster_lines(table)[1] == "cluster 1: 3 rows; cost 20 times the median (121)"


def test_over_represented_values_of_text():
    city = ["Bern"] * 90 + ["Basel"] * 10 + ["Basel"] * 80 + ["Bern"] * 20
    table = describe(pd.DataFrame({"city": city}), np.repeat([0, 1], 100))
    assert table["value"].tolist() == ["Bern", "Basel"]
    assert table["value_share"].tolist() == pytest.approx([0.9, 0.8])
    assert table["all_share"].tolist() == pytest.approx([0.55, 0.45])
    assert table["words"][0] == "city Bern in 90 % (all rows 55 %)"


def test_constants_identifiers_and_missing_cells_are_ignored():
    table = pd.DataFrame({"one": 1.0, "a": np.arange(100.0), "name": [f"n{i}" for i in range(100)]})
    table.loc[:9, "a"] = np.nan
    found = describe(table, np.repeat([0, 1], 50))
    assert set(found["column"]) == {"a"}
    assert found["low"].tolist()[0] >= 10


def test_one_cluster_describes_the_table():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 5)), columns=list("abcde"))
    table = describe_clusters(softkern.OneClassPCM().fit(X), X)
    assert table["column"].tolist() == list("abcde")
    line = cluster_lines(table)[0]
    assert line.startswith("one cluster: 200 rows; a -1.")
    assert line.endswith("and 2 more columns")


def test_noise_comes_last_and_clusters_by_number():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (300, 2)), rng.normal(12, 1, (200, 2)), [[50, -50]] * 1])
    X = np.concatenate([X, rng.uniform(-60, 60, (12, 2))])
    table = describe_clusters(softkern.AlphaCutClustering().fit(X), X)
    order = table["cluster"].drop_duplicates().tolist()
    assert order == [*sorted(c for c in order if c >= 0), *([-1] if -1 in order else [])]
    rows = table.drop_duplicates("cluster").set_index("cluster")["rows"]
    assert rows.sum() == len(X)
    assert rows[0] >= rows[1]


def test_similar_clusters_are_reported_as_such():
    values = pd.DataFrame({"a": np.tile(np.arange(50.0), 2)})
    lines = cluster_lines(describe(values, np.repeat([0, 1], 50)))
    assert lines[0] == "cluster 0: 50 rows; much like all rows"


def test_another_table_is_rejected():
    X = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(ValueError, match="fitted on 50"):
        describe_clusters(softkern.OneClassPCM().fit(X), X[:10])


def test_dates_are_formatted_as_dates():
    days = pd.Series(pd.date_range("2024-01-01", periods=90))
    labels = np.repeat([0, 1], [60, 30])
    table = describe(pd.DataFrame({"paid": days, "none": pd.NaT}), labels)
    assert table["column"].tolist() == ["paid", "paid"]
    assert table["words"][1] == (
        "paid 2024-03-02 to 2024-03-29 (all rows 2024-01-05 to 2024-03-26)"
    )
    stamps = days.dt.tz_localize("UTC")
    pd.testing.assert_frame_equal(describe(pd.DataFrame({"paid": stamps}), labels), table)
