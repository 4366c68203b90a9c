"""The user's table: cells of the listed rows, and categorical columns such as known labels.

Rows are colored by categorical columns, and clusters are compared with them. The cross table of
clusters and values counts all rows. The adjusted Rand index measures their agreement.
"""

from __future__ import annotations

import math
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from softkern._utils.typing import Array
from softkern.tables.explain.clusters import holds_numbers
from softkern.tables.report.packing import pack, shorten

MAX_LISTED = 300  # columns of the cells
MAX_LENGTH = 200  # characters of a cell
MAX_VALUES = 36  # values of a column with a separate mark
MAX_NUMBERS = 12  # distinct values up to which a numeric column is categorical
MAX_COLUMNS = 100  # categorical columns
MAX_CLUSTERS = 60  # rows of a cross table
MISSING = 255  # code of an empty cell


def listed_cells(table: pd.DataFrame, rows: Array, places: list[int]) -> dict[str, Any]:
    """Return cells of some of the drawn rows: numbers, text, or None for an empty cell."""
    part = table.iloc[rows[places], :MAX_LISTED]
    columns = [_cells(column) for _, column in part.items()]
    return {
        "columns": [shorten(name) for name in part.columns],
        "more": max(0, table.shape[1] - MAX_LISTED),
        "rows": {str(place): [column[k] for column in columns] for k, place in enumerate(places)},
    }


def _cells(column: pd.Series[Any]) -> list[Any]:
    """Return cells as JSON can hold them, where no number is infinite."""
    if holds_numbers(column.dtype):
        values = column.to_numpy(np.float64, na_value=np.nan).tolist()
        return [str(x) if math.isinf(x) else None if math.isnan(x) else x for x in values]
    cells = zip(column.tolist(), column.isna(), strict=True)
    return [None if is_empty else shorten(value, MAX_LENGTH) for value, is_empty in cells]


def categorical_columns(table: pd.DataFrame, rows: Array, labels: Array) -> list[dict[str, Any]]:
    """Return the categorical columns of the table with their most frequent values.

    Each has `values`, their `counts` in all rows, the `codes` of the drawn `rows` (one code for all
    rare values), the cross table `clusters` × values, and the adjusted Rand index `ari`, None
    without two clusters. Columns with one value, or without repeated values, are left out.
    """
    named = ((name, _codes(column)) for name, column in table.items())
    found = ((name, *coded) for name, coded in named if coded is not None)
    return [
        {"name": shorten(name), **_cross(codes, values, rows, labels)}
        for name, codes, values in islice(found, MAX_COLUMNS)
    ]


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


def _cross(codes: Array, values: list[Any], rows: Array, labels: Array) -> dict[str, Any]:
    """Return the values of a column and their cross table with the clusters."""
    is_present = codes >= 0
    merged = np.minimum(codes, MAX_VALUES)  # one code for all rare values
    present, labels_present = merged[is_present], labels[is_present]
    width = min(len(values), MAX_VALUES + 1)
    numbers = sorted(np.unique(labels).tolist(), key=lambda k: (k < 0, k))  # no cluster comes last
    listed = numbers[:MAX_CLUSTERS]
    is_split = len(np.unique(labels_present)) > 1
    return {
        "values": [shorten(value, 40) for value in values[:MAX_VALUES]],
        "rarer": max(0, len(values) - MAX_VALUES),
        "codes": pack(np.where(is_present, merged, MISSING)[rows], np.uint8),
        "counts": np.bincount(present, minlength=width).tolist(),
        "missing": int((~is_present).sum()),
        "clusters": listed,
        "cross": [
            np.bincount(present[labels_present == k], minlength=width).tolist() for k in listed
        ],
        "moreClusters": len(numbers) - len(listed),
        "ari": adjusted_rand_score(codes[is_present], labels_present) if is_split else None,
    }
