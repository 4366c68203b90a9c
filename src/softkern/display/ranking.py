"""Plot the top outliers and overlap points over two features, with a table beside."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import check_array

from softkern._utils.colors import CUT
from softkern._utils.text import plural
from softkern._utils.typing import Array
from softkern.display._base import (
    Display,
    Features,
    legend_above,
    pyplot,
    scatter_points,
    select_features,
    set_aspect,
)
from softkern.ranking import flagged_points, rank_points

if TYPE_CHECKING:
    import pandas as pd

RING = {"s": 90, "facecolors": "none", "linewidths": 1.4, "zorder": 3}
KINDS = {"outlier": ("o", CUT), "overlap": ("D", "black")}  # marker and color
HEADINGS = ("", "row", "cluster", "score")
COLUMNS = (0.08, 0.42, 0.68, 0.92)  # right edges of the table's columns


@dataclass(eq=False, repr=False)
class RankDisplay(Display):
    """The top outliers and overlap points over two features, with a table beside.

    Parameters
    ----------
    table : DataFrame
        Result of `softkern.rank_points`.
    points : array of shape (n_samples, 2)
        Positions of the rows of the table.
    names : pair of str, default=("feature 0", "feature 1")
        Labels of the axes.
    n_top : int, default=8
        Number of outliers, and of overlap points, to mark and list.

    Attributes
    ----------
    ax_, figure_
        The matplotlib axes and figure.
    table_ax_
        The axes of the table, or None.

    Examples
    --------
    >>> from softkern import OneClassPCM
    >>> from softkern.datasets import make_gaussian_outliers
    >>> X, _ = make_gaussian_outliers(random_state=0)
    >>> model = OneClassPCM().fit(X)
    >>> display = RankDisplay.from_estimator(model, X)
    """

    table: pd.DataFrame
    points: Array
    _: KW_ONLY
    names: tuple[str, str] = ("feature 0", "feature 1")
    n_top: int = 8

    def __post_init__(self) -> None:
        if len(self.table) != len(self.points):
            raise ValueError(
                f"the table has {len(self.table)} rows, but there are {len(self.points)} points."
            )
        if self.n_top < 0:
            raise ValueError(f"n_top={self.n_top!r} must not be negative.")
        self.table_ax_: Any = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        is_training: bool = True,
        features: Features = (0, 1),
        n_top: int = 8,
        contamination: float | None = None,
        ax: Any = None,
        **plot_options: Any,
    ) -> Self:
        """Rank the samples with a fitted model, and plot them.

        Parameters
        ----------
        estimator : fitted soft model, or a pipeline that ends in one
            Any model with `outlier_scores`, such as those of softkern.
        X : array or DataFrame of shape (n_samples, n_features)
            The samples to draw.
        is_training : bool, default=True
            Whether X is the training data.
        features : pair of int or str, default=(0, 1)
            The two columns, by position or name.
        n_top : int, default=8
            Number of outliers, and of overlap points, to mark and list.
        contamination : float in (0, 0.5], default=None
            Share of samples to flag as outliers, as in `softkern.rank_points`.
        ax : matplotlib Axes, default=None
            Axes to draw into. None creates a figure with a table.
        **plot_options
            Passed to `plot`.

        Returns
        -------
        display : RankDisplay
            The display, already drawn.
        """
        values = check_array(X)
        columns, names = select_features(X, values, features)
        table = rank_points(estimator, None if is_training else X, contamination=contamination)
        if len(table) != len(values):
            raise ValueError(
                f"the model was fitted to {len(table)} samples, but X has {len(values)}. Use "
                "is_training=False for new samples."
            )
        if hasattr(X, "columns"):
            table.index = X.index
        display = cls(table, values[:, columns], names=names, n_top=n_top)
        return display.plot(ax, **plot_options)

    def top(self, kind: str) -> Array:
        """Return the positions of the top flagged samples by rank.

        Parameters
        ----------
        kind : {"outlier", "overlap"}
            Which ranking to use.

        Returns
        -------
        positions : array of shape (at most n_top,)
            Positions in the table.
        """
        return flagged_points(self.table, kind)[: self.n_top]

    def plot(self, ax: Any = None, *, table_ax: Any = None, size: float | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into. None creates a figure with a table.
        table_ax : matplotlib Axes, default=None
            Axes of the table. Without it, the table is drawn only if `ax` is None as well.
        size : float, default=None
            Marker area as in matplotlib's `scatter`. None depends on the number of samples.

        Returns
        -------
        display : RankDisplay
            The display itself.
        """
        if ax is None and table_ax is None:
            shape = {"figsize": (9.5, 5.5), "width_ratios": [2, 1], "layout": "constrained"}
            _, (ax, table_ax) = pyplot().subplots(1, 2, **shape)
        ax = self._axes(ax)
        self.table_ax_ = table_ax
        scatter_points(ax, self.points, self.table["label"].to_numpy(), size)
        for kind in KINDS:
            self._mark(ax, kind)
        set_aspect(ax, *np.ptp(self.points, axis=0))
        ax.margins(0.08)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        legend_above(ax)
        if table_ax is not None:
            self._write_table(table_ax)
        return self

    def _mark(self, ax: Any, kind: str) -> None:
        """Draw rings around the top samples, with their ranks."""
        places, (marker, color) = self.top(kind), KINDS[kind]
        if not places.size:
            return
        total = int(self.table[f"is_{kind}"].sum())
        name = f"{kind}s" if total == places.size else f"first {places.size} of {total} {kind}s"
        ax.scatter(*self.points[places].T, marker=marker, edgecolors=color, label=name, **RING)
        style = {"textcoords": "offset points", "fontsize": "small", "zorder": 4}
        for place in places:
            rank = str(self.table[f"{kind}_rank"].iloc[place])
            ax.annotate(rank, self.points[place], xytext=(6, 4), color=color, **style)

    def _write_table(self, panel: Any) -> None:
        """Write the outliers, and the overlap points below them."""
        panel.set(xlim=(0, 1), ylim=(0, 1))
        panel.set_axis_off()
        blocks = {kind: self._rows(kind) for kind in KINDS}
        step = 1 / max(sum(len(rows) + 2 for rows in blocks.values()), 14)
        y = 1.0
        for kind, rows in blocks.items():
            total = int(self.table[f"is_{kind}"].sum())
            title = f"{plural(total, kind)} of {len(self.table):,} points"
            panel.text(0, y, title, color=KINDS[kind][1], weight="bold", va="top")
            for row in rows:
                y -= step
                for x, text in zip(COLUMNS, row, strict=True):
                    panel.text(x, y, text, ha="right", va="top", fontsize="small")
            y -= 2 * step

    def _rows(self, kind: str) -> list[tuple[str, ...]]:
        """Return the texts of the top samples, below the headings."""
        rows: list[tuple[str, ...]] = []
        for name, row in self.table.iloc[self.top(kind)].iterrows():
            short = str(name) if len(str(name)) <= 10 else f"{str(name)[:9]}…"
            label = "none" if row["label"] < 0 else str(row["label"])
            rows.append((str(row[f"{kind}_rank"]), short, label, f"{row[f'{kind}_score']:.2f}"))
        return [HEADINGS, *rows] if rows else []
