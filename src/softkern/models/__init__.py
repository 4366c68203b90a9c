"""The estimators: thin classes over kernels, operators, rules and the loop."""

from typing import TYPE_CHECKING

from softkern._utils.lazy import importer

if TYPE_CHECKING:  # for editors and type checkers
    from softkern.models.alpha_cut import AlphaCutClustering
    from softkern.models.auto import AutoClustering
    from softkern.models.fuzzy import FuzzyCMeans, OutlierFuzzyCMeans
    from softkern.models.one_class_k_means import OneClassKMeans
    from softkern.models.one_class_mixture import OneClassMixture
    from softkern.models.one_class_pcm import OneClassPCM
    from softkern.models.one_class_svm import WeightedOneClassSVM, WeightedSVDD
    from softkern.models.possibilistic import PossibilisticCMeans
    from softkern.models.spectral import KernelSpectralClustering, SoftKernelSpectralClustering
    from softkern.models.spectral_search import SpectralSearch

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
    "AutoClustering": "auto",
    "FuzzyCMeans": "fuzzy",
    "KernelSpectralClustering": "spectral",
    "OneClassKMeans": "one_class_k_means",
    "OneClassMixture": "one_class_mixture",
    "OneClassPCM": "one_class_pcm",
    "OutlierFuzzyCMeans": "fuzzy",
    "PossibilisticCMeans": "possibilistic",
    "SoftKernelSpectralClustering": "spectral",
    "SpectralSearch": "spectral_search",
    "WeightedOneClassSVM": "one_class_svm",
    "WeightedSVDD": "one_class_svm",
}

__getattr__ = importer(__name__, HOMES)
