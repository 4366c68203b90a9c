"""One job after the other in a child process, each with a limit of CPU seconds.

A job that runs over its limit is ended by the system, in whatever library it is; the next has a new
child. The child lives on from job to job, so that imports and compiled loops are paid for once.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from typing import Any

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
WAIT = (
    10  # times the limit that a job may take on a clock, where it computes nothing or shares a core
)


def _serve(pipe: Any, prepare: Callable[[], None], work: Callable[..., Any], limit: float) -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # which ends the process
    prepare()
    pipe.send("ready")
    while True:
        job = pipe.recv()
        signal.setitimer(signal.ITIMER_PROF, limit)
        result = work(*job)
        signal.setitimer(signal.ITIMER_PROF, 0)
        pipe.send(result)


class Limited:
    """Calls `work(*job)` in a child with one thread; `prepare` is called first in every child."""

    def __init__(self, prepare: Callable[[], None], work: Callable[..., Any], limit: float) -> None:
        self.prepare, self.work, self.limit = prepare, work, limit
        self.child: Any = None
        self.pipe: Any = None

    def _start(self) -> None:
        for name in ONE_THREAD:  # read by libraries when they are loaded
            os.environ[name] = "1"
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        arguments = (theirs, self.prepare, self.work, self.limit)
        self.child = context.Process(target=_serve, args=arguments, daemon=True)
        self.child.start()
        theirs.close()
        self.pipe.recv()

    def __call__(self, *job: Any) -> tuple[Any, str]:
        """What the work gives, or None and why there is nothing."""
        if self.child is None:
            self._start()
        self.pipe.send(job)
        try:
            if self.pipe.poll(WAIT * self.limit):
                return self.pipe.recv(), ""
            reason = f"no answer within {WAIT * self.limit:.0f} s"
        except EOFError:
            self.child.join()
            over = self.child.exitcode == -signal.SIGPROF
            code = self.child.exitcode
            reason = f"over {self.limit:g} s" if over else f"the process ended with code {code}"
        self.close()
        return None, reason

    def close(self) -> None:
        """End the child."""
        if self.child is not None:
            self.child.kill()
            self.child.join()
            self.pipe.close()
            self.child = None
