"""The linear map that makes groups of one covariance round, with unit spread.

The covariance within groups is that of columns whose correlations are drawn to zero as far as they
are chance (Schäfer and Strimmer 2005), so that it can be had with more columns than rows. There it
is a diagonal and as many directions as there are rows, T^½ (I + (1 − a) BᵀB) T^½ with B of shape
(n, d), and no d × d array is made. Called by `splitting.mixtures`.
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

LEAST_SHRINKAGE = 1e-3
LEAST_VARIANCE = 1e-12
RIDGE = 1e-9
COLUMNS = 256  # of a block of correlations


class Whitening(ABC):
    """A matrix W of shape (d, d) with W Wᵀ the inverse covariance."""

    @abstractmethod
    def rows(self, X: Array) -> Array:
        """Points in units of the groups' spread, X W, (m, d)."""

    @abstractmethod
    def columns(self, axes: Array) -> Array:
        """What to multiply points by for their places along axes of that space, W axes, (d, q)."""


@dataclass(frozen=True)
class FullWhitening(Whitening):
    """Of any matrix (d, d)."""

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
    """The whitening of points (n, d) as a function of their shares in groups, (n, c).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 2)) @ [[1.0, 2.0], [0.0, 1.0]]
    >>> Z = whitening_of(X)(np.ones((500, 1))).rows(X)
    >>> np.cov(Z.T).round(1).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if X.shape[1] > len(X):
        return lambda shares: _of_few_rows(X, shares)
    products = X.T @ X
    return lambda shares: _of_many_rows(X, products, shares)


def _of_many_rows(X: Array, products: Array, shares: Array) -> Whitening:
    n, d = X.shape
    mass = shares.sum(axis=0)
    means = shares.T @ X / mass[:, None]
    covariance = (products - (means.T * mass) @ means) / n
    factor = cholesky(_shrunk(covariance, n) + RIDGE * np.eye(d), lower=True)
    return FullWhitening(solve_triangular(factor, np.eye(d), lower=True).T)


def _shrunk(covariance: Array, n: int) -> Array:
    """The covariance with its correlations drawn to zero as far as they are chance.

    Towards the columns' own spreads, not towards one spread for all: a column that separates
    groups is narrow within them, and is known by that.
    """
    spread = np.sqrt(np.maximum(np.diag(covariance), LEAST_VARIANCE))
    correlation = covariance / np.outer(spread, spread)
    np.fill_diagonal(correlation, 0.0)
    squares = np.square(correlation)
    d = len(spread)
    amount = _shrinkage(float(squares.sum()), float(np.square(squares).sum()), d, n)
    return np.asarray(((1 - amount) * correlation + np.eye(d)) * np.outer(spread, spread))


def _shrinkage(squares: float, fourth: float, d: int, n: int) -> float:
    """How far correlations are chance, by the sums of their second and fourth powers."""
    chance = (d * (d - 1) - 2 * squares + fourth) / max(n - 1, 1)
    return 1.0 if squares == 0 else min(1.0, max(LEAST_SHRINKAGE, chance / squares))


def _of_few_rows(X: Array, shares: Array) -> Whitening:
    """The same, where the covariance has no more directions than there are rows."""
    n, d = X.shape
    # Σ over groups of what lies within them is Xᵀ (I − P) X, P the shares' means
    size, turn = eigh(np.eye(n) - (shares / shares.sum(axis=0)) @ shares.T)
    within = (turn * np.sqrt(np.maximum(size, 0.0) / n)) @ (turn.T @ X)  # (n, d)
    own = np.square(within).sum(axis=0)
    variance = np.maximum(own, LEAST_VARIANCE)
    amount = _shrinkage(*_powers(within / np.sqrt(variance)), d, n)
    diagonal = variance - (1 - amount) * own + RIDGE
    scaled = np.sqrt(1 - amount) * within / np.sqrt(diagonal)
    directions, size = principal_axes(scaled)
    return LowRankWhitening(1 / np.sqrt(diagonal), directions, 1 / np.sqrt(1 + size) - 1)


def _powers(scaled: Array) -> tuple[float, float]:
    """Sums of the second and fourth powers of all correlations but those of columns themselves."""
    second = fourth = 0.0
    d = scaled.shape[1]
    scaled = scaled.astype(np.float32)  # sums of so many need no more, and take half as long
    for start in range(0, d, COLUMNS):
        block = scaled[:, start : start + COLUMNS]
        squares = np.square(block.T @ scaled[:, start:])  # every pair of columns once
        width = block.shape[1]
        inner = squares[:, :width] * (1 - np.eye(width, dtype=np.float32))
        for part, times in ((inner, 1), (squares[:, width:], 2)):
            second += times * float(part.sum(dtype=np.float64))
            fourth += times * float(np.square(part).sum(dtype=np.float64))
    return second, fourth
