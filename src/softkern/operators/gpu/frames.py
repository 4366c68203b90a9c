"""Frames: points in an order in which neighbors lie together, in groups of one size.

Cells are halved at the median of their widest column, again and again. Used by the compiled loops
(`fused`) and by the search for nearest neighbors (`neighbors`).
"""

from __future__ import annotations

import math
from typing import Any

import torch

FRAME = 1024  # support rows that share a center
LEAF_FRAMES = 8  # at least, below which cells are cut into frames, which limits padding


def in_frames(points: Any, size: int = FRAME) -> Any:
    """Row numbers in an order in which each `size` lie together, and whether they are new, (m, 2).

    Cells are halved at the median of their widest column. Some rows stand twice, so that all cells
    are of one size; the second time they count for nothing.
    """
    n = len(points)
    levels = max(0, math.ceil(math.log2(n / (2 * LEAF_FRAMES * size))))
    per_leaf = -(-n // (2**levels * size))  # frames
    total = 2**levels * per_leaf * size
    rows = torch.arange(n, device=points.device)
    again = torch.linspace(0, n - 1, total - n, device=points.device).long()
    number = torch.cat([rows, again])
    cells = torch.arange(total, device=points.device)[None]
    for _ in range(levels):
        cells = _sorted_cells(points, number, cells).reshape(2 * len(cells), -1)
    cells = _cut(points, number, cells, per_leaf, size).reshape(-1)
    return torch.stack([number[cells], (cells < n).long()], dim=1)


def _cut(points: Any, number: Any, cells: Any, parts: int, size: int) -> Any:
    """Cells in an order in which each `size` of them lie together."""
    if parts == 1:
        return cells
    cells = _sorted_cells(points, number, cells)
    half = parts // 2
    sides = (cells[:, : half * size], half), (cells[:, half * size :], parts - half)
    return torch.cat([_cut(points, number, side, p, size) for side, p in sides], dim=1)


def _sorted_cells(points: Any, number: Any, cells: Any) -> Any:
    """The rows of every cell (count, m) by their value in its widest column."""
    spans = [points[number[cells], k] for k in range(points.shape[1])]
    widths = torch.stack([values.amax(dim=1) - values.amin(dim=1) for values in spans])
    widest = widths.argmax(dim=0)
    key = points[number[cells], widest[:, None]]
    return cells.gather(1, key.argsort(dim=1))


def places_in_frames(cells: Any, n: int) -> Any:
    """Where each of n rows stands in the order of `in_frames`, (n,)."""
    is_row = cells[:, 1] == 1
    place = torch.empty(n, dtype=torch.int64, device=cells.device)
    place[cells[is_row, 0]] = torch.nonzero(is_row)[:, 0]
    return place
