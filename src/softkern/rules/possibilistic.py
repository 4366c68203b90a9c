"""Possibilistic memberships, u = exp(−D²/η), which do not compete (Filippone et al. 2010)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from softkern._utils.arrays import namespace, weighted_sum
from softkern._utils.typing import AnyArray
from softkern.rules.base import Centers, Evaluation, Geometry
from softkern.rules.centers import mass_of_logs

SMALLEST_ETA = 1e-8  # share of the first η below which a cluster has shrunk to a point


@dataclass(frozen=True)
class Possibilistic:
    """u = exp(−D²/η) with masses w u, eqs. 15 and 16 of the 2010 paper."""

    eta: AnyArray  # (c,), squared widths of the clusters
    eta_scale: float = 1.0  # factor γ of the papers, for `update_eta`
    update_eta: bool = False  # estimate η again in every step
    smallest: AnyArray | None = None  # (c,), η of a cluster that has shrunk to a point

    def evaluate(self, geometry: Geometry, centers: Centers, weight: AnyArray) -> Evaluation:
        """Return U, masses and the objective of eq. 14, which is −Σ η Σ w u at these u."""
        xp = namespace(geometry.distances)
        logs = self.log_memberships(geometry)
        memberships = xp.exp(logs)
        objective = -float(xp.sum(self.eta * weighted_sum(memberships, weight)))
        following = self
        if self.update_eta:
            following = self._update(geometry.distances, memberships, weight)
            logs = following.log_memberships(geometry)
        return Evaluation(memberships, mass_of_logs(logs, weight), objective, following)

    def log_memberships(self, geometry: Geometry, centers: Centers | None = None) -> AnyArray:
        """Return log u = −D²/η, (m, c)."""
        return geometry.distances / -self.eta

    def _update(
        self, distances: AnyArray, memberships: AnyArray, weight: AnyArray
    ) -> Possibilistic:
        smallest = SMALLEST_ETA * self.eta if self.smallest is None else self.smallest
        eta = estimate_eta(distances, memberships, weight, self.eta_scale)
        xp = namespace(eta)
        if not bool(xp.all(eta > smallest)):
            raise ValueError(
                f"eta fell from {float(xp.min(self.eta)):.3g} to {float(xp.min(eta)):.3g} in one "
                "step: with update_eta=True a cluster has shrunk to a point. Use "
                "update_eta=False, or a larger eta_scale."
            )
        return replace(self, eta=eta, smallest=smallest)


def estimate_eta(distances: AnyArray, memberships: Any, weight: AnyArray, scale: float) -> AnyArray:
    """Return η = γ Σ w u D² / Σ w u, (c,), eq. 17 of the 2010 paper, and zero without members."""
    total = weighted_sum(memberships, weight)
    xp = namespace(total)
    total = xp.where(total > 0, total, xp.ones_like(total))
    return scale * weighted_sum(memberships * distances, weight) / total
