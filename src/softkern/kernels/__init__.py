"""Kernels as immutable values, and rules that select a bandwidth."""

from softkern.kernels.bandwidths import select_bandwidth
from softkern.kernels.base import Kernel
from softkern.kernels.dot import Linear, Polynomial, Sigmoid
from softkern.kernels.radial import Gaussian, Laplacian
from softkern.kernels.resolve import resolve
from softkern.kernels.wrapped import CallableKernel, PairwiseKernel, Precomputed

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
