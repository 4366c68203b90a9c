"""Comparison of two analyses, and of an analysis with a later table."""

import io
import json
import os
import shutil
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from softkern.tables.cli import run
from softkern.tables.cli.compare import changes
from softkern.tables.cli.job import Source
from softkern.tables.cli.options import CompareSettings
from softkern.tables.compare.text import summarize_points

CENTERS = ((0, 0), (6, 0), (0, 6), (9, 9))


def table(seed=0, n=160, centers=CENTERS):
    rng = np.random.default_rng(seed)
    X = np.array(centers, float)[np.arange(n) % len(centers)] + rng.normal(size=(n, 2)) * 0.5
    regions = np.array(["north", "south", "west"])[rng.integers(0, 3, n)]
    columns = {"customer": [f"{i:04d}" for i in range(n)], "x": X[:, 0], "y": X[:, 1]}
    return pd.DataFrame({**columns, "z": rng.normal(size=n), "region": regions})


def analyze(data, out, *options):
    command = ["analyze", data, "-o", out, "--no-report", "-q", "--columns", "x,y"]
    assert run([*command, *options]) == 0


def analyze_with_ids(data, out, *options):
    analyze(data, out, "--id", "customer", *options)


@pytest.fixture(scope="module")
def yesterday(tmp_path_factory):
    """Return a folder with a table and its results. Every test uses a copy."""
    folder = tmp_path_factory.mktemp("yesterday")
    table().to_csv(folder / "data.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        analyze_with_ids("data.csv", "before")
        analyze("data.csv", "nameless")
    return folder


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch, yesterday):
    shutil.copytree(yesterday, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")


def compare(after, before="before"):
    return changes(CompareSettings(before=Path(before), after=after), Source(after))


def rejection(capsys, *arguments):
    code = run(["compare", *arguments])
    output = capsys.readouterr()
    assert output.out == ""
    assert len(output.err.splitlines()) == 1
    return code, output.err


@pytest.mark.parametrize("after", ["before", "data.csv", "nameless"])
def test_identical_results_have_no_changes(after):
    found = compare(after)
    assert found.points.is_same
    assert found.summary()[0].startswith("nothing changed: the same 4 clusters; none of 160")
    assert found.points.adjusted_rand_index == 1
    assert found.has_drift
    assert all(drift.distance == 0 for drift in found.drift)
    notes = [note for note in found.notes if "by their number" in note]
    assert bool(notes) == (after == "nameless")


def test_a_shuffled_table_is_the_same_by_its_identifiers():
    table().sample(frac=1, random_state=1).to_csv("shuffled.csv", index=False)
    analyze_with_ids("shuffled.csv", "after")
    for after in ("after", "shuffled.csv"):
        found = compare(after)
        assert found.points.is_same
        assert (found.points.key, found.points.shared) == ("id", 160)
        assert [drift.distance for drift in found.drift] == [0, 0, 0, 0]


def test_merged_clusters_are_detected(capsys):
    moved = table()
    group = np.arange(160) % 4 == 3
    moved.loc[group, ["x", "y"]] -= [9, 3]  # onto the third cluster
    moved.to_csv("merged.csv", index=False)
    analyze_with_ids("merged.csv", "after")
    found = compare("after").points
    before = pd.read_csv("before/points.csv")["label"].to_numpy()
    after = pd.read_csv("after/points.csv")["label"].to_numpy()
    assert found.match.merged == {int(after[2]): sorted({int(before[2]), int(before[3])})}
    assert (found.moved, found.match.gone, found.match.new) == (0, [], [])
    assert run(["compare", "before", "after"]) == 0
    assert "3 clusters now, 4 before: clusters" in capsys.readouterr().out.splitlines()[0]
    assert len(compare("before", before="after").points.match.split) == 1
    by_model = compare("merged.csv").points  # a model keeps its clusters
    assert (by_model.moved, by_model.match.gone) == (40, [int(before[3])])


def test_unchanged_rows_keep_their_scores():
    """If scored as a new row, a training outlier would be compared with itself."""
    far = table()
    far.loc[0, ["x", "y"]] = (40, -30)
    far.to_csv("far.csv", index=False)
    analyze_with_ids("far.csv", "far")
    assert pd.read_csv("far/points.csv").loc[0, "is_outlier"]
    assert compare("far.csv", before="far").points.is_same
    more = far.copy()
    more.loc[[4, 8], ["x", "y"]] = [(-50, 20), (30, 60)]
    more.to_csv("more.csv", index=False)
    found = compare("more.csv", before="far").points
    assert (found.outliers_new, found.outliers_gone) == (2, 0)
    assert set(found.rows["id"]) == {"0004", "0008"}


def test_added_and_removed_rows():
    later = pd.concat([table()[10:], table(3)[:20].assign(customer=[f"n{i}" for i in range(20)])])
    later.to_csv("later.csv", index=False)
    analyze_with_ids("later.csv", "after")
    for after in ("after", "later.csv"):
        found = compare(after).points
        assert (found.shared, found.added, found.removed, found.moved) == (150, 20, 10, 0)
        assert (found.rows["change"] == "added").sum() == 20
    rows = found.rows.set_index("id")
    assert (rows.loc["0003", "row_before"], rows.loc["n0", "row_after"]) == (4, 151)


def test_one_new_row():
    table(5)[:1].assign(customer="new", z=1000.0).to_csv("one.csv", index=False)
    found = compare("one.csv")
    assert (found.points.key, sum(found.points.sizes_after.values())) == (None, 1)
    assert len(found.points.match.gone) == 3
    assert summarize_points(found.points).startswith("1 cluster now, 4 before: clusters ")
    assert "have no rows now" in summarize_points(found.points)
    assert (found.drift[0].column, found.drift[0].distance) == ("z", 1)
    assert all(drift.is_chance for drift in found.drift[1:])


def test_tables_of_different_length_without_identifiers():
    table(7, n=120).drop(columns="customer").to_csv("other.csv", index=False)
    analyze("other.csv", "after")
    found = compare("after")
    assert (found.points.key, found.points.shared) == (None, 0)
    assert len(found.points.match.pairs) == 4
    assert found.points.adjusted_rand_index > 0.95
    assert found.points.rows.empty
    assert any("cannot be matched" in note for note in found.notes)
    assert any("labels that the first model assigns" in note for note in found.notes)
    assert compare("other.csv").points.match.pairs == {0: 0, 1: 1, 2: 2, 3: 3}


def test_disjoint_identifiers():
    table(7, n=120).assign(customer=[f"n{i}" for i in range(120)]).to_csv("other.csv", index=False)
    analyze_with_ids("other.csv", "after")
    found = compare("after")
    assert (found.points.key, found.points.added) == (None, 0)
    assert "the two analyses have no identifier in common" in found.notes


def test_drift_of_numbers_and_text():
    later = table(11)
    later["z"] += 1
    later["region"] = later["region"].replace("west", "east")
    later.to_csv("later.csv", index=False)
    analyze_with_ids("later.csv", "after")
    for after in ("after", "later.csv"):
        found = compare(after)
        first, second, *others = found.drift
        assert {first.column, second.column} == {"z", "region"}
        assert all(one.is_chance for one in others)
        sentence = found.summary()[1]
        assert sentence.startswith("2 of 4 columns drifted: ")
        assert sentence.endswith("; new values in 'region'.")
    by_name = {drift.column: drift for drift in found.drift}
    assert set(by_name["region"].new_values) == {"east"}
    assert 0.6 < by_name["z"].shift < 1.5


def test_numbers_are_parsed_as_in_the_analysis():
    """The first table has a decimal comma. The few later rows contain none."""
    lines = [f"{1000 + row.x:.3f};{row.y:.3f}".replace(".", ",") for row in table().itertuples()]
    Path("comma.csv").write_text("\n".join(["x;y", *lines]) + "\n")
    analyze("comma.csv", "comma")
    later = [f"{1000 + row.x:.0f};{row.y:.0f}" for row in table(1)[:60].itertuples()]
    Path("later.csv").write_text("\n".join(["x;y", *later]) + "\n")
    drift = compare("later.csv", before="comma").drift
    assert {one.kind for one in drift} == {"number"}
    assert all(one.distance < 0.3 for one in drift)


def test_a_changed_table_is_not_used_as_the_old_one(monkeypatch, tmp_path):
    """The new data.csv has the same name and length as the old one, but other contents."""
    table(5).to_csv("data.csv", index=False)
    analyze_with_ids("data.csv", "after")
    found = compare("after")
    assert not found.has_drift
    assert found.drift == []
    assert any("data.csv has changed since" in note for note in found.notes)
    Path("data.csv").unlink()
    assert any("data.csv is not there" in note for note in compare("after").notes)


def test_tables_are_found_beside_their_results(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert compare("work/before", before="work/before").has_drift


def test_results_of_a_version_without_digests():
    record = json.loads(Path("before/run.json").read_text())
    del record["input"]["digest"]
    Path("before/run.json").write_text(json.dumps(record))
    started = datetime.fromisoformat(record["started"]).timestamp()
    for later, is_known in ((-3600, True), (3600, False)):
        os.utime("data.csv", (started + later, started + later))
        assert compare("before").has_drift == is_known


@pytest.mark.parametrize("kind", ["xlsx", "jsonl", "parquet"])
def test_points_in_any_format(kind):
    pytest.importorskip({"xlsx": "openpyxl", "parquet": "pyarrow"}.get(kind, "json"))
    analyze_with_ids("data.csv", "after", "--points", kind)
    assert compare("after").points.is_same
    assert compare("before", before="after").points.is_same


def test_standard_input(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(Path("data.csv").read_bytes()))
    monkeypatch.setattr("sys.stdin", stdin)
    assert run(["compare", "before", "-", "-o", "out", "-q"]) == 0
    assert json.loads(Path("out/compare.json").read_text())["rows"]["moved"] == 0


def test_files_are_written_all_or_none(capsys):
    later = table()
    later.loc[:5, "x"] += 100
    later.to_csv("later.csv", index=False)
    assert run(["compare", "before", "later.csv", "-o", "out", "-q"]) == 0
    assert capsys.readouterr().out == ""
    names = {path.name for path in Path("out").iterdir()} - {"compare.html"}
    assert names == {"changes.csv", "compare.json", "drift.csv"}
    rows = pd.read_csv("out/changes.csv", dtype={"id": str})
    assert set(rows["id"]) == {f"{i:04d}" for i in range(6)}
    assert rows["is_outlier_after"].all()
    drift = pd.read_csv("out/drift.csv")
    assert drift["column"].tolist()[0] == "x"
    record = json.loads(Path("out/compare.json").read_text())
    assert record["outliers"]["new"] == 6
    assert record["summary"][0].endswith("6 new outliers.")
    assert [one["column"] for one in record["drift"]] == drift["column"].tolist()
    assert run(["compare", "before", "later.csv", "-o", "out"]) == 4
    assert "--force" in capsys.readouterr().err
    assert run(["compare", "before", "later.csv", "-o", "out", "--force"]) == 0
    assert run(["compare", "before", "nowhere.csv", "-o", "new"]) != 0
    assert not Path("new").exists()


def test_the_page_shows_drift_and_moved_rows(monkeypatch):
    pytest.importorskip("jinja2")
    later = table(4)
    later["z"] += 1
    later.to_csv("later.csv", index=False)
    assert run(["compare", "before", "later.csv", "-o", "out", "-q"]) == 0
    page = Path("out/compare.html").read_text(encoding="utf-8")
    for words in ("Drift by column", "1 of 4 columns drifted", "160 rows moved", " SD)"):
        assert words in page
    assert "<script" not in page
    assert "http:" not in page
    monkeypatch.setattr("softkern.tables.cli.compare.find_spec", lambda name: None)
    assert run(["compare", "before", "later.csv", "-o", "without", "-q"]) == 0
    assert not Path("without/compare.html").exists()


def test_untrusted_names_are_escaped(capsys):
    bad = "[red]\x1b[31m=1+1\n</script>"
    untrusted = table().rename(columns={"x": bad, "region": "=cmd|' /C calc'!A0"})
    untrusted["customer"] = [f'\x1b[2J{i},"' for i in range(160)]
    untrusted.to_csv("untrusted.csv", index=False)
    command = [
        "analyze",
        "untrusted.csv",
        "--no-report",
        "-q",
        "--id",
        "customer",
        "-o",
        "untrusted",
    ]
    assert run(command) == 0
    untrusted[bad] += 3
    untrusted.loc[0, "y"] = 90
    untrusted.to_csv("later.csv", index=False)
    assert run(["compare", "untrusted", "later.csv", "-o", "out"]) == 0
    output = capsys.readouterr().out
    assert "\x1b" not in output
    assert "[red]\\x1b[31m=1+1" in output
    names = [one["column"] for one in json.loads(Path("out/compare.json").read_text())["drift"]]
    assert any("</script>" in name for name in names)
    if Path("out/compare.html").exists():
        page = Path("out/compare.html").read_text(encoding="utf-8")
        assert "</script>" not in page
        assert "\x1b" not in page


def test_different_settings_are_reported(capsys):
    command = ["analyze", "data.csv", "-o", "after", "--no-report", "-q", "--model", "fuzzy"]
    assert run([*command, "--clusters", "4", "--columns", "x,z"]) == 0
    notes = compare("after").notes
    assert "features used only before: 'y'" in notes
    assert "features used only now: 'z'" in notes
    assert "model: AutoClustering before, FuzzyCMeans now" in notes


def test_other_columns_of_points_are_ignored():
    points = pd.read_csv("before/points.csv", dtype={"id": str})
    points.assign(grade="mild", why='x 5, usual "1"').to_csv("before/points.csv", index=False)
    assert compare("nameless").points.is_same


def test_paths_without_results_are_rejected(capsys):
    for before in ("data.csv", "nowhere", "."):
        code, message = rejection(capsys, before, "before")
        assert code == 3
        assert "results folder of softkern analyze" in message
    Path("empty").mkdir()
    assert rejection(capsys, "before", "empty")[0] == 3
    code, message = rejection(capsys, "before", "nowhere.csv")
    assert code == 3
    assert "nowhere.csv" in message


@pytest.mark.parametrize(
    ("name", "change", "code", "word"),
    [
        ("run.json", lambda text: text[:200], 3, "altered"),
        ("run.json", lambda text: "[]", 3, "another version"),
        ("points.csv", lambda text: text.replace("label", "lable"), 3, "lacks 'label'"),
        ("points.csv", lambda text: text + text.splitlines()[-1] + "\n", 3, "not of one analysis"),
        ("points.csv", lambda text: text.replace("False", "maybe"), 3, "altered"),
        ("points.csv", None, 3, "no points.csv"),
        ("model.safetensors", lambda text: "no model", 5, "not a softkern model"),
        ("model.safetensors", None, 5, "cannot be read"),
    ],
)
def test_altered_and_missing_files_are_rejected(capsys, name, change, code, word):
    path = Path("before") / name
    text = path.read_text(errors="replace")
    path.unlink()
    if change is not None:
        path.write_text(change(text))
    exit_code, message = rejection(capsys, "before", "nameless")
    assert (exit_code, word in message) == (code, True), message
    assert rejection(capsys, "nameless", "before")[0] == code


def test_a_table_that_lacks_columns_of_the_model_is_rejected(capsys):
    table().rename(columns={"x": "X "}).drop(columns="y").to_csv("lacks.csv", index=False)
    code, message = rejection(capsys, "before", "lacks.csv")
    assert code == 3
    assert "did you mean 'X'" in message


def test_results_that_cannot_be_matched_are_rejected(capsys):
    table(7, n=120).rename(columns={"y": "w"}).to_csv("other.csv", index=False)
    command = ["analyze", "other.csv", "-o", "after", "--no-report", "-q", "--columns", "x,w"]
    assert run(command) == 0
    code, message = rejection(capsys, "before", "after")
    assert code == 3
    assert "share no rows" in message
    assert "'y'" in message
    Path("other.csv").unlink()
    assert "other.csv is not there" in rejection(capsys, "before", "after")[1]
