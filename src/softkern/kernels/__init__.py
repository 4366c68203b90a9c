"""What similarity means: kernels as immutable values, and rules that read a bandwidth from data."""

from softkern.kernels.bandwidths import select_bandwidth
from softkern.kernels.base import (
    CallableKernel,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    PairwiseKernel,
    Polynomial,
    Precomputed,
    Sigmoid,
    resolve,
)

__all__ = [
    "CallableKernel",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "PairwiseKernel",
    "Polynomial",
    "Precomputed",
    "Sigmoid",
    "resolve",
    "select_bandwidth",
]
