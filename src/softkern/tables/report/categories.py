"""Categorical columns to color rows by and to compare clusters with, such as known labels.

The cross table of clusters and values counts all rows. The adjusted Rand index measures their
agreement.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from softkern._utils.typing import Array
from softkern.tables.report.packing import holds_numbers, pack, shorten

__all__ = ["categorical_columns"]

MAX_VALUES = 36  # values of a column with a mark of their own
MAX_NUMBERS = 12  # distinct values up to which a numeric column is categorical
MAX_COLUMNS = 100
MAX_CLUSTERS = 60  # rows of a cross table
MISSING = 255  # code of an empty cell


def categorical_columns(table: pd.DataFrame, rows: Array, labels: Array) -> list[dict[str, Any]]:
    """Return the categorical columns of the table with their most frequent values.

    Each has `values`, their `counts` in all rows, the `codes` of the drawn `rows` (one code for all
    rare values), the cross table `clusters` × values, and the adjusted Rand index `ari`, None
    without two clusters and two values. Columns without repeated values are left out.
    """
    columns: list[dict[str, Any]] = []
    for k, name in enumerate(table.columns):
        column = _codes(table.iloc[:, k])
        if column is None:
            continue
        codes, values = column
        columns.append(
            {
                "name": shorten(name),
                "values": [shorten(value, 40) for value in values[:MAX_VALUES]],
                "rarer": max(0, len(values) - MAX_VALUES),
                "codes": pack(_merge_rare(codes)[rows], np.uint8),
                **_cross(codes, labels, len(values)),
            }
        )
        if len(columns) == MAX_COLUMNS:
            break
    return columns


def _codes(column: pd.Series[Any]) -> tuple[Array, list[Any]] | None:
    """Return the codes of the cells (−1 if empty) and the values, most frequent first."""
    if column.dtype.kind in "mM":
        return None
    is_number = holds_numbers(column.dtype)
    if not is_number:
        column = column.astype(str).where(column.notna())
    counts = column.value_counts().sort_index().sort_values(ascending=False, kind="stable")
    if len(counts) < 2 or counts.iloc[0] < 2 or (is_number and len(counts) > MAX_NUMBERS):
        return None
    return counts.index.get_indexer(pd.Index(column)), counts.index.tolist()


def _merge_rare(codes: Array) -> Array:
    """Give all rare values one code, and empty cells another."""
    return np.where(codes < 0, MISSING, np.minimum(codes, MAX_VALUES))


def _cross(codes: Array, labels: Array, count: int) -> dict[str, Any]:
    """Return the cross table of clusters and values, without empty cells."""
    is_present = codes >= 0
    merged, labels_present = _merge_rare(codes[is_present]), labels[is_present]
    width = min(count, MAX_VALUES + 1)
    numbers = np.unique(labels)
    clusters = [*numbers[numbers >= 0].tolist(), *numbers[numbers < 0].tolist()]
    place = np.searchsorted(numbers, labels_present) * width + merged
    table = np.bincount(place, minlength=len(numbers) * width).reshape(len(numbers), width)
    table = np.roll(table, -int((numbers < 0).sum()), axis=0)  # "no cluster" comes last
    is_both = len(np.unique(labels_present)) > 1 and len(np.unique(codes[is_present])) > 1
    ari = adjusted_rand_score(codes[is_present], labels_present) if is_both else None
    return {
        "counts": np.bincount(merged, minlength=width).tolist(),
        "missing": int((~is_present).sum()),
        "clusters": clusters[:MAX_CLUSTERS],
        "cross": table[:MAX_CLUSTERS].tolist(),
        "moreClusters": max(0, len(clusters) - MAX_CLUSTERS),
        "ari": None if ari is None else float(ari),
    }
