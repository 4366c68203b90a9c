"""Where the models start: functions of the weighted data and the seed, never of row numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from softkern.alternate import alternate, best_of
from softkern.models._rules import FuzzyRule
from softkern.models.base import CollapseWarning
from softkern.operators.base import KernelOperator
from softkern.sampling import canonical_rows

__all__ = ["check_n_clusters", "check_start", "fuzzy_start", "seeds"]

Array = NDArray[Any]

EQUAL_MEMBERSHIPS = 0.02  # fuzzy memberships this near to 1/c tell nothing


def check_n_clusters(n_clusters: int, n: int) -> None:
    """Refuse more clusters than points."""
    if n_clusters > n:
        raise ValueError(
            f"n_clusters={n_clusters} is more than the number of points, n_samples = {n}."
        )


def check_start(init: Any, n_clusters: int, weight: Array) -> Array:
    """Start memberships or weights given by the user, (n, c)."""
    start = np.asarray(init, dtype=weight.dtype)
    if start.shape != (weight.size, n_clusters):
        raise ValueError(f"init has shape {start.shape}; it must be ({weight.size}, {n_clusters}).")
    if not (np.isfinite(start).all() and (start >= 0).all() and (weight @ start > 0).all()):
        raise ValueError("init must be finite and not negative, and no column all zero.")
    return start


def fuzzy_start(
    operator: KernelOperator,
    weight: Array,
    n_clusters: int,
    n_init: int,
    max_iter: int,
    random_state: Any,
) -> Array:
    """Memberships of kernel fuzzy c-means, (n, c), the best of a few starts.

    Where they come out equal for all points, as they do for m = 2 and a narrow kernel, m is
    lowered until they do not.
    """
    if n_clusters == 1:
        return np.ones((operator.shape[0], 1), dtype=operator.dtype)
    generator = check_random_state(random_state)
    starts = [seeds(operator, weight, n_clusters, generator) for _ in range(n_init)]
    m = 2.0
    while True:
        rule = FuzzyRule(m, weight)
        best = best_of(
            alternate(operator, rule, start, sample_weight=weight, tol=1e-4, max_iter=max_iter)
            for start in starts
        )
        is_equal = np.abs(best.memberships - 1 / n_clusters).max() < EQUAL_MEMBERSHIPS
        if not is_equal or m < 1.05:
            break
        m = 1 + (m - 1) / 2
    if m < 2:
        warnings.warn(
            f"fuzzy c-means with m = 2 gave every point the same memberships; the start was taken "
            f"with m = {m:.3g}. A wider kernel separates the clusters better.",
            CollapseWarning,
            stacklevel=4,
        )
    # largest first, so that clusters keep their names whichever start was the best
    order = np.argsort(-(weight @ best.memberships), kind="stable")
    return best.memberships[:, order]


def seeds(
    operator: KernelOperator, weight: Array, n_clusters: int, generator: np.random.RandomState
) -> Array:
    """Coefficients of single points as centres, drawn by their squared distance (k-means++)."""
    index, mass = canonical_rows(operator.X, weight)
    chosen: list[int] = []
    nearest = np.ones(operator.shape[0])
    for _ in range(n_clusters):
        reached = np.cumsum(mass * nearest[index])
        draw = generator.uniform(0, reached[-1])
        row = int(index[min(int(np.searchsorted(reached, draw, side="right")), index.size - 1)])
        coefficients = np.zeros(operator.shape[0], dtype=operator.dtype)
        coefficients[row] = 1
        distances = operator.squared_distances(coefficients)
        nearest = distances if not chosen else np.minimum(nearest, distances)
        if not nearest.any():  # fewer distinct points than clusters
            nearest = np.ones(operator.shape[0])
        chosen.append(row)
    starts = np.zeros((operator.shape[0], n_clusters), dtype=operator.dtype)
    starts[chosen, np.arange(n_clusters)] = 1
    return starts
