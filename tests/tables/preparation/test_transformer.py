"""Preparation of tables: columns, categories, missing values, and new rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import softkern
from softkern.exceptions import DataError
from softkern.tables.preparation import PreparedTable, TablePreparation
from tests.tables.preparation.helpers import prepare, reload, texts


def frame(**columns):
    return pd.DataFrame(columns)


def test_uninformative_columns_are_left_out():
    table = frame(x=[1.0, 2, 4], one=[3, 3, 3], none=[np.nan] * 3, who=list("aba"))
    table["when"] = pd.to_datetime(["2020-01-01"] * 3)
    preparation, prepared = prepare(table)
    assert preparation.get_feature_names_out().tolist() == ["x"]
    text = "\n".join(texts(prepared.notes))
    for name, why in [("one", "one value"), ("none", "no value"), ("who", "categories")]:
        assert any(f"'{name}'" in note and why in note for note in texts(prepared.notes))
    assert "'when': dates" in text
    with pytest.raises(DataError, match="no column to work with.*'one'"):
        prepare(table[["one", "who"]])


def test_identifiers_dates_and_times_are_reported():
    n = 60
    shapes = ("2024-01-%02d", "%02d.01.2024", "01/%02d/2024")
    table = frame(
        x=np.random.default_rng(0).normal(size=n),
        account=[10**17 + 7919 * i for i in range(n)],
        order=[str(10**20 + i) for i in range(n)],
        when=[shapes[i % 3] % (i % 28 + 1) for i in range(n)],
        took=[f"{i % 5:02d}:{i:02d}:00" for i in range(n)],
        some=["12:30", "noon"] * (n // 2),
    )
    preparation, prepared = prepare(table)
    assert preparation.columns_ == ["x"]
    text = " ".join(texts(prepared.notes))
    assert "left out 'account', 'order': whole numbers with 17 or more digits" in text
    assert "left out 'when': dates in several formats" in text
    assert "left out 'took': times of day or durations; convert them to minutes or hours" in text
    assert "left out 'some': text column; use categories=['some'] to include it" in text
    selected, _ = prepare(table, columns=["x", "account"])
    assert selected.columns_ == ["x", "account"]  # even if it looks like an identifier
    large = frame(x=[1.5e18, 2e18, 9e18] * 20, y=[2**62, 3, 4] * 20)
    assert prepare(large)[0].columns_ == ["x", "y"]


def test_columns_are_chosen_by_name():
    table = frame(x=[1.0, 2], y=[5.0, 3], who=["a", "b"])
    assert prepare(table, columns=["y"])[0].columns_ == ["y"]
    with pytest.raises(
        DataError, match=r"no numbers in 'who': text column. Use categories=\['who'\]"
    ):
        prepare(table, columns=["x", "who"])
    with pytest.raises(DataError, match=r"lacks 'z'; its columns are 'x', 'y', 'who'"):
        prepare(table, columns=["x", "z"])


def test_text_among_numbers_is_an_error():
    table = frame(x=["1", "2.5", "?", "4"], y=[1.0, 2, 3, 4])
    with pytest.raises(DataError, match=r"'x' holds numbers except in 1 row, .* '\?' in row 3"):
        prepare(table)
    preparation, _ = prepare(table[table["x"] != "?"])
    with pytest.raises(DataError, match=r"'\?' in row 103.*na_values='\?'"):
        preparation.prepare(table, first_row=101)


def test_categories_become_codes():
    table = frame(x=[1.0, 2, 4, 8, 9], who=["b", "a", "b", None, "d"])
    with pytest.raises(DataError, match=r"1 missing value in 1 of 5 rows, in 'who' \(1\)"):
        prepare(table, categories=["who"], missing="refuse")
    options = {"categories": ["who"], "missing": "impute", "scale": "none"}
    preparation, prepared = prepare(table, **options)
    assert preparation.get_feature_names_out().tolist() == ["x", "who"]
    order = preparation.categories_["who"]
    assert order in (["a", "b", "d"], ["d", "b", "a"])  # ordered by x
    places = [order.index(value) for value in ("b", "a", "b", "b", "d")]  # b is the most frequent
    assert prepared.values[:, 1].tolist() == places
    assert "'who': 3 categories as one column" in texts(prepared.notes)[1]
    new = preparation.prepare(frame(who=["c"], x=[0.0]))
    assert new.values.tolist() == [[0, 1]]  # in the middle
    assert "not seen in the fit, such as 'c'" in texts(new.notes)[0]
    many = frame(x=range(30), who=[f"v{i}" for i in range(30)])
    with pytest.raises(DataError, match="30 values; categories are columns with 2 to 20"):
        prepare(many, categories=["who"])


def test_two_categories_become_a_binary_column():
    table = frame(x=[1.0, 2, 4, 8], who=["yes", "no", "yes", None])
    options = {"categories": ["who"], "missing": "impute", "scale": "none"}
    preparation, prepared = prepare(table, **options)
    assert preparation.get_feature_names_out().tolist() == ["x", "who=yes"]
    assert prepared.values[:, 1].tolist() == [1, 0, 1, 1]
    new = preparation.prepare(frame(who=["perhaps"], x=[0.0]))  # equally near to yes and no
    assert new.values.tolist() == [[0, 0.5]]
    assert "not seen in the fit, such as 'perhaps'" in texts(new.notes)[0]


def test_missing_values():
    table = frame(x=[1.0, np.nan, 4, 7], y=[1.0, 2, np.inf, 4])
    with pytest.raises(DataError, match=r"2 missing values in 2 of 4 rows.*missing='drop'.*impute"):
        prepare(table, missing="refuse")
    _, dropped = prepare(table, missing="drop", scale="none")
    assert dropped.is_used.tolist() == [True, False, False, True]
    assert dropped.values.tolist() == [[1, 1], [7, 4]]
    preparation, filled = prepare(table, missing="impute", scale="none")
    assert filled.values.tolist() == [[1, 1], [4, 2], [4, 2], [7, 4]]
    # new rows are filled with what the fit learned, not with their own medians
    assert preparation.prepare(frame(x=[np.nan], y=[9.0])).values.tolist() == [[4, 9]]
    with pytest.raises(DataError, match="1 row would be left"):
        prepare(frame(x=[1, np.nan, 3], y=[np.nan, 2, 4]), missing="drop")


def test_categories_that_look_like_numbers():
    # pandas converts whole numbers to floats if a value is missing
    preparation, prepared = prepare(
        frame(x=[1.0, 2, 4, 5], k=[1.0, 2.0, np.nan, 1.0]), categories=["k"], missing="impute"
    )
    assert preparation.get_feature_names_out().tolist() == ["x", "k=2"]
    again = preparation.prepare(frame(x=[1.0, 2, 4, 5], k=[1, 2, 1, 1]))
    assert again.values.tolist() == prepared.values.tolist()
    assert again.notes == []


def test_cells_that_are_neither_numbers_nor_text():
    table = frame(x=[1.0, 2.0], long=["9" * 400, "8" * 400], cell=[[1], [2, 3]])
    table["long"] = pd.Series([int(cell) for cell in table["long"]], dtype=object)
    preparation, prepared = prepare(table)
    assert preparation.columns_ == ["x"]
    assert any("'cell': text" in note for note in texts(prepared.notes))
    assert any(
        "'long': whole numbers with 17 or more digits" in note for note in texts(prepared.notes)
    )


def test_values_that_hardly_differ():
    tiny = frame(x=[1e-310, 2e-310, 4e-310])
    with pytest.raises(DataError, match="'x': values that differ by less than 1e-305"):
        prepare(tiny, scale="none")
    for scale in ("auto", "standard"):
        _, prepared = prepare(tiny, scale=scale)
        assert np.ptp(prepared.values) > 1


def test_one_row_is_rejected():
    with pytest.raises(DataError, match="1 row; at least two"):
        prepare(frame(x=[1.0]))


def test_huge_values_are_rejected_or_scaled():
    with pytest.raises(DataError, match=r"'x' is 1e\+300 in row 2"):
        prepare(frame(x=[1.0, 1e300, 2]))
    large = frame(x=[1e99, 2e99, 4e99])
    for scale in ("auto", "standard", "robust"):
        _, prepared = prepare(large, scale=scale)
        assert np.abs(prepared.values).max() < 10


@pytest.mark.parametrize("scale", ["auto", "none", "standard", "robust"])
def test_new_rows_are_prepared_like_the_training_rows(scale):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.lognormal(5, 1, (200, 3)), columns=list("abc"))
    preparation, prepared = prepare(table, scale=scale)
    again = reload(preparation).prepare(table[["c", "a", "b"]])
    assert np.array_equal(again.values, prepared.values)
    assert np.array_equal(again.features, table)
    if scale == "standard":
        assert prepared.values.mean(axis=0) == pytest.approx(0, abs=1e-12)
        assert prepared.values.std(axis=0) == pytest.approx(1)
    if scale in ("auto", "robust"):
        assert np.median(prepared.values, axis=0) == pytest.approx(0, abs=1e-12)


# As a transformer of scikit-learn


def mixed(n=200):
    rng = np.random.default_rng(0)
    table = frame(x=rng.normal(size=n), y=rng.lognormal(size=n), row=range(n))
    table["kind"] = rng.choice(["a", "b"], n)
    table.loc[3, "x"] = np.nan
    return table


def test_transform_returns_the_prepared_values():
    table = mixed()
    preparation, prepared = prepare(table, categories=["kind"])
    names = ["x", "y", "kind=b"]
    assert preparation.get_feature_names_out().tolist() == names
    assert np.array_equal(preparation.transform(table), prepared.values)
    assert np.array_equal(clone(preparation).fit_transform(table), prepared.values)
    output = clone(preparation).set_output(transform="pandas").fit_transform(table)
    assert output.columns.tolist() == names
    with pytest.raises(NotFittedError):
        clone(preparation).transform(table)


def test_rows_that_are_left_out_are_nan():
    table = mixed()
    table.loc[5, ["x", "y"]] = np.nan
    preparation = TablePreparation().fit(table)
    values = preparation.transform(table)
    assert np.flatnonzero(np.isnan(values).any(axis=1)).tolist() == [5]
    prepared = preparation.prepare(table)
    assert isinstance(prepared, PreparedTable)
    assert preparation.prepare(prepared) is prepared
    assert len(prepared) == 200
    assert len(prepared.used_rows()) == 199
    assert np.flatnonzero(prepared.is_imputed.any(axis=1)).tolist() == [3]


@pytest.mark.parametrize("options", [{"scale": "log"}, {"missing": "ignore"}, {"columns": "x"}])
def test_invalid_parameters(options):
    with pytest.raises(ValueError, match=f"The '{next(iter(options))}' parameter"):
        TablePreparation(**options).fit(mixed())


def test_pipelines_accept_tables_and_are_explained_in_their_columns():
    table = mixed()
    table.loc[9, "y"] = 1e6
    model = make_pipeline(TablePreparation(), softkern.OneClassPCM()).fit(table)
    assert len(model[-1].outlier_scores_) == len(table)
    why = softkern.explain_points(model, [9], X=table)["why"][9]
    assert why.startswith("y 1,000,000, usual ")
