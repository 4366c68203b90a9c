"""Kernels as immutable values, and rules that select a bandwidth."""

from softkern.kernels.bandwidths import select_bandwidth
from softkern.kernels.base import Kernel
from softkern.kernels.dot import Linear, Polynomial
from softkern.kernels.radial import Gaussian, Laplacian

__all__ = ["Gaussian", "Kernel", "Laplacian", "Linear", "Polynomial", "select_bandwidth"]
