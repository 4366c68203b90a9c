"""What displays share: axes, colours, the marks of points, and what a fitted model says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, get_tags

from softkern._colours import COLOURS

Array = NDArray[Any]

MARKERS = ("o", "s", "^", "D", "v", "P")  # a second sign, for more clusters than colours
MARGIN = 0.08  # of a feature's range, around the data
ALIKE = 3.0  # ranges of two features within this factor are drawn to one scale
BINS = (10, 60)  # fewest and most of a histogram


class Display:
    """What all displays share: axes to draw in, and what was drawn kept for the caller."""

    ax_: Any
    figure_: Any

    def _axes(self, ax: Any) -> Any:
        if ax is None:
            _, ax = pyplot().subplots(layout="constrained")
        self.ax_ = ax
        self.figure_ = ax.figure
        return ax


def pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "drawing needs matplotlib, which is not installed: pip install 'softkern[plot]'"
        ) from error
    return plt


# What a model says


def memberships_of(estimator: Any, X: Any) -> Array:
    """Of new points, (m, c); where a model has a typicality beside them, as levels cut that."""
    density = getattr(estimator, "one_class_", estimator)
    method = getattr(estimator, "typicality", None) or getattr(density, "memberships", None)
    if method is None:
        raise TypeError(f"{type(estimator).__name__} gives no memberships of new points.")
    values = np.asarray(method(X))
    return values.reshape(len(values), -1)


def training_memberships(estimator: Any) -> Array:
    for name in ("typicality_", "memberships_"):
        if hasattr(estimator, name):
            return np.asarray(getattr(estimator, name))
    raise TypeError(f"{type(estimator).__name__} has neither typicality_ nor memberships_.")


def own_level(estimator: Any) -> float | None:
    """The model's `alpha_`; None where it has none, or cuts nothing off."""
    alpha = getattr(estimator, "alpha_", None)
    return float(alpha) if alpha else None


def own_cut(estimator: Any) -> float | None:
    """The model's own level, or the one that rejects the share it takes for outliers."""
    share = getattr(estimator, "contamination", None)
    if hasattr(estimator, "alpha_") or not isinstance(share, float):
        return own_level(estimator)
    return float(np.quantile(training_memberships(estimator), share))


# Tables


def column_number(X: Any, values: Array, feature: int | str) -> int:
    """The number of a column given by number or name."""
    if isinstance(feature, str):
        known = list(getattr(X, "columns", []))
        if feature not in known:
            raise ValueError(f"X has no column {feature!r}; its columns are {known}.")
        return known.index(feature)
    if not 0 <= feature < values.shape[1]:
        raise ValueError(f"feature {feature!r} is asked for, but X has {values.shape[1]} columns.")
    return int(feature)


def column_name(X: Any, column: int) -> str:
    return str(X.columns[column]) if hasattr(X, "columns") else f"feature {column}"


def table_like(X: Any, rows: Array) -> Any:
    """Rows as the kind of table that X is, so that names go with them."""
    if not hasattr(X, "columns"):
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=list(X.columns))


def axis_values(values: Array, resolution: int) -> Array:
    """Evenly spaced coordinates over the range of the values and a little beyond."""
    low, high = values.min(), values.max()
    margin = MARGIN * (high - low) if high > low else 0.5
    return np.linspace(low - margin, high + margin, resolution)


@dataclass(frozen=True)
class Plane:
    """Two features of a table, and a grid over their range."""

    columns: tuple[int, int]
    names: tuple[str, str]
    points: Array  # (n, 2)
    x: Array  # (p,)
    y: Array  # (q,)
    grid: Any  # (q p, d), a table like the data; other features at their medians
    note: str

    @classmethod
    def of(
        cls, estimator: Any, X: Any, features: tuple[int | str, int | str], resolution: int
    ) -> Plane:
        """For a fitted model with features to draw over."""
        if get_tags(estimator).input_tags.pairwise:
            raise ValueError("a model of a precomputed kernel has no features to draw over.")
        values = check_array(X)
        i, j = (column_number(X, values, feature) for feature in features)
        if i == j:
            raise ValueError(f"features={features!r} are one and the same column; give two.")
        x, y = (axis_values(values[:, k], resolution) for k in (i, j))
        grid = np.tile(np.median(values, axis=0), (x.size * y.size, 1)).astype(values.dtype)
        grid[:, i], grid[:, j] = (part.ravel() for part in np.meshgrid(x, y))
        names = (column_name(X, i), column_name(X, j))
        note = "other features at their medians" if values.shape[1] > 2 else ""
        return cls((i, j), names, values[:, [i, j]], x, y, table_like(X, grid), note)


# Ink


def light_greys() -> Any:
    """White to mid-grey: a ground on which every colour of the points can be read."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("softkern", ["white", "0.5"])


def scatter_points(ax: Any, points: Array, labels: Array | None, size: float | None) -> None:
    """The points, coloured by label; noise as crosses, beneath the clusters."""
    if size is None:
        size = float(np.clip(10_000 / len(points), 1.5, 14))
    if labels is None:
        labels = np.zeros(len(points), dtype=int)
    is_noise = np.asarray(labels == -1)
    kinds = np.unique(labels[~is_noise]).tolist()
    is_detector = kinds in ([], [1])  # scikit-learn's outlier detectors say 1 and −1
    if is_noise.any():
        name = "outliers" if is_detector else "noise"
        style = {"marker": "x", "color": "black", "linewidths": 0.7, "alpha": 0.5}
        ax.scatter(*points[is_noise].T, s=1.2 * size, label=name, zorder=1, **style)
    for place, kind in enumerate(kinds):
        # A cluster keeps its colour when a lower one has no points here.
        k = kind if isinstance(kind, int) and not is_detector else place
        style = {"color": COLOURS[k % len(COLOURS)], "edgecolors": "white"}
        style["linewidths"] = 0.25 if size > 4 else 0.0
        style["marker"] = MARKERS[k // len(COLOURS) % len(MARKERS)]
        name = str(kind) if len(kinds) > 1 else "_"
        ax.scatter(*points[labels == kind].T, s=size, label=name, zorder=2, **style)
