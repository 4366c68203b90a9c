"""Low-rank acceleration of the loop.

It iterates on a cheap surrogate K̃ (`KernelOperator.surrogate`) and corrects it with exact products.
Between two products with K the loop continues with K A ≈ K̃ A + (K A₀ − K̃ A₀), which is exact at
A₀. Each exact step starts where the surrogate steps stopped moving. The loop ends when an exact
step changes memberships by no more than the tolerance, so that it ends at the same fixed point
after fewer products with K. Where K̃ is too coarse to make progress, the loop continues without it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from softkern._utils.typing import AnyArray
from softkern.operators.base import Geometry, KernelOperator
from softkern.rules.base import Centers, Rule
from softkern.rules.centers import Mean
from softkern.rules.fuzzy import Fuzzy
from softkern.solvers.dual import OneClassCenters
from softkern.solvers.steps import Step, Steps, measured_change
from softkern.solvers.sweeps import Sweeps

PROGRESS = 0.5  # of the last change: an exact step above it shows that K̃ is of no use
FINER = 0.1  # of the last exact change, at which surrogate steps end
SETTLED = 1e-6  # error at which centers computed with K̃ count as those of K
MAX_STEPS = 300  # with K̃ between two exact ones
FIRST_CHANGE = 1e-4  # at which surrogate steps end before the first exact one


def make_driver(
    operator: KernelOperator,
    rule: Rule,
    centers: Centers,
    weight: AnyArray,
    geometry: Geometry | None = None,
    **options: Any,
) -> Steps:
    """Choose the steps of a run: sweeps or low-rank acceleration where they apply."""
    features, memberships = operator.features, rule.memberships
    is_fuzzy = isinstance(memberships, Fuzzy) and memberships.q == 0
    is_in_memory = features is not None and isinstance(features.points, np.ndarray)
    is_mean = isinstance(rule.centers, Mean)
    if is_fuzzy and is_mean and is_in_memory and not options.get("cycles"):
        return Sweeps(operator, rule, centers, weight, **options)
    if operator.surrogate is not None:
        return SurrogateSteps(operator, rule, centers, weight, **options)
    return Steps(operator, rule, centers, weight, geometry, **options)


class SurrogateSteps(Steps):
    """Exact steps, each followed by surrogate steps until these stop moving."""

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.operator.surrogate is not None
        self.surrogate, centers = self.operator.surrogate, self.rule.centers
        # duals compute products themselves, means do not
        self.exact = centers if isinstance(centers, OneClassCenters) else None
        self.correction: AnyArray | None = None  # K A₀ − K̃ A₀
        self.is_rough = True  # whether the next exact step has centers computed with K̃
        self.moved = float("inf")  # mean change of memberships in the last exact step
        self.error = float("inf")  # of its centers
        self._run_surrogate(FIRST_CHANGE)

    def step(self) -> Step:
        """Take one exact step."""
        if self.exact is not None:
            self.rule = replace(self.rule, centers=self.exact)
        if self.is_rough:
            self.geometry = self.operator.geometry(self.centers.coefficients)
            if self.exact is not None:
                self.centers = self.exact.with_product(self.centers, self.geometry.product)
        step = super().step()
        before, self.moved = self.moved, measured_change(step, (), 1.0, "sum") / self.total_weight
        error_before = self.error
        self.error = 0.0 if self.exact is None else float(self.centers.margins.solution.gap.max())
        makes_progress = self.moved <= PROGRESS * before
        if self.is_rough and self.error > SETTLED:  # not yet the centers of K
            step = replace(step, changes=None)
            makes_progress &= self.error <= PROGRESS * error_before
        self.is_rough = makes_progress
        return step

    def advance(self) -> None:
        """Continue on the surrogate; by a plain step where the last one made no progress."""
        assert self.geometry is not None
        self.low_rank_steps = 0
        if not self.is_rough:
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
            if measured_change(step, (), 1.0, "sum") / self.total_weight <= tolerance:
                return

    def _advance_surrogate(self) -> None:
        if self.exact is not None:
            self.rule = replace(self.rule, centers=self.exact.on_surrogate(self.correction))
        super().advance()
