"""Drift of columns."""

import numpy as np
import pandas as pd
import pytest

from softkern.tables.compare.drift import column_drift, comparable_columns
from softkern.tables.compare.text import describe_drift, summarize_drift
from softkern.tables.preparation import TablePreparation


def numbers(seed, n=200, d=8):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, d)), columns=[f"c{j}" for j in range(d)])


@pytest.mark.parametrize("seed", range(20))
def test_a_shifted_column_comes_first(seed):
    before, after = numbers(seed), numbers(100 + seed, n=150)
    after["c5"] += 0.8
    first, *_ = column_drift(before, after)
    assert (first.column, first.is_chance) == ("c5", False)
    assert first.drift in ("some", "strong")
    assert 0.4 < first.shift < 1.2


def test_false_alarms_are_rare_without_drift():
    """At most one table in twenty has a false alarm, for any number of columns."""
    alarms = 0
    for seed in range(60):
        before, after = numbers(seed, d=20), numbers(1000 + seed, d=20)
        alarms += not column_drift(before, after)[0].is_chance
    assert alarms <= 7  # 3 are expected; more than 7 in 1.5 % of all draws


def test_distances_do_not_depend_on_units():
    before, after = numbers(0), numbers(1)
    after["c2"] = after["c2"] * 3 + 1
    plain = column_drift(before, after)
    other = column_drift(before * 1e6 - 5, after * 1e6 - 5)
    assert [d.column for d in plain] == [d.column for d in other]
    for one, two in zip(plain, other, strict=True):
        assert one.distance == pytest.approx(two.distance)
        assert one.shift == pytest.approx(two.shift)


def test_a_changed_spread_is_detected_without_a_shift():
    before, after = numbers(0, n=1000), numbers(1, n=1000)
    after["c3"] *= 3
    first = column_drift(before, after)[0]
    assert (first.column, first.is_chance) == ("c3", False)
    assert abs(first.shift) < 0.3


def test_cells_that_go_missing_are_drift():
    before, after = numbers(0), numbers(0)
    after.loc[:79, "c1"] = np.nan
    first = column_drift(before, after)[0]
    assert (first.column, first.drift, first.is_chance) == ("c1", "strong", False)
    assert first.missing_after == 0.4
    assert "missing 0% before, 40% now" in describe_drift(first)
    after["c4"] = np.nan
    first = column_drift(before, after)[0]
    assert (first.column, first.distance, first.median_after) == ("c4", 1, None)


def test_constant_columns():
    before = pd.DataFrame({"a": np.full(30, 5.0), "b": np.full(30, 5.0), "c": np.full(30, 5.0)})
    after = pd.DataFrame({"a": np.full(30, 5.0), "b": np.full(30, 7.0), "c": np.arange(30.0)})
    found = {drift.column: drift for drift in column_drift(before, after)}
    assert (found["a"].distance, found["a"].shift, describe_drift(found["a"])) == (0, 0, "")
    assert (found["b"].distance, found["b"].drift) == (1, "strong")
    assert np.isfinite(found["b"].shift)
    assert found["b"].shift > 0


def test_drift_of_few_rows_is_not_significant():
    before, after = numbers(0, n=200, d=3), numbers(1, n=1, d=3)
    assert all(drift.is_chance for drift in column_drift(before, after))
    assert all(
        "not statistically significant" in describe_drift(drift)
        for drift in column_drift(before, after)
    )


def test_drift_of_text():
    words = np.array(["north", "south", "west"])
    rng = np.random.default_rng(0)
    before = pd.DataFrame({"same": words[rng.integers(0, 3, 300)], "other": "north"})
    after = pd.DataFrame({"same": words[rng.integers(0, 3, 200)], "other": "north"})
    after.loc[:49, "other"] = "east"
    after.loc[50:59, "other"] = None
    first, second = column_drift(before, after)
    assert (first.column, first.kind, first.is_chance) == ("other", "text", False)
    assert first.new_values == {"east": 50}
    assert first.distance == pytest.approx(50 / 190)
    assert first.changed[0] == ("north", 1.0, pytest.approx(140 / 190))
    assert first.missing_after == 0.05
    assert "'east'" in describe_drift(first)
    assert second.is_chance


def test_many_rare_values_are_chance():
    """A hundred values, three rows each: the shares differ only by chance."""
    rng = np.random.default_rng(1)
    before = pd.DataFrame({"t": rng.integers(0, 100, 300).astype(str)})
    after = pd.DataFrame({"t": rng.integers(0, 100, 300).astype(str)})
    drift = column_drift(before, after)[0]
    assert drift.distance > 0.2
    assert drift.is_chance


def test_numbers_that_become_text_are_named():
    before = pd.DataFrame({"x": np.arange(40.0) % 5})
    after = pd.DataFrame({"x": ["many"] * 40})
    drift = column_drift(before, after)[0]
    assert (drift.kind, drift.drift) == ("text", "strong")
    assert "numbers before, text now" in describe_drift(drift)
    same = column_drift(before, pd.DataFrame({"x": (np.arange(40) % 5).astype(str)}))[0]
    assert same.distance == 0


def test_identifiers_and_dates_are_not_compared():
    n = 60
    table = pd.DataFrame(
        {
            "row": np.arange(n),
            "name": [f"person {i}" for i in range(n)],
            "day": pd.date_range("2024-01-01", periods=n).strftime("%Y-%m-%d"),
            "paid": [f"{1000 + i % 7},5 €" for i in range(n)],
            "kind": ["a", "b"] * (n // 2),
        }
    )
    columns, notes = comparable_columns(table, TablePreparation.for_numbers([], ","))
    assert list(columns.columns) == ["paid", "kind"]
    assert columns["paid"].iloc[0] == 1000.5
    assert [str(note) for note in notes] == [
        "not compared: 'row', 'name' (names rows)",
        "not compared: 'day' (dates)",
    ]
    preparation = TablePreparation(columns=["row", "paid"]).fit(table[["row", "paid"]])
    assert "row" in comparable_columns(table, preparation)[0]  # columns of the model are compared


def test_drift_is_summarized_in_one_sentence():
    before, after = numbers(0, d=3), numbers(1, d=3)
    assert summarize_drift(column_drift(before, after)) == (
        "no statistically significant drift in 3 columns."
    )
    after["c1"] += 2
    assert summarize_drift(column_drift(before, after)) == "1 of 3 columns drifted: 'c1' strongly."
