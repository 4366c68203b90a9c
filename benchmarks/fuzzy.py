"""Measure the speed of fuzzy c-means, compared with scikit-fuzzy and fuzzy-c-means.

    python benchmarks/fuzzy.py

Linear kernel: complete fits with the same number of iterations and the same initial memberships, and
the peak memory beyond the data, in a separate process. Gaussian kernel: the cost of an iteration
compared with the single product that it needs.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from peak import high_water
from sklearn.datasets import make_blobs

N, D, C = 100_000, 10, 10
ITERATIONS = 100
PACKAGES = ("softkern", "scikit-fuzzy", "fuzzy-c-means")


def points() -> np.ndarray:
    return make_blobs(N, D, centers=C, cluster_std=3.0, random_state=0)[0]


def start() -> np.ndarray:
    memberships = np.random.default_rng(0).uniform(size=(N, C))
    return memberships / memberships.sum(axis=1, keepdims=True)


def fitting(package: str, X: np.ndarray, U: np.ndarray) -> Callable[[int], Any]:
    """Return a fit of so many iterations; fuzzy-c-means uses its own random initialization."""
    if package == "softkern":
        from softkern import FuzzyCMeans

        return lambda iterations: FuzzyCMeans(
            C, m=2.0, kernel="linear", init=U, tol=0.0, max_iter=iterations
        ).fit(X)
    if package == "scikit-fuzzy":
        import skfuzzy

        return lambda iterations: skfuzzy.cmeans(X.T, C, 2.0, 0.0, iterations, init=U.T)

    from fcmeans import FCM

    return lambda iterations: FCM(
        n_clusters=C, max_iter=iterations, error=1e-9, random_state=0
    ).fit(X)


def seconds(run: Callable[[], Any], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)


def linear() -> None:
    X, U = points(), start()
    whole, each = {}, {}
    for package in PACKAGES:
        fit = fitting(package, X, U)
        fit(2)  # warm-up
        whole[package] = seconds(lambda fit=fit: fit(ITERATIONS))
        short = seconds(lambda fit=fit: fit(5))
        each[package] = (whole[package] - short) / (ITERATIONS - 5)
    print(f"linear kernel, n = {N:,}, d = {D}, c = {C}, {ITERATIONS} iterations")
    for package in PACKAGES:
        print(
            f"  {package}: fit {whole[package]:.2f} s, an iteration {1e3 * each[package]:.1f} ms, "
            f"peak {memory(package):.0f} MiB beyond the data"
        )
    for package, wanted in (("scikit-fuzzy", 5), ("fuzzy-c-means", 3)):
        print(
            f"  against {package}: fit {whole[package] / whole['softkern']:.1f} ×, an iteration "
            f"{each[package] / each['softkern']:.1f} × (wanted {wanted} ×)"
        )


def memory(package: str) -> float:
    """Return the peak MiB of a fit beyond data and initialization, in a separate process."""
    command = [sys.executable, __file__, "memory", package]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def take_memory(package: str) -> None:
    small = np.random.default_rng(0).normal(size=(3000, D))
    even = np.full((3000, C), 1 / C) + 0.01 * small
    fitting(package, small, even / even.sum(axis=1, keepdims=True))(3)  # imports
    X, U = points(), start()
    fit = fitting(package, X, U)
    with open("/proc/self/clear_refs", "w") as marks:
        marks.write("5")  # reset the peak
    before = high_water()
    fit(ITERATIONS)
    print(high_water() - before)


def gaussian() -> None:
    from softkern import FuzzyCMeans

    X = make_blobs(50_000, 2, centers=5, random_state=0)[0]
    U = np.random.default_rng(0).uniform(size=(50_000, 5))
    model = FuzzyCMeans(5, init=U, tol=0.0, max_iter=2).fit(X)
    operator = model.plan_.build(X)
    A = U / U.sum(axis=0)
    product = seconds(lambda: operator @ A, 5)
    long, short = (
        seconds(lambda k=k: FuzzyCMeans(5, init=U, tol=0.0, max_iter=k).fit(X)) for k in (22, 2)
    )
    step = (long - short) / 20
    print(f"Gaussian kernel, n = 50,000, d = 2, c = 5, engine {model.engine_}")
    print(
        f"  an iteration {1e3 * step:.1f} ms, a product {1e3 * product:.1f} ms: "
        f"{step / product:.2f} × (wanted at most 1.5 ×)"
    )


def main() -> None:
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["memory"]:
        take_memory(sys.argv[2])
        return
    linear()
    gaussian()


if __name__ == "__main__":
    main()
