"""One run of the loop: its steps, and when it stops.

`softkern.solvers.alternate` advances the runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from softkern._utils.arrays import column_changes, namespace
from softkern._utils.typing import AnyArray
from softkern.exceptions import DataError
from softkern.operators.base import Geometry, KernelOperator
from softkern.rules.base import Centers, Evaluation, Rule

STOPPING = ("relative", "mean", "sum", "objective")
# A state equals an earlier one if it is this much nearer to it than to the last one. A damped
# oscillation that slow would need thousands of steps to decay.
SAME_STATE = 1e-3


@dataclass(frozen=True)
class Solution:
    """Result of the loop: centers, the geometry and U that follow from them, and the rule."""

    rule: Rule
    centers: Centers
    geometry: Geometry
    memberships: AnyArray
    objective: float
    n_iter: int = 0
    converged: bool = False
    history: dict[str, list[float]] = field(default_factory=dict)
    cycle: int = 0  # length of the cycle in which the loop ended, or zero

    @property
    def coefficients(self) -> AnyArray:
        """Coefficients A of the centers, (n, c)."""
        return self.centers.coefficients


@dataclass(frozen=True)
class Step:
    """Measures of a step of the loop."""

    objective: float
    # Weighted sums of absolute changes of memberships, (c,); None in the first step
    changes: AnyArray | None
    tops: AnyArray  # largest membership of every cluster, (c,)


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


@dataclass(eq=False)
class Steps:
    """One run of the loop: its state, its history, and when it stops."""

    operator: KernelOperator
    rule: Rule
    centers: Centers
    weight: AnyArray
    geometry: Geometry | None = None  # of the centers, if known
    _: KW_ONLY
    tol: float = 0.0
    max_iter: int = 100
    stopping: str = "relative"
    cycles: bool = False  # whether to stop in a cycle
    evaluation: Evaluation = field(init=False)  # of the current step

    def __post_init__(self) -> None:
        self.previous: AnyArray | None = None  # memberships of the last step
        self.watch = CycleWatch(self.weight) if self.cycles else None
        self.total_weight = float(namespace(self.weight).sum(self.weight))
        self.history: dict[str, list[float]] = {"objective": [], "change": [], "low_rank_steps": []}
        self.n_iter, self.cycle, self.change = 0, 0, float("inf")
        self.low_rank_steps = 0  # since the last exact step
        self.converged = self.is_done = False

    def turn(self) -> None:
        """Take a step, and decide whether it was the last."""
        step = self.step()
        self.n_iter += 1
        if math.isnan(step.objective):
            raise DataError(
                f"the objective is no number in step {self.n_iter}: kernel values or weights "
                "differ too much in magnitude. Scale the data or the kernel matrix towards one, or "
                "remove extreme rows."
            )
        objectives = self.history["objective"]
        objectives.append(step.objective)
        self.change = measured_change(step, objectives, self.total_weight, self.stopping)
        self.history["change"].append(self.change)
        self.history["low_rank_steps"].append(self.low_rank_steps)
        self.converged = self.change <= self.tol
        if self.watch is not None and not self.converged:
            self.cycle = self.watch.period(self.solution())
        self.is_done = self.converged or bool(self.cycle) or self.n_iter == self.max_iter

    def step(self) -> Step:
        """Compute memberships at the current centers, and measures of progress."""
        if self.geometry is None:
            centers = self.centers
            self.geometry = self.operator.geometry(centers.coefficients, centers.product)
        self.evaluation = self.rule.memberships.evaluate(self.geometry, self.centers, self.weight)
        memberships = self.evaluation.memberships
        changes = None
        if self.previous is not None:
            changes = column_changes(memberships, self.previous, self.weight)
        tops = namespace(memberships).max(memberships, axis=0)
        return Step(self.evaluation.objective, changes, tops)

    def advance(self) -> None:
        """Compute the next centers, and free the arrays of the last step."""
        evaluation = self.evaluation
        self.previous, self.geometry = evaluation.memberships, None
        self.rule = replace(self.rule, memberships=evaluation.rule)
        self.centers = self.rule.centers.centers(evaluation.mass, self.weight, self.centers)
        del self.evaluation

    def solution(self) -> Solution:
        """Return the current state; for a cycle, its best state."""
        if self.watch is not None and self.cycle:
            return replace(self.watch.best, n_iter=self.n_iter, cycle=self.cycle)
        assert self.geometry is not None
        return Solution(
            self.rule,
            self.centers,
            self.geometry,
            self.evaluation.memberships,
            self.evaluation.objective,
            self.n_iter,
            self.converged,
            self.history,
        )


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
            change = float(xp.sum(column_changes(new, self.last, self.weight)))
            gap = float(xp.sum(column_changes(new, self.mark, self.weight)))
            if self.age > 1 and gap <= SAME_STATE * change:
                self.best = min(self.best, state, key=lambda one: one.objective)
                return self.age
        if self.mark is None or self.age == self.reach:
            self.mark, self.age, self.reach = state.memberships, 0, 2 * self.reach
        if self.age == 0 or state.objective < self.best.objective:
            self.best = state
        self.last = state.memberships
        return 0
