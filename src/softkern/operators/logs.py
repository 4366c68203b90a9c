"""Sums of far Gaussians in logarithms, from the few points that matter.

Far from all support points K @ A underflows, or vanishes in an operator's error, and ranks there
would be noise. With a tree of neighbours the logarithm costs little, since few points of those
that far matter. Called by `KernelOperator.log_product` for entries that are in doubt.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

__all__ = ["near_logs"]

Array = NDArray[Any]

TAIL_ACCURACY = 1e-6  # in the logarithm
NEIGHBOURS_AT_ONCE = 2_000_000  # neighbours of queries held at once


def near_logs(
    points: Array,
    log_weights: Array,
    queries: Array,
    own: Array | None = None,
    log_own: Array | None = None,
) -> Array:
    """Logarithm of Σ w exp(−r²/2) for every query, (m,), over the points that matter.

    A point matters where log w − r²/2 comes within log(n/ε) of its largest value, for which the
    nearest points give a lower bound. Where queries are points themselves, `own` gives their
    numbers and `log_own` the weights that they have for themselves. A query so far that squares
    overflow, or one that is the only point and has no weight for itself, has −∞.
    """
    tree = cKDTree(points)
    logs = np.full(len(queries), -np.inf)
    least = _largest_term(tree, log_weights, queries, own, log_own)
    within = np.flatnonzero(np.isfinite(least))
    if within.size:
        numbers = None if own is None else own[within]
        log_numbers = None if log_own is None else log_own[within]
        logs[within] = _sums(
            tree, log_weights, queries[within], least[within], numbers, log_numbers
        )
    return logs


def _sums(
    tree: cKDTree,
    log_weights: Array,
    queries: Array,
    least: Array,
    own: Array | None,
    log_own: Array | None,
) -> Array:
    """What `near_logs` says of queries whose largest term has the finite lower bound `least`."""
    points = np.asarray(tree.data)
    slack = np.log(tree.n / TAIL_ACCURACY)
    # halves first: twice the square of the largest distance there is would overflow
    span = np.maximum((log_weights.max() - least) / 2 + slack / 2, 0)
    radius = 2 * np.sqrt(span) * (1 + 1e-12)
    counts = tree.query_ball_point(queries, radius, workers=-1, return_length=True)
    logs = np.empty(len(queries))
    for rows in _batches(counts):
        near = tree.query_ball_point(queries[rows], radius[rows], workers=-1)
        support = np.concatenate(near).astype(np.intp)
        query = np.repeat(np.arange(rows.start, rows.stop), counts[rows])
        terms = log_weights[support] - 0.5 * np.square(points[support] - queries[query]).sum(axis=1)
        if own is not None and log_own is not None:
            terms = np.where(support == own[query], log_own[query], terms)
        starts = np.concatenate([[0], np.cumsum(counts[rows])[:-1]])
        # the largest term itself: its bound has lost all digits where distances are huge
        shift = np.maximum.reduceat(terms, starts)
        total = np.log(np.add.reduceat(np.exp(terms - np.repeat(shift, counts[rows])), starts))
        logs[rows] = total + shift
    return logs


def _batches(counts: Array) -> Iterator[slice]:
    """Slices of queries whose neighbours together stay few."""
    reached = np.cumsum(counts)
    start = 0
    while start < len(counts):
        before = reached[start - 1] if start else 0
        stop = int(np.searchsorted(reached, before + NEIGHBOURS_AT_ONCE, side="right"))
        stop = max(stop, start + 1)
        yield slice(start, stop)
        start = stop


def _largest_term(
    tree: cKDTree, log_weights: Array, queries: Array, own: Array | None, log_own: Array | None
) -> Array:
    """A lower bound, (m,), of the largest log w − r²/2, from a few nearest points."""
    k = min(8, tree.n)
    distance, index = tree.query(queries, k=k, workers=-1)
    distance, index = distance.reshape(-1, k), index.reshape(-1, k)
    with np.errstate(over="ignore"):
        # at infinite distance the tree names no point
        terms = log_weights[np.minimum(index, tree.n - 1)] - 0.5 * np.square(distance)
    if own is not None and log_own is not None:
        terms = np.where(index == own[:, None], log_own[:, None], terms)
    return np.asarray(terms.max(axis=1))
