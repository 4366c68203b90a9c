"""The steps of the loop and its result.

A driver takes steps, and `softkern.solvers.alternate` decides when to stop.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

from softkern._utils.arrays import column_changes, namespace
from softkern._utils.typing import AnyArray
from softkern.operators.base import Geometry, KernelOperator
from softkern.rules.base import Centers, Evaluation, Rule
from softkern.solvers.stopping import Step

__all__ = ["Driver", "Solution", "Steps"]


@dataclass(frozen=True)
class Solution:
    """Result of the loop: centers, the geometry and U that follow from them, and the rule.

    `cycle` is the length of the cycle in which the loop ended, or zero.

    Examples
    --------
    >>> import numpy as np
    >>> from softkern import plan
    >>> from softkern.rules.base import Rule
    >>> from softkern.rules.centers import Mean
    >>> from softkern.rules.fuzzy import Fuzzy
    >>> from softkern.solvers.alternate import alternate
    >>> X = np.array([[0.0], [0.5], [1.0], [5.0], [5.5]])
    >>> operator, weight = plan(X, bandwidth=1.0, n_vectors=2).build(X), np.ones(5)
    >>> start = Mean().centers(np.eye(5)[:, [0, 3]], weight, None)
    >>> rule = Rule(Fuzzy(2.0), Mean())
    >>> solution = alternate(operator, rule, start, sample_weight=weight, tol=1e-6, max_iter=99)
    >>> solution.coefficients.sum(axis=0).round(6), solution.cycle
    (array([1., 1.]), 0)
    """

    rule: Rule
    centers: Centers
    geometry: Geometry
    memberships: AnyArray
    objective: float
    n_iter: int = 0
    converged: bool = False
    history: dict[str, list[float]] = field(default_factory=dict)
    cycle: int = 0

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


class Driver(Protocol):
    """Takes the steps of the loop."""

    def step(self) -> Step:
        """Compute memberships at the current centers, and measures of progress."""

    def advance(self) -> Driver:
        """Compute the next centers, and return the driver of the next step."""

    def solution(self) -> Solution:
        """Return the current state."""


class Steps:
    """Driver for any rule and operator, with one geometry per step."""

    evaluation: Evaluation

    def __init__(
        self,
        operator: KernelOperator,
        rule: Rule,
        centers: Centers,
        weight: AnyArray,
        geometry: Geometry | None = None,
    ) -> None:
        self.operator, self.rule, self.centers, self.weight = operator, rule, centers, weight
        self.geometry = geometry
        self.previous: AnyArray | None = None

    def step(self) -> Step:
        """Compute one product, unless the center rule did, and evaluate the rule."""
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

    def advance(self) -> Steps:
        """Compute centers of the masses, and free the arrays of the last step."""
        evaluation = self.evaluation
        self.previous, self.geometry = evaluation.memberships, None
        self.rule = replace(self.rule, memberships=evaluation.rule)
        self.centers = self.rule.centers.centers(evaluation.mass, self.weight, self.centers)
        del self.evaluation
        return self

    def solution(self) -> Solution:
        """Return the current state."""
        assert self.geometry is not None
        evaluation = self.evaluation
        return Solution(
            self.rule, self.centers, self.geometry, evaluation.memberships, evaluation.objective
        )
