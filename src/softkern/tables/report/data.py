"""Collect the data of the page from a fitted model's public attributes.

`page_data` returns JSON values and packed arrays that `data.js` reads. A sample of the rows of a
large table is drawn, together with the rows that rank highest. The sample does not depend on the
order of rows. Counts on the page always refer to all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_outlier_detector

from softkern._utils.progress import stage
from softkern._utils.text import plural
from softkern._utils.typing import Array
from softkern.fitted import choice_of, histogram_bins, typicality_of, with_tree
from softkern.ranking import Ranker
from softkern.rows import Rows
from softkern.tables.explain import Explainer, RowView
from softkern.tables.explain.clusters import DISTINCT, cluster_parts, describe
from softkern.tables.report.axes import bound, make_axes
from softkern.tables.report.columns import categorical_columns, listed_cells
from softkern.tables.report.packing import isolate_right_to_left, pack, shorten
from softkern.tables.report.tree import encode_tree

MAX_ROWS = 4_000  # sampled rows; with more, the sliders would respond with a delay
TOP_OUTLIERS, TOP_OVERLAPS = 500, 250  # always drawn
MAX_LISTED = 100  # rows of a ranked table
REJECTION_STEPS = 400
MIN_OVERLAP = 1e-3  # overlap score from which a row is listed
MAX_BARS, MIN_BARS = 6, 3  # columns drawn per cluster, more than the fewest if distinct
MAX_CLUSTERS = 24  # that are described
MAX_LENGTH = 32  # characters of a bar's name, on two lines


@dataclass(frozen=True)
class Drawn:
    """The model and data of the page, and the rows that it draws."""

    model: Any
    X: pd.DataFrame  # (n, d), the columns to show
    table: pd.DataFrame  # (n, ·), all columns of the user's table
    ranks: pd.DataFrame
    values: Array  # (n, ·), what the model was fitted on
    rows: Array  # (m,), indices of the drawn rows
    is_sampled: Array  # (m,), False for rows drawn because of their ranks
    features: tuple[str, str] | None  # columns to draw first
    explainer: Explainer
    random_state: int

    @property
    def labels(self) -> Array:
        """The clusters of all rows, (n,)."""
        return self.ranks["label"].to_numpy().astype(np.int64)

    @property
    def is_typical(self) -> Array:
        """Which of the drawn rows directions may be computed from, (m,)."""
        return self.is_sampled & ~self.ranks["is_outlier"].to_numpy(dtype=bool)[self.rows]


def page_data(
    drawn: Drawn, ids: Sequence[Any] | None, clusters: pd.DataFrame | None
) -> dict[str, Any]:
    """Return the data of the page's script, ready for JSON."""
    model, X, ranks, rows, labels = drawn.model, drawn.X, drawn.ranks, drawn.rows, drawn.labels
    shown = ranks.iloc[rows]
    tables = _ranked_tables(shown)
    names = list(X.index if ids is None else ids)
    tree_model = with_tree(model)
    memberships = "membership", ranks["membership"].to_numpy()
    kind, typicality = typicality_of(model if tree_model is None else tree_model) or memberships
    has_typicality = kind == "typicality"
    return {
        "n": len(X),
        "isSample": len(rows) < len(X),
        "sampled": pack(drawn.is_sampled, np.uint8),
        "isDetector": bool(is_outlier_detector(model)),
        "outliers": int(ranks["is_outlier"].sum()),
        "overlaps": int(ranks["is_overlap"].sum()),
        "rows": pack(rows, np.int32),
        "ids": [shorten(names[row]) for row in rows.tolist()],
        "labels": pack(labels[rows], np.int32),
        "sizes": np.bincount(labels[labels >= 0]).tolist(),
        "noise": int((labels < 0).sum()),
        "membership": pack(shown["membership"]),
        "outlierScore": pack(shown["outlier_score"]),
        "outlierRank": pack(shown["outlier_rank"], np.int32),
        "overlapScore": pack(shown["overlap_score"]),
        "overlapRank": pack(shown["overlap_rank"], np.int32),
        "typicality": pack(typicality[rows]) if has_typicality else None,
        **make_axes(drawn, has_typicality),
        "tables": tables,
        "cells": listed_cells(drawn.table, rows, sorted(set().union(*tables.values()))),
        "known": categorical_columns(drawn.table, rows, labels),
        "rejection": _rejection(ranks),
        "histogram": _histogram(kind, typicality),
        "tree": None if tree_model is None else encode_tree(tree_model, labels, rows),
        "choice": choice_of(model),
        **_explanations(drawn, tables, clusters),
    }


def select_rows(values: Array, ranks: pd.DataFrame, random_state: int) -> tuple[Array, Array]:
    """Return the indices of the rows to draw, increasing, and which belong to the sample."""
    n = len(ranks)
    if n <= MAX_ROWS + TOP_OUTLIERS + TOP_OVERLAPS:
        return np.arange(n), np.ones(n, bool)
    sample, _ = Rows(values).sample(MAX_ROWS, random_state)
    overlap_rank = ranks["overlap_rank"].to_numpy()[ranks["overlap_score"] > MIN_OVERLAP]
    is_top = ranks["outlier_rank"] <= _last_rank(ranks["outlier_rank"].to_numpy(), TOP_OUTLIERS)
    is_top |= ranks["overlap_rank"] <= _last_rank(overlap_rank, TOP_OVERLAPS)
    rows = np.union1d(sample, np.flatnonzero(is_top))
    return rows, np.isin(rows, sample)


def _last_rank(rank: Array, most: int) -> int:
    """Return the last rank that is always drawn: `most`, or less if many rows share it."""
    top = rank[rank <= most]
    return int(top.max(initial=0)) - (len(top) > 2 * most)


def _ranked_tables(ranks: pd.DataFrame) -> dict[str, list[int]]:
    """Return the places of the top-ranked rows among the drawn rows, which have these ranks."""
    outliers, overlaps = (
        np.argsort(ranks[name].to_numpy(), kind="stable")[:MAX_LISTED]
        for name in ("outlier_rank", "overlap_rank")
    )
    is_listed = ranks["overlap_score"].to_numpy()[overlaps] > MIN_OVERLAP
    return {"outliers": outliers.tolist(), "overlaps": overlaps[is_listed].tolist()}


def _rejection(ranks: pd.DataFrame) -> dict[str, Any]:
    """Return the ranks that the rejection slider steps through, their counts and the start."""
    n = len(ranks)
    rank = np.sort(ranks["outlier_rank"].to_numpy())
    start = int(ranks["is_outlier"].sum())
    first, even = np.arange(min(21, n // 2 + 1)), np.linspace(0, n / 2, REJECTION_STEPS + 1)
    cutoffs = np.unique(np.round([*first, *even, start]).astype(np.int64))
    return {
        "cutoffs": cutoffs.tolist(),
        "counts": np.searchsorted(rank, cutoffs, side="right").tolist(),
        "start": int(np.searchsorted(cutoffs, start)),
    }


def _histogram(kind: str, values: Array) -> dict[str, Any]:
    """Return the histogram of the highest value in each row."""
    highest = values.reshape(len(values), -1).max(axis=1, initial=0.0).astype(np.float64)
    counts, edges = np.histogram(highest, histogram_bins(len(highest)))
    return {"name": kind, "edges": edges.tolist(), "counts": counts.tolist()}


# Explanations


@stage("explanations")
def _explanations(
    drawn: Drawn, tables: Mapping[str, list[int]], clusters: pd.DataFrame | None
) -> dict[str, Any]:
    """Return `why` of the listed rows and `clusters`, ready for JSON."""
    if clusters is None:
        clusters = describe(drawn.X, drawn.labels, getattr(drawn.model, "sample_weight_", None))
    explainer, why = drawn.explainer, {}
    for name, places in tables.items():  # as outliers, or as between clusters
        is_overlap = name == "overlaps"
        is_outlier = drawn.ranks["is_outlier"] & (not is_overlap)
        ranks = drawn.ranks.assign(is_overlap=is_overlap, is_outlier=is_outlier)
        table = explainer.explain(explainer.rows, explainer.points, ranks, drawn.rows[places])
        table["why"] = table["why"].map(isolate_right_to_left)
        why[name] = table[["grade", "between", "why"]].to_dict("records")
    return {"why": why, **_clusters(clusters)}


def page_explainer(
    model: Any, X: pd.DataFrame, ranks: pd.DataFrame, values: Array | None
) -> Explainer:
    """Explain by the columns of X, in the model's kernel if the model has the same columns."""
    shown = pd.DataFrame(X.to_numpy(np.float64, na_value=np.nan)).replace([np.inf, -np.inf], np.nan)
    own = shown.fillna(shown.median()).fillna(0.0).to_numpy()
    is_same = values is not None and values.shape[1] == own.shape[1]
    values = np.asarray(values, np.float64) if is_same else bound(own)
    view = RowView([str(name) for name in X.columns], own, values)
    weight = getattr(model, "sample_weight_", None)
    return Explainer(model, view, Ranker(model).score_points(), ranks, weight, own_kernel=is_same)


def _clusters(table: pd.DataFrame) -> dict[str, Any]:
    """Return the description of each cluster and the bars of its most distinctive columns."""
    clusters: list[dict[str, Any]] = []
    lines = cluster_parts(table)
    for cluster, (head, words) in list(lines.items())[:MAX_CLUSTERS]:
        part = table[table["cluster"] == cluster]
        # values of text columns need a clear effect
        is_filler = (part["rank"] <= MIN_BARS) & (part["value"].isna() | (len(lines) == 1))
        drawn = part[(part["effect"] >= DISTINCT) | is_filler].head(MAX_BARS)
        bars = [_bar(row) for row in drawn.to_dict("records") if row["words"] and cluster >= 0]
        text = isolate_right_to_left("; ".join(words))
        clusters.append({"cluster": cluster, "head": head, "words": text, "bars": bars})
    more = len(lines) - len(clusters)
    return {"clusters": clusters, "moreClusters": plural(more, "cluster") if more else ""}


def _bar(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return range and median of a column, or the share of a value, and those of all rows (%)."""
    is_text = isinstance(row["value"], str)
    value = shorten(row["value"], MAX_LENGTH) if is_text else ""
    bar = {"name": shorten(row["column"], MAX_LENGTH), "words": row["words"], "value": value}
    low, high = min(row["low"], row["all_low"]), max(row["high"], row["all_high"])
    width = (high / 2 - low / 2) or 1.0  # halves, so that nothing overflows
    for side, prefix, share in (("own", "", "value_share"), ("all", "all_", "all_share")):
        ends = [
            (row[f"{prefix}{name}"] / 2 - low / 2) / width for name in ("low", "median", "high")
        ]
        places = [0.0, row[share], row[share]] if is_text else ends
        left, middle, right = (round(100 * float(place), 2) for place in places)
        bar[side] = {"left": left, "width": round(right - left, 2), "median": middle}
    return bar
