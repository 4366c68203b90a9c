"""Center rules that need no solver: weighted means in feature space.

A mean has coefficients that are positive and sum to one; masses come in any unit per column, so
that memberships that underflow still have a center (Filippone et al. 2010, appendix B).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from array_api_compat import is_dask_array

from softkern._utils.arrays import namespace
from softkern._utils.typing import AnyArray
from softkern.rules.base import Centers

__all__ = ["Mean", "mass_of_logs"]


@dataclass(frozen=True)
class Mean:
    """A = mass / Σ mass in every column.

    Examples
    --------
    >>> import numpy as np
    >>> Mean().centers(np.array([[1.0], [3.0]]), np.ones(2), None).coefficients
    array([[0.25],
           [0.75]])
    """

    goes_anywhere: ClassVar[bool] = True

    def centers(self, mass: AnyArray, weight: AnyArray, previous: Centers | None) -> Centers:
        """Weighted means of all points; a cluster without any mass stays where it was."""
        xp = namespace(mass)
        total = xp.sum(mass, axis=0)
        shares = total / xp.sum(weight)
        if not is_dask_array(mass) and not bool(
            xp.all(total > 0)
        ):  # points on centers have no part in any other
            stays = weight[:, None] if previous is None else previous.coefficients
            mass = xp.where(total > 0, mass, stays)
            total = xp.sum(mass, axis=0)
        return Centers(mass / total, shares=shares)


def mass_of_logs(logs: AnyArray, weight: AnyArray) -> AnyArray:
    """w exp(logs), (n, c), each column in the unit of its largest, so that none underflows.

    Examples
    --------
    >>> import numpy as np
    >>> mass_of_logs(np.array([[-5000.0], [-5000.0]]), np.array([1.0, 3.0]))
    array([[1.],
           [3.]])
    """
    xp = namespace(logs)
    logs = xp.where(weight[:, None] > 0, logs, -xp.inf)  # what does not count has no say in it
    largest = xp.max(logs, axis=0)
    largest = xp.where(xp.isfinite(largest), largest, xp.zeros_like(largest))
    return xp.exp(logs - largest) * weight[:, None]
