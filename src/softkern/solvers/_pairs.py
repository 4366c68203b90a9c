"""The compiled loop of the one-class dual: weight moves between two points at a time.

`move_pairs` is sequential minimal optimization on a working set with known kernel values and the
second-order choice of the pair. This file contains compiled code only and is imported
by `solvers._dual_problem` when a dual is first solved.

R.-E. Fan, P.-H. Chen, C.-J. Lin, "Working set selection using second order information for
training support vector machines", JMLR 6, 2005.
"""

from __future__ import annotations

import numpy as np

from softkern._utils.jit import compiled


@compiled(nogil=True)
def move_pairs(K, field, alpha, upper, tolerance, max_moves):
    """Minimize ½ αᵀKα + pᵀα over 0 ≤ α ≤ upper with constant Σ α, until the gap is small.

    `field` is the gradient K α + p. It and `alpha` are changed in place. Weight moves from points
    of high field to points of low field. Returns the number of moves and the gap.
    """
    q = alpha.size
    diagonal = np.empty(q)
    low, high, i = np.inf, -np.inf, -1
    for k in range(q):
        diagonal[k] = K[k, k]
        if alpha[k] < upper[k] and field[k] < low:
            low, i = field[k], k
        if alpha[k] > 0 and field[k] > high:
            high = field[k]
    moves = 0
    while i >= 0 and high - low > tolerance and moves < max_moves:
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
        other = K[j]
        low, high, i = np.inf, -np.inf, -1
        for k in range(q):  # find the next pair in the same pass
            value = field[k] + step * (row[k] - other[k])
            field[k] = value
            if value < low and alpha[k] < upper[k]:
                low, i = value, k
            if value > high and alpha[k] > 0:
                high = value
        moves += 1
    return moves, high - low
