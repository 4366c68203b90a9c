"""Clusterers whose clusters are one-class SVMs: their base class, and the hard one.

An EM-like loop (Bicego and Figueiredo 2009): SVMs are trained with memberships as weights, and
memberships follow from how deep samples lie in each SVM (`softkern.rules.one_class`). The objective
need not fall, so that the loop detects cycles.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from softkern._utils.random import as_random_state
from softkern._utils.sklearn_compat import Interval, StrOptions
from softkern._utils.typing import Array
from softkern.exceptions import CollapseWarning, ReseedWarning, warn
from softkern.models._array_dispatch import dispatch_arrays
from softkern.models.checks import check_n_clusters, check_semidefinite, check_start
from softkern.models.clusterer import NEEDS_LENGTHS, CenterClusterer
from softkern.models.state_schema import Floats, Number, Spec
from softkern.operators.base import Geometry, KernelOperator
from softkern.planning import plan
from softkern.rules.base import Centers, Rule
from softkern.rules.one_class import FORMULATIONS, Formulation, Hard, Margins, Mixture
from softkern.solvers.dual import OneClassCenters
from softkern.solvers.initialization import (
    INITS,
    hard_rule,
    k_means_mass,
    least_scattered,
    sort_by_mass,
)
from softkern.solvers.steps import Solution

LEAST_WIDTH = 1e-6  # of a cluster, squared, relative to the mean squared distance of samples
DUAL_TOL = 1e-8  # largest tolerance of the SVMs, which are solved more precisely than the loop
LOW_RANK_FROM = 10_000  # samples; up to there the duals are faster on a kernel matrix in memory
STARTS_ROWS = 2_000  # size of the subsample on which initializations of large data run
STARTS_TOL = 10.0  # factor of the tolerance to which initializations run before the best continues


@dataclass(eq=False, repr=False, kw_only=True)
class OneClassClusterer(CenterClusterer):
    """Base class of the soft and the hard clusterer. See the module's docstring."""

    formulation: str = "svdd"
    nu: float = 0.95
    max_iter: int = 300
    stopping: str = "mean"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CenterClusterer._parameter_constraints,
        "formulation": [StrOptions(set(FORMULATIONS))],
        "nu": [Interval(Real, 0, 1, closed="right")],
    }
    _fitted: ClassVar[dict[str, Spec]] = {
        "cluster_weights_": Floats("c", low=0),
        "offset_": Floats("c"),
        "radius_": Floats("c", low=0),
        "_totals": Floats("c"),
        "_least_width": Number(low=0),
    }
    _unknown_lengths: ClassVar[str] = ""
    _low_rank_from: ClassVar[float] = LOW_RANK_FROM

    @abstractmethod
    def _rule(self, operator: KernelOperator | None = None) -> Mixture | Hard:
        """Return the membership rule of a loop over these samples, by default for new ones."""

    def _choose_scales(self, operator: KernelOperator, weight: Array) -> None:
        """Set attributes that the rules need, before the loop."""

    def _solve(self, operator: KernelOperator, weight: Array) -> Solution:
        check_n_clusters(self.n_clusters_, int((weight > 0).sum()))
        check_semidefinite(operator)
        self._choose_scales(operator, weight)
        solution = self._best_of_starts(operator, weight)
        margins = replace(solution.centers.margins, weights=None, solution=None)  # frees the dual
        solution = replace(solution, centers=replace(solution.centers, margins=margins))
        if isinstance(self.init, str):
            solution = sort_by_mass(solution, weight)
        centers, distances = solution.centers, solution.geometry.distances
        self.cluster_weights_ = np.asarray(centers.shares)
        self.offset_, self._totals = centers.margins.offset, centers.margins.totals
        self.radius_ = np.sqrt(centers.margins.squared_radius)
        limits, mean = np.finfo(weight.dtype), float(weight @ distances.min(axis=1) / weight.sum())
        rounding = float(limits.eps) * float(np.abs(operator.diag()).max())
        self._least_width = max(LEAST_WIDTH * mean, rounding, float(limits.tiny))
        rows = operator.support_rows.reweighted(weight)
        A = rows.share_among_duplicates(solution.coefficients)
        return replace(solution, centers=replace(centers, coefficients=A))

    @property
    def _formulation(self) -> Formulation:
        return FORMULATIONS[self.formulation]

    def _loop_rule(self, operator: KernelOperator) -> Rule:
        """Return the rule of a loop, which trains one SVM per cluster in every step."""
        tol = min(DUAL_TOL, 1e-2 * self.tol)
        centers = OneClassCenters(operator, self.nu, self._formulation, tol)
        return Rule(self._rule(operator), centers)

    def _masses(self, operator: KernelOperator, weight: Array) -> list[Array]:
        """Return the masses of the initializations, (n, c) each."""
        k, generator = self.n_clusters_, as_random_state(self._fit_seed)
        if not isinstance(self.init, str):
            return [weight[:, None] * check_start(self.init, k, weight)]
        if self.init == "k-means":
            return [k_means_mass(operator, weight, k, generator, self.n_init)]
        return [INITS[self.init](operator, weight, k, generator) for _ in range(self.n_init)]

    def _run_start(
        self, operator: KernelOperator, rule: Rule, start: Centers, weight: Array, tol: float
    ) -> Solution:
        """Run the loop from an initialization, which a mixture may anneal."""
        return self._run_loop(operator, rule, start, weight, tol=tol, cycles=True)

    def _best_of_starts(self, operator: KernelOperator, weight: Array) -> Solution:
        """Return the solution of the loop from the best initialization.

        Initializations run to a larger tolerance, and on a subsample of large data, before the best
        one is continued.
        """
        part, counts = self._part_for_starts(operator, weight)
        masses, rule = self._masses(part, counts), self._loop_rule(part)
        equal = np.full(self.n_clusters_, 1 / self.n_clusters_, dtype=weight.dtype)
        starts = (replace(rule.centers.centers(m, counts, None), shares=equal) for m in masses)
        is_annealed = getattr(self, "annealing", None) is not None
        is_last = part is operator and (len(masses) == 1 or is_annealed)
        tol = self.tol if is_last else STARTS_TOL * self.tol
        ends = (self._run_start(part, rule, start, counts, tol) for start in starts)
        best = least_scattered(ends, counts)
        if is_last or (part is operator and not best.converged):
            return best
        if part is operator:
            then = self._run_loop(operator, best.rule, best.centers, weight, cycles=True)
            history = {name: best.history[name] + then.history[name] for name in then.history}
            return replace(then, n_iter=best.n_iter + then.n_iter, history=history)
        sample = self.plan_.prediction_operator(part.X, operator.kernel)
        geometry = sample.cross(operator.X).geometry(best.coefficients, norms=best.geometry.norms)
        rule = self._loop_rule(operator)
        mass = rule.memberships.evaluate(geometry, best.centers, weight).mass
        svms: Any = rule.centers
        start = svms.on_surrogate().centers(mass, weight, None)
        end = self._run_loop(operator, rule, start, weight, cycles=True)
        if is_annealed:  # all samples continued at the last scale
            end.history["scale"] = [self.scale_] * end.n_iter
        return end

    def _part_for_starts(
        self, operator: KernelOperator, weight: Array
    ) -> tuple[KernelOperator, Array]:
        """Return the operator and the weights that initializations run on."""
        given = not isinstance(self.init, str) or not operator.kernel.takes_points
        if given or operator.shape[0] <= LOW_RANK_FROM or self.n_clusters_ > STARTS_ROWS // 100:
            return operator, weight
        rows, counts = operator.support_rows.reweighted(weight).sample(STARTS_ROWS, self._fit_seed)
        # the promise of an engine with a device of its own says little of the host
        limit = None if operator.on_device else self.plan_.memory
        chosen = plan(operator.X[rows], kernel=self.kernel_, memory_limit=limit)
        return chosen.build(operator.X[rows]), counts.astype(weight.dtype)

    def _centers(self) -> Centers:
        """Return the stored centers as the membership rule needs them."""
        margins = Margins(self.offset_, self.radius_**2, self._totals)
        return Centers(self._columns, shares=self.cluster_weights_, margins=margins)

    def _log_memberships(self, geometry: Geometry) -> Array:
        return np.asarray(self._rule().log_memberships(geometry, self._centers()))

    @dispatch_arrays
    def decision_function(self, X: Any) -> Array:
        """Compute how deep samples lie inside the boundary of every cluster.

        The depth is R² − D² for ``formulation="svdd"`` and G − ρ for ``"ocsvm"``, for centers whose
        coefficients sum to one. The boundary is the margin of the one-class SVM: the share ν of a
        cluster's weight lies on it or outside, so that at the default ν it encloses a small core.

        Parameters
        ----------
        X : array or CSR matrix of shape (m, n_features)
            Samples to score.

        Returns
        -------
        decision : array of shape (m, n_clusters)
            Negative outside the boundary.
        """
        rows, formulation = self._cross(X), self._formulation
        if formulation.needs_lengths and not rows.lengths_are_known:
            raise ValueError(NEEDS_LENGTHS)
        margin = -(self.radius_**2) if formulation.needs_lengths else self.offset_
        return np.asarray(formulation.score(self._geometry(rows)) - margin)

    @property
    def _widths(self) -> Any:
        # a cluster of one sample has no width of its own
        return np.maximum(self.radius_**2, self._least_width).astype(self.radius_.dtype)

    def _warn_of_collapse(self, solution: Solution) -> None:
        empty = np.flatnonzero(self.sample_weight_ @ self.memberships_ == 0)
        if not empty.size:
            super()._warn_of_collapse(solution)
            return
        warn(
            f"Cluster {', '.join(map(str, empty))} has lost all samples. Use fewer clusters or "
            "another initialization.",
            CollapseWarning,
        )


@dataclass(eq=False, repr=False, kw_only=True)
class OneClassKMeans(OneClassClusterer):
    """Hard clusters, each a one-class SVM: Camastra and Verri's kernel method.

    k-means with the center of the smallest sphere around a cluster in place of its mean: every
    sample goes to the nearest center, then every cluster's SVM is trained on its own samples [1]_.
    The 2009 paper compares its soft form with this one [2]_. With ν = 1 it is kernel k-means. With
    a smaller ν the loop may end in a cycle, which a `ConvergenceWarning` reports.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. ``"auto"`` estimates the number of groups that are separated by density
        gaps, one where there are none.
    formulation : {"svdd", "ocsvm"}, default="svdd"
        Nearest by the distance to the sphere's center, or by the depth inside the margin in
        LIBSVM's scale, as in the tables of the 2009 paper, where large clusters starve small ones.
    nu : float in (0, 1], default=0.95
        Share of a cluster's samples that shapes it. At one, centers are means.
    init : {"k-means++", "k-means", "random", "gmm"} or array of shape (n_samples, n_clusters), \
default="k-means"
        The first clusters. See `OneClassMixture`.
    n_init : int, default=5
        Number of initializations. The one with the least scatter is used.
    kernel : str, callable or softkern.kernels.Kernel, default="rbf"
        Positive semidefinite kernel, by name, as a function of two arrays, or as an object.
    kernel_params : dict, default=None
        Parameters of a kernel that is given by name or as a function.
    bandwidth : str, float or array of shape (n_features,), default="auto"
        Bandwidth of the kernel, or a rule that chooses it. ``"auto"`` is the rule ``"within"``.
    engine, engine_params
        As in `OneClassPCM`.
    tol : float, default=1e-4
        Stop when the change that `stopping` measures is below this.
    max_iter : int, default=300
        Largest number of iterations.
    stopping : {"relative", "mean", "sum", "objective"}, default="mean"
        Measure of change. See `OneClassPCM`.
    random_state, verbose
        As in `OneClassPCM`.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of each training sample.
    n_clusters_ : int
        Number of clusters.
    memberships_ : array of shape (n_samples, n_clusters)
        One for a sample's own cluster, zero for the others.
    cluster_weights_ : array of shape (n_clusters,)
        Share of the weight in every cluster.
    objective_ : float
        Σ w D² to the own centers.
    support_, dual_coef_, offset_, radius_, outlier_scores_, overlap_scores_, converged_, history_
        As in `OneClassMixture`.
    bandwidth_, kernel_, plan_, engine_, approximation_error_, n_iter_
        As in `OneClassPCM`.

    References
    ----------
    .. [1] F. Camastra, A. Verri, "A novel kernel method for clustering", IEEE Trans. Pattern
       Analysis and Machine Intelligence 27(5), 2005. :doi:`10.1109/TPAMI.2005.88`
    .. [2] M. Bicego, M. A. T. Figueiredo, "Soft clustering using weighted one-class support vector
       machines", Pattern Recognition 42(1), 2009. :doi:`10.1016/j.patcog.2008.07.004`

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from softkern import OneClassKMeans
    >>> X, y = make_blobs(90, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> model = OneClassKMeans(n_clusters=3).fit(X)
    >>> model.cluster_weights_.round(2)
    array([0.33, 0.33, 0.33])
    """

    init: Any = "k-means"

    _fitted: ClassVar[dict[str, Spec]] = {"_tie_error": Number(low=0)}
    _products: ClassVar[int] = 10
    _description: ClassVar[str] = "one-class k-means"
    _remedy: ClassVar[str] = "Use fewer clusters or another initialization"

    def _choose_scales(self, operator: KernelOperator, weight: Array) -> None:
        self._tie_error = hard_rule(operator, self._formulation).error

    def _warn_of_collapse(self, solution: Solution) -> None:
        super()._warn_of_collapse(solution)
        reseeded = getattr(solution.rule.memberships, "reseeded", 0)
        if reseeded:
            warn(
                f"A cluster lost all samples {reseeded} times and was restarted at the sample "
                "furthest from its own center. Use fewer clusters, init='k-means', or "
                "formulation='svdd'.",
                ReseedWarning,
            )

    def _rule(self, operator: KernelOperator | None = None) -> Hard:
        if operator is None:
            return Hard(self._formulation, self._tie_error)
        return hard_rule(operator, self._formulation)

    def _energies(self, geometry: Geometry) -> Array:
        # memberships are zero and one
        return -self._formulation.closeness(geometry, self._centers().margins)
