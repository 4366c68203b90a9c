"""Fuzzy memberships, u ∝ D²^(−1/(m−1)), which compete, and their variant with outlier weights.

Centers are means with masses u^m, or u^m / w^q for points with outlier weights w (Keller 2000,
Shen, Wang and Wu 2004).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softkern._utils.arrays import namespace, row_sums, weighted_sum
from softkern._utils.typing import AnyArray
from softkern.rules.base import Centers, Evaluation, Geometry
from softkern.rules.centers import mass_of_logs
from softkern.rules.memberships import fuzzy, log_fuzzy, outlier_weights


@dataclass(frozen=True)
class Fuzzy:
    """Fuzzy c-means, with masses u^m, or u^m / w^q with outlier weights w if q > 0.

    The outlier weights (eqs. 19 to 21 of 2004) sum to `total`, weighted by the sample weights. With
    `plain`, masses are u, as in eq. 11 of that paper, which ignores w.
    """

    m: float
    q: float = 0.0
    total: float = 0.0
    plain: bool = False

    def evaluate(self, geometry: Geometry, centers: Centers, weight: AnyArray) -> Evaluation:
        """Return U, masses and the objective Σ weight u^m D² / w^q, eq. 9."""
        memberships = fuzzy(geometry.distances, self.m)
        mass = memberships**self.m
        spread, parts = row_sums(mass, geometry.distances), weight
        if self.q > 0:
            w, _, _ = outlier_weights(spread, self.q, self.total, weight)
            spread = spread / w**self.q
            # in units of the smallest w, to avoid overflow
            parts = weight * (namespace(w).min(w) / w) ** self.q
        objective = float(weighted_sum(spread, weight))
        # ratios of distances are at least about eps, so that u^m is at least eps^(m/(m−1))
        limits = namespace(mass).finfo(mass.dtype)
        digits, reach = -np.log(float(limits.eps)), -np.log(float(limits.smallest_normal))
        if self.plain:
            mass = mass_of_logs(log_fuzzy(geometry.distances, self.m), weight)
        elif self.m / (self.m - 1) * digits > reach / 2:  # all u^m of a cluster may underflow
            mass = mass_of_logs(self.m * log_fuzzy(geometry.distances, self.m), parts)
        else:
            mass *= parts[:, None]
        return Evaluation(memberships, mass, objective, self)

    def log_memberships(self, geometry: Geometry, centers: Centers | None = None) -> AnyArray:
        """Return log u, (m, c)."""
        return log_fuzzy(geometry.distances, self.m)

    def spread(self, geometry: Geometry) -> AnyArray:
        """Return S = Σ u^m D², (m,), from which outlier weights are computed."""
        return row_sums(fuzzy(geometry.distances, self.m) ** self.m, geometry.distances)


def fuzzy_rows(
    distances: AnyArray, m: float, weight: AnyArray
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return U, w u^m and Σ u^m D² of a block, (c, b), (c, b) and (b,), in few passes.

    For NumPy blocks that fit into the cache (`softkern.solvers.sweeps`), with points along the
    last axis. `distances` may be overwritten, and be negative by rounding. With
    r = D²_nearest / D² and the sum s over clusters, u = r^(1/(m−1)) / s, u^m = u r s^(1−m) and
    Σ u^m D² = D²_nearest s^(1−m).
    """
    nearest = distances.min(axis=0)
    if nearest.min(initial=1) <= 0:  # points on centers
        np.maximum(distances, 0, out=distances)
        memberships = fuzzy(distances.T, m).T
        mass = memberships**m
        return memberships, mass * weight, np.einsum("ij,ij->j", mass, distances)
    ratio = np.divide(nearest, distances, out=distances)
    share = ratio ** (1.0 / (m - 1.0))
    total = share.sum(axis=0)
    share /= total
    scale = total ** (1.0 - m)
    ratio *= share
    ratio *= weight * scale
    return share, ratio, nearest * scale
