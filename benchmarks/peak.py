"""Peak memory of an operator beyond its data, measured in a process of its own.

Called by benchmarks/operators.py and by the tests of `plan`. Linux only: it reads the high-water
mark of the resident memory, which unlike getrusage does not start from the parent's.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np


def measure(
    engine: str, n: int, d: int, bandwidth: float, columns: int, dtype: str, rows: int = 0
) -> tuple[float, float]:
    """MiB that `plan` promised, and MiB taken, to build an operator and use it once.

    With `rows`, the product is taken for that many rows only, as if they were new.
    """
    arguments = map(str, (engine, n, d, bandwidth, columns, dtype, rows))
    command = [sys.executable, __file__, *arguments]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    promised, taken = map(float, output.split())
    return promised, taken


def high_water() -> float:
    """Peak resident memory of this process in MiB."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def work(
    engine: str, n: int, d: int, bandwidth: float, columns: int, dtype: str, rows: int
) -> tuple[float, float]:
    from softkern import plan

    X = np.random.default_rng(0).normal(size=(n, d)).astype(dtype)
    A = np.ones((n, columns), dtype=dtype)
    chosen = plan(X, engine=engine, bandwidth=bandwidth, n_vectors=columns)
    with open("/proc/self/clear_refs", "w") as marks:
        marks.write("5")  # the high-water mark starts anew
    before = high_water()
    operator = chosen.build(X)
    (operator.cross(X[:rows]) if rows else operator) @ A
    return chosen.memory / 2**20, high_water() - before


if __name__ == "__main__":
    engine, n, d, bandwidth, columns, dtype, rows = sys.argv[1:]
    case = (int(d), float(bandwidth), int(columns), dtype)
    work(engine, 2000, *case, 0)  # libraries and compiled code are loaded
    print(*work(engine, int(n), *case, int(rows)))
