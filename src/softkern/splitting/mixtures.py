"""Mixtures of normal groups with one covariance, and projections between them.

With one covariance S for all groups, the log ratio of two groups' densities is linear, and
S^(−1/2) makes every group round with unit spread: the direction between two centres there is the
one along which the groups are furthest apart for their width. The covariance is that of columns
whose correlations are drawn to zero as far as they are chance (Schäfer and Strimmer 2005), so
that it can be had with more columns than rows. Called by `splitting.recursion`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from softkern._typing import Array

__all__ = ["Mixture", "fit_mixture"]

STEPS = 60
CHANGED = 1e-3  # share of the points that change their group in the last step
LEAST_SHRINKAGE = 1e-3
FEWEST = 2.0  # points of a group


@dataclass(frozen=True)
class Mixture:
    """Round groups of unit spread after a linear map.

    Attributes
    ----------
    whitening : array of shape (d, d)
        Points times it are in units of the groups' spread.
    centres : array of shape (c, d)
        There.
    log_shares : array of shape (c,)
        Of the points.
    labels : array of shape (n,)
        The group of every point that was fitted.
    """

    whitening: Array
    centres: Array
    log_shares: Array
    labels: NDArray[np.intp]

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.centres)

    def mapped(self, X: Array) -> Array:
        """Points in units of the groups' spread, (m, d)."""
        return np.asarray(X @ self.whitening)

    def assign(self, mapped: Array) -> NDArray[np.intp]:
        """The likeliest group of mapped points, (m,)."""
        return np.argmax(_log_ratios(mapped, self.centres, self.log_shares), axis=1)

    def between(self, mapped: Array, i: int, j: int) -> Array:
        """Places of mapped points on the line from group j to group i, zero half way, (m,)."""
        way = self.centres[i] - self.centres[j]
        middle = (self.centres[i] + self.centres[j]) / 2
        return np.asarray((mapped - middle) @ way / max(float(np.linalg.norm(way)), 1e-300))

    @cached_property
    def gaps(self) -> Array:
        """Distances between centres in units of the groups' spread, (c, c)."""
        return np.linalg.norm(self.centres[:, None] - self.centres, axis=2)


def fit_mixture(X: Array, labels: Array, steps: int = STEPS) -> Mixture | None:
    """The mixture that expectation maximisation reaches from labels; None where a group vanishes.

    Parameters
    ----------
    X : array of shape (n, d)
        Columns of about unit spread.
    labels : array of shape (n,)
        Whole numbers from 0.
    """
    n, d = X.shape
    shares = np.eye(int(labels.max()) + 1)[labels]  # (n, c)
    products, previous = X.T @ X, labels
    for _ in range(steps):
        mass = shares.sum(axis=0)
        if (mass < FEWEST).any():
            return None
        means = shares.T @ X / mass[:, None]
        covariance = (products - (means.T * mass) @ means) / n
        factor = cholesky(_shrunk(covariance, n) + 1e-9 * np.eye(d), lower=True)
        whitening = solve_triangular(factor, np.eye(d), lower=True).T
        centres, log_shares = means @ whitening, np.log(mass / n)
        logs = _log_ratios(X @ whitening, centres, log_shares)
        found = np.argmax(logs, axis=1)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        if (found != previous).mean() <= CHANGED:
            break
        previous = found
    return _without_empty(Mixture(whitening, centres, log_shares, found))


def _without_empty(mixture: Mixture) -> Mixture:
    """Groups that are nowhere the likeliest are left out."""
    kept, labels = np.unique(mixture.labels, return_inverse=True)
    return Mixture(mixture.whitening, mixture.centres[kept], mixture.log_shares[kept], labels)


def _log_ratios(mapped: Array, centres: Array, log_shares: Array) -> Array:
    """Logarithms of the groups' densities less what they have in common, (m, c)."""
    return np.asarray(mapped @ centres.T + (log_shares - np.square(centres).sum(axis=1) / 2))


def _shrunk(covariance: Array, n: int) -> Array:
    """The covariance with its correlations drawn to zero as far as they are chance.

    Towards the columns' own spreads, not towards one spread for all: a column that separates
    groups is narrow within them, and is known by that.
    """
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
    correlation = covariance / np.outer(spread, spread)
    np.fill_diagonal(correlation, 0.0)
    squares = np.square(correlation)
    total = float(squares.sum())
    d = len(spread)
    # the diagonal's ones are no chance
    chance = (float(np.square(1 - squares).sum()) - d) / max(n - 1, 1)
    amount = 1.0 if total == 0 else min(1.0, max(LEAST_SHRINKAGE, chance / total))
    return np.asarray(((1 - amount) * correlation + np.eye(d)) * np.outer(spread, spread))
