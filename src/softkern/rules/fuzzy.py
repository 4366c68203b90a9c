"""Fuzzy memberships, u ∝ D²^(−1/(m−1)): clusters that compete; with outlier weights, FKCO.

Means are taken by u^m, and by u^m / w^q where points have outlier weights w (Keller 2000; Shen,
Wang and Wu 2004).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softkern._utils.arrays import namespace, row_sums, weighted_sum
from softkern._utils.typing import AnyArray
from softkern.rules.base import Centers, Evaluation, Geometry
from softkern.rules.centers import mass_of_logs
from softkern.rules.memberships import fuzzy, log_fuzzy, outlier_weights

__all__ = ["Fuzzy", "OutlierFuzzy", "fuzzy_rows"]


@dataclass(frozen=True)
class Fuzzy:
    """Fuzzy c-means: masses w u^m."""

    m: float

    def evaluate(self, geometry: Geometry, centers: Centers, weight: AnyArray) -> Evaluation:
        """U, masses and Σ w u^m D²."""
        memberships = fuzzy(geometry.distances, self.m)
        power = memberships**self.m
        objective = weighted_sum(row_sums(power, geometry.distances), weight)
        return Evaluation(memberships, self.mass(power, geometry, weight), objective, self)

    def log_memberships(self, geometry: Geometry, centers: Centers | None = None) -> AnyArray:
        """log u, (m, c)."""
        return log_fuzzy(geometry.distances, self.m)

    def mass(self, power: AnyArray, geometry: Geometry, weight: AnyArray) -> AnyArray:
        """w u^m, (n, c), from u^m, or from log u where a cluster's u^m may all underflow."""
        if _may_underflow(self.m, power):
            return mass_of_logs(self.m * log_fuzzy(geometry.distances, self.m), weight)
        power *= weight[:, None]
        return power


@dataclass(frozen=True)
class OutlierFuzzy:
    """Fuzzy memberships and outlier weights w; masses u^m / w^q (eqs. 19 to 21 of 2004).

    Attributes
    ----------
    m, q : float
    total : float
        Σ w, counted with sample weights.
    plain : bool, default=False
        Masses u, as that paper's eq. 11 has it, which ignores w.
    """

    m: float
    q: float
    total: float
    plain: bool = False

    def evaluate(self, geometry: Geometry, centers: Centers, weight: AnyArray) -> Evaluation:
        """U, masses and Σ weight u^m D² / w^q, eq. 9."""
        memberships = fuzzy(geometry.distances, self.m)
        power = memberships**self.m
        spread = row_sums(power, geometry.distances)
        w, _, _ = outlier_weights(spread, self.q, self.total, weight)
        objective = weighted_sum(spread / w**self.q, weight)
        if self.plain:
            mass = mass_of_logs(log_fuzzy(geometry.distances, self.m), weight)
        else:  # in units of the smallest w, so that no power overflows
            parts = weight * (namespace(w).min(w) / w) ** self.q
            mass = Fuzzy(self.m).mass(power, geometry, parts)
        return Evaluation(memberships, mass, objective, self)

    def log_memberships(self, geometry: Geometry, centers: Centers | None = None) -> AnyArray:
        """log u, (m, c)."""
        return log_fuzzy(geometry.distances, self.m)

    def spread(self, geometry: Geometry) -> AnyArray:
        """S = Σ u^m D² of any points, (m,), of which outlier weights are made."""
        return row_sums(fuzzy(geometry.distances, self.m) ** self.m, geometry.distances)


def _may_underflow(m: float, values: AnyArray) -> bool:
    """Whether u^m may underflow in all points of a cluster.

    Two distances are known to differ by a factor of eps at the least, so u^m is at least
    eps^(m/(m−1)), which has to stay clear of the smallest number.
    """
    limits = namespace(values).finfo(values.dtype)
    digits, reach = -np.log(float(limits.eps)), -np.log(float(limits.smallest_normal))
    return bool(m / (m - 1) * digits > reach / 2)


def fuzzy_rows(
    distances: AnyArray, m: float, weight: AnyArray
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """U, w u^m and Σ u^m D² of a block of rows, (c, b), (c, b) and (b,), in few passes.

    For NumPy blocks that lie in the cache (`softkern.solvers.sweeps`), with rows along the last
    axis; `distances` may be overwritten, and be negative by rounding. With r = D²_nearest / D²,
    u = r^(1/(m−1)) / s, where s is the sum over clusters; then u^m = u r s^(1−m), and
    Σ u^m D² = D²_nearest s^(1−m).
    """
    nearest = distances.min(axis=0)
    if nearest.min(initial=1) <= 0:  # some points lie on centers
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
