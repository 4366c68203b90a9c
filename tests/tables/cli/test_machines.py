"""The command line on other systems: encodings, file systems and memory limits."""

import errno
import io
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numba.core import caching

from softkern._utils import jit as _compiled
from softkern._utils.jit import compiled
from softkern.tables.cli import main, run
from softkern.tables.cli.errors import exit_code, one_line


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 1, (30, 2)), rng.normal(9, 1, (30, 2))]
    table = pd.DataFrame(X, columns=["höhe", "größe"])
    table.insert(0, "name", [f"Zeile {i}" for i in range(60)])
    table.loc[3, "name"] = "Ψ"
    table.to_csv("data.csv", index=False)
    return tmp_path


@pytest.fixture
def program(monkeypatch):
    """Return a function that runs the program and returns its exit code and output."""

    def program(*arguments, encoding):
        written = io.BytesIO()
        with monkeypatch.context() as patch:
            patch.setattr("sys.argv", ["softkern", *arguments])
            patch.setattr("sys.stdout", io.TextIOWrapper(written, encoding))
            patch.setattr("signal.signal", lambda number, handler: None)
            patch.setattr("atexit.register", lambda *arguments: None)
            patch.setattr("sys.unraisablehook", sys.unraisablehook)  # to restore it
            with pytest.raises(SystemExit) as stop:
                main()
            return stop.value.code, written.getvalue()

    return program


def test_standard_output_in_another_encoding(folder, program, capsys):
    quick = ("--model", "fuzzy", "--clusters", "2")
    printed = subprocess.run(
        [sys.executable, "-m", "softkern.tables.cli", "analyze", "data.csv", "-o", "ascii", *quick],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert printed.returncode == 0, printed.stderr
    assert b"60 rows ? 3 columns" in printed.stdout
    code, planned = program("plan", "1000", "2", encoding="cp1252")
    assert code == 0
    assert b"chosen" in planned
    score = ("score", "ascii/model.safetensors", "data.csv", "--id", "name", "-q")
    assert program(*score, encoding="cp1252")[0] == 4
    assert "standard output is cp1252, which cannot write" in capsys.readouterr().err
    code, whole = program(*score, encoding="utf-8")
    assert code == 0
    assert "\n4,Ψ," in whole.decode("utf-8")


def test_loops_are_compiled_without_a_cache_folder(monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])  # no folder is writable

    @compiled(nogil=True)
    def twice(x):
        return 2 * x

    assert twice(21) == 42


def test_the_compiler_is_not_started_without_enough_memory(monkeypatch):
    """The compiler would abort the program."""
    monkeypatch.setattr(_compiled, "address_space", lambda: 2.0**20)
    with pytest.raises(MemoryError, match="may need 256 MiB of address space, and 1 MiB are"):
        _compiled.compiled(nogil=True)


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        ImportError("x.so: failed to map segment from shared object"),
        MemoryError(),
    ],
)
def test_lack_of_memory_has_one_exit_code(error):
    assert exit_code(error) == 6
    assert one_line(error).startswith("not enough memory: ")


@pytest.mark.skipif(sys.platform != "linux", reason="file names are Unicode elsewhere")
def test_a_file_name_that_is_not_text(folder):
    name = os.fsdecode(b"d\xff.csv")
    os.rename("data.csv", name)
    assert run(["analyze", name, "-o", "out"]) == 0
    assert json.loads((folder / "out/run.json").read_bytes())["input"]["file"] == name
    assert run(["compare", "out", name]) == 0


def test_models_that_are_not_regular_files_are_rejected(folder, capsys):
    os.mkfifo("pipe")
    for path in ("pipe", "/dev/zero", "."):
        assert run(["score", path, "data.csv"]) == 5
        assert "is not a regular file" in capsys.readouterr().err


def test_a_table_larger_than_memory_is_rejected_before_it_is_read(folder, capsys, monkeypatch):
    monkeypatch.setattr("softkern.tables.io.reader.available_memory", lambda: 100)
    assert run(["analyze", "data.csv", "-o", "out"]) == 6
    assert "not enough memory: data.csv holds" in capsys.readouterr().err


def test_lack_of_memory_while_reading_is_reported(folder, capsys, monkeypatch):
    def fail(*arguments, **options):
        raise pd.errors.ParserError("Error tokenizing data. C error: out of memory")

    monkeypatch.setattr(pd, "read_csv", fail)
    assert run(["analyze", "data.csv", "-o", "out"]) == 6
    printed = capsys.readouterr().err
    assert "data.csv does not fit" in printed
    assert "correct the file" not in printed


def test_errors_are_one_line_of_limited_length(folder, capsys):
    assert run(["analyze", "data.csv", "-o", "out", "--columns", "x" * 100_000]) == 3
    assert run(["analyze", "data.csv", "-o", "out", "--model", "y" * 100_000]) == 2
    assert all(len(line) < 2100 for line in capsys.readouterr().err.splitlines())


def test_an_exit_of_a_library_is_not_reported_as_a_broken_pipe(folder, monkeypatch):
    def leave(*arguments):
        raise SystemExit(1)

    monkeypatch.setattr("softkern.tables.cli.printer.Printer.table", leave)
    with pytest.raises(SystemExit) as stop:
        run(["models"])
    assert stop.value.code == 1
