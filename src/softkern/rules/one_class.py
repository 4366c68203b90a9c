"""Soft and hard memberships in one-class SVMs, and one-class SVMs as centers.

A cluster is a weighted one-class SVM, trained on all points with their masses as weights
(Bicego and Figueiredo 2009). The formulation defines the closeness of a point to a cluster, which
memberships compare. Stored coefficients sum to one. The decision values of the paper have LIBSVM's
scale, where coefficients sum to ν Σ z_k; `Margins.totals` holds that factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from softkern._utils.arrays import (
    column_sums,
    like,
    namespace,
    on_host,
    row_max,
    row_sums,
    weighted_sum,
)
from softkern._utils.typing import AnyArray, Array
from softkern.rules.base import Centers, Evaluation, Geometry
from softkern.rules.memberships import hard, log_total

DEAD = 1e-12  # a cluster with a smaller share of the weight keeps its last SVM
FIRST_TOL = 1e-4  # tolerance of the first duals on a surrogate
FINER = 1e-3  # tolerance of later ones, as a share of the change of the masses


@dataclass(frozen=True)
class Margins:
    """Margins of one-class SVMs, one per cluster."""

    offset: AnyArray  # ρ (c,), for coefficients that sum to one
    squared_radius: AnyArray  # R² (c,), squared distances of the margins from the centers
    totals: AnyArray  # ν times the sums of the weights (c,), the sums of LIBSVM's coefficients
    weights: AnyArray = field(default=None, repr=False)  # training weights (n, c)
    solution: Any = field(default=None, repr=False)  # of the dual, where the next one starts

    def take(self, order: AnyArray) -> Margins:
        """Return some of the margins, or all in another order, without the dual."""
        return Margins(self.offset[order], self.squared_radius[order], self.totals[order])


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

    def margin(self, margins: Margins) -> AnyArray:
        """Return the score on the margin, (c,): −R², or ρ."""
        return -margins.squared_radius if self.needs_lengths else margins.offset

    def closeness(self, geometry: Geometry, margins: Margins | None) -> AnyArray:
        """Return the values that memberships compare, (n, c): −D², or G − ρ."""
        if self.needs_lengths:
            return -geometry.distances
        assert margins is not None
        return geometry.product - margins.offset

    def unit(self, margins: Margins | None) -> Any:
        """Return the factor that brings closeness to the scale of the paper's softness σ."""
        if self.needs_lengths:  # σ is a squared distance
            return 1.0
        assert margins is not None
        return margins.totals

    def field(self, product: Array, diag: Array) -> Array:
        """Return half the gradient of the dual, from K α and diag(K)."""
        return product - 0.5 * diag if self.needs_lengths else product

    def gap_unit(self, spread: Array, rho: Array) -> Array:
        """Return the scale of the scores, relative to which the dual has a tolerance.

        `spread` is the largest squared distance of a point from the center. Scores of OC-SVM are
        of the size of ρ, where that is smaller.
        """
        return spread if self.needs_lengths else np.minimum(spread, np.abs(rho))


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
        objective = -weighted_sum(total, weight)
        return Evaluation(memberships, weight[:, None] * memberships, objective, self)

    def log_memberships(self, geometry: Geometry, centers: Centers) -> AnyArray:
        """Return log z, (m, c)."""
        joint = self._joint(geometry, centers)
        return joint - log_total(joint)[:, None]

    def _joint(self, geometry: Geometry, centers: Centers) -> AnyArray:
        """Return log γ_k + s_k/σ, (n, c), cluster weight times similarity."""
        near = self.formulation.closeness(geometry, centers.margins)
        scale = self.scale / self.formulation.unit(centers.margins)
        with np.errstate(divide="ignore"):
            return namespace(near).log(centers.shares) + near / scale


@dataclass(frozen=True)
class Hard:
    """Memberships in the nearest cluster only: k-means, or the loop of Camastra and Verri.

    Clusters whose closeness differs by less than `error` tie, and the first one wins.
    """

    formulation: Formulation
    error: float
    copies: Callable[[int], Array] | None = field(default=None, repr=False)  # mask (n,) of a row's
    nothing: float = 0.0  # rounding error of a squared distance
    reseeded: int = 0  # number of times that an empty cluster was started again

    def evaluate(self, geometry: Geometry, centers: Centers, weight: AnyArray) -> Evaluation:
        """Return one-hot U, masses and the objective Σ w D² to the own center."""
        memberships = self._nearest(geometry, centers)
        objective = weighted_sum(row_sums(memberships, geometry.distances), weight)
        empty = np.flatnonzero(on_host(column_sums(memberships, weight)) <= 0)
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

    def depth(self, geometry: Geometry, centers: Centers) -> AnyArray:
        """Return closeness in the scale of σ, (m, c), whose maximum is the label."""
        closeness = self.formulation.closeness(geometry, centers.margins)
        return closeness * self.formulation.unit(centers.margins)

    def _nearest(self, geometry: Geometry, centers: Centers) -> AnyArray:
        """Return the first of the clusters whose depths differ by less than their errors.

        Rounding must not give a training point another label than the same point as a new one.
        """
        depth = self.depth(geometry, centers)
        error = self.error * self.formulation.unit(centers.margins)
        surely = row_max(depth - error)
        return hard(namespace(depth).astype(depth + error >= surely, depth.dtype))

    def _reseed(self, distances: Array, memberships: Array, weight: Array, empty: Array) -> Array:
        """Give each empty cluster the point farthest from its center, with all duplicates.

        No cluster loses its last point. If there is no other point, the empty cluster shares one.
        """
        assert self.copies is not None
        memberships = memberships.copy()
        own = np.where(weight > 0, row_sums(distances, memberships), -np.inf)
        for k in empty:
            row = int(np.argmax(own))
            while own[row] > self.nothing:
                copies = self.copies(row)
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


class Trainer(Protocol):
    """Solver of the duals, see `softkern.solvers.dual`."""

    def train(self, weights: Array, start: Any, tol: float) -> Any:
        """Solve for every column of weights (n, c), of sum 1/ν, from a solution `start` or None."""

    def on_operator(self, operator: Any, correction: Array | None) -> Trainer:
        """Return the trainer on another operator, given a correction of its products, (n, c)."""

    def with_product(self, dual: Any, product: Array) -> Any:
        """Return the solution with the margins and the gap of this product."""


@dataclass(frozen=True)
class OneClassCenters:
    """Centers of one-class SVMs, one per cluster, trained with the masses as weights."""

    trainer: Trainer = field(repr=False)
    nu: float  # share of a cluster's weight that its support vectors hold
    tol: float = 1e-8  # of the duals
    is_rough: bool = False  # whether the tolerance follows the change of the masses

    def centers(self, mass: Array, weight: Array, previous: Centers | None) -> Centers:
        """Return A, K @ A and margins. A cluster without weight keeps its SVM."""
        last: Margins | None = None if previous is None else previous.margins
        sums = mass.sum(axis=0, dtype=np.float64)
        shares = sums / weight.sum(dtype=np.float64)
        lost = shares <= DEAD
        if lost.any() and last is not None and last.weights is not None:
            mass = np.where(lost, last.weights, mass)
            sums = mass.sum(axis=0, dtype=np.float64)
        # with these weights α sums to one
        start = None if last is None else last.solution
        dual = self.trainer.train(mass / sums / self.nu, start, self._tolerance(mass, last))
        return self._centers_of(dual, mass, sums, np.where(lost, 0, shares).astype(mass.dtype))

    def on_operator(self, operator: Any, correction: Array | None) -> OneClassCenters:
        """Return the rule on a surrogate, given a correction of its products, (n, c)."""
        return replace(self, trainer=self.trainer.on_operator(operator, correction), is_rough=True)

    def with_product(self, centers: Centers, product: Array) -> Centers:
        """Return the centers with the margins of this product K @ A."""
        margins: Margins = centers.margins
        dual = self.trainer.with_product(margins.solution, product)
        sums = np.asarray(margins.totals) / self.nu
        return self._centers_of(dual, margins.weights, sums, centers.shares)

    def error(self, centers: Centers) -> float:
        """Return the largest gap of the duals."""
        return float(centers.margins.solution.gap.max())

    def _centers_of(self, dual: Any, mass: Array, sums: Array, shares: AnyArray) -> Centers:
        dtype = mass.dtype
        margins = Margins(
            dual.rho.astype(dtype),
            np.maximum(dual.squared_radius, 0).astype(dtype),
            (self.nu * sums).astype(dtype),
            mass,
            dual,
        )
        return Centers(
            dual.coefficients.astype(dtype, copy=False),
            dual.product.astype(dtype, copy=False),
            shares,
            margins,
        )

    def _tolerance(self, mass: Array, last: Margins | None) -> float:
        """Return the tolerance of the duals, which is loose while masses change much."""
        if not self.is_rough:
            return self.tol
        if last is None or last.weights is None:
            return max(self.tol, FIRST_TOL)
        change = float(np.abs(mass - last.weights).sum(dtype=np.float64))
        return max(self.tol, FINER * change / float(mass.sum(dtype=np.float64)))
