"""The distance beyond which rows are noise: far from every cluster, and in none of them.

A few rows far from all clusters are too few for a cluster, and no members of the nearest one
either. Distances are measured to the nearest center in units of the clusters' spread, in all
columns. The farthest one in a hundred rows does not count for the spread: a few far rows would
widen it until they were near. Called by `AutoClustering`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.splitting.coordinates import Coordinates
from softkern.splitting.mixture import fit_mixture
from softkern.splitting.observations import is_discrete
from softkern.splitting.settings import SPLITTING

__all__ = ["NoiseRadius", "fit_noise_radius"]


@dataclass(frozen=True)
class NoiseRadius:
    """A distance from the nearest center, beyond which rows are noise.

    Attributes
    ----------
    coordinates : Coordinates
        Map to units of the clusters' spread.
    centers : array of shape (c, q)
        Mapped centers.
    farthest : float
        The distance.
    """

    coordinates: Coordinates
    centers: Array
    farthest: float

    def is_noise(self, X: Array) -> NDArray[np.bool_]:
        """Return which points are noise, (m,)."""
        return _to_nearest(self.coordinates.forward(X), self.centers) > self.farthest


def fit_noise_radius(X: Array, coordinates: Coordinates, labels: Array) -> NoiseRadius | None:
    """Fit the distance to observations and their clusters; None without a common covariance.

    Discrete columns are left out: in their transformation nothing is far.

    Parameters
    ----------
    X : array of shape (n, d)
    coordinates : Coordinates
        Coordinates of the clusters, whose transformation of columns is used.
    labels : array of shape (n,)
        Whole numbers from 0.
    """
    smooth = np.array([not is_discrete(np.unique(x, return_counts=True)[1]) for x in X.T])
    points = coordinates.straight(X)[:, smooth]
    mixture = fit_mixture(points, labels, 1) if smooth.any() else None
    if mixture is None:
        return None
    distance = _to_nearest(mixture.mapped(points), mixture.centers)
    near = distance <= np.quantile(distance, 1 - SPLITTING.noise_share)
    if len(np.unique(labels[near])) <= labels.max():
        return None
    mixture = fit_mixture(points[near], labels[near], 1)
    if mixture is None:
        return None
    distance = _to_nearest(mixture.mapped(points), mixture.centers)
    usual = float(np.quantile(distance, 1 - SPLITTING.noise_share))
    d, q = X.shape[1], int(smooth.sum())
    directions = np.zeros((d, q))
    directions[smooth] = mixture.whitening.columns(np.eye(q))
    whitened = replace(coordinates, directions=directions, origin=np.zeros(q))
    return NoiseRadius(whitened, mixture.centers, SPLITTING.noise_factor * usual)


def _to_nearest(points: Array, centers: Array) -> Array:
    """Distances to the nearest center, (m,)."""
    distances = [np.linalg.norm(points - center, axis=1) for center in centers]
    return np.asarray(np.min(distances, axis=0))
