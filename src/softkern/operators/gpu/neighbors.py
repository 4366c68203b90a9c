"""Nearest neighbors among points on a torch device.

Points are laid out in frames of neighbors. Those within its own frame bound how far a point's
nearest are, and only frames within that reach are looked at.
"""

from __future__ import annotations

from typing import Any

import torch

from softkern.operators.gpu.frames import in_frames

FRAME = 1024  # points that are sought for at once
FRAMES_AT_ONCE = 32  # within which neighbors are sought first
DISTANCES_AT_ONCE = 2**27
SINGLE = 1e-4  # share of the squared width of all that is looked at, near which single digits do
SPARE = 6  # more neighbors than needed, since distances by products lose digits


def near_rows(points: Any, k: int) -> Any:
    """Numbers of the k points (n, d) nearest to each, itself among them, (n, k)."""
    points = points.to(torch.float64)
    points = points - points.median(dim=0).values
    cells = in_frames(points.to(torch.float32), FRAME)
    number, is_row = cells[:, 0].view(-1, FRAME), (cells[:, 1] == 1).view(-1, FRAME)
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


def _reaches(frames: Any, is_row: Any, k: int) -> tuple[Any, Any]:
    """Squared distances of rows to their k-th in a frame, the least and the largest, (frames,)."""
    found = []
    for some, kept in zip(frames.split(FRAMES_AT_ONCE), is_row.split(FRAMES_AT_ONCE), strict=True):
        squared = torch.cdist(some, some, compute_mode="donot_use_mm_for_euclid_dist").square_()
        squared.masked_fill_(~kept[:, None, :], torch.inf)
        kth = squared.kthvalue(min(k, FRAME), dim=2).values
        least = torch.where(kept, kth, torch.inf).amin(dim=1)
        found.append(torch.stack([least, torch.where(kept, kth, 0.0).amax(dim=1)]))
    nearest, reach = torch.cat(found, dim=1)
    return nearest, reach


def _nearest_of(points: Any, mine: Any, others: Any, k: int, kind: Any) -> Any:
    """The k of the others nearest to each of mine, nearest first, by number where equal, (m, k).

    Distances by products are of this kind; those found are taken again by differences.
    """
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
    exact = (points[mine][:, None] - points[best]).square().sum(dim=2)
    return best.gather(1, exact.sort(dim=1, stable=True).indices)
