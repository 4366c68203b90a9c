"""Clusters that are weighted one-class SVMs, soft (Bicego and Figueiredo 2009) or hard (2005).

An EM-like loop: machines weighted with the memberships, memberships from how deep points lie in
the machines; the rules are in `softkern.rules.one_class`. The hard form is k-means whose centers
are those of spheres. Neither is bound to bring its objective down, so that the loop looks for
cycles.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from softkern._utils.random import as_random_state
from softkern._utils.typing import Array
from softkern.exceptions import CollapseWarning, ReseedWarning, warn
from softkern.models.base import UNKNOWN_LENGTHS, KernelModel
from softkern.models.checks import check_apart, check_n_clusters, check_semidefinite, check_start
from softkern.models.clusterer import CenterClustering
from softkern.models.point_scores import Reading
from softkern.models.starts import INITS, draw_of
from softkern.operators.base import CrossOperator, Geometry, KernelOperator
from softkern.planning import plan
from softkern.rows import priority_sample, share_among_copies
from softkern.rules.base import Centers, Rule
from softkern.rules.one_class import FORMULATIONS, Formulation, Hard, Machines, Margins, Mixture
from softkern.solvers.alternate import anneal, best_of
from softkern.solvers.collapse import coinciding, principal_variance
from softkern.solvers.dual import Duals
from softkern.solvers.initialization import SAME_SCATTER, by_size, hard_rule, k_means_mass
from softkern.solvers.steps import Solution

__all__ = ["OneClassKMeans", "OneClassMixture"]

LEAST_WIDTH = 1e-6  # of a cluster, squared, as a share of the points' mean squared distance
DUAL_TOL = 1e-8  # of the machines at most; they are to be better known than the loop's changes
AHEAD_FROM = 10_000  # rows; up to there the duals are quicker on a kernel matrix in memory
STARTS_ROWS = 2_000  # on which starts run where there are more than that
STARTS_TOL = 10.0  # times the tolerance to which they run before the best of them goes on
AUTO_SCALE = 0.1  # of the critical scale; benchmarks/calibrate.py compares others
ANNEALING_START = 0.9  # of the critical scale, where annealing="auto" starts
ANNEALING_FACTOR = 0.9  # from scale to scale
TILT = 0.5  # range of the factors by which the masses of equal clusters are made to differ
EQUAL_MEMBERSHIPS = 0.02  # memberships this near to the cluster weights hold no information
MOST_SCALES = 10_000  # of an annealing; the paper's has 77


class _OneClassClustering(CenterClustering):
    """What the soft and the hard clustering share: machines, starts, and what is stored."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "n_clusters": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "formulation": [StrOptions(set(FORMULATIONS))],
        "nu": [Interval(Real, 0, 1, closed="right")],
        "init": [StrOptions(INITS), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }
    _state: ClassVar[tuple[str, ...]] = (
        "cluster_weights_",
        "offset_",
        "radius_",
        "_totals",
        "_least_width",
    )
    formulation: str
    nu: float
    init: Any
    n_init: int

    @abstractmethod
    def _rule(self) -> Mixture | Hard:
        """The membership rule of the fitted model."""

    @property
    def _formulation(self) -> Formulation:
        return FORMULATIONS[self.formulation]

    def _machines(self, operator: KernelOperator) -> Machines:
        """The center rule."""
        duals = Duals(operator, self.nu, self._formulation)
        return Machines(duals, self.nu, min(DUAL_TOL, 1e-2 * self.tol))

    def _masses(self, operator: KernelOperator, weight: Array) -> Iterator[Array]:
        """Masses of the starts, (n, c) each."""
        generator = as_random_state(self._fit_seed)
        if not isinstance(self.init, str):
            yield weight[:, None] * check_start(self.init, self.n_clusters_, weight)
        elif self.init == "k-means":
            yield k_means_mass(operator, weight, self.n_clusters_, generator, self.n_init)
        else:
            draw = draw_of(self.init, operator)
            # all are drawn before the first is used: a start does not depend on how the last went
            yield from [
                draw(operator, weight, self.n_clusters_, generator) for _ in range(self.n_init)
            ]

    def _best_of_starts(
        self,
        operator: KernelOperator,
        weight: Array,
        rule: Callable[[KernelOperator], Rule],
        run: Callable[..., Solution],
        key: Callable[[Solution, Array], float],
        **options: Any,
    ) -> Solution:
        """Where the loop ends from the best of the starts.

        ``run(operator, weight, mass, tol)`` is that of a start. Starts run no longer than they
        need to be told apart, and on some of the rows where there are very many.
        """
        part, counts = self._part_for_starts(operator, weight)
        masses = list(self._masses(part, counts))
        is_last = part is operator and (len(masses) == 1 or self._is_annealed)
        tol = self.tol if is_last else STARTS_TOL * self.tol
        ends = (run(part, counts, mass, tol) for mass in masses)
        best = best_of(ends, lambda end: key(end, counts), SAME_SCATTER)
        if is_last or (part is operator and not best.converged):
            return best
        if part is operator:
            end = self._run(operator, best.rule, best.centers, weight, **options)
            return _one_after_the_other(best, end)
        some = self.plan_.over(part.X, operator.kernel)
        geometry = some.cross(operator.X).geometry(best.coefficients, best.geometry.norms)
        loop = rule(operator)
        mass = loop.memberships.evaluate(geometry, best.centers, weight).mass
        centers = self._machines(operator).ahead(None).centers(mass, weight, None)
        return self._run(operator, loop, centers, weight, **options)

    @property
    def _is_annealed(self) -> bool:
        return getattr(self, "annealing", None) is not None

    def _part_for_starts(
        self, operator: KernelOperator, weight: Array
    ) -> tuple[KernelOperator, Array]:
        """The operator and the weights that starts run on."""
        given = not isinstance(self.init, str) or not operator.kernel.takes_points
        if given or operator.shape[0] <= AHEAD_FROM or self.n_clusters_ > STARTS_ROWS // 100:
            return operator, weight
        rows, counts = priority_sample(operator.X, STARTS_ROWS, weight, self._fit_seed)
        limit = self.plan_.memory
        some = plan(operator.X[rows], kernel=self.kernel_, memory_limit=limit)
        return some.build(operator.X[rows]), counts.astype(weight.dtype)

    def _keep(self, operator: KernelOperator, solution: Solution, weight: Array) -> Solution:
        """Store the machines and read the training points; copies of a row share alike."""
        centers = solution.centers
        margins: Margins = centers.margins
        self.cluster_weights_ = np.asarray(centers.shares)
        self.offset_ = margins.offset
        self.radius_ = np.sqrt(margins.squared_radius)
        self._totals = margins.totals
        mean = float(weight @ solution.geometry.distances.min(axis=1) / weight.sum())
        rounding = np.finfo(weight.dtype).eps * float(np.abs(operator.diag()).max())
        self._least_width = max(LEAST_WIDTH * mean, rounding, float(np.finfo(weight.dtype).tiny))
        shared = share_among_copies(operator.X, solution.coefficients, weight)
        solution = replace(solution, centers=replace(centers, coefficients=shared))
        self._finish(operator, solution, weight)
        return solution

    def _centers(self) -> Centers:
        """What the membership rule asks of the stored centers."""
        margins = Margins(self.offset_, self.radius_**2, self._totals)
        return Centers(self._columns, shares=self.cluster_weights_, margins=margins)

    def _log_memberships(self, geometry: Geometry) -> Array:
        return np.asarray(self._rule().log_memberships(geometry, self._centers()))

    def reading(self, X: Any) -> Reading:
        """All that the model says of new points, from one product; see `Clustering.reading`."""
        rows = self._rows(X)
        geometry = self._geometry(rows, needs_lengths=False)

        if rows.lengths_are_known:
            return self._read(geometry, lambda: self._log_products(rows, geometry))

        def unknown() -> Array:
            raise ValueError(f"{UNKNOWN_LENGTHS} predict and memberships do without.")

        return self._read(geometry, unknown, outlier_scores=unknown)

    def decision_function(self, X: Any) -> Array:
        """How deep inside every cluster's boundary, (m, n_clusters); negative outside.

        R² − D² for ``formulation="svdd"``, G − ρ for ``"ocsvm"``, of centers whose coefficients
        sum to one. The boundary is the margin of the one-class machine: the share ν of a
        cluster's weight lies on it or outside, so that at the default ν it encloses a small core.
        """
        rows = self._rows(X)
        formulation, margins = self._formulation, self._centers().margins
        if formulation.needs_lengths:
            self._check_lengths(rows)
        geometry = self._geometry(rows, needs_lengths=formulation.needs_lengths)
        return np.asarray(formulation.score(geometry) - formulation.margin(margins))

    def _geometry(self, rows: CrossOperator, needs_lengths: bool = True) -> Geometry:
        geometry = super()._geometry(rows, needs_lengths)
        if rows.lengths_are_known:
            return geometry
        # clusters compete by differences of distances, which do without K(x, x)
        return replace(geometry, distances=geometry.norms - 2 * geometry.product)

    @staticmethod
    def _check_lengths(rows: CrossOperator) -> None:
        if not rows.lengths_are_known:
            raise ValueError(f"{UNKNOWN_LENGTHS} predict and memberships do without.")

    @property
    def _widths(self) -> Any:
        # a cluster of one point has none of its own
        return np.maximum(self.radius_**2, self._least_width).astype(self.radius_.dtype)

    def _warn_of_collapse(self, solution: Solution, remedy: str) -> None:
        """Say where there are fewer clusters than asked for."""
        empty = np.flatnonzero(self.sample_weight_ @ self.memberships_ == 0)
        if empty.size:
            said = f"cluster {', '.join(map(str, empty))} has lost all its points"
            warn(f"{said}; use fewer clusters or another start.", CollapseWarning)
            return
        self._warn_of_coinciding(solution.coefficients, remedy)


class OneClassMixture(_OneClassClustering):
    """Soft clusters, each a weighted one-class SVM: WOC-SVM soft clustering.

    An EM-like loop [1]_. Every cluster is a one-class machine, trained on all points with their
    memberships as weights; a point's membership follows from how deep it lies in each machine.
    With ν below one a cluster is shaped by its margin more than by its core. f_LL, which the paper
    watches, is no objective and need not rise: the loop may end in a cycle, of which a
    `ConvergenceWarning` says the length.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        ``"auto"`` takes the number of groups with a valley between any two, one where there are
        none; `n_clusters_` says how many.
    formulation : {"svdd", "ocsvm"}, default="svdd"
        Similarity to a cluster: ``exp(−D²/σ)`` with the distance to the center of the smallest
        sphere (eq. 12), or ``exp((G − ρ)/σ)`` with the distance to the margin (eq. 13), which the
        paper's tables use.
    nu : float in (0, 1], default=0.95
        Share of a cluster's weight that shapes it, ν of the one-class machines, relative to the
        sum of the memberships. At one, centers are weighted means. Where it is so small that a
        few points can carry it, memberships no longer bind, and clusters become equal.
    scale : "auto" or float, default="auto"
        The paper's σ, the softness of the memberships. For ``"ocsvm"`` it is in the paper's units,
        where the coefficients of a machine sum to ν Σ z and so σ grows with the number of points;
        for ``"svdd"`` it is a squared distance in feature space. ``"auto"`` is a tenth of
        `critical_scale_`.
    annealing : None, "auto" or (start, stop, factor), default=None
        Run at σ = start, start × factor, … as long as σ is above stop, each from where the one
        before ended; the paper takes (5, 0.1, 0.95), and `scale` is then not used. ``"auto"`` goes
        from 0.9 × `critical_scale_` down to `scale` by the factor 0.9, and splits the cluster of
        largest variance where two have become equal: all starts then end in the same clusters, as
        a rule [2]_. Without these splits, equal clusters may not all come apart again, of which a
        `CollapseWarning` warns; start the schedule well below `critical_scale_`.
    init : {"k-means++", "k-means", "random", "gmm"} or array of shape (n, n_clusters), \
default="k-means++"
        Weights of the first machines: a point each, drawn by their squared distances in feature
        space; the clusters of kernel k-means, the best of `n_init`; a random number for every
        point and cluster; memberships of a Gaussian mixture; or given.
    n_init : int, default=5
        Random starts, run to ten times the tolerance (on some of the rows where there are more
        than 10,000). The one of the least scatter, Σ z D², goes on: f_LL is high where a cluster
        is about to die.
    bandwidth : str, float or array of shape (d,), default="auto"
        ``"auto"`` is the rule ``"within"``; the paper's τ is 1/(2 bandwidth²).
    tol : float, default=1e-4
    max_iter : int, default=300
        At every scale, where σ is annealed.
    stopping : {"relative", "mean", "sum", "objective"}, default="mean"
        What `tol` bounds: the weighted mean of the absolute change of memberships, as a share of
        the cluster's largest or not, its sum, or the change of f_LL as a share of it.
    kernel, kernel_params, engine, engine_params, random_state, verbose
        As in `OneClassPCM`; the kernel must be positive semidefinite.

    Attributes
    ----------
    labels_ : array of shape (n,)
    n_clusters_ : int
    memberships_ : array of shape (n, n_clusters)
        Rows sum to one.
    cluster_weights_ : array of shape (n_clusters,)
        γ, the mean memberships.
    scale_ : float
        σ of the end.
    critical_scale_ : float
        σ above which equal memberships are stable and clusters become one: twice the largest
        variance in feature space for ``"svdd"``, λ₁(HKH) / n_clusters for ``"ocsvm"``.
    support_, dual_coef_ : arrays of shape (n_support,) and (n_support, n_clusters)
        Rows of the training data, and coefficients of the centers on them; columns sum to one.
    offset_ : array of shape (n_clusters,)
        ρ, for coefficients that sum to one.
    radius_ : array of shape (n_clusters,)
        R of every machine's sphere.
    objective_ : float
        −f_LL of eq. 16; the lower, the better.
    history_ : dict
        ``"objective"`` and ``"change"`` of every iteration, and ``"ahead"``, how many steps on a
        low-rank factor led to it; ``"scale"`` with annealing.
    converged_ : bool
        False also where the loop ended in a cycle, of which the state of lowest objective is kept.
    outlier_scores_, overlap_scores_
        As in `PossibilisticCMeans`.
    bandwidth_, kernel_, plan_, engine_, n_iter_
        As in `OneClassPCM`.

    References
    ----------
    .. [1] M. Bicego, M. A. T. Figueiredo, "Soft clustering using weighted one-class support vector
       machines", Pattern Recognition 42(1), 2009. :doi:`10.1016/j.patcog.2008.07.004`
    .. [2] K. Rose, "Deterministic annealing for clustering, compression, classification,
       regression, and related optimization problems", Proceedings of the IEEE 86(11), 1998.
       :doi:`10.1109/5.726788`

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from softkern import OneClassMixture
    >>> X, y = make_blobs(90, centers=[[0, 0], [5, 0], [0, 5]], random_state=0)
    >>> model = OneClassMixture(n_clusters=3).fit(X)
    >>> model.cluster_weights_.round(2)
    array([0.33, 0.33, 0.33])
    >>> model.predict_proba([[0.0, 5.0]]).max().round(2)
    np.float64(1.0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_OneClassClustering._parameter_constraints,
        "scale": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "annealing": [StrOptions({"auto"}), None, "array-like"],
    }
    _state: ClassVar[tuple[str, ...]] = ("scale_", "critical_scale_")
    _products: ClassVar[int] = 40
    _ahead_from: ClassVar[float] = AHEAD_FROM

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        formulation: str = "svdd",
        nu: float = 0.95,
        scale: Any = "auto",
        annealing: Any = None,
        init: Any = "k-means++",
        n_init: int = 5,
        kernel: Any = "rbf",
        kernel_params: dict[str, Any] | None = None,
        bandwidth: Any = "auto",
        engine: str = "auto",
        engine_params: dict[str, Any] | None = None,
        tol: float = 1e-4,
        max_iter: int = 300,
        stopping: str = "mean",
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.formulation = formulation
        self.nu = nu
        self.scale = scale
        self.annealing = annealing
        self.init = init
        self.n_init = n_init
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.bandwidth = bandwidth
        self.engine = engine
        self.engine_params = engine_params
        self.tol = tol
        self.max_iter = max_iter
        self.stopping = stopping
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        if self.annealing is not None and not isinstance(self.annealing, str):
            cooling(self.annealing)

    def _fit(self, X: Any, weight: Array) -> None:
        self._choose_number(X, weight)
        operator = self._planned(X, weight, self.n_clusters_)
        check_n_clusters(self.n_clusters_, int((weight > 0).sum()))
        check_semidefinite(operator)
        check_apart(operator, weight)
        variance = principal_variance(operator, weight)
        mass = float(weight.sum()) / self.n_clusters_
        self.critical_scale_ = variance * (2.0 if self._formulation.needs_lengths else mass)
        scales = self._scales()
        equal = np.full(self.n_clusters_, 1 / self.n_clusters_, dtype=weight.dtype)
        options: dict[str, Any] = {"cycles": True, "description": "one-class mixture"}

        def rule(part: KernelOperator) -> Rule:
            return Rule(Mixture(self._formulation, scales[-1]), self._machines(part))

        def run(part: KernelOperator, counts: Array, mass: Array, tol: float) -> Solution:
            loop, centers = rule(part), self._machines(part)
            start = replace(centers.centers(mass, counts, None), shares=equal)
            if self.annealing is None:
                return self._run(part, loop, start, counts, tol=tol, **options)
            more = {**options, **self._loop_options, "tol": tol}
            if isinstance(self.annealing, str):
                more["between"] = lambda end: _separated(part, centers, end, counts)
            return anneal(part, loop, start, scales, sample_weight=counts, **more)

        def scatter(solution: Solution, counts: Array) -> float:
            """Σ w z D²: f_LL is high where a cluster is about to die."""
            return float(counts @ (solution.memberships * solution.geometry.distances).sum(axis=1))

        solution = self._best_of_starts(operator, weight, rule, run, scatter, **options)
        if isinstance(self.init, str):
            solution = by_size(solution, weight @ solution.memberships)
        self.scale_ = scales[-1]
        if self._is_annealed:
            # of a large table, some rows were annealed, and all went on at the last scale
            solution.history.setdefault("scale", [self.scale_] * solution.n_iter)
        solution = self._keep(operator, solution, weight)
        if self.n_clusters_ > 1:
            self._warn_of_equal_clusters(solution, variance)

    def _scales(self) -> list[float]:
        """σ of the loop, or of one loop after the other."""
        if self.annealing is not None and not isinstance(self.annealing, str):
            return cooling(self.annealing)
        last = self.scale
        if isinstance(last, str):  # all points are one where the critical scale is zero
            last = AUTO_SCALE * self.critical_scale_ or 1.0
        first = ANNEALING_START * self.critical_scale_
        if self.annealing is None or first <= last:
            return [float(last)]
        return [*cooling((first, last, ANNEALING_FACTOR)), float(last)]

    def _warn_of_equal_clusters(self, solution: Solution, variance: float) -> None:
        uneven = float(np.abs(self.memberships_ - self.cluster_weights_).max())
        if variance == 0:
            warn(
                "all points are one in feature space; use one cluster, or a narrower bandwidth "
                "where the points differ.",
                CollapseWarning,
            )
        elif uneven < EQUAL_MEMBERSHIPS and (self.cluster_weights_ > 0).all():
            warn(
                f"every point has the same memberships within {uneven:.2g}; scale_="
                f"{self.scale_:.3g} is too soft, clusters become equal above about "
                f"critical_scale_={self.critical_scale_:.3g}; lower the scale, or raise a small "
                "nu.",
                CollapseWarning,
            )
        else:
            remedy = "use fewer clusters, a smaller scale, or an annealing that starts lower"
            self._warn_of_collapse(solution, remedy)

    def _rule(self) -> Mixture:
        return Mixture(self._formulation, self.scale_)


class OneClassKMeans(_OneClassClustering):
    """Hard clusters, each a one-class SVM: Camastra and Verri's kernel method.

    As k-means, with the center of the smallest sphere around a cluster's points in place of their
    mean: every point goes to the nearest center, then every cluster's machine is trained on its
    own points [1]_. The 2009 paper compares its soft form with this one [2]_. With ν = 1 it is
    kernel k-means; below, the loop may end in a cycle, of which a `ConvergenceWarning` says the
    length.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        ``"auto"`` takes the number of groups with a valley between any two, one where there are
        none; `n_clusters_` says how many.
    formulation : {"svdd", "ocsvm"}, default="svdd"
        Nearest by the distance to the sphere's center, or by the depth inside the margin in
        LIBSVM's scale, as in the tables of the 2009 paper; there large clusters starve small ones.
    nu : float in (0, 1], default=0.95
        Share of a cluster's points that shapes it. At one, centers are means.
    init : {"k-means++", "k-means", "random", "gmm"} or array of shape (n, n_clusters), \
default="k-means"
        The first clusters; see `OneClassMixture`.
    n_init : int, default=5
        Random starts; kept is the one of the least scatter.
    bandwidth : str, float or array of shape (d,), default="auto"
        ``"auto"`` is the rule ``"within"``.
    kernel, kernel_params, engine, engine_params, tol, max_iter, stopping, random_state, verbose
        As in `OneClassMixture`.

    Attributes
    ----------
    labels_ : array of shape (n,)
    n_clusters_ : int
    memberships_ : array of shape (n, n_clusters)
        One for a point's own cluster, zero for the others.
    cluster_weights_ : array of shape (n_clusters,)
        Share of the weight in every cluster.
    objective_ : float
        Σ w D² to the own centers.
    support_, dual_coef_, offset_, radius_, outlier_scores_, overlap_scores_, bandwidth_, \
kernel_, plan_, engine_, n_iter_, converged_, history_
        As in `OneClassMixture`.

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

    _state: ClassVar[tuple[str, ...]] = ("_tie_error",)
    _products: ClassVar[int] = 10
    _ahead_from: ClassVar[float] = AHEAD_FROM

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        formulation: str = "svdd",
        nu: float = 0.95,
        init: Any = "k-means",
        n_init: int = 5,
        kernel: Any = "rbf",
        kernel_params: dict[str, Any] | None = None,
        bandwidth: Any = "auto",
        engine: str = "auto",
        engine_params: dict[str, Any] | None = None,
        tol: float = 1e-4,
        max_iter: int = 300,
        stopping: str = "mean",
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.formulation = formulation
        self.nu = nu
        self.init = init
        self.n_init = n_init
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.bandwidth = bandwidth
        self.engine = engine
        self.engine_params = engine_params
        self.tol = tol
        self.max_iter = max_iter
        self.stopping = stopping
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, weight: Array) -> None:
        self._choose_number(X, weight)
        operator = self._planned(X, weight, self.n_clusters_)
        check_n_clusters(self.n_clusters_, int((weight > 0).sum()))
        check_semidefinite(operator)
        options = {"cycles": True, "description": "one-class k-means"}

        def rule(part: KernelOperator) -> Rule:
            return Rule(hard_rule(part, self._formulation), self._machines(part))

        def run(part: KernelOperator, counts: Array, mass: Array, tol: float) -> Solution:
            start = self._machines(part).centers(mass, counts, None)
            return self._run(part, rule(part), start, counts, tol=tol, **options)

        def scatter(solution: Solution, counts: Array) -> float:
            return solution.objective

        solution = self._best_of_starts(operator, weight, rule, run, scatter, **options)
        if isinstance(self.init, str):
            solution = by_size(solution, weight @ solution.memberships)
        self._tie_error = hard_rule(operator, self._formulation).error
        solution = self._keep(operator, solution, weight)
        self._warn_of_collapse(solution, "use fewer clusters or another start")
        reseeded = getattr(solution.rule.memberships, "reseeded", 0)
        if reseeded:
            warn(
                f"{reseeded} times a cluster had lost all its points and was seeded again with the "
                "point furthest from its own center; use fewer clusters, init='k-means', or "
                "formulation='svdd'.",
                ReseedWarning,
            )

    def _rule(self) -> Hard:
        return Hard(self._formulation, self._tie_error)

    def _energies(self, geometry: Geometry) -> Array:
        return -self._rule().depth(geometry, self._centers())  # memberships are zero and one


def _separated(
    operator: KernelOperator, machines: Machines, solution: Solution, weight: Array
) -> Centers | None:
    """Machines of which none coincide, to anneal on from; None where all differ already.

    Clusters that are equal stay so at any scale. They count as one, and the spare ones become
    copies of those with the largest variance, which are the first to come apart (Rose 1998).
    Copies are tilted, each towards a point far from the center and from the last: where the scale
    allows it they then move apart.
    """
    shared = share_among_copies(operator.X, solution.coefficients, weight)
    mass = weight[:, None] * solution.memberships  # (n, c)
    pairs, alive = coinciding(shared), mass.sum(axis=0) > 0
    if not pairs and alive.all():
        return None
    n_clusters = mass.shape[1]
    group = np.arange(n_clusters)
    for i, j in pairs:
        group[j] = group[i]
    firsts = np.unique(group[alive])
    merged = np.stack([mass[:, group == first].sum(axis=1) for first in firsts], axis=1)
    variances = [principal_variance(operator, column) for column in merged.T]
    order = np.argsort(variances, kind="stable")[::-1]
    columns = []
    for place, k in enumerate(order):
        copies = n_clusters // firsts.size + (place < n_clusters % firsts.size)
        distances = solution.geometry.distances[:, firsts[k]]
        columns += _tilted(operator, merged[:, k], distances, copies)
    return machines.centers(np.stack(columns, axis=1), weight, None)


def _tilted(operator: KernelOperator, mass: Array, distances: Array, copies: int) -> list[Array]:
    """Equal parts of a mass (n,), all but the last larger near a point far from the others."""
    parts, is_inside = [], mass >= 0.5 * mass.max()
    for _ in range(copies - 1):
        pole = int(np.argmax(np.where(is_inside, distances, -np.inf)))
        near = np.asarray(operator.distances_to_rows([pole])[:, 0])
        distances = np.minimum(distances, near)
        parts.append(mass / copies * (1 + TILT * (0.5 - near / max(float(near.max()), 1e-300))))
    return [*parts, mass / copies]


def _one_after_the_other(first: Solution, then: Solution) -> Solution:
    """The end of a run that went on from another, with the history of both."""
    history = {name: first.history[name] + then.history[name] for name in then.history}
    return replace(then, n_iter=first.n_iter + then.n_iter, history=history)


def cooling(annealing: Any) -> list[float]:
    """Scales of a schedule (start, stop, factor), from start down to above stop.

    Examples
    --------
    >>> cooling((4.0, 1.0, 0.5))
    [4.0, 2.0]
    """
    try:
        given = np.asarray(annealing, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape != (3,) or not np.isfinite(given).all():
        raise ValueError(f"annealing={annealing!r} must be three numbers: (start, stop, factor).")
    start, stop, factor = given.tolist()
    if not start > stop > 0:
        raise ValueError(
            f"annealing={annealing!r} has no step: start={start:g} must be above stop={stop:g}, "
            "which must be positive; the scale goes down."
        )
    if not 0 < factor < 1:
        raise ValueError(
            f"annealing={annealing!r} does not cool: factor={factor:g} must lie between 0 and 1."
        )
    steps = int(np.ceil((np.log(stop) - np.log(start)) / np.log(factor) - 1e-9))
    if steps > MOST_SCALES:
        raise ValueError(
            f"annealing={annealing!r} has {steps:,} steps, each a run of the loop; lower the "
            f"factor or raise stop, so that there are at most {MOST_SCALES:,}."
        )
    return [start * factor**step for step in range(steps)]
