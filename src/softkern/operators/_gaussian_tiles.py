"""Fused tiles of the Gaussian kernel: distance, exponential and weighted sum in one pass.

Coordinates are already scaled so that K = 2^(−‖x − y‖²). Support points lie in tiles, column by
column, so that every inner loop runs over contiguous numbers and LLVM turns it into vector
instructions. The loops are unrolled by hand (four rows, four coordinates or four columns of A at a
time), which is up to 1.7 times as fast. Distances are taken by differences, so they keep their
digits far from the origin. The exponential is a polynomial in base 2 whose scale is added to the
exponent bits (`math.exp` would not vectorize). Sums run over one tile in the data's dtype and over
tiles in float64, every row in one order, so that results do not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np

from softkern._utils.jit import compiled  # first: it raises where there is no room for a compiler

# isort: split
from llvmlite import ir
from numba.extending import intrinsic, overload

ROW_BLOCK = 64  # rows that share a tile while it is in the first-level cache

# 2^r for |r| ≤ ½. float32: minimax polynomial of degree 5, relative error 7.5e-8.
# float64: Taylor series to degree 12, relative error 2e-16.
_EXP2_F32 = tuple(
    np.float32(c)
    for c in (1.000000119, 0.693146944, 0.2402212024, 0.05550713092, 0.009675540961, 0.001327647129)
)
_EXP2_F64 = tuple(float(np.log(2.0) ** k / np.prod(np.arange(1.0, k + 1))) for k in range(13))
# Adding 1.5 · 2^(mantissa bits) rounds to a whole number and leaves it in the low bits.
_ROUND_F32 = np.float32(1.5 * 2**23)
_ROUND_F64 = 1.5 * 2**52

# Sums may be reordered into vector lanes; nothing here is NaN or infinite.
_SUMS = {"contract", "reassoc", "nsz", "nnan", "ninf"}
# In the exponential (x + c) − c must stay as it is written.
_LITERAL = {"contract"}


@intrinsic
def _add_exponent(typing_context, value, rounded):
    """Value · 2^k, where k stands in the low bits of `rounded`."""

    def generate(context, builder, signature, arguments):
        bits = ir.IntType(value.bitwidth)
        mantissa = ir.Constant(bits, 23 if value.bitwidth == 32 else 52)
        exponent = builder.shl(builder.bitcast(arguments[1], bits), mantissa)
        total = builder.add(builder.bitcast(arguments[0], bits), exponent)
        return builder.bitcast(total, arguments[0].type)

    return value(value, rounded), generate


def _exp2_by(coefficients, whole, least):
    """2^x for x ≤ 0 in one dtype, flushed to about the smallest normal number."""
    degree = len(coefficients) - 1

    @compiled(fastmath=_LITERAL)
    def exp2(x):
        x = max(x, least)
        rounded = x + whole
        r = x - (rounded - whole)
        p = coefficients[degree]
        for k in range(degree - 1, -1, -1):
            p = p * r + coefficients[k]
        return _add_exponent(p, rounded)

    return exp2


_exp2_f32 = _exp2_by(_EXP2_F32, _ROUND_F32, np.float32(-125.0))
_exp2_f64 = _exp2_by(_EXP2_F64, _ROUND_F64, -1021.0)


def _exp2(x):
    """2^x in the dtype of x."""
    raise NotImplementedError("compiled code only")


@overload(_exp2)
def _exp2_of_dtype(x):
    return (lambda x: _exp2_f32(x)) if x.bitwidth == 32 else (lambda x: _exp2_f64(x))


@compiled(fastmath=_SUMS)
def _two_columns(e, y0, y1, a, b):
    """e = −(squared differences of a point (a, b) from the points of a tile)."""
    for j in range(e.size):
        s = y0[j] - a
        t = y1[j] - b
        e[j] = -(s * s + t * t)


@compiled(fastmath=_SUMS)
def _less(e, s, t, u, v):
    return e - s * s - t * t - u * u - v * v


@compiled(fastmath=_SUMS)
def _add_four_columns(e0, e1, e2, e3, y0, y1, y2, y3, q, k):
    """E −= squared differences in columns k to k + 3."""
    a0, a1, a2, a3 = q[0, k], q[1, k], q[2, k], q[3, k]
    b0, b1, b2, b3 = q[0, k + 1], q[1, k + 1], q[2, k + 1], q[3, k + 1]
    c0, c1, c2, c3 = q[0, k + 2], q[1, k + 2], q[2, k + 2], q[3, k + 2]
    d0, d1, d2, d3 = q[0, k + 3], q[1, k + 3], q[2, k + 3], q[3, k + 3]
    for j in range(y0.size):
        x, y, z, w = y0[j], y1[j], y2[j], y3[j]
        e0[j] = _less(e0[j], x - a0, y - b0, z - c0, w - d0)
        e1[j] = _less(e1[j], x - a1, y - b1, z - c1, w - d1)
        e2[j] = _less(e2[j], x - a2, y - b2, z - c2, w - d2)
        e3[j] = _less(e3[j], x - a3, y - b3, z - c3, w - d3)


@compiled()
def _distances(E, y, four):
    """E (4, width) = −(squared distances) of four rows (4, d) from the points of a tile."""
    if four.shape[1] == 2:
        for r in range(4):
            _two_columns(E[r], y[0], y[1], four[r, 0], four[r, 1])
        return
    E[:] = 0
    for k in range(0, four.shape[1], 4):
        _add_four_columns(E[0], E[1], E[2], E[3], y[k], y[k + 1], y[k + 2], y[k + 3], four, k)


@compiled(fastmath=_SUMS)
def _sum_one_column(e, a):
    """Σ 2^e a: exponential and sum in one pass."""
    total = a.dtype.type(0)
    for j in range(a.size):
        total += a[j] * _exp2(e[j])
    return total


@compiled(fastmath=_SUMS)
def _sum_both_ways(e, a, own, back):
    """Σ 2^e a; and back += 2^e own, where `own` is the weight of the row."""
    total = a.dtype.type(0)
    for j in range(a.size):
        x = _exp2(e[j])
        total += a[j] * x
        back[j] += own * x
    return total


@compiled(fastmath=_SUMS)
def _exponentials(e):
    for j in range(e.size):
        e[j] = _exp2(e[j])


@compiled(fastmath=_SUMS)
def _added(sums, x, a, b, c, d):
    return sums[0] + x * a, sums[1] + x * b, sums[2] + x * c, sums[3] + x * d


@compiled(fastmath=_SUMS)
def _sum_four_columns(e0, e1, e2, e3, a, b, c, d, out, k):
    """out[:, k : k + 4] += Σ E (a, b, c, d)."""
    zero = a.dtype.type(0)
    s0 = s1 = s2 = s3 = (zero, zero, zero, zero)
    for j in range(a.size):
        s0 = _added(s0, e0[j], a[j], b[j], c[j], d[j])
        s1 = _added(s1, e1[j], a[j], b[j], c[j], d[j])
        s2 = _added(s2, e2[j], a[j], b[j], c[j], d[j])
        s3 = _added(s3, e3[j], a[j], b[j], c[j], d[j])
    sums = s0, s1, s2, s3
    for r in range(4):
        for i in range(4):
            out[r, k + i] += sums[r][i]


@compiled()
def _bounds(rows, low, high, middle):
    """Set the box of rows (m, d) and their mean, (d,) each, and return the largest distance."""
    for k in range(rows.shape[1]):
        low[k] = rows[:, k].min()
        high[k] = rows[:, k].max()
        middle[k] = rows[:, k].mean()
    farthest = 0.0
    for r in range(rows.shape[0]):
        farthest = max(farthest, np.square(rows[r] - middle).sum())
    return np.sqrt(farthest)


@compiled()
def _is_far(middle, radius, low, high, center, tile_radius, tile_low, tile_high, cutoff):
    """Whether two balls, or the boxes around the same points, are too far from each other."""
    total = 0.0
    for k in range(center.size):
        total += (middle[k] - center[k]) ** 2
    if max(np.sqrt(total) - radius - tile_radius, 0.0) ** 2 > cutoff:
        return True
    total = 0.0
    for k in range(low.size):
        gap = max(tile_low[k] - high[k], low[k] - tile_high[k])
        if gap > 0:
            total += gap * gap
    return total > cutoff


@compiled(nogil=True)
def gaussian_rows(Q, Y, center, radius, low, high, A, cutoff, out):
    """Rows of 2^(−‖q − y‖²) @ A, in float64: Q (m, d), m a multiple of 4, out (m, c) overwritten.

    Points Y (tiles, d, width) lie around the center of their tile, d two or a multiple of 4. A is
    (tiles, c, width), c one or a multiple of 4, zero where Y is padding. Boxes and radii of tiles
    show which are too far from a block of rows: none of their values reaches 2^−cutoff.
    """
    tiles, d, width = Y.shape
    c = A.shape[1]
    E = np.empty((4, width), Y.dtype)
    q = np.empty((ROW_BLOCK, d), Y.dtype)
    box_low = np.empty(d)
    box_high = np.empty(d)
    middle = np.empty(d)
    out[:] = 0
    for start in range(0, Q.shape[0], ROW_BLOCK):
        stop = min(Q.shape[0], start + ROW_BLOCK)
        farthest = _bounds(Q[start:stop], box_low, box_high, middle)
        for t in range(tiles):
            tile = center[t], radius[t], low[t], high[t]
            if _is_far(middle, farthest, box_low, box_high, *tile, cutoff):
                continue
            y = Y[t]
            a = A[t]
            for r in range(start, stop):
                for k in range(d):
                    q[r - start, k] = Q[r, k] - center[t, k]
            for r in range(0, stop - start, 4):
                four = q[r : r + 4]
                o = out[start + r : start + r + 4]
                _distances(E, y, four)
                if c == 1:
                    for e in range(4):
                        o[e, 0] += _sum_one_column(E[e], a[0])
                else:
                    for e in range(4):
                        _exponentials(E[e])
                    for k in range(0, c, 4):
                        _sum_four_columns(
                            E[0], E[1], E[2], E[3], a[k], a[k + 1], a[k + 2], a[k + 3], o, k
                        )


@compiled(nogil=True)
def gaussian_pairs(Y, center, radius, low, high, counts, A, cutoff, first, others, out):
    """Add to 2^(−‖x − y‖²) @ a the products between points of some tiles and of others, both ways.

    `first` and `others` are ranges of tiles, the same, or those of `others` are all later. `counts`
    are the points of every tile, without padding, out is (tiles, width, 1), and the rest as in
    `gaussian_rows`.
    """
    d, width = Y.shape[1:]
    E = np.empty((4, width), Y.dtype)
    q = np.empty((ROW_BLOCK, d), Y.dtype)
    back = np.empty(width, Y.dtype)
    rows = np.empty((ROW_BLOCK, d))
    box_low = np.empty(d)
    box_high = np.empty(d)
    middle = np.empty(d)
    for s in range(first[0], first[1]):
        for start in range(0, counts[s], ROW_BLOCK):
            stop = min(counts[s], start + ROW_BLOCK)
            for k in range(d):
                for r in range(start, stop):
                    rows[r - start, k] = center[s, k] + Y[s, k, r]
            farthest = _bounds(rows[: stop - start], box_low, box_high, middle)
            four_rows = stop - start + (start - stop) % 4
            for t in range(max(s, others[0]), others[1]):
                tile = center[t], radius[t], low[t], high[t]
                if _is_far(middle, farthest, box_low, box_high, *tile, cutoff):
                    continue
                for k in range(d):
                    shift = center[s, k] - center[t, k]
                    for r in range(four_rows):
                        q[r, k] = Y[s, k, start + r] + shift
                back[:] = 0
                for r in range(0, four_rows, 4):
                    _distances(E, Y[t], q[r : r + 4])
                    for e in range(4):
                        row = start + r + e
                        if s == t:
                            out[s, row, 0] += _sum_one_column(E[e], A[t, 0])
                        else:
                            out[s, row, 0] += _sum_both_ways(E[e], A[t, 0], A[s, 0, row], back)
                if s != t:
                    for j in range(width):
                        out[t, j, 0] += back[j]
