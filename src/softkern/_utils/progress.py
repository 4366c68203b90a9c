"""How far a long computation is, said to whoever watches and to nobody else.

Whatever takes long names its stages (`stage`); who wants to see them sets a watcher (`watched`), as
the command line does. Without one, a stage costs next to nothing. Stages within stages are nested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

__all__ = ["Watcher", "stage", "watched"]


class Watcher(Protocol):
    """Who is told of stages; all three are called by the thread that set it."""

    def begin(self, name: str, total: float | None) -> Any:
        """A stage begins, of so many steps where that is known; returns what it is known by."""

    def advance(self, task_id: Any, done: float) -> None:
        """So many of its steps are done."""

    def end(self, task_id: Any) -> None:
        """It has ended, by an error maybe."""


_watcher: ContextVar[Watcher | None] = ContextVar("softkern_watcher", default=None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Tell this watcher of all stages while it lasts."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextmanager
def stage(name: str, total: float | None = None) -> Iterator[Callable[[float], None]]:
    """A part of a computation, in words a user knows; gives a function to say what is done.

    Parameters
    ----------
    name : str
    total : float, default=None
        Steps, where their number is known.

    Examples
    --------
    >>> class Listing:
    ...     def begin(self, name, total):
    ...         print("begin", name, total)
    ...
    ...     def advance(self, task_id, done):
    ...         print("done", done)
    ...
    ...     def end(self, task_id):
    ...         print("end")
    >>> with watched(Listing()), stage("counting", total=2) as done:
    ...     done(1)
    begin counting 2
    done 1
    end
    """
    watcher = _watcher.get()
    if watcher is None:
        yield lambda done: None
        return
    task_id = watcher.begin(name, total)
    try:
        yield lambda done: watcher.advance(task_id, done)
    finally:
        watcher.end(task_id)
