"""The command line: analyze and score, their files, and errors for bad input."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import softkern
from softkern.fitted import fitted_step
from softkern.tables.cli import demo, run
from softkern.tables.cli.models import MODELS, make
from tests.models.test_auto import make_hard_tables

FILES = {"points.csv", "clusters.csv", "model.safetensors", "report.html", "run.json"}


def points(n=90, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(n // 2, 2)), rng.normal(size=(n - n // 2, 2)) + 9])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def data(folder):
    table = pd.DataFrame(points(), columns=["x", "y"])
    table.insert(0, "name", [f"p{i:03d}" for i in range(len(table))])
    table.to_csv("data.csv", index=False)
    return table


def analyze(*arguments, data="data.csv", out="out"):
    """Run analyze without the report page, which takes seconds and is tested elsewhere."""
    return run(["analyze", data, "-o", out, "--no-report", "-q", *map(str, arguments)])


def write(text, name="data.csv"):
    Path(name).write_bytes(text.encode() if isinstance(text, str) else text)


def check_error(capsys, code, *words):
    """Check that the last line on standard error is the only error and contains these words."""
    lines = capsys.readouterr().err.splitlines()
    assert code != 0
    assert lines[-1].startswith("softkern: ")
    assert sum(line.startswith("softkern: ") for line in lines) == 1
    assert "Traceback" not in lines[0]
    for word in words:
        assert word in lines[-1]
    return code


def leftovers(folder, *allowed):
    return sorted(set(os.listdir(folder)) - set(allowed))


# Analyze


def test_analyze_writes_everything(data, folder, capsys):
    assert run(["analyze", "data.csv", "--id", "name", "-o", "out"]) == 0
    printed = capsys.readouterr().out
    for words in (
        "90 rows × 3 columns",
        "90 rows in 2 clusters: none is an outlier",
        "cluster 0: 45 rows; ",
        "The most unusual 10 rows; none is an outlier",
        "wrote points.csv",
    ):
        assert words in printed
    for word in ("engine", "K @ A", "typicality", "PCM", "alpha", "membership"):
        assert word not in printed
    assert printed.splitlines()[-1] == "open out/report.html"
    assert set(os.listdir("out")) == FILES
    assert leftovers(folder, "data.csv") == ["out"]
    table = pd.read_csv("out/points.csv", dtype={"id": str})
    model = softkern.load("out/model.safetensors")
    ranks = softkern.rank_points(model)
    assert table["id"].tolist() == data["name"].tolist()
    assert table["row"].tolist() == list(range(1, 91))
    assert table["label"].tolist() == ranks["label"].tolist()
    assert table["outlier_rank"].tolist() == ranks["outlier_rank"].tolist()
    assert table["outlier_score"].to_numpy() == pytest.approx(ranks["outlier_score"], rel=1e-8)
    assert table["membership_1"].to_numpy() == pytest.approx(model.memberships_[:, 1], rel=1e-8)
    record = json.loads(Path("out/run.json").read_text())
    assert record["seed"] == 0
    assert record["result"]["clusters"] == 2
    assert record["versions"]["softkern"] == softkern.__version__
    assert {"read", "fit", "total"} <= set(record["seconds"])
    assert record["model"]["parameters"]["n_clusters"] == "auto"
    assert record["choice"]["taken"] == "AlphaCutClustering"
    assert "<html" in Path("out/report.html").read_text()[:200]


def shop(rng):
    """Return two groups of orders with one outlier, one row halfway, and a city for each group."""
    is_large = np.arange(400) < 150
    table = pd.DataFrame(
        {
            "id": [f"o{i}" for i in range(400)],
            "revenue": np.where(is_large, 300, 100) + rng.normal(0, 40, 400),
            "age": np.where(is_large, 45, 30) + rng.normal(0, 3, 400),
            "visits": rng.normal(10, 2, 400),
            "discount": rng.normal(5, 1, 400),
            "city": np.where(is_large, "Bern", "Basel"),
        }
    )
    table.loc[7, "visits"] = 999.0
    table.loc[9, ["revenue", "age", "visits", "discount"]] = [200.0, 37.5, 10.0, 5.0]
    return table


def test_results_contain_explanations(folder, capsys):
    shop(np.random.default_rng(0)).to_csv("data.csv", index=False)
    assert run(["analyze", "data.csv", "-o", "out", "--no-report", "--id", "id"]) == 0
    printed = capsys.readouterr().out
    assert "visits 999, usual " in printed
    assert "city Bern in 100 %" in printed or "city Bern in over 99 %" in printed
    assert printed.splitlines()[-1] == "open out/points.csv"
    table = pd.read_csv("out/points.csv", keep_default_na=False)
    assert table["grade"][7] == "extreme"
    assert table["why"][7].startswith("visits 999, usual ")
    assert table["between"][9] == "0 and 1"
    assert table["why"][9].startswith("halfway in ")
    flagged = table["is_outlier"].astype(str).eq("True") | table["is_overlap"].astype(str).eq(
        "True"
    )
    assert (table["why"] != "").equals(flagged)
    clusters = pd.read_csv("out/clusters.csv")
    first = clusters[(clusters["cluster"] == 1) & (clusters["column"] == "city")].iloc[0]
    assert first["value"] == "Bern"
    assert run(["score", "out/model.safetensors", "data.csv", "-o", "s.csv", "-q"]) == 0
    scored = pd.read_csv("s.csv", keep_default_na=False)
    assert scored["why"][7].startswith("visits 999, usual ")
    assert scored["between"][9] == "0 and 1"
    assert (
        run(["score", "out/model.safetensors", "data.csv", "-o", "c.csv", "-q", "--chunk", "8"])
        == 0
    )
    assert pd.read_csv("c.csv", keep_default_na=False)["why"].equals(scored["why"])


def test_open_shows_the_page_in_the_browser(data, folder, capsys, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert run(["analyze", "data.csv", "-o", "out", "-q", "--open"]) == 0
    assert opened == [(folder / "out" / "report.html").as_uri()]
    command = ["analyze", "data.csv", "-o", "new", "--open", "--no-report"]
    assert check_error(capsys, run(command), "--no-report") == 2


@pytest.mark.parametrize("name", list(MODELS))
def test_every_model_analyzes_and_scores(name, data):
    data[25:65].to_csv("data.csv", index=False)  # 20 of each group
    # the spectral search for a number takes seconds and is tested elsewhere
    given = ["--clusters", 2] if name == "spectral" else []
    assert analyze("--model", name, *given) == 0
    assert run(["score", "out/model.safetensors", "data.csv", "-o", "scored.csv", "-q"]) == 0
    first, again = pd.read_csv("out/points.csv"), pd.read_csv("scored.csv")
    assert again["label"].tolist() == first["label"].tolist()
    assert again["membership"].to_numpy() == pytest.approx(first["membership"], abs=1e-6)
    model, _ = fitted_step(softkern.load("out/model.safetensors"))
    assert type(model).__name__ == MODELS[name].estimator
    assert again["label"].nunique() == 2


def test_the_table_of_models_is_complete():
    for name, choice in MODELS.items():
        assert hasattr(softkern, choice.estimator)
        model = make(name, 3, points(), seed=7, verbose=False)
        assert model.random_state == 7
        assert model.n_clusters == 3


@pytest.mark.parametrize("name", list(MODELS))
def test_every_model_estimates_or_accepts_a_number_of_clusters(name):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 2)) + c for c in [(0, 0), (9, 0), (0, 9), (9, 9)]])
    for clusters, found in ((None, 4), (2, 2)):
        if clusters is None and name == "spectral":
            continue  # its search takes seconds and is tested elsewhere
        model = make(name, clusters, X, seed=0, verbose=False).fit(X)
        assert len(set(model.labels_[model.labels_ >= 0])) == found


def table_of_many_columns(rng, centers, n=60, d=6):
    shift = np.zeros((len(centers), 1, d))
    shift[:, 0, 0] = centers
    X = rng.normal(size=(len(centers), n, d)) + shift
    return pd.DataFrame(X.reshape(-1, d), columns=[f"c{k}" for k in range(d)])


def test_the_comparison_of_models_is_printed_and_saved(folder, capsys):
    table_of_many_columns(np.random.default_rng(0), [0, 9]).to_csv("data.csv", index=False)
    assert run(["analyze", "data.csv", "-o", "out", "--no-report", "--verbose"]) == 0
    printed = capsys.readouterr().out
    assert "engine" in printed
    model = softkern.load("out/model.safetensors")
    table = model.comparison_
    (taken,) = table["model"][table["taken"]]
    assert f"took {taken}: {model.reason_}" in printed
    assert all(name in printed for name in table["model"])
    choice = json.loads(Path("out/run.json").read_text())["choice"]
    assert choice["taken"] == taken
    assert choice["reason"] == model.reason_
    assert [row["stability"] for row in choice["compared"]] == pytest.approx(table["stability"])
    assert run(["score", "out/model.safetensors", "data.csv", "-o", "s.csv", "-q"]) == 0
    assert pd.read_csv("s.csv")["label"].tolist() == pd.read_csv("out/points.csv")["label"].tolist()


def test_a_single_cluster_is_reported(folder, capsys):
    table_of_many_columns(np.random.default_rng(0), [0]).to_csv("data.csv", index=False)
    command = ["analyze", "data.csv", "-o", "out", "--no-report", "--force"]
    assert run(command) == 0
    model = softkern.load("out/model.safetensors")
    printed = capsys.readouterr().out
    assert f"one cluster: {model.reason_}" in printed
    assert "took" not in printed

    def reject(word):
        raise AssertionError(word)

    record = json.loads(Path("out/run.json").read_text(), parse_constant=reject)
    assert record["choice"]["compared"][0]["stability"] is None  # NaN is not valid JSON
    assert run([*command, "--clusters", "1"]) == 0
    assert "one cluster: as asked for" in capsys.readouterr().out


def test_many_rows_in_no_cluster_are_reported(data, capsys, monkeypatch):
    def noisy(ranker, scores):
        ranks = table(ranker, scores)
        ranks.loc[:39, "label"] = -1
        return ranks

    table = softkern.ranking.Ranker.table
    monkeypatch.setattr("softkern.tables.cli.analyze.Ranker.table", noisy)
    assert run(["analyze", "data.csv", "-o", "out", "--no-report", "--clusters", "2"]) == 0
    assert "40 rows (44%) lie in no cluster" in capsys.readouterr().out


def test_fewer_clusters_than_requested_are_reported(folder, capsys):
    pd.DataFrame({"x": [0.0, 1, 2] * 9, "y": [0.0, 5, 1] * 9}).to_csv("data.csv", index=False)
    assert run(["analyze", "data.csv", "-o", "out", "--no-report", "--clusters", "5"]) == 0
    assert "3 of the 5 requested clusters have rows" in capsys.readouterr().out


def test_number_of_clusters_and_contamination(data):
    assert analyze("--model", "fuzzy", "--clusters", 3, "--contamination", 0.1) == 0
    table = pd.read_csv("out/points.csv")
    assert {"membership_2"} <= set(table.columns)
    assert table["is_outlier"].sum() == 9
    run(["score", "out/model.safetensors", "data.csv", "-o", "scored.csv", "-q"])
    again = pd.read_csv("scored.csv")
    assert again["is_outlier"].sum() < 20  # the level of the analysis, not a share of new rows


def test_the_seed_and_the_scale_are_saved(data):
    assert analyze("--seed", 5, "--scale", "standard") == 0
    assert softkern.load("out/model.safetensors").random_state == 5
    model = softkern.load("out/model.safetensors")
    assert np.abs(np.asarray(model.bandwidth_)).max() < 1  # in units of the standard deviation
    plain = pd.read_csv("out/points.csv")["label"]
    assert analyze("--force") == 0
    assert pd.read_csv("out/points.csv")["label"].tolist() == plain.tolist()


def test_parquet_points(data):
    pytest.importorskip("pyarrow")
    assert analyze("--points", "parquet", "--id", "name") == 0
    table = pd.read_parquet("out/points.parquet")
    assert table["id"].tolist() == data["name"].tolist()
    assert (
        run(
            ["score", "out/model.safetensors", "data.csv", "-o", "s.parquet", "--chunk", "40", "-q"]
        )
        == 0
    )
    assert pd.read_parquet("s.parquet")["label"].tolist() == table["label"].tolist()


def test_standard_input_and_output(data, monkeypatch, capsys):
    text = Path("data.csv").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert analyze(data="-") == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    capsys.readouterr()
    assert run(["score", "out/model.safetensors", "-", "--id", "name"]) == 0
    printed = capsys.readouterr()
    table = pd.read_csv(io.StringIO(printed.out), dtype={"id": str})  # with no other output
    assert table["id"].tolist() == data["name"].tolist()
    assert "scored 90 rows" in printed.err


def test_membership_columns_of_many_clusters_are_left_out(data, capsys):
    assert analyze("--model", "fuzzy", "--clusters", 21) == 0
    assert "membership_0" not in pd.read_csv("out/points.csv")
    assert analyze("--model", "fuzzy", "--clusters", 21, "--all-memberships", "--force") == 0
    assert "membership_20" in pd.read_csv("out/points.csv")


# Scoring


def test_chunks_do_not_matter(data):
    assert analyze("--id", "name") == 0
    for size in (7, 1000):
        command = ["score", "out/model.safetensors", "data.csv", "-o", f"{size}.csv", "-q"]
        assert run([*command, "--chunk", str(size)]) == 0
    small, large = (pd.read_csv(f"{size}.csv", dtype={"id": str}) for size in (7, 1000))
    assert small["id"].tolist() == data["name"].tolist()
    assert small["row"].tolist() == list(range(1, 91))
    assert small["label"].tolist() == large["label"].tolist()
    scores = [name for name in small if name.endswith("score") or name.startswith("membership")]
    assert small[scores].to_numpy() == pytest.approx(large[scores].to_numpy(), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("options", [[], ["--all-memberships"]])
def test_a_chunk_is_scored_once(options, data, monkeypatch):
    assert analyze() == 0
    sizes = []

    def count(ranker, X):
        sizes.append(len(X))
        return read(ranker, X)

    read = softkern.ranking.Ranker.score_points
    monkeypatch.setattr("softkern.ranking.Ranker.score_points", count)
    command = ["score", "out/model.safetensors", "data.csv", "-o", "s.csv", "-q", "--chunk", "40"]
    assert run([*command, *options]) == 0
    assert sizes == [40, 40, 10]
    assert "membership_1" in pd.read_csv("s.csv")


def test_columns_are_matched_by_name(data, capsys):
    assert analyze() == 0
    data[["y", "name", "x"]].assign(more=1).to_csv("other.csv", index=False)
    run(["score", "out/model.safetensors", "data.csv", "-o", "a.csv", "-q"])
    assert run(["score", "out/model.safetensors", "other.csv", "-o", "b.csv", "-q"]) == 0
    assert Path("a.csv").read_text() == Path("b.csv").read_text()
    data[["name", "x"]].to_csv("less.csv", index=False)
    code = run(["score", "out/model.safetensors", "less.csv", "-o", "c.csv"])
    assert check_error(capsys, code, "lacks: 'y'", "'name', 'x'") == 3
    assert not Path("c.csv").exists()


def test_missing_values_in_new_rows(data, capsys):
    assert analyze() == 0
    write("x,y\n1,2\n,2\n3,4\n", "new.csv")
    command = ["score", "out/model.safetensors", "new.csv", "-o", "s.csv"]
    strict = [*command, "--missing", "refuse"]
    assert check_error(capsys, run(strict), "--missing drop", "row 2") == 3
    assert run([*command, "--missing", "drop", "--chunk", "1"]) == 0
    assert "1 row with missing values: left blank" in capsys.readouterr().out
    table = pd.read_csv("s.csv")
    assert table["label"].isna().tolist() == [False, True, False]  # the row has a blank line
    assert table["row"].tolist() == [1, 2, 3]
    assert run([*command, "--missing", "impute", "--force"]) == 0
    assert "1 row with missing values: filled in" in capsys.readouterr().out
    assert pd.read_csv("s.csv")["label"].notna().all()


def test_models_saved_from_python(data, capsys):
    frame = data[["x", "y"]]
    softkern.save(softkern.AlphaCutClustering().fit(frame), "named.safetensors")
    softkern.save(softkern.OneClassPCM().fit(frame.to_numpy()), "plain.safetensors")
    assert run(["score", "named.safetensors", "data.csv", "-o", "a.csv", "-q"]) == 0
    code = run(["score", "plain.safetensors", "data.csv"])
    assert check_error(capsys, code, "fitted on 2 columns") == 3
    frame.to_csv("two.csv", index=False)
    assert run(["score", "plain.safetensors", "two.csv", "-o", "b.csv", "-q"]) == 0


FITTED = [
    softkern.AutoClustering(),
    softkern.AlphaCutClustering(),
    softkern.FuzzyCMeans(2),
    softkern.OneClassPCM(),
    softkern.OneClassMixture(2),
    softkern.WeightedSVDD(),
    softkern.SoftKernelSpectralClustering(2),
    softkern.OneClassPCM(engine="nystroem"),
    softkern.FuzzyCMeans(2, kernel="linear"),
]


@pytest.mark.parametrize(
    ("model", "columns"),  # 5 columns for models that treat many columns differently
    [*((model, 2) for model in FITTED), *((model, 5) for model in FITTED[:3])],
    ids=lambda value: value if isinstance(value, int) else type(value).__name__,
)
def test_models_saved_from_python_give_reasons(model, columns, folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, columns))
    X[::2, 0] += 9
    table = pd.DataFrame(X).add_prefix("c")
    new = table.head(40).copy()
    new.loc[7, "c1"] = 40.0
    new.to_csv("new.csv", index=False)
    for fitted in (table, X):  # with names and without
        softkern.save(clone(model).fit(fitted), "model.safetensors")
        assert run(["score", "model.safetensors", "new.csv", "-o", "s.csv", "-q", "-f"]) == 0
        scored = pd.read_csv("s.csv", keep_default_na=False).loc[7]
        assert scored["is_outlier"]
        assert scored["grade"] == "extreme"
        assert re.match(r"c1 40, usual -?\d\.\d+ to \d\.\d+", scored["why"])
    np.save("new.npy", new.to_numpy())
    assert run(["score", "model.safetensors", "new.npy", "-o", "s.csv", "-q", "-f"]) == 0
    assert pd.read_csv("s.csv").loc[7, "why"].startswith("x2 40, usual ")


def test_a_model_of_a_precomputed_kernel_has_no_columns(folder):
    X = np.random.default_rng(0).normal(size=(60, 2))
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    softkern.save(
        softkern.OneClassPCM(kernel="precomputed").fit(np.exp(-squares)), "model.safetensors"
    )
    np.save("new.npy", np.full((3, 60), -50.0))  # unlike all training rows
    assert run(["score", "model.safetensors", "new.npy", "-o", "s.csv", "-q"]) == 0
    scored = pd.read_csv("s.csv", keep_default_na=False)
    assert scored["is_outlier"].all()
    assert (scored["why"] == "").all()


def test_rejected_model_files(data, capsys):
    assert check_error(capsys, run(["score", "no.safetensors", "data.csv"]), "cannot be read") == 5
    assert check_error(capsys, run(["score", "data.csv", "data.csv"]), "not a softkern model") == 5
    assert analyze() == 0
    whole = Path("out/model.safetensors").read_bytes()
    Path("altered.safetensors").write_bytes(whole.replace(b"Gaussian", b"Laplacia"))
    code = run(["score", "altered.safetensors", "data.csv", "-o", "s.csv"])
    assert check_error(capsys, code, "altered.safetensors") == 5
    assert not Path("s.csv").exists()


# Bad input


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "there is no file"),
        ("", "is empty"),
        ("x,y\n", "0 rows"),
        ("x,y\n1,2\n", "1 row"),
        ("x,y\na,b\nc,d\n", "no column to work with"),
        ("x,y\n1,2\n,\n,\n", "no column to work with"),
        ("x,y\n1,2\n3,?\n5,6\n", "--na '?'"),
        ("x,y\n1,1\n1,1\n", "no column to work with"),
        ("x,y\n1,2\n3,4,5\n", "line 3"),
        ("x,y\n1,2\n3,1e300\n", "1e+300 in row 2"),
        (b"\x81,y\n1,2\n3,4\n", "--encoding"),
        (b"\x1f\x8bnot gzip", "cannot be read"),
    ],
)
def test_bad_data(text, words, folder, capsys):
    if text is not None:
        write(text)
    assert check_error(capsys, analyze(), words) == 3
    assert leftovers(folder, "data.csv") == []  # neither results nor a temporary folder


def test_excluded_columns_are_reported(folder, capsys):
    rows = "\n".join(f"{i},{x},{y},3,{'ab'[i % 2]}" for i, (x, y) in enumerate(points()))
    write(f",x,y,one,kind\n{rows}\n")
    assert run(["analyze", "data.csv", "-o", "out", "--no-report"]) == 0
    printed = capsys.readouterr().out
    assert "left out 'column 1': it numbers the rows" in printed
    assert "'one': it has one value" in printed
    assert "'kind': text column; use --categories kind" in printed
    assert analyze("--categories", "kind", "--force") == 0
    model = softkern.load("out/model.safetensors")
    assert len(model.preparation_.get_feature_names_out()) == 3


def test_class_columns_are_noted_and_can_be_excluded(data, capsys):
    data.assign(label=1 + np.arange(90) % 3).to_csv("data.csv", index=False)
    command = ["analyze", "data.csv", "-o", "out", "--no-report", "--force"]
    assert run(command) == 0
    assert "'label' is used as a feature; --exclude leaves it out" in capsys.readouterr().out
    assert run([*command, "--exclude", "label,name"]) == 0
    printed = capsys.readouterr().out
    assert "2 features: 'x', 'y'" in printed
    assert "·" not in printed.split("features")[0]  # no other notes
    assert check_error(capsys, analyze("--exclude", "z", "--force"), "no column 'z'") == 3


def test_categories_of_digits_are_scored_as_they_were_read(data):
    table = data.assign(kind=[["1", "02", "0A", ""][i // 30 if i > 5 else 3] for i in range(90)])
    table.to_csv("data.csv", index=False)
    assert analyze("--categories", "kind", "--missing", "drop") == 0
    model = softkern.load("out/model.safetensors")
    assert len(model.preparation_.get_feature_names_out()) == 3
    assert (
        run(["score", "out/model.safetensors", "data.csv", "-o", "s.csv", "-q", "--chunk", "9"])
        == 0
    )
    first, again = pd.read_csv("out/points.csv"), pd.read_csv("s.csv")
    assert again["label"].dropna().tolist() == first["label"].tolist()


def test_column_names_of_several_lines_are_shown_and_accepted_on_one_line(folder, capsys):
    X = points()
    table = pd.DataFrame(X, columns=["Revenue\n(EUR)", "Costs,\r\nall"])
    table.insert(0, "Cust\nNo", [f"c{i}" for i in range(len(X))])
    table.to_csv("data.csv", index=False)
    names = ["--columns", "Costs, all", "--columns", "Revenue (EUR)", "--id", "Cust No"]
    assert run(["analyze", "data.csv", "-o", "out", "--no-report", *names]) == 0
    printed = capsys.readouterr().out
    assert "2 features: 'Revenue (EUR)', 'Costs, all'" in printed
    assert "\\x0" not in printed
    assert pd.read_csv("out/points.csv")["id"][3] == "c3"
    score = ["score", "out/model.safetensors", "data.csv", "--id", "Cust No", "-o", "s.csv"]
    assert run(score) == 0
    assert pd.read_csv("s.csv")["id"][3] == "c3"


def test_no_rows_are_listed_if_nothing_stands_out(folder, capsys):
    write("flag\n" + "0\n1\n" * 40)
    assert run(["analyze", "data.csv", "-o", "out", "--no-report"]) == 0
    printed = capsys.readouterr().out
    assert "No row stands out." in printed
    assert "no column stands out" not in printed
    assert "most unusual" not in printed


def test_an_identifier_can_be_a_feature_too(data):
    data.assign(k=np.arange(90) % 7).to_csv("data.csv", index=False)
    assert analyze("--columns", "x,k", "--id", "k") == 0
    assert softkern.load("out/model.safetensors").preparation_.columns_ == ["x", "k"]


def test_missing_values_are_dropped_or_imputed(data):
    text = Path("data.csv").read_text() + "p090,,1\np091,0.5,NA\n"
    write(text)
    assert analyze("--missing", "drop") == 0
    assert pd.read_csv("out/points.csv")["row"].tolist() == list(range(1, 91))
    assert analyze("--missing", "impute", "--force") == 0
    assert len(pd.read_csv("out/points.csv")) == 92


def test_duplicate_identifiers_are_reported(data, capsys):
    data["name"] = ["same", "same", *data["name"][2:]]
    data.to_csv("data.csv", index=False)
    assert run(["analyze", "data.csv", "-o", "out", "--no-report", "--id", "name"]) == 0
    assert "1 value of 'name' names more than one row: 'same'" in capsys.readouterr().out
    assert check_error(capsys, analyze("--id", "nobody", "--force"), "no column 'nobody'") == 3


def test_thousands_of_columns(folder, capsys):
    X = np.random.default_rng(0).normal(size=(12, 1_001))  # above the limit of the density tree
    X[6:] += 5
    pd.DataFrame(X, columns=[f"f{i}" for i in range(1_001)]).to_csv("data.csv", index=False)
    narrow = analyze("--model", "alpha-cut")
    assert check_error(capsys, narrow, "1,001 columns are too many", "--columns") == 3
    assert analyze("--model", "fuzzy", "--clusters", 2) == 0
    assert pd.read_csv("out/points.csv")["label"].nunique() == 2
    assert analyze("--columns", "f1,f7", "--force") == 0


def test_an_extreme_value_is_the_first_outlier(data):
    far = pd.concat([data, pd.DataFrame({"name": ["far"], "x": [1e5], "y": [0]})])
    far.to_csv("data.csv", index=False)
    assert analyze("--id", "name") == 0
    table = pd.read_csv("out/points.csv").set_index("id")
    assert table.loc["far", "outlier_rank"] == 1
    assert table.loc["far", "is_outlier"]


def test_markup_in_the_data_is_printed_literally(folder, capsys):
    X = points()
    name = "[bold red]x[/]\x1b[31m<script>alert(1)</script>"
    ids = ["=cmd|' /C calc'!A0", "[link=http://x]y[/link]\x1b]0;t\x07", *map(str, range(88))]
    pd.DataFrame({"who": ids, name: X[:, 0], "y": X[:, 1]}).to_csv("data.csv", index=False)
    assert run(["analyze", "data.csv", "--id", "who", "-o", "out"]) == 0
    printed = capsys.readouterr().out
    assert "\x1b]0;t" not in printed
    assert "\x1b[31m<" not in printed
    assert "[bold red]x[/]" in printed  # not interpreted as markup
    written = pd.read_csv("out/points.csv", dtype={"id": str})["id"].tolist()
    assert written == [f"'{ids[0]}", *ids[1:]]  # a spreadsheet does not execute it
    assert "<script>alert(1)</script>" not in Path("out/report.html").read_text()


# Output


def test_existing_results_are_replaced_only_by_force(data, capsys):
    Path("out").mkdir()
    Path("out/mine.txt").write_text("mine")
    assert analyze() == 0  # the folder had no results
    before = Path("out/run.json").read_text()
    assert check_error(capsys, analyze(), "--force") == 4
    assert Path("out/run.json").read_text() == before
    assert analyze("--force", "--seed", 3) == 0
    assert json.loads(Path("out/run.json").read_text())["seed"] == 3
    assert Path("out/mine.txt").read_text() == "mine"
    assert check_error(capsys, analyze(out="data.csv"), "is a file") == 4
    run(["score", "out/model.safetensors", "data.csv", "-o", "s.csv", "-q"])
    code = run(["score", "out/model.safetensors", "data.csv", "-o", "s.csv"])
    assert check_error(capsys, code) == 4


def test_results_of_a_simultaneous_run_are_not_replaced(data, folder, capsys, monkeypatch):
    def slow(*arguments, **keywords):
        Path("out").mkdir()
        Path("out/points.csv").write_text("of the other")
        return table(*arguments, **keywords)

    table = softkern.ranking.Ranker.table
    monkeypatch.setattr("softkern.tables.cli.analyze.Ranker.table", slow)
    assert check_error(capsys, analyze(), "out/points.csv is there already") == 4
    assert Path("out/points.csv").read_text() == "of the other"
    assert leftovers(folder, "data.csv", "out") == []


def test_files_that_cannot_be_written_are_rejected(data, capsys):
    assert analyze() == 0
    score = ["score", "out/model.safetensors", "data.csv", "-o"]
    assert check_error(capsys, run([*score, "s.xls"]), "s.xls", ".parquet") == 4
    assert check_error(capsys, run([*score, "no/s.csv"]), "there is no folder") == 4


def test_new_parent_folders_are_removed_after_errors(data, folder, capsys):
    assert analyze(out="a/b/c") == 0
    assert analyze(data="nothing.csv", out="d/e/f") == 3
    assert leftovers(folder, "data.csv", "a") == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_reported_by_score(data, capsys):
    assert analyze() == 0
    code = run(["score", "out/model.safetensors", "data.csv", "-o", "/dev/full"])
    assert check_error(capsys, code, "No space left") == 4


def test_a_full_disk_is_reported_by_analyze(data, folder, capsys, monkeypatch):
    def full(*arguments, **keywords):
        Path(arguments[1]).write_text("half")
        raise OSError(28, "No space left on device", str(arguments[1]))

    monkeypatch.setattr("softkern.tables.cli.analyze.save", full)
    assert check_error(capsys, analyze(), "No space left on device") == 4
    assert leftovers(folder, "data.csv") == []


def test_missing_permission_is_reported(data, folder, capsys):
    locked = folder / "locked"
    locked.mkdir()
    locked.chmod(0o500)
    if os.access(locked, os.W_OK):  # root may write anywhere except into /proc
        locked = Path("/proc")
        if not locked.is_dir():
            pytest.skip("root can write anywhere without /proc")
    code = run(["analyze", "data.csv", "-o", str(locked / "out"), "-q"])
    assert check_error(capsys, code, "cannot write") == 4
    assert check_error(capsys, analyze(out="data.csv/out"), "data.csv") == 4


def test_lack_of_memory_is_reported(data, folder, capsys, monkeypatch):
    def hungry(*arguments, **keywords):
        raise MemoryError("engine='dense' needs 75 GiB")

    monkeypatch.setattr("softkern.tables.cli.analyze.make", hungry)
    assert check_error(capsys, analyze(), "75 GiB", "--columns") == 6
    assert leftovers(folder, "data.csv") == []


@pytest.mark.parametrize("error", [ValueError, IndexError])
def test_internal_errors_are_not_reported_as_bad_data(error, data, folder, capsys, monkeypatch):
    def faulty(*arguments, **keywords):
        raise error("operands could not be broadcast together")

    monkeypatch.setattr("softkern.AutoClustering.fit", faulty)
    words = (error.__name__, "could not be broadcast", "internal error", "report it", "--debug")
    assert check_error(capsys, analyze(), *words) == 1
    assert leftovers(folder, "data.csv") == []


@pytest.mark.parametrize("name", ["fuzzy", "possibilistic", "mixture", "spectral"])
def test_too_few_rows_for_the_clusters_are_rejected(name, folder, capsys):
    write("x,y\n1,2\n3,4\n5,7\n")
    assert check_error(capsys, analyze("--model", name, "--clusters", 5), "cluster") == 3


def test_warnings_name_an_option_that_helps(folder, capsys):
    write("a,b\n" + "1,2\n" * 30 + "3,4\n")
    command = ["analyze", "data.csv", "-o", "out", "--no-report", "-f", "--clusters", "5"]
    assert run([*command, "--model", "possibilistic"]) == 0
    printed = capsys.readouterr().out
    assert "warning: some of the clusters are identical; use a smaller number with" in printed
    assert "eta" not in printed
    assert "1 of the 5 requested clusters has rows" in printed
    assert "eta_scale" in json.loads(Path("out/run.json").read_text())["warnings"][0]
    assert run([*command, "--model", "possibilistic", "--verbose"]) == 0
    assert "eta_scale" in capsys.readouterr().out
    words = ("cannot form 5 clusters: only 2 of", "Use --clusters 2 or fewer.")
    assert check_error(capsys, run([*command, "--model", "fuzzy"]), *words) == 3


def test_interruptions_leave_nothing_behind(data, folder, capsys, monkeypatch):
    def interrupted(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr("softkern.tables.cli.analyze.Ranker.table", interrupted)
    assert check_error(capsys, analyze(), "interrupted") == 130
    assert analyze(out="a/b") == 130
    assert leftovers(folder, "data.csv") == []


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ("exec(INTERRUPT)", 130),  # where Python remembers a KeyboardInterrupt
        ("Noisy()", 130),  # where an exception is lost
        ("with contextlib.suppress(BaseException): exec(INTERRUPT)", 130),
        ("with contextlib.suppress(BaseException): exec(INTERRUPT)\n    undefined", 130),
        ("atexit.register(exec, INTERRUPT, globals())", 0),
        ("threading.Thread(target=interrupt_and_wait).start()", 0),  # Python waits for threads
    ],
)
def test_interruptions_in_awkward_places_have_the_usual_exit_code(place, code, folder):
    program = f"""
import atexit, contextlib, os, signal, threading, time, types
import typer
from softkern.tables.cli import main, stopping

INTERRUPT = "signal.raise_signal(signal.SIGINT)"

class Noisy:
    def __del__(self):
        exec(INTERRUPT)

def interrupt_and_wait():
    while signal.getsignal(signal.SIGINT) is stopping._stop:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(600)

def command(**options):
    {place}

signal.signal(signal.SIGINT, signal.default_int_handler)
typer.main.get_command = lambda app: types.SimpleNamespace(main=command)
main()
"""
    (folder / "interrupted.py").write_text(program)
    done = subprocess.run([sys.executable, "-m", "interrupted"], capture_output=True, text=True)
    message = "softkern: interrupted; nothing is left half-written\n"
    assert (done.returncode, done.stderr) == (code, message if code else "")


def test_an_interruption_while_packages_are_loaded_has_the_usual_exit_code(folder):
    (folder / "typer.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)")
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    done = subprocess.run(
        [sys.executable, "-c", start + "from softkern.tables.cli import main; main()"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 130
    assert done.stderr == "softkern: interrupted; nothing is left half-written\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ on Windows")
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_signals_leave_nothing_behind(name, code, folder):
    number = getattr(signal, name)
    X, _ = softkern.datasets.make_dense_regions(random_state=0)
    pd.DataFrame(X, columns=["x", "y"]).to_csv("data.csv", index=False)
    command = [sys.executable, "-m", "softkern.tables.cli", "analyze", "-", "-o", "out"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # the signal may be ignored if tests run in the background of a shell
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    process.stdin.write((folder / "data.csv").read_bytes())
    process.stdin.close()
    # wait until the run creates its temporary folder, seconds before its end
    while not any(name.endswith(".tmp") for name in os.listdir(folder)):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    printed = process.stderr.read()
    process.stderr.close()
    process.wait(timeout=60)
    assert process.returncode == code
    assert b"Traceback" not in printed
    assert leftovers(folder, "data.csv") == []


@pytest.mark.skipif(sys.platform == "win32", reason="pipes differ on Windows")
def test_score_with_a_closed_pipe(data):
    assert analyze() == 0
    large = pd.concat([data] * 200)
    large.to_csv("large.csv", index=False)
    command = [
        sys.executable,
        "-m",
        "softkern.tables.cli",
        "score",
        "out/model.safetensors",
        "large.csv",
    ]
    process = subprocess.Popen(
        [*command, "--chunk", "1000", "-q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline().startswith(b"row,")
    process.stdout.close()
    printed = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 141
    assert printed == b""


@pytest.mark.skipif(sys.platform == "win32", reason="pipes differ on Windows")
def test_analyze_with_a_closed_output(data, folder):
    command = [sys.executable, "-m", "softkern.tables.cli", "analyze", "data.csv", "-o", "out"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    printed = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 141
    assert printed == b""
    assert leftovers(folder, "data.csv") == []


def test_closed_standard_output(data, capsys, monkeypatch):
    assert analyze() == 0
    monkeypatch.setattr("sys.stdout", None)
    code = run(["score", "out/model.safetensors", "data.csv", "-q"])
    assert check_error(capsys, code, "standard output is closed") == 4
    assert analyze("--force") == 0


# Other commands and options


def test_usage_errors(data, capsys):
    for arguments, words in [
        (["analyze", "data.csv"], "--out"),
        (["nonsense"], "nonsense"),
        (["analyze", "data.csv", "-o", "out", "--model", "magic"], "magic"),
        (["analyze", "data.csv", "-o", "out", "--model", "fuzzy", "--clusters", "-1"], "whole"),
        (["analyze", "data.csv", "-o", "out", "--contamination", "0"], "flags nothing"),
        (["analyze", "data.csv", "-o", "out", "--contamination", "0.7"], "--contamination"),
        (["analyze", "data.csv", "-o", "out", "--separator", "ab"], "one character"),
        (["analyze", "data.csv", "-o", "out", "--separator", "\n"], "--separator"),
        (["analyze", "data.csv", "-o", "out", "--decimal", "1"], "must be . or ,"),
        (["plan", "10", "20", "--engine", "fourier"], "at most 3 columns"),
        (["plan", "1" + "0" * 30, "2"], "N 1000000"),
        (["plan", "10"], "D is missing: Columns."),
        (["analyze", "data.csv", "-o", "out", "--contamination", "much"], "such as 0.05"),
        (["analyze", "data.csv", "-o", "out", "--contaminaton", "1"], "mean --contamination?"),
        (["analyze", "data.csv", "-o", "out", "--model", "fuzy"], "did you mean fuzzy?"),
        (["analyze", "data.csv", "-o", "out", "--missing", "x"], "--missing x must be one of"),
        (["analyze", "data.csv", "-o", "out", "--seed", "-1"], "--seed -1 must be a whole number"),
        (["analyze", "data.csv", "-o", "out", "--skip-rows", "few"], "--skip-rows few must be"),
        (["score", "m", "data.csv", "--chunk", "0"], "--chunk 0 must be a whole number from 1"),
        (["plan", "10", "2", "--memory", "inf"], "--memory"),
    ]:
        assert check_error(capsys, run(arguments), words) == 2
    assert not Path("out").exists()
    code = run(["analyze", "data.csv", "-o", "o", "--show", "x,z"])
    assert check_error(capsys, code, "--show") == 3


def test_a_plan_over_the_memory_limit_fails(capsys):
    assert run(["plan", "1000000", "2", "--memory", "0.001"]) == 6
    printed = capsys.readouterr()
    assert "Does not fit into memory" in printed.out
    assert "use fewer rows" in printed.err
    assert run(["plan", "1000000", "2", "--engine", "dense", "--memory", "1"]) == 6
    assert "softkern: not enough memory: engine='dense' needs" in capsys.readouterr().err


def test_debug_shows_the_traceback(folder, capsys):
    assert run(["analyze", "nothing.csv", "-o", "out", "--debug"]) == 3
    assert "Traceback" in capsys.readouterr().err


def test_version_plan_and_models(folder, capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"softkern {softkern.__version__}\n"
    assert run(["plan", "1000000", "2", "--memory", "8"]) == 0
    printed = capsys.readouterr().out
    assert "n = 1,000,000, d = 2" in printed
    assert re.search(r"the density tree: about \d+ (s|min) more \(used by auto\)", printed)
    assert run(["plan", "1000", "5", "--clusters", "3"]) == 0
    assert "--model alpha-cut, not auto" in capsys.readouterr().out
    assert run(["plan", "100", "600"]) == 0
    printed = capsys.readouterr().out
    assert "no density tree: 600 columns are too many for it (up to 500)" in printed
    assert run(["models"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in MODELS)


def test_demo_without_bokeh(folder, capsys, monkeypatch):
    generate = demo.generate
    monkeypatch.setattr(demo, "generate", lambda n, seed: generate(n // 10, seed))
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    assert run(["demo"]) == 0
    assert "pip install 'softkern[report]'" in capsys.readouterr().out
    made = FILES | {"data.csv", "tomorrow.csv", "scored.csv"}
    assert set(os.listdir("demo")) == made - {"report.html"}


def test_demo(folder, capsys, monkeypatch):
    assert run(["demo"]) == 0
    printed = capsys.readouterr().out
    assert "$ softkern analyze demo/data.csv --id name -o demo" in printed
    assert "4 clusters" in printed
    assert set(os.listdir("demo")) == FILES | {"data.csv", "tomorrow.csv", "scored.csv"}
    assert len(pd.read_csv("demo/scored.csv")) == 21
    generate = demo.generate
    monkeypatch.setattr(demo, "generate", lambda n, seed: generate(n // 10, seed))
    assert run(["demo"]) == 0  # again, with fewer rows
    assert len(pd.read_csv("demo/points.csv")) == 151
    Path("mine").mkdir()
    write("x,y\n1,2\n", "mine/data.csv")
    assert check_error(capsys, run(["demo", "-o", "mine"]), "mine/data.csv is there") == 4


def test_help_imports_no_heavy_packages():
    code = (
        "import sys; from softkern.tables.cli import run; run(['--help']); "
        "run(['analyze', '--help']); "
        "heavy = {'numpy', 'pandas', 'sklearn', 'scipy', 'numba', 'safetensors', 'bokeh'}; "
        "sys.exit(' '.join(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == ""
    for command in ("analyze", "score", "plan", "demo", "--install-completion"):
        assert command in done.stdout


TERMS = ("K @ A", "engine", "α", "typicality", "PCM", "noise", "eigen", "iteration", "bandwidth")


@pytest.mark.parametrize("centers", [[0], [0, 9], [0, 9, 18]])
@pytest.mark.parametrize("columns", [2, 6])
def test_results_contain_no_technical_terms(centers, columns, folder, capsys):
    table = table_of_many_columns(np.random.default_rng(0), centers, d=columns)
    table.iloc[0] = 60.0
    table.to_csv("data.csv", index=False)
    assert run(["analyze", "data.csv", "-o", "out"]) == 0
    printed = capsys.readouterr().out
    page = Path("out/report.html").read_text()
    markup = re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL)
    shown, computed = markup.split('id="computed"')
    names = "|".join(choice.estimator for choice in MODELS.values())
    for text in (printed, shown, Path("out/clusters.csv").read_text()):
        explained = ("typicality", "density") if text is shown else ()  # the page defines them
        found = [word for word in (*TERMS, "density") if word in text and word not in explained]
        assert not found
        assert not re.search(names, text)
    assert re.search("one cluster" if len(centers) == 1 else names, computed)
    assert "engine" not in computed


def test_verbose_results_contain_technical_terms(data):
    assert run(["analyze", "data.csv", "-o", "out", "--verbose"]) == 0
    assert "engine" in Path("out/report.html").read_text().split('id="computed"')[1]


def test_the_list_of_models_contains_no_technical_terms(capsys):
    assert run(["models"]) == 0
    printed = capsys.readouterr().out
    assert not [word for word in (*TERMS, "kernel", "machine") if word in printed]


@pytest.mark.parametrize("name", ["auto", "fuzzy", "alpha-cut"])
@pytest.mark.parametrize("table", ["repeats", "skew"])  # the tests of AutoClustering use all
def test_warnings_of_trial_fits_are_not_printed(table, name, folder, capsys):
    pd.DataFrame(make_hard_tables()[table]).add_prefix("c").to_csv("data.csv", index=False)
    assert run(["analyze", "data.csv", "-o", "out", "--no-report", "--model", name]) == 0
    assert "arning" not in "".join(capsys.readouterr())
    assert json.loads(Path("out/run.json").read_text())["warnings"] == []
