"""The points that `rank_points` puts first, over two features, with their table beside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import check_array

from softkern._utils.colors import CUT
from softkern._utils.text import plural
from softkern._utils.typing import Array
from softkern.display._base import (
    Display,
    column_name,
    column_number,
    legend_above,
    pyplot,
    scatter_points,
    share_scale,
)
from softkern.ranking import rank_points

if TYPE_CHECKING:
    import pandas as pd

RING = {"s": 90, "facecolors": "none", "linewidths": 1.4, "zorder": 3}
KINDS = {"outlier": ("o", CUT), "overlap": ("D", "black")}  # mark and color
HEADINGS = ("", "row", "cluster", "score")
COLUMNS = (0.08, 0.42, 0.68, 0.92)  # right ends of the table's columns


class RankDisplay(Display):
    """The furthest points and the most shared ones, marked over two features, and their table.

    Parameters
    ----------
    table : DataFrame
        As `softkern.rank_points` gives it.
    points : array of shape (n, 2)
        Where to draw each row of the table.
    names : pair of str, default=("feature 0", "feature 1")
    n_top : int, default=8
        Points of each kind that are marked and listed.

    Attributes
    ----------
    ax_, figure_
        What was drawn into.
    table_ax_
        The table's axes, or None.

    Examples
    --------
    >>> from softkern import OneClassPCM
    >>> from softkern.datasets import make_gaussian_outliers
    >>> X, _ = make_gaussian_outliers(random_state=0)
    >>> model = OneClassPCM().fit(X)
    >>> display = RankDisplay.from_estimator(model, X)
    """

    table_ax_: Any

    def __init__(
        self,
        table: pd.DataFrame,
        points: Array,
        *,
        names: tuple[str, str] = ("feature 0", "feature 1"),
        n_top: int = 8,
    ) -> None:
        if len(table) != len(points):
            raise ValueError(
                f"the table has {len(table)} rows, but there are {len(points)} points."
            )
        if n_top < 0:
            raise ValueError(f"n_top={n_top!r} must not be negative.")
        self.table = table
        self.points = points
        self.names = names
        self.n_top = n_top

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        is_training: bool = True,
        features: tuple[int | str, int | str] = (0, 1),
        n_top: int = 8,
        contamination: float | None = None,
        ax: Any = None,
        **plot_options: Any,
    ) -> Self:
        """Rank the points of a fitted model, and draw.

        Parameters
        ----------
        estimator : fitted soft model, or a pipeline that ends in one
        X : array or DataFrame of shape (n, d)
            The points to draw.
        is_training : bool, default=True
            Whether X is what the model was fitted to; otherwise the points are new ones.
        features : pair of int or str, default=(0, 1)
            The two columns, by number or by name.
        n_top : int, default=8
            Points of each kind that are marked and listed.
        contamination : float in (0, 0.5], default=None
            As in `softkern.rank_points`.
        ax : matplotlib Axes, default=None
        **plot_options
            Passed on to `plot`.

        Returns
        -------
        display : RankDisplay
        """
        values = check_array(X)
        i, j = (column_number(X, values, feature) for feature in features)
        table = rank_points(estimator, None if is_training else X, contamination=contamination)
        if len(table) != len(values):
            raise ValueError(
                f"the model was fitted to {len(table)} points, and X has {len(values)}; give "
                "is_training=False for new points."
            )
        if hasattr(X, "columns"):
            table.index = X.index
        names = (column_name(X, i), column_name(X, j))
        display = cls(table, values[:, [i, j]], names=names, n_top=n_top)
        return display.plot(ax, **plot_options)

    def top(self, kind: str) -> Array:
        """Places of the first flagged points of a kind, "outlier" or "overlap", by rank."""
        flagged = np.flatnonzero(self.table[f"is_{kind}"])
        ranks = self.table[f"{kind}_rank"].to_numpy()[flagged]
        return np.asarray(flagged[np.argsort(ranks, kind="stable")][: self.n_top])

    def plot(self, ax: Any = None, *, table_ax: Any = None, size: float | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        table_ax : matplotlib Axes, default=None
            For the table. Without axes a figure is made for both; where only `ax` is given, the
            table is left out.
        size : float, default=None
            Area of a point, as in matplotlib's scatter; by default the smaller, the more points.
        """
        if ax is None and table_ax is None:
            shape = {"figsize": (9.5, 5.5), "width_ratios": [2, 1], "layout": "constrained"}
            _, (ax, table_ax) = pyplot().subplots(1, 2, **shape)
        ax = self._axes(ax)
        self.table_ax_ = table_ax
        labels = self.table["label"].to_numpy()
        scatter_points(ax, self.points, labels, size)
        for kind, (marker, color) in KINDS.items():
            self._mark(ax, kind, marker, color)
        share_scale(ax, *np.ptp(self.points, axis=0))
        ax.margins(0.08)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        legend_above(ax)
        if table_ax is not None:
            self._write_table(table_ax)
        return self

    def _mark(self, ax: Any, kind: str, marker: str, color: str) -> None:
        places = self.top(kind)
        if not places.size:
            return
        total = int(self.table[f"is_{kind}"].sum())
        name = f"{kind}s" if total == places.size else f"first {places.size} of {total} {kind}s"
        ax.scatter(*self.points[places].T, marker=marker, edgecolors=color, label=name, **RING)
        for place in places:
            ax.annotate(
                str(self.table[f"{kind}_rank"].iloc[place]),
                self.points[place],
                xytext=(6, 4),
                textcoords="offset points",
                color=color,
                fontsize="small",
                zorder=4,
            )

    def _write_table(self, panel: Any) -> None:
        """Both lists, one beneath the other."""
        panel.set(xlim=(0, 1), ylim=(0, 1))
        panel.set_axis_off()
        blocks = [(kind, self.top(kind)) for kind in KINDS]
        lines = sum(len(places) + 3 for _, places in blocks)
        step = 1 / max(lines, 14)
        y = 1.0
        for kind, places in blocks:
            color = KINDS[kind][1]
            total = int(self.table[f"is_{kind}"].sum())
            title = f"{plural(total, kind)} of {len(self.table):,} points"
            panel.text(0, y, title, color=color, weight="bold", va="top")
            rows = [HEADINGS] if places.size else []
            rows += [self._row(kind, place) for place in places]
            for row in rows:
                y -= step
                for x, text in zip(COLUMNS, row, strict=True):
                    panel.text(x, y, text, ha="right", va="top", fontsize="small")
            y -= 2 * step

    def _row(self, kind: str, place: int) -> tuple[str, str, str, str]:
        row = self.table.iloc[place]
        name = str(self.table.index[place])
        name = name if len(name) <= 10 else f"{name[:9]}…"
        label = "none" if row["label"] < 0 else str(row["label"])
        return str(row[f"{kind}_rank"]), name, label, f"{row[f'{kind}_score']:.2f}"
