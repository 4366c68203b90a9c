"""Threads that libraries start by themselves: found once, and held to one where ours run.

Looking for the libraries takes some milliseconds, which is longer than many a small problem.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["is_forked", "libraries", "one_thread"]

LOADED_IN = os.getpid()  # the process that imported softkern
_of_parent: list[Any] = []  # libraries of OpenMP, as they are when a process forks


@cache
def libraries() -> ThreadpoolController:
    """The libraries with threads of their own, looked for once."""
    return ThreadpoolController()


def one_thread(kind: str | None = None) -> AbstractContextManager[Any]:
    """A context in which libraries of this kind, ``"blas"`` or ``"openmp"``, take one thread."""
    return libraries().limit(limits=1, user_api=kind)


def is_forked() -> bool:
    """Whether this process is a fork of the one that imported softkern.

    Threads of OpenMP do not come along, and a library that had some waits for them for ever.
    """
    return os.getpid() != LOADED_IN


def _look() -> None:
    _of_parent[:] = ThreadpoolController().select(user_api="openmp").lib_controllers


def _take_one() -> None:
    """One thread of OpenMP: with more, GNU's would wait for those that the parent had."""
    for library in _of_parent:
        library.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_look, after_in_child=_take_one)
