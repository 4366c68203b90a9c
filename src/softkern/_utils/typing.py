"""The names of types that signatures share."""

from typing import Any

from numpy.typing import NDArray

__all__ = ["AnyArray", "Array"]

Array = NDArray[Any]
AnyArray = Any  # of any library that follows the array API
