"""Pairs of points, and the lowest level along the segments between them.

Levels are evaluated by a function of points, in batches. On the complete graph the algebra of the
Gaussian gives those of all pairs at once. Coordinates Z are in units of the bandwidth. Called by
`Landscape`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softkern._utils.memory import available_memory
from softkern._utils.neighbors import k_nearest
from softkern._utils.progress import stage
from softkern._utils.threads import available_threads
from softkern._utils.typing import Array
from softkern.density_tree.layout import components, flatten, maximum_spanning_tree, united
from softkern.rows import row_slices

NEIGHBORS = 10
CLOSEST_PAIRS = 20  # between two components of the neighbor graph
FACING = 200  # rows of each component that bound the distance of the closest pairs
NEAR_COMPONENTS = 8  # that a component is joined to
SPACING = 0.5  # of points along a segment, in bandwidths
MOST_POINTS = 200  # on a segment; a longer one passes through empty space
SCREENED = 1e-3  # of a level, more than single precision loses
FEW_VALUES = 10**8  # of the kernel, up to which every segment is measured
BATCH = 2**22  # coordinates of points evaluated at once
COMPLETE_NUMBERS = 8  # times n² in memory at once, for all pairs
LARGEST = 1e150  # numbers whose squares are finite
IDENTITY_REACH = 70.0  # bandwidths beyond which the product of powers overflows

Levels = Callable[[Array], Array]  # of points (m, d), (m,)


@dataclass(frozen=True)
class Segments:
    """Pairs (m, 2), the lowest level on each (m,), and where it lies as a share of the way."""

    pairs: Array
    level: Array
    place: Array

    def __getitem__(self, kept: Array) -> Segments:
        return Segments(self.pairs[kept], self.level[kept], self.place[kept])

    def lower(self, rows: Array, level: Array, place: Array) -> None:
        """Set level and place of those rows whose new level is lower."""
        is_lower = level < self.level[rows]
        self.level[rows[is_lower]] = level[is_lower]
        self.place[rows[is_lower]] = place[is_lower]

    def points(self, X: Array) -> Array:
        """The lowest points themselves, (m, d)."""
        return _between(X, self.pairs, self.place)


def _between(X: Array, pairs: Array, share: Array) -> Array:
    start = X[pairs[:, 0]]
    return np.asarray(start + share[:, None].astype(X.dtype) * (X[pairs[:, 1]] - start))


def neighbor_pairs(
    Z: Array, near_rows: Callable[[Array, int], Array] | None = None
) -> NDArray[np.intp]:
    """Every point with its nearest points, and components with the nearest components, (m, 2).

    `near_rows` returns the numbers of the k nearest points of each, with itself, (n, k).
    """
    n = len(Z)
    if n == 1:
        return np.empty((0, 2), dtype=np.intp)
    k = min(NEIGHBORS, n - 1)
    if np.abs(Z).max() > LARGEST:  # squares of all differences would be infinite
        Z = Z / np.abs(Z).max()
    index = k_nearest(Z, Z, k + 1)[1] if near_rows is None else near_rows(Z, k + 1)
    pairs = _unique_pairs(n, np.stack([np.repeat(np.arange(n), k + 1), index.ravel()], axis=1))
    while True:
        count, component = components(n, pairs)
        if count == 1:
            return pairs
        pairs = _unique_pairs(n, np.concatenate([pairs, _bridges(Z, component, count)]))


def _unique_pairs(n: int, pairs: Array) -> NDArray[np.intp]:
    low, high = np.minimum(*pairs.T), np.maximum(*pairs.T)
    return np.stack(np.divmod(np.unique((low * n + high)[low != high]), n), axis=1)


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
    """The closest pairs of two components, at most five per row of the smaller one, (m, 2)."""
    small, large = (rows, others) if len(rows) <= len(others) else (others, rows)
    direction = Z[large].mean(axis=0) - Z[small].mean(axis=0)
    direction /= max(float(np.linalg.norm(direction)), np.finfo(np.float64).tiny)
    ahead, behind = Z[small] @ direction, Z[large] @ direction
    if small.size * large.size > FACING**2:
        # the nearest along the line between the components bound the distance of the closest pairs,
        # and no pair is nearer than along that line
        room = _pairs_of(Z, _facing(small, -ahead), _facing(large, behind))[1].max() * (1 + 1e-9)
        small = small[behind.min() - ahead <= room]
        large = large[behind - ahead.max() <= room]
    return _pairs_of(Z, small, large)[0]


def _facing(rows: Array, place: Array) -> Array:
    if rows.size > FACING:
        rows = rows[np.sort(np.argpartition(place, FACING)[:FACING])]
    return rows


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


def segment_counts(Z: Array, pairs: Array, least: int) -> NDArray[np.intp]:
    """Inner points of the segments, (m,): half a bandwidth apart at most, and at least so many."""
    counts = np.empty(len(pairs), dtype=np.intp)
    for part in row_slices(len(pairs), max(1, BATCH // Z.shape[1])):
        i, j = pairs[part].T
        with np.errstate(over="ignore"):  # infinitely long is long enough
            inner = np.ceil(np.linalg.norm(Z[i] - Z[j], axis=1) / SPACING) - 1
        counts[part] = np.clip(inner, least, max(MOST_POINTS, least))
    return counts


def spanning_segments(
    X: Array,
    pairs: Array,
    counts: Array,
    level: Array,
    evaluate: Levels,
    screen: Levels | None = None,
) -> Segments:
    """The segments of a maximum spanning tree by their lowest levels, highest first.

    It is the tree of all segments measured, but most are evaluated in the middle only, which bounds
    their level from above. A segment is measured if it is in the tree of these bounds. Edges before
    the first open one are final, and their branches are single points from then on. Arguments as in
    `measure_segments`. For the bounds, `screen` suffices: levels to within `SCREENED`.
    """
    if counts.sum() * len(X) <= FEW_VALUES:
        segments = measure_segments(X, pairs, counts, level, evaluate)
        return segments[maximum_spanning_tree(len(X), pairs, segments.level)[0]]
    if screen is None:
        segments, is_open = _middles(X, pairs, counts, level, evaluate), counts > 1
    else:
        segments = _middles(X, pairs, counts, level, lambda points: screen(points) + SCREENED)
        is_open = counts > 0
    branch: Array = np.arange(len(X))
    final: list[Array] = []
    left = np.arange(len(pairs))
    with stage("joining parts", total=len(X) - 1) as done:
        for more in 2 ** np.arange(60):
            joined = sum(map(len, final))
            done(joined)
            left = left[np.argsort(-segments.level[left], kind="stable")]
            tree = left[united(len(X) - joined, branch[pairs[left]])[0]]
            opened = np.flatnonzero(is_open[tree])
            if not opened.size:
                break
            final.append(tree[: opened[0]])
            branch = components(len(branch), branch[pairs[final[-1]]])[1][branch]
            left = left[np.not_equal(*branch[pairs[left]].T)]
            # and some of those that may come next, twice as many every time: the number of rounds
            # stays small where many segments could join the same two branches
            rows = np.union1d(tree[opened], left[is_open[left]][:more])
            measured = measure_segments(X, pairs[rows], counts[rows], level, evaluate)
            segments.level[rows], segments.place[rows] = measured.level, measured.place
            is_open[rows] = False
            left.sort()  # segments of equal level are in the order of their numbers
    return segments[np.concatenate([*final, tree])]


def _middles(X: Array, pairs: Array, counts: Array, level: Array, evaluate: Levels) -> Segments:
    """The lowest of both ends and of the middle one of the inner points."""
    segments = _ends(pairs, level)
    batches = np.array_split(np.flatnonzero(counts), 1 + len(pairs) * X.shape[1] // BATCH)
    with stage("between neighbors", total=len(batches)) as done:
        for number, inner in enumerate(batches):
            done(number)
            middle = np.ceil(counts[inner] / 2) / (counts[inner] + 1)
            values = evaluate(_between(X, pairs[inner], middle)) if inner.size else middle
            segments.lower(inner, values, middle)
    return segments


def _ends(pairs: Array, level: Array) -> Segments:
    """The lower end of every segment."""
    place = np.where(level[pairs[:, 0]] <= level[pairs[:, 1]], 0.0, 1.0)
    return Segments(pairs, level[pairs].min(axis=1), place)


def measure_segments(
    X: Array, pairs: Array, counts: Array, level: Array, evaluate: Levels
) -> Segments:
    """The lowest level on every segment, at its ends and at `counts` (m,) inner points.

    `level` (n,) are the levels of the points of X, `evaluate` gives those of any points.
    """
    segments = _ends(pairs, level)
    inner = np.flatnonzero(counts)
    batches = np.cumsum(counts[inner]) // max(1, BATCH // X.shape[1])
    for rows in np.split(inner, np.flatnonzero(np.diff(batches)) + 1) if inner.size else []:
        repeat = np.repeat(np.arange(rows.size), counts[rows])
        starts = np.cumsum(counts[rows]) - counts[rows]
        share = (np.arange(repeat.size) - starts[repeat] + 1) / (counts[rows][repeat] + 1)
        values = evaluate(_between(X, pairs[rows[repeat]], share))
        smallest = np.minimum.reduceat(values, starts)
        hits = np.flatnonzero(values == smallest[repeat])[::-1]
        place = np.empty(rows.size)
        place[repeat[hits]] = share[hits]  # the first of equals is written last
        segments.lower(rows, smallest, place)
    return segments


def complete_pairs(
    Z: Array, weights: Array, level: Array, known: Segments, points: int
) -> NDArray[np.intp]:
    """Pairs beyond those of a known tree that a tree of all pairs may need, (m, 2).

    The level at `points` inner points is exact for short pairs, and a bound from above for long
    ones. A pair is not needed if its bound does not exceed the lowest level on the path in the
    known tree, or if it is more than 70 bandwidths long.
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
