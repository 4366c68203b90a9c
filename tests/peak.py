"""Peak memory of an operator and of the loop around it, measured in a process of its own.

Linux only: it reads the high-water mark of the resident memory, which unlike getrusage does not
start from the parent's.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np


def measure(engine, n, d, bandwidth, n_vectors, dtype, options=None, rows=0):
    """MiB that `plan` promised, and MiB taken, to build an operator and take one step with it.

    With `rows`, the product is taken for that many rows only, as if they were new.
    """
    case = json.dumps([engine, n, d, bandwidth, n_vectors, dtype, options or {}, rows])
    output = subprocess.run(
        [sys.executable, __file__, case], capture_output=True, text=True, check=True
    ).stdout
    return tuple(map(float, output.split()))


def high_water():
    """Peak resident memory of this process in MiB."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def work(engine, n, d, bandwidth, n_vectors, dtype, options, rows):
    from softkern import plan

    X = np.random.default_rng(0).normal(size=(n, d)).astype(dtype)
    chosen = plan(X, engine=engine, bandwidth=bandwidth, n_vectors=n_vectors, engine_params=options)
    with open("/proc/self/clear_refs", "w") as marks:
        marks.write("5")  # the high-water mark starts anew
    before = high_water()
    operator = chosen.build(X)
    A = np.full((n, n_vectors), 1 / n, dtype=dtype)
    if rows:
        operator.cross(X[:rows]) @ A
        return chosen.memory / 2**20, high_water() - before
    geometry = operator.geometry(A)
    memberships = np.exp(-geometry.distances)
    again = operator.geometry(memberships / memberships.sum(axis=0))
    assert again.distances.shape == (n, n_vectors)
    return chosen.memory / 2**20, high_water() - before


if __name__ == "__main__":
    engine, n, *case = json.loads(sys.argv[1])
    work(engine, 2000, *case)  # libraries and compiled code are loaded
    promised, taken = work(engine, n, *case)
    sys.stdout.write(f"{promised} {taken}")
