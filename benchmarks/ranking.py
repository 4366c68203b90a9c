"""Check that outlier scores mean the same for all models, and measure the cost of ranking.

    python benchmarks/ranking.py [false-alarms] [agreement] [time]

false-alarms: typical points that each model flags, per data set and as a share of the data sets, where
there are no outliers (one Gaussian, a uniform cube, three unequal blobs; n = 100 to 5000 in 1 to 10
dimensions), and the share of planted outliers that it flags, where they are 1, 5, 10 and 15 % of the
points. At 5000 points there is one draw of the Gaussian, for the fastest models only. No other library
ranks several models on one scale. The last rows apply the same rule to IsolationForest and
LocalOutlierFactor of scikit-learn.

agreement: the models' scores compared with those of OneClassPCM on the same data: rank correlation,
and the mean difference over the 5 % highest scores, in powers of ten.

time: seconds for ranking 100,000 training points, and as many new ones, without the fit.
"""

from __future__ import annotations

import itertools
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor

import softkern
from softkern import rank_points

DETECTORS = ("OneClassPCM", "WeightedSVDD", "WeightedOneClassSVM")
CLUSTERERS = (
    "PossibilisticCMeans",
    "FuzzyCMeans",
    "OutlierFuzzyCMeans",
    "OneClassMixture",
    "OneClassKMeans",
    "KernelSpectralClustering",
    "SoftKernelSpectralClustering",
)
SPECTRAL = ("KernelSpectralClustering", "SoftKernelSpectralClustering")
SIZES = {  # points: draws, kinds, dimensions, and shares of outliers
    100: (2, ("gaussian", "uniform", "blobs"), (1, 2, 5, 10), (0.0, 0.01, 0.05, 0.1, 0.15)),
    1000: (1, ("gaussian",), (1, 2, 5, 10), (0.0, 0.05, 0.15)),
    5000: (1, ("gaussian",), (2,), (0.0, 0.1)),
}
SLOW = ("AlphaCutClustering", "OneClassMixture", *SPECTRAL)  # skipped at 5000 points


class Peer(BaseEstimator):
    """A detector of scikit-learn, with the fitted attributes that ranking uses."""

    def __init__(self, detector: Any) -> None:
        self.detector = detector

    def fit(self, X: Any) -> Peer:
        """Store the scores of the training points."""
        self.detector.fit(X)
        is_local = isinstance(self.detector, LocalOutlierFactor)
        inlierness = (
            self.detector.negative_outlier_factor_ if is_local else self.detector.score_samples(X)
        )
        self.outlier_scores_ = -inlierness
        self.memberships_ = np.exp(-self.outlier_scores_)
        self.labels_ = np.zeros(len(X), int)
        return self

    def outlier_scores(self, X: Any) -> Any:
        """Not needed in this study."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return True


def models(n_clusters: int) -> Iterator[tuple[str, Any]]:
    """Return all models, unfitted."""
    for name in DETECTORS:
        yield name, getattr(softkern, name)()
    yield "AlphaCutClustering", softkern.AlphaCutClustering()
    for name in CLUSTERERS:
        is_spectral = name in SPECTRAL
        options = {"bandwidth": "global"} if is_spectral else {}  # instead of a search
        count = max(n_clusters, 2) if is_spectral else n_clusters
        yield name, getattr(softkern, name)(count, **options)


def peers() -> Iterator[tuple[str, Any]]:
    """Return detectors of scikit-learn."""
    yield "IsolationForest", Peer(IsolationForest(random_state=0))
    yield "LocalOutlierFactor", Peer(LocalOutlierFactor())


def typical(kind: str, n: int, d: int, rng: np.random.Generator) -> tuple[Any, int]:
    """Generate points without outliers. Returns them and the number of clusters."""
    if kind == "gaussian":
        return rng.normal(size=(n, d)), 1
    if kind == "uniform":
        return rng.uniform(size=(n, d)), 1
    centers = np.zeros((3, d))
    centers[1, 0], centers[2, -1] = 10, -14
    y = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    spread = np.array([1, 0.6, 1.5])[y]
    return centers[y] + spread[:, None] * rng.normal(size=(n, d)), 3


def planted(X: Any, count: int, rng: np.random.Generator) -> Any:
    """Generate outliers around X in all directions."""
    direction = rng.normal(size=(count, X.shape[1]))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    radius = rng.uniform(1, 2, size=(count, 1)) * (6 + 2 * np.sqrt(X.shape[1]))
    return X.mean(axis=0) + direction * radius * X.std(axis=0)


def false_alarms() -> None:
    """Measure false positives without outliers, and detection with outliers."""
    rows = []
    for n, (draws, *choices) in SIZES.items():
        for kind, d, share, draw in itertools.product(*choices, range(draws)):
            rng = np.random.default_rng([n, d, draw])
            X, k = typical(kind, n, d, rng)
            far = round(share * n)
            X[n - far :] = planted(X[: n - far], far, rng)
            for name, model in [*models(k), *peers()]:
                if n < 5000 or name not in SLOW:
                    flags = rank_points(model.fit(X))["is_outlier"].to_numpy()
                    alarms, found = flags[: n - far].sum(), flags[n - far :].sum()
                    rows.append((name, kind, n, d, share, alarms, alarms > 0, found / max(far, 1)))
    columns = ["model", "kind", "n", "d", "share", "flagged a set", "sets", "found"]
    table = pd.DataFrame(rows, columns=columns)
    clean, mixed = table[table["share"] == 0], table[table["share"] > 0]
    for by in ("kind", "n", "d"):
        means = clean.groupby(["model", by], sort=False)[["flagged a set", "sets"]].mean()
        print(f"\nno outliers, by {by}\n{means.unstack().round(2).to_string()}")
    means = mixed.groupby(["model", "n", "share"], sort=False)[["found", "flagged a set"]].mean()
    print(
        f"\noutliers found, and false alarms beside\n{means.unstack([1, 2]).round(2).to_string()}"
    )


def agreement() -> None:
    """Compare the scores of the models on the same points."""
    for kind in ("gaussian", "uniform", "blobs"):
        correlation: dict[str, list[float]] = {}
        level: dict[str, list[float]] = {}
        for draw in range(3):
            rng = np.random.default_rng(draw)
            X, k = typical(kind, 500, 2, rng)
            X = np.vstack([X, planted(X, 10, rng)])
            tables = {name: rank_points(model.fit(X)) for name, model in models(k)}
            ours = tables.pop("OneClassPCM")["outlier_score"]
            high = ours >= ours.quantile(0.95)
            for name, table in tables.items():
                theirs = table["outlier_score"]
                correlation.setdefault(name, []).append(spearmanr(ours, theirs).statistic)
                level.setdefault(name, []).append((theirs - ours)[high].median())
        means = {"rank correlation": correlation, "level": level}
        table = pd.DataFrame({key: pd.DataFrame(part).mean() for key, part in means.items()})
        print(f"\n{kind}, against OneClassPCM\n{table.round(2).to_string()}")


def cost() -> None:
    """Measure the seconds at 100,000 points."""
    rng = np.random.default_rng(0)
    X, k = typical("blobs", 100_000, 2, rng)
    new = typical("blobs", 100_000, 2, rng)[0]
    print(f"\n{'100,000 points, seconds':<30}{'fit':>8}{'table':>8}{'new points':>12}")
    for name, model in models(k):
        times = [time.perf_counter()]
        model.fit(X)
        times.append(time.perf_counter())
        rank_points(model)
        times.append(time.perf_counter())
        rank_points(model, new)
        times.append(time.perf_counter())
        fit, table, fresh = np.diff(times)
        print(f"{name:<30}{fit:>8.2f}{table:>8.2f}{fresh:>12.2f}", flush=True)


def main() -> None:
    warnings.simplefilter("ignore")  # convergence and collapse on one Gaussian
    parts = {"false-alarms": false_alarms, "agreement": agreement, "time": cost}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
