"""The levels of the page's slider, and what a browser needs for the labels of each, exactly.

The tree goes to the browser as a row of points in which the cluster of every level is a run
(`softkern.density_tree.layout.flatten`); a cut at α is one walk along the row that starts a new
cluster at every gap of α or less.

Levels come from a list that the slider steps through, so that a saddle need not be kept as a
number: it is enough to know how many levels of the list lie below it. Two bytes say that, and
the comparison with a level of the list is exact, not rounded. `tree.js` is the other half.

Cuts by number need not be those of a level: equal groups part at one. They are few, and nested, so
that the browser gets the parts of the finest and which of them go together at every number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.density_tree.tree import AlphaTree

__all__ = ["alpha_levels", "cuts_by_number", "steps_below"]

STEPS = 400  # of the slider over the range of the levels, and as many over their ranks
RESOLUTION = 1e4  # into how many parts the range is divided, at least, by the levels' decimals
MOST_CLUSTERS = 60  # that can be asked for


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


def cuts_by_number(
    tree: AlphaTree, rows: Array, least: int
) -> tuple[NDArray[np.uint8], list[dict[str, list[int]]]]:
    """The tree cut into 1, 2, 3, … clusters, as `AlphaTree.labels_of` and so the model cuts it.

    Pieces that hold fewer than `least` rows are no clusters, −1, and not counted; of the cuts into
    one number of clusters, the first is taken. `rows` are those of every point of the tree, (n,).
    Returned are the parts of the finest cut, (n,), and for each number of clusters their `sizes`
    in rows and `names`, the cluster of every part.

    Examples
    --------
    >>> import numpy as np
    >>> edges, saddles = np.array([[0, 1], [1, 2]]), np.array([0.5, 0.2])
    >>> tree = AlphaTree(edges, saddles, np.array([0.9, 0.6, 0.8]))
    >>> parts, numbers = cuts_by_number(tree, np.array([1, 1, 1]), least=1)
    >>> parts
    array([0, 2, 1], dtype=uint8)
    >>> numbers[1]
    {'sizes': [2, 1], 'names': [0, 1, 0]}
    """
    first: dict[int, tuple[NDArray[np.uint8], Array]] = {}
    for count in range(1, tree.count_tips() + 1):
        labels = tree.labels_of(count)[0].astype(np.uint8)  # a hundredth each: no more than 100
        sizes = np.bincount(labels, weights=rows).astype(np.int64)
        first.setdefault(int((sizes >= least).sum()), (labels, sizes))
        if MOST_CLUSTERS in first:
            break
    # a cut changes the number by one at most, so that the largest was reached last
    parts = first[max(first)][0]
    places = np.unique(parts, return_index=True)[1]
    numbers = []
    for labels, sizes in (first[number] for number in sorted(first) if number > 0):
        is_large = sizes >= least
        names = np.where(is_large, np.cumsum(is_large) - 1, -1)
        numbers.append({"sizes": sizes[is_large].tolist(), "names": names[labels[places]].tolist()})
    return parts, numbers
