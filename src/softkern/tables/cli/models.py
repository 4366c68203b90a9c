"""The models that the command line offers, in one table. To add a model, add a line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from softkern.exceptions import DataError


@dataclass(frozen=True)
class Choice:
    """An estimator by its public name, and what it finds.

    `n_clusters` is used where no number is given. None: the model has no such parameter value.
    "estimated": the model needs a number, which is estimated for it.
    """

    estimator: str
    finds: str
    n_clusters: str | None = "auto"
    options: dict[str, Any] = field(default_factory=dict)
    most_columns: int | None = None  # more take too much memory or time


MODELS: dict[str, Choice] = {
    "auto": Choice("AutoClustering", "the model that suits the table, with the reason"),
    "alpha-cut": Choice(
        "AlphaCutClustering",
        "clusters of any shape and number; outliers belong to none",
        n_clusters=None,
        most_columns=500,
    ),
    "fuzzy": Choice("FuzzyCMeans", "overlapping clusters"),
    "outlier-fuzzy": Choice(
        "OutlierFuzzyCMeans", "overlapping clusters; outliers get little weight"
    ),
    "mixture": Choice("OneClassMixture", "overlapping clusters, each with a boundary of its own"),
    "spectral": Choice(
        "SoftKernelSpectralClustering",
        "overlapping clusters of any shape",
        options={"n_train": "auto"},
    ),
    "possibilistic": Choice(
        "PossibilisticCMeans",
        "clusters that do not compete; outliers belong to none",
        n_clusters="estimated",
    ),
}


def make(name: str, clusters: int | None, X: Any, seed: int, verbose: bool) -> Any:
    """Return the estimator for these rows, not fitted. Raise an error for too many columns."""
    import softkern
    from softkern.rows import Rows
    from softkern.splitting.split import estimate_n_clusters

    choice, columns = MODELS[name], X.shape[1]
    if choice.most_columns is not None and columns > choice.most_columns:
        others = ", ".join(other for other, one in MODELS.items() if one.most_columns is None)
        raise DataError(
            f"{columns:,} columns are too many for --model {name} (up to "
            f"{choice.most_columns:,}). Choose --columns, or --model {others}."
        )
    n_clusters = choice.n_clusters if clusters is None else clusters
    if n_clusters == "estimated":
        n_clusters = estimate_n_clusters(Rows(X), seed)
    options = choice.options if n_clusters is None else choice.options | {"n_clusters": n_clusters}
    return getattr(softkern, choice.estimator)(**options, random_state=seed, verbose=verbose)
