"""Frames of points, in which neighbors lie together, and the search for nearest neighbors by them.

Cells are halved at the median of their widest column, again and again. The compiled loops
(`fused`) skip frames that are far. The search looks only at frames within reach: the points of its
own frame bound how far the nearest neighbors of a point are.
"""

from __future__ import annotations

import math
from typing import Any

import torch

FRAME = 1024  # support rows that share a center
LEAF_FRAMES = 8  # at least, below which cells are cut into frames, which limits padding
FRAMES_AT_ONCE = 32  # within which neighbors are sought first
DISTANCES_AT_ONCE = 2**27
SINGLE = 1e-4  # share of the squared width of all that is looked at, near which single digits do
SPARE = 6  # more neighbors than needed, since distances by products lose digits


def in_frames(points: Any, size: int = FRAME) -> tuple[Any, Any]:
    """Row numbers in an order in which each `size` lie together, and whether they are new, (m,).

    Some rows stand twice, so that all frames are of one size. The second time they do not count.
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
    return number[cells], cells < n


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


def places_in_frames(number: Any, is_row: Any, n: int) -> Any:
    """Where each of n rows stands in the order of `in_frames`, (n,)."""
    place = torch.empty(n, dtype=torch.int64, device=number.device)
    place[number[is_row]] = torch.nonzero(is_row)[:, 0]
    return place


def near_rows(points: Any, k: int) -> Any:
    """Numbers of the k points (n, d) nearest to each, itself among them, (n, k)."""
    points = points.to(torch.float64)
    points = points - points.median(dim=0).values
    number, is_row = (part.view(-1, FRAME) for part in in_frames(points.to(torch.float32)))
    frames = points[number]
    low, high = frames.amin(dim=1), frames.amax(dim=1)
    nearest, reach = _reaches(frames, is_row, k)
    width = (high - low + reach.sqrt()[:, None]).square().sum(dim=1)
    is_single = (SINGLE * width < nearest).tolist()
    found = torch.empty(len(points), k, dtype=torch.int64, device=points.device)
    for f in range(len(frames)):
        kind = torch.float32 if is_single[f] else torch.float64
        gap = torch.maximum(low - high[f], low[f] - high).clamp(min=0)
        is_near = gap.square().sum(dim=1) <= reach[f]
        others = number[is_near][is_row[is_near]]
        mine = number[f][is_row[f]]
        found[mine] = _nearest_of(points, mine, others, min(k + SPARE, len(points)), kind)[:, :k]
    return found


def _reaches(frames: Any, is_row: Any, k: int) -> Any:
    """Squared distances of rows to their k-th in a frame, least and largest, (2, frames)."""
    found = []
    for some, kept in zip(frames.split(FRAMES_AT_ONCE), is_row.split(FRAMES_AT_ONCE), strict=True):
        squared = torch.cdist(some, some, compute_mode="donot_use_mm_for_euclid_dist").square_()
        squared.masked_fill_(~kept[:, None, :], torch.inf)
        kth = squared.kthvalue(min(k, FRAME), dim=2).values
        least = torch.where(kept, kth, torch.inf).amin(dim=1)
        found.append(torch.stack([least, torch.where(kept, kth, 0.0).amax(dim=1)]))
    return torch.cat(found, dim=1)


def _nearest_of(points: Any, mine: Any, others: Any, k: int, kind: Any) -> Any:
    """The k of the others nearest to each of mine, nearest first, by number where equal, (m, k)."""
    best = torch.empty(len(mine), 0, dtype=torch.int64, device=points.device)
    center = points[mine].median(dim=0).values
    queries = (points[mine] - center).to(kind)
    step = max(k, DISTANCES_AT_ONCE // len(mine))
    for part in others.split(step):
        rows = (points[part] - center).to(kind)
        squared = torch.addmm(rows.square().sum(dim=1), queries, rows.T, alpha=-2.0)
        near = part[squared.topk(min(k, len(part)), largest=False, sorted=False).indices]
        best = torch.cat([best, near], dim=1)
    best = best.sort(dim=1).values
    # products in this precision find candidates, differences their order
    exact = (points[mine][:, None] - points[best]).square().sum(dim=2)
    return best.gather(1, exact.sort(dim=1, stable=True).indices)
