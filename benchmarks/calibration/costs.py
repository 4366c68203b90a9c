"""Cost constants of every engine, measured by short runs.

The constants are those of the reference machine, printed next to the measurements of this machine. If a
constant is one of several terms, runs of different sizes separate them. Every function returns the rows
of one module.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from calibration.rows import CostRow, Row, best, patched
from softkern._utils.threads import available_threads
from softkern.kernels import Gaussian, Laplacian, Linear, Polynomial, select_bandwidth
from softkern.operators import base, fourier, ordering
from softkern.operators.blocked import BlockedOperator
from softkern.operators.dense import DenseOperator
from softkern.operators.features import FeatureOperator
from softkern.operators.fourier import FourierOperator
from softkern.operators.low_rank import NystroemOperator
from softkern.operators.tiled import TiledOperator
from softkern.operators.work import ProblemSize
from softkern.planning import costs, engines

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.peak import measure

Rows = list[CostRow]


def normal(n: int, d: int, dtype: str = "float64") -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d)).astype(dtype)


def wide(d: int) -> Gaussian:
    """Return a bandwidth at which no value is negligible."""
    return Gaussian(float(0.7 * np.sqrt(d)))


def row(module: Any, name: str, measured: float, unit: str, power: int = 1) -> CostRow:
    where = module.__name__.rpartition(".")[2]
    value = getattr(module, name)
    return CostRow(f"{where}.{name}", float(value), measured, unit, power)


def product_time(operator: Any, c: int = 1, repeats: int = 3) -> float:
    A = np.ones((operator.shape[0], c), dtype=operator.dtype)
    operator @ A
    return best(lambda: operator @ A, repeats)


def slope(x: tuple[float, float], y: tuple[float, float]) -> tuple[float, float]:
    """Return slope and intercept of the line through two points."""
    rise = (y[1] - y[0]) / (x[1] - x[0])
    return rise, y[0] - rise * x[0]


def probe(full: bool) -> Rows:
    """Measure the speed by which the plan scales all times."""
    measured = engines.machine_speed() * engines.PROBE_REFERENCE
    return [row(engines, "PROBE_REFERENCE", measured, "s")]


def break_point(sizes: list[int], speeds: list[float]) -> float:
    """Return the largest size whose speed is nearer to the highest than to the last."""
    middle = math.sqrt(max(speeds) * speeds[-1])
    return float(max(size for size, speed in zip(sizes, speeds, strict=True) if speed >= middle))


def gram_products(full: bool) -> Rows:
    """Measure products with a matrix in memory."""
    rng, rates = np.random.default_rng(0), []
    sizes = [500, 700, 1000, 1400, 2000, 2800, 4000]
    for n in sizes:
        K, a = rng.uniform(size=(n, n)), np.ones((n, 1))
        rates.append(n * n * 8 / best(lambda K=K, a=a: K @ a, 8))
    many = {}
    for dtype in ("float64", "float32"):
        K = rng.uniform(size=(2000, 2000)).astype(dtype)
        A = np.ones((2000, 32), dtype)
        one, several = (best(lambda K=K, B=B: K @ B, 5) for B in (A[:, :1].copy(), A))
        many[dtype] = 2000**2 * 32 / max(several - one, 1e-9)
    numbers = break_point([n * n * 8 for n in sizes], rates)
    return [
        row(costs, "MATRIX_CACHE_BYTES", numbers, "bytes (of the sizes tried)", 0),
        row(costs, "MATRIX_CACHE_BANDWIDTH", max(rates), "bytes/s", -1),
        row(costs, "MATRIX_MEMORY_BANDWIDTH", rates[-1], "bytes/s", -1),
        row(costs, "MATRIX_VALUES_PER_SECOND", many["float64"], "values × vectors/s", -1),
        row(costs, "MATRIX_FLOAT32_SPEED", many["float32"] / many["float64"], "times float64", 0),
    ]


def dense_setup(full: bool) -> Rows:
    """Measure the construction of the matrix."""
    n, columns = 3000, (2, 200)

    def form(d: int) -> float:
        X = normal(n, d)
        return best(lambda: DenseOperator(wide(d), X).gram) * available_threads() / n**2

    rise, start = slope(columns, (form(columns[0]), form(columns[1])))
    return [
        row(costs, "DENSE_VALUE_SECONDS", start, "s a value, one thread"),
        row(costs, "DENSE_COLUMN_SECONDS", rise, "s a value and column"),
    ]


def tiled_products(full: bool) -> Rows:
    """Measure tiles: all pairs, several columns and vectors, and skipped tiles."""
    n, threads, rows = 4096, available_threads(), []
    for dtype, size in (("float32", 4), ("float64", 8)):

        def pair(d: int, c: int, dtype: str = dtype) -> float:
            operator = TiledOperator(wide(d), normal(n, d, dtype))
            return product_time(operator, c) * threads * 1e9 / n**2

        rise, start = slope((2, 32), (pair(2, 1), pair(32, 1)))
        one, few, many = (pair(2, c) for c in (1, 8, 40))
        per_vector = (many - few) / 32
        measured = {
            "TILED_EXPONENTIAL_NS": start,
            "TILED_COLUMN_NS": rise,
            "TILED_VECTOR_NS": per_vector,
        }
        rows += [
            CostRow(f"costs.{name}[{size}]", getattr(costs, name)[size], value, "ns a pair")
            for name, value in measured.items()
        ]
        extra = (few - one) / per_vector - 8
        rows.append(row(costs, "TILED_EXTRA_VECTORS", extra, f"vectors, {dtype}", 0))
    small = TiledOperator(wide(2), normal(64, 2))
    rows.append(row(costs, "TILED_START_SECONDS", product_time(small, 1, 20), "s a product"))
    return rows + _tiled_setup()


def _tiled_setup() -> Rows:
    n, d = 100_000, 2
    X = normal(n, d)
    # tiles are laid out for the first product
    plain = best(lambda: TiledOperator(Gaussian(10.0), X)._tiles)
    narrow = Gaussian(np.asarray(select_bandwidth(X)))
    ordered = best(lambda: TiledOperator(narrow, X)._tiles)
    reached = ProblemSize(n, d, narrow, sample=narrow.scaled(X[:1000], X.min(axis=0)))
    # the share of pairs that a product computed, and the reach that predicts it
    share = product_time(TiledOperator(narrow, X), 1, 2) - costs.TILED_START_SECONDS
    all_pairs = product_time(TiledOperator(Gaussian(10.0), X[:4096]), 1)
    share /= all_pairs * (n / 4096) ** 2
    low, high = 0.0, 20.0
    for _ in range(30):
        middle = (low + high) / 2
        with patched(ordering, TILE_REACH=middle):
            low, high = (middle, high) if costs._near_share(reached) < share else (low, middle)
    return [
        row(costs, "TILED_SCALING_SECONDS", plain / (n * d), "s a number"),
        row(costs, "TILED_ORDERING_SECONDS", (ordered - plain) / n, "s a row"),
        row(ordering, "TILE_REACH", low, "distances to a tile's share of neighbors", 0),
    ]


def fourier_transforms(full: bool) -> Rows:
    """Measure transforms of points and grids. A product of one vector needs two."""
    threads, n = available_threads(), 300_000
    X = normal(n, 2)

    def transform(points: np.ndarray, bandwidth: float, tolerance: float | None = None) -> float:
        operator = FourierOperator(Gaussian(bandwidth), points, tolerance)
        return product_time(operator, 1, 3) / 2

    def fine(points: np.ndarray, bandwidth: float) -> int:
        return math.prod(FourierOperator(Gaussian(bandwidth), points).modes) * 4

    few = X[:500]
    start = transform(few, 5.0)
    widths = tuple(-math.log10(t) + 1 for t in (1e-3, 1e-9))
    times = (transform(X, 5.0, 1e-3), transform(X, 5.0, 1e-9))
    rise, point = slope(tuple(w**2 for w in widths), tuple((t - start) / n for t in times))
    steps = {}
    for bandwidth in (0.025, 0.005) if full else (0.025, 0.009):
        size = fine(few, bandwidth)
        steps[size] = (transform(few, bandwidth) - start) * threads / (size * math.log2(size))
    (small, small_step), (large, large_step) = sorted(steps.items())
    sorting = best(lambda: FourierOperator(Gaussian(5.0), X)._plan(1, X)) / n
    part = X[:2000]
    pair = best(lambda: base.blocked_product(Gaussian(1.0), part, part, np.ones((2000, 1))))
    rows = [
        row(costs, "FOURIER_SPREADING_SECONDS", rise * threads, "s a point and value, one thread"),
        row(costs, "FOURIER_POINT_SECONDS", point, "s a point"),
        row(costs, "FOURIER_TRANSFORM_SECONDS", start, "s a transform"),
        row(fourier, "STEP_SECONDS", small_step, f"s a step, grid of 2^{math.log2(small):.0f}"),
        row(
            fourier, "LARGE_STEP_SECONDS", large_step, f"s a step, grid of 2^{math.log2(large):.0f}"
        ),
        row(costs, "FOURIER_SORTING_SECONDS", sorting, "s a point"),
        row(fourier, "PAIR_SECONDS", pair / 2000**2, "s a pair"),
    ]
    for d in (1, 2, 3):
        points = normal(20_000, d)
        width = np.ptp(points, axis=0) / np.asarray(select_bandwidth(points))
        rows.append(
            row(
                costs,
                "NORMAL_WIDTH",
                float(width.mean()) / 20_000 ** (0.5 / d),
                f"n^(1/2d) bandwidths, d = {d}",
                0,
            )
        )
    return rows


def nystroem_factor(full: bool) -> Rows:
    """Measure the construction of the factor (three unknowns from three sizes), and products."""

    def build(d: int, rank: int, dtype: str = "float64") -> float:
        X, n = normal(10_000, d, dtype), 10_000
        kernel = Gaussian(float(0.3 * np.sqrt(d)))

        def run() -> None:
            NystroemOperator(kernel, X, rank=rank, trace_tolerance=0.0)

        return best(run, 2) / (n * rank)

    low, high, broad = build(4, 100), build(4, 400), build(100, 100)
    per_rank, rest = slope((100, 400), (low, high))
    per_column = (broad - low) / 96
    sizes = [2**k for k in (19, 20, 21, 22, 23, 24)]
    rates = []
    for size in sizes:
        F = np.random.default_rng(0).normal(size=(128, size // 128))
        operator = _factor(F)
        rates.append(2 * size * 8 / product_time(operator, 1, 5))
    several = {}
    for dtype in ("float64", "float32"):
        operator = _factor(np.random.default_rng(0).normal(size=(128, 2**16)).astype(dtype))
        extra = product_time(operator, 32) - product_time(operator, 1)
        several[dtype] = 2 * 128 * 2**16 * 32 / max(extra, 1e-9)
    return [
        row(costs, "LOW_RANK_VALUE_SECONDS", rest - 4 * per_column, "s an entry"),
        row(costs, "LOW_RANK_COLUMN_SECONDS", per_column, "s an entry and column"),
        row(costs, "LOW_RANK_RANK_SECONDS", per_rank, "s an entry and landmark"),
        row(
            costs,
            "LOW_RANK_CACHE_VALUES",
            break_point(sizes, rates),
            "values (of the sizes tried)",
            0,
        ),
        row(costs, "LOW_RANK_CACHE_BANDWIDTH", max(rates), "bytes/s", -1),
        row(costs, "LOW_RANK_MEMORY_BANDWIDTH", rates[-1], "bytes/s", -1),
        row(costs, "LOW_RANK_VALUES_PER_SECOND", several["float64"], "values × vectors/s", -1),
        row(
            costs,
            "LOW_RANK_FLOAT32_SPEED",
            several["float32"] / several["float64"],
            "times float64",
            0,
        ),
    ]


def _factor(F: np.ndarray) -> NystroemOperator:
    """Return an operator with a given factor. The time does not depend on its values."""
    X = normal(F.shape[1], 1, str(F.dtype))
    operator = NystroemOperator(Gaussian(1.0), X, rank=1)
    operator._factor.panels = [F[:64], F[64:]]
    return operator


def feature_products(full: bool) -> Rows:
    """Measure two passes over the features."""
    operator = FeatureOperator(Linear(), normal(200_000, 10))
    rows = []
    for c in (1, 4, 16):
        measured = product_time(operator, c) / (2_000_000 * c)
        rows.append(
            row(costs, "FEATURES_VALUE_SECONDS", measured, f"s a number and vector, c = {c}")
        )
    return rows


def blocked_products(full: bool) -> Rows:
    """Measure kernel values by blocks, for kernels without a special engine."""
    n, rows = 2500, []
    for kernel in (Laplacian, Polynomial):

        def pair(d: int, c: int, kernel: Any = kernel) -> float:
            value = kernel(float(d)) if kernel is Laplacian else kernel()
            return product_time(BlockedOperator(value, normal(n, d)), c, 2) / n**2

        rise, start = slope((2, 60), (pair(2, 1), pair(60, 1)))
        vector = (pair(2, 32) - pair(2, 1)) / 31
        name = kernel.__name__
        rows += [
            row(costs, "BLOCKED_VALUE_SECONDS", start, f"s a value, {name}"),
            row(costs, "BLOCKED_COLUMN_SECONDS", rise, f"s a value and column, {name}"),
            row(costs, "BLOCKED_VECTOR_SECONDS", vector, f"s a value and vector, {name}"),
        ]
    return rows


def memory(full: bool) -> list[Row]:
    """Compare the predicted memory with the measured peak."""
    cases = (
        ("dense", "costs.DENSE_ARRAYS_PER_TASK", 4000, 10, 3.0, 1),
        ("tiled", "engines.LOOP_ARRAYS", 20_000, 2, 1.0, 10),
        ("fourier", "fourier.KEPT_BYTES", 200_000, 2, 0.1, 2),
        ("nystroem", "costs.BLOCKS_HELD", 50_000, 10, 3.0, 2),
    )
    rows = []
    for engine, constant, n, d, bandwidth, c in cases:
        promised, used = measure(engine, n, d, bandwidth, c, "float64")
        rows.append(
            Row(
                constant,
                "▸ in the code",
                f"{used:.0f} of {promised:.0f} MiB promised",
                f"{engine}, n = {n:,}, d = {d}, c = {c}: one step of a loop",
                "" if used <= promised else "more than promised",
            )
        )
    return rows


COSTS: dict[str, Callable[[bool], Any]] = {
    "probe": probe,
    "gram": gram_products,
    "dense": dense_setup,
    "tiled": tiled_products,
    "fourier": fourier_transforms,
    "nystroem": nystroem_factor,
    "features": feature_products,
    "blocked": blocked_products,
    "memory": memory,
}
