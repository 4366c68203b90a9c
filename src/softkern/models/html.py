"""Notebook display of a fitted model below scikit-learn's diagram: a picture and the plan.

The picture is a small SVG: a histogram of the memberships, stacked by cluster, and the size of
each cluster. It uses the text color of the notebook, light or dark.
"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from softkern._utils.colors import COLORS, CUT, NEUTRAL
from softkern._utils.typing import Array
from softkern.fitted import level_of, typicality_of

WIDTH, HEIGHT, FOOT = 320, 90, 16  # pixels of the bars, and of the numbers below
BINS = 40
LISTED = 6  # clusters that are listed


def fitted_html(model: Any) -> str:
    """Return the picture, the notes on the columns and the plan, empty for an unfitted model."""
    inside = _picture(model)
    notes, plan = getattr(model, "notes_", None), getattr(model, "plan_", None)
    if notes:
        lines = "".join(f"<li>{escape(note)}</li>" for note in notes)
        inside += f"<details open><summary>Columns</summary><ul>{lines}</ul></details>"
    if plan is not None:
        style = "margin:.3em 0;overflow:auto;line-height:1.35"
        inside += (
            f"<details><summary>Plan: engine <b>{escape(plan.engine)}</b></summary>"
            f'<pre style="{style}">{escape(str(plan))}</pre></details>'
        )
    style = "margin:.4em 0;font-size:.85em;max-width:60em"
    return f'<div class="softkern-fitted" style="{style}">{inside}</div>' if inside else ""


def _picture(model: Any) -> str:
    # after a fit to Dask data memberships are not computed yet
    found = None if hasattr(model, "sample_rows_") else typicality_of(model)
    if found is None or found[1].size == 0:
        return ""
    name, values = found
    values = values.reshape(len(values), -1).max(axis=1).astype(np.float64)
    labels = np.asarray(getattr(model, "labels_", np.zeros(len(values))), dtype=np.int64)
    if len(labels) != len(values) or not np.isfinite(values).all():
        return ""
    return _histogram(values, labels, name.capitalize(), level_of(model)) + _sizes(labels)


def _histogram(values: Array, labels: Array, title: str, level: float | None) -> str:
    """Return a histogram stacked by cluster, with noise at the bottom and the level as a line."""
    edges = np.histogram_bin_edges(values, BINS)
    low, high = float(edges[0]), float(edges[-1])
    groups = [-1, *range(LISTED)]
    grouped = np.minimum(labels, LISTED - 1)  # further clusters have the color of the last
    counts = np.stack([np.histogram(values[grouped == k], edges)[0] for k in groups])
    heights = counts * (HEIGHT / max(int(counts.sum(axis=0).max()), 1))
    tops = HEIGHT - np.cumsum(heights, axis=0)
    step = WIDTH / BINS
    marks = [
        f'<rect x="{i * step:.1f}" y="{tops[k, i]:.2f}" width="{step - 0.6:.1f}" '
        f'height="{heights[k, i]:.2f}" fill="{_color(groups[k])}"/>'
        for k, i in np.argwhere(counts)
    ]
    if level is not None and low < level < high:
        x = (level - low) / (high - low) * WIDTH
        marks.append(f'<path d="M{x:.1f} 0V{HEIGHT}" stroke="{CUT}" stroke-width="1.5"/>')
    text = f'y="{HEIGHT + FOOT - 4}" font-size="11" fill="currentColor"'
    described = f"{title} of {len(values):,} rows, from {low:.3g} to {high:.3g}"
    return (
        f'<svg role="img" aria-label="{escape(described)}" xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {WIDTH} {HEIGHT + FOOT}" width="{WIDTH}" style="max-width:100%">'
        f"{''.join(marks)}"
        f'<path d="M0 {HEIGHT}H{WIDTH}" stroke="currentColor" stroke-opacity=".4"/>'
        f'<text {text}>{low:.3g}</text><text {text} x="{WIDTH / 2}" text-anchor="middle">'
        f'{escape(title.lower())}</text><text {text} x="{WIDTH}" text-anchor="end">{high:.3g}'
        "</text></svg>"
    )


def _sizes(labels: Array) -> str:
    """Return the size of each cluster, with its color."""
    names, counts = np.unique(labels, return_counts=True)
    if len(names) < 2:
        return ""
    dot = "display:inline-block;width:.7em;height:.7em;border-radius:50%;margin-right:.35em"
    entries = []
    for name, count in zip(names.tolist(), counts.tolist(), strict=True):
        word = "in no cluster" if name < 0 else f"cluster {name}"
        entry = f'<span style="{dot};background:{_color(name)}"></span>{word}: {count:,}'
        entries.append(f'<span style="margin-right:1em">{entry}</span>')
    noise = entries.pop(0) if names[0] < 0 else ""  # last, even where clusters are omitted
    omitted = f"and {len(entries) - LISTED:,} more " if len(entries) > LISTED else ""
    return f"<div>{''.join(entries[:LISTED])}{omitted}{noise}</div>"


def _color(label: int) -> str:
    return NEUTRAL if label < 0 else COLORS[label % len(COLORS)]
