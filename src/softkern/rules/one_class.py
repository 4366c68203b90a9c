"""Memberships in one-class machines, soft and hard, and machines as centers.

A cluster is a weighted one-class SVM, trained on all points with their masses as weights
(Bicego and Figueiredo 2009). The formulation says how near a point is to a machine; memberships
compare that. The stored centers have coefficients that sum to one; the paper's decision values
are left in LIBSVM's scale, where they sum to ν Σ z_k, and that factor is carried by
`Margins.totals`.
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
from softkern.rules.memberships import hard, log_joint, log_mixture, log_total

__all__ = [
    "FORMULATIONS",
    "OCSVM",
    "SVDD",
    "Formulation",
    "Hard",
    "Machines",
    "Margins",
    "Mixture",
    "Trainer",
]

DEAD = 1e-12  # a cluster with less than this share of all weight has no machine of its own
FIRST_TOL = 1e-4  # of the duals of a start
FINER = 1e-3  # of the change of the masses: how well the duals are solved on the way


@dataclass(frozen=True)
class Margins:
    """Of one-class machines, one a cluster.

    Attributes
    ----------
    offset : array of shape (c,)
        ρ, for coefficients that sum to one.
    squared_radius : array of shape (c,)
    totals : array of shape (c,)
        ν times the sums of the weights: the sums of LIBSVM's coefficients.
    weights : array of shape (n, c)
        That the machines were trained with.
    solution : object
        Of the dual, to start the next from.
    """

    offset: AnyArray
    squared_radius: AnyArray
    totals: AnyArray
    weights: AnyArray = field(default=None, repr=False)
    solution: Any = field(default=None, repr=False)

    def take(self, order: AnyArray) -> Margins:
        """The same of some machines, or of all in another order; no start for a dual."""
        return Margins(self.offset[order], self.squared_radius[order], self.totals[order])


class Formulation(Protocol):
    """SVDD or OC-SVM: all that they differ in."""

    @property
    def name(self) -> str:
        """As users write it."""

    @property
    def needs_lengths(self) -> bool:
        """Whether scores depend on K(x, x)."""

    def score(self, geometry: Geometry) -> AnyArray:
        """How typical points are of each machine, (n, c)."""

    def margin(self, margins: Margins) -> AnyArray:
        """The score on the margin, (c,)."""

    def closeness(self, geometry: Geometry, margins: Margins | None) -> AnyArray:
        """What clusters compete by, (n, c), up to a number for every point."""

    def unit(self, margins: Margins | None) -> Any:
        """By what closeness is multiplied to be in the unit of the paper's softness σ."""

    def field(self, product: Array, diag: Array) -> Array:
        """Half the gradient of the dual, from K α and diag(K)."""

    def gap_unit(self, spread: Array, rho: Array) -> Array:
        """The scale of the scores, of which a tolerance of the dual is a share.

        `spread` is the largest squared distance of a point from the center.
        """


@dataclass(frozen=True)
class SVDD:
    """The distance to the center of the smallest sphere, eq. 12."""

    name: str = "svdd"
    needs_lengths: bool = True

    def score(self, geometry: Geometry) -> AnyArray:
        """−D²."""
        return -geometry.distances

    def margin(self, margins: Margins) -> AnyArray:
        """−R²."""
        return -margins.squared_radius

    def closeness(self, geometry: Geometry, margins: Margins | None) -> AnyArray:
        """−D²."""
        return -geometry.distances

    def unit(self, margins: Margins | None) -> float:
        """One: σ is a squared distance."""
        return 1.0

    def field(self, product: Array, diag: Array) -> Array:
        """K α − ½ diag(K)."""
        return product - 0.5 * diag

    def gap_unit(self, spread: Array, rho: Array) -> Array:
        """The largest squared distance."""
        return spread


@dataclass(frozen=True)
class OCSVM:
    """The signed distance to the margin, eq. 13."""

    name: str = "ocsvm"
    needs_lengths: bool = False

    def score(self, geometry: Geometry) -> AnyArray:
        """G, the similarity to the center."""
        return geometry.product

    def margin(self, margins: Margins) -> AnyArray:
        """ρ."""
        return margins.offset

    def closeness(self, geometry: Geometry, margins: Margins | None) -> AnyArray:
        """G − ρ."""
        assert margins is not None
        return geometry.product - margins.offset

    def unit(self, margins: Margins | None) -> Any:
        """The sums of LIBSVM's coefficients."""
        assert margins is not None
        return margins.totals

    def field(self, product: Array, diag: Array) -> Array:
        """K α."""
        return product

    def gap_unit(self, spread: Array, rho: Array) -> Array:
        """ρ, the size of the scores, which may be far below squared distances; or these."""
        return np.minimum(spread, np.abs(rho))


FORMULATIONS: dict[str, Formulation] = {f.name: f for f in (SVDD(), OCSVM())}


@dataclass(frozen=True)
class Mixture:
    """z ∝ γ exp(−D²/σ) or γ exp((G − ρ)/σ), masses w z; eqs. 12 to 16."""

    formulation: Formulation
    scale: float

    def evaluate(self, geometry: Geometry, centers: Centers, weight: AnyArray) -> Evaluation:
        """Z, masses and −f_LL, eq. 16."""
        joint = self._joint(geometry, centers)
        total = log_total(joint)
        memberships = namespace(joint).exp(joint - total[:, None])
        objective = -weighted_sum(total, weight)
        return Evaluation(memberships, weight[:, None] * memberships, objective, self)

    def log_memberships(self, geometry: Geometry, centers: Centers) -> AnyArray:
        """log z, (m, c)."""
        return log_mixture(self._joint(geometry, centers))

    def _joint(self, geometry: Geometry, centers: Centers) -> AnyArray:
        """log γ_k S(x, k), (n, c)."""
        near = self.formulation.closeness(geometry, centers.margins)
        scale = self.scale / self.formulation.unit(centers.margins)
        return log_joint(near, centers.shares, scale)


@dataclass(frozen=True)
class Hard:
    """Every point to the nearest machine: Camastra and Verri's loop, k-means with means.

    Attributes
    ----------
    formulation : Formulation
    error : float
        Of closeness: clusters that differ by less tie, and the first of them is taken.
    copies : callable
        ``copies(row)`` gives the rows that are the same point, a mask of shape (n,).
    nothing : float
        A squared distance that is rounding.
    reseeded : int
        How often a cluster without points was seeded again, with the point worst off.
    """

    formulation: Formulation
    error: float
    copies: Callable[[int], Array] | None = field(default=None, repr=False)
    nothing: float = 0.0
    reseeded: int = 0

    def evaluate(self, geometry: Geometry, centers: Centers, weight: AnyArray) -> Evaluation:
        """One-hot U, masses and Σ w D² to the own center: with means, it never rises."""
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
        """Zero for the own cluster, −∞ for the others, (m, c)."""
        memberships = self._nearest(geometry, centers)
        with np.errstate(divide="ignore"):
            return namespace(memberships).log(memberships)

    def depth(self, geometry: Geometry, centers: Centers) -> AnyArray:
        """What points are assigned by, (m, c)."""
        closeness = self.formulation.closeness(geometry, centers.margins)
        return closeness * self.formulation.unit(centers.margins)

    def _nearest(self, geometry: Geometry, centers: Centers) -> AnyArray:
        """The first of the clusters whose depths differ by less than their errors.

        Which of them rounding puts first is not the same for a training point and the same point
        as a new one.
        """
        depth = self.depth(geometry, centers)
        error = self.error * self.formulation.unit(centers.margins)
        surely = row_max(depth - error)
        return hard(namespace(depth).astype(depth + error >= surely, depth.dtype))

    def _reseed(self, distances: Array, memberships: Array, weight: Array, empty: Array) -> Array:
        """Give each empty cluster the point furthest from its own center, with all its copies.

        No cluster gives its last point away: where all points are some cluster's last, or lie on
        their centers, the empty cluster shares one.
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
    """Solves the duals of machines; `softkern.solvers.dual` has the class."""

    def train(self, weights: Array, start: Any, tol: float) -> Any:
        """For every column of weights (n, c) whose sum is 1/ν, from a solution `start` or None."""

    def on_operator(self, operator: Any, correction: Array | None) -> Trainer:
        """The trainer on another operator, whose products are corrected by this array (n, c)."""

    def with_product(self, dual: Any, product: Array) -> Any:
        """A solution with the margins and the gap that this product gives it."""


@dataclass(frozen=True)
class Machines:
    """Centers of one-class machines, one a cluster, trained with the masses as weights.

    Attributes
    ----------
    trainer : Trainer
    nu : float
        Share of a cluster's weight that shapes it.
    tol : float
        Of the duals' gaps.
    is_rough : bool
        Whether a part of what the masses changed will do in its place, on the way to the end.
    """

    trainer: Trainer = field(repr=False)
    nu: float
    tol: float = 1e-8
    is_rough: bool = False

    def centers(self, mass: Array, weight: Array, previous: Centers | None) -> Centers:
        """A, K @ A and margins; a cluster that has lost all weight keeps its machine."""
        last: Margins | None = None if previous is None else previous.margins
        sums = mass.sum(axis=0, dtype=np.float64)
        shares = sums / weight.sum(dtype=np.float64)
        lost = shares <= DEAD
        if lost.any() and last is not None and last.weights is not None:
            mass = np.where(lost, last.weights, mass)
            sums = mass.sum(axis=0, dtype=np.float64)
        # α then sum to one, however small ν and the sums are
        start = None if last is None else last.solution
        dual = self.trainer.train(mass / sums / self.nu, start, self._tolerance(mass, last))
        return self._centers_of(dual, mass, sums, np.where(lost, 0, shares).astype(mass.dtype))

    def on_operator(self, operator: Any, correction: Array | None) -> Machines:
        """The rule on a cheaper operator, whose products are corrected by this array (n, c)."""
        return replace(self, trainer=self.trainer.on_operator(operator, correction), is_rough=True)

    def with_product(self, centers: Centers, product: Array) -> Centers:
        """The same centers with the margins that this product K @ A gives them."""
        margins: Margins = centers.margins
        dual = self.trainer.with_product(margins.solution, product)
        sums = np.asarray(margins.totals) / self.nu
        return self._centers_of(dual, margins.weights, sums, centers.shares)

    def error(self, centers: Centers) -> float:
        """The largest gap of the machines."""
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
        """Of the duals: far from the end they need not be known well."""
        if not self.is_rough:
            return self.tol
        if last is None or last.weights is None:
            return max(self.tol, FIRST_TOL)
        change = float(np.abs(mass - last.weights).sum(dtype=np.float64))
        return max(self.tol, FINER * change / float(mass.sum(dtype=np.float64)))
