"""Progress reporting through an optional listener.

Long computations name their stages (`stage`). A caller that wants to show them, such as the
command line, sets a listener (`progress_listener`). Without one a stage costs next to nothing.
Iterative methods with ``verbose=True`` show a bar (`progress_bar`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class ProgressListener(Protocol):
    """Receives the stages of a computation, in the thread that set it. Stages can be nested."""

    def begin(self, name: str, total: float | None) -> Any:
        """Start a stage of `total` steps, None if unknown, and return its id."""

    def advance(self, task_id: Any, done: float) -> None:
        """Record the number of steps that are done."""

    def end(self, task_id: Any) -> None:
        """End a stage, normally or by an error."""


Report = Callable[[int, float], None]  # of the iteration and the measure of an iterative method
_listener: ContextVar[ProgressListener | None] = ContextVar("softkern_listener", default=None)


@contextmanager
def progress_listener(listener: ProgressListener) -> Iterator[None]:
    """Report all stages inside the context to this listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def stage(name: str, total: float | None = None) -> Iterator[Callable[[float], None]]:
    """Mark a stage of `total` steps, None if unknown, and give a function to report those done."""
    listener = _listener.get()
    if listener is None:
        yield lambda done: None
        return
    task_id = listener.begin(name, total)
    try:
        yield lambda done: listener.advance(task_id, done)
    finally:
        listener.end(task_id)


@contextmanager
def progress_bar(
    verbose: bool, description: str, goal: float, total: int, measure: str = "change"
) -> Iterator[Report]:
    """Show a bar that fills as the measure approaches its goal, if `verbose`.

    Otherwise the share of the way from one to the goal, in logarithms, goes to the listener.
    """
    if not verbose:
        with stage(description, total=1.0) as done:

            def report_share(iteration: int, value: float) -> None:
                share = 0.0
                if 0 < goal < 1 and value < 1:
                    share = min(1.0, math.log(max(value, goal)) / math.log(goal))
                done(max(iteration / total, share))

            yield report_share
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description} · iteration {task.completed}/{task.total}")
    value = TextColumn(f"{measure} {{task.fields[value]:.1e}}, goal {{task.fields[goal]:.1e}}")
    with Progress(text, BarColumn(), value, TimeElapsedColumn()) as progress:
        task = progress.add_task(description, total=total, value=float("inf"), goal=goal)

        def report(iteration: int, value: float) -> None:
            progress.update(task, completed=iteration, value=value)

        yield report
