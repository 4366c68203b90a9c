"""K @ A exactly and without the matrix, for any kernel: blocks of its values, one at a time."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from softkern._utils.typing import Array
from softkern.operators.base import KernelOperator, blocked_product


class BlockedOperator(KernelOperator):
    """K computed block by block, every time it is multiplied; memory is that of the data."""

    engine: ClassVar[str] = "blocked"

    def _product(self, A: Array) -> Array:
        return blocked_product(self.kernel, self.X, self.X, A)

    def _cross_product(self, X_new: Any, A: Array) -> Array:
        return blocked_product(self.kernel, X_new, self.X, A)

    def partial_product(self, index: Any, A: Any) -> Array:
        return blocked_product(self.kernel, self.X, self.X[index], np.asarray(A, self.dtype))
