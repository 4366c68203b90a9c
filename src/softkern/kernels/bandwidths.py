"""Rules that read a kernel's bandwidth from the data, in the data's own units.

A bandwidth is σ in exp(−‖x − y‖²/2σ²): one number, or one per column. Every rule looks at a
bounded sample (`softkern.rows`), so it costs O(n) on a million points; is the same for any
row order; takes a weight of two for two equal rows; and counts distances between distinct points
only, so that duplicates cannot drive a bandwidth to zero. Called by `softkern.kernels.resolve`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.utils import check_array

from softkern._utils.neighbors import TREE_COLUMNS, k_nearest
from softkern._utils.random import fixed_seed
from softkern._utils.typing import Array
from softkern.exceptions import DataError
from softkern.rows import (
    distinct_rows,
    lower_quantile,
    lower_quantiles,
    priority_sample,
    remembered,
    row_slices,
    varying_columns,
)

__all__ = ["RULES", "check_reach", "robust_spread", "select_bandwidth"]

PAIR_SAMPLE = 1000  # rows whose pairwise distances are all looked at
QUERY_SAMPLE = 1000  # rows whose neighbors are sought
SPREAD_SAMPLE = 20_000  # rows that give a column's quantiles
REFERENCE_SAMPLE = 20_000  # rows among which far neighbors are sought
STRIP = 256  # columns of a wide sparse table that are made dense at a time
KNN_NEIGHBOR = 10  # whose distance is the rule "knn"; in a sample, the rank kept for far neighbors
LEAST_NEIGHBOR = 5  # of "auto" and "tree" on few points, where a nearer one is chance
# of the mean distance to the √n-th neighbor, 1/√(d+2) between these: in few columns a narrower
# kernel leaves the points of a tail alone, in many columns a wider one sees no gaps
AUTO_FACTORS = (0.3, 0.5)
AUTO_CLIP = 0.9  # quantile at which distances are cut off: far points must not widen the view
TREE_FACTOR = 1 / 4  # of n^(4/(d+4)), the neighbors of a density estimate's rate
BOUNDARY_FACTOR = 0.5  # of "global"
NORMAL_RANGE = 2.5631031310892007  # 10 to 90 % quantile range of the standard normal
# Where a column holds one value for most rows, and its quantile range is below this share of its
# standard deviation, the range says nothing of the other rows.
SMALL_RANGE = 0.1
TIED = 0.25  # distinct values per row of the sample, below which a column is recorded in steps
FEWEST_STEPS = 5  # distinct values of such a column; fewer are categories, such as yes and no
NOISE = 1e-12  # a spread this small beside a column's values is rounding
FARTHEST = 1e150  # whose square, summed over columns, is still a number
WITHIN_SAMPLE = 500  # rows whose near pairs show the spread within clusters
WITHIN_SHARE = 0.2  # of them that are near to one: less than a cluster, where there are a few
WITHIN_STEPS = 10  # of scaling columns and looking for the near pairs again
WITHIN_TOLERANCE = 0.02  # change of every column's share, at which it has arrived
LEAST_WITHIN = 0.1  # of a column's spread: a narrower one would be all that counts
WITHIN_CLIP = 0.02  # of the values at either end, which are cut off
LOO_TOLERANCE = 1e-4  # of the logarithm of the bandwidth that the rule "loo" finds
LOO_NARROWEST = 0.1  # of the smallest distance, from which that rule searches

Bandwidth = float | NDArray[np.float64]


def select_bandwidth(
    X: Any,
    rule: str = "auto",
    *,
    sample_weight: Any = None,
    random_state: Any = 0,
) -> Bandwidth:
    """The bandwidth that a rule reads from the data.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    rule : {"auto", "boundary", "global", "knn", "loo", "median", "scott", "tree", "within"}, \
default="auto"
        - ``"auto"``: each column's robust spread times one common factor, a part of the mean
          distance to the √n-th distinct neighbor in the columns so scaled, distances cut off at
          their 90 % quantile: half of it in one and two columns, 1/√(d+2) of it in more, no less
          than 0.3 (from ten columns on). No column's unit and no heavy tail decides the result,
          and the number of points that a point sees grows with n, as a density estimate needs. At
          least the step in which a column is recorded, where its values are rounded. One number
          per column.
        - ``"boundary"``: half of "global", for machines that bound the data: narrow enough to leave
          out what lies between groups, wide enough for few support vectors.
        - ``"global"``: each column's robust spread times the median distance between distinct
          points in the columns so scaled: as wide as the data, for models of a few centers. One
          number per column.
        - ``"knn"``: median distance to the 10th distinct neighbor.
        - ``"median"``: median distance between distinct points.
        - ``"scott"``: each column's standard deviation times n^(−1/(d+4)), n the number of
          distinct points. One number per column.
        - ``"loo"``: the bandwidth whose leave-one-out likelihood is highest, found on a sample
          and carried to n points by the rate n^(−1/(d+4)).
        - ``"tree"``: each column's robust spread times one common factor, the median distance to
          the n^(4/(d+4))/4-th distinct neighbor (at least the 5th) in the columns so scaled,
          over √(d+2), at which a Gaussian spreads as a ball of that radius does; at least a
          column's step, as in "auto". Narrower than that: it shows peaks, for
          `AlphaCutClustering`. One number per column.
        - ``"within"``: as "global", but each column's spread is that within clusters: its robust
          spread times the mean difference between near points over that between any two. A column
          in which clusters lie far apart is wide only by their distance, and would hide in it who
          is far from them. Columns of fewer than five values keep their spread. One number per
          column.
    sample_weight : array of shape (n,), default=None
        A weight of two counts a row twice.
    random_state : int, RandomState or None, default=0
        For the sample; matters only above 1000 distinct points.

    Returns
    -------
    bandwidth : float or array of shape (d,)

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
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    check_reach(X, 1.0)
    index, weight = distinct_rows(X, sample_weight)
    if index.size < 2:
        among = "" if sample_weight is None else " with a weight"
        raise DataError(
            f"bandwidth={rule!r} needs at least two different points{among}, and the data hold "
            f"{index.size} (n_samples = {X.shape[0]}); give bandwidth=<a number>."
        )
    points = _rows(X, index)
    with remembered(points, distinct_of=X):
        bandwidth = RULES[rule](points, weight, fixed_seed(random_state))
    if not (np.isfinite(bandwidth).all() and np.all(np.asarray(bandwidth) > 0)):
        raise DataError(
            f"bandwidth={rule!r} came out as {bandwidth}: the data's values are too near to each "
            "other, or too far apart, for their distances to be computed. Give "
            "bandwidth=<a number>, or rescale the columns."
        )
    return bandwidth


def robust_spread(
    X: Any, weight: Array | None = None, random_state: Any = 0
) -> NDArray[np.float64]:
    """Spread of every column, (d,), on the scale of a normal's standard deviation.

    The 10 to 90 % quantile range. Where more than half of a column is one value, and that range is
    a small part of the standard deviation, the standard deviation takes its place, between the
    1 and 99 % quantiles first. Far values, such as -999 in some rows, do not widen the others.
    A column of two to four values that other columns tell apart further has at least the step
    from one to the next: a yes/no column is no gap in the data. A constant column has spread one:
    it takes no part in any distance.
    """
    index, weight = priority_sample(X, SPREAD_SAMPLE, weight, random_state)
    sample = _rows(X, index)
    spread = np.empty(X.shape[1])
    for strip in row_slices(X.shape[1], STRIP):
        columns = sample[:, strip].toarray() if sp.issparse(sample) else sample[:, strip]
        columns = np.asarray(columns, dtype=np.float64)
        spread[strip] = np.maximum(_column_spread(columns, weight), _category_steps(columns))
    return spread


def _category_steps(columns: Array) -> NDArray[np.float64]:
    """The step between the few values of every column of categories, (d,); zero for others.

    The rows are distinct: two values of a column alone are two points, not categories.
    """
    steps = np.zeros(columns.shape[1])
    for j, column in enumerate(columns.T):
        values = np.unique(column)
        if 2 <= values.size < min(FEWEST_STEPS, column.size):
            steps[j] = np.median(np.diff(values))
    return steps


def _column_spread(columns: Array, weight: Array) -> NDArray[np.float64]:
    shares = (0.01, 0.1, 0.5, 0.9, 0.99)
    low, q10, middle, q90, high = np.transpose(
        [lower_quantiles(x, weight, shares) for x in columns.T]
    )
    quantile_range = (q90 - q10) / NORMAL_RANGE
    inner = _standard_deviation(np.clip(columns, low, high), weight)
    is_mostly_one = np.average(columns == middle, axis=0, weights=weight) > 0.5
    is_small = is_mostly_one & (quantile_range < SMALL_RANGE * inner)
    spread = np.where(is_small, inner, quantile_range)
    is_rounding = spread <= NOISE * np.maximum(np.abs(low), np.abs(high))
    whole = _standard_deviation(columns, weight)
    is_constant = whole <= NOISE * np.abs(columns).max(axis=0)
    return np.where(is_rounding, np.where(is_constant, 1.0, whole), spread)


def _column_steps(X: Any, random_state: Any) -> NDArray[np.float64]:
    """The step in which every column is recorded, (d,); zero for one that is not rounded.

    A narrower kernel would see the steps, a cluster in each of them.
    """
    steps = np.zeros(X.shape[1])
    if sp.issparse(X):  # mostly zeros, which are no steps
        return steps
    index, _ = priority_sample(X, SPREAD_SAMPLE, None, random_state)
    steps = _category_steps(X[index])
    for j, column in enumerate(X[index].T):
        values = np.unique(column)
        if FEWEST_STEPS <= values.size <= TIED * index.size:
            steps[j] = np.median(np.diff(values))
    return steps


def _auto(X: Any, weight: Array, random_state: Any) -> Bandwidth:
    spread = robust_spread(X, weight, random_state)
    neighbor = max(LEAST_NEIGHBOR, round(np.sqrt(X.shape[0])))
    distance, query_weight = _scaled_distances(X, spread, weight, neighbor, random_state)
    high = lower_quantile(distance, query_weight, AUTO_CLIP)
    mean = np.average(np.minimum(distance, high), weights=query_weight)
    factor = np.clip(1 / np.sqrt(_varying_columns(X) + 2), *AUTO_FACTORS)
    bandwidth = factor * float(mean) * spread
    return np.asarray(np.maximum(bandwidth, _column_steps(X, random_state)))


def _tree(X: Any, weight: Array, random_state: Any) -> Bandwidth:
    n, d = X.shape[0], X.shape[1] if sp.issparse(X) else varying_columns(X)
    spread = robust_spread(X, weight, random_state)
    neighbor = max(LEAST_NEIGHBOR, round(TREE_FACTOR * n ** (4 / (d + 4))))
    distance, query_weight = _scaled_distances(X, spread, weight, neighbor, random_state)
    median = lower_quantile(distance, query_weight, 0.5)
    bandwidth = median / np.sqrt(d + 2) * spread
    return np.asarray(np.maximum(bandwidth, _column_steps(X, random_state)))


def _knn(X: Any, weight: Array, random_state: Any) -> Bandwidth:
    distance, query_weight = _neighbor_distances(X, weight, KNN_NEIGHBOR, random_state)
    return lower_quantile(distance, query_weight, 0.5)


def _scaled_distances(
    X: Any, spread: Array, weight: Array, neighbor: int, random_state: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """`_neighbor_distances` in columns divided by their spread."""
    scaled = _divided(X, spread)
    with remembered(scaled, like=X):
        return _neighbor_distances(scaled, weight, neighbor, random_state)


def _neighbor_distances(
    X: Any, weight: Array, neighbor: int, random_state: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distance of sampled points to their k-th other distinct point, and the points' weights.

    A far neighbor of a large table is sought in a sample, where it is a nearer one.
    """
    n = X.shape[0]
    queries, query_weight = priority_sample(X, QUERY_SAMPLE, weight, random_state)
    size = max(REFERENCE_SAMPLE, -(-KNN_NEIGHBOR * n // neighbor))
    reference, _ = priority_sample(X, size, None, random_state)
    k = min(max(1, round(neighbor * reference.size / n)), reference.size - 1)
    X = _centered(X)
    distance, index = k_nearest(X[reference], X[queries], k + 1)
    is_itself = reference[index[:, 0]] == queries
    if sp.issparse(X):
        return np.where(is_itself, distance[:, k], distance[:, k - 1]), query_weight
    # a search may take distances by products; those it found are taken again by differences
    found = reference[np.where(is_itself, index[:, k], index[:, k - 1])]
    return np.linalg.norm(X[queries] - X[found], axis=1), query_weight


def _median(X: Any, weight: Array, random_state: Any) -> Bandwidth:
    index, weight = priority_sample(X, PAIR_SAMPLE, weight, random_state)
    i, j = np.triu_indices(index.size, 1)
    distance = np.sqrt(_squared_distances(X, index)[i, j])
    weight = weight / weight.max()  # whose products might overflow
    return lower_quantile(distance, weight[i] * weight[j], 0.5)


def _global(X: Any, weight: Array, random_state: Any) -> Bandwidth:
    spread = robust_spread(X, weight, random_state)
    return np.asarray(_median_of_scaled(X, spread, weight, random_state) * spread)


def _median_of_scaled(X: Any, spread: Array, weight: Array, random_state: Any) -> Bandwidth:
    scaled = _divided(X, spread)
    with remembered(scaled, like=X):
        return _median(scaled, weight, random_state)


def _boundary(X: Any, weight: Array, random_state: Any) -> Bandwidth:
    return np.asarray(BOUNDARY_FACTOR * np.asarray(_global(X, weight, random_state)))


def _within(X: Any, weight: Array, random_state: Any) -> Bandwidth:
    spread = robust_spread(X, weight, random_state)
    scaled = _divided(X, spread)
    with remembered(scaled, like=X):
        spread = spread * _share_within(scaled, weight, random_state)
    return np.asarray(_median_of_scaled(X, spread, weight, random_state) * spread)


def _share_within(X: Any, weight: Array, random_state: Any) -> NDArray[np.float64]:
    """Spread within clusters as a share of that of the whole, (d,), the largest share being one.

    Near pairs are those of one cluster, whatever the clusters are. Which pairs are near depends on
    the shares in turn, so that they are found by turns (Art, Gnanadesikan and Kettenring 1982).
    Means are compared with means, so that columns that hold one value for most rows, whose near
    pairs are mostly equal, are not taken for narrow ones.
    """
    share = np.ones(X.shape[1])
    if share.size > WITHIN_SAMPLE:  # no column of so many hides what the others show
        return share
    index, weight = priority_sample(X, WITHIN_SAMPLE, weight, random_state)
    sample = _centered(X[index].toarray() if sp.issparse(X) else X[index])
    ends = (WITHIN_CLIP, 1 - WITHIN_CLIP)
    low, high = np.transpose([lower_quantiles(x, weight, ends) for x in sample.T])
    columns = np.where(low < high, np.clip(sample, low, high), sample)
    is_category = np.array([np.unique(x).size < FEWEST_STEPS for x in sample.T])
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
    """Mean |x_i − x_j| of every column of (m, d), over all i and the j in their rows of others."""
    parts = weight[others]
    parts = parts * (weight / parts.sum(axis=1))[:, None]
    sums = [np.sum(parts * np.abs(x[others] - x[:, None])) for x in columns.T]
    return np.array(sums) / weight.sum()


def _scott(X: Any, weight: Array, random_state: Any) -> Bandwidth:
    n, d = X.shape
    index, weight = priority_sample(X, SPREAD_SAMPLE, weight, random_state)
    sample = _rows(X, index)
    if sp.issparse(sample):
        mean = weight @ sample / weight.sum()
        deviation = np.sqrt(np.maximum(weight @ sample.power(2) / weight.sum() - mean**2, 0))
    else:
        deviation = _standard_deviation(np.asarray(sample, dtype=np.float64), weight)
    deviation = np.where(deviation > NOISE * _largest(sample), deviation, 1.0)
    return np.asarray(deviation * n ** (-1.0 / (d + 4)))


def _loo(X: Any, weight: Array, random_state: Any) -> Bandwidth:
    n, d = X.shape
    index, weight = priority_sample(X, PAIR_SAMPLE, weight, random_state)
    squared = _squared_distances(X, index)
    np.fill_diagonal(squared, np.inf)
    largest = squared[np.isfinite(squared)].max()
    if not (squared.min(axis=1) > 0).any():
        return float("nan")
    squared /= largest  # in units of the farthest pair, so that no power of a bandwidth overflows
    log_others = np.log(np.maximum(weight.sum() - weight, weight.min()))  # a difference may vanish

    def loss(log_bandwidth: float) -> float:
        exponent = -0.5 * squared * np.exp(-2 * log_bandwidth)
        log_density = logsumexp(exponent, axis=1, b=weight) - log_others - d * log_bandwidth
        return -float(weight @ log_density) / float(weight.sum())

    nearest = np.sqrt(squared.min(axis=1))
    bounds = (np.log(LOO_NARROWEST * nearest[nearest > 0].min()), 0.0)
    best = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": LOO_TOLERANCE})
    best_width = np.exp(best.x) * np.sqrt(largest)
    return float(best_width * (index.size / n) ** (1.0 / (d + 4)))


RULES: dict[str, Callable[[Any, Array, Any], Bandwidth]] = {
    "auto": _auto,
    "boundary": _boundary,
    "global": _global,
    "knn": _knn,
    "loo": _loo,
    "median": _median,
    "scott": _scott,
    "tree": _tree,
    "within": _within,
}


def check_reach(X: Any, unit: Any) -> None:
    """Raise a ValueError where a value of X, in units of its column, is too large to be squared."""
    values = X.data if sp.issparse(X) else X
    if max(float(values.max(initial=0)), -float(values.min(initial=0))) / FARTHEST <= np.min(unit):
        return  # columns one by one take ten times as long
    largest = _largest(X)
    with np.errstate(over="ignore"):
        column = int(np.argmax(largest / unit))
    if largest[column] / FARTHEST > np.broadcast_to(unit, largest.shape)[column]:
        raise ValueError(
            f"column {column} holds a value of size {largest[column]:.6g}, too large for squared "
            "distances beside it; correct or remove that row, or rescale the column."
        )


def _divided(X: Any, spread: Array) -> Any:
    check_reach(X, spread)
    return X @ sp.diags_array(1.0 / spread) if sp.issparse(X) else X / spread


def _largest(X: Any) -> NDArray[np.float64]:
    """Largest absolute value of every column, (d,)."""
    if sp.issparse(X):
        return abs(X).max(axis=0).toarray().astype(np.float64).ravel()
    return np.maximum(X.max(axis=0), -X.min(axis=0)).astype(np.float64)


def _varying_columns(X: Any) -> int:
    """Number of columns that are not constant."""
    low, high = (X.min(axis=0), X.max(axis=0))
    if sp.issparse(X):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return int(np.count_nonzero(high > low))


def _rows(X: Any, index: NDArray[np.intp]) -> Any:
    """X[index], without a copy where that is X."""
    is_all = index.size == X.shape[0] and np.array_equal(index, np.arange(index.size))
    return X if is_all else X[index]


def _squared_distances(X: Any, index: Array) -> Array:
    """Between all pairs of these rows."""
    rows = _centered(_rows(X, index))
    if not sp.issparse(rows) and rows.shape[1] <= TREE_COLUMNS:
        return np.asarray(cdist(rows, rows, "sqeuclidean"))
    from sklearn.metrics.pairwise import euclidean_distances  # takes long to import

    return np.asarray(euclidean_distances(rows, squared=True))


def _centered(X: Any) -> Any:
    """A common offset cancels in distances, but costs digits when they are taken by products."""
    return X if sp.issparse(X) else X.astype(np.float64) - np.median(X, axis=0)


def _standard_deviation(columns: Array, weight: Array) -> NDArray[np.float64]:
    centered = columns - np.average(columns, axis=0, weights=weight)
    unit = np.maximum(np.abs(centered).max(axis=0), np.finfo(float).tiny)  # squares overflow
    return np.asarray(unit * np.sqrt(np.average((centered / unit) ** 2, axis=0, weights=weight)))
