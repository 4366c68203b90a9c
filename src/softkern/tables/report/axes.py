"""Axes of the page's scatter plot: columns, and views that show many columns in two dimensions.

A view is a pair of axes: discriminant directions, principal components, the eigenspace of spectral
models, or a neighbor map (see `directions`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from softkern._utils.typing import Array
from softkern.tables.explain.clusters import holds_numbers
from softkern.tables.report.directions import projections, separation_by_column
from softkern.tables.report.packing import pack, shorten

if TYPE_CHECKING:
    from softkern.tables.report.data import Drawn

MIN_FEATURES = 24  # columns offered as axes, however many rows are drawn
MAX_VALUES = 250_000  # values of all columns offered as axes (1.3 megabytes)
TYPICALITY = 2  # place of typicality among the scores that `data.js` appends to the axes


def make_axes(drawn: Drawn, has_typicality: bool) -> dict[str, Any]:
    """Return the axes and views of the drawn rows, and the two axes to draw first."""
    X, rows, dates = drawn.X, drawn.rows, drawn.explainer.rows.dates
    most = max(MIN_FEATURES, MAX_VALUES // max(len(rows), 1))
    first_columns = [list(X.columns).index(name) for name in drawn.features or ()]
    columns = _choose_columns(drawn, first_columns, most)
    axes = [_column_axis(X, k, rows) | {"isDate": k in dates} for k in columns]
    start = [columns.index(k) for k in first_columns] or list(range(min(2, X.shape[1])))
    views: list[dict[str, Any]] = []
    for one in projections(drawn):
        if one.shown:
            places = [len(axes) + k for k in one.shown]
            views.append({"name": one.view, "help": one.help, "axes": places})
        axes += map(_axis, one.names, one.values.T)
    if views and drawn.features is None:
        start = views[0]["axes"]
    others = [  # numeric columns that are no features
        k
        for k, (name, dtype) in enumerate(drawn.table.dtypes.items())
        if name not in X.columns and holds_numbers(dtype)
    ]
    axes += [_column_axis(drawn.table, k, rows) for k in others[:most]]
    return {
        "axes": axes,
        "views": views,
        "features": len(columns),
        "columns": X.shape[1],
        # a single column is drawn against typicality, where clusters are density peaks
        "start": [*start, len(axes) + (TYPICALITY if has_typicality else 0)][:2],
    }


def _choose_columns(drawn: Drawn, first_columns: list[int], most: int) -> list[int]:
    """Return the columns offered as axes: all, or those that separate the clusters best."""
    if drawn.X.shape[1] <= most:
        return list(range(drawn.X.shape[1]))
    values = np.nan_to_num(drawn.X.to_numpy(np.float64, na_value=np.nan))
    separation = separation_by_column(values, drawn.labels)
    separation[first_columns] = np.inf
    return sorted(np.argsort(-separation, kind="stable")[:most].tolist())


def _column_axis(table: pd.DataFrame, k: int, rows: Array) -> dict[str, Any]:
    values = table.iloc[rows, k].to_numpy(np.float64, na_value=np.nan)
    return _axis(shorten(table.columns[k]), values)


def _axis(name: str, values: Array) -> dict[str, Any]:
    """Return an axis whose values are centered and scaled, so that four bytes resolve them."""
    finite = values[np.isfinite(values)]
    base = float(np.median(finite)) if finite.size else 0.0
    reach = float(np.abs(finite / 2 - base / 2).max(initial=0.0))
    # a power of two, so that nothing is rounded twice
    unit = float(np.ldexp(1.0, min(int(np.frexp(reach)[1]) + 1, 1023))) if reach > 0 else 1.0
    return {"name": name, "base": base, "unit": unit, "values": pack(values / unit - base / unit)}
