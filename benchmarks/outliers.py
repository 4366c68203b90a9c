"""Outliers with default parameters and no labels: AUROC on ADBench's sets, against named peers.

    python benchmarks/outliers.py [set ...]       AUROC, also with every row three times
    python benchmarks/outliers.py --flags         false alarms, planted groups, one-class machines

Every detector gets the raw table at its own defaults; the peers get standardised columns, which
`OneClassPCM` does not need. The column "(three times)" is that of a table in which every row is
written three times; "behind" says how far `OneClassPCM` is behind the best peer of the set. The
two scales and the factor of the bandwidth were chosen on these sets. Detectors that draw at random are averaged over three seeds. PyOD's
detectors are left out, with a message, where PyOD is not installed. Sets are read from the folder
of `softkern.datasets.data_folder`.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import make_blobs
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KernelDensity, LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from softkern import OneClassPCM, WeightedOneClassSVM, WeightedSVDD, datasets, rank_points

SEEDS = 3
# Each takes a table and a seed, and gives a score (n,), high for outliers.
Detector = Callable[[Any, int], Any]
IS_RANDOM = {"IForest", "INNE", "MCD"}


def one_class_pcm(X: Any, seed: int) -> Any:
    return OneClassPCM().fit(X).outlier_scores_


def one_class_pcm_with_itself(X: Any, seed: int) -> Any:
    """The same scores as if the training points were new: each is its own neighbour too."""
    return -OneClassPCM().fit(X).score_samples(X)


def one_class_pcm_of_repeated_rows(X: Any, seed: int) -> Any:
    """The same scores where every row is written three times."""
    return OneClassPCM().fit(np.repeat(X, 3, axis=0)).outlier_scores_[::3]


def isolation_forest(X: Any, seed: int) -> Any:
    return -IsolationForest(random_state=seed).fit(X).score_samples(X)


def tenth_neighbour(X: Any, seed: int) -> Any:
    return NearestNeighbors(n_neighbors=10).fit(X).kneighbors()[0][:, -1]


def local_outlier_factor(X: Any, seed: int) -> Any:
    return -LocalOutlierFactor().fit(X).negative_outlier_factor_


def one_class_svm(X: Any, seed: int) -> Any:
    return -OneClassSVM().fit(X).decision_function(X)


def kernel_density(X: Any, seed: int) -> Any:
    return -KernelDensity().fit(X).score_samples(X)


def pyod(name: str) -> Detector:
    """PyOD's detector of that name."""

    def scores(X: Any, seed: int) -> Any:
        detector = getattr(importlib.import_module(f"pyod.models.{name.lower()}"), name)
        options = {"random_state": seed} if name in IS_RANDOM else {}
        return detector(**options).fit(X).decision_scores_

    return scores


OURS: dict[str, Detector] = {
    "OneClassPCM": one_class_pcm,
    "(with self)": one_class_pcm_with_itself,
    "(three times)": one_class_pcm_of_repeated_rows,
}
PEERS: dict[str, Detector] = {
    "IForest": isolation_forest,
    "10th nbr": tenth_neighbour,
    "LOF": local_outlier_factor,
    "OCSVM": one_class_svm,
    "KDE": kernel_density,
    **{name: pyod(name) for name in ("ECOD", "COPOD", "INNE", "MCD")},
}
PYOD = {"ECOD", "COPOD", "INNE", "MCD"}


def peers() -> dict[str, Detector]:
    """Those that are installed."""
    if importlib.util.find_spec("pyod") is not None:
        return PEERS
    print("PyOD is not installed (pip install pyod): ECOD, COPOD, INNE and MCD are left out.\n")
    return {name: peer for name, peer in PEERS.items() if name not in PYOD}


def measure(name: str, detector: Detector, X: Any, y: Any) -> tuple[float, float]:
    """Mean AUROC over the seeds, and seconds of one fit."""
    seeds = range(SEEDS if name in IS_RANDOM else 1)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peers' own: MCD on singular columns, and the like
        values = [roc_auc_score(y, np.nan_to_num(detector(X, seed))) for seed in seeds]
    return float(np.mean(values)), (time.perf_counter() - start) / len(seeds)


def study(sets: list[str]) -> tuple[pd.DataFrame, pd.Series]:
    """AUROC by set and detector, and seconds by detector over all sets."""
    detectors = OURS | peers()
    table = pd.DataFrame(index=sets, columns=list(detectors), dtype=float)
    seconds = pd.Series(0.0, index=table.columns)
    for name in sets:
        bunch = datasets.load_dataset(f"adbench/{name}")
        X = bunch.data.to_numpy(dtype=float)
        standardised = StandardScaler().fit_transform(X)
        for title, detector in detectors.items():
            rows = X if title in OURS else standardised
            table.loc[name, title], taken = measure(title, detector, rows, bunch.target)
            seconds[title] += taken
        print(f"{name} done", file=sys.stderr, flush=True)
    return table, seconds


def report(table: pd.DataFrame, seconds: pd.Series) -> None:
    """Print the table, the means, the mean ranks and the verdict."""
    plain = table.drop(columns=["(with self)", "(three times)"])
    best_peer = plain.drop(columns="OneClassPCM").max(axis=1)
    table["behind"] = best_peer - plain["OneClassPCM"]
    table.loc["mean"] = table.mean()
    table.loc["mean rank"] = plain.rank(axis=1, ascending=False).mean()
    table.loc["seconds"] = seconds
    print("AUROC, default parameters, no labels used\n")
    print(table.to_string(float_format=lambda value: f"{value:.3f}", na_rep=""))
    means = plain.mean()
    names = [name for name in PEERS if name in plain]
    best = max(names, key=lambda name: float(means[name]))
    differences = (plain["OneClassPCM"] - plain[best]).to_numpy(dtype=float)
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    ours, theirs = float(means["OneClassPCM"]), float(means[best])
    print(f"\nmean of OneClassPCM {ours:.4f}, of the best peer, {best}, {theirs:.4f}: ", end="")
    print(f"{ours - theirs:+.4f}, standard error {error:.4f} over the sets;")
    print(f"higher on {int((differences > 0).sum())} of {len(plain)} sets")


# Flags of `rank_points`, and the one-class machines

DRAWS: dict[str, Callable[[Any, int, int], Any]] = {
    "uniform": lambda g, n, d: g.uniform(size=(n, d)),
    "Gaussian": lambda g, n, d: g.normal(size=(n, d)),
    "three blobs": lambda g, n, d: g.normal(size=(n, d)) + 10 * g.integers(0, 3, n)[:, None],
    "correlated": lambda g, n, d: g.normal(size=(n, d)) + 2 * g.normal(size=(n, 1)),
    "Student, 5": lambda g, n, d: g.standard_t(5, size=(n, d)),
    "lognormal, 0.5": lambda g, n, d: np.exp(0.5 * g.normal(size=(n, d))),
}
COLUMNS = (1, 2, 4, 10, 50)
GROUPS = (1, 2, 3, 5, 10)


def flags(X: Any) -> Any:
    return rank_points(OneClassPCM().fit(X))["is_outlier"].to_numpy()


def false_alarms() -> pd.DataFrame:
    """Flagged points in a thousand, of data without outliers."""
    rows = {}
    for name, draw in DRAWS.items():
        for n, repeats in ((100, 20), (1000, 4), (5000, 1)):
            sets = [[draw(np.random.default_rng(r), n, d) for r in range(repeats)] for d in COLUMNS]
            rows[name, n] = [1000 * np.mean([flags(X).mean() for X in some]) for some in sets]
    return pd.DataFrame(rows, index=[f"d = {d}" for d in COLUMNS]).T


def planted_groups() -> pd.DataFrame:
    """Share of planted outliers that are flagged, in 1000 rows.

    A group lies 8 or 30 standard deviations beyond where the data's are, its points equal, a tenth
    of a standard deviation apart, or as wide as one.
    """
    rows = {}
    for name in ("uniform", "Gaussian", "Student, 5"):
        for distance in (8, 30):
            for spread in (0.0, 0.1, 1.0):
                found = []
                for d in COLUMNS:
                    some = []
                    for count in GROUPS:
                        generator = np.random.default_rng(100 * d + count)
                        X = DRAWS[name](generator, 1000, d)
                        X = (X - X.mean(axis=0)) / X.std(axis=0)
                        way = generator.normal(size=d)
                        X[:count] = (distance + np.sqrt(d)) * way / np.linalg.norm(way)
                        X[:count] += spread * generator.normal(size=(count, d))
                        some.append(flags(X)[:count].mean())
                    found.append(np.mean(some))
                rows[name, distance, spread] = found
    return pd.DataFrame(rows, index=[f"d = {d}" for d in COLUMNS]).T


def machines() -> pd.DataFrame:
    """Of the two machines: AUROC on five blobs with outliers, share of fresh points rejected."""
    rows: dict[str, dict[str, float]] = {}
    for kind in (WeightedSVDD, WeightedOneClassSVM):
        row = rows.setdefault(kind.__name__, {})
        for d in (2, 5, 10):
            values = []
            for seed in range(6):
                X, _ = make_blobs(500, d, centers=5, random_state=seed)
                box = X.min(axis=0) - 2, X.max(axis=0) + 2
                noise = np.random.default_rng(seed).uniform(*box, (25, d))
                scores = kind().fit(np.vstack([X, noise])).outlier_scores_
                values.append(roc_auc_score(np.arange(525) >= 500, scores))
            row[f"AUROC, d = {d}"] = float(np.mean(values))
        for d in (2, 12, 30):
            for nu in (0.05, 0.2):
                shares = []
                for seed in range(12):
                    X = np.random.default_rng(seed).normal(size=(2300, d))
                    shares.append(np.mean(kind(nu=nu).fit(X[:300]).predict(X[300:]) < 0))
                row[f"fresh, ν = {nu}, d = {d}"] = float(np.mean(shares))
    return pd.DataFrame(rows)


def report_flags() -> None:
    for title, table in (
        ("False alarms of OneClassPCM, flagged points in a thousand", false_alarms()),
        ("Planted groups of 1, 2, 3, 5, 10 in 1000 rows: share flagged", planted_groups()),
        ("One-class machines at their defaults", machines()),
    ):
        print(f"{title}\n\n{table.to_string(float_format=lambda value: f'{value:.2f}')}\n")


def main() -> None:
    if "--flags" in sys.argv:
        report_flags()
        return
    known = [name.split("/")[1] for name in datasets.names() if name.startswith("adbench/")]
    report(*study(sys.argv[1:] or known))


if __name__ == "__main__":
    main()
