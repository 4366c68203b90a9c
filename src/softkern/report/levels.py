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

__all__ = ["alpha_levels", "steps_below"]

STEPS = 400  # of the slider over the range of the levels, and as many over their ranks
RESOLUTION = 1e4  # into how many parts the range is divided, at least, by the levels' decimals


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
