"""Progress in a terminal: the name of every stage is shown from the start."""

import io
import os
import re
import sys

import numpy as np
import pandas as pd
import pytest
import rich
from rich.console import Console
from rich.progress import Progress

from softkern.tables.cli import run
from softkern.tables.cli.job import STEPS
from softkern.tables.cli.printer import TimeLeft

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")


def run_in_terminal(*arguments):
    """Run a command in a pseudo-terminal and return all its output."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ |= {"TERM": "xterm", "COLUMNS": "120", "LINES": "50"}
        os.execv(sys.executable, [sys.executable, "-m", "softkern.tables.cli", *arguments])
    shown = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux raises this when the child has closed the terminal
            break
        if not part:
            break
        shown += part
    os.close(terminal)
    assert os.waitpid(process, 0)[1] == 0
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())


@pytest.fixture
def in_terminal(monkeypatch):
    """Return a function that runs a command in this process, with a console like a terminal."""

    def in_terminal(*arguments):
        console = Console(file=io.StringIO(), force_terminal=True, width=120)
        monkeypatch.setattr(rich, "_console", console)
        assert run(arguments) == 0
        return console.file.getvalue()

    return in_terminal


@pytest.mark.parametrize("model", ["auto", "fuzzy"])
def test_every_stage_of_analyze_is_shown(model, tmp_path, monkeypatch, in_terminal):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(50, 5)), rng.normal(size=(50, 5)) + 8])
    pd.DataFrame(X).add_prefix("c").to_csv("data.csv", index=False)
    shown = in_terminal("analyze", "data.csv", "-o", "out", "--join", "--model", model)
    places = [shown.find(f" {words} ") for words in ("starting", *STEPS.values())]
    assert -1 not in places
    assert places == sorted(places)
    within = {
        "auto": ("separated clusters", "outlier scores", "comparing models", "halves of them"),
        "fuzzy": ("the number of clusters", "fuzzy c-means"),
    }[model]
    assert all(words in shown for words in (*within, "neighbor map", "explanations"))
    assert "open out/report.html" in shown


def test_the_time_left_is_shown_if_steps_are_counted():
    now = 0.0
    bars = Progress(TimeLeft(), get_time=lambda: now)
    counted = bars.add_task("counted", total=10)
    bars.add_task("other", total=None)
    for step in range(1, 4):
        now = 20.0 * step
        bars.update(counted, completed=step)
    column = TimeLeft()
    words = {task.description: column(task).plain for task in bars.tasks}
    assert words == {"counted": "0:02:20 left", "other": ""}


def test_every_stage_of_score_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(np.random.default_rng(0).normal(size=(80, 2))).add_prefix("c").to_csv(
        "data.csv", index=False
    )
    assert run(["analyze", "data.csv", "-o", "out", "--no-report", "-q"]) == 0
    shown = run_in_terminal("score", "out/model.safetensors", "data.csv", "-o", "s.csv")
    assert " starting " in shown
    assert "80 rows" in shown
