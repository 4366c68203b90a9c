"""Soft clusters, outliers and overlap points with kernels.

Every model is a few centers in feature space, and whatever it wants to know of the data it
learns from one product, ``K @ A``. `softkern.kernels` says what similarity means,
`softkern.operators` how the product is computed, `softkern.plan` what it will cost.
"""

from typing import TYPE_CHECKING

from softkern._utils.lazy import importer

if TYPE_CHECKING:  # for editors and type checkers; `__getattr__` finds the names when they are used
    from softkern import datasets, display, kernels, operators
    from softkern.exceptions import CollapseWarning
    from softkern.files import load, save
    from softkern.models import (
        AlphaCutClustering,
        AutoClustering,
        FuzzyCMeans,
        KernelSpectralClustering,
        OneClassKMeans,
        OneClassMixture,
        OneClassPCM,
        OutlierFuzzyCMeans,
        PossibilisticCMeans,
        SoftKernelSpectralClustering,
        WeightedOneClassSVM,
        WeightedSVDD,
    )
    from softkern.models.auto import cluster
    from softkern.planning import plan
    from softkern.ranking import rank_points
    from softkern.selection import average_membership_strength, stability_score, suggest_n_clusters
    from softkern.tables.explain import describe_clusters, explain_points

__version__ = "0.1.0"

# every public name and the module it lives in; None for a public submodule
_HOMES: dict[str, str | None] = {
    "AlphaCutClustering": "models",
    "AutoClustering": "models",
    "CollapseWarning": "exceptions",
    "FuzzyCMeans": "models",
    "KernelSpectralClustering": "models",
    "OneClassKMeans": "models",
    "OneClassMixture": "models",
    "OneClassPCM": "models",
    "OutlierFuzzyCMeans": "models",
    "PossibilisticCMeans": "models",
    "SoftKernelSpectralClustering": "models",
    "WeightedOneClassSVM": "models",
    "WeightedSVDD": "models",
    "average_membership_strength": "selection",
    "cluster": "models.auto",
    "datasets": None,
    "describe_clusters": "tables.explain",
    "display": None,
    "explain_points": "tables.explain",
    "kernels": None,
    "load": "files",
    "operators": None,
    "plan": "planning",
    "rank_points": "ranking",
    "save": "files",
    "stability_score": "selection",
    "suggest_n_clusters": "selection",
}
__all__ = [
    "AlphaCutClustering",
    "AutoClustering",
    "CollapseWarning",
    "FuzzyCMeans",
    "KernelSpectralClustering",
    "OneClassKMeans",
    "OneClassMixture",
    "OneClassPCM",
    "OutlierFuzzyCMeans",
    "PossibilisticCMeans",
    "SoftKernelSpectralClustering",
    "WeightedOneClassSVM",
    "WeightedSVDD",
    "average_membership_strength",
    "cluster",
    "datasets",
    "describe_clusters",
    "display",
    "explain_points",
    "kernels",
    "load",
    "operators",
    "plan",
    "rank_points",
    "save",
    "stability_score",
    "suggest_n_clusters",
]


# `softkern --help` does not wait for scikit-learn
__getattr__ = importer(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
