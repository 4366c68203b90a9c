"""Parsing of numbers and dates in the formats that people write."""

import numpy as np
import pandas as pd
import pytest
from pandas.tseries.api import guess_datetime_format

import softkern
from softkern._utils.text import unknown_names
from softkern.exceptions import DataError
from softkern.tables.preparation.formats import (
    infer_date_format,
    infer_decimal,
    infer_number_format,
    is_number,
    to_days,
)
from tests.tables.preparation.helpers import prepare, reload, texts

NO_NUMBERS = (
    "|-|C-001|(5|5)|--5|1..2|1,2,3|31.01.2024|10:30|12 34|5 5 %|$5 €|0,123,456|1.234,567.8|12/3|"
    "1 234,567 890|-(5)|kg|v1.2.3"
)
VALUES = np.array([1234567.8, -20.5, 7.25, 999.0, 0.5, 12345.0])


def english(x, mark=","):
    return f"{x:,.2f}".replace(",", mark)


def european(x, mark="."):
    return f"{x:,.2f}".replace(",", "_").replace(".", ",").replace("_", mark)


def parenthesized(x):
    return english(x) if x >= 0 else f"({english(-x)})"


STYLES = {
    "thousands separators": english,
    "apostrophes": lambda x: english(x, "'"),
    "blanks": lambda x: english(x, " "),
    "decimal comma": european,
    "narrow blanks": lambda x: european(x, "\N{NARROW NO-BREAK SPACE}"),
    "parentheses": parenthesized,
    "dollars": lambda x: f"${parenthesized(x)}",
    "dollars, sign first": lambda x: f"{'-' * int(x < 0)}${english(abs(x))}",
    "euros behind": lambda x: f"{european(x)} €",
    "a code in front": lambda x: f"CHF {english(x)}",
    "percent": lambda x: f"{european(x)}\N{NO-BREAK SPACE}%",
    "minus behind": lambda x: european(abs(x)) + "-" * int(x < 0),
    "a real minus": lambda x: english(x).replace("-", "\N{MINUS SIGN}"),
    "a unit": lambda x: f"{english(x)} kg",
}


@pytest.mark.parametrize("style", STYLES)
def test_numbers_are_parsed_in_every_format(style):
    words = pd.Series([STYLES[style](x) for x in VALUES])
    found = infer_number_format(words)
    assert found.n_parsed == len(VALUES)
    assert found.format.parse(words).tolist() == VALUES.tolist()
    preparation, prepared = prepare(pd.DataFrame({"x": words}), scale="none")
    assert prepared.features["x"].tolist() == VALUES.tolist()
    assert any(note.startswith("'x': read as numbers") for note in texts(prepared.notes))
    # also after saving and loading, one row at a time
    again = reload(preparation)
    for x, word in zip(VALUES, words, strict=True):
        assert again.prepare(pd.DataFrame({"x": [word]})).values.tolist() == [[x]]


@pytest.mark.parametrize("word", NO_NUMBERS.split("|"))
def test_text_that_is_not_a_number(word):
    assert not is_number(word)


def test_ambiguous_numbers_are_decided_by_the_table_and_reported():
    doubtful = ["1,234", "5,678", "12,345"]
    table = pd.DataFrame({"x": doubtful})
    _, alone = prepare(table, scale="none")
    assert alone.features["x"].tolist() == [1234, 5678, 12345]
    assert "1,234 is read as thousands unless decimal=','" in texts(alone.notes)[0]
    _, beside = prepare(table.assign(y=["0,5", "7,25", "3"]), scale="none")
    assert beside.features["x"].tolist() == [1.234, 5.678, 12.345]
    _, given = prepare(table, scale="none", decimal=",")
    assert given.features["x"].tolist() == [1.234, 5.678, 12.345]
    both = pd.DataFrame({"x": doubtful, "y": ["1.5", None, None], "z": ["2,5", None, None]})
    assert infer_decimal(both, both.columns) == "."


def test_points_as_thousands_separators_with_a_decimal_comma():
    table = pd.DataFrame({"x": ["1.234", "5.678", "9.000"], "y": ["0,5", "7,25", "3"]})
    preparation, prepared = prepare(table, scale="none")
    assert prepared.features["x"].tolist() == [1234, 5678, 9000]
    assert preparation.prepare(pd.DataFrame({"x": ["2.500"], "y": ["1"]})).values.tolist() == [
        [2500, 1]
    ]


def test_cells_without_the_percent_sign_are_reported():
    _, prepared = prepare(pd.DataFrame({"x": ["5%", "7%", "0"]}), scale="none")
    assert prepared.features["x"].tolist() == [5, 7, 0]
    assert "1 cell without %" in texts(prepared.notes)[0]


def test_amounts_in_several_currencies_are_left_out():
    table = pd.DataFrame({"x": [1.0, 2, 4], "price": ["$5", "€6", "$7"]})
    preparation, prepared = prepare(table)
    assert preparation.columns_ == ["x"]
    assert "left out 'price': amounts in several units ($, €)" in texts(prepared.notes)[0]
    preparation, _ = prepare(table.assign(price=["$5", "$6", "$7"]))
    with pytest.raises(DataError, match="'€6' in row 2. It has another format"):
        preparation.prepare(table)


@pytest.mark.parametrize(("word", "message"), [("?", "na_values"), ("12 pounds", "Correct it")])
def test_only_words_are_offered_as_missing_values(word, message):
    with pytest.raises(DataError, match=message) as error:
        prepare(pd.DataFrame({"x": ["1", "2", word, "4"]}))
    assert ("na_values" in str(error.value)) == (word == "?")
    with pytest.raises(DataError, match="another format") as error:
        prepare(pd.DataFrame({"x": ["1.5", "2.5", "2,5", "4"]}))
    assert "na_values" not in str(error.value)


def test_mixed_numbers_and_text_in_one_column():
    table = pd.DataFrame({"x": pd.Series([1.5, "2,500.5", None, 4], dtype=object)})
    _, prepared = prepare(table, scale="none", missing="drop")
    assert prepared.features["x"].tolist() == [1.5, 2500.5, 4]


DAYS = pd.to_datetime(["2024-01-31", "2024-02-01", "2024-03-15"])


@pytest.mark.parametrize(
    "form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d %b %Y", "%B %d, %Y", "%Y%m%d"]
)
def test_dates_are_reported_and_used_as_days(form):
    table = pd.DataFrame({"when": [day.strftime(form) for day in DAYS], "x": [1.0, 5, 2]})
    preparation, prepared = prepare(table)
    assert preparation.columns_ in (["x"], ["when", "x"])
    if form != "%Y%m%d":  # three whole numbers may be anything
        assert (
            str(prepared.notes[0])
            == "left out 'when': dates; use dates=True to include them as days"
        )
        with pytest.raises(DataError, match="no numbers in 'when': dates. Use dates=True"):
            prepare(table, columns=["when", "x"])
    preparation, prepared = prepare(table, dates=True, scale="none")
    assert np.diff(prepared.features["when"]).tolist() == [1, 43]
    again = reload(preparation).prepare(table[1:])
    assert np.array_equal(again.values, prepared.values[1:])


@pytest.mark.parametrize(
    ("cell", "form"),
    [
        ("15.03.24", "%d.%m.%y"),
        ("March 2024", "%B %Y"),
        ("03/15/2024 04:07 PM", "%m/%d/%Y %I:%M %p"),
    ],
)
def test_dates_that_pandas_does_not_guess(cell, form):
    assert guess_datetime_format(cell) is None
    assert infer_date_format(pd.Series([cell, cell])) == (form, "")


def test_timestamps_and_times():
    table = pd.DataFrame({"when": DAYS, "x": [1.0, 5, 2]})
    _, prepared = prepare(table, dates=True, scale="none")
    assert np.diff(prepared.features["when"]).tolist() == [1, 43]
    clock = pd.Series(["2024-01-31 06:00", "2024-01-31 18:00"])
    assert np.diff(to_days(clock, infer_date_format(clock)[0])).tolist() == [0.5]


def test_ambiguous_dates_are_reported():
    words = pd.Series(["01/02/2024", "03/04/2024"])
    assert infer_date_format(words) == ("%m/%d/%Y", "01/02/2024")
    assert infer_date_format(words, ",") == ("%d/%m/%Y", "01/02/2024")
    table = pd.DataFrame({"when": words, "x": [1.0, 2]})
    _, prepared = prepare(table, dates=True)
    assert "01/02/2024 is read with the month first" in texts(prepared.notes)[0]


def test_constant_text_is_not_offered_as_a_category():
    table = pd.DataFrame({"x": [1.0, 2, 4], "country": "Austria", "kind": ["a", "b", "a"]})
    _, prepared = prepare(table)
    assert "left out 'country': text column with one value" in texts(prepared.notes)
    assert "left out 'kind': text column; use categories=['kind'] to include it" in texts(
        prepared.notes
    )


def test_saved_models_parse_amounts(tmp_path):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(2000, 50, 40), rng.normal(90_000, 900, 40)])
    y = np.repeat([1.0, 9], 40) + rng.normal(size=80)
    table = pd.DataFrame({"revenue": [f"€ {european(value)}" for value in x], "y": y})
    model = softkern.cluster(table)
    assert len(set(model.labels_)) == 2
    softkern.save(model, tmp_path / "model.safetensors")
    again = softkern.load(tmp_path / "model.safetensors")
    assert again.predict(table).tolist() == model.labels_.tolist()


def test_misspelled_columns_get_a_suggestion():
    assert unknown_names(["Revenu"], ["revenue", "x"]) == (
        "'Revenu' (did you mean 'revenue'?); its columns are 'revenue', 'x'."
    )
    with pytest.raises(DataError, match=r"lacks 'Heigth' \(did you mean 'height'\?\)"):
        prepare(pd.DataFrame({"height": [1.0, 2]}), columns=["Heigth"])


@pytest.mark.parametrize("style", STYLES)
def test_large_columns_are_parsed_like_small_ones(style):
    """In a column of more than 1000 cells, a sample usually shows the format."""
    values = np.tile(VALUES, 300)
    words = pd.Series([STYLES[style](x) for x in values])
    found = infer_number_format(words)
    assert found.n_parsed == len(values)
    assert found.format.parse(words).tolist() == values.tolist()


def test_one_cell_can_decide_the_format():
    words = pd.Series(["1,234"] * 5000)
    assert infer_number_format(words).ambiguous == "1,234"
    words[4321] = "12,5"
    found = infer_number_format(words)
    assert (found.format.decimal, found.n_parsed, found.ambiguous) == (",", 5000, "")
    words[4321] = "1,234.5"
    found = infer_number_format(words)
    assert (found.format.decimal, found.n_parsed, found.ambiguous) == (".", 5000, "")
    words[4321] = "none"
    assert infer_number_format(words).n_parsed == 4999
