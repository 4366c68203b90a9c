"""Soft clusters, outliers and overlap points with kernels.

Every model is a few centres in feature space, and whatever it wants to know of the data it
learns from one product, ``K @ A``. `softkern.kernels` says what similarity means,
`softkern.operators` how the product is computed, `softkern.plan` what it will cost.
"""

from softkern import datasets, display, kernels, operators
from softkern.models import (
    AlphaCutClustering,
    CollapseWarning,
    OneClassPCM,
    PossibilisticCMeans,
)
from softkern.operators.plan import plan
from softkern.selection import stability_score

__version__ = "0.1.0"

__all__ = [
    "AlphaCutClustering",
    "CollapseWarning",
    "OneClassPCM",
    "PossibilisticCMeans",
    "datasets",
    "display",
    "kernels",
    "operators",
    "plan",
    "stability_score",
]
