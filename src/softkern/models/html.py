"""Notebook display of a fitted model below scikit-learn's diagram: a picture and the plan.

The picture is a small SVG: a histogram of the memberships, stacked by cluster, and the size of
each cluster. It needs only fitted attributes, and uses the text color of the notebook, light or
dark.
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
    """Return the picture and the plan as HTML, empty for an unfitted model."""
    inside = _picture(model) + _notes(model) + _plan(model)
    style = "margin:.4em 0;font-size:.85em;max-width:60em"
    return f'<div class="softkern-fitted" style="{style}">{inside}</div>' if inside else ""


def _plan(model: Any) -> str:
    plan = getattr(model, "plan_", None)
    if plan is None:
        return ""
    style = "margin:.3em 0;overflow:auto;line-height:1.35"
    return (
        f"<details><summary>Plan: engine <b>{escape(plan.engine)}</b></summary>"
        f'<pre style="{style}">{escape(str(plan))}</pre></details>'
    )


def _notes(model: Any) -> str:
    """Return the notes on the preparation of the columns."""
    notes = getattr(model, "notes_", [])
    if not notes:
        return ""
    lines = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"<details open><summary>Columns</summary><ul>{lines}</ul></details>"


def _picture(model: Any) -> str:
    if hasattr(model, "sample_rows_"):  # memberships of all rows are not computed yet
        return ""
    name, values = typicality_of(model) or ("", np.empty(0))
    if values.size == 0:
        return ""
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
    scale = HEIGHT / max(int(counts.sum(axis=0).max()), 1)
    step = WIDTH / BINS
    bars = []
    for bin_ in range(BINS):
        top = float(HEIGHT)
        for k, count in zip(groups, counts[:, bin_].tolist(), strict=True):
            if count:
                top -= count * scale
                bars.append(
                    f'<rect x="{bin_ * step:.1f}" y="{top:.2f}" width="{step - 0.6:.1f}" '
                    f'height="{count * scale:.2f}" fill="{_color(k)}"/>'
                )
    line = ""
    if level is not None and low < level < high:
        x = (level - low) / (high - low) * WIDTH
        line = f'<path d="M{x:.1f} 0V{HEIGHT}" stroke="{CUT}" stroke-width="1.5"/>'
    text = f'y="{HEIGHT + FOOT - 4}" font-size="11" fill="currentColor"'
    described = f"{title} of {len(values):,} rows, from {low:.3g} to {high:.3g}"
    return (
        f'<svg role="img" aria-label="{escape(described)}" xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {WIDTH} {HEIGHT + FOOT}" width="{WIDTH}" style="max-width:100%">'
        f"{''.join(bars)}{line}"
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
        entries.append((name < 0, f'<span style="margin-right:1em">{entry}</span>'))
    # noise last, even where clusters are omitted
    shown = [entry for is_noise, entry in entries if not is_noise]
    omitted = f"and {len(shown) - LISTED:,} more " if len(shown) > LISTED else ""
    noise = "".join(entry for is_noise, entry in entries if is_noise)
    return f"<div>{''.join(shown[:LISTED])}{omitted}{noise}</div>"


def _color(label: int) -> str:
    return NEUTRAL if label < 0 else COLORS[label % len(COLORS)]
