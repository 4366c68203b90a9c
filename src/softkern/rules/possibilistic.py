"""Possibilistic memberships, u = exp(−D²/η): each cluster for itself (Filippone et al. 2010)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from softkern._utils.arrays import column_sums, namespace
from softkern._utils.typing import AnyArray
from softkern.rules.base import Centers, Evaluation, Geometry
from softkern.rules.centers import mass_of_logs
from softkern.rules.memberships import log_possibilistic

__all__ = ["Possibilistic", "estimate_eta"]

SMALLEST_ETA = 1e-8  # as a share of the first; below it a cluster has shrunk to a point


@dataclass(frozen=True)
class Possibilistic:
    """u = exp(−D²/η), masses w u; eqs. 15 and 16 of the 2010 paper.

    Attributes
    ----------
    eta : array of shape (c,)
        Squared widths of the clusters.
    eta_scale : float, default=1.0
        The papers' γ, where η is estimated in every step.
    update_eta : bool, default=False
        Whether it is.
    smallest : array of shape (c,), default=None
        η below which a cluster has shrunk to a point; from the first η where not given.
    """

    eta: AnyArray
    eta_scale: float = 1.0
    update_eta: bool = False
    smallest: AnyArray | None = None

    def evaluate(self, geometry: Geometry, centers: Centers, weight: AnyArray) -> Evaluation:
        """U, masses and Σ w u D² + Σ η Σ w (u log u − u), eq. 14, which is −Σ η Σ w u here."""
        xp = namespace(geometry.distances)
        logs = log_possibilistic(geometry.distances, self.eta)
        memberships = xp.exp(logs)
        objective = -float(xp.sum(self.eta * column_sums(memberships, weight)))
        following = self._adapted(geometry.distances, memberships, weight)
        if following is not self:
            logs = log_possibilistic(geometry.distances, following.eta)
        return Evaluation(memberships, mass_of_logs(logs, weight), objective, following)

    def log_memberships(self, geometry: Geometry, centers: Centers | None = None) -> AnyArray:
        """log u = −D²/η, (m, c)."""
        return log_possibilistic(geometry.distances, self.eta)

    def _adapted(
        self, distances: AnyArray, memberships: AnyArray, weight: AnyArray
    ) -> Possibilistic:
        if not self.update_eta:
            return self
        smallest = SMALLEST_ETA * self.eta if self.smallest is None else self.smallest
        eta = estimate_eta(distances, memberships, weight, self.eta_scale)
        xp = namespace(eta)
        if not bool(xp.all(eta > smallest)):
            raise ValueError(
                f"eta fell to {float(xp.min(eta)):.3g}, from {float(xp.min(self.eta)):.3g} in the "
                "step before: with update_eta=True a cluster has shrunk to a point. Use "
                "update_eta=False, or a larger eta_scale."
            )
        return replace(self, eta=eta, smallest=smallest)


def estimate_eta(distances: AnyArray, memberships: Any, weight: AnyArray, scale: float) -> AnyArray:
    """η = γ Σ w u D² / Σ w u, (c,): eq. 17 of the 2010 paper."""
    total = column_sums(memberships, weight)
    xp = namespace(total)
    total = xp.where(total > 0, total, xp.ones_like(total))  # zero for a cluster without members
    return scale * column_sums(memberships * distances, weight) / total
