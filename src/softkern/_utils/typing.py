"""Types that signatures share."""

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
AnyArray = Any  # of any library that follows the array API
