"""Annealing of `OneClassMixture`: schedules of scales, and the separation of equal clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from softkern._utils.typing import Array
from softkern.operators.base import KernelOperator
from softkern.rules.base import Centers, Rule
from softkern.solvers.collapse import coinciding, principal_variance
from softkern.solvers.steps import Solution

TILT = 0.5  # range of the factors by which the masses of equal clusters are made to differ
MOST_SCALES = 10_000  # of an annealing; the paper's has 77


def cooling(annealing: Any) -> list[float]:
    """Return the scales of a schedule (start, stop, factor), from start down to above stop."""
    try:
        given = np.asarray(annealing, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape != (3,) or not np.isfinite(given).all():
        raise ValueError(f"annealing={annealing!r} must be three numbers: (start, stop, factor).")
    start, stop, factor = given.tolist()
    if not start > stop > 0:
        raise ValueError(
            f"annealing={annealing!r} has no step: start={start:g} must be above stop={stop:g}, "
            "which must be positive, because the scale decreases."
        )
    if not 0 < factor < 1:
        raise ValueError(
            f"annealing={annealing!r} does not cool: factor={factor:g} must lie between 0 and 1."
        )
    steps = int(np.ceil((np.log(stop) - np.log(start)) / np.log(factor) - 1e-9))
    if steps > MOST_SCALES:
        raise ValueError(
            f"annealing={annealing!r} has {steps:,} steps, at most {MOST_SCALES:,} are allowed. "
            "Decrease the factor or increase stop."
        )
    return [start * factor**step for step in range(steps)]


def separate_equal_clusters(
    operator: KernelOperator, rule: Rule, solution: Solution, weight: Array
) -> Centers | None:
    """Return distinct centers to continue an annealing from. None where all differ already.

    Equal clusters stay equal at any scale. They count as one, and the spare ones become copies of
    those with the largest variance, which are the first to separate (Rose 1998). Each copy is
    tilted towards a sample far from the center and from the last one, so that copies move apart
    where the scale allows it.
    """
    shared = operator.support_rows.reweighted(weight).share_among_duplicates(solution.coefficients)
    mass = weight[:, None] * solution.memberships  # (n, c)
    pairs, alive = coinciding(shared), mass.sum(axis=0) > 0
    if not pairs and alive.all():
        return None
    n_clusters = mass.shape[1]
    group = np.arange(n_clusters)
    for i, j in pairs:
        group[j] = group[i]
    firsts = np.unique(group[alive])
    merged = np.stack([mass[:, group == first].sum(axis=1) for first in firsts], axis=1)
    variances = [principal_variance(operator, column) for column in merged.T]
    order = np.argsort(variances, kind="stable")[::-1]
    columns = []
    for place, k in enumerate(order):
        copies = n_clusters // firsts.size + (place < n_clusters % firsts.size)
        distances = solution.geometry.distances[:, firsts[k]]
        columns += _tilted(operator, merged[:, k], distances, copies)
    return rule.centers.centers(np.stack(columns, axis=1), weight, None)


def _tilted(operator: KernelOperator, mass: Array, distances: Array, copies: int) -> list[Array]:
    """Split a mass (n,) into parts, all but the last larger near a sample far from the others."""
    parts, is_inside = [], mass >= 0.5 * mass.max()
    for _ in range(copies - 1):
        pole = int(np.argmax(np.where(is_inside, distances, -np.inf)))
        near = np.asarray(operator.distances_to_rows([pole])[:, 0])
        distances = np.minimum(distances, near)
        parts.append(mass / copies * (1 + TILT * (0.5 - near / max(float(near.max()), 1e-300))))
    return [*parts, mass / copies]
