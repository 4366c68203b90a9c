"""Trees of merges laid out: as a hierarchy of branches, as a row of points, as a dendrogram.

Every edge of a spanning tree, highest first, merges two branches into one. `merges` lists them;
whatever else is asked of a tree (what its branches hold, a row in which every cluster of every
level is a run, the lines of its picture) follows from that list. Called by `AlphaTree`, by the
complete graph's search, and by whoever draws a tree: `softkern.display`, `softkern.tables.report`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.density_tree._branches import highest, strung, sums, united

if TYPE_CHECKING:
    from softkern.density_tree.tree import AlphaTree

__all__ = ["Line", "dendrogram", "flatten", "merges"]


def merges(n: int, edges: Array) -> NDArray[np.intp]:
    """The two branches that each edge of a forest merges: points below n, n + k what edge k made.

    Examples
    --------
    >>> import numpy as np
    >>> merges(4, np.array([[0, 1], [2, 3], [1, 2]])).tolist()
    [[0, 1], [2, 3], [4, 5]]
    """
    return np.asarray(united(n, edges)[1])


def flatten(n: int, edges: Array, levels: Array) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Points in a row in which every cluster of every level is a run, and the gaps between them.

    Two points are in one cluster at α where no gap between them is α or less: the smallest gap
    between two points of the row is the level at which they merge.

    `edges` (m, 2) are those of a forest, with their levels (m,). Returned are the order (n,) and
    the gaps (n − 1,), −∞ between parts that no edge joins.

    Examples
    --------
    >>> import numpy as np
    >>> flatten(3, np.array([[0, 2], [2, 1]]), np.array([0.6, 0.2]))
    (array([0, 2, 1], dtype=int32), array([0.6, 0.2]))
    """
    # levels may saturate, and then differ from the order of the edges by rounding
    order = np.argsort(-levels, kind="stable")
    after, gap = strung(merges(n, edges[order]), levels[order], n)
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
    """The lines of the tree's picture: tips are one apart in x, y is α; larger branches left.

    Parameters
    ----------
    tree : AlphaTree
    smallest : float, default=0.01
        A branch that holds less than this share of the mass is drawn as a part of what it joins.
    threshold : float, default=1.0
        Significance from which a join is a split.
    """
    n, heights = len(tree.heights), tree.heights.tolist()
    joined = merges(n, tree.edges)
    mass, peak = sums(joined, tree.weight).tolist(), highest(joined, tree.heights).tolist()
    merged = [(i, j) for i, j in joined.tolist()]
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
