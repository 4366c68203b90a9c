"""Rules of the one-class clusterings: every cluster is a weighted one-class SVM.

The M-step trains one machine a cluster by the dual (`softkern.oneclass`), weighted with the
memberships; the E-step compares how deep a point lies in each (Bicego and Figueiredo 2009). The
stored centres have coefficients that sum to one. The paper's decision values are left in LIBSVM's
scale, where they sum to ν Σ z_k; that factor is carried by `cluster_scale`, σ / (ν Σ z_k).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

from softkern.memberships import hard, log_joint, log_mixture, log_total
from softkern.oneclass import DualSolution, solve_dual
from softkern.operators.base import Geometry, KernelOperator

__all__ = ["HardRule", "MixtureRule", "OneClassRule", "closeness", "principal_variance"]

Array = NDArray[Any]

KRYLOV = 8  # vectors of the eigenvalue search; more are more products than it needs
DEAD = 1e-12  # a cluster with less than this share of all weight has no machine of its own


def closeness(geometry: Geometry, formulation: str, offset: Array) -> Array:
    """How near to each cluster, (n, c): −D² (SVDD) or the distance to the margin (OC-SVM)."""
    if formulation == "svdd":
        return np.asarray(-geometry.distances)
    return np.asarray(geometry.product - offset)


@dataclass
class OneClassRule:
    """What the soft and the hard rule share: the machines, one a cluster."""

    operator: KernelOperator
    weight: Array  # (n,)
    nu: float
    formulation: str
    cluster_weights: Array  # γ, (c,)
    dual_tol: float = 1e-8  # gap of the dual, as a share of the field's spread
    dual: DualSolution | None = field(default=None, repr=False)
    totals: Array = field(default_factory=lambda: np.ones(1))  # Σ α of every machine, (c,)
    offset: Array = field(default_factory=lambda: np.zeros(1))  # ρ, for coefficients of sum one
    squared_radius: Array = field(default_factory=lambda: np.zeros(1))  # (c,)

    def train(self, weights: Array) -> tuple[Array, Array]:
        """A (n, c) and K @ A of machines trained with the weights given, (n, c)."""
        dual = solve_dual(
            self.operator,
            weights,
            self.nu,
            formulation=self.formulation,
            start=self.dual,
            tol=self.dual_tol,
        )
        dtype = self.weight.dtype
        self.dual = dual
        self.totals = self.nu * weights.sum(axis=0, dtype=np.float64)
        self.offset = (dual.rho / self.totals).astype(dtype)
        self.squared_radius = np.maximum(dual.squared_radius, 0).astype(dtype)
        coefficients = (dual.coefficients / self.totals).astype(dtype)
        return coefficients, (dual.product / self.totals).astype(dtype)

    def depth(self, geometry: Geometry) -> Array:
        """Closeness in the paper's units, (n, c): OC-SVM's in LIBSVM's scale."""
        near = closeness(geometry, self.formulation, self.offset)
        return near if self.formulation == "svdd" else near * self.totals.astype(near.dtype)


@dataclass
class MixtureRule(OneClassRule):
    """z ∝ γ exp(−D²/σ) or γ exp((G − ρ)/σ), machines weighted with z; eqs. 12 to 16."""

    scale: float = 1.0

    @property
    def cluster_scale(self) -> Array:
        """σ for centres whose coefficients sum to one, (c,)."""
        divisor = np.ones_like(self.totals) if self.formulation == "svdd" else self.totals
        return np.asarray(self.scale / divisor, dtype=self.weight.dtype)

    def joint(self, geometry: Geometry) -> Array:
        """log γ_k S(x, k), (n, c)."""
        near = closeness(geometry, self.formulation, self.offset)
        return log_joint(near, self.cluster_weights, self.cluster_scale)

    def memberships(self, geometry: Geometry) -> Array:
        """Z (n, c), rows sum to one."""
        return np.asarray(np.exp(log_mixture(self.joint(geometry))))

    def coefficients(self, geometry: Geometry, memberships: Array) -> tuple[Array, Array]:
        """A (n, c) and K @ A; a cluster that has lost all weight keeps its machine."""
        weights = self.weight[:, None] * memberships
        share = weights.sum(axis=0) / self.weight.sum()
        lost = share <= DEAD
        self.cluster_weights = np.where(lost, 0, share)
        if lost.any() and self.dual is not None:
            weights[:, lost] = self.dual.weights[:, lost]
        return self.train(weights)

    def objective(self, geometry: Geometry, memberships: Array) -> float:
        """−f_LL, eq. 16, which the loop brings down."""
        return -float(self.weight @ log_total(self.joint(geometry)))


@dataclass
class HardRule(OneClassRule):
    """Every point to the nearest machine, machines of their points: Camastra and Verri's loop."""

    reseeded: int = 0

    def memberships(self, geometry: Geometry) -> Array:
        """One-hot U (n, c)."""
        return hard(self.depth(geometry))

    def coefficients(self, geometry: Geometry, memberships: Array) -> tuple[Array, Array]:
        """A (n, c) and K @ A; a cluster without points is seeded again with the point worst off."""
        taken = self.weight @ memberships > 0
        if not taken.all():
            memberships = self._reseed(geometry, memberships, np.flatnonzero(~taken))
        weights = self.weight[:, None] * memberships
        self.cluster_weights = weights.sum(axis=0) / self.weight.sum()
        return self.train(weights)

    def _reseed(self, geometry: Geometry, memberships: Array, empty: Array) -> Array:
        """Give each empty cluster the point furthest from its own centre, with all its copies."""
        memberships = memberships.copy()
        own = np.where(self.weight > 0, (geometry.distances * memberships).sum(axis=1), -np.inf)
        for k in empty:
            row = int(np.argmax(own))
            if own[row] > np.finfo(own.dtype).eps:
                copies = self.operator.columns([row])[:, 0] >= self._self_similarity(row)
                memberships[copies] = 0
                memberships[copies, k] = 1
                own = np.where(copies, 0, own)
            else:  # fewer distinct points than clusters: two clusters share one
                memberships[row, k] = 1
        self.reseeded += len(empty)
        return memberships

    def _self_similarity(self, row: int) -> Array:
        """Kernel values from which a point is a copy of the row's, (n,)."""
        diag = self.operator.diag()
        return np.asarray((diag + diag[row]) / 2 * (1 - 8 * np.finfo(diag.dtype).eps))

    def objective(self, geometry: Geometry, memberships: Array) -> float:
        """Σ w D² to the own centre; kernel k-means at ν = 1, where it never rises."""
        return float(self.weight @ (memberships * geometry.distances).sum(axis=1))


def principal_variance(operator: KernelOperator, weight: Array) -> float:
    """The largest variance of the weighted data in feature space, λ₁(HKH) / Σ w.

    H K H is the centred Gram matrix; its eigenvalue comes from products alone.
    """
    root = np.sqrt(weight.astype(np.float64))
    mean = root / np.linalg.norm(root)

    def centred(v: Array) -> Array:
        v = np.asarray(v, dtype=np.float64).reshape(root.size, -1)
        v = root[:, None] * (v - np.outer(mean, mean @ v))
        v = root[:, None] * (operator @ v)
        return np.asarray(v - np.outer(mean, mean @ v))

    n, total = root.size, float(weight.sum())
    length = float(weight @ (operator @ weight)) / total**2  # squared, of the mean
    if float(weight @ operator.diag()) / total - length <= 1e3 * operator.error:
        return 0.0  # all points are one
    if n <= KRYLOV:
        value = float(np.linalg.eigvalsh(centred(np.eye(n)))[-1])
    else:
        gram = LinearOperator((n, n), matvec=centred, matmat=centred, dtype=np.float64)
        first = np.random.RandomState(0).uniform(size=n)
        # the eigenvalue's error is the square of the tolerance, which is its vector's
        options = {"which": "LA", "v0": first, "ncv": KRYLOV, "tol": 1e-6}
        value = float(eigsh(gram, 1, return_eigenvectors=False, **options)[0])
    return max(value, 0.0) / total
