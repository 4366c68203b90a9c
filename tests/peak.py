"""Peak memory of an operator and of the loop around it, measured in a separate process.

Linux only: it reads the high-water mark of the resident memory. Unlike the value of getrusage, that
mark does not start at the peak of the parent process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache

import numpy as np


def measure(engine, n, d, bandwidth, n_vectors, dtype, options=None, rows=0):
    """Return the planned and the used MiB of building an operator and of one step with it.

    With `rows`, only the product for that many rows is computed, as if they were new.
    """
    process = _process()
    case = [engine, n, d, bandwidth, n_vectors, dtype, options or {}, rows]
    process.stdin.write(json.dumps(case) + "\n")
    process.stdin.flush()
    promised, taken = process.stdout.readline().split()
    return float(promised), float(taken)


@cache
def _process():
    """Start a process that has loaded all libraries but computed nothing. Each case forks it."""
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, __file__], stdin=pipe, stdout=pipe, text=True)


def high_water():
    """Return the peak resident memory of this process in MiB."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def work(engine, n, d, bandwidth, n_vectors, dtype, options, rows):
    from softkern import plan

    X = np.random.default_rng(0).normal(size=(n, d)).astype(dtype)
    chosen = plan(X, engine=engine, bandwidth=bandwidth, n_vectors=n_vectors, engine_params=options)
    with open("/proc/self/clear_refs", "w") as marks:
        marks.write("5")  # reset the high-water mark
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


def serve():
    """Compute each case of standard input in a child process. A failure prints an empty line."""
    import finufft  # noqa: F401

    from softkern._utils import threads as _threads
    from softkern.operators import _gaussian_tiles  # noqa: F401

    for line in sys.stdin:
        engine, n, *case = json.loads(line)
        child = os.fork()
        if child == 0:
            _threads.LOADED_IN = os.getpid()  # no thread was lost: none has run yet
            answer = ""
            try:
                work(engine, 2000, *case)  # compiled code is loaded
                answer = "{} {}".format(*work(engine, n, *case))
            finally:
                os.write(1, f"{answer}\n".encode())
                os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    serve()
