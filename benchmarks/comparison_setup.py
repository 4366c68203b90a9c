"""Data sets, methods at their defaults, and scores of the comparison with other libraries.

All methods get the same standardized data, and a stratified sample of large data sets. In addition,
`softkern.cluster` also runs on the raw data, because it prepares tables itself. That result is shown
separately and takes no part in the ranking.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import heldout_data
import numpy as np
from families import FAMILIES, OUTLIER_SETS, REAL, SHAPES, Draw, outlier_set, real, shape
from peers import (
    CLUSTERERS,
    FURTHER_CLUSTERERS,
    IS_RANDOM,
    PARTITIONERS,
    PYOD_DETECTORS,
    Clusterer,
    Detector,
    Partitioner,
    standardize,
)
from ranking import CLUSTERERS as OUR_CLUSTERERS
from ranking import DETECTORS as OUR_DETECTORS
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    average_precision_score,
    roc_auc_score,
)
from sklearn.model_selection import train_test_split
from studies.common import DEFAULT, TREE, count, generator

import softkern

SEEDS = 3  # runs of randomized methods
# One model per kind of search for the number of clusters.
WITH_AUTO = ("FuzzyCMeans", "OneClassMixture", "SoftKernelSpectralClustering")
SYNTHETIC_ROWS = 300

RAW_DATA = f"{DEFAULT}, raw data"

# groups of data sets
ADBENCH, SHAPE, TABLE, SYNTHETIC, HELD_OUT = (
    "ADBench",
    "published shapes",
    "real tables",
    "synthetic families",
    "held out",
)


@dataclass(frozen=True)
class DataSet:
    """A labeled data set: its name, its group and its loader."""

    name: str
    group: str
    load: Callable[[], Draw]


@dataclass(frozen=True)
class Part:
    """One part of the comparison."""

    sets: Callable[[], list[DataSet]]
    ours: dict[str, Callable[..., Any]]
    peers: dict[str, Callable[..., Any]]
    measure: Callable[..., dict[str, float]]  # scores of (method, X, y, seed)
    trivial: dict[str, Callable[[Any], Any]]  # names of scores, and those of a trivial result
    facts: Callable[[np.ndarray], dict[str, float]]  # summary of the labels
    max_rows: int
    quick: tuple[str, ...]  # names of data sets

    @property
    def methods(self) -> dict[str, Callable[..., Any]]:
        """All methods, including our default on raw data."""
        return self.ours | self.peers | {RAW_DATA: self.ours[DEFAULT]}

    def seeds(self, method: str) -> int:
        """Number of runs to average over."""
        return SEEDS if self.measure is score_outliers and method in IS_RANDOM else 1


# Data sets


def outlier_sets() -> list[DataSet]:
    """Return ADBench's data sets and the held-out ones."""
    tuned_on = [DataSet(name, ADBENCH, partial(outlier_set, name)) for name in OUTLIER_SETS]
    held_out = [
        DataSet(name, HELD_OUT, partial(load_keel_outliers, name))
        for name in heldout_data.keel_outliers()
    ]
    return [*tuned_on, *held_out, DataSet(heldout_data.RING, HELD_OUT, ring_outliers)]


def load_keel_outliers(name: str) -> Draw:
    return heldout_data.keel_outliers()[name]


def load_keel_classes(name: str) -> Draw:
    return heldout_data.keel_classes()[name]


def ring_outliers() -> Draw:
    X, y = heldout_data.ring_with_outliers()
    return X, (y >= 2).astype(int)


def synthetic(family: str) -> Draw:
    # "league" seeds the stored results
    return FAMILIES[family](generator("league", family, SYNTHETIC_ROWS, 0, 0), SYNTHETIC_ROWS)


def cluster_sets() -> list[DataSet]:
    """Return held-out data sets, real tables, published shapes and synthetic families."""
    return [
        *(
            DataSet(name, HELD_OUT, partial(load_keel_classes, name))
            for name in heldout_data.keel_classes()
        ),
        *(
            DataSet(name, HELD_OUT, partial(heldout_data.load_r, name))
            for name in heldout_data.r_names()
        ),
        DataSet(heldout_data.RING, HELD_OUT, heldout_data.ring_with_outliers),
        *(DataSet(name, TABLE, partial(real, name)) for name in [*REAL, "pima"]),
        *(DataSet(name, SHAPE, partial(shape, name)) for name in SHAPES),
        *(DataSet(name, SYNTHETIC, partial(synthetic, name)) for name in FAMILIES),
    ]


@cache
def load_sample(part: str, name: str) -> Draw:
    """Load a data set, or a stratified sample of a large one."""
    setup = PARTS[part]
    X, y = next(data for data in setup.sets() if data.name == name).load()
    if len(X) > setup.max_rows:
        X, _, y, _ = train_test_split(X, y, train_size=setup.max_rows, stratify=y, random_state=0)
    return X, y


def inputs_for(method: str, X: np.ndarray) -> np.ndarray:
    return X if method == RAW_DATA else standardize(X)


# Methods


def scores_of(X: np.ndarray, seed: int, name: str) -> np.ndarray:
    return getattr(softkern, name)().fit(X).outlier_scores_


def scores_by_default(X: np.ndarray, seed: int) -> np.ndarray:
    return softkern.cluster(X).outlier_scores_


def labels_of(X: np.ndarray, name: str, **options: Any) -> np.ndarray:
    return getattr(softkern, name)(**options).fit(X).labels_


def labels_into(X: np.ndarray, k: int, name: str) -> np.ndarray:
    return labels_of(X, name, n_clusters=k)


def labels_by_default(X: np.ndarray, k: Any = "auto") -> np.ndarray:
    return softkern.cluster(X, k).labels_


OUR_SCORES: dict[str, Detector] = {
    DEFAULT: scores_by_default,
    **{name: partial(scores_of, name=name) for name in (*OUR_DETECTORS, TREE, *OUR_CLUSTERERS)},
}
OUR_LABELS: dict[str, Clusterer] = {
    DEFAULT: labels_by_default,
    TREE: partial(labels_of, name=TREE),
    **{name: partial(labels_of, name=name, n_clusters="auto") for name in WITH_AUTO},
}
OUR_PARTITIONS: dict[str, Partitioner] = {
    DEFAULT: labels_by_default,
    **{name: partial(labels_into, name=name) for name in (TREE, *OUR_CLUSTERERS)},
}

# Scores


def score_outliers(method: Detector, X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, float]:
    """Score a ranking of outliers."""
    scores = method(X, seed)
    if np.isnan(scores).any():
        raise ValueError(f"{np.isnan(scores).sum()} scores are NaN")
    scores = np.nan_to_num(scores)  # infinity becomes the largest number
    return {"AUROC": roc_auc_score(y, scores), "AP": average_precision_score(y, scores)}


def score_labels(labels: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Score labels against classes. Noise is a class, but not a cluster."""
    return {
        "ARI": adjusted_rand_score(y, labels),
        "AMI": adjusted_mutual_info_score(y, labels),
        "correct number": float(count(labels) == count(y)),
        "n_clusters": count(labels),
        "noise": float(np.mean(labels == -1)),
    }


def score_clusters(method: Clusterer, X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, float]:
    return score_labels(method(X), y)


def score_partition(
    method: Partitioner, X: np.ndarray, y: np.ndarray, seed: int
) -> dict[str, float]:
    return score_labels(method(X, count(y)), y)


def outlier_facts(y: np.ndarray) -> dict[str, float]:
    return {"outliers": float(y.mean())}


def class_facts(y: np.ndarray) -> dict[str, float]:
    return {"classes": count(y)}


AGREEMENT = ("ARI", "AMI", "correct number")
PARTS: dict[str, Part] = {
    "outliers": Part(
        outlier_sets,
        OUR_SCORES,
        PYOD_DETECTORS,
        score_outliers,
        {"AUROC": lambda facts: 0.5, "AP": lambda facts: facts["outliers"]},
        outlier_facts,
        5000,
        ("Hepatitis", "glass", "ecoli4", "new-thyroid1"),
    ),
    "clusters": Part(
        cluster_sets,
        OUR_LABELS,
        CLUSTERERS | FURTHER_CLUSTERERS,
        score_clusters,
        {name: lambda facts: 0.0 for name in AGREEMENT},
        class_facts,
        1000,
        ("jain", "iris", "two moons", "penguins"),
    ),
    "given": Part(
        cluster_sets,
        OUR_PARTITIONS,
        PARTITIONERS,
        score_partition,
        {name: lambda facts: 0.0 for name in ("ARI", "AMI")},
        class_facts,
        1000,
        ("jain", "iris", "two moons", "penguins"),
    ),
}
