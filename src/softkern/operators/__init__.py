"""How K @ A is computed: one operator a file, all with the same few methods."""

from softkern.operators.base import CrossOperator, KernelOperator
from softkern.operators.dense import DenseOperator
from softkern.operators.fourier import FourierOperator
from softkern.operators.nystroem import NystroemOperator
from softkern.operators.tiled import TiledOperator

__all__ = [
    "CrossOperator",
    "DenseOperator",
    "FourierOperator",
    "KernelOperator",
    "NystroemOperator",
    "TiledOperator",
]
