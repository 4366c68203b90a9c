"""Stopping rules of the loop, detection of cycles, and the progress bar."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from softkern._utils.arrays import column_changes, namespace
from softkern._utils.progress import stage
from softkern._utils.typing import AnyArray

STOPPING = ("relative", "mean", "sum", "objective")
# A state equals an earlier one if it is this much nearer to it than to the last one. A damped
# oscillation that slow would need thousands of steps to decay.
SAME_STATE = 1e-3
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


class CycleWatch:
    """Detects cycles of a loop that need not decrease its objective, by Brent's method.

    A state, of `memberships` (n, c) and an `objective`, is marked after 1, 2, 4, … steps. A later
    state that equals the marked one closes a cycle, of which the best state is the result.
    """

    best: Any  # state since the mark

    def __init__(self, weight: AnyArray) -> None:
        self.weight = weight
        self.mark: AnyArray | None = None
        self.last: AnyArray | None = None
        self.age = 0
        self.reach = 1

    def period(self, state: Any) -> int:
        """Return the number of steps since the mark if this is the marked state, else zero."""
        if self.mark is not None:
            self.age += 1
            new, xp = state.memberships, namespace(state.memberships)
            both = (column_changes(new, old, self.weight) for old in (self.last, self.mark))
            change, gap = (float(xp.sum(changes)) for changes in both)
            if self.age > 1 and gap <= SAME_STATE * change:
                self.best = min(self.best, state, key=lambda one: one.objective)
                return self.age
        if self.mark is None or self.age == self.reach:
            self.mark, self.age, self.reach = state.memberships, 0, 2 * self.reach
        if self.age == 0 or state.objective < self.best.objective:
            self.best = state
        self.last = state.memberships
        return 0


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
