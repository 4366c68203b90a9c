"""Rules of the one-class clusterings: every cluster is a weighted one-class SVM.

The M-step trains one machine a cluster by the dual (`softkern.solvers.dual`), weighted with the
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

from softkern.operators.base import Geometry, KernelOperator
from softkern.rules.memberships import hard, log_joint, log_mixture, log_total
from softkern.solvers.dual import DualSolution, attainable_error, solve_dual

__all__ = [
    "HardRule",
    "MixtureRule",
    "OneClassRule",
    "closeness",
    "depth",
    "nearest",
    "principal_variance",
]

Array = NDArray[Any]

KRYLOV = 8  # vectors of the eigenvalue search; more are more products than it needs
DEAD = 1e-12  # a cluster with less than this share of all weight has no machine of its own
SAME_POINT = 64  # times the rounding of the largest kernel value: a squared distance of nothing


def closeness(geometry: Geometry, formulation: str, offset: Array) -> Array:
    """How near to each cluster, (n, c): −D² (SVDD) or the distance to the margin (OC-SVM)."""
    if formulation == "svdd":
        return np.asarray(-geometry.distances)
    return np.asarray(geometry.product - offset)


def depth(geometry: Geometry, formulation: str, offset: Array, totals: Any = 1.0) -> Array:
    """What clusters compete by, (n, c): 2 G − ‖c‖² (SVDD) or the distance to the margin (OC-SVM).

    The former is −D² less K(x, x), which is the same for all clusters and need not be known. The
    latter is in LIBSVM's scale where `totals` (c,) are the sums of its coefficients.
    """
    if formulation == "svdd":
        return np.asarray(2 * geometry.product - geometry.norms)
    near = geometry.product - offset
    return np.asarray(near * np.asarray(totals, dtype=near.dtype))


def nearest(depths: Array, error: Array) -> Array:
    """`hard` memberships, (n, c); the first cluster where depths differ by less than an error (c,).

    Which of them rounding puts first is not the same for a training point and for the same point
    told as new.
    """
    surely = (depths - error).max(axis=1, keepdims=True)
    return hard((depths + error >= surely).astype(depths.dtype))


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
    trained: Array = field(default_factory=lambda: np.ones((1, 1)), repr=False)  # weights, (n, c)
    totals: Array = field(default_factory=lambda: np.ones(1))  # ν times their sums, (c,)
    offset: Array = field(default_factory=lambda: np.zeros(1))  # ρ, for coefficients of sum one
    squared_radius: Array = field(default_factory=lambda: np.zeros(1))  # (c,)

    def train(self, weights: Array) -> tuple[Array, Array]:
        """A (n, c) and K @ A of machines trained with the weights given, (n, c)."""
        sums = weights.sum(axis=0, dtype=np.float64)
        dual = solve_dual(
            self.operator,
            weights / sums / self.nu,  # α then sum to one, however small ν and the sums are
            self.nu,
            formulation=self.formulation,
            start=self.dual,
            tol=self.dual_tol,
        )
        dtype = self.weight.dtype
        self.dual, self.trained = dual, weights
        self.totals = self.nu * sums
        self.offset = dual.rho.astype(dtype)
        self.squared_radius = np.maximum(dual.squared_radius, 0).astype(dtype)
        return dual.coefficients.astype(dtype), dual.product.astype(dtype)

    @property
    def depth_error(self) -> Array:
        """By how much rounding may change `depth`, (c,)."""
        unit = 2.0 if self.formulation == "svdd" else self.totals
        error = unit * attainable_error(self.operator)
        return np.broadcast_to(error, self.cluster_weights.shape).astype(self.weight.dtype)


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
            weights[:, lost] = self.trained[:, lost]
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
        depths = depth(geometry, self.formulation, self.offset, self.totals)
        return nearest(depths, self.depth_error)

    def coefficients(self, geometry: Geometry, memberships: Array) -> tuple[Array, Array]:
        """A (n, c) and K @ A; a cluster without points is seeded again with the point worst off."""
        taken = self.weight @ memberships > 0
        if not taken.all():
            memberships = self._reseed(geometry, memberships, np.flatnonzero(~taken))
        weights = self.weight[:, None] * memberships
        self.cluster_weights = weights.sum(axis=0) / self.weight.sum()
        return self.train(weights)

    def _reseed(self, geometry: Geometry, memberships: Array, empty: Array) -> Array:
        """Give each empty cluster the point furthest from its own centre, with all its copies.

        No cluster gives its last point away: where all points are some cluster's last, or lie on
        their centres, the empty cluster shares one.
        """
        memberships = memberships.copy()
        own = np.where(self.weight > 0, (geometry.distances * memberships).sum(axis=1), -np.inf)
        nothing = SAME_POINT * np.finfo(own.dtype).eps * float(np.abs(self.operator.diag()).max())
        for k in empty:
            row = int(np.argmax(own))
            while own[row] > nothing:
                copies = self.operator.columns([row])[:, 0] >= self._self_similarity(row)
                left = self.weight @ np.where(copies[:, None], 0, memberships)
                own = np.where(copies & (self.weight > 0), 0, own)
                if (left[memberships[copies].any(axis=0)] > 0).all():
                    memberships[copies] = 0
                    memberships[copies, k] = 1
                    break
                row = int(np.argmax(own))
            else:
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
    share = weight.astype(np.float64) / weight.sum(dtype=np.float64)
    root = np.sqrt(share)
    mean = root / np.linalg.norm(root)

    def centred(v: Array) -> Array:
        v = np.asarray(v, dtype=np.float64).reshape(root.size, -1)
        v = root[:, None] * (v - np.outer(mean, mean @ v))
        v = root[:, None] * (operator @ v)
        return np.asarray(v - np.outer(mean, mean @ v))

    n, diag = root.size, operator.diag()
    length = float(share @ (operator @ share))  # squared, of the mean
    rounding = SAME_POINT * float(np.finfo(operator.dtype).eps) * float(np.abs(diag).max())
    if float(share @ diag) - length <= rounding:
        return 0.0  # all points are one
    if n <= KRYLOV:
        value = float(np.linalg.eigvalsh(centred(np.eye(n)))[-1])
    else:
        gram = LinearOperator((n, n), matvec=centred, matmat=centred, dtype=np.float64)
        first = np.random.RandomState(0).uniform(size=n)
        # the eigenvalue's error is the square of the tolerance, which is its vector's
        options = {"which": "LA", "v0": first, "ncv": KRYLOV, "tol": 1e-6}
        value = float(eigsh(gram, 1, return_eigenvectors=False, **options)[0])
    return max(value, 0.0)
