"""Shared by all displays: axes, features by name, grids over two features, scatter plots."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array, get_tags

from softkern._utils.colors import COLORS
from softkern._utils.typing import Array
from softkern.fitted import fitted_step

MARKERS = ("o", "s", "^", "D", "v", "P")  # for more clusters than colors
MARGIN = 0.08  # around the data, relative to the range of a feature
SIMILAR = 3.0  # two features share a scale if their ranges differ by less than this factor

Features = tuple[int | str, int | str]


class Display:
    """Base class: creates axes, and stores them for the caller."""

    ax_: Any
    figure_: Any

    def _axes(self, ax: Any) -> Any:
        if ax is None:
            _, ax = pyplot().subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


@dataclass(eq=False, repr=False)
class PlaneDisplay(Display):
    """Base class of displays over two features: a grid of values below the samples."""

    x: Array  # (p,)
    y: Array  # (q,)
    _: KW_ONLY
    points: Array | None = None  # (n, 2)
    labels: Array | None = None  # (n,)
    names: tuple[str, str] = ("feature 0", "feature 1")
    note: str = ""

    def _draw_points(self, ax: Any, size: float | None) -> None:
        if self.points is not None:
            scatter_points(ax, self.points, self.labels, size)

    def _finish(self, ax: Any, legend: bool) -> None:
        """Set scale, labels, limits, note and legend."""
        set_aspect(ax, np.ptp(self.x), np.ptp(self.y))
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.set(xlim=self.x[[0, -1]], ylim=self.y[[0, -1]])
        ax.text(0.99, 0.01, self.note, transform=ax.transAxes, ha="right", fontsize="small")
        if legend:
            legend_above(ax, markerscale=1.5)


def make_plane(
    estimator: Any, X: Any, y: Any, features: Features, resolution: int
) -> tuple[Any, Any, dict[str, Any]]:
    """Return a fitted model, its inputs on a grid, and the fields of a `PlaneDisplay`.

    The estimator may be a pipeline that ends in the model. The grid (q p, d) has the other features
    at their medians. Labels are y, or the predicted ones for None.
    """
    model, transform = fitted_step(estimator)
    if get_tags(estimator).input_tags.pairwise:
        raise ValueError("a model with a precomputed kernel has no features to plot.")
    values = check_array(X)
    (i, j), names = select_features(X, values, features)
    if i == j:
        raise ValueError(f"features={features!r} are the same column. Choose two.")
    points = values[:, [i, j]]
    low, high = points.min(axis=0), points.max(axis=0)
    margin = np.where(high > low, MARGIN * (high - low), 0.5)
    xs, ys = np.linspace(low - margin, high + margin, resolution, axis=1)
    grid: Any = np.tile(np.median(values, axis=0), (xs.size * ys.size, 1)).astype(values.dtype)
    grid[:, i], grid[:, j] = (part.ravel() for part in np.meshgrid(xs, ys))
    if hasattr(X, "columns"):
        import pandas as pd

        grid = pd.DataFrame(grid, columns=list(X.columns))
    labels = np.asarray(model.predict(transform(X)) if y is None else y)
    note = "other features at their medians" if values.shape[1] > 2 else ""
    fields = {"x": xs, "y": ys, "points": points, "labels": labels}
    return model, transform(grid), fields | {"names": names, "note": note}


def select_features(
    X: Any, values: Array, features: Features
) -> tuple[tuple[int, int], tuple[str, str]]:
    """Return the positions and the names of two features given by position or name."""
    columns = list(getattr(X, "columns", []))
    positions = []
    for feature in features:
        if isinstance(feature, str):
            if feature not in columns:
                raise ValueError(f"X has no column {feature!r}. Its columns are {columns}.")
            feature = columns.index(feature)
        if not 0 <= feature < values.shape[1]:
            raise ValueError(f"features={features!r}, but X has {values.shape[1]} columns.")
        positions.append(int(feature))
    i, j = positions
    one, two = (str(columns[k]) if columns else f"feature {k}" for k in (i, j))
    return (i, j), (one, two)


# Drawing


def pyplot() -> Any:
    """Import matplotlib.pyplot."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'softkern[plot]'") from error
    return plt


def color_of(cluster: int) -> str:
    """Return the color of a cluster. Colors repeat."""
    return COLORS[cluster % len(COLORS)]


def light_grays() -> Any:
    """Return a color map from white to mid-gray, on which all cluster colors are visible."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("softkern", ["white", "0.5"])


def set_aspect(ax: Any, *spans: float) -> None:
    """Use one scale for both axes if their ranges are similar."""
    ax.set_aspect("equal" if max(spans) < SIMILAR * min(spans) else "auto")


def legend_above(ax: Any, **options: Any) -> None:
    """Put a legend above the axes, if there are labels."""
    if ax.get_legend_handles_labels()[0]:
        above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 5}
        ax.legend(fontsize="small", frameon=False, handletextpad=0.4, **above, **options)


def scatter_points(ax: Any, points: Array, labels: Array | None, size: float | None) -> None:
    """Draw the points, colored by label, with noise as crosses below them."""
    if size is None:
        size = float(np.clip(10_000 / len(points), 1.5, 14))
    if labels is None:
        labels = np.zeros(len(points), dtype=int)
    is_noise = np.asarray(labels == -1)
    kinds = np.unique(labels[~is_noise]).tolist()
    is_detector = kinds in ([], [1])  # scikit-learn's outlier detectors return 1 and −1
    if is_noise.any():
        name = "outliers" if is_detector else "in no cluster"
        style = {"marker": "x", "color": "black", "linewidths": 0.7, "alpha": 0.5}
        ax.scatter(*points[is_noise].T, s=1.2 * size, label=name, zorder=1, **style)
    for place, kind in enumerate(kinds):
        # colors depend on the label, not on which labels are present
        k = kind if isinstance(kind, int) and not is_detector else place
        style = {"color": color_of(k), "marker": MARKERS[k // len(COLORS) % len(MARKERS)]}
        style |= {"edgecolors": "white", "linewidths": 0.25 if size > 4 else 0.0}
        name = str(kind) if len(kinds) > 1 else "_"
        ax.scatter(*points[labels == kind].T, s=size, label=name, zorder=2, **style)
