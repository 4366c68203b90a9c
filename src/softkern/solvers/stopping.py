"""Stopping rules of the loop, and its progress bar."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from softkern._utils.arrays import namespace
from softkern._utils.progress import stage
from softkern._utils.typing import AnyArray

STOPPING = ("relative", "mean", "sum", "objective")
Report = Callable[[int, float], None]  # of the iteration and the measure


@dataclass(frozen=True)
class Step:
    """Measures of a step of the loop."""

    objective: float
    # Weighted sums of absolute changes of memberships, (c,); None in the first step
    changes: AnyArray | None
    tops: AnyArray  # largest membership of every cluster, (c,)
    low_rank_steps: int = 0  # since the last exact step


def measured_change(step: Step, objectives: Sequence[float], total: float, stopping: str) -> float:
    """Return the number that is compared with `tol`.

    ``"relative"``: weighted mean change of memberships, relative to the largest in the column.
    ``"mean"``: the weighted mean change itself, for memberships that compete, where a column may
    become zero. ``"sum"``: the change summed over all points, as in the papers. ``"objective"``:
    the relative change of the objective.
    """
    changes = step.changes
    if changes is None or (stopping == "objective" and len(objectives) < 2):
        return float("inf")
    if stopping == "objective":
        tiny = float(np.finfo(np.float64).tiny)
        return abs(objectives[-1] - objectives[-2]) / max(abs(objectives[-1]), tiny)
    xp = namespace(changes)
    if stopping == "sum":
        return float(xp.sum(changes))
    if stopping == "relative":
        tiny = float(xp.finfo(step.tops.dtype).smallest_normal)
        changes = changes / xp.maximum(step.tops, tiny)
    return float(xp.mean(changes)) / total


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

    text = TextColumn("{task.description} · iteration {task.fields[iteration]}/{task.total}")
    value = TextColumn(f"{measure} {{task.fields[value]:.1e}}, goal {{task.fields[goal]:.1e}}")
    with Progress(text, BarColumn(), value, TimeElapsedColumn()) as progress:
        fields: dict[str, Any] = {"iteration": 0, "value": float("inf"), "goal": goal}
        task = progress.add_task(description, total=total, **fields)

        def report(iteration: int, value: float) -> None:
            progress.update(task, completed=iteration, iteration=iteration, value=value)

        yield report
