"""Levels of the page's slider, and the data that a browser needs to cut the tree exactly.

The tree is stored as a sequence of points in which each cluster of each level is a contiguous run
(`softkern.density_tree.layout.flatten`). A cut at α walks along the sequence and starts a new
cluster at each gap of α or less (`tree.js`).

The slider steps through a list of levels, so a saddle is stored as the number of levels below it:
two bytes, and the comparison is exact.

Cuts into a number of clusters need not correspond to a level, since equal clusters separate at
once. They are nested, so the browser gets the parts of the finest cut and their clusters in each
coarser one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.density_tree.tree import AlphaTree

__all__ = ["alpha_levels", "cuts_by_number", "steps_below"]

STEPS = 400  # slider steps over the range of the levels, and as many over their quantiles
RESOLUTION = 1e4  # steps of the rounded levels within their range, at least
MAX_CLUSTERS = 60  # clusters that the slider offers


def alpha_levels(tree: AlphaTree, own: float | None = None) -> NDArray[np.float64]:
    """Return the levels of the slider, (k,), increasing, within (0, 1).

    Half of them are equally spaced in α, half are quantiles of the saddles and heights, because
    sparse clusters occupy a small part of the range. They are rounded, so that a level on the page
    can be given to the model. `own` is the model's level, which is not rounded.
    """
    values = np.concatenate([tree.saddles, tree.heights])
    low, high = float(values.min()), float(values.max())
    decimals = int(np.ceil(np.log10(RESOLUTION / max(high - low, 1e-9))))
    spread = np.concatenate(
        [np.linspace(low, high, STEPS), np.quantile(values, np.linspace(0, 1, STEPS))]
    )
    # one step below all values, where all points are one cluster
    below = low - 10.0**-decimals
    levels = np.unique(np.round(np.append(spread, below if below > 0 else low / 2), decimals))
    if own is not None:
        levels = np.union1d(levels, [own])
    inside = levels[(levels > 0) & (levels < 1)]
    return np.asarray(inside if inside.size else [0.5])


def steps_below(levels: Array, values: Array) -> NDArray[np.uint16]:
    """Count the levels below each value: ``value > levels[k]`` is ``steps_below > k``.

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
    """Cut the tree into 1, 2, 3, … clusters, as the model does (`AlphaTree.labels_of`).

    Pieces with fewer than `least` rows are noise, −1, and do not count. `rows` are the number of
    rows of each point of the tree, (n,). Returns the parts of the finest cut, (n,), and for each
    number of clusters their `sizes` in rows and `names`, the cluster of each part.

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
        labels = tree.labels_of(count)[0].astype(
            np.uint8
        )  # clusters of at least 1% each: at most 100
        sizes = np.bincount(labels, weights=rows).astype(np.int64)
        first.setdefault(int((sizes >= least).sum()), (labels, sizes))
        if MAX_CLUSTERS in first:
            break
    # consecutive cuts differ by at most one cluster, so the largest number was reached last
    parts = first[max(first)][0]
    places = np.unique(parts, return_index=True)[1]
    numbers = []
    for labels, sizes in (first[number] for number in sorted(first) if number > 0):
        is_large = sizes >= least
        names = np.where(is_large, np.cumsum(is_large) - 1, -1)
        numbers.append({"sizes": sizes[is_large].tolist(), "names": names[labels[places]].tolist()})
    return parts, numbers
