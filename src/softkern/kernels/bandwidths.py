"""Rules that derive a kernel's bandwidth from the data, in the data's own units.

A bandwidth is σ in exp(−‖x − y‖²/2σ²): one number, or one per column. Every rule looks at a
bounded sample of the distinct rows (`softkern.rows`): it costs O(n), does not depend on the order
of rows, and duplicates cannot drive a bandwidth to zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from softkern._utils.neighbors import k_nearest
from softkern._utils.random import fixed_seed
from softkern._utils.typing import Array
from softkern.exceptions import DataError
from softkern.kernels.radial import Gaussian
from softkern.kernels.spread import (
    FEWEST_STEPS,
    NOISE,
    SPREAD_SAMPLE,
    check_reach,
    column_steps,
    largest_values,
    robust_spread,
    standard_deviation,
)
from softkern.rows import Rows, lower_quantile, varying_columns

PAIR_SAMPLE = 1000  # rows whose pairwise distances are computed
QUERY_SAMPLE = 1000  # rows whose neighbors are searched
REFERENCE_SAMPLE = 20_000  # rows among which far neighbors are searched
KNN_NEIGHBOR = 10  # neighbor of the rule "knn", and the lowest rank that a sample keeps
LEAST_NEIGHBOR = 5  # of "auto" and "tree" on few points, where nearer ones are chance
# Limits of 1/√(d+2), the share of the mean distance to the √n-th neighbor: in few columns a
# narrower kernel isolates the points of a tail, in many columns a wider one hides gaps.
AUTO_FACTORS = (0.3, 0.5)
AUTO_CLIP = 0.9  # quantile at which distances are clipped, so that far points do not widen it
TREE_FACTOR = 1 / 4  # of n^(4/(d+4)), the rate of a density estimate
BOUNDARY_FACTOR = 0.5  # of "global"
WITHIN_SAMPLE = 500  # rows whose near pairs show the spread within clusters
WITHIN_SHARE = 0.2  # of them that are near: less than one of a few clusters
WITHIN_STEPS = 10  # alternations of scaling columns and searching near pairs
WITHIN_TOLERANCE = 0.02  # change of every column's share at which they stop
LEAST_WITHIN = 0.1  # share of a column's spread; a narrower column would dominate
WITHIN_CLIP = 0.02  # share of the values clipped at either end
LOO_TOLERANCE = 1e-4  # of the logarithm of the bandwidth in the rule "loo"
LOO_NARROWEST = 0.1  # of the smallest distance, the lower end of its search

Bandwidth = float | NDArray[np.float64]


def select_bandwidth(
    X: Any, rule: str = "auto", *, sample_weight: Any = None, random_state: Any = 0
) -> Bandwidth:
    """Select a bandwidth by a rule.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        The data.
    rule : {"auto", "boundary", "global", "knn", "loo", "median", "scott", "tree", "within"}, \
default="auto"
        - ``"auto"``: each column's robust spread times one common factor: the mean distance to
          the √n-th distinct neighbor in the scaled columns, clipped at its 90 % quantile, times
          0.5 for one and two columns, else 1/√(d+2), at least 0.3. At least the step in which a
          rounded column is recorded. The result depends neither on units nor on heavy tails.
        - ``"boundary"``: half of "global", for one-class SVMs: narrow enough to exclude the gaps
          between clusters, wide enough for few support vectors.
        - ``"global"``: each column's robust spread times the median distance between distinct
          points in the scaled columns: as wide as the data, for models with a few centers.
        - ``"knn"``: median distance to the 10th distinct neighbor.
        - ``"loo"``: the bandwidth of the highest leave-one-out likelihood on a sample, carried to
          n points by the rate n^(−1/(d+4)).
        - ``"median"``: median distance between distinct points.
        - ``"scott"``: each column's standard deviation times n^(−1/(d+4)), with n distinct points.
        - ``"tree"``: as "auto", with the median distance to the n^(4/(d+4))/4-th distinct neighbor
          (at least the 5th), divided by √(d+2), the ratio of a ball's radius to the bandwidth of a
          Gaussian of equal spread. It is narrower and resolves peaks, for `AlphaCutClustering`.
        - ``"within"``: as "global", with the spread within clusters: each column's robust spread
          times the mean difference between near points over that between all. Columns in which
          clusters lie far apart would otherwise hide outliers. Columns of fewer than five values
          keep their spread.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the samples. A weight of two is equivalent to two equal rows.
    random_state : int, RandomState or None, default=0
        Seed of the sample, which is used above 1000 distinct points.

    Returns
    -------
    bandwidth : float or array of shape (n_features,)
        One number for "knn", "loo" and "median", else one per column.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> wide = select_bandwidth(X * [1, 1000])
    >>> bool(np.allclose(wide / select_bandwidth(X), [1, 1000]))
    True
    """
    if rule not in RULES:
        raise ValueError(f"bandwidth={rule!r} is no rule; give a number or one of {sorted(RULES)}.")
    rows = Rows.of(X, sample_weight)
    check_reach(rows.X, 1.0)
    count = rows.distinct[0].size
    if count < 2:
        among = "" if (rows.weight > 0).all() else " with a weight"
        raise DataError(
            f"bandwidth={rule!r} needs at least two different points{among}, and the data hold "
            f"{count} (n_samples = {rows.shape[0]}); give bandwidth=<a number>."
        )
    bandwidth = RULES[rule](rows.distinct_rows, fixed_seed(random_state))
    if not (np.isfinite(bandwidth).all() and np.all(np.asarray(bandwidth) > 0)):
        raise DataError(
            f"bandwidth={rule!r} gave {bandwidth}: the values are too close to each other or too "
            "far apart to compute distances. Give bandwidth=<a number>, or rescale the columns."
        )
    return bandwidth


# Rules: functions of the distinct rows and an integer seed


def _auto(rows: Rows, seed: int) -> Bandwidth:
    scaled, spread = _standardized(rows, seed)
    neighbor = max(LEAST_NEIGHBOR, round(np.sqrt(rows.shape[0])))
    distance, weight = _neighbor_distances(scaled, neighbor, seed)
    high = lower_quantile(distance, weight, AUTO_CLIP)
    mean = np.average(np.minimum(distance, high), weights=weight)
    factor = np.clip(1 / np.sqrt(varying_columns(rows.X) + 2), *AUTO_FACTORS)
    bandwidth = factor * float(mean) * spread
    return np.asarray(np.maximum(bandwidth, column_steps(rows, seed)))


def _tree(rows: Rows, seed: int) -> Bandwidth:
    n, d = rows.shape
    d = d if sp.issparse(rows.X) else varying_columns(rows.X)
    scaled, spread = _standardized(rows, seed)
    neighbor = max(LEAST_NEIGHBOR, round(TREE_FACTOR * n ** (4 / (d + 4))))
    distance, weight = _neighbor_distances(scaled, neighbor, seed)
    bandwidth = lower_quantile(distance, weight, 0.5) / np.sqrt(d + 2) * spread
    return np.asarray(np.maximum(bandwidth, column_steps(rows, seed)))


def _knn(rows: Rows, seed: int) -> Bandwidth:
    distance, weight = _neighbor_distances(rows, KNN_NEIGHBOR, seed)
    return lower_quantile(distance, weight, 0.5)


def _median(rows: Rows, seed: int) -> Bandwidth:
    squared, weight = _sampled_pairs(rows, seed)
    i, j = np.triu_indices(weight.size, 1)
    distance = np.sqrt(squared[i, j])
    weight = weight / weight.max()  # products might overflow
    return lower_quantile(distance, weight[i] * weight[j], 0.5)


def _global(rows: Rows, seed: int) -> Bandwidth:
    scaled, spread = _standardized(rows, seed)
    return np.asarray(_median(scaled, seed) * spread)


def _boundary(rows: Rows, seed: int) -> Bandwidth:
    return BOUNDARY_FACTOR * _global(rows, seed)


def _within(rows: Rows, seed: int) -> Bandwidth:
    scaled, spread = _standardized(rows, seed)
    spread = spread * _share_within(scaled, seed)
    check_reach(rows.X, spread)
    return np.asarray(_median(rows.scaled(spread), seed) * spread)


def _scott(rows: Rows, seed: int) -> Bandwidth:
    n, d = rows.shape
    index, weight = rows.sample(SPREAD_SAMPLE, seed)
    sample = rows.X[index]
    if sp.issparse(sample):
        mean = weight @ sample / weight.sum()
        deviation = np.sqrt(np.maximum(weight @ sample.power(2) / weight.sum() - mean**2, 0))
    else:
        deviation = standard_deviation(np.asarray(sample, dtype=np.float64), weight)
    deviation = np.where(deviation > NOISE * largest_values(sample), deviation, 1.0)
    return np.asarray(deviation * n ** (-1.0 / (d + 4)))


def _loo(rows: Rows, seed: int) -> Bandwidth:
    n, d = rows.shape
    squared, weight = _sampled_pairs(rows, seed)
    np.fill_diagonal(squared, np.inf)
    largest = squared[np.isfinite(squared)].max()
    if not (squared.min(axis=1) > 0).any():
        return float("nan")
    squared /= largest  # no power of a bandwidth overflows in this unit
    log_others = np.log(np.maximum(weight.sum() - weight, weight.min()))

    def loss(log_bandwidth: float) -> float:
        exponent = -0.5 * squared * np.exp(-2 * log_bandwidth)
        log_density = logsumexp(exponent, axis=1, b=weight) - log_others - d * log_bandwidth
        return -float(weight @ log_density) / float(weight.sum())

    nearest = np.sqrt(squared.min(axis=1))
    bounds = (np.log(LOO_NARROWEST * nearest[nearest > 0].min()), 0.0)
    best = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": LOO_TOLERANCE})
    best_width = np.exp(best.x) * np.sqrt(largest)
    return float(best_width * (weight.size / n) ** (1.0 / (d + 4)))


RULES: dict[str, Callable[[Rows, int], Bandwidth]] = {
    rule.__name__.removeprefix("_"): rule
    for rule in (_auto, _boundary, _global, _knn, _loo, _median, _scott, _tree, _within)
}


# Distances


def _standardized(rows: Rows, seed: int) -> tuple[Rows, Array]:
    """Return rows in units of the robust spread of each column, and the spreads, (d,)."""
    spread = robust_spread(rows, random_state=seed)
    check_reach(rows.X, spread)
    return rows.scaled(spread), spread


def _neighbor_distances(
    rows: Rows, neighbor: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return distances of sampled points to their k-th other distinct point, and their weights.

    A far neighbor in a large table is searched in a sample, with a lower rank.
    """
    n = rows.shape[0]
    queries, weight = rows.sample(QUERY_SAMPLE, seed)
    size = max(REFERENCE_SAMPLE, -(-KNN_NEIGHBOR * n // neighbor))
    reference, _ = rows.reweighted().sample(size, seed)
    k = min(max(1, round(neighbor * reference.size / n)), reference.size - 1)
    # distances by products, and their differences, lose the digits of a common offset
    X = rows.X if sp.issparse(rows.X) else rows.X.astype(np.float64) - np.median(rows.X, axis=0)
    distance, index = k_nearest(X[reference], X[queries], k + 1)
    is_itself = reference[index[:, 0]] == queries
    if sp.issparse(X):
        return np.where(is_itself, distance[:, k], distance[:, k - 1]), weight
    neighbors = reference[np.where(is_itself, index[:, k], index[:, k - 1])]
    return np.linalg.norm(X[queries] - X[neighbors], axis=1), weight


def _share_within(rows: Rows, seed: int) -> NDArray[np.float64]:
    """Return the spread within clusters as a share of the whole, (d,), the largest being one.

    Near pairs belong to one cluster, whatever the clusters are. Which pairs are near depends on
    the shares, so that both are computed in turn (Art, Gnanadesikan and Kettenring 1982). Means
    are compared with means, so that columns with one value in most rows do not seem narrow.
    """
    share = np.ones(rows.shape[1])
    if share.size > WITHIN_SAMPLE:  # no single column hides what so many others show
        return share
    index, weight = rows.sample(WITHIN_SAMPLE, seed)
    sample = rows.X[index].toarray() if sp.issparse(rows.X) else rows.X[index]
    sample = sample.astype(np.float64) - np.median(sample, axis=0)
    ends = (WITHIN_CLIP, 1 - WITHIN_CLIP)
    low, high = np.apply_along_axis(lower_quantile, 0, sample, weight, ends)
    columns = np.where(low < high, np.clip(sample, low, high), sample)
    steps = np.diff(np.sort(sample, axis=0), axis=0)
    is_category = (steps > 0).sum(axis=0) + 1 < FEWEST_STEPS
    everyone = np.broadcast_to(np.arange(index.size), (index.size, index.size))
    overall = _mean_difference(columns, everyone, weight)
    neighbors = min(max(LEAST_NEIGHBOR, round(WITHIN_SHARE * index.size)), index.size - 1)
    for _ in range(WITHIN_STEPS):
        before = share
        _, near = k_nearest(sample / before, sample / before, neighbors + 1)
        differences = _mean_difference(columns, near[:, 1:], weight)
        share = np.divide(differences, overall, out=np.zeros_like(share), where=overall > 0)
        share = np.where(is_category | (share == 0), share.max(), share)
        share = np.maximum(share / (share.max() or 1.0), LEAST_WITHIN)
        if np.abs(share - before).max() <= WITHIN_TOLERANCE:
            break
    return np.asarray(share)


def _mean_difference(columns: Array, others: NDArray[np.intp], weight: Array) -> Array:
    """Return the mean |x_i − x_j| of every column of (m, d) over all i and j in others[i]."""
    parts = weight[others]
    parts = parts * (weight / parts.sum(axis=1))[:, None]
    sums = np.empty(columns.shape[1])
    for k, x in enumerate(columns.T):
        sums[k] = np.sum(parts * np.abs(x[others] - x[:, None]))
    return sums / weight.sum()


def _sampled_pairs(rows: Rows, seed: int) -> tuple[Array, Array]:
    """Return squared distances between all pairs of a sample, (k, k), and its weights, (k,)."""
    index, weight = rows.sample(PAIR_SAMPLE, seed)
    X = rows.X[index].astype(np.float64)
    return -2 * Gaussian().log_block(X, X), weight
