"""Soft clustering with a mixture of weighted one-class SVMs (Bicego and Figueiredo 2009).

An EM-like loop: machines weighted with the memberships, memberships from how deep points lie in
the machines. The rule is in `softkern.rules.one_class`; here are the starts' number, the
scale of the similarities and its annealing.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils._param_validation import Interval, StrOptions

from softkern.exceptions import CollapseWarning
from softkern.kernels import Precomputed
from softkern.models.one_class_base import (
    SAME_SCATTER,
    OneClassClusters,
    by_size,
    gaussian_weights,
    point_weights,
    random_weights,
    scatter,
)
from softkern.operators.base import Geometry, KernelOperator
from softkern.rules.memberships import log_joint, log_mixture
from softkern.rules.one_class import MixtureRule, depth, principal_variance
from softkern.solvers.alternate import Solution, alternate, anneal, best_of
from softkern.solvers.starts import check_start

__all__ = ["OneClassMixture"]

Array = NDArray[Any]

# Of the critical scale. Mean adjusted Rand index over iris, wbc, wine, pima_tr, biomed and six sets
# of blobs, six random starts each: at 0.02, 0.05, 0.1, 0.2, 0.5 of it, SVDD gave 0.737, 0.743,
# 0.745, 0.744, 0.701 and OC-SVM 0.673, 0.676, 0.680, 0.615, 0.622.
AUTO_SCALE = 0.1
EQUAL_MEMBERSHIPS = 0.02  # memberships this near to the cluster weights tell nothing
MOST_SCALES = 10_000  # of an annealing; the paper's has 77
SAME_CENTRE = 1e-4  # squared distance of two centres, as a share of the largest variance
STARTS = {
    "random_points": point_weights,
    "random_weights": random_weights,
    "gmm": gaussian_weights,
}


class OneClassMixture(OneClassClusters):
    """Soft clusters, each a weighted one-class SVM: WOC-SVM soft clustering.

    An EM-like loop [1]_. Every cluster is a one-class machine, trained on all points with their
    memberships as weights; a point's membership follows from how deep it lies in each machine.
    With ν below one a cluster is shaped by its margin more than by its core. f_LL, which the paper
    watches, is no objective and need not rise: the loop may go round, which is found and said.

    Parameters
    ----------
    n_clusters : int, default=2
    formulation : {"svdd", "ocsvm"}, default="svdd"
        Similarity to a cluster: ``exp(−D²/σ)`` with the distance to the centre of the smallest
        sphere (eq. 12), or ``exp((G − ρ)/σ)`` with the distance to the margin (eq. 13), which the
        paper's tables use.
    nu : float in (0, 1], default=0.95
        Share of a cluster's weight that shapes it, ν of the one-class machines, relative to the
        sum of the memberships. At one, centres are weighted means. Where it is so small that a
        few points can carry it, memberships no longer bind, and clusters melt into one.
    scale : "auto" or float, default="auto"
        The paper's σ, the softness of the memberships. For ``"ocsvm"`` it is in the paper's units,
        where the coefficients of a machine sum to ν Σ z and so σ grows with the number of points;
        for ``"svdd"`` it is a squared distance in feature space. ``"auto"`` is a tenth of
        `critical_scale_`.
    annealing : None or (start, stop, factor), default=None
        Run at σ = start, start × factor, … as long as σ is above stop, each from where the one
        before ended; the paper takes (5, 0.1, 0.95). `scale` is then not used. Start below
        `critical_scale_`: clusters that have melted into one may not all come apart again, of
        which a `CollapseWarning` tells.
    init : {"random_points", "random_weights", "gmm"} or array of shape (n, n_clusters)
        Weights of the first machines: a point each, drawn as k-means++ draws them; a random number
        for every point and cluster; memberships of a Gaussian mixture; or given.
    n_init : int, default=5
        Random starts; kept is the one of the least scatter, Σ z D², since f_LL is high where a
        cluster is about to die.
    bandwidth : str, float or array of shape (d,), default="auto"
        ``"auto"`` is the rule ``"global"``; the paper's τ is 1/(2 bandwidth²).
    tol : float, default=1e-4
    max_iter : int, default=300
        At every scale, where σ is annealed.
    stopping : {"absolute", "sum", "objective"}, default="absolute"
        What `tol` bounds: the weighted mean of the absolute change of memberships, its sum, or
        the change of f_LL as a share of it.
    kernel, kernel_params, engine, engine_params, random_state, verbose
        As in `OneClassPCM`; the kernel must be positive semidefinite.

    Attributes
    ----------
    labels_ : array of shape (n,)
    memberships_ : array of shape (n, n_clusters)
        Rows sum to one.
    cluster_weights_ : array of shape (n_clusters,)
        γ, the mean memberships.
    scale_ : float
        σ of the end.
    critical_scale_ : float
        σ above which equal memberships are stable and clusters melt into one: twice the largest
        variance in feature space for ``"svdd"``, λ₁(HKH) / n_clusters for ``"ocsvm"``.
    dual_coef_ : array of shape (n, n_clusters)
        Coefficients of the centres; columns sum to one.
    offset_ : array of shape (n_clusters,)
        ρ, for coefficients that sum to one.
    radius_ : array of shape (n_clusters,)
        R of every machine's sphere.
    objective_ : float
        f_LL of eq. 16; the higher, the better.
    history_ : dict
        ``"objective"`` (f_LL) and ``"change"`` of every iteration; ``"scale"`` with annealing.
    converged_ : bool
        False also where the loop went round; the state of highest f_LL in that cycle is then kept.
    bandwidth_, kernel_, engine_, n_iter_
        As in `OneClassPCM`.

    References
    ----------
    .. [1] M. Bicego, M. A. T. Figueiredo, "Soft clustering using weighted one-class support vector
       machines", Pattern Recognition 42(1), 2009. :doi:`10.1016/j.patcog.2008.07.004`

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
        **OneClassClusters._parameter_constraints,
        "scale": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "annealing": [None, "array-like"],
        "init": [StrOptions(set(STARTS)), "array-like"],
    }
    _state: ClassVar[tuple[str, ...]] = ("critical_scale_", "scale_", "_cluster_scale")

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        formulation: str = "svdd",
        nu: float = 0.95,
        scale: Any = "auto",
        annealing: Any = None,
        init: Any = "random_points",
        n_init: int = 5,
        kernel: Any = "rbf",
        kernel_params: dict[str, Any] | None = None,
        bandwidth: Any = "auto",
        engine: str = "auto",
        engine_params: dict[str, Any] | None = None,
        tol: float = 1e-4,
        max_iter: int = 300,
        stopping: str = "absolute",
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or a Gram matrix for kernel="precomputed"
        y : ignored
        sample_weight : array of shape (n,), default=None
            A weight of two counts a row twice.
        """
        if self.annealing is not None:
            cooling(self.annealing)  # before any work
        operator, weight, generator = self._machines(X, sample_weight)
        starts = self._starts(operator, weight, generator)
        variance = principal_variance(operator, weight)
        mass = float(weight.sum()) / self.n_clusters
        self.critical_scale_ = variance * (2.0 if self.formulation == "svdd" else mass)
        scales = [self._fixed_scale()] if self.annealing is None else cooling(self.annealing)
        runs = (self._run_from(operator, weight, start, scales) for start in starts)
        solution = best_of(runs, scatter, SAME_SCATTER)
        if isinstance(self.init, str):
            solution = by_size(solution)
        rule: MixtureRule = solution.rule
        self.scale_ = rule.scale
        self._cluster_scale = rule.cluster_scale
        # the loop brings −f_LL down; users read f_LL
        history = {**solution.history, "objective": [-v for v in solution.history["objective"]]}
        outward = replace(solution, objective=-solution.objective, history=history)
        self._keep(operator, outward, weight)
        self._warn_of_collapse(solution, variance)
        return self

    def _run_from(
        self, operator: KernelOperator, weight: Array, start: Array, scales: list[float]
    ) -> Solution:
        rule = MixtureRule(**self._rule_options(operator, weight), scale=scales[0])
        coefficients, product = rule.train(weight[:, None] * start)
        options = self._loop_options(weight)
        options["geometry"] = operator.geometry(coefficients, product)
        options["description"] = "one-class mixture"
        if self.annealing is None:
            return alternate(operator, rule, coefficients, **options)
        return anneal(operator, rule, coefficients, scales, **options)

    def _starts(
        self, operator: KernelOperator, weight: Array, generator: np.random.RandomState
    ) -> list[Array]:
        if not isinstance(self.init, str):
            return [check_start(self.init, self.n_clusters, weight)]
        if self.init == "gmm" and isinstance(self.kernel_, Precomputed):
            raise ValueError(
                "init='gmm' needs the points themselves, and kernel='precomputed' gives only their "
                "kernel values; use 'random_points' or 'random_weights'."
            )
        draw = STARTS[self.init]
        return [draw(operator, weight, self.n_clusters, generator) for _ in range(self.n_init)]

    def _fixed_scale(self) -> float:
        if not isinstance(self.scale, str):
            return float(self.scale)
        return AUTO_SCALE * self.critical_scale_ or 1.0  # all points are one where it is zero

    def _warn_of_collapse(self, solution: Solution, variance: float) -> None:
        dead = np.flatnonzero(self.cluster_weights_ == 0)
        uneven = float(np.abs(self.memberships_ - self.cluster_weights_).max())
        pairs = coinciding(solution, SAME_CENTRE * variance)
        if dead.size:
            said = f"cluster {', '.join(map(str, dead))} has lost all its points"
            remedy = "use fewer clusters or another start"
        elif self.n_clusters > 1 and variance == 0:
            said = "all points are one in feature space"
            remedy = "use one cluster, or a narrower bandwidth where the points differ"
        elif self.n_clusters > 1 and uneven < EQUAL_MEMBERSHIPS:
            said = f"every point has the same memberships within {uneven:.2g}"
            remedy = (
                f"scale_={self.scale_:.3g} is too soft, clusters melt above about "
                f"critical_scale_={self.critical_scale_:.3g}; lower the scale, or raise a small nu"
            )
        elif pairs.size:
            said = f"centres {', '.join(f'{i} and {j}' for i, j in pairs[:5])} coincide"
            remedy = "use fewer clusters, a smaller scale, or an annealing that starts lower"
        else:
            return
        warnings.warn(f"{said}; {remedy}.", CollapseWarning, stacklevel=3)

    def _log_memberships(self, geometry: Geometry) -> Array:
        """log z, (m, c)."""
        near = depth(geometry, self.formulation, self.offset_)
        return log_mixture(log_joint(near, self.cluster_weights_, self._cluster_scale))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # scikit-learn's check of sparse data asks whoever has predict_proba for these
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def predict_proba(self, X: Any) -> Array:
        """Memberships of new points, (m, n_clusters); rows sum to one."""
        return self.memberships(X)


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


def coinciding(solution: Solution, nearest: float) -> Array:
    """Pairs of centres whose squared distance is below `nearest`, (p, 2)."""
    gaps = solution.geometry.gaps(solution.coefficients)
    return np.argwhere(np.triu(gaps < nearest, 1))
