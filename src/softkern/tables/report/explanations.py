"""What the page says in words: what each cluster is, and why the listed rows are listed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from softkern._utils.text import plural, shorten
from softkern._utils.typing import Array
from softkern.ranking import Ranker
from softkern.tables.explain import Explainer, RowView
from softkern.tables.explain.clusters import cluster_parts, describe
from softkern.tables.report.packing import isolate_right_to_left

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["explanations"]

MOST_BARS, FEWEST_BARS = 6, 3  # columns of a cluster that are drawn
DISTINCT = 0.25  # effect from which more than the fewest are
MOST_CLUSTERS = 24
LONGEST = 32  # letters of a bar's name, on two lines


def explanations(
    model: Any,
    X: pd.DataFrame,
    ranks: pd.DataFrame,
    tables: Mapping[str, list[int]],
    rows: Array,
    X_model: Array | None,
    explainer: Explainer | None,
    clusters: pd.DataFrame | None,
) -> dict[str, Any]:
    """`why` of the listed rows, `clusters` and how many are not shown, ready for JSON."""
    if explainer is None:
        explainer = _explainer(model, X, ranks, X_model)
    if clusters is None:
        weight = getattr(model, "sample_weight_", None)
        clusters = describe(X, ranks["label"].to_numpy(), weight)
    return {"why": _why(explainer, ranks, tables, rows), **_clusters(clusters)}


def _explainer(model: Any, X: pd.DataFrame, ranks: pd.DataFrame, seen: Array | None) -> Explainer:
    """By the shown columns; in the model's kernel where it is known to be of these."""
    own = _without_gaps(X.to_numpy(np.float64, na_value=np.nan))
    is_known = seen is not None and seen.shape[1] == own.shape[1]
    reach = np.abs(own).max(axis=0)  # in units of which nothing overflows
    values = np.asarray(seen, np.float64) if is_known else own / np.where(reach > 0, reach, 1.0)
    rows = RowView([str(name) for name in X.columns], own, values)
    weight = getattr(model, "sample_weight_", None)
    return Explainer(model, rows, Ranker(model).score_points(), ranks, weight, own_kernel=is_known)


def _without_gaps(own: Array) -> Array:
    """Cells that are no numbers at the median of their column."""
    known = np.where(np.isfinite(own), own, np.nan)
    is_empty = np.isnan(known).all(axis=0)
    middle = np.where(is_empty, 0.0, np.nanmedian(np.where(is_empty, 0.0, known), axis=0))
    return np.where(np.isnan(known), middle, known)


def _why(
    explainer: Explainer, ranks: pd.DataFrame, tables: Mapping[str, list[int]], rows: Array
) -> dict[str, Any]:
    """Words of the rows that the tables list; those of one table are all told as what it lists."""
    told = {}
    for name, is_between in (("outliers", False), ("overlaps", True)):
        places = tables[name]
        asked = ranks.assign(is_overlap=is_between, is_outlier=ranks["is_outlier"] & ~is_between)
        table = explainer.explain(explainer.rows, explainer.points, asked, rows[places])
        told[name] = [
            {
                "grade": grade,
                "between": between,
                "why": isolate_right_to_left(why),
            }
            for grade, between, why in zip(
                table["grade"], table["between"], table["why"], strict=True
            )
        ]
    return told


def _clusters(table: pd.DataFrame) -> dict[str, Any]:
    """For every cluster its line and the bars of its most distinctive columns."""
    found = []
    lines = cluster_parts(table)
    for cluster, (head, words) in list(lines.items())[:MOST_CLUSTERS]:
        part = table[table["cluster"] == cluster]
        # of words none is worth a bar that a cluster has hardly more often
        is_filler = (part["rank"] <= FEWEST_BARS) & (part["value"].isna() | (len(lines) == 1))
        told = part[(part["effect"] >= DISTINCT) | is_filler].head(MOST_BARS)
        bars = [_bar(row) for row in told.to_dict("records") if row["words"] and cluster >= 0]
        found.append(
            {
                "cluster": cluster,
                "head": head,
                "words": isolate_right_to_left("; ".join(words)),
                "bars": bars,
            }
        )
    more = len(lines) - len(found)
    return {"clusters": found, "moreClusters": plural(more, "cluster") if more else ""}


def _bar(row: Mapping[Any, Any]) -> dict[str, Any]:
    """The range and median of a column, or the share of a value, beside all rows', in percent."""
    bar: dict[str, Any] = {
        "name": shorten(str(row["column"]), LONGEST),
        "words": row["words"],
        "value": "",
    }
    if isinstance(row["value"], str):
        own, every = (
            {"left": 0.0, "width": share, "median": share}
            for share in (round(100 * row[name], 2) for name in ("value_share", "all_share"))
        )
        return bar | {"value": shorten(row["value"], LONGEST), "own": own, "all": every}
    low, high = min(row["low"], row["all_low"]), max(row["high"], row["all_high"])
    width = (high / 2 - low / 2) or 1.0  # of halves, so that nothing overflows

    def place(name: str) -> float:
        return round(100 * float((row[name] / 2 - low / 2) / width), 2)

    for side, prefix in (("own", ""), ("all", "all_")):
        left, middle, right = (place(f"{prefix}{name}") for name in ("low", "median", "high"))
        bar[side] = {"left": left, "width": round(right - left, 2), "median": middle}
    return bar
