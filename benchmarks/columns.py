"""Measure the time of default fits in 2 to 100 columns, compared with other libraries.

    python benchmarks/columns.py                # all sections
    python benchmarks/columns.py fits agreement --minutes 20
    python benchmarks/columns.py --quick        # 2,000 and 20,000 rows in 2 and 10 columns

`fits`: seconds of every model and its peer on eight blobs, and their ratio. `low_rank`: exact iterations
compared with low-rank acceleration. `agreement`: difference between the two on random problems.
`growth`: growth of the time with the number of rows. `plans`: predictions of `plan`. `first`: a first
fit in a new process, compared with importing scikit-learn. `detectors`: OneClassPCM at 100,000 rows
against OneClassSVM, whose time is extrapolated. `scoring`: stages of `softkern score` on 10⁶ rows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.svm import OneClassSVM

from softkern import (
    AlphaCutClustering,
    AutoClustering,
    FuzzyCMeans,
    OneClassKMeans,
    OneClassMixture,
    OneClassPCM,
    SoftKernelSpectralClustering,
    plan,
    save,
)
from softkern.models import one_class_clusterer

CLUSTERS = 8
LONGEST = 240.0  # seconds; fits that are expected to take longer are skipped
PROBLEMS = 50
MODELS: dict[str, Callable[[], Any]] = {
    "AlphaCut": AlphaCutClustering,
    "FuzzyCMeans(8)": lambda: FuzzyCMeans(CLUSTERS),
    "OneClassMixture(8)": lambda: OneClassMixture(CLUSTERS),
    "OneClassPCM": OneClassPCM,
    "SoftKSC(8)": lambda: SoftKernelSpectralClustering(CLUSTERS),
}
PEERS: dict[str, tuple[str, Callable[[], Any]]] = {
    "AlphaCut": ("HDBSCAN", HDBSCAN),
    "OneClassMixture(8)": ("GaussianMixture(8, n_init=5)", lambda: GaussianMixture(8, n_init=5)),
    "OneClassPCM": ("OneClassSVM", OneClassSVM),
}


def points(n: int, d: int) -> np.ndarray:
    return make_blobs(n, d, centers=CLUSTERS, random_state=0)[0]


def seconds(make: Callable[[], Any], X: np.ndarray) -> float:
    """Return the seconds of one fit, the best of three if it is short."""
    times: list[float] = []
    while not times or (len(times) < 3 and times[0] < 2):
        model = make()
        begin = time.perf_counter()
        model.fit(X)
        times.append(time.perf_counter() - begin)
    return min(times)


class Clock:
    """Stores the measurements, and predicts whether more rows would finish in time."""

    def __init__(self, minutes: float) -> None:
        self.end = time.monotonic() + 60 * minutes
        self.last: dict[tuple[str, int], tuple[int, float]] = {}

    def measure(self, name: str, make: Callable[[], Any], n: int, d: int) -> float | None:
        """Return the seconds, or None if they would be too many."""
        before, took = self.last.get((name, d), (n, 0.0))
        expected = took * (n / before) ** 1.5
        if expected > LONGEST or time.monotonic() + expected > self.end:
            return None
        found = seconds(make, points(n, d))
        self.last[name, d] = n, found
        return found


def text(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def fits(clock: Clock, rows: list[int], columns: list[int]) -> None:
    """Measure every model and its peer."""
    print("\n| n | d | model | seconds | peer | seconds | ratio |\n|---|---|---|---|---|---|---|")
    for n in rows:
        for d in columns:
            for name, make in MODELS.items():
                own = clock.measure(name, make, n, d)
                peer, made = PEERS.get(name, ("", None))
                theirs = clock.measure(peer, made, n, d) if made is not None else None
                ratio = own / theirs if own is not None and theirs is not None else None
                cells = (f"{n:,}", d, name, text(own), peer, text(theirs), text(ratio))
                print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def low_rank(clock: Clock, rows: list[int], columns: list[int]) -> None:
    """Measure fuzzy c-means with exact iterations, and with low-rank acceleration."""

    def make() -> Any:
        return FuzzyCMeans(CLUSTERS, engine="tiled")

    print("\n| n | d | exact steps | low-rank acceleration | times faster |\n|---|---|---|---|---|")
    usual = FuzzyCMeans._low_rank_from
    for n in rows:
        for d in columns:
            quick = clock.measure("low-rank acceleration", make, n, d)
            FuzzyCMeans._low_rank_from = np.inf
            plain = clock.measure("exact steps", make, n, d)
            FuzzyCMeans._low_rank_from = usual
            gain = plain / quick if plain is not None and quick is not None else None
            print(f"| {n:,} | {d} | {text(plain)} | {text(quick)} | {text(gain)} |", flush=True)


def agreement(clock: Clock, rows: list[int], columns: list[int]) -> None:
    """Compare the results of both loops on random problems of 2,000 to 4,000 rows."""
    for model, tol in ((FuzzyCMeans, 1e-8), (OneClassMixture, 1e-6), (OneClassKMeans, 1e-6)):
        ends = [_ends(model, tol, seed) for seed in range(PROBLEMS) if time.monotonic() < clock.end]
        objectives, labels, largest, ranks = (
            np.array(column) for column in zip(*ends, strict=True)
        )
        print(
            f"\n{model.__name__}, {len(ends)} problems: objectives differ by at most "
            f"{objectives.max():.1e}, memberships by {largest.max():.1e} (median "
            f"{np.median(largest):.1e}, {(largest > 1e-3).sum()} by more than 1e-3); adjusted Rand index of labels at least "
            f"{labels.min():.4f}, rank correlation of outlier scores {ranks.min():.6f}.",
            flush=True,
        )


def _ends(model: Any, tol: float, seed: int) -> tuple[float, float, float, float]:
    """Compare the result of the accelerated loop with exact iterations from there."""
    generator = np.random.default_rng(seed)
    n, d, c = (int(generator.integers(*ends)) for ends in ((2000, 4000), (2, 12), (2, 6)))
    spread = float(generator.uniform(1, 4))
    X = make_blobs(n, d, centers=c, cluster_std=spread, random_state=seed)[0]
    options = {"n_init": 1, "tol": tol, "max_iter": 3000, "engine": "tiled"}
    usual = model._low_rank_from, one_class_clusterer.LOW_RANK_FROM
    model._low_rank_from = one_class_clusterer.LOW_RANK_FROM = 1500
    quick = model(c, **options).fit(X)
    model._low_rank_from = one_class_clusterer.LOW_RANK_FROM = np.inf
    # the same initialization, because another one may lead to another local optimum
    plain = model(c, **{**options, "init": quick.memberships_}).fit(X)
    model._low_rank_from, one_class_clusterer.LOW_RANK_FROM = usual
    return (
        abs(quick.objective_ / plain.objective_ - 1),
        adjusted_rand_score(quick.labels_, plain.labels_),
        float(np.abs(quick.memberships_ - plain.memberships_).max()),
        float(spearmanr(quick.outlier_scores_, plain.outlier_scores_)[0]),
    )


def growth(clock: Clock, rows: list[int], columns: list[int]) -> None:
    """Estimate the exponent of the time by rows, at ten columns."""
    print("\n| model | " + " | ".join(f"{n:,}" for n in rows) + " | exponent |")
    print("|---" * (len(rows) + 2) + "|")
    for name, make in MODELS.items():
        times = [clock.measure(name, make, n, 10) for n in rows]
        measured = [(n, t) for n, t in zip(rows, times, strict=True) if t is not None]
        exponent = None
        if len(measured) > 1:
            (n, first), (m, last) = measured[0], measured[-1]
            exponent = float(np.log(last / first) / np.log(m / n))
        cells = (name, *map(text, times), text(exponent))
        print("| " + " | ".join(cells) + " |", flush=True)


def plans(clock: Clock, rows: list[int], columns: list[int]) -> None:
    """Compare the prediction of `plan` for fuzzy c-means with the measured time."""
    head = ("n", "d", "engine", "factor", "memory, MiB", "one product, s", "measured fit, s")
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for n in rows:
        for d in columns:
            took = clock.measure("FuzzyCMeans(8)", MODELS["FuzzyCMeans(8)"], n, d)
            planned = plan(
                points(n, d), bandwidth="within", n_vectors=CLUSTERS, products=100, surrogate=True
            )
            factor = f"rank {planned.surrogate_rank}" if planned.surrogate is not None else "–"
            figures = f"{planned.memory / 2**20:.0f} | {planned.product_seconds:.2g}"
            print(f"| {n:,} | {d} | {planned.engine} | {factor} | {figures} | {text(took)} |")


def first(clock: Clock, rows: list[int], columns: list[int]) -> None:
    """Measure the CPU seconds of a new process, the best of three."""
    fit = "import numpy as np, softkern; softkern.{}().fit(np.random.default_rng(0).normal(size=(1000, 2)))"
    commands = {
        "import sklearn.base": "import sklearn.base",
        "import sklearn.svm": "import sklearn.svm",
        "import softkern.OneClassPCM": "import softkern; softkern.OneClassPCM",
        **{
            f"{name}, 1,000 x 2": fit.format(name)
            for name in ("OneClassPCM", "FuzzyCMeans", "AlphaCutClustering")
        },
    }
    for name, command in commands.items():
        times = []
        for _ in range(3):
            before = os.times()
            subprocess.run([sys.executable, "-c", command], check=True)
            after = os.times()
            times.append(sum(after[2:4]) - sum(before[2:4]))
        print(f"{name}: {min(times):.2f} s", flush=True)


def detectors(clock: Clock, rows: list[int], columns: list[int]) -> None:
    """Compare OneClassPCM at 100,000 rows with OneClassSVM, extrapolated from 10,000 and 20,000."""
    for d in (10, 30):
        X = np.random.default_rng(0).permutation(points(100_000, d))
        own = seconds(OneClassPCM, X)
        few, more = (seconds(OneClassSVM, X[:n]) for n in (10_000, 20_000))
        growth = np.log2(more / few)
        there = more * 5**growth
        print(
            f"d = {d}: OneClassPCM {own:.3g} s; OneClassSVM {few:.3g} and {more:.3g} s at 10,000 "
            f"and 20,000 rows (power {growth:.2f}), {there:.3g} s at 100,000: {there / own:.3g} x",
            flush=True,
        )


def scoring(clock: Clock, rows: list[int], columns: list[int]) -> None:
    """Measure the CPU time of the stages of `softkern score` on 10⁶ rows."""
    from softkern.tables.cli import run, scorer, writing
    from softkern.tables.cli import score as scoring_command

    for d in (2, 10):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            table = pd.DataFrame(points(1_000_000, d), columns=[f"x{k}" for k in range(d)])
            table.to_csv(place / "new.csv", index=False)
            save(AutoClustering(prepare=True).fit(table[:5000]), place / "model.safetensors")
            del table
            files = (place / name for name in ("model.safetensors", "new.csv", "out.csv"))
            model, new, out = map(str, files)
            spent = dict.fromkeys(("whole", "scores", "text"), 0.0)
            with (
                counted(scoring_command, "score", spent, "whole"),
                counted(scorer.Scorer, "_table", spent, "scores"),
                counted(writing, "_csv_lines", spent, "text"),
            ):
                run(["score", model, new, "-o", out, "-q"])
            rest = spent["whole"] - spent["scores"] - spent["text"]
            print(
                f"d = {d}: {spent['whole']:.1f} s of CPU: preparation and scores "
                f"{spent['scores']:.1f}, text {spent['text']:.1f}, reading and the rest {rest:.1f}",
                flush=True,
            )


@contextmanager
def counted(owner: Any, name: str, spent: dict[str, float], stage: str) -> Iterator[None]:
    """Add the CPU time spent in a function to that of its stage."""
    usual = getattr(owner, name)

    def timed(*arguments: Any, **options: Any) -> Any:
        begin = time.process_time()
        try:
            return usual(*arguments, **options)
        finally:
            spent[stage] += time.process_time() - begin

    setattr(owner, name, timed)
    try:
        yield
    finally:
        setattr(owner, name, usual)


SECTIONS = {
    f.__name__: f for f in (fits, low_rank, agreement, growth, plans, first, detectors, scoring)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS], default=[])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--minutes", type=float, default=60.0)
    arguments = parser.parse_args()
    rows = [2000, 20_000] if arguments.quick else [2000, 20_000, 100_000]
    columns = [2, 10] if arguments.quick else [2, 5, 10, 30, 100]
    warnings.simplefilter("ignore")
    for make in MODELS.values():  # warm-up
        make().fit(points(200, 3))
    clock = Clock(arguments.minutes)
    for name in arguments.sections or SECTIONS:
        print(f"\n## {name}")
        SECTIONS[name](clock, rows, columns)


if __name__ == "__main__":
    main()
