"""Cost models of the engines: memory, set-up time and the time of one product.

Every function takes a `ProblemSize` and the engine's options, and returns a `Cost` for the
reference machine. Constants are measured by ``benchmarks/calibrate.py`` on two cores of that
machine, those of the GPU by ``benchmarks/gpu.py`` on one H200.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from softkern.kernels import Gaussian, Laplacian
from softkern.operators.base import BLOCK_BYTES, ProblemSize
from softkern.operators.dense import SQUARE
from softkern.operators.fourier import (
    KEPT_BYTES,
    default_tolerance,
    fourier_grid,
    transform_seconds,
)
from softkern.operators.gpu.devices import slowdown
from softkern.operators.low_rank import DEFAULT_RANK
from softkern.operators.ordering import TREE_COLUMNS, share_of_near_pairs
from softkern.operators.tiled import REACH, ROWS_PER_TASK, TILE, padded_columns
from softkern.operators.work import Cost

MIB = 2**20

# Products with a matrix in memory
MATRIX_CACHE_BYTES = 16 * MIB  # a matrix up to this size stays in the caches
MATRIX_CACHE_BANDWIDTH = 1e11  # bytes per second of a product with one vector
MATRIX_MEMORY_BANDWIDTH = 3e10  # the same for larger matrices
MATRIX_VALUES_PER_SECOND = 1.5e10  # float64 values times vectors, for several vectors
MATRIX_FLOAT32_SPEED = 2.0  # relative to float64

DENSE_VALUE_SECONDS = 8e-9  # one thread, one entry of the matrix
DENSE_COLUMN_SECONDS = 1.8e-10  # in addition, for every column of the data
DENSE_ARRAYS_PER_TASK = 4  # squares of float64 that a thread holds

BLOCKED_VALUE_SECONDS = 1e-8  # one kernel value
BLOCKED_COLUMN_SECONDS = 3e-10  # in addition, for every column of the data
BLOCKED_VECTOR_SECONDS = 1e-10  # in addition, for every column of A
BLOCKS_HELD = 6  # temporary arrays of a block of kernel values

FEATURES_VALUE_SECONDS = 4e-10  # a number of the data and vector of A

# Nanoseconds of one thread for a pair of points, by the bytes of a number
TILED_EXPONENTIAL_NS = {4: 0.14, 8: 0.5}
TILED_COLUMN_NS = {4: 0.034, 8: 0.066}  # of the data, padded
TILED_VECTOR_NS = {4: 0.022, 8: 0.05}  # of A, beyond the first
TILED_EXTRA_VECTORS = 3  # that several vectors cost beyond their number
TILED_START_SECONDS = 2e-4  # of the threads, every product
TILED_SCALING_SECONDS = 1.2e-7  # a number of the data, once
TILED_ORDERING_SECONDS = 4e-7  # a row, once, where neighbors are put beside each other
TILED_NEAR_SAMPLE = 300  # rows from which the share of near pairs is estimated

FOURIER_SPREADING_SECONDS = 0.7e-9  # one thread, a point and value of the spreading kernel
FOURIER_POINT_SECONDS = 2.5e-8  # a point, beyond spreading
FOURIER_TRANSFORM_SECONDS = 2e-3  # every transform
FOURIER_SORTING_SECONDS = 6e-8  # a point, once
NORMAL_WIDTH = 8.3  # of n^(1/2d) default bandwidths: how wide normal data are, where unknown

LOW_RANK_VALUE_SECONDS = 25e-9  # an entry of the factor, once
LOW_RANK_COLUMN_SECONDS = 2e-10  # in addition, for every column of the data
LOW_RANK_RANK_SECONDS = 5e-11  # in addition, for every landmark before it
LOW_RANK_CACHE_VALUES = 2**22  # a factor up to this size stays in the caches
LOW_RANK_CACHE_BANDWIDTH = 6e10  # bytes per second of a product with one vector
LOW_RANK_MEMORY_BANDWIDTH = 3e10  # the same for larger factors
LOW_RANK_VALUES_PER_SECOND = 6e9  # float64 values times vectors, for several vectors
LOW_RANK_FLOAT32_SPEED = 1.4  # relative to float64

# One H200, seconds for a pair of points
GPU_PAIR_SECONDS = 3.3e-13  # an exponential and its weighted sum
GPU_COLUMN_SECONDS = 1.5e-14  # a column of the data
GPU_VECTOR_SECONDS = 3e-14  # a column of A beyond the first
GPU_DOUBLE = 8.0  # slower in double precision
GPU_TILE_SECONDS = 1.2e-11  # a kernel value that is written to memory
GPU_START_SECONDS = 3.0  # PyTorch, and loops that are compiled when first used
GPU_FLOP_SECONDS = 5e-14  # a multiplication and addition of matrices, in double precision
GPU_MEMORY_BANDWIDTH = 3e12  # bytes per second on the device
GPU_BUS_BANDWIDTH = 5e9  # bytes per second between host and device
GPU_FRAME_BYTES = 160  # per row and column, for all frame layouts


def dense_cost(problem: ProblemSize) -> Cost:
    """n² numbers: one kernel value each to build, one multiplication each to use."""
    numbers = problem.n**2 * problem.itemsize
    memory = numbers + DENSE_ARRAYS_PER_TASK * problem.threads * min(SQUARE**2 * 8, numbers)
    memory += 2 * (problem.vectors + problem.values * problem.itemsize) + MIB
    seconds = DENSE_VALUE_SECONDS + DENSE_COLUMN_SECONDS * problem.d
    return Cost(memory, problem.n**2 * seconds / problem.threads, _matrix_seconds(problem))


def precomputed_cost(problem: ProblemSize) -> Cost:
    """The given matrix; it is only checked for symmetry."""
    checking = 3 * min(BLOCK_BYTES, problem.n**2 * problem.itemsize)
    return Cost(2 * problem.vectors + checking + MIB, 0.0, _matrix_seconds(problem))


def _matrix_seconds(problem: ProblemSize) -> float:
    """Seconds of a product with n × n numbers in memory."""
    numbers = problem.n**2 * problem.itemsize
    is_cached = numbers < MATRIX_CACHE_BYTES
    seconds = numbers / (MATRIX_CACHE_BANDWIDTH if is_cached else MATRIX_MEMORY_BANDWIDTH)
    if problem.n_vectors > 1:
        speed = MATRIX_FLOAT32_SPEED if problem.itemsize == 4 else 1.0
        seconds += problem.n**2 * problem.n_vectors / (MATRIX_VALUES_PER_SECOND * speed)
    return seconds


def blocked_cost(problem: ProblemSize) -> Cost:
    """One kernel value for every pair, in every product."""
    seconds = BLOCKED_VALUE_SECONDS + BLOCKED_COLUMN_SECONDS * problem.d
    seconds += BLOCKED_VECTOR_SECONDS * problem.n_vectors
    memory = BLOCKS_HELD * BLOCK_BYTES + problem.values * problem.itemsize + 3 * problem.vectors
    return Cost(memory, 0.0, float(problem.n) ** 2 * seconds)


def feature_cost(problem: ProblemSize) -> Cost:
    """Two passes over the features."""
    memory = 2 * problem.values * problem.itemsize + 3 * problem.vectors + MIB
    return Cost(memory, 0.0, problem.values * problem.n_vectors * FEATURES_VALUE_SECONDS)


def tiled_cost(problem: ProblemSize, threads: int | None = None) -> Cost:
    """One exponential, d differences and one multiplication per vector for every near pair."""
    threads, size = threads or problem.threads, problem.itemsize
    columns = padded_columns(problem.d)
    nanoseconds = TILED_EXPONENTIAL_NS[size] + TILED_COLUMN_NS[size] * columns
    if problem.n_vectors > 1:
        nanoseconds += TILED_VECTOR_NS[size] * (TILED_EXTRA_VECTORS + problem.n_vectors)
    task = ROWS_PER_TASK * (problem.d + 2 * problem.n_vectors) * 16
    memory = problem.n * (size * columns + 8 * problem.n_vectors) + 3 * problem.vectors
    memory += 2 * MIB + task * threads
    setup = problem.n * problem.d * TILED_SCALING_SECONDS
    near = _near_share(problem)
    if near < 1:  # ordering the rows takes a copy of them in float64, or their cells
        memory += problem.n * (16 * min(problem.d, TREE_COLUMNS) + 24)
        setup += problem.n * TILED_ORDERING_SECONDS
    pairs = near * float(problem.n) ** 2
    return Cost(memory, setup, TILED_START_SECONDS + pairs * nanoseconds * 1e-9 / threads)


def _near_share(problem: ProblemSize) -> float:
    """Share of the pairs whose tiles are near enough to each other to be computed."""
    if problem.n <= 2 * TILE:
        return 1.0
    if problem.sample is None:  # √n points within two bandwidths, as for the default bandwidth
        if problem.d > TREE_COLUMNS:
            return 1.0
        return float(min(1.0, 8.0**problem.d / np.sqrt(problem.n)))
    sample = problem.sample[:: -(-len(problem.sample) // TILED_NEAR_SAMPLE)]
    return share_of_near_pairs(sample, REACH, TILE / problem.n) if len(sample) > 1 else 1.0


def fourier_cost(problem: ProblemSize, tolerance: float | None = None) -> Cost:
    """A few passes over the points, and transforms of the grid."""
    tolerance = tolerance or default_tolerance(problem.dtype)
    extent = problem.extent or (NORMAL_WIDTH * problem.n ** (0.5 / problem.d),) * problem.d
    modes = math.prod(fourier_grid(extent, tolerance)[0])
    width = -math.log10(tolerance) + 1  # points of the spreading kernel, per column
    fine = modes * 2**problem.d
    memory = problem.n * 8 * (6 * problem.d + 10) + problem.vectors + 16 * (2 * modes + 2 * fine)
    memory += KEPT_BYTES + 32 * MIB
    spreading = width**problem.d * FOURIER_SPREADING_SECONDS / problem.threads
    transform = FOURIER_TRANSFORM_SECONDS + problem.n * (spreading + FOURIER_POINT_SECONDS)
    transform += transform_seconds(fine, problem.threads)
    setup = problem.n * FOURIER_SORTING_SECONDS + 1e-3
    return Cost(memory, setup, -(-problem.n_vectors // 2) * 2 * transform)


def low_rank_cost(problem: ProblemSize, rank: int | None = DEFAULT_RANK, **options: Any) -> Cost:
    """n × rank numbers, which a product reads twice."""
    rank = problem.n if rank is None else min(rank, problem.n)
    numbers = problem.n * rank
    speed = LOW_RANK_FLOAT32_SPEED if problem.itemsize == 4 else 1.0
    memory = numbers * problem.itemsize + BLOCKS_HELD * BLOCK_BYTES + 3 * problem.vectors
    memory += 40 * problem.n + rank * rank * 16
    seconds = LOW_RANK_VALUE_SECONDS + LOW_RANK_COLUMN_SECONDS * problem.d
    seconds += LOW_RANK_RANK_SECONDS * rank
    is_cached = numbers < LOW_RANK_CACHE_VALUES
    bandwidth = LOW_RANK_CACHE_BANDWIDTH if is_cached else LOW_RANK_MEMORY_BANDWIDTH
    product = 2 * numbers * problem.itemsize / bandwidth
    if problem.n_vectors > 1:
        product += 2 * numbers * problem.n_vectors / (LOW_RANK_VALUES_PER_SECOND * speed)
    return Cost(memory, numbers * seconds / speed, product)


def gpu_cost(problem: ProblemSize, device: str | None = None, precision: str = "float32") -> Cost:
    """One exponential for every pair, and little for every column of the data and of A."""
    if isinstance(problem.kernel, Gaussian | Laplacian):
        seconds = GPU_PAIR_SECONDS + GPU_COLUMN_SECONDS * problem.d
        seconds += GPU_VECTOR_SECONDS * (problem.n_vectors - 1)
        seconds *= GPU_DOUBLE if precision == "float64" else 1.0
    else:
        seconds = GPU_TILE_SECONDS * 2
    on_device = problem.n * (problem.d * GPU_FRAME_BYTES + 40) + 8 * problem.vectors
    data = problem.values * problem.itemsize
    moving = 2 * problem.vectors / GPU_BUS_BANDWIDTH
    product = moving + problem.n**2 * seconds * slowdown(device or "cuda")
    setup = GPU_START_SECONDS + data / GPU_BUS_BANDWIDTH
    return Cost(data + 2 * problem.vectors, setup, product, on_device)


def gpu_factor_cost(problem: ProblemSize, rank: int) -> Cost:
    """A low-rank factor on the device: built by products with itself, read once per step."""
    numbers = problem.n * rank * problem.itemsize
    setup = problem.n * rank * (rank * GPU_FLOP_SECONDS + GPU_TILE_SECONDS)
    return Cost(0, setup, 2 * numbers / GPU_MEMORY_BANDWIDTH, numbers)
