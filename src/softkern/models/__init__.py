"""The estimators: thin classes over kernels, operators, rules and the one loop."""

from typing import TYPE_CHECKING

from softkern._lazy import importer

if TYPE_CHECKING:  # for editors and type checkers
    from softkern.models.alpha_cut import AlphaCutClustering
    from softkern.models.automatic import AutoClustering
    from softkern.models.fuzzy import FuzzyCMeans, OutlierFuzzyCMeans
    from softkern.models.one_class_clustering import OneClassKMeans, OneClassMixture
    from softkern.models.possibilistic import OneClassPCM, PossibilisticCMeans
    from softkern.models.spectral import KernelSpectralClustering, SoftKernelSpectralClustering
    from softkern.models.spectral_search import SpectralSearch
    from softkern.models.support_vectors import WeightedOneClassSVM, WeightedSVDD

__all__ = [
    "AlphaCutClustering",
    "AutoClustering",
    "FuzzyCMeans",
    "KernelSpectralClustering",
    "OneClassKMeans",
    "OneClassMixture",
    "OneClassPCM",
    "OutlierFuzzyCMeans",
    "PossibilisticCMeans",
    "SoftKernelSpectralClustering",
    "SpectralSearch",
    "WeightedOneClassSVM",
    "WeightedSVDD",
]

HOMES = {
    "AlphaCutClustering": "alpha_cut",
    "AutoClustering": "automatic",
    "FuzzyCMeans": "fuzzy",
    "KernelSpectralClustering": "spectral",
    "OneClassKMeans": "one_class_clustering",
    "OneClassMixture": "one_class_clustering",
    "OneClassPCM": "possibilistic",
    "OutlierFuzzyCMeans": "fuzzy",
    "PossibilisticCMeans": "possibilistic",
    "SoftKernelSpectralClustering": "spectral",
    "SpectralSearch": "spectral_search",
    "WeightedOneClassSVM": "support_vectors",
    "WeightedSVDD": "support_vectors",
}

__getattr__ = importer(__name__, HOMES)
