"""How K @ A is computed: one operator per file, all with the same few methods."""

from softkern.operators.base import KernelOperator

__all__ = ["KernelOperator"]
