"""Coordinates in which clusters are round and differ, for soft memberships of any points.

Clusters that `splitting.split` finds differ along a few directions, one fewer than there are
clusters; all other directions only blur the memberships. Columns are transformed as for the
splitting, whitened by the clusters' common covariance, and projected on the directions between the
clusters' centers. There, a point half way between two clusters is half way in any number of
columns. The map is stored as plain arrays and applies to new points as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import svd

from softkern._utils.typing import Array
from softkern.splitting.mixture import TiedMixture, fit_mixture
from softkern.splitting.observations import straighten

__all__ = ["Coordinates", "fit_coordinates"]

KNOTS = 64  # values per column between which its transformation is linear
MAX_DIRECTIONS = 10
MIN_SPREAD = 0.5  # of the centers along a direction, in spreads of a cluster


@dataclass(frozen=True)
class Coordinates:
    """A map of points to the directions in which clusters differ.

    Attributes
    ----------
    values, images : arrays of shape (d, k)
        Values of every column and their transformation, linear between and beyond them.
    directions : array of shape (d, q)
        Directions on which transformed columns are projected.
    origin : array of shape (q,)
        Projection that becomes zero.
    """

    values: Array
    images: Array
    directions: Array
    origin: Array

    def straight(self, X: Array) -> Array:
        """Return the transformed columns, (m, d)."""
        columns = zip(np.asarray(X, dtype=np.float64).T, self.values, self.images, strict=True)
        return np.column_stack([_interpolated(x, v, z) for x, v, z in columns])

    def forward(self, X: Array) -> Array:
        """Return positions along the directions, in spreads of a cluster, (m, q)."""
        positions = self.straight(X) @ self.directions - self.origin
        return np.ascontiguousarray(positions, dtype=X.dtype)


def fit_coordinates(X: Array, labels: Array) -> tuple[Coordinates, TiedMixture] | None:
    """Fit coordinates to observations and their clusters; None without a common covariance.

    The labels of the returned mixture may differ for rows near a boundary, because they use the
    covariance.
    """
    values, images = _knots(X)
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
    directions[varies] = mixture.whitening.columns(axes)
    return Coordinates(values, images, directions, middle @ axes), mixture


def _knots(X: Array) -> tuple[Array, Array]:
    """Values of every column and their images, (d, k); constant columns become zero."""
    parts = [np.unique(column, return_counts=True) for column in np.asarray(X, np.float64).T]
    values = np.stack([own[0] + np.linspace(-1, 1, KNOTS) for own, _ in parts])
    images = np.zeros(values.shape)
    varying = [j for j, (own, _) in enumerate(parts) if len(own) > 1]
    straight = straighten(*([parts[j][k] for j in varying] for k in (0, 1)))
    for j, image in zip(varying, straight, strict=True):
        own, counts = parts[j]
        middle, index = np.cumsum(counts) - counts / 2, np.arange(len(own))
        places = np.interp(np.linspace(0, middle[-1], KNOTS), middle, index)
        places[0], places[-1] = 0, len(own) - 1
        values[j], images[j] = np.interp(places, index, own), np.interp(places, index, image)
    return values, images


def _interpolated(x: Array, values: Array, images: Array) -> Array:
    """Interpolate linearly between the values, and beyond them with the average slope."""
    span = float(values[-1] - values[0])
    slope = (images[-1] - images[0]) / span if span > 0 else 0.0
    inside = np.interp(x, values, images)
    beyond = np.minimum(x - values[0], 0) + np.maximum(x - values[-1], 0)
    return np.asarray(inside + slope * beyond)
