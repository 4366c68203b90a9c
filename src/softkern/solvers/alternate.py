"""The loop: distances → memberships → centers → stop?

A model provides a `Rule`, a membership rule and a center rule. The loop provides stopping, history
and the progress bar, and gets its steps from a driver: `steps.Steps` computes each from the
operator's geometry, `sweeps.Sweeps` in one pass over the rows, and `surrogate` on a low-rank
operator between two exact steps. The loop ends on a membership step, so that the stored
coefficients reproduce the reported memberships, for training points and new ones. `anneal` runs
it from scale to scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from array_api_compat import is_numpy_array

from softkern._utils.arrays import moved, namespace, on_host
from softkern._utils.typing import AnyArray
from softkern.exceptions import DataError
from softkern.operators.base import Geometry, KernelOperator
from softkern.rules.base import Centers, Rule
from softkern.solvers.cycles import CycleWatch
from softkern.solvers.steps import Driver, Solution, Steps
from softkern.solvers.stopping import measured_change, progress_bar
from softkern.solvers.surrogate import surrogate_steps
from softkern.solvers.sweeps import sweeps

__all__ = ["alternate", "alternate_all", "anneal", "best_of"]


def alternate(
    operator: KernelOperator,
    rule: Rule,
    centers: Centers,
    *,
    sample_weight: AnyArray,
    tol: float,
    max_iter: int,
    geometry: Geometry | None = None,
    stopping: str = "relative",
    cycles: bool = False,
    verbose: bool = False,
    description: str = "fit",
) -> Solution:
    """Alternate memberships and centers until memberships no longer change.

    Parameters
    ----------
    operator : KernelOperator
        Computes products with the kernel matrix.
    rule : Rule
        Membership rule and center rule.
    centers : Centers
        Initial centers.
    sample_weight : array of shape (n,)
        Weights of the samples.
    tol : float
        Tolerance of the stopping rule.
    max_iter : int
        Largest number of steps.
    geometry : Geometry, default=None
        Geometry of the initial centers, if known.
    stopping : {"relative", "mean", "sum", "objective"}, default="relative"
        Stopping rule, see `softkern.solvers.stopping.measured_change`.
    cycles : bool, default=False
        Detect cycles, for rules that need not decrease their objective. In a cycle the loop stops
        without convergence at the state of the lowest objective.
    verbose : bool, default=False
        Show a progress bar.
    description : str, default="fit"
        Title of the progress bar.

    Examples
    --------
    >>> import numpy as np
    >>> from softkern import plan
    >>> from softkern.rules.base import Rule
    >>> from softkern.rules.centers import Mean
    >>> from softkern.rules.fuzzy import Fuzzy
    >>> X = np.array([[0.0], [0.5], [1.0], [5.0], [5.5]])
    >>> operator, weight = plan(X, bandwidth=1.0, n_vectors=2).build(X), np.ones(5)
    >>> start = Mean().centers(np.eye(5)[:, [0, 3]], weight, None)
    >>> rule = Rule(Fuzzy(2.0), Mean())
    >>> solution = alternate(operator, rule, start, sample_weight=weight, tol=1e-6, max_iter=99)
    >>> solution.converged, solution.memberships.argmax(axis=1).tolist()
    (True, [0, 0, 0, 1, 1])
    """
    moves = _moves(operator, rule, sample_weight)
    if moves:
        rule, centers, geometry, sample_weight = (
            moved(part, operator.to_device) for part in (rule, centers, geometry, sample_weight)
        )
    driver: Driver | None = None
    if not cycles:
        driver = sweeps(operator, rule, centers, sample_weight)
    driver = driver or surrogate_steps(operator, rule, centers, sample_weight)
    driver = driver or Steps(operator, rule, centers, sample_weight, geometry)
    watch = CycleWatch[Solution](sample_weight) if cycles else None
    run = _Run(driver, sample_weight, tol, max_iter, stopping, watch)
    with progress_bar(verbose, description, tol, max_iter) as report:
        while not run.turn():
            report(run.n_iter, run.change)
            run.advance()
        report(run.n_iter, run.change)
    return moved(run.end(), on_host) if moves else run.end()


def alternate_all(
    operator: KernelOperator,
    rule: Rule,
    starts: Sequence[Centers],
    *,
    sample_weight: AnyArray,
    tol: float,
    max_iter: int,
    stopping: str = "relative",
) -> list[Solution]:
    """Run `alternate` from several starts, with one product for all of them per step.

    Every run ends where `alternate` would end. The arguments are the same.
    """
    options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "stopping": stopping}
    if _moves(operator, rule, sample_weight):
        here = operator.to_device
        there = [moved(start, here) for start in starts]
        ends = alternate_all(
            operator, moved(rule, here), there, sample_weight=here(sample_weight), **options
        )
        return [moved(end, on_host) for end in ends]
    if operator.features is not None or len(starts) == 1:  # no product to share
        each = (
            alternate(operator, rule, start, sample_weight=sample_weight, **options)
            for start in starts
        )
        return list(each)
    drivers = [Steps(operator, rule, start, sample_weight) for start in starts]
    runs = [_Run(driver, sample_weight, watch=None, **options) for driver in drivers]
    pending = list(zip(drivers, runs, strict=True))
    while pending:
        coefficients = [driver.centers.coefficients for driver, _ in pending]
        product = operator @ namespace(coefficients[0]).concat(coefficients, axis=1)
        width = coefficients[0].shape[1]
        for k, (driver, _) in enumerate(pending):
            part = product[:, k * width : (k + 1) * width]
            driver.geometry = operator.geometry(coefficients[k], part)
        pending = [(driver, run) for driver, run in pending if not run.turn()]
        for _, run in pending:
            run.advance()
    return [run.end() for run in runs]


def _moves(operator: KernelOperator, rule: Rule, weight: AnyArray) -> bool:
    """Return whether the loop runs on the device of the operator, and its result is copied back.

    Centers that are vectors of few features are fast on the host, and keep more digits there.
    """
    goes = operator.on_device and rule.goes_anywhere and is_numpy_array(weight)
    return goes and operator.features is None


class _Run:
    """One run of the loop: the steps of its driver, their history, and when to stop."""

    def __init__(
        self,
        driver: Driver,
        weight: AnyArray,
        tol: float,
        max_iter: int,
        stopping: str,
        watch: CycleWatch[Solution] | None,
    ) -> None:
        self.driver, self.watch = driver, watch
        self.tol, self.max_iter, self.stopping = tol, max_iter, stopping
        self.total = float(namespace(weight).sum(weight))
        self.history: dict[str, list[float]] = {"objective": [], "change": [], "low_rank_steps": []}
        self.n_iter, self.cycle = 0, 0
        self.change = float("inf")

    def turn(self) -> bool:
        """Take a step, and return whether it was the last."""
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
        if self.watch is not None and not self.converged:
            self.cycle = self.watch.period(self.driver.solution())
        return self.converged or bool(self.cycle) or self.n_iter == self.max_iter

    def advance(self) -> None:
        """Compute the next centers."""
        self.driver = self.driver.advance()

    @property
    def converged(self) -> bool:
        """Whether the last change is within the tolerance."""
        return self.change <= self.tol

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
    history: dict[str, list[float]] = {
        "objective": [],
        "change": [],
        "low_rank_steps": [],
        "scale": [],
    }
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
    key: Callable[[Solution], float] = lambda solution: solution.objective,
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
