"""The table of points is written by a fast function, with the same text as by pandas."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

from softkern.tables.cli.writing import DIGITS, _csv_lines, write_chunks

NUMBERS = np.array([0.0, 1.0, -0.0, 1 / 3, 1e-300, 123456789.5, np.inf, -5e-324, 2**60])
IDS = {
    "plain": ["a", "", "007", "NA", "é ü", " x", "None", "1e5", "%s"],
    "quoted": ["a,b", 'say "no"', "two\nlines", "x", "", "y", "z", "r", "s"],
    "numbers": list(range(9)),
    "blank": ["a", None, "c", "d", "e", "f", "g", "h", "i"],
}


def table_of(ids, numbers=NUMBERS):
    return pd.DataFrame(
        {
            "row": np.arange(1, 10),
            "id": pd.Series(IDS[ids], dtype=object),
            "label": np.arange(9, dtype=np.int32) - 1,
            "membership": numbers,
            "single": numbers.astype(np.float32),
            "is_outlier": np.arange(9) % 2 == 0,
        }
    )


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("blank", [False, True])
@pytest.mark.filterwarnings("ignore:overflow")
def test_text_equals_that_of_pandas(ids, blank, tmp_path):
    numbers = np.where(np.arange(9) == 3, np.nan, NUMBERS) if blank else NUMBERS
    first, second = table_of(ids, numbers), table_of("plain")
    expected = io.StringIO()
    for table in (first, second):
        table.to_csv(
            expected,
            index=False,
            header=table is first,
            float_format=DIGITS,
            lineterminator="\n",
        )
    path = tmp_path / "points.csv"
    assert write_chunks([first, second], str(path)) == 18
    assert path.read_bytes().decode() == expected.getvalue()


@pytest.mark.filterwarnings("ignore:overflow")
def test_plain_tables_use_the_fast_writer():
    assert _csv_lines(table_of("plain")) is not None
    assert _csv_lines(table_of("numbers").astype({"id": int})) is not None
    assert _csv_lines(table_of("quoted")) is None
    assert _csv_lines(table_of("blank")) is None


def test_a_carriage_return_in_a_cell_does_not_end_the_row(tmp_path):
    path = tmp_path / "points.csv"
    table = table_of("plain").assign(id=["a\rb", "\r", "c\r\nd", "e\n", "f", "g", "h", "i", "j\r"])
    write_chunks([table, table_of("plain")], str(path), raw_text=True)
    rows = list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))
    assert [row[1] for row in rows] == ["id", *table["id"], *IDS["plain"]]
    assert {len(row) for row in rows} == {6}
