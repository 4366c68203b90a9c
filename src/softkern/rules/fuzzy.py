"""Rules of the possibilistic and the fuzzy models, for the one loop.

A rule says how distances become memberships and these coefficients (`solvers.alternate.Rule`);
the mathematics is in `softkern.rules.memberships` and `softkern.rules.centres`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softkern.operators.base import Geometry
from softkern.rules.centres import weighted_mean
from softkern.rules.memberships import (
    fuzzy,
    log_fuzzy,
    log_possibilistic,
    outlier_weights,
    possibilistic,
)

__all__ = ["FuzzyRule", "OutlierFuzzyRule", "PossibilisticRule", "estimate_eta"]

Array = NDArray[Any]

BLOCK_ROWS = 8192  # whose temporary arrays are small beside those of all rows
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
        return float(np.einsum("i,ij->", self.weight, terms))


@dataclass
class _FuzzyParts:
    """What the fuzzy rules share: u ∝ D²^(−1/(m−1)), and means by u^m."""

    m: float
    weight: Array  # (n,)

    def memberships(self, geometry: Geometry) -> Array:
        """U (n, c), rows sum to one."""
        return fuzzy(geometry.distances, self.m)

    def means(self, memberships: Array) -> Array:
        """A (n, c) of a start that is given by memberships alone."""
        return self._scaled(memberships, self.weight, lambda: _log(memberships))

    def _spread(self, geometry: Geometry, memberships: Array) -> Array:
        """S = Σ u^m D² of every point, (n,)."""
        spread = np.empty(len(memberships), dtype=memberships.dtype)
        for start in range(0, len(memberships), BLOCK_ROWS):  # no power of all memberships at once
            rows = slice(start, start + BLOCK_ROWS)
            power = memberships[rows] ** self.m
            np.einsum("ij,ij->i", power, geometry.distances[rows], out=spread[rows])
        return spread

    def _mean(self, geometry: Geometry, memberships: Array, weight: Array) -> Array:
        logs = partial(log_fuzzy, geometry.distances, self.m)
        return self._scaled(memberships, weight, logs)

    def _scaled(self, memberships: Array, weight: Array, logs: Callable[[], Array]) -> Array:
        """Coefficients of the mean by w u^m; by log u where a cluster's memberships vanish."""
        mass = memberships**self.m
        mass *= weight[:, None]
        total = mass.sum(axis=0)
        if (total > np.sqrt(np.finfo(mass.dtype).tiny)).all():
            mass /= total
            return np.asarray(mass)
        return weighted_mean(self.m * logs(), weight)


@dataclass
class FuzzyRule(_FuzzyParts):
    """Fuzzy c-means: centres by w u^m. Also a `softkern.solvers.ahead.RowRule`."""

    def coefficients(self, geometry: Geometry, memberships: Array) -> tuple[Array, None]:
        """A (n, c)."""
        return self._mean(geometry, memberships, self.weight), None

    def objective(self, geometry: Geometry, memberships: Array) -> float:
        """Σ w u^m D²."""
        return float(np.einsum("i,i->", self.weight, self._spread(geometry, memberships)))

    def rows(self, distances: Array, weight: Array) -> tuple[Array, Array, Array]:
        """U, w u^m and Σ u^m D² of a block of rows, (c, b), (c, b) and (b,), in few passes.

        With r = D²_nearest / D², u = r^(1/(m−1)) / s, where s is the sum over clusters; then
        u^m = u r s^(1−m), and Σ u^m D² = D²_nearest s^(1−m).
        """
        nearest = distances.min(axis=0)
        if nearest.min(initial=1) <= 0:  # some points lie on centres
            np.maximum(distances, 0, out=distances)
            memberships = fuzzy(distances.T, self.m).T
            mass = memberships**self.m
            return memberships, mass * weight, np.einsum("ij,ij->j", mass, distances)
        ratio = np.divide(nearest, distances, out=distances)
        share = ratio ** (1.0 / (self.m - 1.0))
        total = share.sum(axis=0)
        share /= total
        scale = total ** (1.0 - self.m)
        ratio *= share
        ratio *= weight * scale
        return share, ratio, nearest * scale


@dataclass
class OutlierFuzzyRule(_FuzzyParts):
    """Memberships as `FuzzyRule`, outlier weights w, centres by u^m / w^q (eqs. 19 to 21, 2004).

    With `centres="eq11"`, centres by u as that paper's eq. 11 has it, which ignores w.
    """

    q: float
    total: float
    centres: str = "eq21"

    def coefficients(self, geometry: Geometry, memberships: Array) -> tuple[Array, None]:
        """A (n, c)."""
        if self.centres == "eq11":
            return weighted_mean(log_fuzzy(geometry.distances, self.m), self.weight), None
        w = self.outlier_weights(geometry, memberships)[0]
        # in units of the smallest, so that no power overflows
        return self._mean(geometry, memberships, self.weight * (w.min() / w) ** self.q), None

    def means(self, memberships: Array) -> Array:
        """A (n, c) of a start that is given by memberships alone; all outlier weights are one."""
        if self.centres == "eq11":
            return weighted_mean(_log(memberships), self.weight)
        return super().means(memberships)

    def objective(self, geometry: Geometry, memberships: Array) -> float:
        """Σ weight u^m D² / w^q, eq. 9."""
        w = self.outlier_weights(geometry, memberships)[0]
        spread = self._spread(geometry, memberships) / w**self.q
        return float(np.einsum("i,i->", self.weight, spread))

    def outlier_weights(self, geometry: Geometry, memberships: Array) -> tuple[Array, float, float]:
        """w (n,), and what makes it of S, as `softkern.rules.memberships.outlier_weights` says."""
        spread = self._spread(geometry, memberships)
        return outlier_weights(spread, self.q, self.total, self.weight)


def _log(memberships: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(memberships))


def estimate_eta(distances: Array, memberships: Array, weight: Array, scale: float) -> Array:
    """η = γ Σ w u D² / Σ w u, (c,): eq. 17 of the 2010 paper."""
    total = weight[:, None] * memberships
    return np.asarray(scale * (total * distances).sum(axis=0) / total.sum(axis=0))
