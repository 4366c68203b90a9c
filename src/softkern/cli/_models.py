"""The models that the command line offers: one table.

A new model joins with a name in `ModelName` and a line in `MODELS`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from softkern.exceptions import DataError

__all__ = [
    "MODELS",
    "Choice",
    "ModelName",
    "check_columns",
    "make",
    "parse_clusters",
    "search_clusters",
]

MOST_SEARCHED_CLUSTERS = 10  # the highest number that the search tries
SEARCH_ROWS = 5000  # the search is made on a sample of at most so many rows


class ModelName(StrEnum):
    """The names that --model takes."""

    alpha_cut = "alpha-cut"
    fuzzy = "fuzzy"
    outlier_fuzzy = "outlier-fuzzy"
    mixture = "mixture"
    spectral = "spectral"
    possibilistic = "possibilistic"


@dataclass(frozen=True)
class Choice:
    """An estimator by its public name, and what it finds.

    `counts` is how the number of clusters is found: "itself" (by the model, which takes none),
    "parameter" (its n_clusters takes "auto" too), or "search" (fuzzy partitions into several
    numbers are compared, and the best is taken).
    """

    estimator: str
    counts: str
    finds: str
    options: dict[str, Any] = field(default_factory=dict)
    most_columns: int | None = None  # beyond them it takes too much memory or time to be of use


MODELS: dict[ModelName, Choice] = {
    ModelName.alpha_cut: Choice(
        "AlphaCutClustering",
        "itself",
        "clusters of any shape and number, and noise",
        most_columns=500,
    ),
    ModelName.fuzzy: Choice("FuzzyCMeans", "search", "clusters that share points between them"),
    ModelName.outlier_fuzzy: Choice(
        "OutlierFuzzyCMeans", "search", "the same, with outliers given little weight"
    ),
    ModelName.mixture: Choice(
        "OneClassMixture", "search", "soft clusters, each a weighted one-class machine"
    ),
    ModelName.spectral: Choice(
        "SoftKernelSpectralClustering",
        "parameter",
        "soft clusters of any shape, in the kernel's eigenspace",
        {"n_train": "auto"},
    ),
    ModelName.possibilistic: Choice(
        "PossibilisticCMeans", "search", "clusters that do not compete; outliers belong to none"
    ),
}


def parse_clusters(name: ModelName, clusters: str) -> int | None:
    """The number of clusters asked for, None for "auto"."""
    if clusters == "auto":
        return None
    if not clusters.isascii() or not clusters.isdigit() or int(clusters) < 1:
        raise ValueError(f"--clusters {clusters!r} must be a whole number from 1, or auto.")
    if MODELS[name].counts == "itself":
        others = ", ".join(n.value for n, choice in MODELS.items() if choice.counts != "itself")
        raise ValueError(
            f"--model {name.value} finds the number of clusters itself and takes no --clusters "
            f"{clusters}; these take one: {others}."
        )
    return int(clusters)


def make(name: ModelName, clusters: int | None, seed: int, verbose: bool) -> Any:
    """The estimator, not fitted."""
    import softkern

    choice = MODELS[name]
    estimator = getattr(softkern, choice.estimator)
    options = {**choice.options, "random_state": seed, "verbose": verbose}
    if choice.counts == "parameter":
        options["n_clusters"] = "auto" if clusters is None else clusters
    elif choice.counts == "search":
        options["n_clusters"] = clusters
    return estimator(**options)


def check_columns(name: ModelName, columns: int) -> None:
    """Refuse, before the work, a table that is too wide for the model."""
    most = MODELS[name].most_columns
    if most is not None and columns > most:
        others = ", ".join(n.value for n, choice in MODELS.items() if choice.most_columns is None)
        raise DataError(
            f"--model {name.value} looks between points, and {columns:,} columns are too many for "
            f"that (up to {most:,}). Choose --columns, or --model {others}."
        )


def search_clusters(X: Any, seed: int) -> int:
    """The number of clusters whose fuzzy partition has the highest silhouette; 2 where none has."""
    from softkern import FuzzyCMeans, suggest_n_clusters
    from softkern.rows import priority_sample

    rows, _ = priority_sample(X, SEARCH_ROWS, random_state=seed)
    numbers = range(2, min(MOST_SEARCHED_CLUSTERS, len(rows) - 1) + 1)
    if len(numbers) < 2:
        return 2
    table = suggest_n_clusters(FuzzyCMeans(random_state=seed), X[rows], numbers)
    suggested = table.index[table["suggested"]]
    return int(suggested[0]) if len(suggested) else 2
