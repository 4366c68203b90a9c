"""What the soft and the hard one-class clustering share: parameters, starts, and what is stored."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from softkern.models.base import KernelModel
from softkern.models.clustering import CentreClustering
from softkern.models.support_vectors import (
    UNKNOWN_LENGTHS,
    check_semidefinite,
    lengths_are_known,
)
from softkern.operators.base import CrossOperator, Geometry, KernelOperator
from softkern.rows import canonical_rows, distinct_rows, row_uniforms, share_among_copies
from softkern.rules.one_class import OneClassRule, closeness
from softkern.solvers.alternate import Solution
from softkern.solvers.starts import check_n_clusters, seeds

__all__ = [
    "SAME_SCATTER",
    "OneClassClusters",
    "by_size",
    "gaussian_weights",
    "point_weights",
    "random_weights",
    "scatter",
]

Array = NDArray[Any]

SAME_SCATTER = 1e-4  # starts whose scatter differs by less have found the same clusters
LEAST_WIDTH = 1e-6  # of a cluster, squared, as a share of the points' mean squared distance
SAME_SIZE = 1e-3  # shares of the weight that are one: ten times what the loop's tolerance leaves
MOST_DRAWN = 20_000  # rows on which a Gaussian mixture is fitted


class OneClassClusters(CentreClustering):
    """Base of the clusterings whose clusters are one-class machines."""

    _auto_bandwidth: ClassVar[str] = "global"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "formulation": [StrOptions({"svdd", "ocsvm"})],
        "nu": [Interval(Real, 0, 1, closed="right")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "stopping": [StrOptions({"absolute", "sum", "objective"})],
    }
    _state: ClassVar[tuple[str, ...]] = ("cluster_weights_", "offset_", "radius_", "_least_width")

    def _machines(
        self, X: Any, sample_weight: Any
    ) -> tuple[KernelOperator, Array, np.random.RandomState]:
        """Operator, weights and generator, everything checked."""
        operator, weight = self._prepare(X, sample_weight, columns=self.n_clusters)
        check_n_clusters(self.n_clusters, int((weight > 0).sum()))
        check_semidefinite(operator)
        return operator, weight, check_random_state(self.random_state)

    def _rule_options(self, operator: KernelOperator, weight: Array) -> dict[str, Any]:
        return {
            "operator": operator,
            "weight": weight,
            "nu": self.nu,
            "formulation": self.formulation,
            "cluster_weights": np.full(self.n_clusters, 1 / self.n_clusters, dtype=weight.dtype),
            # the machines are to be better known than the loop's changes
            "dual_tol": min(1e-8, 1e-2 * self.tol),
        }

    def _loop_options(self, weight: Array) -> dict[str, Any]:
        return {
            "sample_weight": weight,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "stopping": self.stopping,
            "cycles": True,
            "verbose": bool(self.verbose),
        }

    def _keep(self, operator: KernelOperator, solution: Solution, weight: Array) -> Geometry:
        """Store the machines and tell the training points of them; returns how these lie."""
        rule: OneClassRule = solution.rule
        self.cluster_weights_ = rule.cluster_weights.astype(weight.dtype)
        self.offset_ = rule.offset
        self.radius_ = np.sqrt(rule.squared_radius)
        mean = float(weight @ solution.geometry.distances.min(axis=1) / weight.sum())
        rounding = np.finfo(weight.dtype).eps * float(np.abs(operator.diag()).max())
        self._least_width = max(LEAST_WIDTH * mean, rounding, float(np.finfo(weight.dtype).tiny))
        shared = share_among_copies(operator.X, solution.coefficients, weight)
        return self._finish(operator, replace(solution, coefficients=shared), weight)

    def _record(self, solution: Solution) -> None:
        """As for every model, in words that fit `stopping`; a cycle wants no more iterations."""
        super()._record(replace(solution, converged=True))
        self.converged_ = solution.converged
        if solution.converged:
            return
        if not solution.cycle:
            what = "the objective" if self.stopping == "objective" else "memberships"
            warnings.warn(
                f"the change of {what} was {solution.history['change'][-1]:.2g} after max_iter="
                f"{self.max_iter} iterations, above tol={self.tol}; raise one of them.",
                ConvergenceWarning,
                stacklevel=4,
            )
            return
        warnings.warn(
            f"the loop came back to where it was {solution.cycle} steps before, and was stopped "
            f"after {solution.n_iter} iterations at the best state of that cycle; another start, "
            "nu, bandwidth or scale may settle.",
            ConvergenceWarning,
            stacklevel=4,
        )

    def decision_function(self, X: Any) -> Array:
        """How deep inside every cluster's boundary, (m, n_clusters); negative outside.

        R² − D² for ``formulation="svdd"``, G − ρ for ``"ocsvm"``, of centres whose coefficients
        sum to one. The boundary is the margin of the one-class machine: the share ν of a
        cluster's weight lies on it or outside, so that at the default ν it encloses a small core.
        """
        geometry = self._new_geometry(X)[1]
        if self.formulation == "svdd":
            self._check_lengths()
        level = -(self.radius_**2) if self.formulation == "svdd" else 0.0
        return np.asarray(closeness(geometry, self.formulation, self.offset_) - level)

    def _isolation(
        self,
        rows: KernelOperator | CrossOperator,
        geometry: Geometry,
        weight: Array | None = None,
    ) -> Array:
        if weight is None:
            self._check_lengths()
        return super()._isolation(rows, geometry, weight)

    def _new_geometry(self, X: Any) -> tuple[CrossOperator, Geometry]:
        check_is_fitted(self)
        if lengths_are_known(self):
            return super()._new_geometry(X)
        rows = self._cross(self._check_new(X))
        product = rows @ self._coefficients
        return rows, Geometry(product, self._norms, np.full_like(product, np.nan))

    def _check_lengths(self) -> None:
        """Distances of new points need K(x, x); what clusters compete by does not."""
        if not lengths_are_known(self):
            raise ValueError(f"{UNKNOWN_LENGTHS} predict and memberships do without.")

    @property
    def _widths(self) -> Any:
        # a cluster of one point has none of its own
        return np.maximum(self.radius_**2, self._least_width).astype(self.radius_.dtype)


def by_size(solution: Solution) -> Solution:
    """The same clusters, largest first, so that they have the same names from every start."""
    rule, old = copy.copy(solution.rule), solution.geometry
    order = np.lexsort((-old.norms, _size_ranks(rule.cluster_weights)))
    for name in ("cluster_weights", "totals", "offset", "squared_radius"):
        setattr(rule, name, getattr(rule, name)[order])
    return replace(
        solution,
        coefficients=solution.coefficients[:, order],
        geometry=old.take(order),
        memberships=solution.memberships[:, order],
        rule=rule,
    )


def _size_ranks(shares: Array) -> Array:
    """Ranks, (c,), the largest share first; shares that follow on each other closely have one."""
    order = np.argsort(-shares, kind="stable")
    apart = -np.diff(shares[order], prepend=shares[order[:1]]) > SAME_SIZE
    ranks = np.empty(shares.size, dtype=np.intp)
    ranks[order] = np.cumsum(apart)
    return ranks


def scatter(solution: Solution) -> float:
    """Σ w z D²: how far points lie from the centres of their clusters."""
    distances = (solution.memberships * solution.geometry.distances).sum(axis=1)
    return float(solution.rule.weight @ distances)


def point_weights(
    operator: KernelOperator, weight: Array, n_clusters: int, generator: np.random.RandomState
) -> Array:
    """One point a cluster, drawn as k-means++ draws them, each with the weight of a cluster."""
    start = seeds(operator, weight, n_clusters, generator)
    return np.asarray(
        start * (weight.sum() / n_clusters / np.where(weight > 0, weight, 1))[:, None]
    )


def random_weights(
    operator: KernelOperator, weight: Array, n_clusters: int, generator: np.random.RandomState
) -> Array:
    """A number in (0, 1) for every distinct row and cluster, made of its values and the seed."""
    index, mass = distinct_rows(operator.X, weight)
    start = np.zeros((weight.size, n_clusters), dtype=weight.dtype)
    for k in range(n_clusters):
        # the copies' weight goes to the first of them, which is the same for the dual
        uniform = row_uniforms(operator.X[index], int(generator.randint(2**31 - 1)))
        start[index, k] = uniform * mass / weight[index]
    return start


def gaussian_weights(
    operator: KernelOperator, weight: Array, n_clusters: int, generator: np.random.RandomState
) -> Array:
    """Memberships of a Gaussian mixture in input space, (n, c)."""
    X = operator.X
    if sp.issparse(X):
        raise ValueError("init='gmm' needs dense data; use 'random_points' or 'random_weights'.")
    index, mass = canonical_rows(X, weight)
    reached = np.cumsum(mass)
    # whole weights that are not too many draw every row as often as it weighs
    fewest = max(index.size, n_clusters)
    drawn = int(np.clip(round(float(reached[-1])), fewest, max(MOST_DRAWN, n_clusters)))
    places = (np.arange(drawn) + 0.5) * (reached[-1] / drawn)
    rows = index[np.minimum(np.searchsorted(reached, places), index.size - 1)]
    values = X[rows].astype(np.float64)
    centre, spread = values.mean(axis=0), values.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    model = GaussianMixture(n_clusters, random_state=generator.randint(2**31 - 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit((values - centre) / spread)
    start = model.predict_proba((X.astype(np.float64) - centre) / spread)
    # no cluster may start without any point
    return np.asarray(np.maximum(start, 1e-6), dtype=weight.dtype)
