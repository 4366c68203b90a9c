"""Explanations on the page: descriptions of the clusters, and reasons of the listed rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from softkern._utils.text import plural, shorten
from softkern._utils.typing import Array
from softkern.ranking import Ranker
from softkern.tables.explain import Explainer, RowView
from softkern.tables.explain.clusters import DISTINCT, cluster_parts, describe
from softkern.tables.report.data import Drawn
from softkern.tables.report.packing import isolate_right_to_left

MAX_BARS, MIN_BARS = 6, 3  # columns drawn per cluster, more than the fewest if distinct
MAX_CLUSTERS = 24
MAX_LENGTH = 32  # characters of a bar's name, on two lines


def explanations(
    drawn: Drawn,
    tables: Mapping[str, list[int]],
    explainer: Explainer,
    clusters: pd.DataFrame | None,
) -> dict[str, Any]:
    """Return `why` of the listed rows and `clusters`, ready for JSON."""
    if clusters is None:
        weight = getattr(drawn.model, "sample_weight_", None)
        clusters = describe(drawn.X, drawn.labels, weight)
    why = {name: _why(drawn, places, explainer, name) for name, places in tables.items()}
    return {"why": why, **_clusters(clusters)}


def page_explainer(
    model: Any, X: pd.DataFrame, ranks: pd.DataFrame, values: Array | None
) -> Explainer:
    """Explain by the columns of X, in the model's kernel if the model has the same columns."""
    shown = X.to_numpy(np.float64, na_value=np.nan)
    finite = pd.DataFrame(np.where(np.isfinite(shown), shown, np.nan))
    own = finite.fillna(finite.median()).fillna(0.0).to_numpy()
    is_same = values is not None and values.shape[1] == own.shape[1]
    largest = np.abs(own).max(axis=0)
    scaled = own / np.where(largest > 0, largest, 1.0)  # so that nothing overflows
    rows = RowView(list(map(str, X.columns)), own, np.asarray(values, float) if is_same else scaled)
    weight = getattr(model, "sample_weight_", None)
    return Explainer(model, rows, Ranker(model).score_points(), ranks, weight, own_kernel=is_same)


def _why(drawn: Drawn, places: list[int], explainer: Explainer, name: str) -> list[dict[Any, Any]]:
    """Return the reasons of the rows in a table: as outliers, or as between clusters."""
    is_between, is_outlier = name == "overlaps", drawn.ranks["is_outlier"]
    ranks = drawn.ranks.assign(is_overlap=is_between, is_outlier=is_outlier & (not is_between))
    rows = drawn.rows[places]
    table = explainer.explain(explainer.rows, explainer.points, ranks, rows)
    table["why"] = table["why"].map(isolate_right_to_left)
    return table[["grade", "between", "why"]].to_dict("records")


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
    name = shorten(str(row["column"]), MAX_LENGTH)
    bar: dict[str, Any] = {"name": name, "words": row["words"], "value": ""}
    if isinstance(row["value"], str):
        own, every = (
            {"left": 0.0, "width": share, "median": share}
            for share in (round(100 * row[name], 2) for name in ("value_share", "all_share"))
        )
        return bar | {"value": shorten(row["value"], MAX_LENGTH), "own": own, "all": every}
    low, high = min(row["low"], row["all_low"]), max(row["high"], row["all_high"])
    width = (high / 2 - low / 2) or 1.0  # halves, so that nothing overflows

    def place(name: str) -> float:
        return round(100 * float((row[name] / 2 - low / 2) / width), 2)

    for side, prefix in (("own", ""), ("all", "all_")):
        left, middle, right = (place(f"{prefix}{name}") for name in ("low", "median", "high"))
        bar[side] = {"left": left, "width": round(right - left, 2), "median": middle}
    return bar
