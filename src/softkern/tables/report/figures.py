"""Empty bokeh figures that `pictures.js` fills in the browser.

The script also sets the colors of axes and grids, which follow the reader's preference for a light
or dark page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bokeh.embed import json_item
from bokeh.models import (
    BasicTicker,
    BoxZoomTool,
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    PanTool,
    Range1d,
    ResetTool,
    TapTool,
    WheelZoomTool,
)
from bokeh.models.annotations import Span
from bokeh.plotting import figure
from bokeh.transform import linear_cmap

from softkern._utils.colors import COLORS, NEUTRAL, SCALE


def figures(tree: dict[str, Any] | None) -> dict[str, Any]:
    """Return the JSON of each figure by the name of its element. `tree` is the page's tree data."""
    drawn = {"points": _points(), "histogram": _histogram()}
    if tree is not None:
        drawn["tree"] = _tree(tree["ticks"])
    return {name: json_item(one) for name, one in drawn.items()}


def _tone(column: str = "tone") -> Any:
    """Map numbers to colors: cluster colors, the neutral color, then the color scale."""
    palette = [*COLORS, NEUTRAL, *SCALE]
    return linear_cmap(column, palette, low=-0.5, high=len(palette) - 0.5)


def _source(name: str, *columns: str) -> ColumnDataSource:
    return ColumnDataSource({column: [] for column in columns}, name=name)


def _figure(name: str, tools: Sequence[Any] = (), **options: Any) -> Any:
    drawn = figure(
        name=f"{name} figure",
        sizing_mode="stretch_both",
        tools=list(tools),
        toolbar_location="right" if tools else None,
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
        min_border=4,
        **options,
    )
    for axis in (*drawn.xaxis, *drawn.yaxis):
        axis.formatter.use_scientific = False
    drawn.toolbar.logo = None
    drawn.toolbar.autohide = True
    return drawn


def _points() -> Any:
    columns = ("x", "y", "tone", "line", "alpha", "filled", "open", "marker")
    source = _source("points", *columns)
    far = _source("far", "x", "y", "angle", "tone", "place")
    pan = PanTool()
    tools = (pan, BoxZoomTool(), WheelZoomTool(name="wheel"), ResetTool())
    ranges = {"x_range": Range1d(), "y_range": Range1d()}
    drawn = _figure("points", tools, active_drag=pan, active_scroll=None, **ranges)
    # Two glyphs, because filled points without a line draw twice as fast. Each point has a size in
    # one of them and zero in the other. Filled cluster points cover open ones.
    outline: dict[str, Any] = {"fill_color": None, "line_width": 1.2, "line_alpha": 0.7}
    outline |= {"line_color": _tone("line"), "name": "open glyph"}
    fill = {"fill_color": _tone(), "fill_alpha": "alpha", "line_color": None}
    open_ = drawn.scatter("x", "y", source=source, marker="marker", size="open", **outline)
    filled = drawn.scatter("x", "y", source=source, marker="marker", size="filled", **fill)
    arrow = {"marker": "triangle", "angle": "angle", "size": 12, "line_width": 1}
    arrows = drawn.scatter("x", "y", source=far, fill_color=_tone(), name="far glyph", **arrow)
    for glyph in (filled, open_, arrows):
        glyph.selection_glyph = glyph.nonselection_glyph = glyph.hover_glyph = None
    ring = _source("ring", "x", "y")
    drawn.scatter("x", "y", source=ring, size=18, fill_color=None, line_width=3, name="ring glyph")
    drawn.add_tools(
        HoverTool(renderers=[filled, open_, arrows], tooltips=None, visible=False),
        TapTool(renderers=[filled, open_, arrows], visible=False),
    )
    # the script exchanges these tickers when the reader switches to a logarithmic axis
    drawn.tags = [
        kind(name=f"{word} ticker {name}")
        for name in ("across", "up")
        for word, kind in (("basic", BasicTicker), ("fixed", FixedTicker))
    ]
    return drawn


def _histogram() -> Any:
    source = _source("bars", "left", "right", "top", "tone", "alpha")
    drawn = _figure("histogram", y_axis_label="rows")
    bars = {"left": "left", "right": "right", "top": "top", "bottom": 0}
    drawn.quad(source=source, fill_color=_tone(), fill_alpha="alpha", line_color=None, **bars)
    drawn.y_range.start = 0
    drawn.xgrid.visible = False
    drawn.add_layout(Span(dimension="height", line_width=2, name="histogram cut", visible=False))
    return drawn


def _tree(ticks: dict[str, str]) -> Any:
    ends = ("x0", "y0", "x1", "y1")
    source = _source("lines", *ends, "tone", "width", "alpha")
    drawn = _figure("tree", y_axis_label="level")
    line = {"line_width": "width", "line_alpha": "alpha", "line_cap": "round"}
    drawn.segment(*ends, source=source, line_color=_tone(), **line)
    splits = _source("splits", "x", "y")
    drawn.scatter("x", "y", source=splits, size=11, line_width=2.5, name="split glyph")
    drawn.xaxis.visible = False
    drawn.xgrid.visible = False
    drawn.yaxis.ticker = [int(tick) for tick in ticks]
    drawn.yaxis.major_label_overrides = {int(tick): text for tick, text in ticks.items()}
    drawn.add_layout(Span(dimension="width", line_width=2, name="tree cut", visible=False))
    return drawn
