"""What the page shows, gathered from a fitted model's public attributes.

Everything here ends in `contents`: a dictionary of JSON values and packed arrays that `data.js`
reads. Large tables are shown as a sample of rows, which their values choose and not their order,
together with the rows that rank highest; counts on the page are always of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_outlier_detector

from softkern._utils.typing import Array
from softkern.fitted import choice_of, histogram_bins, typicality_of, with_tree
from softkern.rows import priority_sample
from softkern.tables.report.axes import axes_of
from softkern.tables.report.cells import cells_of
from softkern.tables.report.known import known_columns
from softkern.tables.report.packing import packed, shorten
from softkern.tables.report.tree import tree_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["contents", "shown_rows"]

MOST_ROWS = 4_000  # drawn without a sample; more would not let the sliders answer at once
TOP_OUTLIERS, TOP_OVERLAPS = 500, 250  # drawn in any case
LISTED = 100  # rows of a ranked table
REJECTION_STEPS = 400
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
    dates: Set[int],
    random_state: int,
) -> dict[str, Any]:
    """Everything that the page's script needs, ready for JSON; `dates` are columns of days."""
    seen = X.to_numpy(np.float64, na_value=np.nan) if X_model is None else np.asarray(X_model)
    table = X if table is None else table
    rows, is_sampled = shown_rows(seen, ranks, random_state)
    labels = ranks["label"].to_numpy().astype(np.int64)
    is_usual = is_sampled & ~ranks["is_outlier"].to_numpy(dtype=bool)[rows]
    tables = _tables(ranks, rows)
    names = list(X.index if ids is None else ids)
    rooted = with_tree(model)
    kind, typicality = typicality_of(model if rooted is None else rooted) or (
        "membership",
        ranks["membership"].to_numpy(),
    )
    has_typicality = kind == "typicality"
    axes = axes_of(
        model, X, table, seen, rows, is_usual, labels, features, dates, has_typicality, random_state
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
        "typicality": packed(typicality[rows]) if has_typicality else None,
        **axes,
        "tables": tables,
        "cells": cells_of(table, rows, sorted({*tables["outliers"], *tables["overlaps"]})),
        "known": known_columns(table, rows, labels),
        "rejection": _rejection(ranks),
        "histogram": _histogram("how typical" if kind == "typicality" else kind, typicality),
        "tree": None if rooted is None else tree_of(rooted, labels, rows),
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
