"""Count the functions, files and repeated steps of three everyday calls.

    python benchmarks/traces.py                       # the installed package
    PYTHONPATH=/path/to/other/src python benchmarks/traces.py

The calls are ``FuzzyCMeans(3).fit(X).predict(X)`` on 150 x 2, ``softkern.cluster(df)`` on 150 x 7
and ``softkern analyze`` without the report page on the same table as CSV. Each call runs once
before it is traced, so that imports and compilation are not counted. Only functions of softkern
count, with lambdas and comprehensions, in the main thread.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import make_blobs

import softkern

HOME = str(Path(softkern.__file__).parent)
# steps that should run once, by the names of the functions that do them
STEPS = {
    "plans": {"plan"},
    "fits": {"fit"},
    "operators": {"KernelOperator.__init__"},
    "weight checks": {"check_weights"},
    "duplicate detections": {"distinct_rows", "Rows.distinct", "Rows._find_distinct"},
    "memory look-ups": {"available_memory"},
}
MODELS = f"{os.sep}models{os.sep}"


def trace(call: Callable[[], Any]) -> dict[str, int]:
    """Run a call and count what it passes through."""
    calls: Counter[CodeType] = Counter()

    def listen(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(HOME):
            calls[frame.f_code] += 1

    sys.setprofile(listen)
    try:
        call()
    finally:
        sys.setprofile(None)
    counts = {
        "functions": len(calls),
        "files": len({code.co_filename for code in calls}),
        "calls": sum(calls.values()),
    }
    for step, names in STEPS.items():
        counts[step] = sum(
            number
            for code, number in calls.items()
            if {code.co_name, code.co_qualname} & names
            and (step != "fits" or MODELS in code.co_filename)
        )
    return counts


def command_line() -> Callable[[list[str]], int]:
    """Return the function behind the command line, of this version or an older one."""
    try:
        return import_module("softkern.tables.cli").run
    except ModuleNotFoundError:
        return import_module("softkern.cli").run


def main() -> None:
    X = make_blobs(150, 2, centers=[[0, 0], [6, 6], [0, 8]], random_state=0)[0]
    columns = make_blobs(150, 7, centers=3, random_state=0)[0]
    table = pd.DataFrame(np.round(columns, 3), columns=list("abcdefg"))
    run = command_line()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        table.to_csv("table.csv", index=False)
        command = ["analyze", "table.csv", "--no-report", "-o", "out", "-q", "--force"]

        def analyze() -> None:
            with contextlib.redirect_stdout(io.StringIO()):
                run(command)

        calls: dict[str, Callable[[], Any]] = {
            "FuzzyCMeans": lambda: softkern.FuzzyCMeans(3).fit(X).predict(X),
            "cluster": lambda: softkern.cluster(table),
            "analyze": analyze,
        }
        counted = {}
        for name, call in calls.items():
            call()
            counted[name] = trace(call)
    print(f"{'':<22}" + "".join(f"{name:>14}" for name in counted))
    for row in counted["cluster"]:
        print(f"{row:<22}" + "".join(f"{column[row]:>14,}" for column in counted.values()))


if __name__ == "__main__":
    main()
