"""The levels of the page's slider, and what a browser needs for the labels of each, exactly.

The tree goes to the browser as a row of points in which the cluster of every level is a run
(`softkern.alpha_tree.layout.flatten`); a cut at α is one walk along the row that starts a new
cluster at every gap of α or less.

Levels come from a list that the slider steps through, so that a saddle need not be kept as a
number: it is enough to know how many levels of the list lie below it. Two bytes say that, and
the comparison with a level of the list is exact, not rounded. `tree.js` is the other half.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softkern._typing import Array
from softkern.alpha_tree.tree import AlphaTree

__all__ = ["alpha_levels", "cuts_by_number", "steps_below"]

STEPS = 400  # of the slider over the range of the levels, and as many over their ranks
RESOLUTION = 1e4  # into how many parts the range is divided, at least, by the levels' decimals
MOST_CLUSTERS = 60  # that can be asked for
LEAST_INSIDE = 0.25  # share of the rows that they hold together


def alpha_levels(tree: AlphaTree, own: float | None = None) -> NDArray[np.float64]:
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


def cuts_by_number(tree: AlphaTree, rows: Array, levels: Array, least: int) -> list[dict[str, int]]:
    """For every number of clusters that hold enough rows at some level, the best level.

    A cluster is a piece of at least so many rows; of the levels with one number of `clusters`, the
    best `step` has most rows in them, and is the lowest of these. Pieces are joined level by level
    from the highest down. `rows` are those of every point of the tree, (n,).

    Examples
    --------
    >>> import numpy as np
    >>> edges, saddles = np.array([[0, 1], [1, 2]]), np.array([0.5, 0.2])
    >>> tree = AlphaTree(edges, saddles, np.array([0.9, 0.6, 0.8]))
    >>> cuts_by_number(tree, np.array([1, 1, 1]), np.array([0.1, 0.3, 0.7]), least=1)
    [{'clusters': 1, 'step': 0}, {'clusters': 2, 'step': 1}]
    """
    born = _by_step(steps_below(levels, tree.heights), len(levels))
    joined = _by_step(steps_below(levels, tree.saddles), len(levels))
    parent, size = list(range(len(tree.heights))), [0] * len(tree.heights)

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = node = parent[parent[node]]
        return node

    clusters = inside = 0
    best: dict[int, tuple[int, int]] = {}
    for step in range(len(levels) - 1, -1, -1):
        for node in born[step + 1].tolist():
            size[node] = int(rows[node])
            clusters, inside = _with(clusters, inside, size[node], 1, least)
        for one, two in tree.edges[joined[step + 1]].tolist():
            one, two = root(one), root(two)
            if one == two:
                continue
            for part in (one, two):
                clusters, inside = _with(clusters, inside, size[part], -1, least)
            parent[one], size[two] = two, size[one] + size[two]
            clusters, inside = _with(clusters, inside, size[two], 1, least)
        if 1 <= clusters <= MOST_CLUSTERS and inside >= LEAST_INSIDE * rows.sum():
            best[clusters] = max(best.get(clusters, (0, 0)), (inside, -step))
    return [{"clusters": number, "step": -best[number][1]} for number in sorted(best)]


def _by_step(steps: Array, count: int) -> list[Array]:
    """Which of them have 0, 1, … `count` levels below."""
    order = np.argsort(steps, kind="stable")
    return np.split(order, np.searchsorted(steps[order], np.arange(1, count + 1)))


def _with(clusters: int, inside: int, rows: int, sign: int, least: int) -> tuple[int, int]:
    """Numbers of clusters and of rows in them, with a piece more or less."""
    return (clusters + sign, inside + sign * rows) if rows >= least else (clusters, inside)
