"""Possibilistic c-means in feature space: clusters that do not compete.

Memberships are typicalities, u = exp(−D²/η), of each cluster by itself. Centers are means weighted
by them (Filippone, Masulli and Rovetta 2007, 2010).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from softkern._utils.arrays import moved, on_host, take_last, weighted_sum
from softkern._utils.sklearn_compat import Interval, StrOptions
from softkern._utils.typing import Array
from softkern.exceptions import CollapseWarning, warn
from softkern.models.checks import (
    check_apart,
    check_n_clusters,
    check_semidefinite,
    check_start,
)
from softkern.models.clusterer import CenterClusterer
from softkern.models.one_class_pcm import first_eta
from softkern.models.state_schema import Floats, Number, Spec
from softkern.operators.base import Geometry, KernelOperator
from softkern.rows import order_by_mass
from softkern.rules.base import Rule
from softkern.rules.centers import Mean
from softkern.rules.fuzzy import Fuzzy
from softkern.rules.memberships import fuzzy, hard
from softkern.rules.possibilistic import Possibilistic
from softkern.solvers.collapse import select_fuzzifier
from softkern.solvers.initialization import best_fuzzy
from softkern.solvers.steps import Solution

# Squared distance of two centers, in units of the wider cluster's η, below which they are one
# cluster: each is as typical of it as its own center (u > .95). Centers that approach each other
# slow down and stop at 1e-6 to 1e-2 of it; those that stay apart are at .2 and above.
SAME_PLACE = 0.05
SCALES = (1.0, 0.5, 0.25)  # tried by eta_scale="auto"; with less, one group can hold two centers


@dataclass(eq=False, repr=False, kw_only=True)
class PossibilisticCMeans(CenterClusterer):
    """Possibilistic c-means in feature space (PCM_Φ). With the linear kernel, classic PCM.

    Each cluster has memberships of its own that do not compete, so that outliers have low
    memberships in all of them. In return several centers can end up in the same place. They then
    count as one cluster, and a `CollapseWarning` reports how many clusters are distinct.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    eta : "auto", float or array of shape (n_clusters,), default="auto"
        Squared width of the clusters in feature space. ``"auto"`` estimates it from the
        initialization.
    eta_scale : "auto" or float, default="auto"
        The papers' γ, a factor of the estimated η. ``"auto"`` is 1, or 1/2 or 1/4 where more
        clusters are distinct with it. With ``update_eta`` it is 1.
    update_eta : bool, default=False
        Whether to estimate η again in every step, as the papers allow. Clusters may then shrink to
        points, which raises an error.
    init : {"k-means++", "k-means", "random", "gmm"} or array of shape (n_samples, n_clusters), \
default="k-means++"
        Initialization of the kernel fuzzy c-means whose memberships are used first, or these
        memberships. See `FuzzyCMeans`.
    n_init : int, default=5
        Number of initializations of the fuzzy c-means. The best one is used.
    kernel : str, callable or softkern.kernels.Kernel, default="rbf"
        Kernel, by name, as a function of two arrays, or as an object.
    kernel_params : dict, default=None
        Parameters of a kernel that is given by name or as a function.
    bandwidth : str, float or array of shape (n_features,), default="auto"
        Bandwidth of the kernel, or a rule that chooses it. ``"auto"`` is the rule ``"within"``: as
        wide as the data, features scaled by their spread within clusters.
    engine, engine_params
        As in `OneClassPCM`.
    tol : float, default=1e-4
        Stop when the change that `stopping` measures is below this.
    max_iter : int, default=100
        Largest number of iterations.
    stopping : {"relative", "mean", "sum", "objective"}, default="relative"
        Measure of change. See `OneClassPCM`.
    random_state, verbose
        As in `OneClassPCM`.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of highest membership.
    n_clusters_ : int
        Number of distinct clusters. The arrays below have that many columns.
    memberships_ : array of shape ``(n_samples, n_clusters_)``
        u = exp(−D²/η). Rows do not sum to one.
    eta_ : array of shape ``(n_clusters_,)``
        Squared width of every cluster.
    eta_scale_ : float
        The γ used.
    support_ : array of shape (n_support,)
        Indices of the training samples that make up the centers.
    dual_coef_ : array of shape ``(n_support, n_clusters_)``
        Weights of these samples in every center.
    outlier_scores_ : array of shape (n_samples,)
        Outlier scores, leave-one-out with kernels that vanish far away. See `outlier_scores`.
    overlap_scores_ : array of shape (n_samples,)
        Overlap scores. See `overlap_scores`.
    bandwidth_, kernel_, plan_, engine_, approximation_error_, n_iter_, converged_, objective_, \
history_
        As in `OneClassPCM`.

    References
    ----------
    M. Filippone, F. Masulli, S. Rovetta, "Applying the possibilistic c-means algorithm in
    kernel-induced spaces", IEEE Trans. Fuzzy Systems 18(3), 2010.
    :doi:`10.1109/TFUZZ.2010.2043440`

    Examples
    --------
    >>> import numpy as np
    >>> from softkern import PossibilisticCMeans
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> X[30:] += 8
    >>> model = PossibilisticCMeans(2, kernel="linear").fit(X)
    >>> model.predict([[0, 0]]) == model.predict([[8.5, 8.5]])
    array([False])
    """

    memberships_sum_to_one: ClassVar[bool] = False
    n_clusters: int = field(default=2, kw_only=False)
    eta: Any = "auto"
    eta_scale: Any = "auto"
    update_eta: bool = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CenterClusterer._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "eta": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither"), "array-like"],
        "eta_scale": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "update_eta": ["boolean"],
    }
    _fitted: ClassVar[dict[str, Spec]] = {
        "eta_": Floats("c", low=0, above=True),
        "eta_scale_": Number(low=0, above=True),
    }
    _description: ClassVar[str] = "possibilistic c-means"

    def _check_parameters(self) -> None:
        if isinstance(self.eta, str):
            return
        eta = np.asarray(self.eta, dtype=np.float64)
        if eta.ndim > 1 or eta.size not in (1, self.n_clusters) or not (eta > 0).all():
            raise ValueError(
                f"eta={self.eta!r} must be one positive number, or {self.n_clusters} of them."
            )

    def _solve(self, operator: KernelOperator, weight: Array) -> Solution:
        check_n_clusters(self.n_clusters, operator.shape[0])
        check_semidefinite(operator.subsample(weight)[0])
        memberships = self._start(operator, weight)
        start = Mean().centers(weight[:, None] * memberships, weight, None)
        first = operator.geometry(start.coefficients)
        is_given = not isinstance(self.eta, str)
        scales = SCALES[:1] if is_given or self.update_eta else SCALES
        best: Solution | None = None  # with the most distinct clusters
        for scale in scales if isinstance(self.eta_scale, str) else (float(self.eta_scale),):
            if is_given:
                eta = np.full(self.n_clusters, self.eta, dtype=first.distances.dtype)
            else:
                eta = first_eta(operator, first.distances, memberships, weight, scale)
            rule = Rule(Possibilistic(eta, scale, self.update_eta), Mean())
            solution = self._run_loop(operator, rule, start, weight, geometry=first)
            solution = _merge_coinciding(solution)
            if best is None or len(solution.geometry.norms) > len(best.geometry.norms):
                best = solution
            if len(best.geometry.norms) == self.n_clusters:
                break
        assert best is not None
        if isinstance(self.init, str):  # given clusters keep their order
            mass = on_host(weighted_sum(hard(best.memberships), weight))
            best = moved(best, take_last, order_by_mass(mass, best.geometry.norms))
        final: Any = best.rule.memberships
        self.eta_ = final.eta
        self.eta_scale_ = float(final.eta_scale)
        self.n_clusters_ = len(final.eta)
        return best

    def _warn_of_collapse(self, solution: Solution) -> None:
        if self.n_clusters_ < self.n_clusters:
            verb = "is" if self.n_clusters_ == 1 else "are"
            warn(
                f"Only {self.n_clusters_} of the {self.n_clusters} requested clusters {verb} "
                "distinct: some centers coincide. Use fewer clusters, a smaller eta_scale, or "
                "AlphaCutClustering.",
                CollapseWarning,
            )

    def _start(self, operator: KernelOperator, weight: Array) -> Array:
        """Return the initial memberships, (n, c): those of kernel fuzzy c-means."""
        if not isinstance(self.init, str):
            return check_start(self.init, self.n_clusters, weight)
        if self.n_clusters == 1:
            return np.ones_like(weight)[:, None]
        sample, sample_weight = operator.subsample(weight)
        check_apart(sample, sample_weight)
        m, _ = select_fuzzifier(sample, "auto", sample_weight)
        best = best_fuzzy(
            sample,
            Fuzzy(m),
            sample_weight,
            self.n_clusters,
            init=self.init,
            n_init=self.n_init,
            max_iter=self.max_iter,
            seed=self._fit_seed,
        )
        if sample is operator:
            return best.memberships
        return fuzzy(operator.geometry_from(sample, best.coefficients).distances, m)

    def _log_memberships(self, geometry: Geometry) -> Array:
        return Possibilistic(self.eta_).log_memberships(geometry)

    @property
    def _widths(self) -> Any:
        return self.eta_


def _merge_coinciding(solution: Solution) -> Solution:
    """Keep the first of the clusters whose centers coincide."""
    rule: Any = solution.rule.memberships
    gaps = on_host(solution.geometry.gaps(solution.coefficients))
    is_same = gaps < SAME_PLACE * np.maximum(rule.eta[:, None], rule.eta)
    distinct: list[int] = []
    for k in range(len(gaps)):
        if not is_same[k, distinct].any():
            distinct.append(k)
    if len(distinct) < len(gaps):
        solution = moved(solution, take_last, np.array(distinct))
    return solution
