"""The one loop: distances → memberships → centres → stop?

A model brings a `Rule`, a membership rule and a centre rule; the loop brings stopping, history and
the progress bar, and asks a driver for the steps: `steps.Steps` takes each from the operator's
geometry, `ahead.Sweeps` in one pass over the rows where centres are vectors. The loop
ends on a membership step, so that what is stored (coefficients) gives back what is reported
(memberships), for the training points as for new ones. `anneal` runs it from scale to scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from softkern._arrays import namespace
from softkern._typing import AnyArray
from softkern.operators.base import Geometry, KernelOperator
from softkern.rules.base import Centres, Rule
from softkern.solvers.ahead import sweeps
from softkern.solvers.cycles import CycleWatch
from softkern.solvers.steps import Driver, Solution, Steps
from softkern.solvers.stopping import measured_change, progress_bar

__all__ = ["alternate", "anneal", "best_of"]


def alternate(
    operator: KernelOperator,
    rule: Rule,
    centres: Centres,
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
    """Alternate memberships and centres from a start until memberships stand still.

    Parameters
    ----------
    operator : KernelOperator
    rule : Rule
    centres : Centres
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
    """
    history: dict[str, list[float]] = {"objective": [], "change": []}
    total = float(namespace(sample_weight).sum(sample_weight))
    watch = CycleWatch[Solution](sample_weight) if cycles else None
    driver: Driver | None = None if cycles else sweeps(operator, rule, centres, sample_weight)
    if driver is None:
        driver = Steps(operator, rule, centres, sample_weight, geometry)
    cycle = 0
    with progress_bar(verbose, description, tol, max_iter) as report:
        for iteration in range(1, max_iter + 1):
            step = driver.step()
            history["objective"].append(step.objective)
            change = measured_change(step, history["objective"], total, stopping)
            history["change"].append(change)
            report(iteration, change)
            converged = change <= tol
            if watch is not None and not converged:
                cycle = watch.period(driver.solution())
            if converged or cycle or iteration == max_iter:
                break
            driver = driver.advance()
    end = watch.best if watch is not None and cycle else driver.solution()
    return replace(end, n_iter=iteration, converged=converged, history=history, cycle=cycle)


def anneal(
    operator: KernelOperator,
    rule: Rule,
    centres: Centres,
    scales: Sequence[float],
    *,
    geometry: Geometry | None = None,
    between: Callable[[Solution], Centres | None] = lambda end: None,
    verbose: bool = False,
    description: str = "fit",
    **options: Any,
) -> Solution:
    """Run the loop at every scale of the membership rule in turn, each from where the last ended.

    `between` may give other centres to go on from, None where those of the end will do.

    The history is that of all scales, one after the other, with the scale of every iteration;
    convergence is that of the last. `options` are those of `alternate`, for every scale.
    """
    history: dict[str, list[float]] = {"objective": [], "change": [], "scale": []}
    with progress_bar(verbose, description, scales[-1], len(scales), "scale") as report:
        for stage, scale in enumerate(scales, 1):
            report(stage, scale)
            memberships: Any = rule.memberships
            rule = replace(rule, memberships=replace(memberships, scale=scale))
            end = alternate(operator, rule, centres, geometry=geometry, **options)
            for name, values in end.history.items():
                history[name] += values
            history["scale"] += [scale] * end.n_iter
            rule, centres, geometry = end.rule, end.centres, end.geometry
            changed = None if stage == len(scales) else between(end)
            if changed is not None:
                centres, geometry = changed, None
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
