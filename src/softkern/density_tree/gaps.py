"""Gaps of an alpha tree, found in one half of the points and measured in the other.

A tree finds the lowest point between two clusters wherever chance has made it, and along a curve
there are many points to choose from. Points that had no part in finding a gap show how deep it is:
a gap by chance is none there. Called by `bandwidth_search`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from softkern._utils.typing import Array
from softkern.density_tree.landscape import Landscape
from softkern.density_tree.layout import flatten

HALVINGS = 3


def density_left(
    fit: Callable[[NDArray[np.bool_]], Landscape], labels: Array, pairs: Array, seed: int
) -> NDArray[np.float64]:
    """Density in the gaps between pairs (m, 2) of clusters over that inside them, (m,).

    The median over halvings of the points, at most one. `fit` returns the landscape of the points
    of a mask (n,), `labels` (n,) are their clusters. A cluster of one point is not found again.
    """
    n = len(labels)
    generator = np.random.default_rng(seed)
    shares = np.full((2 * HALVINGS, len(pairs)), np.nan)
    for k in range(HALVINGS):
        first = generator.permutation(n) < n // 2
        halves = [(fit(half), labels[half]) for half in (first, ~first)]
        for side in range(2):
            shares[2 * k + side] = _shares_left(*halves[side], halves[1 - side][0], pairs)
    shares[0, np.isnan(shares).all(axis=0)] = 1.0
    return np.asarray(np.nanmedian(shares, axis=0))


def _shares_left(
    found_in: Landscape, labels: Array, measured_in: Landscape, pairs: Array
) -> NDArray[np.float64]:
    """Density at the lowest points between clusters over that where they are dense, (m,).

    At most one; NaN for clusters that the landscape does not hold.
    """
    joins = found_in.joins()
    row, edges = flatten(len(labels), joins.pairs, -np.arange(len(joins.pairs), dtype=np.float64))
    place = np.argsort(row)
    tops = {c: _top(found_in.level, labels == c) for c in np.unique(labels).tolist()}
    dense = {
        c: logsumexp(measured_in.levels(found_in.nodes[top])) - np.log(len(top))
        for c, top in tops.items()
    }
    shares = np.full(len(pairs), np.nan)
    for number, (i, j) in enumerate(pairs.tolist()):
        if i not in tops or j not in tops:
            continue
        start, stop = np.sort(place[[tops[i][0], tops[j][0]]])
        lowest = np.array([-edges[start:stop].min()], dtype=np.intp)
        level = measured_in.levels(joins[lowest].points(found_in.nodes))[0]
        shares[number] = np.exp(min(float(level - min(dense[i], dense[j])), 0.0))
    return shares


def _top(level: Array, inside: Array) -> NDArray[np.intp]:
    """The highest tenth of the points inside, highest first."""
    rows = np.flatnonzero(inside)
    return rows[np.argsort(-level[rows], kind="stable")[: max(1, len(rows) // 10)]]
