"""Tables in parts: a sample is analyzed, and all rows are scored, one part per row group."""

import json
import os

import dask.array as da
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import softkern
from softkern.fitted import as_sample_of
from softkern.tables.cli import run
from softkern.tables.cli.parts import find_pieces
from softkern.tables.io import Format

N, FILES = 900, 3


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    X[300:600, 0] += 12
    X[600:, 1] += 12
    X[5] = 90  # an outlier
    frame = pd.DataFrame(X, columns=["height", "weight", "age"])
    frame.insert(0, "name", [f"row {k}" for k in range(N)])
    frame.loc[[7, 500], "age"] = np.nan
    return frame.sample(frac=1, random_state=1).reset_index(drop=True)


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "many"
    place.mkdir()
    for k, part in enumerate(np.array_split(np.arange(N), FILES)):
        table().iloc[part].to_parquet(place / f"{k}.parquet", index=False)
    return place


def read_points(out):
    files = sorted(out.glob("points-*.parquet"))
    return pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)


@pytest.fixture
def small_sample(monkeypatch):
    """Limit the sample to fewer rows than the table has."""
    monkeypatch.setattr("softkern.tables.cli.parts.SUBSAMPLE_ROWS", 400)


def test_a_folder_is_analyzed_and_scored(folder, tmp_path, small_sample, capsys):
    out = tmp_path / "results"
    assert run(["analyze", str(folder), "-o", str(out), "--id", "name", "--no-report"]) == 0
    printed = capsys.readouterr().out
    assert "3 Parquet files, 900 rows" in printed
    assert "400 rows are analyzed; all are scored" in printed
    points = read_points(out)
    assert points["row"].tolist() == list(range(1, N + 1))
    assert points["id"].tolist() == table()["name"].tolist()
    truth = points["id"].str[4:].astype(int)
    inside = truth != 5
    assert len(set(zip(points["label"][inside], truth[inside] // 300, strict=True))) == 3
    far = points["id"] == "row 5"
    assert points["is_outlier"][far].all()
    top = pd.read_csv(out / "outliers.csv")
    assert top["id"][0] == "row 5"
    assert top["outlier_rank"].tolist() == list(range(1, len(top) + 1))
    record = json.loads((out / "run.json").read_text())
    assert record["input"]["rows"] == record["all_rows"]["rows"] == N
    assert sorted(record["all_rows"]["sizes"])[0] >= 299
    assert record["all_rows"]["outliers"] == points["is_outlier"].sum() == len(top)
    assert not [name for name in os.listdir(out) if name.endswith("tmp")]

    again = tmp_path / "again"
    command = ["score", str(out / "model.safetensors"), f"{folder}/*.parquet"]
    assert run([*command, "-o", str(again)]) == 0
    assert "scored 900 rows into 3 parts" in capsys.readouterr().out
    scored = read_points(again)
    assert scored["label"].tolist() == points["label"].tolist()
    one = tmp_path / "one.parquet"
    whole = tmp_path / "whole.parquet"
    table().to_parquet(whole, index=False)
    assert run([command[0], command[1], str(whole), "-o", str(one)]) == 0
    pd.testing.assert_frame_equal(pd.read_parquet(one), scored, rtol=1e-9)


def test_a_sample_of_all_rows_is_the_usual_analysis(folder, tmp_path, capsys):
    whole = tmp_path / "whole.parquet"
    table().to_parquet(whole, index=False)
    common = ["--exclude", "name", "--no-report", "-q"]
    assert (
        run(["analyze", str(whole), "-o", str(tmp_path / "a"), "--points", "parquet", *common]) == 0
    )
    assert run(["analyze", str(folder), "-o", str(tmp_path / "b"), *common]) == 0
    one, parts = pd.read_parquet(tmp_path / "a" / "points.parquet"), read_points(tmp_path / "b")
    pd.testing.assert_frame_equal(one[parts.columns], parts, check_dtype=False)


def test_a_file_larger_than_memory_is_analyzed(tmp_path, monkeypatch, small_sample, capsys):
    path = tmp_path / "big.parquet"
    table().drop(columns="name").to_parquet(path, index=False, row_group_size=250)
    monkeypatch.setattr("softkern.tables.cli.parts.available_memory", lambda: 10_000)
    out = tmp_path / "results"
    assert run(["analyze", str(path), "-o", str(out), "--no-report"]) == 0
    assert "400 rows are analyzed" in capsys.readouterr().out
    assert len(read_points(out)) == N
    assert len(list(out.glob("points-*"))) == pq.read_metadata(path).num_row_groups == 4


def test_words_for_missing_values_apply_to_every_part(folder, tmp_path, small_sample, capsys):
    """Scoring uses the words of the analysis."""
    for path in folder.glob("*.parquet"):
        frame = pd.read_parquet(path)
        frame["age"] = frame["age"].map(str).where(frame["age"].notna(), "?")
        frame.to_parquet(path, index=False)
    command = ["analyze", str(folder), "-o", str(tmp_path / "out"), "--id", "name", "--no-report"]
    assert run([*command, "--na", "?"]) == 0
    points = read_points(tmp_path / "out")
    assert points["label"].notna().all()
    assert points["is_outlier"][points["id"] == "row 5"].all()


def test_npy_files_give_the_results_of_parquet(tmp_path, monkeypatch, small_sample, capsys):
    """NPY files in a folder, and one that is larger than memory."""
    X = table()[["height", "weight", "age"]].to_numpy()
    (tmp_path / "many").mkdir()
    for k, part in enumerate(np.array_split(X, FILES)):
        np.save(tmp_path / "many" / f"{k}.npy", part)
    names = ["x1", "x2", "x3"]
    pd.DataFrame(X, columns=names).to_parquet(tmp_path / "big.parquet", row_group_size=250)
    np.save(tmp_path / "big.npy", X)
    monkeypatch.setattr("softkern.tables.cli.parts.PIECE_CELLS", 750)
    monkeypatch.setattr("softkern.tables.cli.parts.available_memory", lambda: 10_000)
    found = {}
    for name in ("many", "big.npy", "big.parquet"):
        out = tmp_path / f"{name} results"
        assert run(["analyze", str(tmp_path / name), "-o", str(out), "--no-report"]) == 0
        found[name] = read_points(out)
    printed = capsys.readouterr().out
    assert "3 NPY files, 900 rows" in printed
    assert "1 NPY file, 900 rows" in printed
    assert len(list((tmp_path / "big.npy results").glob("points-*"))) == 4
    for name in ("many", "big.npy"):
        pd.testing.assert_frame_equal(found[name], found["big.parquet"])
    np.save(tmp_path / "many" / "9.npy", X[:, :2])
    assert run(["analyze", str(tmp_path / "many"), "-o", str(tmp_path / "out")]) == 3
    assert "it lacks x3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "options", "code", "printed"),
    [
        ("nothing", [], 3, "folder without .parquet or .npy files"),
        ("*.parq", [], 3, "no file matches"),
        ("*.csv", [], 3, "neither .parquet nor .npy"),
        ("many", ["--join"], 4, "--join is for single tables"),
        ("many", ["--scheduler", "tcp://127.0.0.1:1"], 7, "no Dask scheduler answers at"),
        ("one.csv", ["--scheduler", "tcp://127.0.0.1:1"], 3, "--scheduler is for Parquet"),
    ],
)
def test_tables_in_parts_that_are_rejected(
    folder, tmp_path, data, options, code, printed, capsys, monkeypatch
):
    monkeypatch.setattr("softkern.dask.cluster.CONNECT_SECONDS", 0.2)
    (tmp_path / "nothing").mkdir()
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    where = str(tmp_path / data)
    assert run(["analyze", where, "-o", str(tmp_path / "out"), "--no-report", *options]) == code
    assert printed in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert da.ones(3).sum().compute() == 3  # the unreachable Dask scheduler is not contacted again


def test_files_with_different_columns_are_rejected(folder, tmp_path, capsys):
    table().drop(columns="age").to_parquet(folder / "9.parquet", index=False)
    assert run(["analyze", str(folder), "-o", str(tmp_path / "out"), "--no-report"]) == 3
    assert "9.parquet has other columns" in (printed := capsys.readouterr().err)
    assert "it lacks age" in printed
    (folder / "9.parquet").write_bytes(b"PAR1 and no more")
    assert run(["analyze", str(folder), "-o", str(tmp_path / "out"), "--no-report"]) == 3
    assert "9.parquet" in capsys.readouterr().err


def test_score_needs_a_folder(folder, tmp_path, small_sample, capsys):
    out = tmp_path / "results"
    assert run(["analyze", str(folder), "-o", str(out), "--no-report", "-q"]) == 0
    assert run(["score", str(out / "model.safetensors"), str(folder)]) == 4
    assert "-o must name a folder" in capsys.readouterr().err


def test_a_piece_is_read_whole(tmp_path):
    """A piece may have more rows than a chunk."""
    np.save(tmp_path / "long.npy", np.zeros((120_000, 1)))
    (piece,), _ = find_pieces([str(tmp_path / "long.npy")])
    assert len(piece.reader(Format()).read()) == 120_000
    assert sum(map(len, piece.reader(Format()).chunks())) == 120_000


def test_as_sample_of_does_not_change_the_fitted_model():
    model = softkern.OneClassPCM().fit(np.random.default_rng(0).normal(size=(50, 2)))
    before = set(vars(model))
    sample = as_sample_of(model, 5000)
    assert set(vars(model)) == before
    assert sample.sample_row_weights_.sum() == pytest.approx(5000)
    ranks = softkern.rank_points(sample)
    assert ranks["outlier_rank"].tolist() == softkern.rank_points(model)["outlier_rank"].tolist()
