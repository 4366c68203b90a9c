"""The one loop: distances → memberships → centers → stop?

A model brings a `Rule`, a membership rule and a center rule; the loop brings stopping, history and
the progress bar, and asks a driver for the steps: `steps.Steps` takes each from the operator's
geometry, `sweeps.Sweeps` in one pass over the rows where centers are vectors, and
`corrected.Corrected` runs on a cheap operator between two of them. The loop
ends on a membership step, so that what is stored (coefficients) gives back what is reported
(memberships), for the training points as for new ones. `anneal` runs it from scale to scale.
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
    """Alternate memberships and centers from a start until memberships stand still.

    Parameters
    ----------
    operator : KernelOperator
    rule : Rule
    centers : Centers
        The start.
    sample_weight : array of shape (n,)
    tol : float
    max_iter : int
    geometry : Geometry, default=None
        Of the start, where it is known.
    stopping : {"relative", "mean", "sum", "objective"}, default="relative"
        What `tol` bounds; see `softkern.solvers.stopping.measured_change`.
    cycles : bool, default=False
        Look for cycles, as a rule needs that is not bound to bring its objective down. Where the
        loop runs in one, it stops without convergence at the cycle's state of lowest objective.
    verbose : bool, default=False
        Show a progress bar.
    description : str, default="fit"
        What the bar says is being done.

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
    """The loop from several starts, whose products are taken together: many columns cost little.

    Each ends where `alternate` would end; arguments as there.
    """
    options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "stopping": stopping}
    if _moves(operator, rule, sample_weight):
        here = operator.to_device
        there = [moved(start, here) for start in starts]
        ends = alternate_all(
            operator, moved(rule, here), there, sample_weight=here(sample_weight), **options
        )
        return [moved(end, on_host) for end in ends]
    if operator.features is not None or len(starts) == 1:  # there is no product to share
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
    """Whether a loop of the host's arrays runs where the operator's are, and its end comes back.

    Centers that are vectors of few columns are quick anywhere, and lose no digits here.
    """
    goes = operator.on_device and rule.goes_anywhere and is_numpy_array(weight)
    return goes and operator.features is None


class _Run:
    """One run of the loop: its driver's steps, their history, and when to stop."""

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
        """A step; whether it was the last."""
        step = self.driver.step()
        self.n_iter += 1
        if math.isnan(step.objective):
            raise DataError(
                f"the objective is no number in step {self.n_iter}: kernel values or weights are "
                "too far apart to be added up. Scale the data or the kernel matrix towards one, "
                "or remove what is far from all else."
            )
        self.history["objective"].append(step.objective)
        self.change = measured_change(step, self.history["objective"], self.total, self.stopping)
        self.history["change"].append(self.change)
        self.history["low_rank_steps"].append(step.low_rank_steps)
        if self.watch is not None and not self.converged:
            self.cycle = self.watch.period(self.driver.solution())
        return self.converged or bool(self.cycle) or self.n_iter == self.max_iter

    def advance(self) -> None:
        """On to the next centers."""
        self.driver = self.driver.advance()

    @property
    def converged(self) -> bool:
        """Whether the last step changed little enough."""
        return self.change <= self.tol

    def end(self) -> Solution:
        """Where the run ended; the best state of a cycle, where it ran in one."""
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
    """Run the loop at every scale of the membership rule in turn, each from where the last ended.

    `between` may give other centers to go on from, None where those of the end will do.

    The history is that of all scales, one after the other, with the scale of every iteration;
    convergence is that of the last. `options` are those of `alternate`, for every scale.
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
    """The solution of the lowest objective, or key; the first where several are equal.

    With a margin, a later one must be better by that share, so that starts which reach the same
    end do not take its place by a rounding.
    """
    runs = iter(solutions)
    best = next(runs)
    for run in runs:
        if key(run) < key(best) - margin * abs(key(best)):
            best = run
    return best
