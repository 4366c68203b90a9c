"""Runs store finished checks, skip them later, and rerun them if something changed."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from reproduce import registry
from reproduce.__main__ import main
from reproduce.checks import (
    CONTRADICTS,
    REPRODUCES,
    UNTESTED,
    Check,
    Entry,
    Experiment,
    Measured,
    Picture,
)
from reproduce.drawing import panels
from reproduce.pages import read_results, summary_rows, write_pages
from reproduce.registry import PAPERS, Paper
from reproduce.running import reproduce
from reproduce.store import Store
from reproduce.verified import Unavailable

pytest.importorskip("matplotlib")
DOCS = Path(__file__).parents[2] / "docs" / "papers"


def lack_data(setting):
    raise Unavailable("no toys")


@pytest.fixture
def runs():
    return []


@pytest.fixture
def toy(monkeypatch, runs):
    """A paper of three checks that record when they run. The third lacks its data."""

    def hold(setting):
        runs.append("T1")
        ax = panels()[0].axes[0]
        picture = Picture("a <picture>", "a | line", ax.figure)
        entry = Entry("one & one", "2", "2", "± 0", True)
        return Measured([entry], "because 1 < 2 | 3", 3, {"σ": 7}, pictures=[picture])

    def fail(setting):
        runs.append("T2")
        experiment = Experiment("why", ("a",), [("b",)], "so")
        return Measured([Entry("x", "1", "2", holds=False)], "no", experiments=[experiment])

    checks = (
        Check("toy-T1", "it holds", "equal", hold, REPRODUCES, reading="Read so."),
        Check("toy-T2", "it does not", "equal", fail, CONTRADICTS),
        Check("toy-T3", "it lacks data", "equal", lack_data, REPRODUCES, sets=("iris",)),
    )
    module = SimpleNamespace(CHECKS=checks, __file__=__file__)
    monkeypatch.setitem(sys.modules, "reproduce.toy", module)
    monkeypatch.setitem(PAPERS, "toy", Paper("toy", "A. Toy", "Toys", "nowhere", "https://a.b"))
    for name in list(PAPERS):
        if name != "toy":
            monkeypatch.delitem(PAPERS, name)
    return module


def test_finished_checks_are_skipped(toy, runs, tmp_path):
    store = Store(tmp_path)
    first = reproduce(["toy"], store, quick=True)
    assert [r.verdict for r in first] == [REPRODUCES, CONTRADICTS, UNTESTED]
    assert all(r.is_expected for r in first)  # missing data are not unexpected
    again = reproduce(["toy"], store, quick=True)
    assert [r.is_new for r in again] == [False, False, True]  # the data may be available now
    assert [r.verdict for r in again] == [r.verdict for r in first]
    assert runs == ["T1", "T2"]
    reproduce(["toy"], store)  # a quick result does not count for a full run
    assert runs == ["T1", "T2"] * 2
    reproduce(["toy"], store, quick=True)  # but a full one counts for a quick run
    assert runs == ["T1", "T2"] * 2
    reproduce(["toy"], store, quick=True, again=True, ids=["toy-T2"])
    assert runs == ["T1", "T2"] * 2 + ["T2"]


def test_outdated_or_damaged_results_are_rerun(toy, runs, tmp_path, monkeypatch):
    store = Store(tmp_path)
    reproduce(["toy"], store, ids=["toy-T1"])
    file = tmp_path / "results" / "toy-T1.json"
    for damage in (
        lambda: file.write_text(file.read_text()[:100]),
        lambda: file.write_text(json.dumps({**json.loads(file.read_text()), "code": "old"})),
        lambda: file.write_text(json.dumps({**json.loads(file.read_text()), "versions": {}})),
        lambda: file.write_text(json.dumps({**json.loads(file.read_text()), "format": 0})),
    ):
        damage()
        before = len(runs)
        reproduce(["toy"], store, ids=["toy-T1"])
        assert len(runs) == before + 1
    reproduce(["toy"], store, ids=["toy-T1"], seed=1)
    assert len(runs) == 6


def test_code_digest_covers_all_modules_of_a_paper(toy, tmp_path):
    for name in ("__init__", "tables"):
        (tmp_path / f"{name}.py").write_text("x = 1\n")
    toy.__file__ = str(tmp_path / "__init__.py")
    before = registry.code_digest("toy")
    (tmp_path / "tables.py").write_text("x = 2\n")
    assert registry.code_digest("toy") != before


def test_an_interruption_keeps_finished_checks(toy, runs, tmp_path):
    def interrupt(setting):
        raise KeyboardInterrupt

    checks = toy.CHECKS
    toy.CHECKS = (checks[0], Check("toy-T2", "x", "y", interrupt, CONTRADICTS))
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        reproduce(["toy"], store)
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["toy-T1.json"]
    toy.CHECKS = checks
    assert [r.is_new for r in reproduce(["toy"], store)] == [False, True, True]


def test_pages_are_complete_and_free_of_local_paths(toy, tmp_path):
    store = Store(tmp_path)
    reproduce(["toy"], store, quick=True)
    assert [path.name for path in write_pages(store)] == ["toy.md", "index.md"]
    text = (tmp_path / "toy.md").read_text()
    for part in ("3 draws", "σ: 7 values tried", "seed 0", "softkern 0", "quick", "± 0"):
        assert part in text
    assert "Acceptance: equal. Read so. 3 draws" in text
    assert "Cannot be tested here: no toys" in text
    assert str(tmp_path) not in text
    assert "because 1 \\< 2 \\| 3" in text
    [picture] = re.findall(r"\]\((figures/.*?)\)", text)
    assert (tmp_path / picture).is_file()
    assert "| what | printed | ours | accepted |\n|---|---|---|---|\n| x | 1 | 2 | no |" in text
    assert "![a \\<picture>]" in text
    assert "[toy-T2](#toy-t2)" in text
    assert "[toy-T2](toy.md#toy-t2)" in (tmp_path / "index.md").read_text()


def test_an_unexpected_verdict_is_reported(toy, tmp_path, capsys):
    toy.CHECKS = (Check("toy-T1", "x", "y", toy.CHECKS[0].run, CONTRADICTS),)
    options = ["toy", "--jobs", "1", "--out", str(tmp_path)]
    assert main(options) == 0
    assert main([*options, "--expect"]) == 8
    output = capsys.readouterr().out
    assert "expected: contradicts" in output
    assert "Not as expected: toy-T1." in output
    assert "Expected verdict: contradicts" in (tmp_path / "toy.md").read_text()


def test_no_check_runs_without_matplotlib(toy, runs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SystemExit, match=r"softkern\[plot\]"):
        main(["toy", "--jobs", "1", "--out", str(tmp_path)])
    assert not runs


def test_exit_codes_and_messages_of_the_command(tmp_path, monkeypatch, capsys):
    options = ["--quick", "--jobs", "1", "--out", str(tmp_path / "out")]
    assert main(["bicego2009", "--check", "2009-t1m", *options]) in (0, 3)
    monkeypatch.setenv("SOFTKERN_DATA", str(tmp_path))  # has no data sets
    monkeypatch.setattr(
        "reproduce.datasets.fetch_openml",
        lambda **_: (_ for _ in ()).throw(OSError("no network")),
    )
    capsys.readouterr()
    assert main(["filippone2010", "--check", "2010-F5c", *options]) == 3
    assert "No data set is available" in capsys.readouterr().err
    assert "Cannot be tested here" in (tmp_path / "out" / "filippone2010.md").read_text()
    for arguments, message in (
        (["filippone2010", "--check", "2010-F9"], "unknown check '2010-F9'"),
        (["filipone2010"], "Did you mean filippone2010?"),
    ):
        with pytest.raises(SystemExit, match="2"):
            main([*arguments, *options])
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("paper", list(PAPERS))
def test_stored_pages_match_the_checks(paper):
    store = Store(DOCS)
    for check in registry.checks_of(paper):
        record = store.read(check.id)
        assert record is not None, f"{check.id} was not run: make reproduce"
        if not record.unavailable:
            verdict = check.judge(record.entries)
            assert verdict == check.expected, check.id
            assert verdict != CONTRADICTS or record.experiments, check.id
        for picture in record.pictures:
            assert (DOCS / picture.file).is_file()
    text = (DOCS / f"{paper}.md").read_text(encoding="utf-8")
    assert not re.search(r"(?<!\S)/(home|root|tmp|Users)/", text)  # local paths


def test_readme_has_the_numbers_of_the_stored_pages():
    lines = (DOCS.parents[1] / "README.md").read_text(encoding="utf-8").splitlines()
    for paper, *numbers in summary_rows(read_results(Store(DOCS))):
        [line] = [line for line in lines if f"](docs/papers/{paper}.md)" in line]
        assert line.endswith(f"| {' | '.join(numbers)} |")
