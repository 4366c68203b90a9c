"""Compare the one-class dual with scikit-learn's OneClassSVM, at equal or smaller KKT gaps.

    python benchmarks/oneclass.py [single] [narrow] [em] [large]

``single``: one fit at n = 20,000, d = 10, ν = .1. ``narrow``: kernels so narrow that thousands of
points lie on the margin, n = 4000, d = 3 and n = 8000, d = 2. ``em``: an iteration of the mixture at
n = 5000, K = 5, without the Gram matrix, against the same loop with OneClassSVM, with its own kernel
and with a given Gram matrix. ``large``: n = 100,000 and its peak memory, in a separate process. The
default is ``single``, ``narrow`` and ``em``.

The KKT gap is ``max f(α > 0) − min f(α < w)`` in LIBSVM's scale (Σ α = ν Σ w), recomputed in float64
for both.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.svm import OneClassSVM

from softkern import WeightedOneClassSVM
from softkern.kernels import Gaussian
from softkern.operators.dense import DenseOperator
from softkern.operators.tiled import TiledOperator
from softkern.rules.one_class import SVDD
from softkern.solvers.dual import solve_dual

TOL = 1e-3  # scikit-learn's default
RUNS = 3  # median of ours
# Both formulations have the same coefficients for the Gaussian kernel. The tolerance of this one is
# relative to squared distances, which are at most one here.
UNIT = {"formulation": SVDD}


def timed(run: Callable[[], Any], runs: int = 1) -> tuple[float, Any]:
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)), result


def gap(operator: Any, alpha: np.ndarray, weight: np.ndarray) -> float:
    field = operator @ alpha
    return float(field[alpha > 0].max() - field[alpha < weight].min(initial=np.inf))


def coefficients(machine: OneClassSVM, n: int) -> np.ndarray:
    alpha = np.zeros(n)
    alpha[machine.support_] = machine.dual_coef_[0]
    return alpha


def single() -> None:
    n, nu = 20_000, 0.1
    X = np.random.default_rng(0).normal(size=(n, 10))
    bandwidth = np.sqrt(5.0)  # OneClassSVM's gamma="scale"
    WeightedOneClassSVM(bandwidth=bandwidth).fit(X[:3000])  # warm-up
    theirs, peer = timed(lambda: OneClassSVM(nu=nu, gamma=0.1).fit(X))
    operator, ones = TiledOperator(Gaussian(bandwidth), X), np.ones(n)
    their_gap = gap(operator, coefficients(peer, n), ones)
    print(f"one fit, n = {n:,}, d = 10, ν = {nu}; OneClassSVM: {theirs:.2f} s, gap {their_gap:.1e}")
    for tol in (0.3 * TOL / float(peer.offset_[0]), 1e-10):  # equal precision, and our default
        model = WeightedOneClassSVM(nu=nu, bandwidth=bandwidth, tol=tol)
        ours, _ = timed(lambda model=model: model.fit(X), RUNS)
        alpha = np.zeros(n)
        alpha[model.support_] = model.dual_coef_ * nu * n
        alpha[alpha > 1 - 1e-9] = 1
        print(
            f"  WeightedOneClassSVM(tol={tol:.1e}): {ours:.2f} s, gap {gap(operator, alpha, ones):.1e}: "
            f"{theirs / ours:.1f} × (wanted 3 ×)"
        )


def narrow() -> None:
    nu = 0.1
    for n, d, bandwidth in ((4000, 3, 0.3), (8000, 2, 0.1)):
        X, ones = np.random.default_rng(0).normal(size=(n, d)), np.ones(n)
        gamma, operator = 1 / (2 * bandwidth**2), TiledOperator(Gaussian(bandwidth), X)
        theirs, peer = timed(lambda X=X, gamma=gamma: OneClassSVM(nu=nu, gamma=gamma).fit(X), RUNS)
        their_gap = gap(operator, coefficients(peer, n), ones)
        print(f"narrow, n = {n}, d = {d}, bandwidth {bandwidth}, ν = {nu}")
        print(f"  OneClassSVM: {theirs:.2f} s, gap {their_gap:.1e}")
        for make in (TiledOperator, DenseOperator):
            own = make(Gaussian(bandwidth), X)
            solve_dual(own, ones, nu, max_iter=1)  # warm-up
            tol = 0.9 * TOL / (nu * n)  # the spread is at most one here
            ours, solution = timed(
                lambda own=own, ones=ones, tol=tol: solve_dual(own, ones, nu, tol=tol, **UNIT), RUNS
            )
            our_gap = gap(operator, solution.coefficients[:, 0], ones)
            print(
                f"  solve_dual, {own.engine}: {ours:.2f} s, gap {our_gap:.1e}, {solution.n_iter} "
                f"working sets: {theirs / ours:.1f} × (wanted 1 ×)"
            )


def memberships(product: np.ndarray, rho: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Compute the E-step, eq. 13, at a scale that keeps clusters soft."""
    logs = (product - rho) / 100 + np.log(shares)
    similar = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(similar / similar.sum(axis=1, keepdims=True))


def em() -> None:
    n, K, iterations = 5000, 5, 6
    X = make_blobs(n, 10, centers=K, random_state=0)[0]
    X /= X.std(axis=0)
    gamma = 0.1
    operator = DenseOperator(Gaussian(1 / np.sqrt(2 * gamma)), X)
    print(f"an EM iteration, n = {n}, K = {K}, d = 10, Gram excluded")
    for nu, wanted in ((0.9, (100, 20)), (0.3, (7, 7))):
        Z = np.random.default_rng(0).dirichlet(np.ones(K), n)
        solution, seconds, gaps, states = None, [], [], []
        for _ in range(iterations):
            states.append(Z)
            start = time.perf_counter()
            tol = 0.3 * TOL / (nu * n / K)
            solution = solve_dual(operator, Z, nu, start=solution, tol=tol, **UNIT)
            Z = memberships(solution.product, solution.rho, Z.mean(axis=0))
            seconds.append(time.perf_counter() - start)
            alpha, w = solution.coefficients, states[-1]
            gaps.append(max(gap(operator, alpha[:, k], w[:, k]) for k in range(K)))
        ours = float(np.median(seconds[1:]))
        print(f"  ν = {nu}: {ours * 1e3:.0f} ms, gap {max(gaps):.1e}")
        weights = states[iterations // 2]
        for kernel, want in zip(("rbf", "precomputed"), wanted, strict=True):
            theirs, their_gap = peer_iteration(X, operator, weights, nu, kernel, gamma)
            print(
                f"    OneClassSVM({kernel!r}): {theirs:.2f} s, gap {their_gap:.1e}: "
                f"{theirs / ours:.0f} × (wanted {want} ×)"
            )


def peer_iteration(
    X: np.ndarray, operator: DenseOperator, Z: np.ndarray, nu: float, kernel: str, gamma: float
) -> tuple[float, float]:
    """Return the seconds of one iteration with OneClassSVM, and its largest gap."""
    data = X if kernel == "rbf" else operator.gram
    machines, start = [], time.perf_counter()
    product, rho = np.empty_like(Z), np.empty(Z.shape[1])
    for k in range(Z.shape[1]):
        machine = OneClassSVM(kernel=kernel, gamma=gamma, nu=nu)
        machines.append(machine.fit(data, sample_weight=Z[:, k].copy()))
        product[:, k], rho[k] = machine.score_samples(data), machine.offset_[0]
    memberships(product, rho, Z.mean(axis=0))
    seconds = time.perf_counter() - start
    gaps = [gap(operator, coefficients(m, len(X)), Z[:, k]) for k, m in enumerate(machines)]
    return seconds, max(gaps)


LARGE = """
import time, numpy as np
from softkern import WeightedOneClassSVM
X = np.random.default_rng(0).normal(size=(100_000, 10))
start = time.perf_counter()
model = WeightedOneClassSVM(nu=0.1, bandwidth=5**0.5).fit(X)
peak = next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmHWM")) / 2**20
print(f"one fit, n = 100,000, d = 10, ν = .1: {time.perf_counter() - start:.1f} s "
      f"({model.engine_}), gap {model.gap_:.1e} (relative), {len(model.support_)} support "
      f"vectors, peak {peak:.2f} GiB in all (wanted 2 GiB)")
"""


def large() -> None:
    subprocess.run([sys.executable, "-c", LARGE], check=True)


PARTS = {"single": single, "narrow": narrow, "em": em, "large": large}


def main() -> None:
    for name in sys.argv[1:] or ("single", "narrow", "em"):
        PARTS[name]()


if __name__ == "__main__":
    main()
