"""Initializations of the loop: functions of the weighted data and the seed.

An initialization is the mass of every point in every center, (n, c), from which a center rule
computes centers. It does not depend on the order of rows. The values of `init` in the models are:

- ``"k-means++"``: single points, drawn by their squared distances in feature space.
- ``"k-means"``: the clusters of kernel k-means.
- ``"random"``: a random number for every point and cluster.
- ``"gmm"``: a Gaussian mixture in input space, which needs the data as a dense array.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from softkern._utils.arrays import moved, take_last
from softkern._utils.random import child_seed
from softkern._utils.typing import Array
from softkern.operators.base import KernelOperator
from softkern.rows import order_by_mass, row_slices
from softkern.rules.base import Rule
from softkern.rules.centers import Mean
from softkern.rules.fuzzy import Fuzzy
from softkern.rules.one_class import FORMULATIONS, Formulation, Hard
from softkern.solvers.alternate import alternate, alternate_all
from softkern.solvers.steps import Solution

START_TOL = 1e-4  # tolerance of the runs among which the best is selected
K_MEANS_STEPS = 100
MOST_DRAWN = 20_000  # rows to which a Gaussian mixture is fitted
VALUES_TOGETHER = 2**21  # memberships whose products are computed together, at most
SAME_SCATTER = 1e-4  # relative difference below which runs have found the same clusters
SAME_SIZE = 1e-3  # shares of the weight that tie: ten times the tolerance of the loop
SAME_DISTANCE = 4  # rounding errors of a squared distance below which two are equal
SAME_POINT = 16  # rounding errors below which a squared distance is zero


def seed_mass(
    operator: KernelOperator, weight: Array, n_clusters: int, generator: np.random.RandomState
) -> Array:
    """Return one point per cluster with the mass of a cluster, (n, c), drawn by k-means++.

    Each is drawn by its squared distance to the nearest one so far.
    """
    index, mass = operator.support_rows.reweighted(weight).canonical
    start = np.zeros((operator.shape[0], n_clusters), dtype=operator.dtype)
    nearest = np.ones(operator.shape[0])
    for k in range(n_clusters):
        reached = np.cumsum(mass * nearest[index])
        draw = generator.uniform(0, reached[-1])
        row = int(index[min(int(np.searchsorted(reached, draw, side="right")), index.size - 1)])
        distances = np.asarray(operator.distances_to_rows([row]))[:, 0]
        nearest = distances if k == 0 else np.minimum(nearest, distances)
        if not nearest[index].any():  # fewer distinct points than clusters
            nearest = np.ones(operator.shape[0])
        start[row, k] = weight.sum() / n_clusters
    return start


def random_mass(
    operator: KernelOperator, weight: Array, n_clusters: int, generator: np.random.RandomState
) -> Array:
    """Return a random number for every distinct row and cluster, times its weight, (n, c)."""
    index, mass = operator.support_rows.reweighted(weight).canonical
    start = np.zeros((weight.size, n_clusters), dtype=weight.dtype)
    # the first of the duplicates gets their mass, which gives the same centers
    start[index] = mass[:, None] * generator.uniform(size=(index.size, n_clusters))
    return start


def k_means_mass(
    operator: KernelOperator,
    weight: Array,
    n_clusters: int,
    generator: np.random.RandomState,
    n_init: int = 1,
) -> Array:
    """Return the clusters of kernel k-means, (n, c), the best of `n_init` k-means++ starts.

    Empty clusters get points.
    """
    rule = Rule(hard_rule(operator), Mean())
    options: dict[str, Any] = {"tol": START_TOL, "max_iter": K_MEANS_STEPS, "stopping": "mean"}
    options |= {"sample_weight": weight, "cycles": True}
    starts = (seed_mass(operator, weight, n_clusters, generator) for _ in range(n_init))
    runs = (
        alternate(operator, rule, Mean().centers(start, weight, None), **options)
        for start in starts
    )
    end = least_scattered(runs, weight)
    return end.rule.memberships.evaluate(end.geometry, end.centers, weight).mass


def gaussian_mass(
    operator: KernelOperator, weight: Array, n_clusters: int, generator: np.random.RandomState
) -> Array:
    """Return memberships of a Gaussian mixture in input space times weights, (n, c)."""
    from sklearn.mixture import GaussianMixture  # slow to import

    X = operator.X
    if not operator.kernel.takes_points or sp.issparse(X):
        raise ValueError(
            "init='gmm' needs the data as a dense array, not kernel values or a sparse matrix. Use "
            "'k-means++', 'k-means' or 'random'."
        )
    index, mass = operator.support_rows.reweighted(weight).canonical
    reached = np.cumsum(mass)
    # with few integer weights, every row is drawn as often as it weighs
    fewest = max(index.size, n_clusters)
    drawn = int(np.clip(round(float(reached[-1])), fewest, max(MOST_DRAWN, n_clusters)))
    places = (np.arange(drawn) + 0.5) * (reached[-1] / drawn)
    rows = index[np.minimum(np.searchsorted(reached, places), index.size - 1)]
    values = X[rows].astype(np.float64)
    center, spread = values.mean(axis=0), values.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    model = GaussianMixture(n_clusters, random_state=child_seed(generator))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit((values - center) / spread)
    start = model.predict_proba((X.astype(np.float64) - center) / spread)
    # no cluster starts without any sample
    return weight[:, None] * np.maximum(start, 1e-6).astype(weight.dtype)


INITS: dict[str, Callable[..., Array]] = {
    "k-means++": seed_mass,
    "k-means": k_means_mass,
    "random": random_mass,
    "gmm": gaussian_mass,
}


def hard_rule(operator: KernelOperator, formulation: Formulation = FORMULATIONS["svdd"]) -> Hard:
    """Return the rule of hard memberships, with the rounding errors of the operator."""
    error = operator.attainable_error
    if formulation.needs_lengths:  # a squared distance contains the product twice
        error = 2 * error if operator.features is None else SAME_DISTANCE * operator.distance_error
    nothing = SAME_POINT * operator.distance_error
    return Hard(formulation, error, operator.distances_to_rows, nothing)


def best_fuzzy(
    operator: KernelOperator,
    memberships: Fuzzy,
    weight: Array,
    n_clusters: int,
    *,
    init: str,
    n_init: int,
    max_iter: int,
    seed: int,
) -> Solution:
    """Return the best of loosely converged runs of a fuzzy rule, with the largest cluster first.

    The runs use the operator's surrogate if there is one, and so does the geometry.
    """
    operator, rule = operator.surrogate or operator, Rule(memberships, Mean())
    generator = np.random.RandomState(seed)
    options: dict[str, Any] = {"sample_weight": weight, "tol": START_TOL, "max_iter": max_iter}
    together = max(1, VALUES_TOGETHER // (operator.shape[0] * n_clusters))
    best: list[Solution] = []
    for part in row_slices(n_init if n_clusters > 1 else 1, together):
        starts = []
        for _ in range(part.start, part.stop):
            # one step without outlier weights, which would hold a center on its first point
            drawn = INITS[init](operator, weight, n_clusters, generator)
            first = Mean().centers(drawn, weight, None)
            geometry = operator.geometry(first.coefficients)
            mass = Fuzzy(memberships.m).evaluate(geometry, first, weight).mass
            starts.append(Mean().centers(mass, weight, None))
        runs = alternate_all(operator, rule, starts, **options)
        best = [min([*best, *runs], key=attrgetter("objective"))]
    return sort_by_mass(best[0], weight)


def least_scattered(solutions: Iterable[Solution], weight: Array) -> Solution:
    """Return the solution of least scatter Σ w u D², the first of those with the same clusters.

    The objective of a mixture is no measure: it is high where a cluster is about to vanish.
    """
    best: Solution | None = None
    least = np.inf
    for solution in solutions:
        spread = solution.memberships * solution.geometry.distances
        scatter = float(weight @ spread.sum(axis=1))
        if best is None or scatter < (1 - SAME_SCATTER) * least:
            best, least = solution, scatter
    assert best is not None
    return best


def sort_by_mass(solution: Solution, weight: Array) -> Solution:
    """Sort clusters by decreasing mass, so that their order does not depend on the start."""
    mass = weight @ solution.memberships
    order = order_by_mass(mass, solution.geometry.norms, SAME_SIZE)
    in_order: Solution = moved(solution, take_last, order)
    return in_order
