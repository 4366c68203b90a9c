"""Low-rank acceleration: iterate on a cheap surrogate operator and correct it with exact products.

Between two products with K, the loop continues with a low-rank K̃ (`KernelOperator.surrogate`) and
the last exact product: K A ≈ K̃ A + (K A₀ − K̃ A₀), which is exact at A₀. Each exact step starts
where the surrogate steps stopped moving. The loop ends when an exact step changes memberships by
no more than the tolerance, so that it ends at the same fixed point after fewer products with K.
Where K̃ is too coarse to make progress, the loop continues without it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from softkern._utils.arrays import namespace
from softkern._utils.typing import AnyArray
from softkern.operators.base import Geometry, KernelOperator
from softkern.rules.base import Centers, Rule, SolverRule
from softkern.solvers.steps import Steps
from softkern.solvers.stopping import Step

__all__ = ["SurrogateSteps", "surrogate_steps"]

PROGRESS = 0.5  # of the last change: an exact step above it shows that K̃ is of no use
FINER = 0.1  # of the last exact change, at which surrogate steps end
SETTLED = 1e-6  # error at which centers computed with K̃ count as those of K
MAX_STEPS = 300  # with K̃ between two exact ones
FIRST_CHANGE = 1e-4  # at which surrogate steps end before the first exact one


def surrogate_steps(
    operator: KernelOperator, rule: Rule, centers: Centers, weight: AnyArray
) -> SurrogateSteps | None:
    """The driver, where the operator has a surrogate and the center rule can use it."""
    is_usable = rule.goes_anywhere or isinstance(rule.centers, SolverRule)
    if operator.surrogate is None or not is_usable:
        return None
    return SurrogateSteps(operator, operator.surrogate, rule, centers, weight)


class SurrogateSteps(Steps):
    """Exact steps, each followed by surrogate steps until these stop moving."""

    def __init__(
        self,
        operator: KernelOperator,
        surrogate: KernelOperator,
        rule: Rule,
        centers: Centers,
        weight: AnyArray,
    ) -> None:
        super().__init__(operator, rule, centers, weight)
        self.surrogate = surrogate
        self.exact_rule: Any = rule.centers
        # rules of array operations alone do not compute products themselves
        self.solves = isinstance(rule.centers, SolverRule)
        self.low_rank_steps = 0
        self.correction: AnyArray | None = None  # K A₀ − K̃ A₀
        self.is_rough = True  # whether the present centers were computed with K̃
        self.change = float("inf")  # of the last exact step
        self.error = float("inf")  # of its centers
        self._total = float(namespace(weight).sum(weight))
        self._run_surrogate(FIRST_CHANGE)

    def step(self) -> Step:
        """Take one exact step, and report how many surrogate steps led to it."""
        self.rule = replace(self.rule, centers=self.exact_rule)
        if self.is_rough:
            self.geometry = self.operator.geometry(self.centers.coefficients)
            if self.solves:
                self.centers = self.exact_rule.with_product(self.centers, self.geometry.product)
        step = super().step()
        low_rank_steps, self.low_rank_steps = self.low_rank_steps, 0
        before, self.change = self.change, self._mean_change(step.changes)
        error_before = self.error
        self.error = self.exact_rule.error(self.centers) if self.solves else 0.0
        self.makes_progress = self.change <= PROGRESS * before
        if self.is_rough and self.error > SETTLED:  # not yet the centers of K
            step = replace(step, changes=None)
            self.makes_progress &= self.error <= PROGRESS * error_before
        return replace(step, low_rank_steps=low_rank_steps)

    def advance(self) -> Steps:
        """Continue on the surrogate; by a plain step where the last one made no progress."""
        assert self.geometry is not None
        self.is_rough = self.makes_progress
        if not self.makes_progress:
            return super().advance()
        self.correction = self.geometry.product - self.surrogate @ self.centers.coefficients
        self._advance_surrogate()
        self._run_surrogate(FINER * self.change)
        return self

    def _run_surrogate(self, tolerance: float) -> None:
        """Step on the surrogate from the present centers until the change is small."""
        for _ in range(MAX_STEPS):
            self.geometry = self._surrogate_geometry(self.centers)
            step = super().step()
            self._advance_surrogate()
            self.low_rank_steps += 1
            if self._mean_change(step.changes) <= tolerance:
                return

    def _advance_surrogate(self) -> None:
        if self.solves:
            rough = self.exact_rule.on_operator(self.surrogate, self.correction)
            self.rule = replace(self.rule, centers=rough)
        super().advance()

    def _surrogate_geometry(self, centers: Centers) -> Geometry:
        product = centers.product
        if product is None:
            product = self.surrogate @ centers.coefficients
            if self.correction is not None:
                product = product + self.correction
        return self.operator.geometry(centers.coefficients, product)

    def _mean_change(self, changes: AnyArray | None) -> float:
        """The mean change of memberships; infinite where there is nothing to compare with."""
        if changes is None:
            return float("inf")
        return float(namespace(changes).sum(changes)) / self._total
