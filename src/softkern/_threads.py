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
