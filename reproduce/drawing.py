"""Draw the papers' figures without a window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["draw_outlier_weights", "draw_scores", "panels", "set_title"]

WIDTH, HEIGHT = 5.0, 4.4  # size of a panel in inches
LEGEND_LINE = 0.07  # height of a legend line, relative to the panel
GROUP = 0.8  # width of the boxes at one parameter value; the values are 1 apart
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")  # Okabe and Ito


def panels(
    rows: int = 1, columns: int = 1, width: float = WIDTH, height: float = HEIGHT
) -> tuple[Any, Any]:
    """Return a figure and its axes (one, or an array of them)."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SystemExit("The figures need matplotlib: pip install 'softkern[plot]'") from error
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns)


def set_title(ax: Any, title: str, lines: int = 1) -> None:
    """Set a title above a legend of so many lines that stands on top of the panel."""
    ax.set_title(title, y=1 + LEGEND_LINE * lines if lines else None, fontsize="medium")


def draw_scores(
    ax: Any,
    scores: Mapping[str, Mapping[float, Any]],
    xlabel: str = "",
    ylabel: str = "score",
    *,
    kind: str = "boxes",
) -> None:
    """Draw scores of several methods over the values of a parameter.

    Values are evenly spaced, as in the figures of the 2010 paper. A line marks zero if there are
    negative scores.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes to draw into.
    scores : dict of str to dict of float to array
        By method, then by parameter value: one score per draw.
    xlabel, ylabel : str
        Labels of the axes.
    kind : {"boxes", "lines"}, default="boxes"
        Box plots side by side, or means with a band between the quartiles.
    """
    values = sorted({value for row in scores.values() for value in row})
    width = GROUP / len(scores)
    for i, (name, row) in enumerate(scores.items()):
        color, places = COLORS[i % len(COLORS)], [values.index(value) for value in row]
        draws = [np.asarray(values, dtype=np.float64) for values in row.values()]
        if kind == "lines":
            low, high = np.array([np.quantile(drawn, [0.25, 0.75]) for drawn in draws]).T
            means = [drawn.mean() for drawn in draws]
            ax.plot(places, means, "o-", color=color, markersize=4, label=name)
            ax.fill_between(places, low, high, color=color, alpha=0.2, linewidth=0)
            continue
        boxes = ax.boxplot(
            draws,
            positions=[place + (i + 0.5) * width - GROUP / 2 for place in places],
            widths=0.85 * width,
            patch_artist=True,
            manage_ticks=False,
            medianprops={"color": "black", "linewidth": 1.4},
            flierprops={"marker": ".", "markersize": 3, "markeredgecolor": "0.5"},
        )
        for box in boxes["boxes"]:
            box.set(facecolor=color, alpha=0.75)
        ax.plot([], [], "s", color=color, alpha=0.75, label=name)
    if any(np.min(drawn) < 0 for row in scores.values() for drawn in row.values()):
        ax.axhline(0, color="0.4", linewidth=0.8, zorder=0)
    ax.set_xticks(range(len(values)), [f"{value:g}" for value in values])
    ax.set(xlabel=xlabel, ylabel=ylabel)
    if len(scores) > 1:
        _legend_above(ax)


def draw_outlier_weights(ax: Any, model: Any, X: Any) -> None:
    """Draw lines of equal outlier weight of a fitted model and the points by cluster.

    Figures 4, 5 and 10 of the 2004 paper look like this.
    """
    margin = 0.08 * np.ptp(X, axis=0)
    x, y = np.linspace(X.min(axis=0) - margin, X.max(axis=0) + margin, 100).T
    grid = np.column_stack([part.ravel() for part in np.meshgrid(x, y)])
    weights = model.outlier_weights(grid).reshape(len(y), len(x))
    shades = ax.contourf(x, y, weights, 8, cmap="Greys", alpha=0.5, zorder=0)
    lines = ax.contour(x, y, weights, shades.levels, colors="0.35", linewidths=0.7, zorder=1)
    ax.clabel(lines, fontsize="x-small", fmt="%.3g")
    labels = model.predict(X)
    for k in range(model.n_clusters_):
        style = {"s": 14, "color": COLORS[k], "edgecolors": "white", "linewidths": 0.25}
        ax.scatter(*X[labels == k].T, label=str(k), zorder=2, **style)
    ax.set(aspect="equal", xlabel="feature 0", ylabel="feature 1", xlim=x[[0, -1]], ylim=y[[0, -1]])
    ax.figure.colorbar(shades, cax=ax.inset_axes([1.02, 0, 0.04, 1]), label="outlier weight")
    _legend_above(ax)


def _legend_above(ax: Any) -> None:
    place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 5}
    ax.legend(fontsize="small", frameon=False, handletextpad=0.4, **place)
