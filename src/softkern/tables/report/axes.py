"""Axes of the page's scatter plot: columns, and views that show many columns in two dimensions.

A view is a pair of axes: discriminant directions, principal components, the eigenspace of spectral
models, or a neighbor map (see `directions`).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from softkern._utils.typing import Array
from softkern.fitted import choice_of, with_tree
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
from softkern.tables.report.packing import holds_numbers, pack, shorten

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MIN_FEATURES", "make_axes"]

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


def make_axes(
    model: Any,
    X: pd.DataFrame,
    table: pd.DataFrame,
    features: Array,
    rows: Array,
    is_typical: Array,
    labels: Array,
    first_columns: tuple[str, str] | None,
    dates: Set[int],
    has_typicality: bool,
    random_state: int,
) -> dict[str, Any]:
    """Return the axes and views of the drawn rows, and the two axes to draw first.

    `features` are the values that the model was fitted on, (n, d). `is_typical` marks the drawn
    rows that directions may be computed from, (m,).
    """
    columns = _choose_columns(X, labels, first_columns, len(rows))
    collected = _Axes(
        [
            _axis(shorten(X.columns[k]), _numbers(X.iloc[rows, k])) | {"isDate": k in dates}
            for k in columns
        ]
    )
    axes = collected.axes
    start = [columns.index(list(X.columns).index(name)) for name in first_columns or ()]
    if features.shape[1] > 2:
        names = list(X.columns) if features.shape[1] == X.shape[1] else []
        values = features[rows]
        drawn = _add_directions(
            collected, model, values, names, is_typical, labels[rows], bool(start), random_state
        )
        start = start or drawn
    projections = getattr(model, "projections_", None)
    if projections is not None and np.shape(projections)[0] == len(X):
        values = np.asarray(projections, dtype=np.float64).reshape(len(X), -1)
        values = values[rows, :MAX_COMPONENTS]
        if values.shape[1] > 1 and first_columns is None:
            start = [len(axes), len(axes) + 1]
        names = [f"eigenspace {k + 1}" for k in range(values.shape[1])]
        collected.add_view("eigenspace", "coordinates in which the model clusters", values, names)
    for k in _other_numeric_columns(X, table, len(rows)):
        axes.append(_axis(shorten(table.columns[k]), _numbers(table.iloc[rows, k])))
    start = start or list(range(min(2, X.shape[1])))
    return {
        "axes": axes,
        "views": collected.views,
        "features": len(columns),
        "columns": X.shape[1],
        # a single column is drawn against typicality, where clusters are density peaks
        "start": [*start, len(axes) + (TYPICALITY if has_typicality else 0)][:2],
    }


def _add_directions(
    collected: _Axes,
    model: Any,
    values: Array,
    names: Sequence[Any],
    is_typical: Array,
    labels: Array,
    has_start: bool,
    random_state: int,
) -> list[int]:
    """Add discriminant directions, components and a neighbor map; return the first two axes."""
    is_inner = inner_rows(values, is_typical)
    scaled = standardize(values, is_inner)
    first = len(collected.axes)
    across = np.empty((len(values), 0))
    if choice_of(model) is not None and with_tree(model) is None:
        # clusters of `softkern.cluster` differ along directions that components need not show
        across = discriminant_directions(scaled, np.where(is_inner, labels, -1))
    components, shares = principal_components(scaled, is_inner, random_state)
    start = [first + k for k in first_two_directions(across[is_inner], components[is_inner])]
    across_names, component_names = (
        name_directions(found, scaled, is_inner, names) for found in (across, components)
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
    if across.shape[1] == 1 and not has_start:
        help_text = "the direction that separates the clusters best, and a principal component"
        collected.views.insert(0, {"name": "across the clusters", "help": help_text, "axes": start})
    if values.shape[1] > MAP_COLUMNS:
        coordinates, help_text = neighbor_map(scaled, is_typical, random_state)
        map_names = [f"neighbor map {k + 1}" for k in range(coordinates.shape[1])]
        collected.add_view("neighbor map", help_text, coordinates, map_names)
    return start


def _choose_columns(
    X: pd.DataFrame, labels: Array, first_columns: tuple[str, str] | None, n_rows: int
) -> list[int]:
    """Return the columns offered as axes: all, or those that separate the clusters best."""
    most = max(MIN_FEATURES, MAX_VALUES // max(n_rows, 1))
    if X.shape[1] <= most:
        return list(range(X.shape[1]))
    values = np.nan_to_num(X.to_numpy(np.float64, na_value=np.nan))
    separation = separation_by_column(values, labels)
    separation[[list(X.columns).index(name) for name in first_columns or ()]] = np.inf
    return sorted(np.argsort(-separation, kind="stable")[:most].tolist())


def _other_numeric_columns(X: pd.DataFrame, table: pd.DataFrame, n_rows: int) -> list[int]:
    """Return numeric columns of the table that are not features, as many as features at most."""
    most = max(MIN_FEATURES, MAX_VALUES // max(n_rows, 1))
    features = set(X.columns)
    return [
        k
        for k, (name, kind) in enumerate(table.dtypes.items())
        if name not in features and holds_numbers(kind)
    ][:most]


def _numbers(column: pd.Series[Any]) -> Array:
    return column.to_numpy(np.float64, na_value=np.nan)


def _axis(name: str, values: Array) -> dict[str, Any]:
    """Return an axis whose values are centered and scaled, so that four bytes resolve them."""
    finite = values[np.isfinite(values)]
    base = float(np.median(finite)) if finite.size else 0.0
    reach = float(np.abs(finite / 2 - base / 2).max(initial=0.0))
    # a power of two, so that nothing is rounded twice
    unit = float(np.ldexp(1.0, min(int(np.frexp(reach)[1]) + 1, 1023))) if reach > 0 else 1.0
    return {"name": name, "base": base, "unit": unit, "values": pack(values / unit - base / unit)}
