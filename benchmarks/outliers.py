"""Outliers with default parameters and no labels: AUROC on ADBench's sets, against named peers.

    python benchmarks/outliers.py [set ...]

Every detector gets the raw table at its own defaults; the peers get standardised columns, which
`OneClassPCM` does not need. Detectors that draw at random are averaged over three seeds. PyOD's
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
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KernelDensity, LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from softkern import OneClassPCM, datasets

SEEDS = 3
# Each takes a table and a seed, and gives a score (n,), high for outliers.
Detector = Callable[[Any, int], Any]
IS_RANDOM = {"IForest", "INNE", "MCD"}


def one_class_pcm(X: Any, seed: int) -> Any:
    return OneClassPCM().fit(X).outlier_scores_


def one_class_pcm_with_itself(X: Any, seed: int) -> Any:
    """The same scores as if the training points were new: each is its own neighbour too."""
    return -OneClassPCM().fit(X).score_samples(X)


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
    plain = table.drop(columns="(with self)")
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


def main() -> None:
    known = [name.split("/")[1] for name in datasets.names() if name.startswith("adbench/")]
    report(*study(sys.argv[1:] or known))


if __name__ == "__main__":
    main()
