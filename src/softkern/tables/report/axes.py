"""Axes of the page's scatter plot: columns, and views that show many columns in two dimensions.

A view is a pair of axes: discriminant directions, principal components, the eigenspace of spectral
models, or a neighbor map (see `directions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from softkern._utils.typing import Array
from softkern.fitted import choice_of, with_tree
from softkern.tables.explain.clusters import holds_numbers
from softkern.tables.report.directions import (
    MAX_COMPONENTS,
    discriminant_directions,
    first_two_directions,
    inner_rows,
    name_directions,
    neighbor_map,
    principal_components,
    separation_by_column,
    standardize,
)
from softkern.tables.report.packing import pack, shorten

if TYPE_CHECKING:
    from softkern.tables.report.data import Drawn

MIN_FEATURES = 24  # columns offered as axes, however many rows are drawn
MAX_VALUES = 250_000  # values of all columns offered as axes (1.3 megabytes)
TYPICALITY = 2  # place of typicality among the scores that `data.js` appends to the axes
MAP_COLUMNS = 3  # a neighbor map is drawn for more columns


@dataclass
class _Axes:
    """Axes and views collected so far."""

    axes: list[dict[str, Any]] = field(default_factory=list)
    views: list[dict[str, Any]] = field(default_factory=list)

    def add_view(self, name: str, help_text: str, values: Array, names: Sequence[str]) -> None:
        """Append one axis per column of `values`, and a view of the first two."""
        if values.shape[1] > 1:
            first = len(self.axes)
            self.views.append({"name": name, "help": help_text, "axes": [first, first + 1]})
        self.axes.extend(_axis(*pair) for pair in zip(names, values.T, strict=True))


def make_axes(drawn: Drawn, has_typicality: bool) -> dict[str, Any]:
    """Return the axes and views of the drawn rows, and the two axes to draw first."""
    X, rows = drawn.X, drawn.rows
    most = max(MIN_FEATURES, MAX_VALUES // max(len(rows), 1))
    first_columns = [list(X.columns).index(name) for name in drawn.features or ()]
    columns = _choose_columns(drawn, first_columns, most)
    collected = _Axes()
    axes = collected.axes
    for k in columns:
        axes.append(_column_axis(X, k, rows) | {"isDate": k in drawn.dates})
    start = [columns.index(k) for k in first_columns]
    if drawn.values.shape[1] > 2:
        directions = _add_directions(collected, drawn)
        start = start or directions
    projections = getattr(drawn.model, "projections_", None)
    if projections is not None and np.shape(projections)[0] == len(X):
        values = np.asarray(projections, dtype=np.float64).reshape(len(X), -1)
        values = values[rows, :MAX_COMPONENTS]
        if values.shape[1] > 1 and drawn.features is None:
            start = [len(axes), len(axes) + 1]
        names = [f"eigenspace {k + 1}" for k in range(values.shape[1])]
        collected.add_view("eigenspace", "coordinates in which the model clusters", values, names)
    others = [  # numeric columns that are no features
        k
        for k, (name, dtype) in enumerate(drawn.table.dtypes.items())
        if name not in X.columns and holds_numbers(dtype)
    ]
    axes.extend(_column_axis(drawn.table, k, rows) for k in others[:most])
    start = start or list(range(min(2, X.shape[1])))
    return {
        "axes": axes,
        "views": collected.views,
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


def _add_directions(collected: _Axes, drawn: Drawn) -> list[int]:
    """Add discriminant directions, components and a neighbor map; return the first two axes."""
    values = drawn.values[drawn.rows]
    columns = list(drawn.X.columns) if values.shape[1] == drawn.X.shape[1] else []
    is_inner = inner_rows(values, drawn.is_typical)
    scaled = standardize(values, is_inner)
    first = len(collected.axes)
    across = np.empty((len(values), 0))
    if choice_of(drawn.model) is not None and with_tree(drawn.model) is None:
        # clusters of `softkern.cluster` differ along directions that components need not show
        labels = drawn.labels[drawn.rows]
        across = discriminant_directions(scaled, np.where(is_inner, labels, -1))
    components, shares = principal_components(scaled, is_inner, drawn.random_state)
    start = [first + k for k in first_two_directions(across[is_inner], components[is_inner])]
    if across.shape[1] == 1 and drawn.features is None:
        help_text = "the direction that separates the clusters best, and a principal component"
        collected.views.append({"name": "across the clusters", "help": help_text, "axes": start})
    across_names, component_names = (
        name_directions(found, scaled, is_inner, columns) for found in (across, components)
    )
    collected.add_view(
        "across the clusters",
        "directions that separate the clusters best, relative to their width",
        across,
        [f"across clusters {k + 1}{name}" for k, name in enumerate(across_names)],
    )
    collected.add_view(
        "principal components",
        "directions of the largest variance of the inner 98 % of the rows, with its share",
        components,
        [
            f"component {k + 1}, {round(100 * share)} %{name}"
            for k, (share, name) in enumerate(zip(shares, component_names, strict=True))
        ],
    )
    if values.shape[1] > MAP_COLUMNS:
        coordinates, help_text = neighbor_map(scaled, drawn.is_typical, drawn.random_state)
        names = [f"neighbor map {k + 1}" for k in range(coordinates.shape[1])]
        collected.add_view("neighbor map", help_text, coordinates, names)
    return start


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
