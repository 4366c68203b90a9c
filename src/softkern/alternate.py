"""The one loop: distances → memberships → coefficients → stop?

A model brings a `Rule`; the loop brings the products, the stopping, the history and the progress
bar. It ends on a membership step, so that what is stored (coefficients) gives back what is
reported (memberships), for the training points as for new ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softkern.operators.base import Geometry, KernelOperator

__all__ = ["Rule", "Solution", "alternate", "best_of"]

Array = NDArray[Any]


class Rule(Protocol):
    """What makes a model: how the geometry becomes memberships, and these coefficients."""

    def memberships(self, geometry: Geometry) -> Array:
        """U (n, c) from how the points lie to the centres."""

    def coefficients(self, geometry: Geometry, memberships: Array) -> tuple[Array, Array | None]:
        """A (n, c) of the next centres, and K @ A where the rule knows it already."""

    def objective(self, geometry: Geometry, memberships: Array) -> float:
        """What the loop brings down."""


@dataclass
class Solution:
    """Where the loop ended: A, and the geometry and U that follow from it."""

    coefficients: Array
    geometry: Geometry
    memberships: Array
    objective: float
    n_iter: int = 0
    converged: bool = False
    history: dict[str, list[float]] = field(default_factory=dict)


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
    stopping : {"mean", "sum"}, default="mean"
        ``"mean"``: weighted mean of the change of memberships, as a share of the largest in the
        column. ``"sum"``: the papers' rule, their absolute change summed over all points.
    verbose : bool, default=False
        Show a progress bar.
    description : str, default="fit"
        What the bar says is being done.
    """
    history: dict[str, list[float]] = {"objective": [], "change": []}
    previous: Array | None = None
    product: Array | None = None
    with _progress(verbose, description, tol, max_iter) as report:
        for iteration in range(1, max_iter + 1):
            if geometry is None or previous is not None:
                geometry = operator.geometry(coefficients, product)
            memberships = rule.memberships(geometry)
            objective = rule.objective(geometry, memberships)
            change = _change(memberships, previous, sample_weight, stopping)
            history["objective"].append(objective)
            history["change"].append(change)
            report(iteration, change)
            converged = change < tol
            if converged or iteration == max_iter:
                break
            coefficients, product = rule.coefficients(geometry, memberships)
            previous = memberships
    assert geometry is not None
    return Solution(coefficients, geometry, memberships, objective, iteration, converged, history)


def best_of(solutions: Iterator[Solution]) -> Solution:
    """The solution of the lowest objective; the first where several are equal."""
    return min(solutions, key=lambda solution: solution.objective)


def _change(
    memberships: Array, previous: Array | None, sample_weight: Array, stopping: str
) -> float:
    if previous is None:
        return float("inf")
    difference = np.abs(memberships - previous)
    if stopping == "sum":
        return float((sample_weight @ difference).sum())
    top = np.maximum(memberships.max(axis=0), np.finfo(memberships.dtype).tiny)
    return float((sample_weight @ (difference / top)).mean() / sample_weight.sum())


@contextmanager
def _progress(verbose: bool, description: str, tol: float, max_iter: int) -> Iterator[Any]:
    """A bar that fills as the change falls towards the tolerance; silent unless asked for."""
    if not verbose:
        yield lambda iteration, change: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description} · iteration {task.fields[iteration]}/{task.total}")
    goal = TextColumn("change {task.fields[change]:.1e}, goal {task.fields[goal]:.1e}")
    with Progress(text, BarColumn(), goal, TimeElapsedColumn()) as progress:
        task = progress.add_task(
            description, total=max_iter, iteration=0, change=float("inf"), goal=tol
        )
        yield lambda iteration, change: progress.update(
            task, completed=iteration, iteration=iteration, change=change
        )
