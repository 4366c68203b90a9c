"""Test whether two clusters are parts of one curve: the halves of a ring have a gap, and are one.

Two clusters with a common covariance that are separated along a line look the same everywhere off
that line: the position off the line does not predict the distance from the cut. The two halves of
a curve meet off the line, on one side of it (an arc) or on both (a ring), and there the position
off the line predicts the distance from the cut. The test is how well it does so on points that
were not used to learn it. Called by `splitting.split`.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, qr, solve

from softkern._utils.typing import Array
from softkern.splitting.settings import SPLITTING

MIN_RIDGE = 0.05  # of the mean variance


def is_curved(mapped: Array, way: Array, is_above: Array) -> bool:
    """Return whether two clusters are the halves of a curve.

    Points `mapped` (n, d) are in units of the clusters' spread, in an order that is independent of
    their positions. The `way` (d,) leads from the center below to the one above.
    """
    length = float(np.linalg.norm(way))
    if length == 0 or length > SPLITTING.curve_distance:
        return False
    n, n_columns = mapped.shape
    if n_columns > n + 1:  # work in the subspace of the points
        axes = qr(np.column_stack([mapped.T, way]), mode="economic")[0]
        mapped, way = mapped @ axes, way @ axes
    along = mapped @ (way / length)
    off = _centered(mapped - np.outer(along, way / length), is_above)  # (n, d)
    distance = _centered(np.where(is_above, along, -along), is_above)  # (n,)
    fold = np.arange(n) % SPLITTING.folds
    guesses = np.empty((n, 2))
    for k in range(SPLITTING.folds):
        inside, outside = fold == k, fold != k
        side, bend = _directions(off[outside], distance[outside], n_columns)
        predictors = np.column_stack([np.ones(n), np.square(off @ bend), off @ side])
        for which, used in enumerate((predictors[:, :2], predictors)):
            slopes = np.linalg.lstsq(used[outside], distance[outside], rcond=None)[0]
            guesses[inside, which] = used[inside] @ slopes
    left = np.square(distance[:, None] - guesses).sum(axis=0)
    symmetric, total = 1 - left / max(float(np.square(distance).sum()), 1e-300)
    return bool(symmetric > SPLITTING.curve_symmetric or total > SPLITTING.curve_total)


def _directions(off: Array, distance: Array, n_columns: int) -> tuple[Array, Array]:
    """Directions in which points near the cut lie: to one side, (d,), and on both sides, (d,).

    The first is a ridge regression. The second is the principal Hessian direction (Li 1992) along
    which the squared position decreases most with the distance from the cut.
    """
    n, d = off.shape
    covariance = off.T @ off / n
    ridge = (MIN_RIDGE + n_columns / n) * max(float(np.trace(covariance)) / n_columns, 1e-12)
    side = solve(covariance + ridge * np.eye(d), off.T @ distance / n, assume_a="pos")
    hessian = (off.T * distance) @ off / n
    return side, eigh(hessian, subset_by_index=(0, 0))[1][:, 0]


def _centered(values: Array, is_above: Array) -> Array:
    """Values less the mean of their cluster."""
    means = np.stack([values[~is_above].mean(axis=0), values[is_above].mean(axis=0)])
    return np.asarray(values - means[is_above.astype(np.intp)], dtype=np.float64)
