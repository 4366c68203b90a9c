"""The loop's steps in one pass over the rows, where centres can be written down.

With a finite feature map F (n, r), as the linear kernel has, centres are vectors V = Fᵀ A (r, c),
and a rule that treats each row by itself needs no array of shape (n, c) but the last memberships:
block by block, distances, memberships and the block's part in the next centres are taken while
they lie in the processor's cache. `solvers.alternate` runs ahead with this and takes its last two
steps itself, so that what it returns is what it would return without it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

__all__ = ["Lead", "RowRule", "run_ahead"]

Array = NDArray[Any]

BLOCK_VALUES = 2**16  # of one array of a block: few enough for the cache, enough for NumPy


@runtime_checkable
class RowRule(Protocol):
    """A rule that treats every row by itself."""

    def rows(self, distances: Array, weight: Array) -> tuple[Array, Array, Array]:
        """U (c, b), coefficients but for the scale of a cluster (c, b), and objectives (b,).

        For a block of rows, given D² (c, b), which it may overwrite and which may be negative by
        rounding, and the rows' weights (b,). Rows run along the last axis, where NumPy is quick.
        """


@dataclass
class Lead:
    """How far the sweeps came: the centres of the step to go on from, and the history before it."""

    centres: Array  # (r, c)
    change: float  # of the step to go on from
    history: dict[str, list[float]]


def run_ahead(
    features: Array,
    diag: Array,
    rule: RowRule,
    centres: Array,
    *,
    sample_weight: Array,
    tol: float,
    max_iter: int,
    measure: Callable[[Array, Array], float],
    report: Callable[[int, float], None],
    threads: int,
) -> Lead:
    """Step from centres (r, c) until memberships stand still, short of the last two steps.

    `measure(changes, tops)` is the stopping measure, from the weighted absolute change and the
    largest membership of every cluster, (c,) each.
    """
    changes: list[float] = []
    objectives: list[float] = []
    before = centres
    memberships = np.full((centres.shape[1], features.shape[0]), np.nan, dtype=features.dtype)
    # one thread a block: BLAS would start its own within each of them
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(threads) as pool:
        for iteration in range(1, max_iter):
            step = _sweep(features, diag, rule, centres, sample_weight, memberships, pool)
            objectives.append(step.objective)
            change = measure(step.change, step.top) if changes else float("inf")
            changes.append(change)
            report(iteration, change)
            is_last = iteration == max_iter - 1 or not step.is_sound
            if change < tol or is_last:
                break
            before, centres = centres, (step.sums / step.total).astype(features.dtype)
    keep = max(len(changes) - 1, 0)
    if changes and changes[-1] < tol and keep:  # the step that converged is the loop's to take
        keep, centres = keep - 1, before
    return Lead(
        centres,
        changes[keep] if changes else float("inf"),
        {"objective": objectives[:keep], "change": changes[:keep]},
    )


@dataclass
class _Step:
    sums: Array  # Fᵀ A before it is scaled, (r, c)
    total: Array  # its scale, (c,)
    change: Array
    top: Array
    objective: float

    @property
    def is_sound(self) -> bool:
        """Whether every cluster still has points that count."""
        return bool((self.total > np.sqrt(np.finfo(self.total.dtype).tiny)).all())


def _sweep(
    features: Array,
    diag: Array,
    rule: RowRule,
    centres: Array,
    weight: Array,
    memberships: Array,
    pool: ThreadPoolExecutor,
) -> _Step:
    """One step; `memberships` (c, n) are replaced by the new ones."""
    n, c = features.shape[0], centres.shape[1]
    rows = max(256, BLOCK_VALUES // c)
    norms = np.einsum("ij,ij->j", centres, centres)[:, None]
    twice = np.ascontiguousarray(-2 * centres.T)

    def block(start: int) -> tuple[Any, ...]:
        part = slice(start, start + rows)
        points, mass = features[part], weight[part]
        distances = twice @ points.T  # (c, b)
        distances += diag[part]
        distances += norms
        new, coefficients, objective = rule.rows(distances, mass)
        old = memberships[:, part]
        np.subtract(new, old, out=old)
        np.abs(old, out=old)
        change = old @ mass
        old[...] = new
        return (
            coefficients @ points,
            coefficients.sum(axis=1),
            change,
            new.max(axis=1),
            float(mass @ objective),
        )

    sums, total, change, top, objective = zip(*pool.map(block, range(0, n, rows)), strict=True)
    return _Step(
        np.asarray(np.sum(sums, axis=0, dtype=np.float64)).T,
        np.asarray(np.sum(total, axis=0, dtype=np.float64)),
        np.asarray(np.sum(change, axis=0, dtype=np.float64)),
        np.max(top, axis=0),
        float(np.sum(objective)),
    )
