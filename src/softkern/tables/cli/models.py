"""The models that the command line offers, in one table.

To add a model, add a name to `ModelName` and a line to `MODELS`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from softkern.exceptions import DataError


class ModelName(StrEnum):
    """Values of --model."""

    auto = "auto"
    alpha_cut = "alpha-cut"
    fuzzy = "fuzzy"
    outlier_fuzzy = "outlier-fuzzy"
    mixture = "mixture"
    spectral = "spectral"
    possibilistic = "possibilistic"


@dataclass(frozen=True)
class Choice:
    """An estimator by its public name, and what it finds.

    `counts` is how it estimates the number of clusters: "parameter" (n_clusters="auto"), "itself"
    (without n_clusters), or "groups" (it needs a number: clusters with density gaps between them
    are counted for it).
    """

    estimator: str
    counts: str
    finds: str
    options: dict[str, Any] = field(default_factory=dict)
    most_columns: int | None = None  # more take too much memory or time


MODELS: dict[ModelName, Choice] = {
    ModelName.auto: Choice(
        "AutoClustering", "parameter", "the model that suits the table, with the reason"
    ),
    ModelName.alpha_cut: Choice(
        "AlphaCutClustering",
        "itself",
        "clusters of any shape and number; outliers belong to none",
        most_columns=500,
    ),
    ModelName.fuzzy: Choice("FuzzyCMeans", "parameter", "overlapping clusters"),
    ModelName.outlier_fuzzy: Choice(
        "OutlierFuzzyCMeans", "parameter", "overlapping clusters; outliers get little weight"
    ),
    ModelName.mixture: Choice(
        "OneClassMixture",
        "parameter",
        "overlapping clusters, each with a boundary of its own",
    ),
    ModelName.spectral: Choice(
        "SoftKernelSpectralClustering",
        "parameter",
        "overlapping clusters of any shape",
        {"n_train": "auto"},
    ),
    ModelName.possibilistic: Choice(
        "PossibilisticCMeans", "groups", "clusters that do not compete; outliers belong to none"
    ),
}


def make(name: ModelName, clusters: int | None, X: Any, seed: int, verbose: bool) -> Any:
    """Return the estimator for these rows, not fitted."""
    import softkern

    choice = MODELS[name]
    estimator = getattr(softkern, choice.estimator)
    options = {**choice.options, "random_state": seed, "verbose": verbose}
    if clusters is not None:
        options["n_clusters"] = clusters
    elif choice.counts != "itself":
        options["n_clusters"] = "auto" if choice.counts == "parameter" else _groups(X, seed)
    return estimator(**options)


def _groups(X: Any, seed: int) -> int:
    """Return the number that n_clusters="auto" estimates."""
    import numpy as np

    from softkern.models.n_clusters import estimate_n_clusters

    return estimate_n_clusters(X, np.ones(len(X)), seed)


def check_columns(name: ModelName, columns: int) -> None:
    """Raise an error, before the work, for a table with too many columns for the model."""
    most = MODELS[name].most_columns
    if most is not None and columns > most:
        others = ", ".join(n.value for n, choice in MODELS.items() if choice.most_columns is None)
        raise DataError(
            f"{columns:,} columns are too many for --model {name.value} (up to {most:,}). Choose "
            f"--columns, or --model {others}."
        )
