"""Soft clusters, outliers and overlap points with kernels.

Every model is a few centers in feature space, and learns about the data from one product,
``K @ A``. `softkern.kernels` defines the similarity, `softkern.operators` compute the product, and
`softkern.plan` estimates its cost.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers; at run time names are imported on first use
    from softkern import datasets, display, kernels, operators
    from softkern.exceptions import CollapseWarning
    from softkern.files import load, save
    from softkern.models.alpha_cut import AlphaCutClustering
    from softkern.models.auto import AutoClustering, cluster
    from softkern.models.fuzzy import FuzzyCMeans, OutlierFuzzyCMeans
    from softkern.models.one_class_clusterer import OneClassKMeans
    from softkern.models.one_class_mixture import OneClassMixture
    from softkern.models.one_class_pcm import OneClassPCM
    from softkern.models.one_class_svm import WeightedOneClassSVM, WeightedSVDD
    from softkern.models.possibilistic import PossibilisticCMeans
    from softkern.models.spectral import KernelSpectralClustering, SoftKernelSpectralClustering
    from softkern.planning import plan
    from softkern.ranking import rank_points
    from softkern.selection import average_membership_strength, stability_score, suggest_n_clusters
    from softkern.tables.explain import describe_clusters, explain_points

__version__ = "0.1.0"
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

# modules of the names; None for a public module
_NAMES: dict[str | None, str] = {
    None: "datasets display kernels operators",
    "exceptions": "CollapseWarning",
    "files": "load save",
    "models.alpha_cut": "AlphaCutClustering",
    "models.auto": "AutoClustering cluster",
    "models.fuzzy": "FuzzyCMeans OutlierFuzzyCMeans",
    "models.one_class_clusterer": "OneClassKMeans",
    "models.one_class_mixture": "OneClassMixture",
    "models.one_class_pcm": "OneClassPCM",
    "models.one_class_svm": "WeightedOneClassSVM WeightedSVDD",
    "models.possibilistic": "PossibilisticCMeans",
    "models.spectral": "KernelSpectralClustering SoftKernelSpectralClustering",
    "planning": "plan",
    "ranking": "rank_points",
    "selection": "average_membership_strength stability_score suggest_n_clusters",
    "tables.explain": "describe_clusters explain_points",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that `softkern --help` does not wait for any model."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    if home is None:
        return import_module(f"softkern.{name}")
    globals()[name] = getattr(import_module(f"softkern.{home}"), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
