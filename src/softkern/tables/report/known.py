"""Columns of words, or of a few numbers, to color the rows by and to compare the clusters with.

A column of known labels is such a column: how the clusters and its values fall together is counted
over all rows, and the adjusted Rand index says how far the two are the same division.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from softkern._utils.typing import Array
from softkern.tables.report.packing import holds_numbers, packed, shorten

__all__ = ["known_columns"]

MOST_VALUES = 36  # of a column that are told apart, as marks are
FEW_NUMBERS = 12  # values of a column of numbers, of which more are a scale
MOST_COLUMNS = 100
MOST_CLUSTERS = 60  # rows of a cross table
MISSING = 255  # code of an empty cell


def known_columns(table: pd.DataFrame, rows: Array, labels: Array) -> list[dict[str, Any]]:
    """The columns of words of the table, each with its commonest values.

    Of every column `values`, their `counts` in all rows, `codes` of the shown `rows` (the number of
    the value; one more for the rarer ones), the cross table `clusters` × values, and the adjusted
    Rand index `ari` of clusters and values, None where there are no two of both. Columns in which
    no value comes twice are names of rows, and left out.
    """
    found = []
    for k, name in enumerate(table.columns):
        column = _codes(table.iloc[:, k])
        if column is None:
            continue
        codes, values = column
        found.append(
            {
                "name": shorten(name),
                "values": [shorten(value, 40) for value in values[:MOST_VALUES]],
                "rarer": max(0, len(values) - MOST_VALUES),
                "codes": packed(_told(codes)[rows], np.uint8),
                **_cross(codes, labels, len(values)),
            }
        )
        if len(found) == MOST_COLUMNS:
            break
    return found


def _codes(column: pd.Series[Any]) -> tuple[Array, list[Any]] | None:
    """The number of every cell's value, commonest first, −1 where it is empty; and the values."""
    if column.dtype.kind in "mM":
        return None
    is_number = holds_numbers(column.dtype)
    if not is_number:
        column = column.astype(str).where(column.notna())
    counts = column.value_counts().sort_index().sort_values(ascending=False, kind="stable")
    if len(counts) < 2 or counts.iloc[0] < 2 or (is_number and len(counts) > FEW_NUMBERS):
        return None
    return counts.index.get_indexer(pd.Index(column)), counts.index.tolist()


def _told(codes: Array) -> Array:
    """Codes as the page reads them: the rarer values are one, and empty cells another."""
    return np.where(codes < 0, MISSING, np.minimum(codes, MOST_VALUES))


def _cross(codes: Array, labels: Array, count: int) -> dict[str, Any]:
    """How often each value comes in each cluster; empty cells have no part."""
    is_there = codes >= 0
    told, labels_there = _told(codes[is_there]), labels[is_there]
    width = min(count, MOST_VALUES + 1)
    found = np.unique(labels)
    clusters = [*found[found >= 0].tolist(), *found[found < 0].tolist()]
    place = np.searchsorted(found, labels_there) * width + told
    table = np.bincount(place, minlength=len(found) * width).reshape(len(found), width)
    table = np.roll(table, -int((found < 0).sum()), axis=0)  # no cluster comes last
    is_both = len(np.unique(labels_there)) > 1 and len(np.unique(codes[is_there])) > 1
    ari = adjusted_rand_score(codes[is_there], labels_there) if is_both else None
    return {
        "counts": np.bincount(told, minlength=width).tolist(),
        "missing": int((~is_there).sum()),
        "clusters": clusters[:MOST_CLUSTERS],
        "cross": table[:MOST_CLUSTERS].tolist(),
        "moreClusters": max(0, len(clusters) - MOST_CLUSTERS),
        "ari": None if ari is None else float(ari),
    }
