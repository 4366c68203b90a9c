"""The estimators: thin classes over kernels, operators, rules and the one loop."""

from softkern.models.alpha_cut import AlphaCutClustering
from softkern.models.base import CollapseWarning
from softkern.models.one_class_pcm import OneClassPCM
from softkern.models.possibilistic import PossibilisticCMeans

__all__ = ["AlphaCutClustering", "CollapseWarning", "OneClassPCM", "PossibilisticCMeans"]
