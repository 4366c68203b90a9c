"""The estimators: thin classes over kernels, operators, rules and the one loop."""

from softkern.models.base import CollapseWarning
from softkern.models.possibilistic import OneClassPCM, PossibilisticCMeans

__all__ = ["CollapseWarning", "OneClassPCM", "PossibilisticCMeans"]
