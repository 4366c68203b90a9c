"""Where the models start: functions of the weighted data and the seed, never of row numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from softkern.exceptions import CollapseWarning, DataError
from softkern.operators.base import KernelOperator
from softkern.rows import canonical_rows, distinct_rows
from softkern.rules.fuzzy import FuzzyRule, OutlierFuzzyRule
from softkern.solvers.alternate import Solution, alternate, best_of
from softkern.solvers.collapse import SAFE_RATIO, collapse_ratio, largest_m, ratio_at

__all__ = [
    "best_fuzzy",
    "check_apart",
    "check_distinct",
    "check_n_clusters",
    "check_start",
    "fuzzy_start",
    "safe_m",
    "seeds",
]

Array = NDArray[Any]

START_TOL = 1e-4  # of the starts among which the best is chosen
FEWEST_DIGITS = 16.0  # times the rounding that the largest squared distance must have
HEAD = 4096  # rows that are looked at first


def check_n_clusters(n_clusters: int, n: int) -> None:
    """Refuse more clusters than points."""
    if n_clusters > n:
        raise DataError(
            f"n_clusters={n_clusters} is more than the number of points, n_samples = {n}."
        )


def check_distinct(n_clusters: int, X: Any, weight: Array) -> None:
    """Refuse more clusters than different points of positive weight."""
    head = slice(0, max(HEAD, n_clusters))
    for rows in (head, slice(None)):  # most tables show enough of them at once
        if not weight[rows].any():
            continue
        count = distinct_rows(X[rows], weight[rows])[0].size
        if count >= n_clusters:
            return
    raise DataError(
        f"n_clusters={n_clusters} is more than the number of different points, {count} of the "
        f"{X.shape[0]} rows; use n_clusters={count} or fewer."
    )


def check_apart(operator: KernelOperator, weight: Array) -> None:
    """Refuse points whose distances in feature space vanish in the rounding of kernel values."""
    with np.errstate(over="ignore", invalid="ignore"):
        distances = operator.squared_distances(weight / weight.sum())
        largest = float(distances[weight > 0].max())
    kernel = operator.kernel
    if not np.isfinite(largest):
        raise DataError(f"values of {kernel!r} overflow in {operator.dtype}; scale the data down.")
    if largest > FEWEST_DIGITS * operator.distance_error:
        return
    if distinct_rows(operator.X, weight)[0].size < 2:  # nothing is there to be told apart
        return
    remedy = "centre and scale the data, or take another kernel"
    if kernel.is_shift_invariant:
        remedy = "use a smaller bandwidth"
    raise DataError(
        f"{kernel!r} cannot tell these points apart in {operator.dtype}: their squared distances "
        f"from the mean in feature space are at most {largest:.3g}, and vanish in the rounding; "
        f"{remedy}."
    )


def check_start(init: Any, n_clusters: int, weight: Array) -> Array:
    """Start memberships or weights given by the user, (n, c)."""
    start = np.asarray(init, dtype=weight.dtype)
    if start.shape != (weight.size, n_clusters):
        raise ValueError(f"init has shape {start.shape}; it must be ({weight.size}, {n_clusters}).")
    if not (np.isfinite(start).all() and (start >= 0).all() and (weight @ start > 0).all()):
        raise ValueError("init must be finite and not negative, and no column all zero.")
    return start


def safe_m(
    operator: KernelOperator,
    m: float,
    weight: Array,
    *,
    q: float = 0.0,
    centres: str = "eq21",
    is_lowered: bool = True,
) -> tuple[float, float]:
    """The exponent to use in place of m, and its collapse ratio; a lower one is told of."""
    ratio = collapse_ratio(operator, m, sample_weight=weight, q=q, centres=centres)
    lowered = largest_m(ratio, m, centres) if is_lowered else m
    if lowered < m:
        warnings.warn(
            f"fuzzy memberships with m={m:g} would fall back towards 1/n_clusters (collapse ratio "
            f"{ratio:.3g}, wanted above {SAFE_RATIO}); m={lowered:.4g} is used. A wider kernel "
            "tells clusters apart better.",
            CollapseWarning,
            stacklevel=4,
        )
        ratio = ratio_at(lowered, ratio, m, centres)
    elif ratio < 1:
        warnings.warn(
            f"the collapse ratio at m={m:g} is {ratio:.3g}, below one: memberships will fall back "
            "to 1/n_clusters. Use a smaller m or a wider kernel.",
            CollapseWarning,
            stacklevel=4,
        )
    return lowered, ratio


def best_fuzzy(
    operator: KernelOperator,
    rule: FuzzyRule | OutlierFuzzyRule,
    n_clusters: int,
    *,
    n_init: int,
    max_iter: int,
    random_state: Any,
) -> Solution:
    """The best of a few starts of a fuzzy rule, loosely converged.

    Clusters come largest first, so that they keep their names whichever start was the best.
    """
    generator = check_random_state(random_state)
    weight = rule.weight
    first = FuzzyRule(rule.m, weight)

    def start() -> Array:
        # one step without outlier weights: these would hold a centre on the point it starts from
        geometry = operator.geometry(seeds(operator, weight, n_clusters, generator))
        return first.coefficients(geometry, first.memberships(geometry))[0]

    best = best_of(
        alternate(operator, rule, start(), sample_weight=weight, tol=START_TOL, max_iter=max_iter)
        for _ in range(n_init)
    )
    order = np.argsort(-(weight @ best.memberships), kind="stable")
    best.coefficients = best.coefficients[:, order]
    best.memberships = best.memberships[:, order]
    best.geometry = best.geometry.take(order)
    return best


def fuzzy_start(
    operator: KernelOperator,
    weight: Array,
    n_clusters: int,
    n_init: int,
    max_iter: int,
    random_state: Any,
) -> Array:
    """Memberships of kernel fuzzy c-means with m = 2, or less where it would collapse, (n, c)."""
    if n_clusters == 1:
        return np.ones((operator.shape[0], 1), dtype=operator.dtype)
    check_apart(operator, weight)
    m, _ = safe_m(operator, 2.0, weight)
    rule = FuzzyRule(m, weight)
    best = best_fuzzy(
        operator,
        rule,
        n_clusters,
        n_init=n_init,
        max_iter=max_iter,
        random_state=random_state,
    )
    return best.memberships


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
