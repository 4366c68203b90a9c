"""Mixtures of normal groups with one covariance, and projections between them.

With one covariance S for all groups, the log ratio of two groups' densities is linear, and
S^(−1/2) makes every group round with unit spread: the direction between two centers there is the
one along which the groups are furthest apart for their width. Called by `splitting.recursion`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.splitting.whitening import Whitening, whitening_of

__all__ = ["Mixture", "fit_mixture"]

STEPS = 60
CHANGED = 1e-3  # share of the points that change their group in the last step
FEWEST = 2.0  # points of a group


@dataclass(frozen=True)
class Mixture:
    """Round groups of unit spread after a linear map.

    Attributes
    ----------
    whitening : Whitening
        To units of the groups' spread.
    centers : array of shape (c, d)
        There.
    log_shares : array of shape (c,)
        Of the points.
    labels : array of shape (n,)
        The group of every point that was fitted.
    """

    whitening: Whitening
    centers: Array
    log_shares: Array
    labels: NDArray[np.intp]

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.centers)

    def mapped(self, X: Array) -> Array:
        """Points in units of the groups' spread, (m, d)."""
        return self.whitening.rows(X)

    def assign(self, mapped: Array) -> NDArray[np.intp]:
        """The likeliest group of mapped points, (m,)."""
        return np.argmax(_log_ratios(mapped, self.centers, self.log_shares), axis=1)

    def between(self, mapped: Array, i: int, j: int) -> Array:
        """Places of mapped points on the line from group j to group i, zero half way, (m,)."""
        way = self.centers[i] - self.centers[j]
        middle = (self.centers[i] + self.centers[j]) / 2
        return np.asarray((mapped - middle) @ way / max(float(np.linalg.norm(way)), 1e-300))

    @cached_property
    def gaps(self) -> Array:
        """Distances between centers in units of the groups' spread, (c, c)."""
        return np.linalg.norm(self.centers[:, None] - self.centers, axis=2)


def fit_mixture(X: Array, labels: Array, steps: int = STEPS) -> Mixture | None:
    """The mixture that expectation maximization reaches from labels; None where a group vanishes.

    Parameters
    ----------
    X : array of shape (n, d)
        Columns of about unit spread.
    labels : array of shape (n,)
        Whole numbers from 0.
    """
    n = len(X)
    shares = np.eye(int(labels.max()) + 1)[labels]  # (n, c)
    whitening_for, previous = whitening_of(X), labels
    for _ in range(steps):
        mass = shares.sum(axis=0)
        if (mass < FEWEST).any():
            return None
        means = shares.T @ X / mass[:, None]
        whitening = whitening_for(shares)
        centers, log_shares = whitening.rows(means), np.log(mass / n)
        logs = _log_ratios(whitening.rows(X), centers, log_shares)
        found = np.argmax(logs, axis=1)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        if (found != previous).mean() <= CHANGED:
            break
        previous = found
    return _without_empty(Mixture(whitening, centers, log_shares, found))


def _without_empty(mixture: Mixture) -> Mixture:
    """Groups that are nowhere the likeliest are left out."""
    kept, labels = np.unique(mixture.labels, return_inverse=True)
    return Mixture(mixture.whitening, mixture.centers[kept], mixture.log_shares[kept], labels)


def _log_ratios(mapped: Array, centers: Array, log_shares: Array) -> Array:
    """Logarithms of the groups' densities less what they have in common, (m, c)."""
    return np.asarray(mapped @ centers.T + (log_shares - np.square(centers).sum(axis=1) / 2))
