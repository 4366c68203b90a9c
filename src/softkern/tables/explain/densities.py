"""Parts of columns in the outlyingness of rows, under two densities of the typical rows.

Without a column x_j, −log f falls by −log f(x_j | the other columns): the part of column j is how
unusual its value is given all others. Two densities give it exactly. `KernelDensity`: without a
column, the value of a product kernel is that of the other columns, so that all densities follow
from the same differences. It fits clusters of any shape, but hardly detects correlations in many
columns. `Ellipsoids`: one normal density per cluster with conditional densities in closed form. It
detects a row that breaks a correlation in 200 columns. Neither replaces the other, so
`attribution` evaluates both, and uses for every row the one in which a column stands out more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from softkern._utils.arrays import log_sums, principal_axes
from softkern._utils.typing import Array
from softkern.kernels.radial import Radial
from softkern.rows import lower_quantile, row_slices

CELLS = 2**20  # numbers in a block of rows, reference rows and columns, which fits in the cache
LEAST_WIDTH = 0.03  # least width of a column within a cluster, in units of its spread over all rows
CLIPPED = 4.0  # spreads from the median at which values are clipped for a covariance
NORMAL_RANGE = 1.35  # width of the inner half of a normal column, in standard deviations
MOST_ELLIPSOIDS = 50


@dataclass(frozen=True)
class KernelDensity:
    """f(x) = Σ_i w_i Π_j k_j(x_j, r_ij) of reference rows r, except duplicates of x."""

    kernel: Radial  # has one bandwidth per column
    rows: Array  # (n, d)
    weight: Array  # (n,)

    def parts(self, X: Array, excluded: NDArray[np.intp] | None = None) -> Array:
        """Return log f without column j, less log f, (m, d), both without `excluded`, (m, s)."""
        parts = np.zeros(X.shape)
        for block, logs, total in self._blocks(X):
            for columns in () if excluded is None else excluded[block].T:
                total -= _of_each(logs, columns)
            whole = log_sums(total.copy())
            np.subtract(total, logs, out=logs)
            parts[block] = (log_sums(logs) - whole).T
        return parts

    def beside(
        self, X: Array, first: NDArray[np.intp], others: NDArray[np.intp]
    ) -> tuple[Array, Array]:
        """Return the part of one column without each of some others, (m, k), and with all, (m,)."""
        left, whole = np.zeros(others.shape), np.zeros(len(X))
        for block, logs, total in self._blocks(X):
            own = _of_each(logs, first[block])
            whole[block] = log_sums(total - own) - log_sums(total.copy())
            for k, columns in enumerate(others[block].T):
                rest = total - _of_each(logs, columns)
                left[block, k] = log_sums(rest - own) - log_sums(rest)
        return left, whole

    def _blocks(self, X: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Yield rows, their log factors, (d, m, n), and log terms of f, (m, n), no duplicates."""
        for block in row_slices(len(X), max(1, CELLS // self.rows.size)):
            logs = self.kernel.column_logs(X[block], self.rows)
            total = logs.sum(axis=0)
            with np.errstate(divide="ignore"):
                total += np.where((logs == 0).all(axis=0), -np.inf, np.log(self.weight))
            is_alone = np.isneginf(total).all(axis=1)  # all rows are duplicates: all parts are 0
            total[is_alone] = 0.0
            logs[:, is_alone] = 0.0
            yield block, logs, total


@dataclass(frozen=True)
class Ellipsoids:
    """One normal density per cluster."""

    spread: Array  # (d,), the unit of every column
    means: Array  # (c, d)
    precisions: list[Precision]

    @classmethod
    def fit(cls, X: Array, weight: Array, labels: Array) -> Ellipsoids:
        """Fit typical rows. Covariances of small clusters are shrunk to the common one."""
        spread = _spread(X, weight)
        groups = np.unique(labels)
        mass = np.array([weight[labels == g].sum() for g in groups])
        groups = groups[np.argsort(-mass, kind="stable")[:MOST_ELLIPSOIDS]]
        means, within = [], []
        for g in groups:
            Z, w = X[labels == g] / spread, weight[labels == g]
            middle = lower_medians(Z, w)
            wide = np.maximum(_spread(Z, w), LEAST_WIDTH)
            Z = np.clip(Z - middle, -CLIPPED * wide, CLIPPED * wide)
            shift = w @ Z / w.sum()
            means.append(middle + shift)
            within.append((Z - shift) * np.sqrt(w / w.mean())[:, None])
        common = np.concatenate(within)
        d = X.shape[1]
        # less than is optimal without correlations, which would remove a few strong ones
        shrinkage = d / (d + 2 * len(common))
        precisions = []
        for Z in within:
            trust = len(Z) / (len(Z) + 2 * d)
            parts = ((trust / len(Z), Z), ((1 - trust) / len(common), common))
            precisions.append(Precision.of(parts, shrinkage))
        return cls(spread, np.array(means), precisions)

    def parts(self, X: Array, excluded: NDArray[np.intp] | None = None) -> Array:
        """Return ½ r², (m, d), r the distance of column j from its expectation given the others.

        The cluster is the one that the row would fit best except for one column. Columns
        `excluded`, (m, s), do not count.
        """

        def evaluate(precision: Precision, off: Array, pull: Array) -> tuple[Array, Array]:
            width = np.broadcast_to(precision.diagonal, pull.shape)
            total = np.einsum("ij,ij->i", off, pull)
            if excluded is not None:
                pull, width, total = _without(precision, pull, total, excluded)
            r2 = pull**2 / width
            return total - r2.max(axis=1), 0.5 * r2  # without its worst column

        return self._in_best_cluster(X, evaluate)

    def against(self, X: Array, first: NDArray[np.intp]) -> Array:
        """Return how far each column moves the expectation of one, (m,), off its value, (m, d)."""
        at = np.arange(len(X)), first

        def evaluate(precision: Precision, off: Array, pull: Array) -> tuple[Array, Array]:
            rest = np.einsum("ij,ij->i", off, pull) - pull[at] ** 2 / precision.diagonal[first]
            return rest, precision.rows(first) * off * np.sign(pull[at])[:, None]

        return self._in_best_cluster(X, evaluate)

    def _in_best_cluster(
        self, X: Array, evaluate: Callable[[Precision, Array, Array], tuple[Array, Array]]
    ) -> Array:
        """Return values of rows, (m, d), from the cluster where the squared length is least."""
        best, values = np.full(len(X), np.inf), np.zeros(X.shape)
        for mean, precision in zip(self.means, self.precisions, strict=True):
            off = X / self.spread - mean
            length, own = evaluate(precision, off, precision.times(off))
            is_better = length < best
            best[is_better], values[is_better] = length[is_better], own[is_better]
        return values

    def beside(
        self, X: Array, first: NDArray[np.intp], others: NDArray[np.intp]
    ) -> tuple[Array, Array]:
        """Return the part of one column without each of some others, (m, k), and with all, (m,)."""
        at = np.arange(len(X)), first
        left = [self.parts(X, columns[:, None])[at] for columns in others.T]
        return np.stack(left, axis=1), self.parts(X)[at]


@dataclass(frozen=True)
class Precision:
    """An inverse covariance, diag(t) + F diag(g) Fᵀ, where r is at most the number of rows."""

    flat: Array  # t, (d,)
    directions: Array  # F, (d, r)
    gains: Array  # g, (r,)

    @classmethod
    def of(cls, parts: Sequence[tuple[float, Array]], shrinkage: float) -> Precision:
        """Invert Σ w ZᵀZ over parts (w, Z) of centered rows, shrunk to its diagonal.

        No column is narrower than `LEAST_WIDTH`.
        """
        own = sum(w * np.square(Z).sum(axis=0) for w, Z in parts)
        flat = shrinkage * own + LEAST_WIDTH**2
        if sum(len(Z) for _, Z in parts) < len(flat):
            rows = np.concatenate([np.sqrt((1 - shrinkage) * w) * Z for w, Z in parts])
            axes, sizes = principal_axes(rows / np.sqrt(flat))
            return cls(1 / flat, axes / np.sqrt(flat)[:, None], 1 / (1 + sizes) - 1)
        covariance = (1 - shrinkage) * sum(w * (Z.T @ Z) for w, Z in parts) + np.diag(flat)
        factor = np.linalg.inv(np.linalg.cholesky(covariance))
        return cls(np.zeros(len(flat)), factor.T, np.ones(len(flat)))

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal, (d,)."""
        return np.asarray(self.flat + np.square(self.directions) @ self.gains)

    def times(self, X: Array) -> Array:
        """Return X times the matrix, (m, d)."""
        return np.asarray(X * self.flat + (X @ self.directions * self.gains) @ self.directions.T)

    def rows(self, index: NDArray[np.intp]) -> Array:
        """Return some rows of the matrix, (*index.shape, d)."""
        rows = (self.directions[index] * self.gains) @ self.directions.T
        is_own = index[..., None] == np.arange(len(self.flat))
        return np.asarray(rows + is_own * self.flat)


def _without(
    precision: Precision, pull: Array, total: Array, excluded: NDArray[np.intp]
) -> tuple[Array, Array, Array]:
    """Return pulls and widths, (m, d), and squared lengths, (m,), without excluded columns."""
    rows = precision.rows(excluded)  # (m, s, d)
    square = np.take_along_axis(rows, excluded[:, None, :], axis=2)  # (m, s, s)
    own = np.take_along_axis(pull, excluded, axis=1)  # (m, s)
    share = np.linalg.solve(square, rows)  # (m, s, d)
    width = precision.diagonal - np.einsum("msd,msd->md", rows, share)
    left = pull - np.einsum("ms,msd->md", own, share)
    total = total - np.einsum("ms,ms->m", own, np.linalg.solve(square, own[..., None])[..., 0])
    np.put_along_axis(left, excluded, 0.0, axis=1)
    np.put_along_axis(width, excluded, 1.0, axis=1)
    return left, width, total


def _of_each(logs: Array, columns: NDArray[np.intp]) -> Array:
    """Return, for every row of logarithms (d, m, n), those of one column, (m, n)."""
    return np.asarray(logs[columns, np.arange(logs.shape[1])])


def lower_medians(X: Array, weight: Array) -> Array:
    """Return the weighted median of every column, (d,)."""
    return np.apply_along_axis(lower_quantile, 0, X, weight, 0.5)


def _spread(X: Array, weight: Array) -> Array:
    """Return the spread of the inner half, or of all if that is one value, never 0, (d,)."""
    low, middle, high = np.apply_along_axis(lower_quantile, 0, X, weight, (0.25, 0.5, 0.75))
    off = np.abs(X - middle).mean(axis=0)
    spread = np.where(high > low, (high - low) / NORMAL_RANGE, off)
    return np.asarray(np.where(spread > 0, spread, 1.0))
