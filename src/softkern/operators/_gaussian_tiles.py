"""Fused tiles of the Gaussian kernel: distance, exponential and weighted sum in one pass.

`gaussian_rows` computes rows of K @ A for coordinates already scaled so that K = 2^(−‖x − y‖²).
Support points lie in tiles, column by column, so that every inner loop runs over contiguous numbers
and LLVM turns it into vector instructions: four rows at a time, four coordinates or four columns of
A at a time. Distances are taken by differences, not by products, so they keep their digits however
far the data lie from the origin. The exponential is a polynomial in base 2 whose scale is added to
the exponent bits (`math.exp` would not vectorize). Sums run over one tile in the data's dtype and
over tiles in float64. Every row is summed by one thread in one order: results do not depend on the
number of threads. A tile whose bounding box or ball is so far from a block of rows that no kernel
value between them counts is passed over. `gaussian_pairs` is the same for a vector and the support
itself, whose values are those of both of two points: each is computed once.
"""

from __future__ import annotations

import numpy as np

from softkern._utils.jit import compiled  # first: it says where there is no room for a compiler

# isort: split
from llvmlite import ir
from numba.extending import intrinsic, overload

__all__ = ["ROW_BLOCK", "gaussian_pairs", "gaussian_rows"]

ROW_BLOCK = 64  # rows that share a tile while it is in the first-level cache

# 2^r for |r| ≤ ½. float32: minimax polynomial of degree 5, relative error 7.5e-8.
# float64: Taylor series to degree 12, relative error 2e-16.
_EXP2_F32 = tuple(
    np.float32(c)
    for c in (
        1.000000119,
        0.6931469440,
        0.2402212024,
        0.05550713092,
        0.009675540961,
        0.001327647129,
    )
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


@compiled(fastmath=_LITERAL)
def _exp2_f32(x):
    x = max(x, np.float32(-125.0))
    rounded = x + _ROUND_F32
    r = x - (rounded - _ROUND_F32)
    p = _EXP2_F32[5]
    p = p * r + _EXP2_F32[4]
    p = p * r + _EXP2_F32[3]
    p = p * r + _EXP2_F32[2]
    p = p * r + _EXP2_F32[1]
    p = p * r + _EXP2_F32[0]
    return _add_exponent(p, rounded)


@compiled(fastmath=_LITERAL)
def _exp2_f64(x):
    x = max(x, -1021.0)
    rounded = x + _ROUND_F64
    r = x - (rounded - _ROUND_F64)
    p = _EXP2_F64[12]
    p = p * r + _EXP2_F64[11]
    p = p * r + _EXP2_F64[10]
    p = p * r + _EXP2_F64[9]
    p = p * r + _EXP2_F64[8]
    p = p * r + _EXP2_F64[7]
    p = p * r + _EXP2_F64[6]
    p = p * r + _EXP2_F64[5]
    p = p * r + _EXP2_F64[4]
    p = p * r + _EXP2_F64[3]
    p = p * r + _EXP2_F64[2]
    p = p * r + _EXP2_F64[1]
    p = p * r + _EXP2_F64[0]
    return _add_exponent(p, rounded)


def _exp2(x):
    """2^x for x ≤ 0, flushed to about the smallest normal number."""
    raise NotImplementedError("compiled code only")


@overload(_exp2)
def _exp2_of_dtype(x):
    if x.bitwidth == 32:
        return lambda x: _exp2_f32(x)
    return lambda x: _exp2_f64(x)


@compiled(fastmath=_SUMS)
def _two_columns(e0, e1, e2, e3, y0, y1, q):
    """E = −(squared differences in both columns), four rows q (4, 2) at a time."""
    a0, a1, a2, a3 = q[0, 0], q[1, 0], q[2, 0], q[3, 0]
    b0, b1, b2, b3 = q[0, 1], q[1, 1], q[2, 1], q[3, 1]
    for j in range(y0.size):
        u = y0[j]
        v = y1[j]
        s = u - a0
        t = v - b0
        e0[j] = -(s * s + t * t)
        s = u - a1
        t = v - b1
        e1[j] = -(s * s + t * t)
        s = u - a2
        t = v - b2
        e2[j] = -(s * s + t * t)
        s = u - a3
        t = v - b3
        e3[j] = -(s * s + t * t)


@compiled(fastmath=_SUMS)
def _add_four_columns(e0, e1, e2, e3, y0, y1, y2, y3, q, k):
    """E −= squared differences in columns k to k + 3."""
    a0, a1, a2, a3 = q[0, k], q[1, k], q[2, k], q[3, k]
    b0, b1, b2, b3 = q[0, k + 1], q[1, k + 1], q[2, k + 1], q[3, k + 1]
    c0, c1, c2, c3 = q[0, k + 2], q[1, k + 2], q[2, k + 2], q[3, k + 2]
    d0, d1, d2, d3 = q[0, k + 3], q[1, k + 3], q[2, k + 3], q[3, k + 3]
    for j in range(y0.size):
        x = y0[j]
        y = y1[j]
        z = y2[j]
        w = y3[j]
        s = x - a0
        t = y - b0
        u = z - c0
        v = w - d0
        e0[j] -= s * s + t * t + u * u + v * v
        s = x - a1
        t = y - b1
        u = z - c1
        v = w - d1
        e1[j] -= s * s + t * t + u * u + v * v
        s = x - a2
        t = y - b2
        u = z - c2
        v = w - d2
        e2[j] -= s * s + t * t + u * u + v * v
        s = x - a3
        t = y - b3
        u = z - c3
        v = w - d3
        e3[j] -= s * s + t * t + u * u + v * v


@compiled()
def _distances(E, y, four):
    """E (4, width) = −(squared distances) of four rows (4, d) from the points of a tile."""
    if four.shape[1] == 2:
        _two_columns(E[0], E[1], E[2], E[3], y[0], y[1], four)
        return
    E[:] = 0
    for k in range(0, four.shape[1], 4):
        _add_four_columns(E[0], E[1], E[2], E[3], y[k], y[k + 1], y[k + 2], y[k + 3], four, k)


@compiled(fastmath=_SUMS)
def _sum_one_column(e0, e1, e2, e3, a, out):
    """out[:, 0] += Σ 2^E a: exponential and sum in one pass."""
    zero = a.dtype.type(0)
    s0, s1, s2, s3 = zero, zero, zero, zero
    for j in range(a.size):
        w = a[j]
        s0 += w * _exp2(e0[j])
        s1 += w * _exp2(e1[j])
        s2 += w * _exp2(e2[j])
        s3 += w * _exp2(e3[j])
    out[0, 0] += s0
    out[1, 0] += s1
    out[2, 0] += s2
    out[3, 0] += s3


@compiled(fastmath=_SUMS)
def _sum_both_ways(e0, e1, e2, e3, a, own, out, back):
    """out[:, 0] += Σ 2^E a, and back += 2^E own, own (4,) the weights of the four rows."""
    zero = a.dtype.type(0)
    s0, s1, s2, s3 = zero, zero, zero, zero
    w0, w1, w2, w3 = own[0], own[1], own[2], own[3]
    for j in range(a.size):
        w = a[j]
        x0 = _exp2(e0[j])
        x1 = _exp2(e1[j])
        x2 = _exp2(e2[j])
        x3 = _exp2(e3[j])
        s0 += w * x0
        s1 += w * x1
        s2 += w * x2
        s3 += w * x3
        back[j] += w0 * x0 + w1 * x1 + w2 * x2 + w3 * x3
    out[0, 0] += s0
    out[1, 0] += s1
    out[2, 0] += s2
    out[3, 0] += s3


@compiled(fastmath=_SUMS)
def _exponentials(e):
    for j in range(e.size):
        e[j] = _exp2(e[j])


@compiled(fastmath=_SUMS)
def _sum_four_columns(e0, e1, e2, e3, a, b, c, d, out, k):
    """out[:, k : k + 4] += Σ E (a, b, c, d)."""
    zero = a.dtype.type(0)
    s00, s01, s02, s03 = zero, zero, zero, zero
    s10, s11, s12, s13 = zero, zero, zero, zero
    s20, s21, s22, s23 = zero, zero, zero, zero
    s30, s31, s32, s33 = zero, zero, zero, zero
    for j in range(a.size):
        x0 = e0[j]
        x1 = e1[j]
        x2 = e2[j]
        x3 = e3[j]
        w = a[j]
        s00 += w * x0
        s10 += w * x1
        s20 += w * x2
        s30 += w * x3
        w = b[j]
        s01 += w * x0
        s11 += w * x1
        s21 += w * x2
        s31 += w * x3
        w = c[j]
        s02 += w * x0
        s12 += w * x1
        s22 += w * x2
        s32 += w * x3
        w = d[j]
        s03 += w * x0
        s13 += w * x1
        s23 += w * x2
        s33 += w * x3
    out[0, k] += s00
    out[1, k] += s10
    out[2, k] += s20
    out[3, k] += s30
    out[0, k + 1] += s01
    out[1, k + 1] += s11
    out[2, k + 1] += s21
    out[3, k + 1] += s31
    out[0, k + 2] += s02
    out[1, k + 2] += s12
    out[2, k + 2] += s22
    out[3, k + 2] += s32
    out[0, k + 3] += s03
    out[1, k + 3] += s13
    out[2, k + 3] += s23
    out[3, k + 3] += s33


@compiled()
def _squared_gap(low, high, other_low, other_high):
    """Squared distance between two boxes, all four (d,)."""
    total = 0.0
    for k in range(low.size):
        gap = max(other_low[k] - high[k], low[k] - other_high[k])
        if gap > 0:
            total += gap * gap
    return total


@compiled()
def _squared_gap_of_balls(center, radius, other, other_radius):
    """Squared distance between two balls, their centers (d,)."""
    total = 0.0
    for k in range(center.size):
        total += (center[k] - other[k]) ** 2
    return max(np.sqrt(total) - radius - other_radius, 0.0) ** 2


@compiled(nogil=True)
def gaussian_rows(Q, Y, center, radius, low, high, A, cutoff, out):
    """Rows of 2^(−‖q − y‖²) @ A.

    Parameters
    ----------
    Q : float64 array of shape (m, d), m a multiple of 4, d two or a multiple of 4
    Y : array of shape (tiles, d, width), every tile around its own center
    center, radius, low, high : float64 arrays of shape (tiles, d), radius (tiles,)
        Center of every tile, the largest distance from it, and the bounding box.
    A : array of shape (tiles, c, width), c one or a multiple of 4, zero where Y is padding
    cutoff : float
        Exponent from which on a tile is passed over: none of its kernel values reaches 2^−cutoff.
    out : float64 array of shape (m, c), overwritten
    """
    tiles, d, width = Y.shape
    c = A.shape[1]
    E = np.empty((4, width), Y.dtype)
    q = np.empty((ROW_BLOCK, d), Y.dtype)
    block_low = np.empty(d)
    block_high = np.empty(d)
    middle = np.empty(d)
    out[:] = 0
    for start in range(0, Q.shape[0], ROW_BLOCK):
        stop = min(Q.shape[0], start + ROW_BLOCK)
        for k in range(d):
            block_low[k] = Q[start:stop, k].min()
            block_high[k] = Q[start:stop, k].max()
            middle[k] = Q[start:stop, k].mean()
        farthest = 0.0
        for r in range(start, stop):
            farthest = max(farthest, np.square(Q[r] - middle).sum())
        farthest = np.sqrt(farthest)
        for t in range(tiles):
            if _squared_gap_of_balls(middle, farthest, center[t], radius[t]) > cutoff:
                continue
            if _squared_gap(block_low, block_high, low[t], high[t]) > cutoff:
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
                    _sum_one_column(E[0], E[1], E[2], E[3], a[0], o)
                else:
                    for e in range(4):
                        _exponentials(E[e])
                    for k in range(0, c, 4):
                        _sum_four_columns(
                            E[0], E[1], E[2], E[3], a[k], a[k + 1], a[k + 2], a[k + 3], o, k
                        )


@compiled(nogil=True)
def gaussian_pairs(Y, center, radius, low, high, counts, A, cutoff, rows, others, out):
    """Add to 2^(−‖x − y‖²) @ a what points of some tiles and of others are to each other.

    Parameters
    ----------
    Y, center, radius, low, high, cutoff : as in `gaussian_rows`
    counts : array of shape (tiles,)
        Points of every tile, without padding.
    A : array of shape (tiles, 1, width), zero where Y is padding
    rows, others : pairs of int
        First tile and the one after the last; the same, or those of `others` are all later.
    out : float64 array of shape (tiles, width, 1), added to
    """
    d, width = Y.shape[1:]
    E = np.empty((4, width), Y.dtype)
    q = np.empty((ROW_BLOCK, d), Y.dtype)
    back = np.empty(width, Y.dtype)
    block_low = np.empty(d)
    block_high = np.empty(d)
    middle = np.empty(d)
    for s in range(rows[0], rows[1]):
        for start in range(0, counts[s], ROW_BLOCK):
            stop = min(counts[s], start + ROW_BLOCK)
            for k in range(d):
                block = Y[s, k, start:stop]
                block_low[k] = center[s, k] + block.min()
                block_high[k] = center[s, k] + block.max()
                middle[k] = center[s, k] + block.mean()
            farthest = 0.0
            for r in range(start, stop):
                farthest = max(farthest, np.square(center[s] + Y[s, :, r] - middle).sum())
            farthest = np.sqrt(farthest)
            four_rows = stop - start + (start - stop) % 4
            for t in range(max(s, others[0]), others[1]):
                if _squared_gap_of_balls(middle, farthest, center[t], radius[t]) > cutoff:
                    continue
                if _squared_gap(block_low, block_high, low[t], high[t]) > cutoff:
                    continue
                for k in range(d):
                    shift = center[s, k] - center[t, k]
                    for r in range(four_rows):
                        q[r, k] = Y[s, k, start + r] + shift
                back[:] = 0
                for r in range(0, four_rows, 4):
                    first = start + r
                    o = out[s, first : first + 4]
                    _distances(E, Y[t], q[r : r + 4])
                    if s == t:
                        _sum_one_column(E[0], E[1], E[2], E[3], A[t, 0], o)
                    else:
                        own = A[s, 0, first : first + 4]
                        _sum_both_ways(E[0], E[1], E[2], E[3], A[t, 0], own, o, back)
                if s != t:
                    for j in range(width):
                        out[t, j, 0] += back[j]
