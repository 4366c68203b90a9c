"""Working sets of the one-class dual: their choice, their solution, and a first α.

Functions of arrays, called by `softkern.solvers.dual`, which describes the method. `solve_set` is
sequential minimal optimization with known kernel values and the second-order choice of the pair:

R.-E. Fan, P.-H. Chen, C.-J. Lin, "Working set selection using second order information for
training support vector machines", JMLR 6, 2005.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from softkern._utils.jit import compiled_later
from softkern._utils.typing import Array

SAMPLE = 1000  # points that give the start, and in a working set while few are free
SMALLEST_SET = 200  # smallest working set
MOVES = 200_000  # pairwise moves in a set of 1000 before the field is updated
FULL = 1 - 1e-12  # share of its room from which a point counts as filled


def solve_set(K: Array, field: Array, alpha: Array, upper: Array, tolerance: float) -> Array:
    """Return the α that minimizes ½ αᵀKα + pᵀα over 0 ≤ α ≤ upper with the same Σ α.

    `field` is the gradient K α + p at the given α. The gap of the result is within the tolerance,
    unless that takes very many moves.
    """
    new = alpha.copy()
    most = MOVES * SAMPLE // max(SAMPLE, alpha.size)
    _move_pairs(K, field.copy(), new, np.ascontiguousarray(upper), tolerance, most)
    return new


@compiled_later
def _move_pairs(K: Any, field: Any, alpha: Any, upper: Any, tolerance: Any, max_moves: Any) -> None:
    """Move weight from points of high field to points of low field, changing α in place."""
    q = alpha.size
    diagonal = np.empty(q)
    for k in range(q):
        diagonal[k] = K[k, k]
    row, other, step = K[0], K[0], 0.0
    for _ in range(max_moves):
        low, high, i = np.inf, -np.inf, -1
        for k in range(q):  # update the field and find the next pair in the same pass
            value = field[k] + step * (row[k] - other[k])
            field[k] = value
            if value < low and alpha[k] < upper[k]:
                low, i = value, k
            if value > high and alpha[k] > 0:
                high = value
        if i < 0 or not high - low > tolerance:
            return
        row = K[i]
        floor = 1e-12 * diagonal[i]  # curvature between equal points is zero
        best, j = -1.0, -1
        for k in range(q):
            difference = field[k] - low
            if difference > 0 and alpha[k] > 0:
                curvature = max(diagonal[i] + diagonal[k] - 2 * row[k], floor)
                gain = difference * difference / curvature
                if gain > best:
                    best, j = gain, k
        other = K[j]
        curvature = max(diagonal[i] + diagonal[j] - 2 * row[j], floor)
        step = (field[j] - low) / curvature if curvature > 0 else np.inf
        room_i, room_j = upper[i] - alpha[i], alpha[j]
        if step >= room_i and room_i <= room_j:
            step = room_i
            alpha[i] = upper[i]
            alpha[j] -= step
        elif step >= room_j:
            step = room_j
            alpha[j] = 0.0
            alpha[i] += step
        else:
            alpha[i] += step
            alpha[j] -= step


def filled(alpha: Array, weights: Array, order: Array) -> Array:
    """Return α with sum one, raised where the order is lowest or lowered where it is highest."""
    missing = 1.0 - float(alpha.sum())
    rising = missing > 0
    room = weights - alpha if rising else alpha
    order = order if rising else -order
    index, size = np.flatnonzero(room > 0), SAMPLE
    while size < index.size:  # the first points with enough room: sorting few is ten times as fast
        first = index[np.argpartition(order[index], size - 1)[:size]]
        if room[first].sum() > abs(missing):
            index = first
            break
        size *= 4
    ranks = index[np.argsort(order[index], kind="stable")]
    room, begin = room[ranks], alpha[ranks]
    used = np.diff(np.minimum(np.cumsum(room), abs(missing)), prepend=0.0)
    edge = weights[ranks] if rising else np.zeros_like(room)
    moved = begin + (used if rising else -used)
    result = alpha.copy()
    # a filled point is exactly full, an emptied one exactly empty
    result[ranks] = np.where(used >= FULL * room, np.where(room > 0, edge, begin), moved)
    return np.clip(result, 0.0, weights)


def largest(excess: Array, allowed: Array, limit: float, most: int) -> Array:
    """Return the allowed points of largest excess, about twice as many as violate the limit."""
    index = np.flatnonzero(allowed)
    excess = excess[index]
    size = max(SMALLEST_SET, 2 * int((excess > limit / 4).sum())) // 2
    size = min(most, size, index.size)
    return np.asarray(index[np.argpartition(-excess, size - 1)[:size]])
