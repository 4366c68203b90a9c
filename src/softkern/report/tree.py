"""The alpha tree as flat arrays, from which a browser tells the labels of any level exactly.

The points are laid in a row such that the cluster of every level is a run of neighbours: where
two branches join, one is appended to the other, and the gap between them keeps the saddle. A cut
at α is then one walk along the row that starts a new cluster at every gap of a saddle ≤ α.

Levels come from a list that the slider steps through, so that a saddle need not be kept as a
number: it is enough to know how many levels of the list lie below it. Two bytes say that, and
the comparison with a level of the list is exact, not rounded. `tree.js` is the other half.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Branch", "Line", "alpha_levels", "branches", "flatten", "lines", "steps_below"]

Array = NDArray[Any]

STEPS = 400  # of the slider over the range of the levels, and as many over their ranks
RESOLUTION = 1e4  # into how many parts the range is divided, at least, by the levels' decimals


def alpha_levels(tree: Any, own: float | None = None) -> NDArray[np.float64]:
    """The levels that the slider steps through, (k,), increasing, each within (0, 1).

    Half of them are even in α, half follow the saddles and heights of the tree, because sparse
    clusters live within a small part of the range. They are short decimal numbers, so that one
    read off the page can be given to the model; `own` is the model's level, kept as it is.
    """
    values = np.concatenate([tree.saddles, tree.heights])
    low, high = float(values.min()), float(values.max())
    decimals = int(np.ceil(np.log10(RESOLUTION / max(high - low, 1e-9))))
    spread = np.concatenate(
        [np.linspace(low, high, STEPS), np.quantile(values, np.linspace(0, 1, STEPS))]
    )
    # one step below everything: all points are one cluster there
    below = low - 10.0**-decimals
    levels = np.unique(np.round(np.append(spread, below if below > 0 else low / 2), decimals))
    if own is not None:
        levels = np.union1d(levels, [own])
    inside = levels[(levels > 0) & (levels < 1)]
    return np.asarray(inside if inside.size else [0.5])


def steps_below(levels: Array, values: Array) -> NDArray[np.uint16]:
    """How many levels are below each value: ``value > levels[k]`` is ``steps_below > k``.

    Examples
    --------
    >>> import numpy as np
    >>> steps_below(np.array([0.2, 0.4]), np.array([0.1, 0.2, 0.3, 0.9]))
    array([0, 0, 1, 2], dtype=uint16)
    """
    return np.searchsorted(levels, values, side="left").astype(np.uint16)


@dataclass(frozen=True)
class Branch:
    """A join of the tree that is drawn, or the tip of a branch.

    Attributes
    ----------
    peak : int
        The branch's highest point.
    mass : float
        Weight of the branch.
    level : float
        Where it begins, seen from above: its join, or the height of its tip.
    sides : tuple of Branch
        The two branches that it joins; empty at a tip.
    significance : float
        Of the join; NaN at a tip.
    """

    peak: int
    mass: float
    level: float
    sides: tuple[Branch, ...] = ()
    significance: float = float("nan")


def flatten(tree: Any) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Points in a row in which every cluster of every level is a run, and the gaps' saddles.

    Parameters
    ----------
    tree : softkern.alpha_tree.tree.AlphaTree

    Returns
    -------
    order : array of shape (n,)
    gaps : array of shape (n − 1,)
        −∞ between parts that no edge joins.

    Examples
    --------
    >>> from softkern.alpha_tree.tree import AlphaTree
    >>> tree = AlphaTree([[0, 2], [2, 1]], saddles=[0.6, 0.2], heights=[0.9, 0.8, 0.7])
    >>> flatten(tree)
    (array([0, 2, 1], dtype=int32), array([0.6, 0.2]))
    """
    n = len(tree.heights)
    root, last = list(range(n)), list(range(n))
    after = [-1] * n
    gap = np.full(n, -np.inf)
    # saddles may saturate, and then differ from the order of the edges by rounding
    order = np.argsort(-tree.saddles, kind="stable")
    for (i, j), saddle in zip(tree.edges[order].tolist(), tree.saddles[order], strict=True):
        a, b = _top(root, i), _top(root, j)
        gap[last[a]] = saddle
        after[last[a]], last[a], root[b] = b, last[b], a
    row = []
    for start in range(n):
        place = start if root[start] == start else -1
        while place >= 0:
            row.append(place)
            place = after[place]
    places = np.asarray(row, dtype=np.int32)
    return places, gap[places[:-1]]


def branches(tree: Any, smallest: float = 0.01) -> list[Branch]:
    """The tree of the joins whose branches both hold `smallest` of the mass; one per part.

    Smaller branches melt into the larger one that they join.
    """
    n = len(tree.heights)
    root = list(range(n))
    least = smallest * float(tree.weight.sum())
    tip = np.arange(n)
    shown: dict[int, Branch] = {}  # what is drawn of a part, by the part's root
    mass = tree.weight.tolist()
    for k, (i, j) in enumerate(tree.edges.tolist()):
        a, b = _top(root, i), _top(root, j)
        if mass[a] < mass[b]:
            a, b = b, a
        if mass[b] >= least:
            pair = tuple(_branch(tree, shown.get(c), int(tip[c]), mass[c]) for c in (a, b))
            peak = max(pair, key=lambda side: tree.heights[side.peak]).peak
            significance = float(tree.significance[k])
            level = float(tree.saddles[k])
            shown[a] = Branch(peak, mass[a] + mass[b], level, pair, significance)
        if tree.heights[tip[b]] > tree.heights[tip[a]]:
            tip[a] = tip[b]
        mass[a], root[b] = mass[a] + mass[b], a
    tops = [c for c in range(n) if root[c] == c and mass[c] >= least]
    return [_branch(tree, shown.get(c), int(tip[c]), mass[c]) for c in tops]


@dataclass(frozen=True)
class Line:
    """A line of the drawn tree: the stem of a branch, or the bar of a join."""

    x0: float
    y0: float
    x1: float
    y1: float
    peak: int
    share: float  # of the mass
    tips: tuple[int, ...]  # highest points of all branches above
    is_split: bool  # the bar of a join of two clusters that are real


def lines(tree: Any, smallest: float = 0.01, threshold: float = 1.0) -> list[Line]:
    """The drawn tree: tips are one apart in x, y is α; larger branches stand to the left."""
    drawn: list[Line] = []
    total = float(tree.weight.sum())
    next_x = 0.0

    def place(branch: Branch, bottom: float) -> tuple[float, tuple[int, ...]]:
        nonlocal next_x
        share = branch.mass / total
        if branch.sides:
            sides = [place(side, branch.level) for side in branch.sides]
            (x0, left), (x1, right) = sides
            x, tips = (x0 + x1) / 2, left + right
            is_split = branch.significance > threshold
            bar = (x0, branch.level, x1, branch.level)
            drawn.append(Line(*bar, branch.peak, share, tips, is_split))
        else:
            x, tips, next_x = next_x, (branch.peak,), next_x + 1
        drawn.append(Line(x, bottom, x, branch.level, branch.peak, share, tips, False))
        return x, tips

    floor = float(min(tree.saddles.min(initial=np.inf), tree.heights.min()))
    for part in branches(tree, smallest):
        place(part, floor)
    return drawn


def _branch(tree: Any, drawn: Branch | None, peak: int, mass: float) -> Branch:
    if drawn is None:
        return Branch(peak, mass, float(tree.heights[peak]))
    return Branch(peak, mass, drawn.level, drawn.sides, drawn.significance)


def _top(root: list[int], point: int) -> int:
    while root[point] != point:
        root[point] = root[root[point]]
        point = root[point]
    return point
