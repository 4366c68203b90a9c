"""Text that spreadsheets would execute is escaped in CSV. Other text is unchanged."""

import numpy as np
import pandas as pd
import pytest

from softkern.tables.cli import run
from softkern.tables.cli.writing import escape_formulas, unescape_formulas

FORMULAS = ["=1+1", "+SUM(A1)", "-cmd|'/c calc'!A0", "@x", "\t=1", "\r=1", "-1+A2", "=", "＝1"]
OTHERS = ["-5", "+3.2e-7", "-1.234,50 €", "-", "a=b", "", "'=", "x", "-7 %", "−3"]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_escaped(text):
    escaped = escape_formulas(pd.DataFrame({"a": [text, "b"]}))["a"].tolist()
    assert escaped == [f"'{text}", "b"]
    assert unescape_formulas(escaped[0]) == text


def test_other_text_is_not_escaped():
    table = pd.DataFrame({"a": pd.Series([*OTHERS, None], dtype=object), "x": np.arange(11.0) - 5})
    assert escape_formulas(table) is table


def test_column_names_are_escaped():
    table = pd.DataFrame([["=1", 2], ["b", 3]], columns=["=a", "b"])
    assert list(escape_formulas(table).columns) == ["'=a", "b"]


def test_points_and_joined_tables_are_escaped(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 1, (30, 2)), rng.normal(9, 1, (30, 2))]
    table = pd.DataFrame(X, columns=["a", "b"])
    table.insert(0, "name", [f"=id({i})" for i in range(60)])
    table.to_csv("data.csv", index=False)
    options = ["--id", "name", "--no-report", "--join", "-q"]
    assert run(["analyze", "data.csv", "-o", "safe", *options]) == 0
    assert run(["analyze", "data.csv", "-o", "raw", "--raw-text", *options]) == 0
    for name, column in (("points.csv", "id"), ("joined.csv", "name")):
        safe, raw = (pd.read_csv(f"{folder}/{name}") for folder in ("safe", "raw"))
        assert (safe[column] == "'" + raw[column]).all()
        pd.testing.assert_frame_equal(safe.drop(columns=column), raw.drop(columns=column))
    joined = pd.read_csv("safe/joined.csv", dtype=str)[["a", "b"]].astype(float)  # to all digits
    np.testing.assert_array_equal(joined, table[["a", "b"]])
    assert run(["compare", "safe", "raw", "-o", "compared", "-q"]) == 0
    assert len(pd.read_csv("compared/changes.csv").query("change in ['added', 'removed']")) == 0


@pytest.mark.parametrize("dtype", ["str", "string", "category"])
def test_a_column_of_text_without_rows_stays(dtype):
    table = pd.DataFrame({"a": pd.Series([], dtype=dtype)})
    assert escape_formulas(table) is table
