"""How K @ A is computed: one operator a file, all with the same few methods."""

from softkern.operators.base import CrossOperator, KernelOperator
from softkern.operators.blocked import BlockedOperator
from softkern.operators.dense import DenseOperator
from softkern.operators.features import FeatureOperator
from softkern.operators.fourier import FourierOperator
from softkern.operators.gpu.operator import GpuOperator
from softkern.operators.low_rank import NystroemOperator
from softkern.operators.precomputed import PrecomputedOperator
from softkern.operators.tiled import TiledOperator

__all__ = [
    "BlockedOperator",
    "CrossOperator",
    "DenseOperator",
    "FeatureOperator",
    "FourierOperator",
    "GpuOperator",
    "KernelOperator",
    "NystroemOperator",
    "PrecomputedOperator",
    "TiledOperator",
]
