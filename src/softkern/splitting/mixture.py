"""Mixtures of normal clusters with a common covariance, and the map that makes them round.

With one covariance S for all clusters, the log ratio of two densities is linear, and a matrix W
with W Wᵀ = S⁻¹ makes every cluster round with unit spread: the direction between two centers there
is the one along which the clusters are best separated. Called by `splitting.split`.

Correlations in S are shrunk towards zero by as much as they are chance (Schäfer and Strimmer 2005).
Every column keeps its own variance, since one that separates clusters is narrow within them.
`sklearn.mixture.GaussianMixture` with ``covariance_type="tied"`` follows chance correlations, and
`sklearn.covariance.ledoit_wolf` shrinks towards one variance for all columns. Both need d × d
arrays. Here, with more columns than rows, the covariance is T^½ (I + (1 − a) BᵀB) T^½ with T
diagonal and B of shape (n, d).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigh, solve_triangular

from softkern._utils.arrays import principal_axes
from softkern._utils.typing import Array

STEPS = 60
CHANGED = 1e-3  # share of points that change their cluster in the last step
MIN_MASS = 2.0  # points of a cluster
MIN_SHRINKAGE = 1e-3
MIN_VARIANCE = 1e-12
RIDGE = 1e-9
COLUMNS = 256  # per block of correlations


@dataclass(frozen=True)
class LowRankWhitening:
    """The matrix T^−½ (I + V g Vᵀ), with T^−½ the scale (d,), directions V (d, r), gains g (r,)."""

    scale: Array
    directions: Array
    gains: Array

    __array_ufunc__ = None  # so that X @ W of an array X calls __rmatmul__

    def __rmatmul__(self, X: Array) -> Array:
        scaled = X * self.scale
        return np.asarray(scaled + (scaled @ self.directions * self.gains) @ self.directions.T)

    def __matmul__(self, axes: Array) -> Array:
        turned = axes + self.directions @ (self.gains[:, None] * (self.directions.T @ axes))
        return np.asarray(self.scale[:, None] * turned)


@dataclass(frozen=True)
class TiedMixture:
    """Round clusters of unit spread after a linear map."""

    whitening: Any  # W, an array (d, d) or LowRankWhitening: X W is in units of clusters' spread
    centers: Array  # (c, d), mapped
    log_shares: Array  # (c,), logarithms of the clusters' shares of the points
    labels: NDArray[np.intp]  # (n,), cluster of every fitted point

    @property
    def count(self) -> int:
        """Number of clusters."""
        return len(self.centers)

    def log_ratios(self, mapped: Array) -> Array:
        """Logarithms of the clusters' densities at mapped points, without a common part, (m, c)."""
        constants = self.log_shares - np.square(self.centers).sum(axis=1) / 2
        return np.asarray(mapped @ self.centers.T + constants)

    def positions(self, mapped: Array, i: Any, j: Any) -> Array:
        """Positions on the lines from clusters j to i, zero half way, (m, pairs) or (m,)."""
        way = self.centers[i] - self.centers[j]  # (pairs, d)
        middle = (self.centers[i] + self.centers[j]) / 2
        offsets = mapped @ way.T - (middle * way).sum(axis=-1)
        return np.asarray(offsets / np.maximum(np.linalg.norm(way, axis=-1), 1e-300))


def fit_mixture(X: Array, labels: Array, steps: int = STEPS) -> TiedMixture | None:
    """Run expectation maximization from labels (n,); return None if a cluster vanishes.

    Columns of X (n, d) have about unit spread.
    """
    n, d = X.shape
    shares = np.eye(int(labels.max()) + 1)[labels]  # (n, c)
    products = X.T @ X if d <= n else None
    previous = np.asarray(labels, dtype=np.intp)
    for _ in range(steps):
        mass = shares.sum(axis=0)
        if (mass < MIN_MASS).any():
            return None
        whitening = fit_whitening(X, shares, products)
        centers = (shares.T @ X / mass[:, None]) @ whitening
        mixture = TiedMixture(whitening, centers, np.log(mass / n), previous)
        logs = mixture.log_ratios(X @ whitening)
        current = np.argmax(logs, axis=1)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        if (current != previous).mean() <= CHANGED:
            break
        previous = current
    # without clusters that are nowhere the likeliest
    present, labels = np.unique(current, return_inverse=True)
    return TiedMixture(whitening, centers[present], mixture.log_shares[present], labels)


def fit_whitening(X: Array, shares: Array, products: Array | None = None) -> Any:
    """The whitening W of points (n, d) with shares (n, c) in clusters; `products` is Xᵀ X."""
    n, d = X.shape
    if d > n:
        return _whiten_few_rows(X, shares)
    mass = shares.sum(axis=0)
    means = shares.T @ X / mass[:, None]
    products = X.T @ X if products is None else products
    covariance = (products - (means.T * mass) @ means) / n
    spread = np.sqrt(np.maximum(np.diag(covariance), MIN_VARIANCE))
    correlation = covariance / np.outer(spread, spread)
    np.fill_diagonal(correlation, 0.0)
    squares = np.square(correlation)
    amount = _shrinkage(float(squares.sum()), float(np.square(squares).sum()), d, n)
    shrunk = ((1 - amount) * correlation + np.eye(d)) * np.outer(spread, spread)
    factor = cholesky(shrunk + RIDGE * np.eye(d), lower=True)
    return np.asarray(solve_triangular(factor, np.eye(d), lower=True).T)


def _shrinkage(squares: float, fourth: float, d: int, n: int) -> float:
    """How much of the correlations is chance, from sums of their second and fourth powers."""
    chance = (d * (d - 1) - 2 * squares + fourth) / max(n - 1, 1)
    return 1.0 if squares == 0 else min(1.0, max(MIN_SHRINKAGE, chance / squares))


def _whiten_few_rows(X: Array, shares: Array) -> LowRankWhitening:
    n, d = X.shape
    # the scatter within clusters is Xᵀ (I − P) X, where P takes the means by shares
    size, turn = eigh(np.eye(n) - (shares / shares.sum(axis=0)) @ shares.T)
    within = (turn * np.sqrt(np.maximum(size, 0.0) / n)) @ (turn.T @ X)  # (n, d)
    own = np.square(within).sum(axis=0)
    variance = np.maximum(own, MIN_VARIANCE)
    amount = _shrinkage(*_power_sums(within / np.sqrt(variance)), d, n)
    diagonal = variance - (1 - amount) * own + RIDGE
    scaled = np.sqrt(1 - amount) * within / np.sqrt(diagonal)
    directions, size = principal_axes(scaled)
    return LowRankWhitening(1 / np.sqrt(diagonal), directions, 1 / np.sqrt(1 + size) - 1)


def _power_sums(scaled: Array) -> tuple[float, float]:
    """Sums of the second and fourth powers of all correlations between different columns."""
    second = fourth = 0.0
    d = scaled.shape[1]
    scaled = scaled.astype(np.float32)  # enough for such sums, and twice as fast
    for start in range(0, d, COLUMNS):
        block = scaled[:, start : start + COLUMNS]
        squares = np.square(block.T @ scaled[:, start:])  # each pair of columns once
        width = block.shape[1]
        inner = squares[:, :width] * (1 - np.eye(width, dtype=np.float32))
        for part, times in ((inner, 1), (squares[:, width:], 2)):
            second += times * float(part.sum(dtype=np.float64))
            fourth += times * float(np.square(part).sum(dtype=np.float64))
    return second, fourth
