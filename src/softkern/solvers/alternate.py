"""The loop: distances → memberships → centers → stop?

A model provides a `Rule`, a membership rule and a center rule. The loop provides stopping, history
and the progress bar, and gets its steps from a driver: `steps.Steps` computes each from the
operator's geometry, `steps.SurrogateSteps` most of them on a low-rank operator, and
`sweeps.Sweeps` in one pass over the rows. The loop ends on a membership step, so that the stored
coefficients reproduce the reported memberships, for training points and new ones. `anneal` runs
it from scale to scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np
from array_api_compat import is_numpy_array

from softkern._utils.arrays import moved, namespace, on_host
from softkern._utils.typing import AnyArray
from softkern.exceptions import DataError
from softkern.operators.base import Geometry, KernelOperator
from softkern.rules.base import Centers, Rule, SolverRule
from softkern.rules.centers import Mean
from softkern.rules.fuzzy import Fuzzy
from softkern.solvers.cycles import CycleWatch
from softkern.solvers.steps import Solution, Steps, SurrogateSteps
from softkern.solvers.stopping import Report, measured_change, progress_bar
from softkern.solvers.sweeps import Sweeps


def alternate(
    operator: KernelOperator,
    rule: Rule,
    centers: Centers,
    *,
    tol: float,
    max_iter: int,
    verbose: bool = False,
    description: str = "fit",
    **options: Any,
) -> Solution:
    """Alternate memberships and centers until memberships no longer change.

    `tol` is compared with the measure of `stopping` ("relative", "mean", "sum" or "objective", see
    `softkern.solvers.stopping`). Further options are those of `alternate_all`.

    Examples
    --------
    >>> from softkern import plan
    >>> X = np.array([[0.0], [0.5], [1.0], [5.0], [5.5]])
    >>> operator, weight = plan(X, bandwidth=1.0, n_vectors=2).build(X), np.ones(5)
    >>> start = Mean().centers(np.eye(5)[:, [0, 3]], weight, None)
    >>> rule = Rule(Fuzzy(2.0), Mean())
    >>> solution = alternate(operator, rule, start, sample_weight=weight, tol=1e-6, max_iter=99)
    >>> solution.converged, solution.memberships.argmax(axis=1).tolist()
    (True, [0, 0, 0, 1, 1])
    """
    options |= {"tol": tol, "max_iter": max_iter}
    with progress_bar(verbose, description, tol, max_iter) as report:
        return alternate_all(operator, rule, [centers], **options, report=report)[0]


def alternate_all(
    operator: KernelOperator,
    rule: Rule,
    starts: Sequence[Centers],
    *,
    sample_weight: AnyArray,
    tol: float,
    max_iter: int,
    stopping: str = "relative",
    cycles: bool = False,
    geometry: Geometry | None = None,
    report: Report | None = None,
) -> list[Solution]:
    """Run the loop from several starts, with one product for all of them per step.

    Every run ends where it would end alone. `geometry` is that of the start, if known. With
    `cycles`, for rules that need not decrease their objective, a run in a cycle stops without
    convergence at the state of the lowest objective.
    """
    # centers that are vectors of few features are fast on the host, and keep more digits there
    moves = operator.on_device and rule.goes_anywhere and is_numpy_array(sample_weight)
    moves = moves and operator.features is None
    if moves:
        there = operator.to_device
        rule, geometry, sample_weight = (moved(p, there) for p in (rule, geometry, sample_weight))
        starts = [moved(start, there) for start in starts]
    shares_product = len(starts) > 1 and operator.features is None
    runs = []
    for start in starts:
        if shares_product:
            driver: Steps | Sweeps = Steps(operator, rule, start, sample_weight)
        else:
            driver = make_driver(operator, rule, start, sample_weight, geometry, cycles)
        watch = CycleWatch(sample_weight) if cycles else None
        runs.append(_Run(driver, sample_weight, tol, max_iter, stopping, watch))
    pending = runs
    while pending:
        if shares_product:
            _share_product(operator, pending)
        going = []
        for run in pending:
            run.turn()
            if report is not None:
                report(run.n_iter, run.change)
            if not run.is_done:
                run.driver = run.driver.advance()
                going.append(run)
        pending = going
    return [moved(run.end(), on_host) if moves else run.end() for run in runs]


def make_driver(
    operator: KernelOperator,
    rule: Rule,
    centers: Centers,
    weight: AnyArray,
    geometry: Geometry | None = None,
    cycles: bool = False,
) -> Steps | Sweeps:
    """Choose the driver of the loop: sweeps or low-rank acceleration where they apply."""
    is_fuzzy = isinstance(rule.memberships, Fuzzy) and isinstance(rule.centers, Mean)
    features = operator.features
    if is_fuzzy and not cycles and features is not None and isinstance(features.points, np.ndarray):
        return Sweeps(operator, rule, centers, weight)
    can_correct = rule.goes_anywhere or isinstance(rule.centers, SolverRule)
    if can_correct and operator.draft is not operator:
        return SurrogateSteps(operator, rule, centers, weight)
    return Steps(operator, rule, centers, weight, geometry)


def _share_product(operator: KernelOperator, runs: Sequence[_Run]) -> None:
    """Compute the geometry of several runs from one product."""
    drivers: list[Any] = [run.driver for run in runs]
    coefficients = [driver.centers.coefficients for driver in drivers]
    product = operator @ namespace(coefficients[0]).concat(coefficients, axis=1)
    width = coefficients[0].shape[1]
    for k, driver in enumerate(drivers):
        part = product[:, k * width : (k + 1) * width]
        driver.geometry = operator.geometry(coefficients[k], part)


class _Run:
    """One run of the loop: the steps of its driver, their history, and when to stop."""

    def __init__(
        self,
        driver: Steps | Sweeps,
        weight: AnyArray,
        tol: float,
        max_iter: int,
        stopping: str,
        watch: CycleWatch | None,
    ) -> None:
        self.driver, self.watch = driver, watch
        self.tol, self.max_iter, self.stopping = tol, max_iter, stopping
        self.total = float(namespace(weight).sum(weight))
        self.history: dict[str, list[float]] = {"objective": [], "change": [], "low_rank_steps": []}
        self.n_iter, self.cycle, self.change = 0, 0, float("inf")
        self.converged = self.is_done = False

    def turn(self) -> None:
        """Take a step, and decide whether it was the last."""
        step = self.driver.step()
        self.n_iter += 1
        if math.isnan(step.objective):
            raise DataError(
                f"the objective is no number in step {self.n_iter}: kernel values or weights "
                "differ too much in magnitude. Scale the data or the kernel matrix towards one, or "
                "remove extreme rows."
            )
        self.history["objective"].append(step.objective)
        self.change = measured_change(step, self.history["objective"], self.total, self.stopping)
        self.history["change"].append(self.change)
        self.history["low_rank_steps"].append(step.low_rank_steps)
        self.converged = self.change <= self.tol
        if self.watch is not None and not self.converged:
            self.cycle = self.watch.period(self.driver.solution())
        self.is_done = self.converged or bool(self.cycle) or self.n_iter == self.max_iter

    def end(self) -> Solution:
        """Return the result of the run; for a cycle, its best state."""
        end = self.watch.best if self.watch is not None and self.cycle else self.driver.solution()
        return replace(
            end,
            n_iter=self.n_iter,
            converged=self.converged,
            history=self.history,
            cycle=self.cycle,
        )


def anneal(
    operator: KernelOperator,
    rule: Rule,
    centers: Centers,
    scales: Sequence[float],
    *,
    geometry: Geometry | None = None,
    between: Callable[[Solution], Centers | None] = lambda end: None,
    verbose: bool = False,
    description: str = "fit",
    **options: Any,
) -> Solution:
    """Run the loop at every scale of the membership rule in turn, each from the last result.

    `between` returns other centers to continue from, or None. The history covers all scales, with
    the scale of every iteration, and convergence is that of the last. `options` are those of
    `alternate`.
    """
    names = ("objective", "change", "low_rank_steps", "scale")
    history: dict[str, list[float]] = {name: [] for name in names}
    with progress_bar(verbose, description, scales[-1], len(scales), "scale") as report:
        for stage, scale in enumerate(scales, 1):
            report(stage, scale)
            memberships: Any = rule.memberships
            rule = replace(rule, memberships=replace(memberships, scale=scale))
            end = alternate(operator, rule, centers, geometry=geometry, **options)
            for name, values in end.history.items():
                history[name] += values
            history["scale"] += [scale] * end.n_iter
            rule, centers, geometry = end.rule, end.centers, end.geometry
            changed = None if stage == len(scales) else between(end)
            if changed is not None:
                centers, geometry = changed, None
    return replace(end, n_iter=len(history["scale"]), history=history)


def best_of(
    solutions: Iterable[Solution],
    key: Callable[[Solution], float] = attrgetter("objective"),
    margin: float = 0.0,
) -> Solution:
    """Return the solution of the lowest objective, or key, and the first of equal ones.

    With a margin, a later one must be better by that share, so that rounding does not decide
    between starts with the same result.
    """
    runs = iter(solutions)
    best = next(runs)
    for run in runs:
        if key(run) < key(best) - margin * abs(key(best)):
            best = run
    return best
