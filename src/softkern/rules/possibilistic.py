"""Possibilistic memberships, u = exp(−D²/η), which do not compete (Filippone et al. 2010)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from softkern._utils.arrays import column_sums, namespace
from softkern._utils.typing import AnyArray
from softkern.rules.base import Centers, Evaluation, Geometry
from softkern.rules.centers import mass_of_logs
from softkern.rules.memberships import log_possibilistic

__all__ = ["Possibilistic", "estimate_eta"]

SMALLEST_ETA = 1e-8  # share of the first η below which a cluster has shrunk to a point


@dataclass(frozen=True)
class Possibilistic:
    """u = exp(−D²/η) with masses w u, eqs. 15 and 16 of the 2010 paper.

    Attributes
    ----------
    eta : array of shape (c,)
        Squared widths of the clusters.
    eta_scale : float, default=1.0
        Factor γ of the papers, for `update_eta`.
    update_eta : bool, default=False
        Whether η is estimated again in every step.
    smallest : array of shape (c,), default=None
        η below which a cluster has shrunk to a point. None: a share of the first η.
    """

    eta: AnyArray
    eta_scale: float = 1.0
    update_eta: bool = False
    smallest: AnyArray | None = None

    def evaluate(self, geometry: Geometry, centers: Centers, weight: AnyArray) -> Evaluation:
        """Return U, masses and the objective of eq. 14, which is −Σ η Σ w u at these u."""
        xp = namespace(geometry.distances)
        logs = log_possibilistic(geometry.distances, self.eta)
        memberships = xp.exp(logs)
        objective = -float(xp.sum(self.eta * column_sums(memberships, weight)))
        following = self._update(geometry.distances, memberships, weight)
        if following is not self:
            logs = log_possibilistic(geometry.distances, following.eta)
        return Evaluation(memberships, mass_of_logs(logs, weight), objective, following)

    def log_memberships(self, geometry: Geometry, centers: Centers | None = None) -> AnyArray:
        """Return log u = −D²/η, (m, c)."""
        return log_possibilistic(geometry.distances, self.eta)

    def _update(
        self, distances: AnyArray, memberships: AnyArray, weight: AnyArray
    ) -> Possibilistic:
        if not self.update_eta:
            return self
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
    """Return η = γ Σ w u D² / Σ w u, (c,), eq. 17 of the 2010 paper; zero without members."""
    total = column_sums(memberships, weight)
    xp = namespace(total)
    total = xp.where(total > 0, total, xp.ones_like(total))
    return scale * column_sums(memberships * distances, weight) / total
