"""A driver of the loop that runs ahead on a cheap operator and is put right by the exact one.

Between two products with K, the loop goes on with a low-rank K̃ (`KernelOperator.ahead`) and what
K said last: K A ≈ K̃ A + (K A₀ − K̃ A₀), which is exact at A₀, and near it as good as K̃ is for
the difference. The steps of the loop are the exact ones alone, each from where the cheap ones
stood still; it ends when one of them changes memberships by no more than the tolerance, as the
loop without would. The end is the same fixed point, for a few products with K instead of one for
every step. Where K̃ is too coarse to come nearer by, the loop goes on without it.
"""

from __future__ import annotations

from dataclasses import replace

from softkern._utils.arrays import namespace
from softkern._utils.typing import AnyArray
from softkern.operators.base import Geometry, KernelOperator
from softkern.rules.base import CenterRuleAhead, Centers, Rule
from softkern.solvers.steps import Steps
from softkern.solvers.stopping import Step

__all__ = ["Corrected", "corrected"]

NEARER = 0.5  # of the last change, that an exact step must stay below for K̃ to be of use
FINER = 0.1  # of the last exact change, at which the steps ahead stand still
SETTLED = 1e-6  # error at which centers that K̃ has a part in pass for those of K
MOST_STEPS = 300  # ahead, between two exact ones
FIRST_CHANGE = 1e-4  # at which they stand still before the first exact one


def corrected(
    operator: KernelOperator, rule: Rule, centers: Centers, weight: AnyArray
) -> Corrected | None:
    """The driver, where there is an operator to run ahead on and the center rule can."""
    if operator.ahead is operator or not isinstance(rule.centers, CenterRuleAhead):
        return None
    return Corrected(operator, rule, centers, weight)


class Corrected(Steps):
    """Exact steps, each followed by as many cheap ones as bring the loop to a stand."""

    def __init__(
        self, operator: KernelOperator, rule: Rule, centers: Centers, weight: AnyArray
    ) -> None:
        super().__init__(operator, rule, centers, weight)
        assert isinstance(rule.centers, CenterRuleAhead)
        self.exactly: CenterRuleAhead = rule.centers
        self.steps_ahead = 0
        self.correction: AnyArray | None = None
        self.is_cheap = True  # whether K̃ had a part in the present centers
        self.change = float("inf")  # of the last exact step
        self.error = float("inf")  # of its centers
        self._total = float(namespace(weight).sum(weight))
        self._run_ahead(FIRST_CHANGE)

    def step(self) -> Step:
        """One product with K, and how many cheap steps led there."""
        self.rule = replace(self.rule, centers=self.exactly)
        if self.is_cheap:
            A = self.centers.coefficients
            self.geometry = self.operator.geometry(A)
            self.centers = self.exactly.measured(self.centers, self.geometry.product)
        step = super().step()
        steps_ahead, self.steps_ahead = self.steps_ahead, 0
        before, self.change = self.change, self._change_of(step.changes)
        error_before, self.error = self.error, self.exactly.error(self.centers)
        self.is_nearer = self.change <= NEARER * before
        if self.is_cheap and self.error > SETTLED:  # no centers of K yet
            step = replace(step, changes=None)
            self.is_nearer &= self.error <= NEARER * error_before
        return replace(step, ahead=steps_ahead)

    def advance(self) -> Steps:
        """Ahead from the exact memberships; a plain step where the last one came no nearer."""
        assert self.geometry is not None
        self.is_cheap = self.is_nearer
        if not self.is_nearer:
            return super().advance()
        self.correction = self.geometry.product - self.operator.ahead @ self.centers.coefficients
        self._advance_ahead()
        self._run_ahead(FINER * self.change)
        return self

    def _run_ahead(self, tolerance: float) -> None:
        """Steps on the cheap operator from the present centers, until they stand still."""
        for _ in range(MOST_STEPS):
            self.geometry = self._cheap_geometry(self.centers)
            step = super().step()
            self._advance_ahead()
            self.steps_ahead += 1
            if self._change_of(step.changes) <= tolerance:
                return

    def _advance_ahead(self) -> None:
        self.rule = replace(self.rule, centers=self.exactly.ahead(self.correction))
        super().advance()

    def _cheap_geometry(self, centers: Centers) -> Geometry:
        product = centers.product
        if product is None:
            product = self.operator.ahead @ centers.coefficients
            if self.correction is not None:
                product = product + self.correction
        return self.operator.geometry(centers.coefficients, product)

    def _change_of(self, changes: AnyArray | None) -> float:
        """The mean change of memberships; infinite where there are none to compare with."""
        if changes is None:
            return float("inf")
        return float(namespace(changes).sum(changes)) / self._total
