"""Figures with panels, drawn without a window."""

from __future__ import annotations

from typing import Any

__all__ = ["entitle", "panels"]

WIDTH, HEIGHT = 5.0, 4.4  # inches of a panel
LEGEND = 0.07  # of a panel's height


def panels(
    rows: int = 1, columns: int = 1, width: float = WIDTH, height: float = HEIGHT
) -> tuple[Any, Any]:
    """A figure and its axes; one alone, or an array of them."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "the papers' figures need matplotlib, which is not installed: pip install "
            "'softkern[plot]'"
        ) from error
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns)


def entitle(ax: Any, title: str, lines: int = 1) -> None:
    """A title above the lines of a legend that stands on top of the panel."""
    ax.set_title(title, y=1 + LEGEND * lines if lines else None, fontsize="medium")
