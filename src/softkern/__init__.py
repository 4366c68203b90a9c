"""Soft clusters, outliers and overlap points with kernels.

Every model is a few centres in feature space, and whatever it wants to know of the data it
learns from one product, ``K @ A``. `softkern.kernels` says what similarity means,
`softkern.operators` how the product is computed, `softkern.plan` what it will cost.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers; `__getattr__` finds the names when they are used
    from softkern import datasets, display, kernels, operators
    from softkern.collapse import collapse_ratio
    from softkern.files import load, save
    from softkern.models import (
        AlphaCutClustering,
        CollapseWarning,
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
    from softkern.operators.plan import plan
    from softkern.ranking import rank_points
    from softkern.selection import average_membership_strength, stability_score, suggest_n_clusters

__version__ = "0.1.0"

__all__ = [
    "AlphaCutClustering",
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
    "collapse_ratio",
    "datasets",
    "display",
    "kernels",
    "load",
    "operators",
    "plan",
    "rank_points",
    "save",
    "stability_score",
    "suggest_n_clusters",
]

_SUBMODULES = ("datasets", "display", "kernels", "operators")
# where the other public names live, each listed in the module's own __all__
_HOMES = ("models", "collapse", "operators.plan", "selection", "ranking", "files")


def __getattr__(name: str) -> Any:
    """A public name, imported when first used: `softkern --help` does not wait for scikit-learn."""
    if name in _SUBMODULES:
        return import_module(f"softkern.{name}")
    if name in __all__:
        for home in _HOMES:
            module = import_module(f"softkern.{home}")
            if name in module.__all__:
                globals()[name] = found = getattr(module, name)
                return found
    raise AttributeError(f"module 'softkern' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
