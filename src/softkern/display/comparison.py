"""Scores of several methods over a parameter: stability by ν, differences by γ, accuracy by n."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from softkern._utils.colors import COLORS
from softkern._utils.typing import Array
from softkern.display._base import Display, legend_above

__all__ = ["ComparisonDisplay"]

TOGETHER = 0.8  # of the way from one value of the parameter to the next, that its boxes take


class ComparisonDisplay(Display):
    """Scores of methods, draw by draw, over a parameter: boxes side by side, or lines with bands.

    Values are not spaced by their size but one after the other, as in the figures of the 2010
    paper. Scores may be negative, such as differences; a line at zero is then drawn.

    Parameters
    ----------
    scores : dict of str to dict of float to array
        By method, then by the parameter's value: one score a draw.
    xlabel, ylabel : str
        The parameter, and what the scores are.

    Attributes
    ----------
    ax_, figure_
        What was drawn into.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(0)
    >>> scores = {name: {nu: generator.uniform(size=20) for nu in (0.01, 0.1)}
    ...           for name in ("one", "another")}
    >>> display = ComparisonDisplay(scores, "ν", "Jaccard coefficient")
    >>> display.values
    [0.01, 0.1]
    """

    def __init__(
        self, scores: Mapping[str, Mapping[float, Array]], xlabel: str = "", ylabel: str = "score"
    ) -> None:
        if not scores or not all(scores.values()):
            raise ValueError("there are no scores to draw.")
        self.scores = {
            name: {value: np.asarray(drawn, dtype=np.float64) for value, drawn in row.items()}
            for name, row in scores.items()
        }
        self.xlabel = xlabel
        self.ylabel = ylabel

    @property
    def values(self) -> list[float]:
        """Values of the parameter, rising."""
        return sorted({value for row in self.scores.values() for value in row})

    def plot(self, ax: Any = None, *, kind: str = "boxes") -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        kind : {"boxes", "lines"}, default="boxes"
            ``"lines"``: means, with a band from the lower to the upper quartile.
        """
        if kind not in {"boxes", "lines"}:
            raise ValueError(f"kind={kind!r} is unknown; give 'boxes' or 'lines'.")
        ax = self._axes(ax)
        draw = self._boxes if kind == "boxes" else self._lines
        for place, name in enumerate(self.scores):
            draw(ax, place, name)
        if min(drawn.min() for row in self.scores.values() for drawn in row.values()) < 0:
            ax.axhline(0, color="0.4", linewidth=0.8, zorder=0)
        ax.set_xticks(range(len(self.values)), [f"{value:g}" for value in self.values])
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel)
        if len(self.scores) > 1:
            legend_above(ax)
        return self

    def _boxes(self, ax: Any, place: int, name: str) -> None:
        width = TOGETHER / len(self.scores)
        shift = (place + 0.5) * width - TOGETHER / 2
        row, color = self.scores[name], COLORS[place % len(COLORS)]
        parts = ax.boxplot(
            list(row.values()),
            positions=[self.values.index(value) + shift for value in row],
            widths=0.85 * width,
            patch_artist=True,
            manage_ticks=False,
            medianprops={"color": "black", "linewidth": 1.4},
            flierprops={"marker": ".", "markersize": 3, "markeredgecolor": "0.5"},
        )
        for box in parts["boxes"]:
            box.set(facecolor=color, alpha=0.75)
        ax.plot([], [], "s", color=color, alpha=0.75, label=name)

    def _lines(self, ax: Any, place: int, name: str) -> None:
        row, color = self.scores[name], COLORS[place % len(COLORS)]
        places = [self.values.index(value) for value in row]
        low, high = np.array([np.quantile(drawn, [0.25, 0.75]) for drawn in row.values()]).T
        means = [drawn.mean() for drawn in row.values()]
        ax.plot(places, means, "o-", color=color, markersize=4, label=name)
        ax.fill_between(places, low, high, color=color, alpha=0.2, linewidth=0)
