"""The estimators: thin classes over kernels, operators, rules and the one loop."""

from softkern.models.alpha_cut import AlphaCutClustering
from softkern.models.base import CollapseWarning
from softkern.models.fuzzy import FuzzyCMeans, OutlierFuzzyCMeans
from softkern.models.one_class_kmeans import OneClassKMeans
from softkern.models.one_class_mixture import OneClassMixture
from softkern.models.one_class_pcm import OneClassPCM
from softkern.models.one_class_svm import WeightedOneClassSVM, WeightedSVDD
from softkern.models.possibilistic import PossibilisticCMeans
from softkern.models.spectral import KernelSpectralClustering, SoftKernelSpectralClustering

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
]
