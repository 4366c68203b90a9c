"""The density tree for `tree.js` and `pictures.js`: cuts by level and by number, and its lines.

The tree is stored as a sequence of points in which each cluster of each level is a contiguous run
(`softkern.density_tree.layout.flatten`). A cut at α walks along the sequence and starts a new
cluster at each gap of α or less (`tree.js`). The slider steps through a list of levels, so a saddle
is stored as the number of levels below it: two bytes, and the comparison is exact.

Cuts into a number of clusters need not correspond to a level, since equal clusters separate at
once. They are nested, so the browser gets the parts of the finest cut and their clusters in each
coarser one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.density_tree.layout import dendrogram, flatten
from softkern.density_tree.tree import SMALL_SHARE, AlphaTree
from softkern.fitted import level_of
from softkern.tables.report.packing import pack

TICKS = 7  # ticks on the axis of the tree
MIN_ROWS = 3  # least rows of a cluster
STEPS = 400  # slider steps over the range of the levels, and as many over their quantiles
RESOLUTION = 1e4  # steps of the rounded levels within their range, at least
MAX_CLUSTERS = 60  # clusters that the slider offers


def encode_tree(model: Any, labels: Array, rows: Array) -> dict[str, Any]:
    """Return the model's tree with its labels and the nodes of the drawn `rows`."""
    tree, own = model.tree_, level_of(model)
    levels = alpha_levels(tree, own)
    order, gaps = flatten(len(tree.heights), tree.edges, tree.saddles)
    heights, rank = np.unique(tree.heights, return_inverse=True)
    counts = np.bincount(model.node_, minlength=len(order))
    label_of = np.full(len(order), -1)
    label_of[model.node_] = labels
    least = max(MIN_ROWS, round(SMALL_SHARE * len(labels)))
    parts, numbers = cuts_by_number(tree, counts, least)
    start = np.searchsorted(levels, np.quantile(tree.heights, 0.05) if own is None else own)
    ticks = np.unique(np.linspace(0, len(levels) - 1, TICKS).astype(int)).tolist()
    # clusters chosen individually need not correspond to one level
    has_level = own is not None and (model.alpha != "auto" or model.rejection is not None)
    return {
        "levels": levels.tolist(),
        "own": own if has_level else None,
        "ownStep": -1 if own is None else int(np.searchsorted(levels, own)),
        "start": int(min(start, len(levels) - 1)),
        "least": least,
        "numbers": numbers,
        "parts": pack(parts[model.node_[rows]], np.uint8),
        "order": pack(order, np.int32),
        "gaps": pack(steps_below(levels, gaps), np.uint16),
        "rank": pack(rank, np.int32),
        "above": pack(np.searchsorted(heights, levels, side="right"), np.int32),
        "weight": None if (tree.weight == 1).all() else pack(tree.weight, np.float64),
        "rows": None if (counts == 1).all() else pack(counts, np.int32),
        "node": pack(model.node_[rows], np.int32),
        "steps": pack(steps_below(levels, model.level_[rows]), np.uint16),
        "noise": np.searchsorted(np.sort(model.level_), levels, side="right").tolist(),
        "ticks": {str(k): f"{levels[k]:.4g}" for k in ticks},
        **_dendrogram(tree, levels, label_of, parts),
    }


def _dendrogram(tree: AlphaTree, levels: Array, label_of: Array, parts: Array) -> dict[str, Any]:
    """Return the tips from left to right, and the lines with the first and last tip above."""
    lines = dendrogram(tree)
    tips = [peak for _, peak in sorted((one.x0, one.peak) for one in lines if len(one.tips) == 1)]
    # in steps of the slider, which spread the tree evenly
    heights = np.interp([(one.y0, one.y1) for one in lines], levels, np.arange(len(levels)))
    return {
        "tips": [{"own": int(label_of[peak]), "part": int(parts[peak])} for peak in tips],
        "lines": [
            vars(line)
            | {"y0": y0, "y1": y1, "tips": [tips.index(line.tips[0]), tips.index(line.tips[-1])]}
            for line, (y0, y1) in zip(lines, heights.tolist(), strict=True)
        ],
    }


def alpha_levels(tree: AlphaTree, own: float | None = None) -> NDArray[np.float64]:
    """Return the levels of the slider, (k,), increasing, within (0, 1).

    Half of them are equally spaced in α, half are quantiles, because sparse clusters occupy a small
    part of the range. All but the model's `own` are rounded, to be given to the model.
    """
    values = np.concatenate([tree.saddles, tree.heights])
    low, high = float(values.min()), float(values.max())
    decimals = int(np.ceil(np.log10(RESOLUTION / max(high - low, 1e-9))))
    # one step below all values, where all points are one cluster
    below = low - 10.0**-decimals if low > 10.0**-decimals else low / 2
    quantiles = np.quantile(values, np.linspace(0, 1, STEPS))
    levels = np.round([*np.linspace(low, high, STEPS), *quantiles, below], decimals)
    levels = np.union1d(levels, [] if own is None else [own])
    inside = levels[(levels > 0) & (levels < 1)]
    return np.asarray(inside if inside.size else [0.5])


def steps_below(levels: Array, values: Array) -> NDArray[np.uint16]:
    """Count the levels below each value: ``value > levels[k]`` is ``steps_below > k``."""
    return np.searchsorted(levels, values, side="left").astype(np.uint16)


def cuts_by_number(
    tree: AlphaTree, rows: Array, least: int
) -> tuple[NDArray[np.uint8], list[dict[str, list[int]]]]:
    """Cut the tree into 1, 2, 3, … clusters, as the model does (`AlphaTree.labels_of`).

    Pieces with fewer than `least` rows are noise, −1, and do not count. `rows` are the number of
    rows of each point of the tree, (n,). Returns the parts of the finest cut, (n,), and for each
    number of clusters their `sizes` in rows and `names`, the cluster of each part.
    """
    first: dict[int, tuple[NDArray[np.uint8], Array]] = {}
    for count in range(1, tree.count_tips() + 1):
        # clusters of at least 1% each: at most 100
        labels = tree.labels_of(count)[0].astype(np.uint8)
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
