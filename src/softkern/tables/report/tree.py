"""Encode the density tree for `tree.js` and `pictures.js`: cuts by level and number, and lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from softkern._utils.typing import Array
from softkern.density_tree.layout import Line, dendrogram, flatten
from softkern.density_tree.tree import SMALL_SHARE
from softkern.fitted import level_of
from softkern.tables.report.levels import alpha_levels, cuts_by_number, steps_below
from softkern.tables.report.packing import pack

__all__ = ["encode_tree"]

TICKS = 7  # on the axis of the tree
MIN_ROWS = 3  # of a cluster


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
        "ticks": {str(k): f"{levels[k]:.4g}" for k in _ticks(len(levels))},
        **_dendrogram(dendrogram(tree), levels, label_of, parts),
    }


def _dendrogram(lines: list[Line], levels: Array, label_of: Array, parts: Array) -> dict[str, Any]:
    """Return the tips from left to right, and the lines with the first and last tip above."""
    tips = sorted((line.x0, line.peak) for line in lines if len(line.tips) == 1)
    place = {peak: k for k, (_, peak) in enumerate(tips)}

    def height(level: float) -> float:
        """Convert a level to slider steps, which spread the tree evenly."""
        return float(np.interp(level, levels, np.arange(len(levels))))

    return {
        "tips": [{"own": int(label_of[peak]), "part": int(parts[peak])} for _, peak in tips],
        "lines": [
            {
                "x0": line.x0,
                "x1": line.x1,
                "y0": height(line.y0),
                "y1": height(line.y1),
                "peak": line.peak,
                "share": line.share,
                "isSplit": line.is_split,
                "tips": [place[line.tips[0]], place[line.tips[-1]]],
            }
            for line in lines
        ],
    }


def _ticks(steps: int) -> list[int]:
    ticks: list[int] = np.unique(np.linspace(0, steps - 1, TICKS).astype(int)).tolist()
    return ticks
