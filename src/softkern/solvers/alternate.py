"""The loop: distances → memberships → centers → stop?

A model provides a `Rule`, a membership rule and a center rule. The loop provides stopping, history
and the progress bar. `steps.Steps` computes each step from the operator's geometry, `surrogate`
most of them on a low-rank operator, and `sweeps` in one pass over the rows. The loop ends on a
membership step, so that the stored coefficients reproduce the reported memberships, for training
points and new ones. `anneal` runs it from scale to scale.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from array_api_compat import is_numpy_array

from softkern._utils.arrays import moved, namespace, on_host
from softkern._utils.progress import Report, progress_bar
from softkern._utils.typing import AnyArray
from softkern.operators.base import Geometry, KernelOperator
from softkern.rules.base import Centers, Rule
from softkern.solvers.steps import Solution, Steps
from softkern.solvers.surrogate import make_driver


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
    `softkern.solvers.steps`). Further options are those of `alternate_all`.
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
    geometry: Geometry | None = None,
    report: Report | None = None,
    **options: Any,
) -> list[Solution]:
    """Run the loop from several starts, with one product for all of them per step.

    Every run ends where it would end alone. `geometry` is that of the start, if known. Options are
    `tol`, `max_iter`, `stopping` and `cycles`: with the latter, for rules that need not decrease
    their objective, a run in a cycle stops without convergence at the state of the lowest one.
    """
    # centers that are vectors of few features are fast on the host, and keep more digits there
    goes_anywhere = getattr(rule.centers, "goes_anywhere", False)
    moves = operator.on_device and goes_anywhere and is_numpy_array(sample_weight)
    moves = moves and operator.features is None
    if moves:
        there = operator.to_device
        rule, geometry, sample_weight = (moved(p, there) for p in (rule, geometry, sample_weight))
        starts = [moved(start, there) for start in starts]
    shares_product = len(starts) > 1 and operator.features is None
    make, given = (Steps, None) if shares_product else (make_driver, geometry)
    runs = [make(operator, rule, start, sample_weight, given, **options) for start in starts]
    pending = runs
    while pending:
        if shares_product:
            coefficients = [run.centers.coefficients for run in pending]
            product = operator @ namespace(coefficients[0]).concat(coefficients, axis=1)
            width = coefficients[0].shape[1]
            for k, run in enumerate(pending):
                part = product[:, k * width : (k + 1) * width]
                run.geometry = operator.geometry(coefficients[k], part)
        going = []
        for run in pending:
            run.turn()
            if report is not None:
                report(run.n_iter, run.change)
            if not run.is_done:
                run.advance()
                going.append(run)
        pending = going
    return [moved(run.solution(), on_host) if moves else run.solution() for run in runs]


def anneal(
    operator: KernelOperator,
    rule: Rule,
    centers: Centers,
    scales: Sequence[float],
    *,
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
    geometry: Geometry | None = None
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
