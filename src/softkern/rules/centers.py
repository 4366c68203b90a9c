"""Weighted means in feature space, the center rule that needs no solver.

Coefficients of a mean are not negative and sum to one. The columns of the masses can have any
scale, so that memberships that underflow still have a center (Filippone et al. 2010, appendix B).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from array_api_compat import is_dask_array

from softkern._utils.arrays import namespace
from softkern._utils.typing import AnyArray
from softkern.rules.base import Centers


@dataclass(frozen=True)
class Mean:
    """Means: A = mass / Σ mass in every column."""

    goes_anywhere: ClassVar[bool] = True

    def centers(self, mass: AnyArray, weight: AnyArray, previous: Centers | None) -> Centers:
        """Return weighted means. A cluster without mass keeps its center."""
        xp = namespace(mass)
        total = xp.sum(mass, axis=0)
        shares = total / xp.sum(weight)
        # points on a center have no part in the other clusters, which may become empty
        if not is_dask_array(mass) and not bool(xp.all(total > 0)):
            stays = weight[:, None] if previous is None else previous.coefficients
            mass = xp.where(total > 0, mass, stays)
            total = xp.sum(mass, axis=0)
        return Centers(mass / total, shares=shares)


def mass_of_logs(logs: AnyArray, weight: AnyArray) -> AnyArray:
    """Return w exp(logs), (n, c), with each column scaled so that it does not underflow."""
    xp = namespace(logs)
    logs = xp.where(weight[:, None] > 0, logs, -xp.inf)  # weight zero must not set the scale
    largest = xp.max(logs, axis=0)
    largest = xp.where(xp.isfinite(largest), largest, xp.zeros_like(largest))
    return xp.exp(logs - largest) * weight[:, None]
