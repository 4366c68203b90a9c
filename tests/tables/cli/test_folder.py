"""The results folder is written completely or not at all."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from softkern.tables.cli import output_folder, stopping
from softkern.tables.cli.errors import OutputError
from softkern.tables.cli.output_folder import results_folder

NAMES = ("points.csv", "model", "run.json")


def write(out, text, names=NAMES, force=True):
    with results_folder(out, names, force) as hidden:
        for name in names:
            (hidden / name).write_text(text)


def contents(out):
    return {path.name: path.read_text() for path in out.iterdir()}


def test_files_for_an_existing_folder_are_prepared_inside_it(tmp_path):
    """The folder may be a mount point. Files cannot be renamed into it from another disk."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "own.txt").write_text("mine")
    with results_folder(out, NAMES, False) as hidden:
        assert hidden.parent == out
        assert os.listdir(tmp_path) == ["out"]
        (hidden / "run.json").write_text("new")
    assert contents(out) == {"own.txt": "mine", "run.json": "new"}


@pytest.mark.parametrize("failing", range(1, 7))
def test_a_move_that_fails_is_undone(failing, tmp_path, monkeypatch):
    out, rename, calls = tmp_path / "out", os.rename, []
    write(out, "old")

    def fail(start, end):
        calls.append(end)
        if len(calls) == failing:
            raise OSError("the disk is gone")
        rename(start, end)

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(OSError, match="the disk is gone"):
        write(out, "new")
    assert contents(out) == dict.fromkeys(NAMES, "old")


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ on Windows")
@pytest.mark.parametrize("at", range(1, 7))
def test_an_interruption_waits_until_all_files_are_moved(at, tmp_path, monkeypatch):
    out, rename, calls = tmp_path / "out", os.rename, []
    write(out, "old")
    before = signal.signal(signal.SIGINT, stopping._stop)
    monkeypatch.setattr(stopping, "received", [])

    def interrupt(start, end):
        calls.append(end)
        if len(calls) == at:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)  # an impatient user
        rename(start, end)

    monkeypatch.setattr(os, "rename", interrupt)
    try:
        with pytest.raises(SystemExit) as stop:
            write(out, "new")
    finally:
        signal.signal(signal.SIGINT, before)
    assert stop.value.code == 130
    assert contents(out) == dict.fromkeys(NAMES, "new")


def test_a_folder_in_the_place_of_a_file_is_rejected(tmp_path):
    (tmp_path / "run.json").mkdir()
    (tmp_path / "run.json" / "precious").write_text("mine")
    with pytest.raises(OutputError, match="is a folder"):
        write(tmp_path, "new")
    assert (tmp_path / "run.json" / "precious").read_text() == "mine"


RUN = """
import sys, signal, time, pathlib
from softkern.tables.cli import output_folder
from softkern.tables.cli.output_folder import results_folder
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background shells
with results_folder(pathlib.Path(sys.argv[1]), ["run.json"], True) as hidden:
    (hidden / "run.json").write_text("half")
    print("ready", flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ on Windows")
@pytest.mark.parametrize("exists", [True, False])
def test_folders_of_killed_runs_are_removed_and_those_of_others_are_not(exists, tmp_path):
    out = tmp_path / "out"
    home = out if exists else tmp_path
    home.mkdir(exist_ok=True)
    own = home / ".softkern-of-mine.tmp"
    own.mkdir()
    runs = [
        subprocess.Popen([sys.executable, "-c", RUN, str(out)], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    for run in runs:
        assert run.stdout.readline() == b"ready\n"
    runs[0].kill()
    runs[0].wait()
    hidden = {path for path in home.iterdir() if path != own}
    assert len(hidden) == 2
    write(out, "new")
    left = {path for path in hidden if path.exists()}
    assert len(left) == 1
    runs[1].send_signal(signal.SIGINT)
    runs[1].wait()
    for run in runs:
        run.stdout.close()
    for _ in range(100):
        if not any(path.exists() for path in left):
            break
        time.sleep(0.05)
    assert own.exists()
    assert (out / "run.json").read_text() == "new"
    assert not any(path.exists() for path in left)


def test_a_run_that_received_a_signal_writes_nothing(tmp_path, monkeypatch):
    """The exception of a signal may be lost if C code called Python."""
    monkeypatch.setattr(stopping, "received", [signal.SIGTERM])
    with pytest.raises(SystemExit), results_folder(tmp_path / "out", ["a"], False) as hidden:
        (hidden / "a").write_text("new")
    assert list(tmp_path.iterdir()) == []


def test_files_of_two_runs_are_not_mixed(tmp_path):
    """A run that moves files into a folder waits until another run has done so."""
    fcntl = pytest.importorskip("fcntl")
    out = tmp_path / "out"
    write(out, "old")
    other = threading.Thread(target=write, args=(out, "new"), daemon=True)
    folder = os.open(out, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        other.start()
        other.join(0.3)
        assert other.is_alive()
        assert {name: (out / name).read_text() for name in NAMES} == dict.fromkeys(NAMES, "old")
    finally:
        os.close(folder)
    other.join(30)
    assert contents(out) == dict.fromkeys(NAMES, "new")


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_that_another_run_creates_meanwhile(force, tmp_path, monkeypatch):
    """The folder is missing when files are written, and exists when they are moved."""
    out, rename = tmp_path / "out", os.rename

    def late(start, end):
        if Path(end) == out:
            monkeypatch.setattr(os, "rename", rename)
            write(out, "other")
        rename(start, end)

    monkeypatch.setattr(os, "rename", late)
    if force:
        write(out, "new")
    else:
        with pytest.raises(OutputError, match="is there already"):
            write(out, "new", force=False)
    assert contents(out) == dict.fromkeys(NAMES, "new" if force else "other")
    assert sorted(os.listdir(tmp_path)) == ["out"]


@pytest.mark.parametrize("moment", ["before it is opened", "after it is opened"])
def test_a_folder_that_another_run_removes_before_it_is_locked(moment, tmp_path, monkeypatch):
    """A run that starts at the same moment considers the folder stale."""
    fcntl = pytest.importorskip("fcntl")
    module, name = (os, "open") if moment == "before it is opened" else (fcntl, "flock")
    original, removed = getattr(module, name), []

    def late(*arguments):
        if not removed:
            removed.extend(tmp_path.glob(".out.softkern-*.tmp"))
            removed[0].rmdir()
        return original(*arguments)

    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(module, name, late)
        with results_folder(out, NAMES, False) as hidden:
            (hidden / "run.json").write_text("new")
            patch.undo()
            output_folder._remove_stale(tmp_path, ".out.")  # as the next run does
            assert hidden.exists()
    assert removed
    assert contents(out) == {"run.json": "new"}


def test_an_interruption_while_the_folder_is_locked_leaves_nothing(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def interrupt(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", interrupt)
        with pytest.raises(KeyboardInterrupt), results_folder(tmp_path / "out", NAMES, False):
            pass
    assert list(tmp_path.iterdir()) == []
