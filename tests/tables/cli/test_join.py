"""Joined output reproduces the table of the user, and new rows are parsed like the first ones."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from softkern.tables.cli import run
from softkern.tables.cli.points import points_table

RESULTS = ["label", "membership", "outlier_score", "is_outlier"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def amounts(n=80, seed=0):
    rng = np.random.default_rng(seed)
    side = np.arange(n) % 2
    x = np.where(side == 0, 2000, 90_000) * rng.lognormal(0, 0.1, n)
    return pd.DataFrame({"x": x.round(2), "y": (np.where(side == 0, 5, 40) + rng.normal(size=n))})


def format_european(table):
    """Return CSV with a title, decimal commas, points for thousands, leading zeros and umlauts."""
    lines = ["Umsätze 2024;;;", "Kunde;Umsatz;Quote;Ort"]
    for i, row in enumerate(table.itertuples()):
        x = f"{row.x:,.2f}".translate(str.maketrans(",.", ".,"))
        y = f"{row.y:.3f}".replace(".", ",")
        lines.append(f"{i:05d};{x} €;{y} %;Köln, Süd")
    return "\n".join(lines) + "\n"


def analyze(data, *options):
    code = run(["analyze", data, "-o", "out", "--no-report", "-q", "--force", *map(str, options)])
    assert code == 0
    return json.loads(Path("out/run.json").read_text())


def test_join_reproduces_the_table():
    text = format_european(amounts())
    Path("data.csv").write_text(text, encoding="utf-8-sig")
    record = analyze("data.csv", "--join", "--id", "Kunde")
    assert record["preparation"]["features"] == ["Umsatz", "Quote"]
    assert record["result"]["clusters"] == 2
    back = Path("out/joined.csv").read_bytes()
    assert back.startswith("\ufeffKunde;Umsatz;Quote;Ort;label;membership".encode())
    lines = back.decode("utf-8-sig").splitlines()
    assert [";".join(line.split(";")[:4]) for line in lines] == text.splitlines()[1:]
    table = pd.read_csv("out/joined.csv", sep=";", decimal=",", dtype={"Kunde": str})
    points = pd.read_csv("out/points.csv", dtype={"id": str})
    assert table["Kunde"].tolist() == points["id"].tolist()
    assert table["outlier_score"].to_numpy() == pytest.approx(points["outlier_score"], rel=1e-9)
    assert table["label"].tolist() == points["label"].tolist()


def test_join_leaves_dropped_rows_blank_and_keeps_column_names():
    table = amounts().assign(label="mine", is_active="yes")
    table.loc[3, "x"] = np.nan
    table.to_csv("data.csv", index=False)
    analyze("data.csv", "--join", "--missing", "drop")
    back = pd.read_csv("out/joined.csv")
    assert back["label"].tolist() == ["mine"] * 80
    assert back["label.2"].isna().tolist() == [i == 3 for i in range(80)]
    assert back["x"].tolist()[4:] == table["x"].tolist()[4:]
    for points in ("parquet", "jsonl"):
        if points == "parquet":
            pytest.importorskip("pyarrow")
        analyze("data.csv", "--join", "--missing", "drop", "--points", points)
        path = f"out/joined.{points}"
        read = pd.read_parquet if points == "parquet" else lambda p: pd.read_json(p, lines=True)
        assert read(path)["is_active"].tolist() == ["yes"] * 80
        assert read(path)["label.2"].isna().sum() == 1


def test_join_of_workbooks():
    pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    table = amounts().assign(when=pd.Timestamp("2024-01-31"), code="007")
    table.to_excel("data.xlsx", index=False)
    analyze("data.xlsx", "--join")
    back = pd.read_excel("out/joined.xlsx", dtype={"code": str})
    assert back["x"].tolist() == table["x"].tolist()
    assert back["code"].tolist() == table["code"].tolist()
    assert back["when"].dtype.kind == "M"
    assert back["label"].nunique() == 2
    command = ["score", "out/model.safetensors", "data.xlsx", "-q", "-o"]
    assert run([*command, "s.xlsx", "--join", "--chunk", "7"]) == 0
    assert run([*command, "plain.xlsx"]) == 0
    scored = pd.read_excel("s.xlsx")
    assert scored["label"].tolist() == back["label"].tolist()
    assert scored["membership"].tolist() == pd.read_excel("plain.xlsx")["membership"].tolist()


def test_text_in_workbooks_is_not_a_formula():
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    amounts().assign(note="=1+1", bell="a\x07b").to_csv("data.csv", index=False)
    analyze("data.csv", "--join", "--points", "xlsx")
    sheet = openpyxl.load_workbook("out/joined.xlsx").active
    assert [sheet.cell(2, column).value for column in (3, 4)] == ["=1+1", "ab"]
    assert sheet.cell(2, 3).data_type == "s"
    assert openpyxl.load_workbook("out/points.xlsx").active.max_row == 81


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_join_of_other_formats(kind):
    table = amounts().assign(name="ä", n=range(80))
    if kind == "jsonl":
        lines = [json.dumps(row) for row in table.to_dict("records")]
        Path("data.jsonl").write_text("\n".join(lines))
    else:
        pytest.importorskip("pyarrow")
        table.to_parquet("data.parquet")
    analyze(f"data.{kind}", "--join")
    path = f"out/joined.{kind}"
    if kind == "jsonl":
        back = pd.DataFrame([json.loads(line) for line in Path(path).read_text().splitlines()])
    else:
        back = pd.read_parquet(path)
    for name in table:
        assert back[name].tolist() == table[name].tolist()  # with all digits
    assert back["label"].nunique() == 2


def test_join_of_standard_input(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(format_european(amounts()).encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    record = analyze("-", "--join")
    assert record["input"]["file"] == "-"
    assert len(pd.read_csv("out/joined.csv", sep=";", decimal=",")) == 80


def test_new_rows_are_parsed_like_the_first_ones():
    text = format_european(amounts())
    Path("data.csv").write_text(text)
    analyze("data.csv", "--id", "Kunde")
    first = pd.read_csv("out/points.csv", dtype={"id": str})
    lines = text.splitlines()
    few = [line for line in lines[2:] if ".000," in line or len(line) > 3][:6]
    Path("few.csv").write_text("\n".join([lines[1], *few]) + "\n")  # without the title
    command = ["score", "out/model.safetensors", "-q", "-o", "s.csv", "--force"]
    for name, count in (("data.csv", 80), ("few.csv", 6)):
        for chunk in (1, 50):
            assert run([*command, name, "--chunk", str(chunk)]) == 0
            again = pd.read_csv("s.csv", dtype={"id": str})
            assert again["id"].tolist() == first["id"].tolist()[:count]
            assert again["label"].tolist() == first["label"].tolist()[:count]
    assert run([*command, "data.csv", "--join"]) == 0
    assert Path("s.csv").read_text().splitlines()[1].startswith(lines[2])


def test_thousands_separators_are_the_same_in_every_chunk():
    """Without the format of the analysis, "2.500" would be parsed as 2.5."""
    x = np.where(np.arange(60) % 2 == 0, 2000, 9000) + np.arange(60) * 7
    words = [f"{value:,}".replace(",", ".") for value in x]
    lines = [f"{word};{i % 2 * 30 + i % 7},5" for i, word in enumerate(words)]
    Path("data.csv").write_text("\n".join(["sum;y", *lines]) + "\n")
    analyze("data.csv")
    Path("new.csv").write_text(f"sum;y\n{words[0]};0\n{words[1]};31\n")
    assert run(["score", "out/model.safetensors", "new.csv", "-o", "s.csv", "-q"]) == 0
    assert run(["score", "out/model.safetensors", "data.csv", "-o", "all.csv", "-q"]) == 0
    labels = [pd.read_csv(name)["label"].tolist()[:2] for name in ("s.csv", "all.csv")]
    assert labels[0] == labels[1]
    assert labels[0][0] != labels[0][1]


def test_options_of_reading_are_saved_and_can_be_changed(capsys):
    table = amounts()
    text = "a;line;above\nanother;one;x\n" + table.assign(z="?").to_csv(sep=";", index=False)
    Path("data.csv").write_text(text)
    analyze("data.csv", "--skip-rows", 2, "--na", "?", "--separator", ";")
    command = ["score", "out/model.safetensors", "-q", "-o", "s.csv", "--force"]
    assert run([*command, "data.csv"]) == 0
    assert len(pd.read_csv("s.csv")) == 80
    table.to_csv("comma.csv", index=False)
    assert run([*command, "comma.csv", "--skip-rows", "0", "--separator", ","]) == 0
    plain = pd.read_csv("s.csv")["label"].tolist()
    table.to_csv("decimal.csv", index=False, sep=";", decimal=",")
    assert run([*command, "decimal.csv", "--skip-rows", "0", "--decimal", ","]) == 0
    assert pd.read_csv("s.csv")["label"].tolist() == plain
    assert run([*command, "decimal.csv", "--skip-rows", "0", "--decimal", "."]) == 3
    assert "--decimal ," in capsys.readouterr().err


def test_dates_are_suggested_and_used(capsys):
    table = amounts().assign(day=pd.date_range("2024-01-01", periods=80).strftime("%d.%m.%Y"))
    table.to_csv("data.csv", index=False)
    assert run(["analyze", "data.csv", "-o", "out", "--no-report"]) == 0
    assert "left out 'day': dates; use --dates to include them as days" in capsys.readouterr().out
    record = analyze("data.csv", "--dates")
    assert record["preparation"]["features"] == ["x", "y", "day"]
    printed = pd.read_csv("out/clusters.csv").set_index("column")["words"]["day"]
    assert all("day 2024-0" in words for words in np.atleast_1d(printed))
    assert run(["score", "out/model.safetensors", "data.csv", "-o", "s.csv", "-q"]) == 0
    first = pd.read_csv("out/points.csv")
    assert pd.read_csv("s.csv")["label"].tolist() == first["label"].tolist()


def test_digits_do_not_depend_on_the_chunk():
    table = amounts()
    table.loc[[3, 50], ["x", "y"]] = np.nan
    table.to_csv("data.csv", index=False)
    analyze("data.csv")
    texts = []
    for chunk in (5, 80):
        command = ["score", "out/model.safetensors", "data.csv", "--chunk", str(chunk), "-q"]
        assert run([*command, "-o", "s.csv", "--force"]) == 0
        texts.append(Path("s.csv").read_text().splitlines())
    for small, large in zip(*texts, strict=True):
        assert len(small) == pytest.approx(len(large), abs=3)  # the last digit may round
        cells = small.split(",")
        assert all(len(cell.lstrip("-0.").replace(".", "").split("e")[0]) <= 9 for cell in cells)
    assert texts[0][4] == "4,,,,,,,,,,,"  # row 4 has no values, but a line
    assert {line.split(",")[1] for line in texts[0][1:]} == {"0", "1", ""}


def test_tiny_memberships_are_written_as_zero():
    ranks = pd.DataFrame({"label": [0, 1], "membership": [1 - 1e-9, 0.6]})
    memberships = np.array([[1 - 1e-9, 1e-9], [0.4, 0.6]])
    table = points_table(ranks, memberships, [1, 2], None, False)
    assert table["membership_1"].tolist() == [0, 0.6]
    assert table["membership_0"].tolist() == [1 - 1e-9, 0.4]


def test_joined_files_are_replaced_only_by_force(capsys):
    amounts().to_csv("data.csv", index=False)
    Path("out").mkdir()
    Path("out/joined.csv").write_text("mine")
    assert run(["analyze", "data.csv", "-o", "out", "--no-report", "--join"]) == 4
    assert "joined.csv is there already" in capsys.readouterr().err
    assert Path("out/joined.csv").read_text() == "mine"
