"""How much less unusual rows would be without a column, under two densities of the usual rows.

Without a column x_j, −log f falls by −log f(x_j | the other columns): the part of column j is how
unusual its value is given all others. Two densities say so exactly. `KernelDensity`: a product
kernel's value without a column is that of the other columns, so that all densities come from the
same differences; it follows clusters of any shape, and hardly sees correlations in many columns.
`Ellipsoids`: one normal density for every cluster, whose conditional densities are known in closed
form; it sees a row that breaks a correlation in 200 columns. `softkern.explain.points` asks both
and takes, for every row, the one in which a column stands out more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softkern._arrays import log_sums
from softkern._typing import Array
from softkern.kernels.radial import Radial
from softkern.rows import lower_quantiles, row_slices

__all__ = ["Ellipsoids", "KernelDensity"]

CELLS = 2**20  # numbers of a block of rows, reference rows and columns: they stay in the cache
LEAST_WIDTH = 0.03  # of a column within a cluster, in units of its spread over all rows
CLIPPED = 4.0  # spreads from the median beyond which a value has no more part in a covariance
NORMAL_RANGE = 1.35  # of the inner half of a normal column, in standard deviations
MOST_ELLIPSOIDS = 50


@dataclass(frozen=True)
class KernelDensity:
    """f(x) = Σ_i w_i Π_j k_j(x_j, r_ij) of reference rows r, copies of x aside.

    Attributes
    ----------
    kernel : Radial
        With a bandwidth for every column.
    rows : array of shape (n, d)
    weight : array of shape (n,)
    """

    kernel: Radial
    rows: Array
    weight: Array

    def parts(self, X: Array) -> Array:
        """log f without column j, less log f, (m, d)."""
        n, d = self.rows.shape
        parts = np.zeros((len(X), d))
        for block in row_slices(len(X), max(1, CELLS // (n * d))):
            parts[block] = self._block(X[block])
        return parts

    def _block(self, X: Array) -> Array:
        logs = self.kernel.column_logs(X, self.rows)  # (d, m, n)
        total = logs.sum(axis=0)
        with np.errstate(divide="ignore"):
            mass = np.where((logs == 0).all(axis=0), -np.inf, np.log(self.weight))  # (m, n)
        total += mass
        is_alone = np.isneginf(total).all(axis=1)  # every reference row is a copy
        total[is_alone] = 0.0
        whole = log_sums(total.copy())
        np.subtract(total, logs, out=logs)
        parts = log_sums(logs) - whole  # (d, m)
        return np.where(is_alone[:, None], 0.0, parts.T)


@dataclass(frozen=True)
class Ellipsoids:
    """One normal density for every cluster.

    Attributes
    ----------
    spread : array of shape (d,)
        The unit of every column.
    means : array of shape (c, d)
    precisions : array of shape (c, d, d)
    """

    spread: Array
    means: Array
    precisions: Array

    @classmethod
    def fit(cls, X: Array, weight: Array, labels: Array) -> Ellipsoids:
        """Of the usual rows; covariances of small clusters are drawn to what all have in common."""
        spread = _spread(X, weight)
        groups = np.unique(labels)
        mass = np.array([weight[labels == g].sum() for g in groups])
        groups = groups[np.argsort(-mass, kind="stable")[:MOST_ELLIPSOIDS]]
        means, within, counts = [], [], []
        for g in groups:
            Z, w = X[labels == g] / spread, weight[labels == g]
            middle = lower_medians(Z, w)
            wide = np.maximum(_spread(Z, w), LEAST_WIDTH)
            Z = np.clip(Z - middle, -CLIPPED * wide, CLIPPED * wide)
            shift = w @ Z / w.sum()
            means.append(middle + shift)
            within.append((Z - shift) * np.sqrt(w / w.mean())[:, None])
            counts.append(len(Z))
        common = np.concatenate(within)
        d = X.shape[1]
        # less than what suits a matrix of no correlations, of which the few strong ones would go
        shrinkage = d / (d + 2 * len(common))
        pooled = _covariance(common, shrinkage)
        precisions = []
        for Z, n in zip(within, counts, strict=True):
            trust = n / (n + 2 * d)
            covariance = trust * _covariance(Z, shrinkage) + (1 - trust) * pooled
            precisions.append(np.linalg.inv(covariance))
        return cls(spread, np.array(means), np.array(precisions))

    def parts(self, X: Array) -> Array:
        """½ r², r the distance of column j from what the others let expect, (m, d).

        In the cluster that the row would fit best but for one column.
        """
        Z = X / self.spread
        best = np.full(len(X), np.inf)
        parts = np.zeros(X.shape)
        for mean, precision in zip(self.means, self.precisions, strict=True):
            off = Z - mean
            pull = off @ precision  # (m, d)
            r2 = pull**2 / np.diagonal(precision)
            rest = np.einsum("ij,ij->i", off, pull) - r2.max(axis=1)  # without its worst column
            is_better = rest < best
            best = np.where(is_better, rest, best)
            parts[is_better] = 0.5 * r2[is_better]
        return parts


def lower_medians(X: Array, weight: Array) -> Array:
    """The weighted median of every column, (d,)."""
    return np.array([lower_quantiles(x, weight, (0.5,))[0] for x in X.T])


def _spread(X: Array, weight: Array) -> Array:
    """Of the inner half, or of all where that is one value; never 0, (d,)."""
    quartiles = np.array([lower_quantiles(x, weight, (0.25, 0.75)) for x in X.T])
    spread = (quartiles[:, 1] - quartiles[:, 0]) / NORMAL_RANGE
    off = np.abs(X - lower_medians(X, weight)).mean(axis=0)
    spread = np.where(spread > 0, spread, off)
    return np.asarray(np.where(spread > 0, spread, 1.0))


def _covariance(Z: Array, shrinkage: float) -> Array:
    """Of centred rows, drawn to its diagonal; no column is narrower than `LEAST_WIDTH`."""
    covariance = Z.T @ Z / len(Z)
    diagonal = np.diag(np.diagonal(covariance))
    least = LEAST_WIDTH**2 * np.eye(len(covariance))
    return np.asarray((1 - shrinkage) * covariance + shrinkage * diagonal + least)
