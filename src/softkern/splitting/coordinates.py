"""Coordinates in which clusters are round and differ, for soft memberships of any points.

Clusters differ along a few directions, one fewer than there are clusters, and all others only blur
the memberships. Columns are transformed as for the splitting, whitened by the clusters' common
covariance, and projected on the directions between the clusters' centers. There, the midpoint of
two clusters is the same in any number of columns. Rows far from all centers, in units of the
clusters' spread in all columns, are noise. Called by `AutoClustering`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd
from scipy.spatial.distance import cdist

from softkern._utils.typing import Array
from softkern.splitting.mixture import TiedMixture, fit_mixture
from softkern.splitting.observations import is_discrete, straighten
from softkern.splitting.settings import SPLITTING

KNOTS = 64  # values per column between which its transformation is linear
MAX_DIRECTIONS = 10
MIN_SPREAD = 0.5  # of the centers along a direction, in spreads of a cluster


@dataclass(frozen=True)
class Coordinates:
    """A map of points (m, d) to the q directions in which clusters differ."""

    values: Array  # (d, k), values of every column
    images: Array  # (d, k), their transformation, linear between and beyond them
    directions: Array  # (d, q), on which transformed columns are projected
    origin: Array  # (q,), the projection that becomes zero

    def straight(self, X: Array) -> Array:
        """Return the transformed columns, (m, d); beyond the values with the average slope."""
        straight = np.empty(X.shape)
        for j, (values, images) in enumerate(zip(self.values, self.images, strict=True)):
            x, span = np.asarray(X[:, j], dtype=np.float64), float(values[-1] - values[0])
            slope = (images[-1] - images[0]) / span if span > 0 else 0.0
            beyond = np.minimum(x - values[0], 0) + np.maximum(x - values[-1], 0)
            straight[:, j] = np.interp(x, values, images) + slope * beyond
        return straight

    def forward(self, X: Array) -> Array:
        """Return positions along the directions, in spreads of a cluster, (m, q)."""
        positions = self.straight(X) @ self.directions - self.origin
        return np.ascontiguousarray(positions, dtype=X.dtype)


@dataclass(frozen=True)
class NoiseRadius:
    """A distance from the nearest center beyond which rows are noise, in no cluster."""

    coordinates: Coordinates  # map to units of the clusters' spread
    centers: Array  # (c, q), mapped
    farthest: float

    def is_noise(self, X: Array) -> NDArray[np.bool_]:
        """Return which points are noise, (m,)."""
        distances = cdist(self.coordinates.forward(X), self.centers)
        return np.asarray(distances.min(axis=1) > self.farthest)


def fit_coordinates(X: Array, labels: Array) -> tuple[Coordinates, TiedMixture] | None:
    """Fit coordinates to observations and their clusters; None without a common covariance.

    The returned mixture may have other labels for rows near a boundary.
    """
    values, images = _fit_knots(X)
    d = X.shape[1]
    varies = images[:, -1] > images[:, 0]  # constant columns are no part of the covariance
    plain = Coordinates(values, images, np.eye(d), np.zeros(d))
    mixture = fit_mixture(plain.straight(X)[:, varies], labels)
    if mixture is None or mixture.count < 2:
        return None
    shares = np.exp(mixture.log_shares) / np.exp(mixture.log_shares).sum()
    middle = shares @ mixture.centers
    offsets = np.sqrt(shares * len(shares))[:, None] * (mixture.centers - middle)
    _, size, rows = svd(offsets, full_matrices=False)
    size = size / np.sqrt(len(shares))
    count = int(np.clip((size > MIN_SPREAD).sum(), 1, min(MAX_DIRECTIONS, mixture.count - 1)))
    largest = np.argmax(np.abs(rows[:count]), axis=1)
    signs = np.sign(rows[np.arange(count), largest])  # of two possible ones, whatever the rounding
    axes = (rows[:count] * signs[:, None]).T  # (columns that vary, q)
    directions = np.zeros((d, count))
    directions[varies] = mixture.whitening @ axes
    return Coordinates(values, images, directions, middle @ axes), mixture


def _fit_knots(X: Array) -> tuple[Array, Array]:
    """Values of every column and their images, (d, k); constant columns become zero."""
    values, images = np.empty((X.shape[1], KNOTS)), np.zeros((X.shape[1], KNOTS))
    for j, column in enumerate(np.asarray(X, np.float64).T):
        own, counts = np.unique(column, return_counts=True)
        if len(own) == 1:
            values[j] = own + np.linspace(-1, 1, KNOTS)
            continue
        middle, index = np.cumsum(counts) - counts / 2, np.arange(len(own))
        places = np.interp(np.linspace(0, middle[-1], KNOTS), middle, index)
        places[0], places[-1] = 0, len(own) - 1
        values[j] = np.interp(places, index, own)
        images[j] = np.interp(places, index, straighten(own, counts))
    return values, images


def fit_noise_radius(X: Array, coordinates: Coordinates, labels: Array) -> NoiseRadius | None:
    """Fit the distance to observations and their clusters; None without a common covariance.

    The farthest one in a hundred rows does not count for the spread: a few far rows would widen it
    until they were near. Discrete columns are left out: in their transformation nothing is far.
    """
    d = X.shape[1]
    is_smooth = ~np.array([is_discrete(np.unique(x, return_counts=True)[1]) for x in X.T])
    points = coordinates.straight(X)[:, is_smooth]
    near = np.full(len(X), is_smooth.any())
    for _ in range(2):  # all rows, then without the farthest
        has_all = len(np.unique(labels[near])) > labels.max()
        mixture = fit_mixture(points[near], labels[near], 1) if has_all else None
        if mixture is None:
            return None
        distance = cdist(points @ mixture.whitening, mixture.centers).min(axis=1)
        usual = float(np.quantile(distance, 1 - SPLITTING.noise_share))
        near, centers, whitening = distance <= usual, mixture.centers, mixture.whitening
    q = int(is_smooth.sum())
    directions = np.zeros((d, q))
    directions[is_smooth] = whitening @ np.eye(q)
    whitened = replace(coordinates, directions=directions, origin=np.zeros(q))
    return NoiseRadius(whitened, centers, SPLITTING.noise_factor * usual)
