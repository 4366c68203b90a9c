"""Compiled loops over the merges of a tree. Called by `layout`, `segments` and `tree`."""

from __future__ import annotations

from typing import Any

import numpy as np

from softkern._utils.jit import compiled_later


@compiled_later
def united(n: int, edges: Any) -> tuple[Any, Any]:
    """Numbers of the edges that join two branches, (m,), and the branches that they join, (m, 2).

    Points are below n, and n + k is the branch that the k-th of these edges makes.
    """
    root = np.arange(2 * n)
    kept = np.empty(max(n - 1, 0), dtype=np.intp)
    pairs = np.empty((max(n - 1, 0), 2), dtype=np.intp)
    count = 0
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        while root[j] != j:
            root[j] = root[root[j]]
            j = root[j]
        if i != j:
            kept[count] = e
            pairs[count, 0], pairs[count, 1] = i, j
            root[i] = root[j] = n + count
            count += 1
            if count == n - 1:
                break
    return kept[:count], pairs[:count]


@compiled_later
def sums(merged: Any, points: Any) -> Any:
    """Sums over the points of every branch, (n + m,)."""
    n = len(points)
    values = np.empty(n + len(merged))
    for i in range(n):  # a slice would take seconds to compile
        values[i] = points[i]
    for k in range(len(merged)):
        values[n + k] = values[merged[k, 0]] + values[merged[k, 1]]
    return values


@compiled_later
def highest(merged: Any, heights: Any) -> Any:
    """The highest point of every branch, (n + m,), of the first side among equals."""
    n = len(heights)
    points = np.arange(n + len(merged))
    for k in range(len(merged)):
        i, j = points[merged[k, 0]], points[merged[k, 1]]
        points[n + k] = j if heights[j] > heights[i] else i
    return points


@compiled_later
def strung(merged: Any, levels: Any, n: int) -> tuple[Any, Any]:
    """The next point of each in a row of all branches, −1 at an end, and the level between them."""
    first, last = np.arange(n + len(merged)), np.arange(n + len(merged))
    after, gap = np.full(n, -1), np.full(n, -np.inf)
    for k in range(len(merged)):
        a, b = merged[k, 0], merged[k, 1]
        after[last[a]], gap[last[a]] = first[b], levels[k]
        first[n + k], last[n + k] = first[a], last[b]
    return after, gap


@compiled_later
def best_scores(merged: Any, scores: Any, n: int) -> Any:
    """The lower score of both sides (m, 2) of every merge, each at least that of merges in it."""
    best = np.full(n + len(merged), -np.inf)
    found = np.empty(len(merged))
    for k in range(len(merged)):
        i, j = merged[k, 0], merged[k, 1]
        found[k] = min(max(best[i], scores[k, 0]), max(best[j], scores[k, 1]))
        best[n + k] = max(found[k], best[i], best[j])
    return found
