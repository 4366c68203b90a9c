"""What displays share: axes, tables, planes and the marks of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array, get_tags

from softkern._utils.colors import COLORS
from softkern._utils.typing import Array
from softkern.fitted import fitted_step

MARKERS = ("o", "s", "^", "D", "v", "P")  # a second sign, for more clusters than colors
MARGIN = 0.08  # of a feature's range, around the data
ALIKE = 3.0  # ranges of two features within this factor are drawn to one scale


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


class PlaneDisplay(Display):
    """What is drawn over two features: a grid of values beneath the points."""

    x: Array  # (p,)
    y: Array  # (q,)
    points: Array | None
    labels: Array | None
    names: tuple[str, str]
    note: str

    def _finish(self, ax: Any, legend: bool) -> None:
        """Scale, names, limits, note and legend."""
        share_scale(ax, np.ptp(self.x), np.ptp(self.y))
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.set(xlim=self.x[[0, -1]], ylim=self.y[[0, -1]])
        ax.text(0.99, 0.01, self.note, transform=ax.transAxes, ha="right", fontsize="small")
        if legend:
            legend_above(ax, markerscale=1.5)


def pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "drawing needs matplotlib, which is not installed: pip install 'softkern[plot]'"
        ) from error
    return plt


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
    """Two features of a table, a grid over their range, and the model that is drawn there."""

    model: Any
    seen: Any  # (n, d'), the data as the model sees them
    grid: Any  # (q p, d'), the grid as the model sees it; other features at their medians
    x: Array  # (p,)
    y: Array  # (q,)
    points: Array  # (n, 2)
    names: tuple[str, str]
    note: str

    @classmethod
    def of(
        cls, estimator: Any, X: Any, features: tuple[int | str, int | str], resolution: int
    ) -> Plane:
        """For a fitted model with features to draw over, or a pipeline that ends in one."""
        model, before = fitted_step(estimator)
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
        grid = before(table_like(X, grid))
        return cls(model, before(X), grid, x, y, values[:, [i, j]], names, note)

    def surface(self, values: Any) -> Array:
        """Values of the grid's points as a table of its rows, (q, p, c)."""
        return np.asarray(values).reshape(self.y.size, self.x.size, -1)

    def drawn(self, y: Any) -> dict[str, Any]:
        """What a display keeps: the points, their labels (by default the model's) and names."""
        labels = np.asarray(self.model.predict(self.seen) if y is None else y)
        return {"points": self.points, "labels": labels, "names": self.names, "note": self.note}


# Ink


def share_scale(ax: Any, *spans: float) -> None:
    """One scale for both axes where their ranges are alike."""
    ax.set_aspect("equal" if max(spans) < ALIKE * min(spans) else "auto")


def legend_above(ax: Any, **options: Any) -> None:
    """A legend above the picture, where there is anything to name."""
    if ax.get_legend_handles_labels()[0]:
        above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 5}
        ax.legend(fontsize="small", frameon=False, handletextpad=0.4, **above, **options)


def scale_of_shades(ax: Any, shades: Any, label: str) -> Any:
    """A color scale beside the picture; its axes."""
    # Inside the axes' own box, so that it is as high as the picture whatever the aspect.
    strip = ax.inset_axes([1.02, 0, 0.04, 1])
    ax.figure.colorbar(shades, cax=strip, label=label)
    return strip


def light_grays() -> Any:
    """White to mid-gray: a ground on which every color of the points can be read."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("softkern", ["white", "0.5"])


def scatter_points(ax: Any, points: Array, labels: Array | None, size: float | None) -> None:
    """The points, colored by label; noise as crosses, beneath the clusters."""
    if size is None:
        size = float(np.clip(10_000 / len(points), 1.5, 14))
    if labels is None:
        labels = np.zeros(len(points), dtype=int)
    is_noise = np.asarray(labels == -1)
    kinds = np.unique(labels[~is_noise]).tolist()
    is_detector = kinds in ([], [1])  # scikit-learn's outlier detectors say 1 and −1
    if is_noise.any():
        name = "outliers" if is_detector else "in no cluster"
        style = {"marker": "x", "color": "black", "linewidths": 0.7, "alpha": 0.5}
        ax.scatter(*points[is_noise].T, s=1.2 * size, label=name, zorder=1, **style)
    for place, kind in enumerate(kinds):
        # A cluster keeps its color when a lower one has no points here.
        k = kind if isinstance(kind, int) and not is_detector else place
        style = {"color": COLORS[k % len(COLORS)], "edgecolors": "white"}
        style["linewidths"] = 0.25 if size > 4 else 0.0
        style["marker"] = MARKERS[k // len(COLORS) % len(MARKERS)]
        name = str(kind) if len(kinds) > 1 else "_"
        ax.scatter(*points[labels == kind].T, s=size, label=name, zorder=2, **style)
