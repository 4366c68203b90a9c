"""Coordinates in which groups are round, and nothing else is: for soft memberships of any points.

Groups that `splitting.recursion` found differ along a few directions, one fewer than there are
groups; in all others they are alike, and those only blur what belongs to which. Columns are
straightened as the splitting saw them, whitened by the groups' common covariance, and seen along
the directions between the groups' centers. There a row half way between two groups is half way in
any number of columns. Learned as plain arrays, for new points as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import svd

from softkern._utils.typing import Array
from softkern.splitting.mixture import Mixture, fit_mixture
from softkern.splitting.observations import straightened

__all__ = ["Coordinates", "fit_coordinates"]

KNOTS = 64  # values of a column between which its straightening is linear
MOST_DIRECTIONS = 10
LEAST_SPREAD = 0.5  # of the centers along a direction, in spreads of a group


@dataclass(frozen=True)
class Coordinates:
    """A map of points to the directions in which groups differ.

    Attributes
    ----------
    values, images : arrays of shape (d, k)
        What the values of every column become; linear between and beyond them.
    directions : array of shape (d, q)
    origin : array of shape (q,)
    """

    values: Array
    images: Array
    directions: Array
    origin: Array

    def straight(self, X: Array) -> Array:
        """Columns as the splitting saw them, (m, d)."""
        columns = zip(np.asarray(X, dtype=np.float64).T, self.values, self.images, strict=True)
        return np.column_stack([_interpolated(x, v, z) for x, v, z in columns])

    def forward(self, X: Array) -> Array:
        """Points along the directions, in spreads of a group, (m, q)."""
        found = self.straight(X) @ self.directions - self.origin
        return np.ascontiguousarray(found, dtype=X.dtype)


def fit_coordinates(X: Array, labels: Array) -> tuple[Coordinates, Mixture] | None:
    """Of observations and their groups; None where the groups have no common covariance.

    The mixture's labels are the groups after the covariance is known: rows near a boundary may
    have changed sides.
    """
    values, images = _knots(X)
    d = X.shape[1]
    varies = images[:, -1] > images[:, 0]  # a constant column has no part in the covariance
    plain = Coordinates(values, images, np.eye(d), np.zeros(d))
    mixture = fit_mixture(plain.straight(X)[:, varies], labels)
    if mixture is None or mixture.count < 2:
        return None
    shares = np.exp(mixture.log_shares) / np.exp(mixture.log_shares).sum()
    middle = shares @ mixture.centers
    offsets = np.sqrt(shares * len(shares))[:, None] * (mixture.centers - middle)
    _, size, rows = svd(offsets, full_matrices=False)
    size = size / np.sqrt(len(shares))
    count = int(np.clip((size > LEAST_SPREAD).sum(), 1, min(MOST_DIRECTIONS, mixture.count - 1)))
    largest = np.argmax(np.abs(rows[:count]), axis=1)
    signs = np.sign(rows[np.arange(count), largest])  # an axis has two; rounding must not choose
    axes = (rows[:count] * signs[:, None]).T  # (columns that vary, q)
    directions = np.zeros((d, count))
    directions[varies] = mixture.whitening.columns(axes)
    return Coordinates(values, images, directions, middle @ axes), mixture


def _knots(X: Array) -> tuple[Array, Array]:
    """Values of every column and what they become, (d, k); constant columns become zero."""
    found = [np.unique(column, return_counts=True) for column in np.asarray(X, np.float64).T]
    varying = [j for j, (values, _) in enumerate(found) if len(values) > 1]
    values = np.stack([x[0] + np.linspace(-1, 1, KNOTS) for x, _ in found])
    images = np.zeros(values.shape)
    straight = straightened(*([found[j][part] for j in varying] for part in (0, 1)))
    for j, image in zip(varying, straight, strict=True):
        own, counts = found[j]
        middle = np.cumsum(counts) - counts / 2
        places = np.interp(np.linspace(0, middle[-1], KNOTS), middle, np.arange(len(own)))
        places[0], places[-1] = 0, len(own) - 1
        index = np.arange(len(own))
        values[j], images[j] = np.interp(places, index, own), np.interp(places, index, image)
    return values, images


def _interpolated(x: Array, values: Array, images: Array) -> Array:
    """Linear between the values, and beyond them with the slope of the whole."""
    span = float(values[-1] - values[0])
    slope = (images[-1] - images[0]) / span if span > 0 else 0.0
    inside = np.interp(x, values, images)
    beyond = np.minimum(x - values[0], 0) + np.maximum(x - values[-1], 0)
    return np.asarray(inside + slope * beyond)
