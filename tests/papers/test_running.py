"""Runs: what is finished is kept, skipped, and run again where it must be."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from softkern.papers import PAPERS, Check, Entry, Measured, Paper, Store, registry, reproduce
from softkern.papers.checks import CONTRADICTS, REPRODUCES, UNTESTED, Experiment, Picture
from softkern.papers.data import Unavailable
from softkern.papers.drawing import panels
from softkern.papers.pages import stored, summary_rows, write_pages
from softkern.tables.cli import run
from softkern.tables.cli.errors import OutputError
from softkern.tables.cli.reproduce import Job, run_checks

pytest.importorskip("matplotlib")
KEPT = Path(__file__).parents[2] / "docs" / "papers"


def lacking(setting):
    raise Unavailable("toy cannot be had here")


@pytest.fixture
def runs():
    return []


@pytest.fixture
def toy(monkeypatch, runs):
    """A paper of three checks, which say when they run; one lacks its data."""

    def holding(setting):
        runs.append("T1")
        ax = panels()[0].axes[0]
        picture = Picture("a <picture>", "a | line", ax.figure)
        entry = Entry("one & one", "2", "2", "± 0", True)
        return Measured([entry], "because 1 < 2 | 3", 3, {"σ": 7}, pictures=[picture])

    def failing(setting):
        runs.append("T2")
        experiment = Experiment("why", ("a",), [("b",)], "so")
        return Measured([Entry("x", "1", "2", holds=False)], "no", experiments=[experiment])

    checks = (
        Check("toy-T1", "it holds", "equal", holding, REPRODUCES, reading="Read so."),
        Check("toy-T2", "it does not", "equal", failing, CONTRADICTS),
        Check("toy-T3", "it lacks data", "equal", lacking, REPRODUCES, sets=("iris",)),
    )
    module = SimpleNamespace(CHECKS=checks, __file__=__file__)
    monkeypatch.setitem(sys.modules, "softkern.papers.toy", module)
    monkeypatch.setitem(PAPERS, "toy", Paper("toy", "A. Toy", "Toys", "nowhere", "https://a.b"))
    for name in list(PAPERS):
        if name != "toy":
            monkeypatch.delitem(PAPERS, name)
    return module


def test_what_is_done_is_skipped(toy, runs, tmp_path):
    store = Store(tmp_path)
    first = reproduce(["toy"], store, quick=True)
    assert [r.verdict for r in first] == [REPRODUCES, CONTRADICTS, UNTESTED]
    assert all(r.is_expected for r in first)  # data that are not here are no news
    again = reproduce(["toy"], store, quick=True)
    assert [r.is_new for r in again] == [False, False, True]  # data may have come
    assert [r.verdict for r in again] == [r.verdict for r in first]
    assert runs == ["T1", "T2"]
    reproduce(["toy"], store)  # in full: a quick result is none
    assert runs == ["T1", "T2"] * 2
    reproduce(["toy"], store, quick=True)  # a full one serves
    assert runs == ["T1", "T2"] * 2
    reproduce(["toy"], store, quick=True, again=True, ids=["toy-T2"])
    assert runs == ["T1", "T2"] * 2 + ["T2"]


def test_results_that_do_not_fit_are_run_again(toy, runs, tmp_path, monkeypatch):
    store = Store(tmp_path)
    reproduce(["toy"], store, ids=["toy-T1"])
    file = tmp_path / "results" / "toy-T1.json"
    for spoil in (
        lambda: file.write_text(file.read_text()[:100]),
        lambda: file.write_text(json.dumps({**json.loads(file.read_text()), "code": "old"})),
        lambda: file.write_text(json.dumps({**json.loads(file.read_text()), "versions": {}})),
        lambda: file.write_text(json.dumps({**json.loads(file.read_text()), "format": 0})),
    ):
        spoil()
        before = len(runs)
        reproduce(["toy"], store, ids=["toy-T1"])
        assert len(runs) == before + 1
    reproduce(["toy"], store, ids=["toy-T1"], seed=1)
    assert len(runs) == 6


def test_a_paper_of_several_modules_is_changed_with_any_of_them(toy, tmp_path):
    for name in ("__init__", "tables"):
        (tmp_path / f"{name}.py").write_text("x = 1\n")
    toy.__file__ = str(tmp_path / "__init__.py")
    before = registry.code_of("toy")
    (tmp_path / "tables.py").write_text("x = 2\n")
    assert registry.code_of("toy") != before


def test_an_interruption_keeps_what_is_finished(toy, runs, tmp_path):
    def interrupted(setting):
        raise KeyboardInterrupt

    checks = toy.CHECKS
    toy.CHECKS = (checks[0], Check("toy-T2", "x", "y", interrupted, CONTRADICTS))
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        reproduce(["toy"], store)
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["toy-T1.json"]
    toy.CHECKS = checks
    assert [r.is_new for r in reproduce(["toy"], store)] == [False, True, True]


def test_pages_say_all_and_nothing_of_this_machine(toy, tmp_path):
    store = Store(tmp_path)
    reproduce(["toy"], store, quick=True)
    names = [path.name for path in write_pages(store)]
    assert names == ["toy.html", "toy.md", "index.html", "index.md"]
    page, text = ((tmp_path / name).read_text() for name in ("toy.html", "toy.md"))
    for form in (page, text):
        for said in ("3 draws", "σ: 7 settings tried", "seed 0", "softkern 0", "quick", "± 0"):
            assert said in form
        assert "Acceptance: equal. Read so. 3 draws" in form
        assert "Cannot be tested here: toy cannot be had here" in form
        assert str(tmp_path) not in form
    assert "because 1 &lt; 2 | 3" in page
    assert "because 1 \\< 2 \\| 3" in text
    [picture] = re.findall(r"\]\((figures/.*?)\)", text)
    assert (tmp_path / picture).is_file()
    assert f'src="{picture}"' in page
    assert "| what | printed | ours | accepted |\n|---|---|---|---|\n| x | 1 | 2 | no |" in text
    assert page.count('class="wide stacked"') == 1  # the overview
    assert "a &lt;picture&gt;" in page
    assert "[toy-T2](toy.md#toy-t2)" in (tmp_path / "index.md").read_text()
    assert 'href="toy.html#toy-t2"' in (tmp_path / "index.html").read_text()
    assert 'id="toy-t2"' in page


def test_a_verdict_that_is_news_is_said(toy, tmp_path, capsys):
    toy.CHECKS = (Check("toy-T1", "x", "y", toy.CHECKS[0].run, CONTRADICTS),)
    assert run_checks(Job(["toy"], tmp_path, jobs=1)) == 0
    assert run_checks(Job(["toy"], tmp_path, jobs=1, expect=True)) == 8
    assert "expected: contradicts" in capsys.readouterr().out
    assert "Expected was: contradicts" in (tmp_path / "toy.md").read_text()


def test_without_matplotlib_nothing_is_begun(toy, runs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(OutputError, match=r"softkern\[plot\]"):
        run_checks(Job(["toy"], tmp_path, jobs=1))
    assert not runs


def test_the_command(tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    options = ["--quick", "--jobs", "1", "-o", str(out)]
    assert run(["reproduce", "bicego2009", "--check", "2009-t1m", *options]) in (0, 3)
    monkeypatch.setenv("SOFTKERN_DATA", str(tmp_path))  # an empty folder
    monkeypatch.setattr(
        "softkern.datasets.folder.fetch_openml",
        lambda **_: (_ for _ in ()).throw(OSError("no network")),
    )
    capsys.readouterr()
    assert run(["reproduce", "filippone2010", "--check", "2010-F5c", *options]) == 3
    assert "no data set could be had" in capsys.readouterr().err
    assert "Cannot be tested here" in (out / "filippone2010.md").read_text()
    assert run(["reproduce", "filippone2010", "--check", "2010-F9", *options]) == 2
    assert "there is no check '2010-F9'" in capsys.readouterr().err
    assert run(["reproduce", "filipone2010", *options]) == 2
    assert "did you mean filippone2010?" in capsys.readouterr().err


@pytest.mark.parametrize("paper", list(PAPERS))
def test_kept_pages_are_of_the_checks_that_are_here(paper):
    store = Store(KEPT)
    for check in registry.checks_of(paper):
        record = store.read(check.id)
        assert record is not None, f"{check.id} was not run: make reproduce"
        if not record.unavailable:
            verdict = check.judge(record.entries)
            assert verdict == check.expected, check.id
            assert verdict != CONTRADICTS or record.experiments, check.id
        for picture in record.pictures:
            assert (KEPT / picture.file).is_file()
    assert (KEPT / f"{paper}.html").is_file()
    text = (KEPT / f"{paper}.md").read_text(encoding="utf-8")
    assert not re.search(r"(?<!\S)/(home|root|tmp|Users)/", text)  # folders of one machine


def test_the_readme_has_the_numbers_of_the_kept_pages():
    lines = (KEPT.parents[1] / "README.md").read_text(encoding="utf-8").splitlines()
    for paper, *numbers in summary_rows(stored(Store(KEPT))):
        [line] = [line for line in lines if f"](docs/papers/{paper}.md)" in line]
        assert line.endswith(f"| {' | '.join(numbers)} |")
