"""The linear map that makes clusters with a common covariance round, with unit spread.

The correlations within clusters are shrunk towards zero by as much as they are chance (Schäfer and
Strimmer 2005), while every column keeps its own variance: a column that separates clusters is
narrow within them. `sklearn.covariance.ledoit_wolf` shrinks towards one variance for all columns
and needs a d × d array. With more columns than rows the covariance is a diagonal and as many
directions as there are rows, T^½ (I + (1 − a) BᵀB) T^½ with B of shape (n, d), and no d × d array
is made. Called by `splitting.mixture`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular

from softkern._utils.arrays import principal_axes
from softkern._utils.typing import Array

__all__ = ["Whitening", "whitening_of"]

MIN_SHRINKAGE = 1e-3
MIN_VARIANCE = 1e-12
RIDGE = 1e-9
COLUMNS = 256  # per block of correlations


class Whitening(ABC):
    """A matrix W of shape (d, d) with W Wᵀ the inverse covariance."""

    @abstractmethod
    def rows(self, X: Array) -> Array:
        """Points in units of the clusters' spread, X W, (m, d)."""

    @abstractmethod
    def columns(self, axes: Array) -> Array:
        """Matrix that maps points to positions along axes of that space, W axes, (d, q)."""


@dataclass(frozen=True)
class FullWhitening(Whitening):
    """A whitening with a full matrix (d, d)."""

    matrix: Array

    def rows(self, X: Array) -> Array:
        return np.asarray(X @ self.matrix)

    def columns(self, axes: Array) -> Array:
        return np.asarray(self.matrix @ axes)


@dataclass(frozen=True)
class LowRankWhitening(Whitening):
    """T^−½ (I + V g Vᵀ), with T^−½ the scale (d,), directions V (d, r) and gains g (r,)."""

    scale: Array
    directions: Array
    gains: Array

    def rows(self, X: Array) -> Array:
        scaled = X * self.scale
        return np.asarray(scaled + (scaled @ self.directions * self.gains) @ self.directions.T)

    def columns(self, axes: Array) -> Array:
        turned = axes + self.directions @ (self.gains[:, None] * (self.directions.T @ axes))
        return np.asarray(self.scale[:, None] * turned)


def whitening_of(X: Array) -> Callable[[Array], Whitening]:
    """Return the whitening of points (n, d) as a function of their shares in clusters, (n, c).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 2)) @ [[1.0, 2.0], [0.0, 1.0]]
    >>> Z = whitening_of(X)(np.ones((500, 1))).rows(X)
    >>> np.cov(Z.T).round(1).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if X.shape[1] > len(X):
        return lambda shares: _whiten_few_rows(X, shares)
    products = X.T @ X
    return lambda shares: _whiten_many_rows(X, products, shares)


def _whiten_many_rows(X: Array, products: Array, shares: Array) -> Whitening:
    """The whitening for at least as many rows as columns."""
    n, d = X.shape
    mass = shares.sum(axis=0)
    means = shares.T @ X / mass[:, None]
    covariance = (products - (means.T * mass) @ means) / n
    factor = cholesky(_shrunk(covariance, n) + RIDGE * np.eye(d), lower=True)
    return FullWhitening(solve_triangular(factor, np.eye(d), lower=True).T)


def _shrunk(covariance: Array, n: int) -> Array:
    """Shrink the correlations of a covariance towards zero."""
    spread = np.sqrt(np.maximum(np.diag(covariance), MIN_VARIANCE))
    correlation = covariance / np.outer(spread, spread)
    np.fill_diagonal(correlation, 0.0)
    squares = np.square(correlation)
    d = len(spread)
    amount = _shrinkage(float(squares.sum()), float(np.square(squares).sum()), d, n)
    return np.asarray(((1 - amount) * correlation + np.eye(d)) * np.outer(spread, spread))


def _shrinkage(squares: float, fourth: float, d: int, n: int) -> float:
    """How much of the correlations is chance, from sums of their second and fourth powers."""
    chance = (d * (d - 1) - 2 * squares + fourth) / max(n - 1, 1)
    return 1.0 if squares == 0 else min(1.0, max(MIN_SHRINKAGE, chance / squares))


def _whiten_few_rows(X: Array, shares: Array) -> Whitening:
    """The whitening for more columns than rows."""
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
