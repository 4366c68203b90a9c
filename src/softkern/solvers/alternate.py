"""The one loop: distances → memberships → coefficients → stop?

A model brings a `Rule`; the loop brings the products, the stopping, the history and the progress
bar. It ends on a membership step, so that what is stored (coefficients) gives back what is
reported (memberships), for the training points as for new ones. A rule whose objective is not
brought down by every step may go round in a cycle; the loop finds it by Brent's rule (a mark that
is set anew after 1, 2, 4, … steps) and keeps the best state of it. `anneal` runs the loop from
scale to scale.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softkern.operators.base import Geometry, KernelOperator, available_threads
from softkern.solvers.ahead import Lead, RowRule, run_ahead

__all__ = ["Rule", "ScaledRule", "Solution", "alternate", "anneal", "best_of", "progress_bar"]

Array = NDArray[Any]

BLOCK_ROWS = 8192  # whose temporary arrays are small beside those of all rows
# A state is back when it is this much nearer to an earlier one than to the last; a damped
# oscillation this slow would need thousands of steps to die out.
SAME_STATE = 1e-3


class Rule(Protocol):
    """What makes a model: how the geometry becomes memberships, and these coefficients."""

    def memberships(self, geometry: Geometry) -> Array:
        """U (n, c) from how the points lie to the centres."""

    def coefficients(self, geometry: Geometry, memberships: Array) -> tuple[Array, Array | None]:
        """A (n, c) of the next centres, and K @ A where the rule knows it already."""

    def objective(self, geometry: Geometry, memberships: Array) -> float:
        """What the loop brings down."""


class ScaledRule(Rule, Protocol):
    """A rule with a softness that `anneal` lowers."""

    scale: float


@dataclass
class Solution:
    """Where the loop ended: A, the geometry and U that follow from it, and the rule as it stood.

    `cycle` is the number of states that the loop went round in, zero where it did not.
    """

    coefficients: Array
    geometry: Geometry
    memberships: Array
    objective: float
    n_iter: int = 0
    converged: bool = False
    history: dict[str, list[float]] = field(default_factory=dict)
    rule: Any = None
    cycle: int = 0


def alternate(
    operator: KernelOperator,
    rule: Rule,
    coefficients: Array,
    *,
    sample_weight: Array,
    tol: float,
    max_iter: int,
    geometry: Geometry | None = None,
    stopping: str = "mean",
    cycles: bool = False,
    verbose: bool = False,
    description: str = "fit",
) -> Solution:
    """Alternate memberships and centres from a start until memberships stand still.

    Parameters
    ----------
    operator : KernelOperator
    rule : Rule
    coefficients : array of shape (n, c)
        The start.
    sample_weight : array of shape (n,)
    tol : float
    max_iter : int
    geometry : Geometry, default=None
        Of the start, where it is known.
    stopping : {"mean", "absolute", "sum", "objective"}, default="mean"
        ``"mean"``: weighted mean of the change of memberships, as a share of the largest in the
        column. ``"absolute"``: the same, not as a share; for memberships that compete, of which a
        column may die out. ``"sum"``: the papers' rule, their absolute change summed over all
        points. ``"objective"``: change of the objective, as a share of it.
    cycles : bool, default=False
        Look for cycles, as a rule needs that is not bound to bring its objective down. Where the
        loop goes round, it stops without convergence at the cycle's state of lowest objective.
    verbose : bool, default=False
        Show a progress bar.
    description : str, default="fit"
        What the bar says is being done.
    """
    history: dict[str, list[float]] = {"objective": [], "change": []}
    previous: Array | None = None
    product: Array | None = None
    watch = _Watch(sample_weight) if cycles else None
    cycle = 0
    here: Solution | None = None
    with progress_bar(verbose, description, tol, max_iter) as report:
        lead = None
        if watch is None:
            options = {"tol": tol, "max_iter": max_iter, "report": report}
            lead = _run_ahead(operator, rule, coefficients, sample_weight, stopping, **options)
        if lead is not None:
            history, geometry = lead.history, operator.centre_geometry(lead.centres)
        for iteration in range(len(history["change"]) + 1, max_iter + 1):
            if geometry is None:
                geometry = operator.geometry(coefficients, product)
            memberships = rule.memberships(geometry)
            objective = rule.objective(geometry, memberships)
            history["objective"].append(objective)
            if previous is None and lead is not None:
                change = lead.change
            else:
                objectives = history["objective"]
                change = _change(memberships, previous, sample_weight, stopping, objectives)
            history["change"].append(change)
            report(iteration, change)
            converged = change < tol
            here = Solution(coefficients, geometry, memberships, objective, rule=rule)
            if watch is not None and not converged:
                cycle = watch.period(here, previous)
            if converged or cycle or iteration == max_iter:
                break
            coefficients, product = rule.coefficients(geometry, memberships)
            previous = memberships
            here = geometry = None  # what is done with makes room for the next
    end = watch.best if watch is not None and cycle else here
    assert end is not None
    end.n_iter, end.converged, end.history, end.cycle = iteration, converged, history, cycle
    return end


def anneal(
    operator: KernelOperator,
    rule: ScaledRule,
    coefficients: Array,
    scales: Sequence[float],
    *,
    verbose: bool = False,
    description: str = "fit",
    **options: Any,
) -> Solution:
    """Run the loop at every scale in turn, each from where the one before it ended.

    The history is that of all scales, one after the other, with the scale of every iteration;
    convergence is that of the last. `options` are those of `alternate`, for every scale.
    """
    history: dict[str, list[float]] = {"objective": [], "change": [], "scale": []}
    geometry: Geometry | None = options.pop("geometry", None)
    with progress_bar(verbose, description, scales[-1], len(scales), "scale") as report:
        for stage, scale in enumerate(scales, 1):
            report(stage, scale)
            rule.scale = scale
            end = alternate(operator, rule, coefficients, geometry=geometry, **options)
            for name, values in end.history.items():
                history[name] += values
            history["scale"] += [scale] * end.n_iter
            rule, coefficients, geometry = end.rule, end.coefficients, end.geometry
    end.n_iter, end.history = len(history["scale"]), history
    return end


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


class _Watch:
    """Looks for a state that comes back, and keeps the best since the state it is compared with."""

    best: Solution

    def __init__(self, sample_weight: Array) -> None:
        self.sample_weight = sample_weight
        self.mark: Array | None = None
        self.age = 0
        self.reach = 1

    def period(self, here: Solution, previous: Array | None) -> int:
        """Steps since the mark where this is the marked state again, else zero."""
        if self.mark is not None:
            self.age += 1
            step = _change(here.memberships, previous, self.sample_weight, "absolute")
            back = _change(here.memberships, self.mark, self.sample_weight, "absolute")
            if self.age > 1 and back <= SAME_STATE * step:
                return self.age
        if self.mark is None or self.age == self.reach:
            self.mark, self.age, self.reach = here.memberships, 0, 2 * self.reach
        if self.age == 0 or here.objective < self.best.objective:
            # the rule goes on; what belongs to this state is kept beside it
            self.best = replace(here, rule=copy.copy(here.rule))
        return 0


def _change(
    memberships: Array,
    previous: Array | None,
    sample_weight: Array,
    stopping: str,
    objectives: Sequence[float] = (),
) -> float:
    if previous is None:
        return float("inf")
    if stopping == "objective":
        return abs(objectives[-1] - objectives[-2]) / max(abs(objectives[-1]), np.finfo(float).tiny)
    changes = np.zeros(memberships.shape[1])
    for start in range(0, len(memberships), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        difference = np.abs(memberships[rows] - previous[rows])
        # no BLAS: its idle threads would hold up those of the next product
        changes += np.einsum("i,ij->j", sample_weight[rows], difference)
    return _measure(
        changes,
        memberships.max(axis=0),
        float(sample_weight.sum()),
        stopping,
    )


def _measure(changes: Array, tops: Array, total: float, stopping: str) -> float:
    """From weighted sums of absolute changes and the largest membership of clusters, (c,) each."""
    if stopping == "sum":
        return float(changes.sum())
    if stopping == "mean":
        changes = changes / np.maximum(tops, np.finfo(tops.dtype).tiny)
    return float(changes.mean() / total)


def _run_ahead(
    operator: KernelOperator,
    rule: Rule,
    coefficients: Array,
    sample_weight: Array,
    stopping: str,
    **options: Any,
) -> Lead | None:
    """Steps in one pass over the rows, where operator and rule allow it."""
    features = operator.features
    if features is None or not isinstance(rule, RowRule) or stopping == "objective":
        return None
    total = float(sample_weight.sum())
    return run_ahead(
        features.points,
        features.norms,
        rule,
        features.centres(coefficients),
        sample_weight=sample_weight,
        measure=lambda changes, tops: _measure(changes, tops, total, stopping),
        threads=available_threads(),
        **options,
    )


@contextmanager
def progress_bar(
    verbose: bool, description: str, goal: float, total: int, measure: str = "change"
) -> Iterator[Any]:
    """A bar that fills as the measure falls towards its goal; silent unless asked for."""
    if not verbose:
        yield lambda iteration, value: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description} · iteration {task.fields[iteration]}/{task.total}")
    value = TextColumn(f"{measure} {{task.fields[value]:.1e}}, goal {{task.fields[goal]:.1e}}")
    with Progress(text, BarColumn(), value, TimeElapsedColumn()) as progress:
        task = progress.add_task(
            description, total=total, iteration=0, value=float("inf"), goal=goal
        )
        yield lambda iteration, value: progress.update(
            task, completed=iteration, iteration=iteration, value=value
        )
