"""Measure the GPU engine: accuracy and speed of products, complete fits, and device utilization.

    python benchmarks/gpu.py [products] [fits [a word of a case]...] [agreement]

Times of products are medians of device events. All n² pairs count and none is skipped (the kernel is
as wide as the data), so pairs per second is the speed of the engine. Fits are wall-clock times of
everything a user waits for, with the share of the time in which the device computes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch

import softkern as sk
from softkern.kernels import Gaussian, Laplacian
from softkern.operators.gpu import operator as engine
from softkern.operators.gpu.operator import GpuOperator

N = 2**20
CHECKED = 64  # rows of a product that are verified in float64


def main() -> None:
    sections = sys.argv[1:] or ["products", "fits", "agreement"]
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    for name in sections:
        if name in WAYS:
            WAYS[name]()


def products() -> None:
    """Measure pairs per second of one product, and its error."""
    print(f"\nproducts, n = {N:,}\n| case | ms | T pairs/s | relative error |\n|---|---|---|---|")
    for name, kernel, d, columns, options in _cases():
        n = N if not options else N // 8
        X = np.random.default_rng(0).normal(size=(n, d)) / np.sqrt(d)
        operator = GpuOperator(kernel, X, **options)
        A = np.random.default_rng(1).uniform(size=(n, columns))
        here = operator.to_device(A)
        operator @ here  # compiles
        seconds = _seconds(lambda operator=operator, here=here: operator @ here)
        error = _error(kernel, X, A, (operator @ here).cpu().numpy())
        print(
            f"| {name} | {seconds * 1e3:.0f} | {n**2 / seconds / 1e12:.2f} | {error:.1e} |",
            flush=True,
        )
    X = torch.randn(N, 2, device="cuda") / 2**0.5
    seconds = _seconds(lambda: _torch_tiles(X), repeats=1)
    print(f"| torch tiles, d = 2 | {seconds * 1e3:.0f} | {N**2 / seconds / 1e12:.2f} | |")


def _cases() -> Iterator[tuple[str, object, int, int, dict[str, str]]]:
    for d in (2, 3, 10, 30):
        yield f"Gaussian, d = {d}", Gaussian(1.0), d, 1, {}
    for columns in (8, 32):
        yield f"Gaussian, d = 2, {columns} columns", Gaussian(1.0), 2, columns, {}
    yield "Gaussian, d = 10, 8 columns", Gaussian(1.0), 10, 8, {}
    yield "Gaussian, d = 2, float64, n = 131,072", Gaussian(1.0), 2, 1, {"precision": "float64"}
    yield "Laplacian, d = 3", Laplacian(1.0), 3, 1, {}
    yield "Laplacian, d = 10", Laplacian(1.0), 10, 1, {}


def _seconds(work: Callable[[], object], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return float(np.median(times))


def _error(
    kernel: Gaussian | Laplacian, X: np.ndarray, A: np.ndarray, product: np.ndarray
) -> float:
    rows = np.linspace(0, len(X) - 1, CHECKED).astype(int)
    points, weights = torch.as_tensor(X, device="cuda"), torch.as_tensor(A, device="cuda")
    exact = (
        torch.cat([kernel.array_block(points[[r]], points) @ weights for r in rows]).cpu().numpy()
    )
    return float(np.abs(product[rows] / exact - 1).max())


def _torch_tiles(X: torch.Tensor, rows: int = 4096) -> torch.Tensor:
    """Compute the product in plain torch."""
    ones = torch.ones(len(X), device=X.device)
    return torch.cat([torch.exp(-0.5 * torch.cdist(x, X).square()) @ ones for x in X.split(rows)])


def fits() -> None:
    """Measure complete fits of a million rows."""
    print("\nfits, n = 1,000,000\n| case | s | of it the device computes |\n|---|---|---|")
    for name, model, d in (
        ("OneClassPCM, d = 2", sk.OneClassPCM(engine="gpu"), 2),
        ("OneClassPCM, d = 10", sk.OneClassPCM(engine="gpu"), 10),
        ("FuzzyCMeans(8), d = 10", sk.FuzzyCMeans(8, engine="gpu"), 10),
        (
            "SoftKernelSpectralClustering(8), d = 10",
            sk.SoftKernelSpectralClustering(8, engine="gpu"),
            10,
        ),
        ("AlphaCutClustering, d = 10", sk.AlphaCutClustering(engine="gpu"), 10),
    ):
        words = [word for word in sys.argv[1:] if word not in WAYS]
        if words and not any(word in name for word in words):
            continue
        X = _blobs(1_000_000, d)
        type(model)(**model.get_params()).fit(X[:20_000])  # compiles
        busy, seconds = _watched(lambda model=model, X=X: model.fit(X))
        print(f"| {name} | {seconds:.1f} | {busy / seconds:.0%} |", flush=True)


def _blobs(n: int, d: int) -> np.ndarray:
    random = np.random.default_rng(0)
    centers = random.uniform(-6, 6, size=(8, d))
    return centers[random.integers(0, 8, n)] + random.normal(size=(n, d))


def _watched(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds in which the device computed, and all seconds."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
    return sum(event.device_time_total for event in profile.key_averages()) / 1e6, seconds


def agreement() -> None:
    """Compare random problems with the dense engine, with cached and with recomputed kernel values."""
    for rows in (engine.GRAM_ROWS, 0):
        engine.GRAM_ROWS = rows
        how = "cached" if rows else "compiled loops"
        print(f"\nagreement, 50 random problems ({how}): {_worst():.1e} of each sum at most")


def _worst() -> float:
    worst = 0.0
    for seed in range(50):
        random = np.random.default_rng(seed)
        n, d = int(random.integers(10, 3000)), int(random.integers(1, 40))
        kernel = (Gaussian, Laplacian)[seed % 2](float(random.uniform(0.3, 3)) * d**0.5)
        X = random.normal(size=(n, d)) * random.lognormal(size=d) + random.uniform(-50, 50, size=d)
        A = random.uniform(size=(n, int(random.integers(1, 20))))
        exact = kernel.block(X, X) @ A
        worst = max(worst, float(np.abs(GpuOperator(kernel, X) @ A / exact - 1).max()))
    return worst


WAYS = {"products": products, "fits": fits, "agreement": agreement}

if __name__ == "__main__":
    main()
