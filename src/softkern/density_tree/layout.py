"""Trees of merges: their branches, and layouts as a row of points and as a dendrogram.

Every edge of a spanning tree, highest first, merges two branches into one. Called by `AlphaTree`,
by the search of the complete graph, and where trees are drawn: `softkern.display`,
`softkern.tables.report`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from softkern._utils.jit import compiled_later
from softkern._utils.typing import Array

if TYPE_CHECKING:
    from softkern.density_tree.tree import AlphaTree


@compiled_later
def united(n: int, edges: Any) -> tuple[Any, Any]:
    """Numbers of the edges that join two branches, (m,), and the branches that they join, (m, 2).

    Points are below n, and n + k is the branch that the k-th of these edges makes.
    """
    root = np.arange(2 * n)
    kept = np.empty(max(n - 1, 0), dtype=np.intp)
    pairs = np.empty((max(n - 1, 0), 2), dtype=np.intp)
    count = 0
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        while root[j] != j:
            root[j] = root[root[j]]
            j = root[j]
        if i != j:
            kept[count] = e
            pairs[count, 0], pairs[count, 1] = i, j
            root[i] = root[j] = n + count
            count += 1
            if count == n - 1:
                break
    return kept[:count], pairs[:count]


@compiled_later
def sums(merged: Any, points: Any) -> Any:
    """Sums over the points of every branch, (n + m,)."""
    n = len(points)
    values = np.empty(n + len(merged))
    for i in range(n):  # a slice would take seconds to compile
        values[i] = points[i]
    for k in range(len(merged)):
        values[n + k] = values[merged[k, 0]] + values[merged[k, 1]]
    return values


@compiled_later
def highest(merged: Any, heights: Any) -> Any:
    """The highest point of every branch, (n + m,), of the first side among equals."""
    n = len(heights)
    points = np.arange(n + len(merged))
    for k in range(len(merged)):
        i, j = points[merged[k, 0]], points[merged[k, 1]]
        points[n + k] = j if heights[j] > heights[i] else i
    return points


@compiled_later
def strung(merged: Any, levels: Any, n: int) -> tuple[Any, Any]:
    """The next point of each in a row of all branches, −1 at an end, and the level between them."""
    first, last = np.arange(n + len(merged)), np.arange(n + len(merged))
    after, gap = np.full(n, -1), np.full(n, -np.inf)
    for k in range(len(merged)):
        a, b = merged[k, 0], merged[k, 1]
        after[last[a]], gap[last[a]] = first[b], levels[k]
        first[n + k], last[n + k] = first[a], last[b]
    return after, gap


@compiled_later
def best_scores(merged: Any, scores: Any, n: int) -> Any:
    """The lower score of both sides (m, 2) of every merge, each at least that of merges in it."""
    best = np.full(n + len(merged), -np.inf)
    found = np.empty(len(merged))
    for k in range(len(merged)):
        i, j = merged[k, 0], merged[k, 1]
        found[k] = min(max(best[i], scores[k, 0]), max(best[j], scores[k, 1]))
        best[n + k] = max(found[k], best[i], best[j])
    return found


def maximum_spanning_tree(n: int, edges: Array, weight: Array) -> tuple[Array, Array]:
    """The edges of a maximum spanning tree or forest, highest first, and the branches they join."""
    order = np.argsort(-np.asarray(weight), kind="stable")
    kept, merged = united(n, edges[order])
    return order[kept], merged


def components(n: int, pairs: Array) -> tuple[int, NDArray[np.int64]]:
    """Number of connected parts of a graph of n points with edges (m, 2), and every point's."""
    graph = csr_array((np.ones(len(pairs), dtype=bool), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    count, part = connected_components(graph, directed=False)
    return int(count), part.astype(np.int64)


def flatten(n: int, edges: Array, levels: Array) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Points in a row in which every cluster of every level is a run, (n,), and gaps, (n − 1,).

    The edges (m, 2) of a forest have levels (m,). The smallest gap between two points of the row is
    the level at which they merge, −∞ where no edge joins them.
    """
    # levels may saturate, and then differ from the order of the edges by rounding
    kept, merged = maximum_spanning_tree(n, edges, levels)
    after, gap = strung(merged, levels[kept], n)
    follows = np.zeros(n, dtype=bool)
    follows[after[after >= 0]] = True
    after = after.tolist()
    row: list[int] = []
    for place in np.flatnonzero(~follows).tolist():  # where a part starts
        while place >= 0:
            row.append(place)
            place = after[place]
    places = np.asarray(row, dtype=np.int32)
    return places, gap[places[:-1]]


@dataclass(frozen=True)
class Line:
    """A line of the dendrogram: the stem of a branch, or the bar of a join."""

    x0: float
    y0: float
    x1: float
    y1: float
    peak: int  # the branch's highest point
    share: float  # of the mass
    tips: tuple[int, ...]  # highest points of all branches above
    is_split: bool  # the bar, or a stem, of a join of two significant clusters


def dendrogram(tree: AlphaTree, smallest: float = 0.01, threshold: float = 1.0) -> list[Line]:
    """The lines of the tree's picture: tips are one apart in x, y is α, larger branches are left.

    Branches with less than the share `smallest` of the mass are drawn as parts of what they join.
    Joins of a significance above the threshold are splits.
    """
    n, heights = len(tree.heights), tree.heights.tolist()
    joined = united(n, tree.edges)[1]
    mass, peak = sums(joined, tree.weight).tolist(), highest(joined, tree.heights).tolist()
    merged = joined.tolist()
    total = float(tree.weight.sum())
    sides = {  # of the joins that are drawn, the larger first
        made: sorted(pair, key=lambda side: -mass[side])
        for made, pair in enumerate(merged, start=n)
        if min(mass[side] for side in pair) >= smallest * total
    }
    # the drawn join at the top of every branch; what is below n is the tip of a branch
    join = list(range(n))
    for made, pair in enumerate(merged, start=n):
        join.append(made if made in sides else join[max(pair, key=lambda side: mass[side])])

    def level(node: int) -> float:
        return float(tree.saddles[join[node] - n]) if join[node] in sides else heights[peak[node]]

    def is_split(node: int) -> bool:
        return join[node] in sides and bool(tree.significance[join[node] - n] > threshold)

    floor = float(min(tree.saddles.min(initial=np.inf), tree.heights.min()))
    roots = sorted(set(range(n + len(merged))).difference(*merged), key=lambda node: mass[node])
    stack = [(node, floor, False) for node in roots if mass[node] >= smallest * total]
    # branches, where their stems begin and whether at a split, each before those that it carries
    stems = []
    while stack:
        node, bottom, from_split = stack.pop()
        stems.append((node, bottom, from_split))
        upper = reversed(sides.get(join[node], []))
        stack += [(side, level(node), is_split(node)) for side in upper]
    drawn: list[Line] = []
    x: dict[int, float] = {}
    tips: dict[int, tuple[int, ...]] = {}
    next_x = sum(join[node] not in sides for node, *_ in stems)
    for node, bottom, from_split in reversed(stems):
        share, y = mass[node] / total, level(node)
        if join[node] in sides:
            left, right = sides[join[node]]
            x[node], tips[node] = (x[left] + x[right]) / 2, tips[left] + tips[right]
            bar = (x[left], y, x[right], y, peak[node], share, tips[node], is_split(node))
            drawn.append(Line(*bar))
        else:
            next_x -= 1
            x[node], tips[node] = float(next_x), (peak[node],)
        drawn.append(Line(x[node], bottom, x[node], y, peak[node], share, tips[node], from_split))
    return drawn
