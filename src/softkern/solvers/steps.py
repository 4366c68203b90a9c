"""One run of the loop, exact or with low-rank acceleration, and its result.

`softkern.solvers.alternate` advances the runs until they are done.

Low-rank acceleration iterates on a cheap surrogate K̃ (`KernelOperator.draft`) and corrects it with
exact products. Between two products with K the loop continues with K A ≈ K̃ A + (K A₀ − K̃ A₀),
which is exact at A₀. Each exact step starts where the surrogate steps stopped moving. The loop ends
when an exact step changes memberships by no more than the tolerance, so that it ends at the same
fixed point after fewer products with K. Where K̃ is too coarse to make progress, the loop continues
without it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from softkern._utils.arrays import column_changes, namespace
from softkern._utils.typing import AnyArray
from softkern.exceptions import DataError
from softkern.operators.base import Geometry, KernelOperator
from softkern.rules.base import Centers, Evaluation, Rule
from softkern.solvers.dual import OneClassCenters
from softkern.solvers.stopping import CycleWatch, Step, measured_change

PROGRESS = 0.5  # of the last change: an exact step above it shows that K̃ is of no use
FINER = 0.1  # of the last exact change, at which surrogate steps end
SETTLED = 1e-6  # error at which centers computed with K̃ count as those of K
MAX_STEPS = 300  # with K̃ between two exact ones
FIRST_CHANGE = 1e-4  # at which surrogate steps end before the first exact one


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

    def take(self, order: AnyArray) -> Solution:
        """Return some of the clusters, or all in another order."""
        return replace(
            self,
            centers=self.centers.take(order),
            geometry=self.geometry.take(order),
            memberships=self.memberships[:, order],
        )


class Steps:
    """One run of the loop: its state, its history, and when it stops."""

    evaluation: Evaluation

    def __init__(
        self,
        operator: KernelOperator,
        rule: Rule,
        centers: Centers,
        weight: AnyArray,
        geometry: Geometry | None = None,
        *,
        tol: float = 0.0,
        max_iter: int = 100,
        stopping: str = "relative",
        cycles: bool = False,
    ) -> None:
        self.operator, self.rule, self.centers, self.weight = operator, rule, centers, weight
        self.geometry = geometry
        self.previous: AnyArray | None = None  # memberships of the last step
        self.tol, self.max_iter, self.stopping = tol, max_iter, stopping
        self.watch = CycleWatch(weight) if cycles else None
        self.total_weight = float(namespace(weight).sum(weight))
        self.history: dict[str, list[float]] = {"objective": [], "change": [], "low_rank_steps": []}
        self.n_iter, self.cycle, self.change = 0, 0, float("inf")
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
        self.history["low_rank_steps"].append(step.low_rank_steps)
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


class SurrogateSteps(Steps):
    """Exact steps, each followed by surrogate steps until these stop moving."""

    def __init__(
        self,
        operator: KernelOperator,
        rule: Rule,
        centers: Centers,
        weight: AnyArray,
        **options: Any,
    ) -> None:
        super().__init__(operator, rule, centers, weight, **options)
        self.surrogate = operator.draft
        # duals compute products themselves, means do not
        self.exact = rule.centers if isinstance(rule.centers, OneClassCenters) else None
        self.low_rank_steps = 0
        self.correction: AnyArray | None = None  # K A₀ − K̃ A₀
        self.is_rough = True  # whether the present centers were computed with K̃
        self.moved = float("inf")  # mean change of memberships in the last exact step
        self.error = float("inf")  # of its centers
        self._run_surrogate(FIRST_CHANGE)

    def step(self) -> Step:
        """Take one exact step, and report how many surrogate steps led to it."""
        if self.exact is not None:
            self.rule = replace(self.rule, centers=self.exact)
        if self.is_rough:
            self.geometry = self.operator.geometry(self.centers.coefficients)
            if self.exact is not None:
                self.centers = self.exact.with_product(self.centers, self.geometry.product)
        step = super().step()
        low_rank_steps, self.low_rank_steps = self.low_rank_steps, 0
        before, self.moved = self.moved, self._mean_change(step)
        error_before = self.error
        self.error = 0.0 if self.exact is None else self.exact.error(self.centers)
        self.makes_progress = self.moved <= PROGRESS * before
        if self.is_rough and self.error > SETTLED:  # not yet the centers of K
            step = replace(step, changes=None)
            self.makes_progress &= self.error <= PROGRESS * error_before
        return replace(step, low_rank_steps=low_rank_steps)

    def advance(self) -> None:
        """Continue on the surrogate; by a plain step where the last one made no progress."""
        assert self.geometry is not None
        self.is_rough = self.makes_progress
        if not self.makes_progress:
            super().advance()
            return
        self.correction = self.geometry.product - self.surrogate @ self.centers.coefficients
        self._advance_surrogate()
        self._run_surrogate(FINER * self.moved)

    def _run_surrogate(self, tolerance: float) -> None:
        """Step on the surrogate from the present centers until the change is small."""
        for _ in range(MAX_STEPS):
            product = self.centers.product
            if product is None:
                product = self.surrogate @ self.centers.coefficients
                if self.correction is not None:
                    product = product + self.correction
            self.geometry = self.operator.geometry(self.centers.coefficients, product)
            step = super().step()
            self._advance_surrogate()
            self.low_rank_steps += 1
            if self._mean_change(step) <= tolerance:
                return

    def _advance_surrogate(self) -> None:
        if self.exact is not None:
            rough = self.exact.on_operator(self.surrogate, self.correction)
            self.rule = replace(self.rule, centers=rough)
        super().advance()

    def _mean_change(self, step: Step) -> float:
        """The mean change of memberships; infinite where there is nothing to compare with."""
        if step.changes is None:
            return float("inf")
        return float(namespace(step.changes).sum(step.changes)) / self.total_weight
