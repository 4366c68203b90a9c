"""Compiled loops of the GPU engine: K @ A for kernels of x − y, in one pass that keeps no K.

Rows of the support lie in frames, neighbors together, each row as what it is off its frame's
center: small numbers, whose digits all count. Rows of frames too wide for that are numbers of
twice the digits, a whole and its rest. A program takes a block of queries through the frames near
it. Sums within a frame are in single precision, those of frames in double.
Exponents are those of two. `softkern.operators.gpu.fused` prepares all arrays and starts these.
"""

from __future__ import annotations

import triton
import triton.language as tl

LARGEST_HALF = tl.constexpr(60000.0)  # a difference beyond it is far, whatever its digits


@triton.jit
def _added(acc, values, weight, weight_rest, j, N: tl.constexpr):
    """What a tile of kernel values adds to the sums of one column, or of N by tensor cores.

    Halves and their rests together have the digits of single precision; the product of the two
    rests is below them.
    """
    if N == 1:
        acc += values * tl.load(weight + j)[None, :]
    else:
        at = j[:, None] * N + tl.arange(0, N)[None, :]
        half = values.to(tl.float16)
        rest = (values - half.to(tl.float32)).to(tl.float16)
        weights = tl.load(weight + at)
        part = tl.dot(half, weights)
        part = tl.dot(half, tl.load(weight_rest + at), part)
        acc += tl.dot(rest, weights, part)
    return acc


@triton.jit
def _add_to(out, rows, total, N: tl.constexpr):
    """Add the sums of a block of rows to what other lists of frames gave them."""
    if N == 1:
        at = out + rows
    else:
        at = out + rows[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(at, tl.load(at) + total)


@triton.jit
def _exponents(
    x, x_rest, y, y_rest, center, rows, j, n, m, shift, kind: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
    SQUARES: tl.constexpr, DOUBLE: tl.constexpr,
):  # fmt: skip
    """Shift − Σ (x − y)², or − Σ |x − y|, of a tile, column by column."""
    total = tl.zeros((BM, BN), kind) + shift
    if D <= 3:
        for k in tl.static_range(D):
            total = _less(total, x, x_rest, y, y_rest, center, rows, j, n, m, k, SQUARES, DOUBLE)
    else:
        for k in range(D):
            total = _less(total, x, x_rest, y, y_rest, center, rows, j, n, m, k, SQUARES, DOUBLE)
    return total


@triton.jit
def _less(
    total, x, x_rest, y, y_rest, center, rows, j, n, m, k,
    SQUARES: tl.constexpr, DOUBLE: tl.constexpr,
):  # fmt: skip
    """`total` less what one column adds to the distance."""
    whole, rest = tl.load(x + k * n + rows), tl.load(x_rest + k * n + rows)
    of_y = tl.load(y + k * m + j)
    if DOUBLE:  # not off a center: numbers of twice the digits
        of_rests = rest[:, None] - tl.load(y_rest + k * m + j)[None, :]
        gap = (whole[:, None] - of_y[None, :]) + of_rests
    else:
        gap = ((whole - tl.load(center + k)) + rest)[:, None] - of_y[None, :]
    if SQUARES:
        total -= gap * gap
    else:
        total -= tl.abs(gap)
    return total


@triton.jit
def sums_by_differences(
    x, x_rest, y, y_rest, center, weight, weight_rest, out, starts, near, n, m, shift,
    D: tl.constexpr, N: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    TILES: tl.constexpr, BLOCK: tl.constexpr, SQUARES: tl.constexpr, DOUBLE: tl.constexpr,
):  # fmt: skip
    """Add Σ_j 2^(exponent) w_j to out (rows, N); x (D, n), y (D, m), weights (m, N)."""
    program = tl.program_id(0).to(tl.int64)
    rows = program * BM + tl.arange(0, BM)
    block = program * BM // BLOCK
    kind: tl.constexpr = y.dtype.element_ty
    total = tl.zeros((BM,), tl.float64) if N == 1 else tl.zeros((BM, N), tl.float64)
    for entry in range(tl.load(starts + block), tl.load(starts + block + 1)):
        frame = tl.load(near + entry).to(tl.int64)
        acc = tl.zeros((BM, BN), kind) if N == 1 else tl.zeros((BM, N), kind)
        for tile in range(TILES):
            j = (frame * TILES + tile) * BN + tl.arange(0, BN)
            exponents = _exponents(
                x, x_rest, y, y_rest, center + frame * D, rows, j, n, m, shift,
                kind, BM, BN, D, SQUARES, DOUBLE,
            )  # fmt: skip
            acc = _added(acc, tl.exp2(exponents), weight, weight_rest, j, N)
        total += tl.sum(acc, axis=1).to(tl.float64) if N == 1 else acc.to(tl.float64)
    _add_to(out, rows, total, N)


@triton.jit
def sums_by_products(
    x, x_rest, y, y_rest, y_norm, center, weight, weight_rest, out, starts, near, shift,
    D: tl.constexpr, K: tl.constexpr, N: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    TILES: tl.constexpr, BLOCK: tl.constexpr, STACKED: tl.constexpr,
):  # fmt: skip
    """Add Σ_j 2^(−‖x − y‖²) w_j to out (rows, N), products by tensor cores.

    x (n, K) in single precision with its rest, y (m, K) in halves with theirs, y_norm −‖y‖². Where
    columns are few they stand three times beside each other, y as half, rest and half, and one
    product takes the place of three.
    """
    program = tl.program_id(0).to(tl.int64)
    rows = program * BM + tl.arange(0, BM)
    block = program * BM // BLOCK
    ks = tl.arange(0, K)
    at = rows[:, None] * K + ks[None, :]
    whole, rest = tl.load(x + at), tl.load(x_rest + at)
    total = tl.zeros((BM,), tl.float64) if N == 1 else tl.zeros((BM, N), tl.float64)
    for entry in range(tl.load(starts + block), tl.load(starts + block + 1)):
        frame = tl.load(near + entry).to(tl.int64)
        z = (whole - tl.load(center + frame * K + ks)[None, :]) + rest
        square = tl.where(ks[None, :] < D, z * z, 0.0)
        norm = shift - tl.sum(square, axis=1)
        z = tl.minimum(tl.maximum(2 * z, -LARGEST_HALF), LARGEST_HALF)
        z_half = z.to(tl.float16)
        z_rest = (z - z_half.to(tl.float32)).to(tl.float16)
        if STACKED:
            z_half = tl.where(ks[None, :] < 2 * D, z_half, z_rest)
        acc = tl.zeros((BM, BN), tl.float32) if N == 1 else tl.zeros((BM, N), tl.float32)
        for tile in range(TILES):
            j = (frame * TILES + tile) * BN + tl.arange(0, BN)
            of_y = j[:, None] * K + ks[None, :]
            y_half = tl.load(y + of_y)
            exponents = norm[:, None] + tl.load(y_norm + j)[None, :]
            exponents = tl.dot(z_half, y_half.T, exponents)
            if not STACKED:
                exponents = tl.dot(z_half, tl.load(y_rest + of_y).T, exponents)
                exponents = tl.dot(z_rest, y_half.T, exponents)
            acc = _added(acc, tl.exp2(exponents), weight, weight_rest, j, N)
        total += tl.sum(acc, axis=1).to(tl.float64) if N == 1 else acc.to(tl.float64)
    _add_to(out, rows, total, N)


@triton.jit
def log_sums(
    x, x_rest, y, y_rest, log_weight, own, log_own, out, starts, near, n, m,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, TILES: tl.constexpr,
    BLOCK: tl.constexpr, SQUARES: tl.constexpr,
):  # fmt: skip
    """log2 Σ_j 2^(exponent + log w_j) over near frames, out (rows,), however small the sum.

    Where j is `own` of a row, `log_own` takes the place of the weight.
    """
    program = tl.program_id(0).to(tl.int64)
    rows = program * BM + tl.arange(0, BM)
    itself, of_itself = tl.load(own + rows), tl.load(log_own + rows)
    kind: tl.constexpr = y.dtype.element_ty
    top = tl.full((BM,), float("-inf"), tl.float64)
    total = tl.zeros((BM,), tl.float64)
    block = program * BM // BLOCK
    for entry in range(tl.load(starts + block), tl.load(starts + block + 1)):
        frame = tl.load(near + entry).to(tl.int64)
        for tile in range(TILES):
            j = (frame * TILES + tile) * BN + tl.arange(0, BN)
            terms = _exponents(
                x, x_rest, y, y_rest, y, rows, j, n, m, 0.0,
                kind, BM, BN, D, SQUARES, True,
            ).to(tl.float64)  # fmt: skip
            is_own = itself[:, None] == j[None, :]
            terms = tl.where(is_own, of_itself[:, None], terms + tl.load(log_weight + j)[None, :])
            higher = tl.maximum(top, tl.max(terms, axis=1))
            base = tl.where(higher == float("-inf"), 0.0, higher)
            part = tl.sum(tl.exp2((terms - base[:, None]).to(tl.float32)), axis=1)
            total = total * tl.exp2((top - base).to(tl.float32)).to(tl.float64)
            total += part.to(tl.float64)
            top = higher
    tl.store(out + rows, tl.log2(total) + tl.where(top == float("-inf"), 0.0, top))
