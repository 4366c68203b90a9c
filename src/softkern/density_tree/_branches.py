"""Compiled loops over the merges of a tree. Called by `layout` and `tree`."""

from __future__ import annotations

from typing import Any

import numpy as np

from softkern._utils.jit import compiled_later

__all__ = ["best_scores", "highest", "interleaved", "strung", "sums", "united"]


@compiled_later
def united(n: int, edges: Any) -> tuple[Any, Any]:
    """Which edges join two branches, in their order, (m,), and the branches they join, (m, 2).

    Points are below n; n + k is what the k-th of these joins makes.
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
    """The highest point of every branch, (n + m,); of equals that of the first side."""
    n = len(heights)
    points = np.arange(n + len(merged))
    for k in range(len(merged)):
        i, j = points[merged[k, 0]], points[merged[k, 1]]
        points[n + k] = j if heights[j] > heights[i] else i
    return points


@compiled_later
def strung(merged: Any, levels: Any, n: int) -> tuple[Any, Any]:
    """The point that follows each in a row of all branches, −1 at an end, and the level between."""
    first, last = np.arange(n + len(merged)), np.arange(n + len(merged))
    after, gap = np.full(n, -1), np.full(n, -np.inf)
    for k in range(len(merged)):
        a, b = merged[k, 0], merged[k, 1]
        after[last[a]], gap[last[a]] = first[b], levels[k]
        first[n + k], last[n + k] = first[a], last[b]
    return after, gap


@compiled_later
def best_scores(merged: Any, scores: Any, n: int) -> Any:
    """Of the two sides of every merge the lesser score, each at least that of a merge in it, (m,).

    `scores` (m, 2) are those of the sides themselves.
    """
    best = np.full(n + len(merged), -np.inf)
    found = np.empty(len(merged))
    for k in range(len(merged)):
        i, j = merged[k, 0], merged[k, 1]
        found[k] = min(max(best[i], scores[k, 0]), max(best[j], scores[k, 1]))
        best[n + k] = max(found[k], best[i], best[j])
    return found


@compiled_later
def interleaved(rows: Any, others: Any, level: Any) -> Any:
    """The order of two lists of rows after each other, both by decreasing level and by number.

    Equal levels are in the order of their numbers.
    """
    m = len(rows)
    order = np.empty(m + len(others), dtype=np.intp)
    i = j = 0
    for k in range(len(order)):
        if i == m or j == len(others):
            is_first = i < m
        else:
            a, b = level[rows[i]], level[others[j]]
            is_first = a > b or (a == b and rows[i] < others[j])
        if is_first:
            order[k] = i
            i += 1
        else:
            order[k] = m + j
            j += 1
    return order
