"""Who meets whom in the league: sets, methods at their defaults, and what is measured.

All methods get the same rows with every column standardized, and a stratified sample of the larger
sets. Beside the league our default also gets the rows as they are, since it prepares them itself.
Called by `benchmarks/league.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import unseen
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
    standardized,
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

SEEDS = 3  # of methods that draw at random
# those that find a number of clusters; their siblings have the same search, and are told the number
OF_OUR_NUMBER = ("FuzzyCMeans", "OneClassMixture", "SoftKernelSpectralClustering")
DRAWN_ROWS = 300

AS_THEY_ARE = f"{DEFAULT}, rows as they are"

# groups of sets
ADBENCH, SHAPE, TABLE, DRAWN, NEW = (
    "ADBench",
    "published shapes",
    "real tables",
    "drawn families",
    "never looked at",
)


@dataclass(frozen=True)
class Set:
    """A labeled set: what it is called, its group, and how it is loaded."""

    name: str
    group: str
    load: Callable[[], Draw]


@dataclass(frozen=True)
class Part:
    """A part of the league."""

    sets: Callable[[], list[Set]]
    ours: dict[str, Callable[..., Any]]
    peers: dict[str, Callable[..., Any]]
    measure: Callable[..., dict[str, float]]  # of a method, X, y, and a seed
    nothing: dict[str, Callable[[Any], Any]]  # measures, and what saying nothing earns
    facts: Callable[[np.ndarray], dict[str, float]]  # of the labels
    most_rows: int
    quick: tuple[str, ...]  # sets

    @property
    def methods(self) -> dict[str, Callable[..., Any]]:
        """All that are run: the league's, and our default beside it."""
        return self.ours | self.peers | {AS_THEY_ARE: self.ours[DEFAULT]}

    def seeds(self, method: str) -> int:
        """Runs of a method, of which the mean counts."""
        return SEEDS if self.measure is ranked and method in IS_RANDOM else 1


# Sets


def outlier_sets() -> list[Set]:
    """ADBench's, and those never looked at."""
    looked_at = [Set(name, ADBENCH, partial(outlier_set, name)) for name in OUTLIER_SETS]
    fresh = [Set(name, NEW, partial(of_keel_outliers, name)) for name in unseen.keel_outliers()]
    return [*looked_at, *fresh, Set(unseen.RING, NEW, ring_outliers)]


def of_keel_outliers(name: str) -> Draw:
    return unseen.keel_outliers()[name]


def of_keel_classes(name: str) -> Draw:
    return unseen.keel_classes()[name]


def ring_outliers() -> Draw:
    X, y = unseen.ring_with_outliers()
    return X, (y >= 2).astype(int)


def drawn(family: str) -> Draw:
    return FAMILIES[family](generator("league", family, DRAWN_ROWS, 0, 0), DRAWN_ROWS)


def cluster_sets() -> list[Set]:
    """Those never looked at, real tables, published shapes and drawn families."""
    return [
        *(Set(name, NEW, partial(of_keel_classes, name)) for name in unseen.keel_classes()),
        *(Set(name, NEW, partial(unseen.of_r, name)) for name in unseen.of_r_names()),
        Set(unseen.RING, NEW, unseen.ring_with_outliers),
        *(Set(name, TABLE, partial(real, name)) for name in [*REAL, "pima"]),
        *(Set(name, SHAPE, partial(shape, name)) for name in SHAPES),
        *(Set(name, DRAWN, partial(drawn, name)) for name in FAMILIES),
    ]


@cache
def entered(part: str, name: str) -> Draw:
    """The rows, or a sample of many, and their labels."""
    chosen = PARTS[part]
    X, y = next(each for each in chosen.sets() if each.name == name).load()
    if len(X) > chosen.most_rows:
        X, _, y, _ = train_test_split(X, y, train_size=chosen.most_rows, stratify=y, random_state=0)
    return X, y


def rows_for(method: str, X: np.ndarray) -> np.ndarray:
    return X if method == AS_THEY_ARE else standardized(X)


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
    **{name: partial(labels_of, name=name, n_clusters="auto") for name in OF_OUR_NUMBER},
}
OUR_PARTITIONS: dict[str, Partitioner] = {
    DEFAULT: labels_by_default,
    **{name: partial(labels_into, name=name) for name in (TREE, *OUR_CLUSTERERS)},
}

# Measures


def ranked(method: Detector, X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, float]:
    """How far outliers are ahead of the others."""
    scores = method(X, seed)
    if np.isnan(scores).any():
        raise ValueError(f"{np.isnan(scores).sum()} scores are NaN")
    scores = np.nan_to_num(scores)  # infinite ones are the largest
    return {"AUROC": roc_auc_score(y, scores), "AP": average_precision_score(y, scores)}


def agreement(labels: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """How labels agree with classes; noise is a class of its own, and no cluster."""
    return {
        "ARI": adjusted_rand_score(y, labels),
        "AMI": adjusted_mutual_info_score(y, labels),
        "number right": float(count(labels) == count(y)),
        "found": count(labels),
        "noise": float(np.mean(labels == -1)),
    }


def found(method: Clusterer, X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, float]:
    return agreement(method(X), y)


def parted(method: Partitioner, X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, float]:
    return agreement(method(X, count(y)), y)


def outlier_facts(y: np.ndarray) -> dict[str, float]:
    return {"outliers": float(y.mean())}


def class_facts(y: np.ndarray) -> dict[str, float]:
    return {"classes": count(y)}


AGREEMENT = {"ARI": 0.0, "AMI": 0.0, "number right": 0.0}
PARTS: dict[str, Part] = {
    "outliers": Part(
        outlier_sets,
        OUR_SCORES,
        PYOD_DETECTORS,
        ranked,
        {"AUROC": lambda facts: 0.5, "AP": lambda facts: facts["outliers"]},
        outlier_facts,
        5000,
        ("Hepatitis", "glass", "ecoli4", "new-thyroid1"),
    ),
    "clusters": Part(
        cluster_sets,
        OUR_LABELS,
        CLUSTERERS | FURTHER_CLUSTERERS,
        found,
        {name: lambda facts: 0.0 for name in AGREEMENT},
        class_facts,
        1000,
        ("jain", "iris", "two moons", "penguins"),
    ),
    "given": Part(
        cluster_sets,
        OUR_PARTITIONS,
        PARTITIONERS,
        parted,
        {name: lambda facts: 0.0 for name in ("ARI", "AMI")},
        class_facts,
        1000,
        ("jain", "iris", "two moons", "penguins"),
    ),
}
