"""K @ A exactly and without the matrix, for any kernel: blocks of its values, one at a time."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from softkern._utils.typing import Array
from softkern.operators.base import BLOCK_BYTES, Cost, KernelOperator, ProblemSize, blocked_product

__all__ = ["BlockedOperator"]

BLOCKS_HELD = 6  # a kernel's temporary arrays

# Of the reference machine (benchmarks/calibrate.py)
VALUE_SECONDS = 1e-8  # a kernel value
COLUMN_SECONDS = 3e-10  # and for every column of the data
VECTOR_SECONDS = 1e-10  # and for every column of A


class BlockedOperator(KernelOperator):
    """K computed block by block, every time it is multiplied; memory is that of the data.

    Parameters
    ----------
    kernel : softkern.kernels.Kernel
    X : array or CSR matrix of shape (n, d)

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.kernels import Laplacian
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> (BlockedOperator(Laplacian(0.5), X) @ np.ones((2000, 2))).shape
    (2000, 2)
    """

    engine: ClassVar[str] = "blocked"

    def _product(self, A: Array) -> Array:
        return blocked_product(self.kernel, self.X, self.X, A)

    def _cross_product(self, X_new: Any, A: Array) -> Array:
        return blocked_product(self.kernel, X_new, self.X, A)

    def partial_product(self, index: Any, A: Any) -> Array:
        """K @ A, (n, c), for an A that is zero but in the rows `index`, A (len(index), c)."""
        return blocked_product(self.kernel, self.X, self.X[index], np.asarray(A, self.dtype))

    @classmethod
    def refusal(cls, work: ProblemSize) -> str | None:
        """Any kernel of points, any data."""
        if not work.kernel.takes_points:
            return "the kernel is a matrix already; use engine='precomputed'"
        return None

    @classmethod
    def cost(cls, work: ProblemSize, **options: Any) -> Cost:
        """One kernel value for every pair."""
        seconds = VALUE_SECONDS + COLUMN_SECONDS * work.d + VECTOR_SECONDS * work.n_vectors
        memory = BLOCKS_HELD * BLOCK_BYTES + work.values * work.itemsize + 3 * work.vectors
        return Cost(memory, 0.0, float(work.n) ** 2 * seconds)
