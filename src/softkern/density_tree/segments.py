"""Pairs of points, and the lowest level along the segments between them.

The alpha tree needs the smallest membership on the way between points. Levels are evaluated by a
function of points that the caller gives, in batches; on the complete graph the Gaussian's own
algebra gives all pairs at once. Private to `AlphaCutClustering`. Coordinates Z are in units of
the bandwidth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from softkern._utils.memory import available_memory
from softkern._utils.neighbors import k_nearest
from softkern._utils.progress import stage
from softkern._utils.threads import available_threads
from softkern._utils.typing import Array
from softkern.density_tree._branches import interleaved, united
from softkern.density_tree.layout import flatten
from softkern.density_tree.tree import maximum_spanning_tree
from softkern.rows import row_slices

__all__ = [
    "Segments",
    "complete_pairs",
    "lengths",
    "measure_segments",
    "neighbor_pairs",
    "require_complete_memory",
    "segment_counts",
    "spanning_segments",
]

NEIGHBORS = 10
CLOSEST_PAIRS = 20  # between two components of the neighbor graph
FACING = 200  # rows of either that show how near they come
NEAR_COMPONENTS = 8  # that a component is joined to
SPACING = 0.5  # of points along a segment, in bandwidths
MOST_POINTS = 200  # on a segment; one so long passes through nothing
SCREENED = 1e-3  # of a level, more than what single precision loses
FEW_VALUES = 10**8  # of the kernel, up to which every segment is measured
BATCH = 2**22  # coordinates of points evaluated at once
COMPLETE_NUMBERS = 8  # times n², in memory at once where all pairs are looked at
LARGEST = 1e150  # size of numbers whose squares are numbers
IDENTITY_REACH = 70.0  # bandwidths beyond which the product of powers overflows

NearRows = Callable[[Array, int], Array]


@dataclass(frozen=True)
class Segments:
    """Pairs (m, 2), the lowest level on each (m,), and where it lies as a share of the way."""

    pairs: Array
    level: Array
    place: Array

    def __getitem__(self, kept: Array) -> Segments:
        return Segments(self.pairs[kept], self.level[kept], self.place[kept])

    def points(self, X: Array) -> Array:
        """The lowest points themselves, (m, d)."""
        return _between(X, self.pairs, self.place)


def _between(X: Array, pairs: Array, share: Array) -> Array:
    start = X[pairs[:, 0]]
    return np.asarray(start + share[:, None].astype(X.dtype) * (X[pairs[:, 1]] - start))


def neighbor_pairs(Z: Array, near_rows: NearRows | None = None) -> NDArray[np.intp]:
    """Every point with its nearest ones, and components with the nearest components, (m, 2).

    `near_rows` gives the numbers of the k nearest of every point, itself among them, (n, k).
    """
    n = len(Z)
    if n == 1:
        return np.empty((0, 2), dtype=np.intp)
    k = min(NEIGHBORS, n - 1)
    reach = np.abs(Z).max()
    if reach > LARGEST:  # squares of differences would be infinite, and all points as far
        Z = Z / reach
    index = k_nearest(Z, Z, k + 1)[1] if near_rows is None else near_rows(Z, k + 1)
    pairs = np.stack([np.repeat(np.arange(n), k + 1), index.ravel()], axis=1)
    pairs = _unique_pairs(n, pairs)
    while True:
        i, j = pairs.T
        graph = csr_array((np.ones(len(i), dtype=bool), (i, j)), shape=(n, n))
        count, component = connected_components(graph, directed=False)
        if count == 1:
            return pairs
        pairs = _unique_pairs(n, np.concatenate([pairs, _bridges(Z, component, count)]))


def _unique_pairs(n: int, pairs: Array) -> NDArray[np.intp]:
    low, high = np.minimum(*pairs.T), np.maximum(*pairs.T)
    keys = np.sort((low * n + high)[low != high])
    keys = keys[np.diff(keys, prepend=-1) > 0]
    return np.stack(np.divmod(keys, n), axis=1)


def _bridges(Z: Array, component: Array, count: int) -> Array:
    """The closest pairs between every component and the components nearest to it, (m, 2)."""
    members = np.split(np.argsort(component, kind="stable"), np.cumsum(np.bincount(component)))
    boxes = np.array([(Z[rows].min(axis=0), Z[rows].max(axis=0)) for rows in members[:count]])
    links = set()
    for c in range(count):
        gap = np.maximum(boxes[:, 0] - boxes[c, 1], boxes[c, 0] - boxes[:, 1])
        distance = np.square(np.maximum(gap, 0)).sum(axis=1)
        distance[c] = np.inf
        for other in np.argsort(distance, kind="stable")[: min(NEAR_COMPONENTS, count - 1)]:
            links.add((min(c, int(other)), max(c, int(other))))
    pairs = [_closest_pairs(Z, members[a], members[b]) for a, b in sorted(links)]
    return np.concatenate(pairs)


def _closest_pairs(Z: Array, rows: Array, others: Array) -> Array:
    """The closest pairs of two components, five a row of the smaller one at most, (m, 2)."""
    small, large = (rows, others) if len(rows) <= len(others) else (others, rows)
    direction = Z[large].mean(axis=0) - Z[small].mean(axis=0)
    direction /= max(float(np.linalg.norm(direction)), np.finfo(np.float64).tiny)
    ahead, behind = Z[small] @ direction, Z[large] @ direction
    if small.size * large.size > FACING**2:
        # nearest along the line between the components: they bound how far the closest pairs are
        faces = _facing(small, -ahead), _facing(large, behind)
        reach = _pairs_of(Z, *faces)[1].max()
        # no other pair is nearer than the two are along that line
        room = reach * (1 + 1e-9)
        small = small[behind.min() - ahead <= room]
        large = large[behind - ahead.max() <= room]
    return _pairs_of(Z, small, large)[0]


def _facing(rows: Array, place: Array) -> Array:
    if rows.size <= FACING:
        return rows
    return np.asarray(rows[np.sort(np.argpartition(place, FACING)[:FACING])])


def _pairs_of(Z: Array, small: Array, large: Array) -> tuple[Array, Array]:
    """Closest pairs (m, 2) and their distances, (m,)."""
    k = min(5, large.size)
    distance, index = k_nearest(Z[large], Z[small], k, available_threads())
    order = np.argsort(distance.ravel(), kind="stable")[:CLOSEST_PAIRS]
    pairs = np.stack([small[order // k], large[index.ravel()[order]]], axis=1)
    return pairs, distance.ravel()[order]


def require_complete_memory(n: int) -> None:
    """Raise a MemoryError where all pairs of n points would not fit."""
    needed, free = 8.0 * COMPLETE_NUMBERS * n**2, available_memory()
    if needed > free:
        raise MemoryError(
            f"graph='complete' needs {needed / 2**30:.3g} GiB for all pairs of n = {n:,} points, "
            f"and {free / 2**30:.3g} GiB are available; give graph='knn'."
        )


def lengths(Z: Array, pairs: Array) -> Array:
    """Distances of the pairs, (m,)."""
    found = np.empty(len(pairs))
    for part in row_slices(len(pairs), max(1, BATCH // Z.shape[1])):
        i, j = pairs[part].T
        with np.errstate(over="ignore"):  # infinitely long is long enough
            found[part] = np.linalg.norm(Z[i] - Z[j], axis=1)
    return found


def segment_counts(length: Array, least: int) -> NDArray[np.intp]:
    """Inner points of segments of these lengths in bandwidths: half a bandwidth apart at most."""
    counts = np.clip(np.ceil(length / SPACING) - 1, least, max(MOST_POINTS, least))
    return np.asarray(counts.astype(np.intp))


def spanning_segments(
    X: Array,
    pairs: Array,
    counts: Array,
    level: Array,
    evaluate: Callable[[Array], Array],
    screen: Callable[[Array], Array] | None = None,
) -> Segments:
    """The segments of a maximum spanning tree by their lowest levels, highest first.

    The same tree as if every segment were measured, but most are looked at in the middle only:
    that bounds their level from above, and a segment is measured when it is in the tree of these
    bounds. What stands before the first open one is settled, and its branches are taken as points
    from then on. Arguments as in `measure_segments`; `screen` gives levels of any points to
    within `SCREENED`, and suffices for the bounds.
    """
    if counts.sum() * len(X) <= FEW_VALUES:
        found = measure_segments(X, pairs, counts, level, evaluate)
        return found[maximum_spanning_tree(len(X), pairs, found.level)]
    if screen is None:
        found, is_open = _middles(X, pairs, counts, level, evaluate), counts > 1
    else:
        found = _middles(X, pairs, counts, level, lambda points: screen(points) + SCREENED)
        is_open = counts > 0
    branch = np.arange(len(X))
    kept: list[Array] = []
    left = np.argsort(-found.level, kind="stable")
    ends = pairs[left]
    with stage("joining parts", total=len(X) - 1) as done:
        for more in 2 ** np.arange(60):
            joined = sum(map(len, kept))
            done(joined)
            tree = left[united(len(X) - joined, ends)[0]]
            opened = np.flatnonzero(is_open[tree])
            if not opened.size:
                break
            kept.append(tree[: opened[0]])
            branch = _joined(branch, pairs[kept[-1]])
            left = left[np.not_equal(*branch[pairs[left]].T)]
            # and some of those that may come next, twice as many every time: the number of rounds
            # stays small where many segments could join the same two branches
            rows = np.union1d(tree[opened], left[is_open[left]][:more])
            measured = measure_segments(X, pairs[rows], counts[rows], level, evaluate)
            found.level[rows], found.place[rows], is_open[rows] = (
                measured.level,
                measured.place,
                False,
            )
            left = _moved(left, rows, found.level)
            ends = branch[pairs[left]]
    return found[np.concatenate([*kept, tree])]


def _moved(left: Array, rows: Array, level: Array) -> Array:
    """Rows in order of their levels again, highest first, when some of them have new ones."""
    is_new = np.zeros(len(level), dtype=bool)
    is_new[rows] = True
    stay, moved = left[~is_new[left]], rows[np.argsort(-level[rows], kind="stable")]
    return np.concatenate([stay, moved])[interleaved(stay, moved, level)]


def _joined(branch: Array, pairs: Array) -> NDArray[np.intp]:
    """The branch of every point when pairs of points (m, 2) are joined as well, from 0."""
    i, j = branch[pairs].T
    graph = csr_array((np.ones(len(i), dtype=bool), (i, j)), shape=(len(branch),) * 2)
    return np.asarray(connected_components(graph, directed=False)[1][branch], dtype=np.intp)


def _middles(
    X: Array,
    pairs: Array,
    counts: Array,
    level: Array,
    evaluate: Callable[[Array], Array],
) -> Segments:
    """The lowest of both ends and of the middle one of the inner points."""
    found = _ends(pairs, level)
    batches = np.array_split(np.flatnonzero(counts), 1 + len(pairs) * X.shape[1] // BATCH)
    with stage("between neighbors", total=len(batches)) as done:
        for number, inner in enumerate(batches):
            done(number)
            middle = np.ceil(counts[inner] / 2) / (counts[inner] + 1)
            values = evaluate(_between(X, pairs[inner], middle)) if inner.size else middle
            lower = values < found.level[inner]
            found.level[inner[lower]], found.place[inner[lower]] = values[lower], middle[lower]
    return found


def _ends(pairs: Array, level: Array) -> Segments:
    """The lower end of every segment."""
    place = np.where(level[pairs[:, 0]] <= level[pairs[:, 1]], 0.0, 1.0)
    return Segments(pairs, level[pairs].min(axis=1), place)


def measure_segments(
    X: Array,
    pairs: Array,
    counts: Array,
    level: Array,
    evaluate: Callable[[Array], Array],
) -> Segments:
    """The lowest level on every segment, its ends included.

    Parameters
    ----------
    X : array of shape (n, d)
    pairs : array of shape (m, 2)
    counts : array of shape (m,)
        Inner points of each segment.
    level : array of shape (n,)
        Levels of the points of X.
    evaluate : callable
        Levels of any points.
    """
    found = _ends(pairs, level)
    inner = np.flatnonzero(counts)
    batches = np.cumsum(counts[inner]) // max(1, BATCH // X.shape[1])
    for rows in np.split(inner, np.flatnonzero(np.diff(batches)) + 1) if inner.size else []:
        repeat = np.repeat(np.arange(rows.size), counts[rows])
        starts = np.cumsum(counts[rows]) - counts[rows]
        share = (np.arange(repeat.size) - starts[repeat] + 1) / (counts[rows][repeat] + 1)
        values = evaluate(_between(X, pairs[rows[repeat]], share))
        smallest = np.minimum.reduceat(values, starts)
        hits = np.flatnonzero(values == smallest[repeat])[::-1]
        where = np.empty(rows.size)
        where[repeat[hits]] = share[hits]  # the first of equals is written last
        lower = smallest < found.level[rows]
        found.level[rows[lower]] = smallest[lower]
        found.place[rows[lower]] = where[lower]
    return found


def complete_pairs(
    Z: Array, weights: Array, level: Array, known: Segments, points: int
) -> NDArray[np.intp]:
    """Pairs beyond a known tree's that a maximum spanning tree of all pairs may need, (m, 2).

    The level of all pairs at `points` inner points is exact for short pairs and a bound from above
    for long ones; a pair whose bound does not exceed the lowest level on the known tree's path
    between its ends is not needed. Pairs more than 70 bandwidths apart are left to the known ones.
    """
    n = len(Z)
    bound = np.minimum(_gaussian_levels(Z, weights, points), np.minimum(level[:, None], level))
    needed = np.triu(bound > _path_levels(n, known), 1)
    return np.asarray(np.argwhere(needed))


def _gaussian_levels(Z: Array, weights: Array, points: int) -> Array:
    """log min over t of Σ_r a_r K(x(t), x_r) for all pairs of points at once, (n, n).

    On the segment x(t) = (1−t) x_i + t x_j the Gaussian is a product of powers,
    K(x(t), x_r) = K(x_i, x_r)^(1−t) K(x_j, x_r)^t exp(t(1−t) ‖x_i − x_j‖²/2): every t is one
    matrix product, and 1 − t is its transpose.
    """
    from sklearn.metrics.pairwise import euclidean_distances  # takes long to import

    squared = euclidean_distances(Z, squared=True)
    lowest = np.full(squared.shape, np.inf)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for k in range(1, (points + 1) // 2 + 1):
            t = k / (points + 1)
            values = (np.exp(-0.5 * (1 - t) * squared) * weights) @ np.exp(-0.5 * t * squared)
            values *= np.exp(0.5 * t * (1 - t) * squared)
            np.minimum(lowest, values, out=lowest)
        lowest = np.log(np.minimum(lowest, lowest.T))
    lowest[squared > IDENTITY_REACH**2] = -np.inf
    return np.asarray(np.nan_to_num(lowest, nan=-np.inf, posinf=-np.inf))


def _path_levels(n: int, known: Segments) -> Array:
    """Lowest level on the path between any two points along a spanning tree, (n, n)."""
    order, gaps = flatten(n, known.pairs, known.level)
    levels = np.zeros((n, n))
    for place, point in enumerate(order):
        later = order[place + 1 :]
        levels[point, later] = levels[later, point] = np.minimum.accumulate(gaps[place:])
    return levels
