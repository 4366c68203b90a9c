"""Where the loop starts: functions of the weighted data and the seed, never of row numbers.

A start is a mass of every point in every center, (n, c), from which a center rule makes centers.
``"k-means++"``: single points, drawn by their squared distances in feature space. ``"k-means"``:
the clusters of kernel k-means. ``"random"``: a random number for every point and cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from softkern._utils.random import as_random_state
from softkern._utils.typing import Array
from softkern.operators.base import KernelOperator
from softkern.rows import order_by_mass, row_slices
from softkern.rules.base import Centers, MembershipRule, Rule
from softkern.rules.centers import Mean
from softkern.rules.fuzzy import Fuzzy
from softkern.rules.one_class import FORMULATIONS, Formulation, Hard
from softkern.solvers.alternate import alternate, alternate_all, best_of
from softkern.solvers.collapse import SAFE_RATIO, largest_m, ratio_at, ratio_of
from softkern.solvers.steps import Solution

__all__ = [
    "STARTS",
    "best_fuzzy",
    "by_size",
    "hard_rule",
    "k_means",
    "seeds",
    "select_fuzzifier",
]

START_TOL = 1e-4  # of the starts among which the best is chosen
K_MEANS_STEPS = 100
CLEARLY_SAFE = 1.1  # times the safe ratio: more than what a low-rank factor leaves out
VALUES_TOGETHER = 2**21  # memberships of starts whose products are taken together, at most
SAME_SCATTER = 1e-4  # starts whose scatter differs by less have found the same clusters
SAME_SIZE = 1e-3  # shares of the weight that tie: ten times what the loop's tolerance leaves
SAME_DISTANCE = 4  # times the rounding of a squared distance: by less than it two are equal
SAME_POINT = 16  # times the same: a squared distance of nothing


def seeds(
    operator: KernelOperator, weight: Array, n_clusters: int, generator: np.random.RandomState
) -> list[int]:
    """Rows as centers, each drawn by its squared distance to those before (k-means++)."""
    index, mass = operator.canonical_rows(weight)
    chosen: list[int] = []
    nearest = np.ones(operator.shape[0])
    for _ in range(n_clusters):
        reached = np.cumsum(mass * nearest[index])
        draw = generator.uniform(0, reached[-1])
        row = int(index[min(int(np.searchsorted(reached, draw, side="right")), index.size - 1)])
        distances = np.asarray(operator.distances_to_rows([row]))[:, 0]
        nearest = distances if not chosen else np.minimum(nearest, distances)
        if not nearest[index].any():  # fewer distinct points than clusters
            nearest = np.ones(operator.shape[0])
        chosen.append(row)
    return chosen


def seed_mass(
    operator: KernelOperator, weight: Array, n_clusters: int, generator: np.random.RandomState
) -> Array:
    """One point a cluster, each with the mass of a cluster, (n, c)."""
    mass = np.zeros((operator.shape[0], n_clusters), dtype=operator.dtype)
    rows = seeds(operator, weight, n_clusters, generator)
    mass[rows, np.arange(n_clusters)] = weight.sum() / n_clusters
    return mass


def random_mass(
    operator: KernelOperator, weight: Array, n_clusters: int, generator: np.random.RandomState
) -> Array:
    """A random number in (0, 1) for every distinct row and cluster, times its weight, (n, c)."""
    index, mass = operator.canonical_rows(weight)  # in an order that the rows' values decide
    start = np.zeros((weight.size, n_clusters), dtype=weight.dtype)
    # the mass of copies goes to the first of them, which is the same for any center
    start[index] = mass[:, None] * generator.uniform(size=(index.size, n_clusters))
    return start


def k_means_mass(
    operator: KernelOperator,
    weight: Array,
    n_clusters: int,
    generator: np.random.RandomState,
    n_init: int = 1,
) -> Array:
    """The clusters of kernel k-means, (n, c); one that ended without points gets some."""
    end = k_means(operator, weight, n_clusters, generator, n_init)
    return end.rule.memberships.evaluate(end.geometry, end.centers, weight).mass


STARTS: dict[str, Callable[..., Array]] = {
    "k-means++": seed_mass,
    "k-means": k_means_mass,
    "random": random_mass,
}


def hard_rule(operator: KernelOperator, formulation: Formulation = FORMULATIONS["svdd"]) -> Hard:
    """Memberships of the nearest center, with what they must know of the operator's rounding."""
    error = operator.attainable_error
    if formulation.needs_lengths:  # a squared distance holds the product twice, or is of features
        error = 2 * error if operator.features is None else SAME_DISTANCE * operator.distance_error
    nothing = SAME_POINT * operator.distance_error

    def copies(row: int) -> Array:
        return np.asarray(operator.distances_to_rows([row])[:, 0] <= nothing)

    return Hard(formulation, error, copies, nothing)


def k_means(
    operator: KernelOperator,
    weight: Array,
    n_clusters: int,
    generator: np.random.RandomState,
    n_init: int = 1,
    **options: Any,
) -> Solution:
    """Kernel k-means, the best of a few k-means++ starts."""
    rule = Rule(hard_rule(operator), Mean())
    options = {"tol": START_TOL, "max_iter": K_MEANS_STEPS, "stopping": "mean", **options}

    def run() -> Solution:
        start = Mean().centers(seed_mass(operator, weight, n_clusters, generator), weight, None)
        return alternate(operator, rule, start, sample_weight=weight, cycles=True, **options)

    return best_of((run() for _ in range(n_init)), margin=SAME_SCATTER)


def select_fuzzifier(
    operator: KernelOperator, m: float | str, weight: Array, q: float = 0.0, plain: bool = False
) -> tuple[float, float]:
    """The fuzzy exponent and its collapse ratio; "auto" is 2, or the largest safe one below.

    Where the ratio is clear already on the operator's draft, it is the draft's.
    """
    first = 2.0 if isinstance(m, str) else float(m)
    ratio = ratio_of(operator.draft, weight, first, q, plain)
    if operator.draft is not operator and ratio < CLEARLY_SAFE * SAFE_RATIO:
        ratio = ratio_of(operator, weight, first, q, plain)
    if not isinstance(m, str) or ratio > SAFE_RATIO:
        return first, ratio
    lowered = largest_m(ratio, first, plain)
    return lowered, ratio_at(lowered, ratio, first, plain)


def best_fuzzy(
    operator: KernelOperator,
    memberships: MembershipRule,
    m: float,
    weight: Array,
    n_clusters: int,
    *,
    draw: Callable[..., Array] = seed_mass,
    n_init: int,
    max_iter: int,
    random_state: Any,
) -> Solution:
    """The best of a few starts of a fuzzy rule, loosely converged, the largest cluster first.

    Runs on the operator's draft, and returns the draft's geometry.
    """
    operator = operator.draft
    generator = as_random_state(random_state)
    rule = Rule(memberships, Mean())

    def start() -> Centers:
        # one step without outlier weights: these would hold a center on the point it starts from
        first = Mean().centers(draw(operator, weight, n_clusters, generator), weight, None)
        geometry = operator.geometry(first.coefficients)
        return Mean().centers(Fuzzy(m).evaluate(geometry, first, weight).mass, weight, None)

    options: dict[str, Any] = {"sample_weight": weight, "tol": START_TOL, "max_iter": max_iter}
    together = max(1, VALUES_TOGETHER // (operator.shape[0] * n_clusters))
    runs = (
        solution
        for part in row_slices(n_init, together)
        for solution in alternate_all(
            operator, rule, [start() for _ in range(part.start, part.stop)], **options
        )
    )
    best = best_of(runs)
    return by_size(best, weight @ best.memberships)


def by_size(solution: Solution, mass: Array) -> Solution:
    """The same clusters, the largest mass (c,) first: the same names from every start."""
    return solution.take(order_by_mass(mass, solution.geometry.norms, SAME_SIZE))
