"""Possibilistic c-means in feature space: several clusters that do not compete.

Memberships are typicalities, u = exp(−D²/η), each cluster for itself; centres are means weighted
by them (Filippone, Masulli and Rovetta 2007, 2010). `softkern.models.one_class_pcm` is the form
with one cluster.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from softkern.exceptions import CollapseWarning
from softkern.models.base import KernelModel
from softkern.models.clustering import CentreClustering
from softkern.operators.base import Geometry, KernelOperator
from softkern.rules.centres import weighted_mean
from softkern.rules.fuzzy import PossibilisticRule, estimate_eta
from softkern.rules.memberships import log_possibilistic
from softkern.solvers.alternate import Solution
from softkern.solvers.starts import FEWEST_DIGITS, check_n_clusters, check_start, fuzzy_start

__all__ = ["PossibilisticCMeans"]

Array = NDArray[Any]

SAME_CENTRE = 1e-4  # squared distance of two centres, in units of η


class PossibilisticCMeans(CentreClustering):
    """Possibilistic c-means in feature space (PCM_Φ); with the linear kernel, classic PCM.

    Each cluster has memberships of its own that do not compete, so that outliers have low
    memberships in all of them. The price, which the papers name: several centres can end on one
    place. A `CollapseWarning` says so.

    Parameters
    ----------
    n_clusters : int, default=2
    eta : "auto", float or array of shape (n_clusters,), default="auto"
        Squared width of the clusters in feature space; ``"auto"`` takes it from the start.
    eta_scale : float, default=1.0
        The papers' γ, with ``eta="auto"``.
    update_eta : bool, default=False
        Estimate η again in every step, as the papers allow; clusters may then shrink to points,
        which raises an error.
    init : "fuzzy" or array of shape (n, n_clusters), default="fuzzy"
        Start memberships; ``"fuzzy"`` takes them from kernel fuzzy c-means.
    n_init : int, default=5
        Starts of the fuzzy c-means; the best is taken.
    bandwidth : str, float or array of shape (d,), default="auto"
        ``"auto"`` is the rule ``"global"``: a few centres need a kernel as wide as clusters are.
    kernel, kernel_params, engine, engine_params, tol, max_iter, stopping, random_state, verbose
        As in `OneClassPCM`.

    Attributes
    ----------
    labels_ : array of shape (n,)
    memberships_ : array of shape (n, n_clusters)
        u = exp(−D²/η); rows do not sum to one.
    eta_ : array of shape (n_clusters,)
    dual_coef_ : array of shape (n, n_clusters)
        Weight of every training point in every centre.
    bandwidth_, kernel_, engine_, n_iter_, converged_, objective_, history_
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

    _auto_bandwidth: ClassVar[str] = "global"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "eta": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither"), "array-like"],
        "eta_scale": [Interval(Real, 0, None, closed="neither")],
        "update_eta": ["boolean"],
        "init": [StrOptions({"fuzzy"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        eta: Any = "auto",
        eta_scale: float = 1.0,
        update_eta: bool = False,
        init: Any = "fuzzy",
        n_init: int = 5,
        kernel: Any = "rbf",
        kernel_params: dict[str, Any] | None = None,
        bandwidth: Any = "auto",
        engine: str = "auto",
        engine_params: dict[str, Any] | None = None,
        tol: float = 1e-4,
        max_iter: int = 100,
        stopping: str = "mean",
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.eta = eta
        self.eta_scale = eta_scale
        self.update_eta = update_eta
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
        operator, weight = self._prepare(X, sample_weight, columns=self.n_clusters)
        check_n_clusters(self.n_clusters, operator.shape[0])
        start = self._start_memberships(operator, weight)
        with np.errstate(divide="ignore"):
            coefficients = weighted_mean(np.log(start), weight)
        first = operator.geometry(coefficients)
        eta = self._start_eta(operator, first.distances, start, weight)
        rule = PossibilisticRule(eta, weight, self.eta_scale, self.update_eta)
        solution = self._run(operator, rule, coefficients, weight, "possibilistic c-means", first)
        self.eta_ = rule.eta
        self._finish(operator, solution, weight)
        self._warn_of_collapse(solution)
        return self

    def _start_memberships(self, operator: KernelOperator, weight: Array) -> Array:
        if isinstance(self.init, str):
            return fuzzy_start(
                operator, weight, self.n_clusters, self.n_init, self.max_iter, self.random_state
            )
        return check_start(self.init, self.n_clusters, weight)

    def _start_eta(
        self, operator: KernelOperator, distances: Array, start: Array, weight: Array
    ) -> Array:
        if isinstance(self.eta, str):
            eta = estimate_eta(distances, start, weight, self.eta_scale)
            floor = FEWEST_DIGITS * operator.distance_error
            return np.where(eta > floor, eta, max(float(eta.max()), 1.0))
        eta = np.asarray(self.eta, dtype=distances.dtype)
        if eta.ndim > 1 or eta.size not in (1, self.n_clusters) or not (eta > 0).all():
            raise ValueError(
                f"eta={self.eta!r} must be one positive number, or {self.n_clusters} of them."
            )
        return np.broadcast_to(eta, (self.n_clusters,)).copy()

    def _warn_of_collapse(self, solution: Solution) -> None:
        gaps = solution.geometry.gaps(solution.coefficients)
        near = gaps < SAME_CENTRE * np.minimum(self.eta_[:, None], self.eta_)
        pairs = np.argwhere(np.triu(near, 1))
        if pairs.size:
            named = ", ".join(f"{i} and {j}" for i, j in pairs[:5])
            warnings.warn(
                f"centres {named} coincide: possibilistic clusters do not compete, and these have "
                "found the same place. Use fewer clusters, a smaller eta_scale, or "
                "AlphaCutClustering.",
                CollapseWarning,
                stacklevel=3,
            )

    def _log_memberships(self, geometry: Geometry) -> Array:
        """log u = −D²/η, (m, c)."""
        return log_possibilistic(geometry.distances, self.eta_)

    @property
    def _widths(self) -> Any:
        return self.eta_
