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
]


class ModelName(StrEnum):
    """The names that --model takes."""

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

    `counts` is how it is told to find the number of clusters: "parameter" (its n_clusters takes
    "auto"), "itself" (its n_clusters is left out), or "groups" (it must be given one: groups with
    valleys between them are counted for it).
    """

    estimator: str
    counts: str
    finds: str
    options: dict[str, Any] = field(default_factory=dict)
    most_columns: int | None = None  # beyond them it takes too much memory or time to be of use


MODELS: dict[ModelName, Choice] = {
    ModelName.auto: Choice(
        "AutoClustering", "parameter", "the model that suits the table, which it names, and why"
    ),
    ModelName.alpha_cut: Choice(
        "AlphaCutClustering",
        "itself",
        "clusters of any shape and number; rows far from all are in none",
        most_columns=500,
    ),
    ModelName.fuzzy: Choice("FuzzyCMeans", "parameter", "clusters that share points between them"),
    ModelName.outlier_fuzzy: Choice(
        "OutlierFuzzyCMeans", "parameter", "the same, with outliers given little weight"
    ),
    ModelName.mixture: Choice(
        "OneClassMixture",
        "parameter",
        "clusters that share points, each with a boundary of its own",
    ),
    ModelName.spectral: Choice(
        "SoftKernelSpectralClustering",
        "parameter",
        "clusters of any shape that share points between them",
        {"n_train": "auto"},
    ),
    ModelName.possibilistic: Choice(
        "PossibilisticCMeans", "groups", "clusters that do not compete; outliers belong to none"
    ),
}


def make(name: ModelName, clusters: int | None, X: Any, seed: int, verbose: bool) -> Any:
    """The estimator for these rows, not fitted."""
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
    """The number that n_clusters="auto" finds in the models that take it."""
    import numpy as np

    from softkern.models.n_clusters import estimate_n_clusters

    return estimate_n_clusters(X, np.ones(len(X)), seed)


def check_columns(name: ModelName, columns: int) -> None:
    """Refuse, before the work, a table that is too wide for the model."""
    most = MODELS[name].most_columns
    if most is not None and columns > most:
        others = ", ".join(n.value for n, choice in MODELS.items() if choice.most_columns is None)
        raise DataError(
            f"--model {name.value} looks between points, and {columns:,} columns are too many for "
            f"that (up to {most:,}). Choose --columns, or --model {others}."
        )
