"""Soft and hard memberships in one-class SVMs.

A cluster is a weighted one-class SVM, trained on all points with their masses as weights
(Bicego and Figueiredo 2009, `softkern.solvers.dual`). The formulation defines the closeness of a
point to a cluster, which memberships compare. Stored coefficients sum to one. Decision values have
the scale of LIBSVM and the paper: there, coefficients sum to ν Σ z_k (`Margins.totals`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from softkern._utils.arrays import like, namespace, on_host, row_max, row_sums, weighted_sum
from softkern._utils.typing import AnyArray, Array
from softkern.rules.base import Centers, Evaluation, Geometry
from softkern.rules.memberships import hard, log_total


@dataclass(frozen=True)
class Margins:
    """Margins of one-class SVMs, one per cluster."""

    offset: AnyArray  # ρ (c,), for coefficients that sum to one
    squared_radius: AnyArray  # R² (c,), squared distances of the margins from the centers
    totals: AnyArray  # ν times the sums of the weights (c,), the sums of LIBSVM's coefficients
    weights: AnyArray = field(default=None, repr=False)  # training weights (n, c)
    solution: Any = field(default=None, repr=False)  # of the dual, where the next one starts


@dataclass(frozen=True)
class Formulation:
    """The differences between SVDD and OC-SVM, which does not need K(x, x).

    SVDD compares distances to the center of the smallest sphere, eq. 12, OC-SVM signed distances to
    the margin, eq. 13.
    """

    name: str
    needs_lengths: bool

    def score(self, geometry: Geometry) -> AnyArray:
        """Return decision scores of points for each cluster, (n, c): −D², or G."""
        return -geometry.distances if self.needs_lengths else geometry.product

    def closeness(self, geometry: Geometry, margins: Any) -> AnyArray:
        """Return what memberships compare, (n, c), in the scale of σ: −D², or (G − ρ) ν Σ z."""
        if self.needs_lengths:
            return -geometry.distances
        return (geometry.product - margins.offset) * margins.totals


SVDD = Formulation("svdd", needs_lengths=True)
OCSVM = Formulation("ocsvm", needs_lengths=False)
FORMULATIONS = {form.name: form for form in (SVDD, OCSVM)}


@dataclass(frozen=True)
class Mixture:
    """z ∝ γ exp(−D²/σ) or γ exp((G − ρ)/σ) with masses w z, eqs. 12 to 16."""

    formulation: Formulation
    scale: float

    def evaluate(self, geometry: Geometry, centers: Centers, weight: AnyArray) -> Evaluation:
        """Return Z, masses and the objective −f_LL, eq. 16."""
        joint = self._joint(geometry, centers)
        total = log_total(joint)
        memberships = namespace(joint).exp(joint - total[:, None])
        objective = -float(weighted_sum(total, weight))
        return Evaluation(memberships, weight[:, None] * memberships, objective, self)

    def log_memberships(self, geometry: Geometry, centers: Centers) -> AnyArray:
        """Return log z, (m, c)."""
        joint = self._joint(geometry, centers)
        return joint - log_total(joint)[:, None]

    def _joint(self, geometry: Geometry, centers: Centers) -> AnyArray:
        """Return log γ_k + s_k/σ, (n, c), cluster weight times similarity."""
        near = self.formulation.closeness(geometry, centers.margins)
        with np.errstate(divide="ignore"):
            return namespace(near).log(centers.shares) + near / self.scale


@dataclass(frozen=True)
class Hard:
    """Memberships in the nearest cluster only: k-means, or the loop of Camastra and Verri.

    Clusters whose closeness differs by less than `error` tie, and the first one wins.
    """

    formulation: Formulation
    error: float
    # squared distances of all training points to one of them, (n, 1)
    distances_to: Callable[[int], Array] | None = field(default=None, repr=False)
    nothing: float = 0.0  # rounding error of a squared distance
    reseeded: int = 0  # number of times that an empty cluster was started again

    def evaluate(self, geometry: Geometry, centers: Centers, weight: AnyArray) -> Evaluation:
        """Return one-hot U, masses and the objective Σ w D² to the own center."""
        memberships = self._nearest(geometry, centers)
        objective = float(weighted_sum(row_sums(memberships, geometry.distances), weight))
        empty = np.flatnonzero(on_host(weighted_sum(memberships, weight)) <= 0)
        following, seeded = self, memberships
        if empty.size:
            distances, before = on_host(geometry.distances), on_host(memberships)
            seeded = like(self._reseed(distances, before, on_host(weight), empty), memberships)
            following = replace(self, reseeded=self.reseeded + empty.size)
        return Evaluation(memberships, weight[:, None] * seeded, objective, following)

    def log_memberships(self, geometry: Geometry, centers: Centers) -> AnyArray:
        """Return zero for the own cluster and −∞ for the others, (m, c)."""
        memberships = self._nearest(geometry, centers)
        with np.errstate(divide="ignore"):
            return namespace(memberships).log(memberships)

    def _nearest(self, geometry: Geometry, centers: Centers) -> AnyArray:
        """Return the first of the clusters whose closeness differs by less than the errors.

        Rounding must not give a training point another label than the same point as a new one.
        """
        near = self.formulation.closeness(geometry, centers.margins)
        error: Any = self.error
        if not self.formulation.needs_lengths:
            error = error * centers.margins.totals
        return hard(namespace(near).astype(near + error >= row_max(near - error), near.dtype))

    def _reseed(self, distances: Array, memberships: Array, weight: Array, empty: Array) -> Array:
        """Give each empty cluster the point farthest from its center, with all duplicates.

        No cluster loses its last point. If there is no other point, the empty cluster shares one.
        """
        assert self.distances_to is not None
        memberships = memberships.copy()
        own = np.where(weight > 0, row_sums(distances, memberships), -np.inf)
        for k in empty:
            row = int(np.argmax(own))
            while own[row] > self.nothing:
                copies = np.asarray(self.distances_to(row)[:, 0] <= self.nothing)
                left = weight @ np.where(copies[:, None], 0, memberships)
                own = np.where(copies & (weight > 0), 0, own)
                if (left[memberships[copies].any(axis=0)] > 0).all():
                    memberships[copies] = 0
                    memberships[copies, k] = 1
                    break
                row = int(np.argmax(own))
            else:
                memberships[row, k] = 1
        return memberships


def margin_interval(values: Array, alpha: Array, weights: Array) -> tuple[Any, Any]:
    """Return the largest value of points with α > 0 and the smallest of those with α < w.

    At the optimum the first is not above the second, and the margin lies between them. All arrays
    are (n,), or (n, c) with results (c,). Values decrease away from the center.
    """
    high = np.max(values, axis=0, where=alpha > 0, initial=-np.inf)
    return high, np.min(values, axis=0, where=alpha < weights, initial=np.inf)


def margin(values: Array, alpha: Array, weights: Array) -> Any:
    """Return the middle of `margin_interval`, or the former value without points with α < w."""
    high, low = margin_interval(values, alpha, weights)
    return np.where(np.isfinite(low), (high + low) / 2, high)
