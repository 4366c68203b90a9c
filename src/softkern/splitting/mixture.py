"""Mixtures of normal clusters with a common covariance, and projections between them.

With one covariance S for all clusters, the log ratio of two densities is linear, and S^(−1/2)
makes every cluster round with unit spread: the direction between two centers there is the one
along which the clusters are best separated. `sklearn.mixture.GaussianMixture` with
``covariance_type="tied"`` fits the same model without shrinkage, so that it follows chance
correlations in many columns and cannot be used with more columns than rows. Called by
`splitting.split`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.splitting.whitening import Whitening, whitening_of

__all__ = ["TiedMixture", "fit_mixture"]

STEPS = 60
CHANGED = 1e-3  # share of points that change their cluster in the last step
MIN_MASS = 2.0  # points of a cluster


@dataclass(frozen=True)
class TiedMixture:
    """Round clusters of unit spread after a linear map.

    Attributes
    ----------
    whitening : Whitening
        Map to units of the clusters' spread.
    centers : array of shape (c, d)
        Mapped centers.
    log_shares : array of shape (c,)
        Logarithms of the clusters' shares of the points.
    labels : array of shape (n,)
        Cluster of every fitted point.
    """

    whitening: Whitening
    centers: Array
    log_shares: Array
    labels: NDArray[np.intp]

    @property
    def count(self) -> int:
        """Number of clusters."""
        return len(self.centers)

    def mapped(self, X: Array) -> Array:
        """Points in units of the clusters' spread, (m, d)."""
        return self.whitening.rows(X)

    def assign(self, mapped: Array) -> NDArray[np.intp]:
        """The likeliest cluster of mapped points, (m,)."""
        return np.argmax(_log_ratios(mapped, self.centers, self.log_shares), axis=1)

    def between(self, mapped: Array, i: int, j: int) -> Array:
        """Positions of mapped points on the line from cluster j to i, zero half way, (m,)."""
        way = self.centers[i] - self.centers[j]
        middle = (self.centers[i] + self.centers[j]) / 2
        return np.asarray((mapped - middle) @ way / max(float(np.linalg.norm(way)), 1e-300))

    @cached_property
    def distances(self) -> Array:
        """Distances between centers in units of the clusters' spread, (c, c)."""
        return np.linalg.norm(self.centers[:, None] - self.centers, axis=2)


def fit_mixture(X: Array, labels: Array, steps: int = STEPS) -> TiedMixture | None:
    """Run expectation maximization from labels; return None if a cluster vanishes.

    Parameters
    ----------
    X : array of shape (n, d)
        Columns of about unit spread.
    labels : array of shape (n,)
        Whole numbers from 0.
    steps : int, default=60
        Maximal number of steps.
    """
    n = len(X)
    shares = np.eye(int(labels.max()) + 1)[labels]  # (n, c)
    whitening_for, previous = whitening_of(X), labels
    for _ in range(steps):
        mass = shares.sum(axis=0)
        if (mass < MIN_MASS).any():
            return None
        means = shares.T @ X / mass[:, None]
        whitening = whitening_for(shares)
        centers, log_shares = whitening.rows(means), np.log(mass / n)
        logs = _log_ratios(whitening.rows(X), centers, log_shares)
        current = np.argmax(logs, axis=1)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        if (current != previous).mean() <= CHANGED:
            break
        previous = current
    # without clusters that are nowhere the likeliest
    present, labels = np.unique(current, return_inverse=True)
    return TiedMixture(whitening, centers[present], log_shares[present], labels)


def _log_ratios(mapped: Array, centers: Array, log_shares: Array) -> Array:
    """Logarithms of the clusters' densities, without their common part, (m, c)."""
    return np.asarray(mapped @ centers.T + (log_shares - np.square(centers).sum(axis=1) / 2))
