"""Rules of the possibilistic and the fuzzy model, for the one loop.

A rule says how distances become memberships and these coefficients (`softkern.alternate.Rule`);
the mathematics is in `softkern.memberships` and `softkern.centres`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softkern.centres import weighted_mean
from softkern.memberships import fuzzy, log_possibilistic, possibilistic
from softkern.operators.base import Geometry

__all__ = ["FuzzyRule", "PossibilisticRule", "estimate_eta"]

Array = NDArray[Any]

SMALLEST_ETA = 1e-8  # as a share of the first; below it a cluster has shrunk to a point


@dataclass
class PossibilisticRule:
    """u = exp(−D²/η), centres by w u; eqs. 15 and 16 of the 2010 paper."""

    eta: Array  # (c,)
    weight: Array  # (n,)
    eta_scale: float = 1.0
    update_eta: bool = False

    def __post_init__(self) -> None:
        self.first_eta = self.eta

    def memberships(self, geometry: Geometry) -> Array:
        """U (n, c); with `update_eta`, η follows the memberships."""
        distances = geometry.distances
        memberships = possibilistic(distances, self.eta)
        if self.update_eta:
            self.eta = estimate_eta(distances, memberships, self.weight, self.eta_scale)
            if not (self.eta > SMALLEST_ETA * self.first_eta).all():
                raise ValueError(
                    f"eta fell to {self.eta.min():.3g}, from {self.first_eta.min():.3g}: with "
                    "update_eta=True a cluster has shrunk to a point. Use update_eta=False, or a "
                    "larger eta_scale."
                )
        return memberships

    def coefficients(self, geometry: Geometry, memberships: Array) -> tuple[Array, None]:
        """A (n, c)."""
        logs = log_possibilistic(geometry.distances, self.eta)
        return weighted_mean(logs, self.weight), None

    def objective(self, geometry: Geometry, memberships: Array) -> float:
        """Σ w u D² + Σ η Σ w (u log u − u), eq. 14."""
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = np.where(memberships > 0, memberships * np.log(memberships), 0.0)
        terms = memberships * geometry.distances + self.eta * (entropy - memberships)
        return float((self.weight @ terms).sum())


@dataclass
class FuzzyRule:
    """u ∝ D²^(−1/(m−1)), centres by w u^m."""

    m: float
    weight: Array

    def memberships(self, geometry: Geometry) -> Array:
        """U (n, c), rows sum to one."""
        return fuzzy(geometry.distances, self.m)

    def coefficients(self, geometry: Geometry, memberships: Array) -> tuple[Array, None]:
        """A (n, c)."""
        with np.errstate(divide="ignore"):
            return weighted_mean(self.m * np.log(memberships), self.weight), None

    def objective(self, geometry: Geometry, memberships: Array) -> float:
        """Σ w u^m D²."""
        return float((self.weight @ (memberships**self.m * geometry.distances)).sum())


def estimate_eta(distances: Array, memberships: Array, weight: Array, scale: float) -> Array:
    """η = γ Σ w u D² / Σ w u, (c,): eq. 17 of the 2010 paper."""
    total = weight[:, None] * memberships
    return np.asarray(scale * (total * distances).sum(axis=0) / total.sum(axis=0))
