"""Threads that libraries start by themselves, detected once and limited where ours run.

Detection takes some milliseconds, which is longer than many a small problem.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import joblib
from threadpoolctl import ThreadpoolController

LOADED_IN = os.getpid()  # the process that imported softkern
_of_parent: list[Any] = []  # OpenMP libraries at the time when a process forks


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _cores() -> int:
    return int(joblib.cpu_count())  # reads files of the container: too slow for every product


def available_threads() -> int:
    """Return the threads this process may use: its cores, container limits, or OpenMP's limit.

    The limit is read at every call: OMP_NUM_THREADS, `threadpool_limits` and joblib set it.
    """
    threads = _cores()
    for library in _libraries().lib_controllers:
        if library.user_api == "openmp":
            threads = min(threads, int(library.num_threads))
    return max(1, threads)


def one_thread(kind: str | None = None) -> AbstractContextManager[Any]:
    """Limit libraries of this kind, ``"blas"`` or ``"openmp"``, to one thread in a context."""
    return _libraries().limit(limits=1, user_api=kind)


def is_forked() -> bool:
    """Return whether this is a fork, in which a library waits forever for its OpenMP threads."""
    return os.getpid() != LOADED_IN


def _before_fork() -> None:
    _of_parent[:] = ThreadpoolController().select(user_api="openmp").lib_controllers


def _after_fork() -> None:
    """One thread of OpenMP: with more, GNU's would wait for those of the parent."""
    for library in _of_parent:
        library.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
