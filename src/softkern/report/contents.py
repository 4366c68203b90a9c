"""What the page shows, gathered from a fitted model's public attributes.

Everything here ends in `contents`: a dictionary of JSON values and packed arrays that `data.js`
reads. Large tables are shown as a sample of rows, which their values choose and not their order,
together with the rows that rank highest; counts on the page are always of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_outlier_detector

from softkern._typing import Array
from softkern.alpha_tree.layout import dendrogram, flatten
from softkern.fitted import choice_of, histogram_bins, level_of, typicality_of, with_tree
from softkern.report.axes import axes_of
from softkern.report.cells import cells_of
from softkern.report.known import known_columns
from softkern.report.levels import alpha_levels, cuts_by_number, steps_below
from softkern.report.packing import packed, shorten
from softkern.rows import priority_sample

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["contents", "shown_rows"]

MOST_ROWS = 4_000  # drawn without a sample; more would not let the sliders answer at once
TOP_OUTLIERS, TOP_OVERLAPS = 500, 250  # drawn in any case
LISTED = 100  # rows of a ranked table
REJECTION_STEPS = 400
TICKS = 7  # of the tree's axis
SMALL_SHARE, FEWEST = 0.01, 8  # of the rows, below which a piece of the tree is no cluster
LEAST_OVERLAP = 1e-3  # score from which a point is worth listing


def contents(
    model: Any,
    X: pd.DataFrame,
    ranks: pd.DataFrame,
    *,
    ids: Sequence[Any] | None,
    features: tuple[str, str] | None,
    X_model: Array | None,
    table: pd.DataFrame | None,
    random_state: int,
) -> dict[str, Any]:
    """Everything that the page's script needs, ready for JSON."""
    seen = X.to_numpy(np.float64, na_value=np.nan) if X_model is None else np.asarray(X_model)
    table = X if table is None else table
    rows, is_sampled = shown_rows(seen, ranks, random_state)
    labels = ranks["label"].to_numpy().astype(np.int64)
    is_usual = is_sampled & ~ranks["is_outlier"].to_numpy(dtype=bool)[rows]
    axes = axes_of(model, X, table, seen, rows, is_usual, labels, features, random_state)
    tables = _tables(ranks, rows)
    names = list(X.index if ids is None else ids)
    rooted = with_tree(model)
    kind, typicality = typicality_of(model if rooted is None else rooted) or (
        "membership",
        ranks["membership"].to_numpy(),
    )
    return {
        "n": len(X),
        "isSample": len(rows) < len(X),
        "sampled": packed(is_sampled, np.uint8),
        "isDetector": bool(is_outlier_detector(model)),
        "outliers": int(ranks["is_outlier"].sum()),
        "overlaps": int(ranks["is_overlap"].sum()),
        "rows": packed(rows, np.int32),
        "ids": [shorten(names[row]) for row in rows.tolist()],
        "labels": packed(labels[rows], np.int32),
        "sizes": np.bincount(labels[labels >= 0]).tolist(),
        "noise": int((labels < 0).sum()),
        **{
            name: packed(ranks[column].to_numpy()[rows], dtype)
            for name, column, dtype in (
                ("membership", "membership", np.float32),
                ("outlierScore", "outlier_score", np.float32),
                ("outlierRank", "outlier_rank", np.int32),
                ("overlapScore", "overlap_score", np.float32),
                ("overlapRank", "overlap_rank", np.int32),
            )
        },
        "typicality": packed(typicality[rows]) if kind == "typicality" else None,
        **axes,
        "tables": tables,
        "cells": cells_of(table, rows, sorted({*tables["outliers"], *tables["overlaps"]})),
        "known": known_columns(table, rows, labels),
        "rejection": _rejection(ranks),
        "histogram": _histogram("how typical" if kind == "typicality" else kind, typicality),
        "tree": None if rooted is None else _tree(rooted, labels, rows),
        "choice": choice_of(model),
    }


def shown_rows(seen: Array, ranks: pd.DataFrame, random_state: int) -> tuple[Array, Array]:
    """Numbers of the rows that are drawn, increasing, and which are not drawn for their rank."""
    n = len(ranks)
    if n <= MOST_ROWS + TOP_OUTLIERS + TOP_OVERLAPS:
        return np.arange(n), np.ones(n, bool)
    sample, _ = priority_sample(seen, MOST_ROWS, random_state=random_state)
    overlap_rank = ranks["overlap_rank"].to_numpy()[ranks["overlap_score"] > LEAST_OVERLAP]
    is_top = ranks["outlier_rank"] <= _last_rank(ranks["outlier_rank"].to_numpy(), TOP_OUTLIERS)
    is_top |= ranks["overlap_rank"] <= _last_rank(overlap_rank, TOP_OVERLAPS)
    rows = np.union1d(sample, np.flatnonzero(is_top))
    return rows, np.isin(rows, sample)


def _last_rank(rank: Array, most: int) -> int:
    """The last rank that is always drawn: `most`, or less where very many rows share one."""
    top = np.sort(rank[rank <= most])
    if len(top) <= 2 * most:
        return int(top[-1]) if len(top) else 0
    return int(top[-1]) - 1


# Ranks


def _tables(ranks: pd.DataFrame, rows: Array) -> dict[str, list[int]]:
    """Places, among the shown rows, of the rows that rank highest, first rank first."""
    shown = ranks.iloc[rows]
    outliers = np.argsort(shown["outlier_rank"].to_numpy(), kind="stable")[:LISTED]
    overlaps = np.argsort(shown["overlap_rank"].to_numpy(), kind="stable")[:LISTED]
    score = shown["overlap_score"].to_numpy()
    return {
        "outliers": outliers.tolist(),
        "overlaps": [place for place in overlaps.tolist() if score[place] > LEAST_OVERLAP],
    }


def _rejection(ranks: pd.DataFrame) -> dict[str, Any]:
    """Ranks up to which the slider rejects, how many rows that is, and where it starts."""
    n = len(ranks)
    rank = np.sort(ranks["outlier_rank"].to_numpy())
    start = int(ranks["is_outlier"].sum())
    few, even = np.arange(min(21, n // 2 + 1)), np.linspace(0, n / 2, REJECTION_STEPS + 1)
    cutoffs = np.unique(np.round([*few, *even, start]).astype(np.int64))
    return {
        "cutoffs": cutoffs.tolist(),
        "counts": np.searchsorted(rank, cutoffs, side="right").tolist(),
        "start": int(np.searchsorted(cutoffs, start)),
    }


def _histogram(kind: str, values: Array) -> dict[str, Any]:
    """Of every row's highest value."""
    highest = values.reshape(len(values), -1).max(axis=1, initial=0.0).astype(np.float64)
    counts, edges = np.histogram(highest, histogram_bins(len(highest)))
    return {"name": kind, "edges": edges.tolist(), "counts": counts.tolist()}


# The alpha tree


def _tree(model: Any, labels: Array, rows: Array) -> dict[str, Any]:
    """The tree as `tree.js` reads it, and the rows' places in it."""
    tree, own = model.tree_, level_of(model)
    levels = alpha_levels(tree, own)
    order, gaps = flatten(len(tree.heights), tree.edges, tree.saddles)
    heights, rank = np.unique(tree.heights, return_inverse=True)
    counts = np.bincount(model.node_, minlength=len(order))
    label_of = np.full(len(order), -1)
    label_of[model.node_] = labels
    least = max(FEWEST, round(SMALL_SHARE * len(labels)))
    start = np.searchsorted(levels, np.quantile(tree.heights, 0.05) if own is None else own)
    # clusters that were chosen one by one need not be those of any level
    has_level = own is not None and (model.alpha != "auto" or model.rejection is not None)
    return {
        "levels": levels.tolist(),
        "own": own if has_level else None,
        "ownStep": -1 if own is None else int(np.searchsorted(levels, own)),
        "start": int(min(start, len(levels) - 1)),
        "least": least,
        "numbers": cuts_by_number(tree, counts, levels, least),
        "order": packed(order, np.int32),
        "gaps": packed(steps_below(levels, gaps), np.uint16),
        "rank": packed(rank, np.int32),
        "above": packed(np.searchsorted(heights, levels, side="right"), np.int32),
        "weight": None if (tree.weight == 1).all() else packed(tree.weight, np.float64),
        "rows": None if (counts == 1).all() else packed(counts, np.int32),
        "node": packed(model.node_[rows], np.int32),
        "steps": packed(steps_below(levels, model.level_[rows]), np.uint16),
        "noise": np.searchsorted(np.sort(model.level_), levels, side="right").tolist(),
        "ticks": {str(k): f"{levels[k]:.4g}" for k in _ticks(len(levels))},
        "lines": [
            {
                "x0": line.x0,
                "x1": line.x1,
                # in steps of the slider, which spread the tree over the picture
                "y0": float(np.interp(line.y0, levels, np.arange(len(levels)))),
                "y1": float(np.interp(line.y1, levels, np.arange(len(levels)))),
                "peak": line.peak,
                "share": line.share,
                "isSplit": line.is_split,
                # the model's own cluster, where all branches above are of one
                "label": int(label_of[line.tips[0]]) if _is_one(label_of[list(line.tips)]) else -2,
            }
            for line in dendrogram(tree)
        ],
    }


def _ticks(steps: int) -> list[int]:
    ticks: list[int] = np.unique(np.linspace(0, steps - 1, TICKS).astype(int)).tolist()
    return ticks


def _is_one(labels: Array) -> bool:
    return bool((labels == labels[0]).all())
