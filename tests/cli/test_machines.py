"""The command line on machines that are unlike ours: letters, folders, limits."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numba.core import caching

from softkern._compiled import compiled


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


def softkern(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "softkern.cli", *arguments],
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )


def test_a_standard_output_without_our_letters(folder):
    for encoding in ("cp1252", "ascii"):
        said = softkern("analyze", "data.csv", "-o", encoding, PYTHONIOENCODING=encoding)
        assert said.returncode == 0, said.stderr
        assert b"60 rows ? 3 columns" in said.stdout or b"\xd7" in said.stdout
    planned = softkern("plan", "1000", "2", PYTHONIOENCODING="ascii")
    assert planned.returncode == 0
    assert b"chosen" in planned.stdout
    score = ("score", "ascii/model.safetensors", "data.csv", "--id", "name", "-q")
    refused = softkern(*score, PYTHONIOENCODING="cp1252")
    assert refused.returncode == 4
    assert b"standard output is cp1252, which cannot write" in refused.stderr
    whole = softkern(*score, PYTHONIOENCODING="utf-8")
    assert "\n4,Ψ," in whole.stdout.decode("utf-8")


def test_loops_are_compiled_without_a_place_to_keep_them(monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])  # no folder can be written

    @compiled(nogil=True)
    def twice(x):
        return 2 * x

    assert twice(21) == 42
