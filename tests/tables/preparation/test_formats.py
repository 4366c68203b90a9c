"""Numbers and dates as people write them: one number, whatever stands around it."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

import softkern
from softkern._utils.text import unknown_names
from softkern.exceptions import DataError
from softkern.tables.preparation import Preparation
from softkern.tables.preparation.formats import (
    infer_date_format,
    is_number,
    number_writing,
    usual_decimal,
)

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


WAYS = {
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


@pytest.mark.parametrize("way", WAYS)
def test_a_number_is_the_same_however_it_is_written(way):
    words = pd.Series([WAYS[way](x) for x in VALUES])
    found = number_writing(words)
    assert found.cells == len(VALUES)
    assert found.writing.numbers(words).tolist() == VALUES.tolist()
    preparation, prepared = Preparation.fit(pd.DataFrame({"x": words}), scale="none")
    assert prepared.features["x"].tolist() == VALUES.tolist()
    assert any(note.startswith("'x': read as numbers") for note in prepared.notes)
    # and after a journey through a file, one row at a time
    again = Preparation.from_dict(json.loads(json.dumps(asdict(preparation))))
    for x, word in zip(VALUES, words, strict=True):
        assert again.apply(pd.DataFrame({"x": [word]})).values.tolist() == [[x]]


@pytest.mark.parametrize("word", NO_NUMBERS.split("|"))
def test_what_is_no_number(word):
    assert not is_number(word)


def test_a_doubt_is_decided_by_the_whole_table_and_said():
    doubtful = ["1,234", "5,678", "12,345"]
    table = pd.DataFrame({"x": doubtful})
    _, alone = Preparation.fit(table, scale="none")
    assert alone.features["x"].tolist() == [1234, 5678, 12345]
    assert any("1,234 is taken for thousands, unless decimal=','" in note for note in alone.notes)
    _, beside = Preparation.fit(table.assign(y=["0,5", "7,25", "3"]), scale="none")
    assert beside.features["x"].tolist() == [1.234, 5.678, 12.345]
    _, asked = Preparation.fit(table, scale="none", decimal=",")
    assert asked.features["x"].tolist() == [1.234, 5.678, 12.345]
    assert usual_decimal([pd.Series(doubtful), pd.Series(["1.5"]), pd.Series(["2,5"])]) == "."


def test_points_between_thousands_beside_a_decimal_comma():
    table = pd.DataFrame({"x": ["1.234", "5.678", "9.000"], "y": ["0,5", "7,25", "3"]})
    preparation, prepared = Preparation.fit(table, scale="none")
    assert prepared.features["x"].tolist() == [1234, 5678, 9000]
    assert preparation.apply(pd.DataFrame({"x": ["2.500"], "y": ["1"]})).values.tolist() == [
        [2500, 1]
    ]


def test_percent_beside_cells_without_it_is_told():
    _, prepared = Preparation.fit(pd.DataFrame({"x": ["5%", "7%", "0"]}), scale="none")
    assert prepared.features["x"].tolist() == [5, 7, 0]
    assert "1 cell without %" in prepared.notes[0]


def test_amounts_in_several_currencies_are_no_column_of_numbers():
    table = pd.DataFrame({"x": [1.0, 2, 4], "price": ["$5", "€6", "$7"]})
    preparation, prepared = Preparation.fit(table)
    assert preparation.columns == ["x"]
    assert "left out 'price': amounts in several units ($, €)" in prepared.notes[0]
    preparation, _ = Preparation.fit(table.assign(price=["$5", "$6", "$7"]))
    with pytest.raises(DataError, match="'€6' in row 2. It is written otherwise"):
        preparation.apply(table)


@pytest.mark.parametrize(("word", "says"), [("?", "na_values"), ("12 pounds", "Mend it")])
def test_a_number_is_never_advised_to_be_missing(word, says):
    with pytest.raises(DataError, match=says) as error:
        Preparation.fit(pd.DataFrame({"x": ["1", "2", word, "4"]}))
    assert ("na_values" in str(error.value)) == (word == "?")
    with pytest.raises(DataError, match="written otherwise") as error:
        Preparation.fit(pd.DataFrame({"x": ["1.5", "2.5", "2,5", "4"]}))
    assert "na_values" not in str(error.value)


def test_numbers_and_text_of_a_spreadsheet_in_one_column():
    table = pd.DataFrame({"x": pd.Series([1.5, "2,500.5", None, 4], dtype=object)})
    _, prepared = Preparation.fit(table, scale="none", missing="drop")
    assert prepared.features["x"].tolist() == [1.5, 2500.5, 4]


DAYS = pd.to_datetime(["2024-01-31", "2024-02-01", "2024-03-15"])


@pytest.mark.parametrize(
    "form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d %b %Y", "%B %d, %Y", "%Y%m%d"]
)
def test_dates_are_named_and_used_as_days(form):
    table = pd.DataFrame({"when": [day.strftime(form) for day in DAYS], "x": [1.0, 5, 2]})
    preparation, prepared = Preparation.fit(table)
    assert preparation.columns in (["x"], ["when", "x"])
    if form != "%Y%m%d":  # three whole numbers may be anything
        assert prepared.notes[0] == "left out 'when': dates (dates=True uses them, as days)"
        with pytest.raises(DataError, match="no numbers in 'when': dates"):
            Preparation.fit(table, columns=["when", "x"])
    preparation, prepared = Preparation.fit(table, dates=True, scale="none")
    assert np.diff(prepared.features["when"]).tolist() == [1, 43]
    saved = json.loads(json.dumps(asdict(preparation)))
    again = Preparation.from_dict(saved).apply(table[1:])
    assert np.array_equal(again.values, prepared.values[1:])


def test_a_column_of_dates_of_pandas_and_clocks():
    table = pd.DataFrame({"when": DAYS, "x": [1.0, 5, 2]})
    _, prepared = Preparation.fit(table, dates=True, scale="none")
    assert np.diff(prepared.features["when"]).tolist() == [1, 43]
    clock = pd.Series(["2024-01-31 06:00", "2024-01-31 18:00"])
    writing, _ = infer_date_format(clock)
    assert np.diff(writing.numbers(clock)).tolist() == [0.5]


def test_day_or_month_first_is_said_where_nothing_tells():
    words = pd.Series(["01/02/2024", "03/04/2024"])
    assert infer_date_format(words)[0].date == "%m/%d/%Y"
    assert infer_date_format(words, ",")[0].date == "%d/%m/%Y"
    table = pd.DataFrame({"when": words, "x": [1.0, 2]})
    _, prepared = Preparation.fit(table, dates=True)
    assert "01/02/2024 is taken to have the month first" in prepared.notes[0]


def test_text_of_one_value_is_not_offered():
    table = pd.DataFrame({"x": [1.0, 2, 4], "country": "Austria", "kind": ["a", "b", "a"]})
    _, prepared = Preparation.fit(table)
    assert "left out 'country': text of one value" in prepared.notes
    assert "left out 'kind': text (categories=… uses it)" in prepared.notes


def test_a_model_of_python_reads_amounts_too(tmp_path):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(2000, 50, 40), rng.normal(90_000, 900, 40)])
    y = np.repeat([1.0, 9], 40) + rng.normal(size=80)
    table = pd.DataFrame({"revenue": [f"€ {european(value)}" for value in x], "y": y})
    model = softkern.cluster(table)
    assert len(set(model.labels_)) == 2
    softkern.save(model, tmp_path / "model.safetensors")
    again = softkern.load(tmp_path / "model.safetensors")
    assert again.predict(table).tolist() == model.labels_.tolist()


def test_a_name_that_was_probably_meant():
    assert unknown_names(["Revenu"], ["revenue", "x"]) == (
        "'Revenu' (did you mean 'revenue'?); its columns are 'revenue', 'x'."
    )
    with pytest.raises(DataError, match=r"lacks 'Heigth' \(did you mean 'height'\?\)"):
        Preparation.fit(pd.DataFrame({"height": [1.0, 2]}), columns=["Heigth"])


@pytest.mark.parametrize("way", WAYS)
def test_many_cells_are_read_as_few_are(way):
    """Beyond a thousand cells, some are looked at and all are read at once."""
    values = np.tile(VALUES, 300)
    words = pd.Series([WAYS[way](x) for x in values])
    found = number_writing(words)
    assert found.cells == len(values)
    assert found.writing.numbers(words).tolist() == values.tolist()


def test_one_cell_of_many_decides():
    words = pd.Series(["1,234"] * 5000)
    assert number_writing(words).other == "1,234"
    words[4321] = "12,5"
    found = number_writing(words)
    assert (found.writing.decimal, found.cells, found.other) == (",", 5000, "")
    words[4321] = "1,234.5"
    found = number_writing(words)
    assert (found.writing.decimal, found.cells, found.other) == (".", 5000, "")
    words[4321] = "none"
    assert number_writing(words).cells == 4999
