"""Explanations on the page: descriptions of the clusters, and reasons of the listed rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from softkern._utils.text import plural
from softkern._utils.typing import Array
from softkern.ranking import Ranker
from softkern.tables.explain import Explainer, RowView
from softkern.tables.explain.clusters import DISTINCT, cluster_parts, describe
from softkern.tables.report.axes import bound
from softkern.tables.report.data import Drawn
from softkern.tables.report.packing import isolate_right_to_left, shorten

MAX_BARS, MIN_BARS = 6, 3  # columns drawn per cluster, more than the fewest if distinct
MAX_CLUSTERS = 24
MAX_LENGTH = 32  # characters of a bar's name, on two lines


def explanations(
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
