"""How far groups reach: rows beyond are far from every one of them, and belong to none.

A few rows far from all groups, alone or in company, are no group: there are too few of them. They
are no members of the nearest one either. Distances are those to the nearest center in units of the
groups' spread, in all columns, and the spread is that of the rows that are not among the farthest
one in a hundred: a few far rows would widen it until they were near. Called by `AutoClustering`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.splitting.coordinates import Coordinates
from softkern.splitting.mixture import Mixture, fit_mixture
from softkern.splitting.observations import has_piles

__all__ = ["Reach", "fit_reach"]

FEW = 0.01  # share of the rows that may be beyond
# Times the distance that all but these few keep. Normal groups have no row beyond it, t with three
# degrees of freedom up to two in a thousand (benchmarks/calibrate.py beyond).
BEYOND = 2.5


@dataclass(frozen=True)
class Reach:
    """A distance from centers within which rows belong to groups.

    Attributes
    ----------
    coordinates : Coordinates
        To columns in units of the groups' spread.
    centers : array of shape (c, d)
        There.
    farthest : float
    """

    coordinates: Coordinates
    centers: Array
    farthest: float

    def is_beyond(self, X: Array) -> NDArray[np.bool_]:
        """Which points are further than that from every center, (m,)."""
        return _to_nearest(self.coordinates.forward(X), self.centers) > self.farthest


def fit_reach(X: Array, coordinates: Coordinates, labels: Array) -> Reach | None:
    """Of observations and their groups; None where groups have no common covariance.

    Columns with piles of equal values have no part in it: as the splitting sees them, nothing is
    far in them.

    Parameters
    ----------
    X : array of shape (n, d)
    coordinates : Coordinates
        Those of the groups, of which the straightening is taken.
    labels : array of shape (n,)
        Whole numbers from 0.
    """
    smooth = np.array([not has_piles(np.unique(x, return_counts=True)[1]) for x in X.T])
    points = coordinates.straight(X)[:, smooth]
    mixture = fit_mixture(points, labels, 1) if smooth.any() else None
    if mixture is None:
        return None
    distance = _to_nearest(mixture.mapped(points), mixture.centers)
    near = distance <= np.quantile(distance, 1 - FEW)
    mixture = _mixture_of(points[near], labels[near], int(labels.max()) + 1)
    if mixture is None:
        return None
    distance = _to_nearest(mixture.mapped(points), mixture.centers)
    directions = np.zeros((X.shape[1], int(smooth.sum())))
    directions[smooth] = mixture.whitening.columns(np.eye(directions.shape[1]))
    whitened = replace(coordinates, directions=directions, origin=np.zeros(directions.shape[1]))
    return Reach(whitened, mixture.centers, BEYOND * float(np.quantile(distance, 1 - FEW)))


def _mixture_of(points: Array, labels: Array, count: int) -> Mixture | None:
    """Of groups of which all are left."""
    return fit_mixture(points, labels, 1) if len(np.unique(labels)) == count else None


def _to_nearest(points: Array, centers: Array) -> Array:
    """Distances to the nearest center, (m,)."""
    distances = [np.linalg.norm(points - center, axis=1) for center in centers]
    return np.asarray(np.min(distances, axis=0))
