"""Run jobs one after another in a child process, each with a limit of CPU seconds.

The operating system ends the child when a job exceeds its limit, and the next job gets a new child.
Otherwise the child is reused, so that imports and compilation happen only once.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from typing import Any

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
WAIT = 10  # limit of wall-clock time, as a multiple of the CPU limit


def _serve(pipe: Any, prepare: Callable[[], None], work: Callable[..., Any], limit: float) -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process
    prepare()
    pipe.send("ready")
    while True:
        job = pipe.recv()
        signal.setitimer(signal.ITIMER_PROF, limit)
        result = work(*job)
        signal.setitimer(signal.ITIMER_PROF, 0)
        pipe.send(result)


class LimitedWorker:
    """Call `work(*job)` in a child with one thread; `prepare` runs first in every new child."""

    def __init__(self, prepare: Callable[[], None], work: Callable[..., Any], limit: float) -> None:
        self.prepare, self.work, self.limit = prepare, work, limit
        self.child: Any = None
        self.pipe: Any = None

    def _start(self) -> None:
        for name in ONE_THREAD:  # libraries read them on import
            os.environ[name] = "1"
        context = multiprocessing.get_context("spawn")
        self.pipe, child_end = context.Pipe()
        arguments = (child_end, self.prepare, self.work, self.limit)
        self.child = context.Process(target=_serve, args=arguments, daemon=True)
        self.child.start()
        child_end.close()
        self.pipe.recv()

    def __call__(self, *job: Any) -> tuple[Any, str]:
        """Return the result and an empty string, or None and the reason of the failure."""
        if self.child is None:
            self._start()
        self.pipe.send(job)
        try:
            if self.pipe.poll(WAIT * self.limit):
                return self.pipe.recv(), ""
            reason = f"no result within {WAIT * self.limit:.0f} s"
        except EOFError:
            self.child.join()
            code = self.child.exitcode
            is_timeout = code == -signal.SIGPROF
            reason = f"over {self.limit:g} s" if is_timeout else f"exit code {code}"
        self.close()
        return None, reason

    def close(self) -> None:
        """End the child."""
        if self.child is not None:
            self.child.kill()
            self.child.join()
            self.pipe.close()
            self.child = None
