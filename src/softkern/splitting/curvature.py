"""Are two groups the arms of one bend? A ring's halves have a valley between them, and are one.

Two groups with one covariance that lie apart along a line are, off that line, the same everywhere:
how far a point is from the cut says nothing of where it is off the line. The arms of a bend cross
the cut off the line, on one side of it (an arc) or on both (a ring), and there the place off the
line tells the distance from the cut. How well it does, on points that had no part in it, is the
test. Called by `splitting.recursion`.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, qr, solve

from softkern._utils.typing import Array

__all__ = ["is_curved"]

# Shares of the variance of the distance from the cut, from which on groups are arms: told by both
# sides of the line alike, and by all that is off it. Of normal groups they are below 0.1; classes
# of real tables come to 0.28 by all, so that wide arcs cannot be told from them
# (benchmarks/calibrate.py arms).
BOTH_SIDES, ALL = 0.15, 0.35
FARTHEST = 6.0  # of two centers, in spreads of a group: arms of one bend are nearer
FOLDS = 5
LEAST_RIDGE = 0.05  # of the mean variance


def is_curved(mapped: Array, way: Array, is_above: Array) -> bool:
    """Whether two groups are the arms of a bend.

    Parameters
    ----------
    mapped : array of shape (n, d)
        Points in units of the groups' spread, in any order that does not follow their places.
    way : array of shape (d,)
        From the center of the group below to that above.
    is_above : array of shape (n,)
    """
    length = float(np.linalg.norm(way))
    if length == 0 or length > FARTHEST:
        return False
    columns_in_all = len(way)
    if columns_in_all > len(mapped) + 1:  # in the directions that the points have
        axes = qr(np.column_stack([mapped.T, way]), mode="economic")[0]
        mapped, way = mapped @ axes, way @ axes
    along = mapped @ (way / length)
    off = _centered_by(mapped - np.outer(along, way / length), is_above)  # (n, d)
    distance = _centered_by(np.where(is_above, along, -along), is_above)  # (n,)
    fold = np.arange(len(mapped)) % FOLDS
    guesses = np.empty((len(mapped), 2))
    for k in range(FOLDS):
        inside, outside = fold == k, fold != k
        side, bend = _directions(off[outside], distance[outside], columns_in_all)
        one_side, both_sides = off @ side, np.square(off @ bend)
        for which, told_by in enumerate(([both_sides], [both_sides, one_side])):
            columns = np.column_stack([np.ones(len(off)), *told_by])
            share = np.linalg.lstsq(columns[outside], distance[outside], rcond=None)[0]
            guesses[inside, which] = columns[inside] @ share
    left = np.square(distance[:, None] - guesses).sum(axis=0)
    told = 1 - left / max(float(np.square(distance).sum()), 1e-300)
    return bool(told[0] > BOTH_SIDES or told[1] > ALL)


def _directions(off: Array, distance: Array, columns: int) -> tuple[Array, Array]:
    """Where points near the cut are: to one side, (d,), and on both sides alike, (d,).

    The first is that of a ridge regression. The second is the principal Hessian direction (Li
    1992) along which the squared place falls most with the distance from the cut.
    """
    n, d = off.shape
    covariance = off.T @ off / n
    ridge = (LEAST_RIDGE + columns / n) * max(float(np.trace(covariance)) / columns, 1e-12)
    side = solve(covariance + ridge * np.eye(d), off.T @ distance / n, assume_a="pos")
    hessian = (off.T * distance) @ off / n
    return side, eigh(hessian, subset_by_index=(0, 0))[1][:, 0]


def _centered_by(values: Array, is_above: Array) -> Array:
    """Values less the mean of their group."""
    centered = np.array(values, dtype=np.float64)
    for group in (is_above, ~is_above):
        centered[group] -= centered[group].mean(axis=0)
    return centered
