"""Logarithms of sums in the tails: log Σ_r k(x, x_r) a_r without underflow.

Far from all support points K @ A underflows, or vanishes in an operator's error, and ranks there
would be noise. Where the kernel's logarithm is half a squared distance, a tree of neighbors finds
the few points that matter. Any other kernel is evaluated in logarithms on all of them. Called by
`log_product` for entries that are in doubt.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from softkern._utils.arrays import log_sums
from softkern._utils.neighbors import TREE_COLUMNS
from softkern._utils.threads import available_threads
from softkern._utils.typing import Array
from softkern.kernels import Kernel
from softkern.rows import row_slices

TAIL_ACCURACY = 1e-6  # in the logarithm
NEIGHBORS_AT_ONCE = 2_000_000  # neighbors of queries held at once
VALUES_AT_ONCE = 2**22  # logarithms of kernel values held at once
WIDEST = 1e150  # bandwidths; squares of more overflow, and a tree rejects them
BEYOND = 1e200  # bandwidths: farther than any place whose square does not overflow
ORIGIN_ROWS = 1024  # of the support, at least, whose median is the tree's origin


class LogKernelSum:
    """Logarithms of Σ_r k(x, x_r) a_r over the support X of a kernel."""

    def __init__(self, kernel: Kernel, X: Any) -> None:
        self.kernel = kernel
        self.X = X

    def logs(
        self, queries: Any, a: Array, own: Array | None = None, left: Array | None = None
    ) -> Array:
        """The logarithms for the queries given, (m,), a (n,) not negative.

        Where queries are support points, `own` are their numbers, and `left` what takes the place
        of their own weights.
        """
        used, m = np.flatnonzero(a > 0), queries.shape[0]
        if used.size == 0:
            return np.full(m, -np.inf)
        # the place of every query among the points in use, −1 if it is none of them
        place, log_left = np.full(m, -1), np.zeros(m)
        with np.errstate(divide="ignore"):
            log_a = np.log(a[used].astype(np.float64))
            if own is not None and left is not None:
                log_left = np.log(left.astype(np.float64))
                place = np.where(a[own] > 0, np.searchsorted(used, own), -1)
        if self.kernel.log_is_half_squared_distance and self.X.shape[1] <= TREE_COLUMNS:
            is_whole = used.size == self.X.shape[0]
            tree = self._tree if is_whole else cKDTree(self._scaled(self.X[used]))
            if max(tree.maxes.max(), -tree.mins.min()) <= WIDEST:
                # a tree takes no infinite places
                far = np.clip(self._scaled(queries), -BEYOND, BEYOND)
                return _near_logs(tree, log_a, far, place, log_left)
        return self._all_logs(queries, used, log_a, place, log_left)

    @cached_property
    def _origin(self) -> Array:
        some = self.X[:: max(1, self.X.shape[0] // ORIGIN_ROWS)]
        return np.asarray(np.median(_dense(some), axis=0))

    @cached_property
    def _tree(self) -> cKDTree:
        """The tree of the whole support."""
        return cKDTree(self._scaled(self.X))

    def _scaled(self, X: Any) -> Array:
        return np.asarray(self.kernel.scaled(_dense(X), self._origin))

    def _log_values(self, queries: Any, index: Array) -> Array:
        """Log k between queries and the support points of these numbers, (m, len(index))."""
        if self.kernel.takes_points:
            return self.kernel.log_block(queries, self.X[index])
        values = queries[:, index]
        if (values < 0).any():
            raise ValueError("the precomputed kernel has negative values; they have no logarithm.")
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(values))

    def _all_logs(
        self, queries: Any, used: Array, log_a: Array, own: Array, log_left: Array
    ) -> Array:
        """From all support points in use, a block of queries at a time."""
        out = np.empty(queries.shape[0])
        for rows in row_slices(queries.shape[0], max(1, VALUES_AT_ONCE // used.size)):
            terms = self._log_values(queries[rows], used).astype(np.float64, copy=False)
            itself = np.flatnonzero(own[rows] >= 0)
            at = itself, own[rows][itself]
            own_terms = terms[at] + log_left[rows][itself]
            terms += log_a
            terms[at] = own_terms
            out[rows] = log_sums(terms)
        return out


def _near_logs(
    tree: cKDTree, log_weights: Array, queries: Array, own: Array, log_own: Array
) -> Array:
    """Logarithm of Σ w exp(−r²/2) for every query, (m,), −∞ where squares overflow.

    Points of the tree are summed where log w − r²/2 comes within log(n/ε) of its largest value.
    """
    logs, threads = np.full(len(queries), -np.inf), available_threads()
    # a lower bound of the largest term of every query, from a few nearest points
    k = min(8, tree.n)
    distance, index = tree.query(queries, k=k, workers=threads)
    distance, index = distance.reshape(-1, k), index.reshape(-1, k)
    with np.errstate(over="ignore"):
        # at infinite distance the tree names no point
        terms = log_weights[np.minimum(index, tree.n - 1)] - 0.5 * np.square(distance)
    least = np.where(index == own[:, None], log_own[:, None], terms).max(axis=1)
    within = np.flatnonzero(np.isfinite(least))
    if not within.size:
        return logs
    queries, least, own, log_own = (part[within] for part in (queries, least, own, log_own))
    points = np.asarray(tree.data)
    slack = np.log(tree.n / TAIL_ACCURACY)
    # halves first: twice the square of the largest distance there is would overflow
    span = np.maximum((log_weights.max() - least) / 2 + slack / 2, 0)
    radius = 2 * np.sqrt(span) * (1 + 1e-12)
    counts = tree.query_ball_point(queries, radius, workers=threads, return_length=True)
    batch = np.cumsum(counts) // NEIGHBORS_AT_ONCE
    for rows in np.split(np.arange(within.size), np.flatnonzero(np.diff(batch)) + 1):
        near = tree.query_ball_point(queries[rows], radius[rows], workers=threads)
        support = np.concatenate(near).astype(np.intp)
        query = np.repeat(rows, counts[rows])
        terms = log_weights[support] - 0.5 * np.square(points[support] - queries[query]).sum(axis=1)
        terms = np.where(support == own[query], log_own[query], terms)
        starts = np.concatenate([[0], np.cumsum(counts[rows])[:-1]])
        # the largest term itself: its bound has lost all digits where distances are huge
        shift = np.maximum.reduceat(terms, starts)
        total = np.log(np.add.reduceat(np.exp(terms - np.repeat(shift, counts[rows])), starts))
        logs[within[rows]] = total + shift
    return logs


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
