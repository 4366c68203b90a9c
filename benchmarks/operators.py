"""Measure the speed of K @ A, compared with other libraries, and the predictions of `plan`.

    python benchmarks/operators.py             the whole table
    python benchmarks/operators.py tiled plan  some of its parts

Parts: tiled, fourier, memory, nystroem, plan. "NumPy chunks" is scikit-learn's rbf_kernel on chunks
of rows times A, with threaded BLAS and the best chunk size. KeOps and scikit-learn's KernelDensity are
measured if they are installed. Times are the best of a few.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from peak import measure
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KernelDensity

from softkern import plan
from softkern.kernels import Gaussian
from softkern.operators.fourier import FourierOperator
from softkern.operators.low_rank import NystroemOperator
from softkern.operators.tiled import TiledOperator

N = 65_536


def best(run: Callable[[], object], repeats: int = 3) -> float:
    """Return the seconds of the fastest of a few runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def normal(n: int, d: int, dtype: str) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d)).astype(dtype)


def bandwidth_for(d: int) -> float:
    """Return half of the typical distance: no value is negligible and no tile is skipped."""
    return float(0.7 * np.sqrt(d))


def numpy_chunks(X: np.ndarray, A: np.ndarray, bandwidth: float) -> tuple[float, int]:
    """Return the seconds of the product by chunks, extrapolated from a part, and the best chunk size."""
    rows = min(len(X), 8192)
    times = {}
    for chunk in (32, 64, 128, 256, 512, 1024, 2048):
        gamma = 0.5 / bandwidth**2

        def run(chunk: int = chunk, gamma: float = gamma) -> None:
            for i in range(0, rows, chunk):
                rbf_kernel(X[i : i + chunk], X, gamma=gamma) @ A

        times[chunk] = best(run, 2) * len(X) / rows
    chunk = min(times, key=lambda c: times[c])
    return times[chunk], chunk


def keops(X: np.ndarray, A: np.ndarray, bandwidth: float) -> float | None:
    try:
        from pykeops.numpy import LazyTensor
    except ImportError:
        return None
    scaled = np.ascontiguousarray(X / (bandwidth * np.sqrt(2)), dtype=X.dtype)
    part = scaled[:8192]

    def run() -> None:
        squared = ((LazyTensor(part[:, None]) - LazyTensor(scaled[None])) ** 2).sum(-1)
        (-squared).exp() @ A

    run()  # compiles
    return best(run, 2) * len(X) / len(part)


def part_tiled() -> None:
    print(f"\ntiled, n = {N:,}, one column, against NumPy chunks")
    print(
        f"{'case':<16}{'softkern':>10}{'G pairs/s':>11}{'NumPy':>9}{'ratio':>8}{'wanted':>8}  KeOps"
    )
    wanted = {2: 12, 4: 5, 8: 4, 16: 3, 32: 2, 100: 1.3}
    cases = [("float32", d) for d in wanted] + [("float64", 2), ("float64", 10)]
    single = 0.0
    for dtype, d in cases:
        X, bandwidth = normal(N, d, dtype), bandwidth_for(d)
        A = np.ones((N, 1), dtype=dtype)
        operator = TiledOperator(Gaussian(bandwidth), X)
        operator @ A
        seconds = best(lambda o=operator, A=A: o @ A)
        peer, chunk = numpy_chunks(X, A, bandwidth)
        aim = wanted[d] if dtype == "float32" else (4 if d == 2 else None)
        other = keops(X, A, bandwidth) if d == 2 else None
        print(
            f"{dtype}, d = {d:<4}{seconds:>9.2f}s{N * N / seconds / 1e9:>11.2f}{peer:>8.1f}s"
            f"{peer / seconds:>7.1f}×{f'{aim} ×' if aim else '–':>8}"
            + (f"  {other / seconds:.0f} × (wanted 20 ×)" if other and dtype == "float32" else "")
            + f"  (chunk {chunk})"
        )
        if (dtype, d) == ("float32", 2):
            single = seconds
    X, A = normal(N, 2, "float32"), np.ones((N, 8), dtype="float32")
    operator = TiledOperator(Gaussian(bandwidth_for(2)), X)
    eight = best(lambda: operator @ A)
    print(f"8 columns, d = 2, float32: {eight / single:.2f} × the time of one (wanted ≤ 2.5)")
    for columns in (64,):
        A = np.ones((N, columns), dtype="float32")
        print(
            f"{columns} columns: {best(lambda A=A: operator @ A, 1) / single:.1f} × the time of one"
        )


def part_fourier() -> None:
    n, bandwidth = 1_000_000, 0.1
    X = normal(n, 2, "float32")
    a = np.ones(n, dtype="float32")
    fourier = FourierOperator(Gaussian(bandwidth), X)
    fourier @ a
    seconds = best(lambda: fourier @ a)
    rows = 20_000
    tiled = TiledOperator(Gaussian(bandwidth), X)
    part = X[:rows]
    exact = tiled.cross(part) @ a
    whole = best(lambda: tiled.cross(part) @ a, 1) * n / rows
    error = np.abs((fourier @ a)[:rows] - exact).max() / exact.max()
    _, peak = measure("fourier", n, 2, bandwidth, 1, "float32")
    print(f"\nfourier, n = 10⁶, d = 2, bandwidth {bandwidth}: {seconds:.2f} s,")
    print(f"error {error:.1e} of the largest entry (wanted ≤ 1e-6),")
    print(f"peak {peak:.0f} MiB beyond the data (wanted < 1024);")
    print(f"tiled float32 needs {whole:.0f} s (from {rows:,} rows), ", end="")
    print(f"{whole / seconds:.0f} × as long (wanted 100 ×)")

    n, bandwidth = 100_000, 0.1
    X = normal(n, 2, "float64")
    operator = FourierOperator(Gaussian(bandwidth), X, tolerance=1e-6)
    a = np.full(n, 1.0)
    operator @ a
    ours = best(lambda: FourierOperator(Gaussian(bandwidth), X, tolerance=1e-6) @ a)
    peer = KernelDensity(bandwidth=bandwidth, algorithm="kd_tree", rtol=1e-4).fit(X)
    queries = 4000
    theirs = best(lambda: peer.score_samples(X[:queries]), 1) * n / queries
    print(f"fourier with set-up, n = 10⁵: {ours:.3f} s;")
    print(
        f"KernelDensity (kd_tree, rtol 1e-4): {theirs:.0f} s (from {queries:,} queries), ", end=""
    )
    print(f"{theirs / ours:.0f} × as long (wanted 100 ×)")


def part_memory() -> None:
    _, peak = measure("tiled", 1_000_000, 10, 2.2, 1, "float64", rows=2048)
    print(f"\ntiled, n = 10⁶, d = 10, float64: peak {peak:.0f} MiB beyond the data (wanted < 300)")


def part_nystroem() -> None:
    n, d = 1_000_000, 10
    X = normal(n, d, "float32")
    chosen = plan(X, engine="nystroem", bandwidth=bandwidth_for(d))
    start = time.perf_counter()
    operator = chosen.build(X)
    setup = time.perf_counter() - start
    assert isinstance(operator, NystroemOperator)
    a = np.ones(n, dtype="float32")
    product = best(lambda: operator @ a)
    _, peak = measure("nystroem", n, d, bandwidth_for(d), 1, "float32")
    print(
        f"\nnystroem, rank {operator.rank}, n = 10⁶, d = 10: product {product:.2f} s (wanted < 2),"
    )
    print(f"set-up {setup:.1f} s, trace error {operator.trace_error:.2g}, peak {peak:.0f} MiB,")
    print(f"planned {chosen.memory / 2**20:.0f} MiB")


def part_plan() -> None:
    print("\npredictions of plan")
    for shape in ((1000, 2), (100_000, 2), (1_000_000, 2), (1_000_000, 50)):
        print(f"\n{plan(shape)}")
    print("\npredicted against measured (within a factor of 2 is wanted)")
    print(f"{'case':<48}{'set-up':>18}{'product':>18}")
    cases = [
        ("dense", 1000, 2, "float64", 1, "auto"),
        ("dense", 5000, 10, "float64", 5, "auto"),
        ("dense", 15_000, 20, "float32", 1, "auto"),
        ("tiled", 1000, 2, "float64", 1, "auto"),
        ("tiled", 20_000, 10, "float64", 1, "auto"),
        ("tiled", 50_000, 2, "float32", 8, 1.0),
        ("tiled", 100_000, 2, "float64", 1, "auto"),
        ("tiled", 200_000, 3, "float64", 1, "auto"),
        ("tiled", 1_000_000, 2, "float32", 1, "auto"),
        ("fourier", 1000, 2, "float64", 1, "auto"),
        ("fourier", 100_000, 2, "float64", 1, "auto"),
        ("fourier", 1_000_000, 2, "float64", 1, 0.1),
        ("fourier", 1_000_000, 2, "float64", 4, "auto"),
        ("fourier", 200_000, 3, "float32", 1, 0.2),
        ("fourier", 500_000, 1, "float64", 1, "auto"),
        ("nystroem", 5000, 10, "float64", 1, "auto"),
        ("nystroem", 100_000, 50, "float64", 4, "auto"),
        ("nystroem", 300_000, 10, "float32", 1, "auto"),
    ]
    for engine, n, d, dtype, columns, bandwidth in cases:
        X = normal(n, d, dtype)
        A = np.ones((n, columns), dtype=dtype)
        chosen = plan(X, engine=engine, bandwidth=bandwidth, n_vectors=columns)
        start = time.perf_counter()
        operator = chosen.build(X)
        setup = time.perf_counter() - start
        operator @ A
        product = best(lambda o=operator, A=A: o @ A, 2)
        label = f"{engine}, n = {n:,}, d = {d}, {dtype}, c = {columns}, {bandwidth}"
        figures = f"{chosen.setup_seconds:>8.3f} /{setup:>8.3f}"
        mark = "" if 0.5 <= chosen.product_seconds / product <= 2 else "  ✗"
        print(f"{label:<48}{figures:>18}{chosen.product_seconds:>9.4f} /{product:>8.4f}{mark}")


def main() -> None:
    parts = {
        name.removeprefix("part_"): part
        for name, part in globals().items()
        if name.startswith("part_")
    }
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
