"""Measure fit and scoring times of OneClassPCM, compared with scikit-learn's OneClassSVM.

    python benchmarks/possibilistic.py [large]

``large`` adds n = 10⁶, and OneClassSVM itself at n = 100,000 (minutes). Otherwise its time there is
extrapolated from 10,000 and 20,000 rows by a power law.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.svm import OneClassSVM

from softkern import OneClassPCM


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def normal(n: int, d: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d))


def svm_at_100_000(measure: bool) -> tuple[float, str]:
    if measure:
        return timed(lambda: OneClassSVM(nu=0.1).fit(normal(100_000, 2)))[0], "measured"
    small, large = (
        timed(lambda n=n: OneClassSVM(nu=0.1).fit(normal(n, 2)))[0] for n in (10_000, 20_000)
    )
    power = np.log2(large / small)
    return large * 5**power, f"from 20,000 rows, power {power:.2f}"


def two_columns(measure: bool) -> None:
    OneClassPCM().fit(normal(3000, 2))  # warm-up
    X, new = normal(100_000, 2), normal(100_000, 2) + 0.01
    ours, model = timed(lambda: OneClassPCM().fit(X))
    theirs, how = svm_at_100_000(measure)
    print(f"fit, n = 10⁵, d = 2: {ours:.2f} s ({model.engine_}); OneClassSVM {theirs:.0f} s")
    print(f"  ({how}): {theirs / ours:.0f} × (wanted 50 ×, aim 150 ×)")
    score, _ = timed(lambda: model.score_samples(new))
    # a OneClassSVM with all 10⁵ points as support vectors, like OneClassPCM
    part = OneClassSVM(nu=0.999, tol=1.0).fit(X[:10_000])
    rows = 2000
    seconds, _ = timed(lambda: part.score_samples(new[:rows]))
    peer = seconds * (len(new) / rows) * (len(X) / len(part.support_))
    print(f"score 10⁵ new points: {score:.2f} s; OneClassSVM with the same support {peer:.0f} s")
    print(
        f"  (from {rows} rows and {len(part.support_)} support vectors): {peer / score:.0f} × (wanted 100 ×)"
    )


def ten_columns() -> None:
    X, bandwidth = normal(20_000, 10), np.sqrt(5.0)  # OneClassSVM's gamma="scale"
    svm, _ = timed(lambda: OneClassSVM(nu=0.1).fit(X))
    exact, model = timed(lambda: OneClassPCM(bandwidth=bandwidth, engine="tiled").fit(X))
    quick, low_rank = timed(
        lambda: OneClassPCM(
            bandwidth=bandwidth, engine="nystroem", engine_params={"rank": 120}
        ).fit(X)
    )
    agreement = spearmanr(model.score_samples(X), low_rank.score_samples(X))[0]
    print(
        f"fit, n = 20,000, d = 10: exact {exact:.2f} s, OneClassSVM {svm:.2f} s: {svm / exact:.1f} × (wanted 1 ×)"
    )
    print(
        f"  nystroem, rank 120: {quick:.2f} s, {svm / quick:.1f} × (wanted 10 ×), rank correlation {agreement:.5f}"
    )


MILLION = """
import time, numpy as np
from softkern import OneClassPCM
def high_water():
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmHWM")) / 2**20
X = np.random.default_rng(0).normal(size=(1_000_000, 2))
start = time.perf_counter()
model = OneClassPCM().fit(X)
print(f"fit, n = 10⁶, d = 2: {time.perf_counter() - start:.1f} s ({model.engine_}), "
      f"peak {high_water():.2f} GiB in all (wanted < 60 s, 1.5 GiB)")
"""


def main() -> None:
    large = "large" in sys.argv[1:]
    two_columns(large)
    ten_columns()
    if large:
        subprocess.run([sys.executable, "-c", MILLION], check=True)


if __name__ == "__main__":
    main()
