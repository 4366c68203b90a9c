"""Possibilistic c-means in feature space: several clusters that do not compete.

Memberships are typicalities, u = exp(−D²/η), each cluster for itself; centres are means weighted
by them (Filippone, Masulli and Rovetta 2007, 2010). `Possibilistic` is what this model and its
one-cluster form (`softkern.models.one_class_pcm`) share.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from softkern.alternate import Solution, alternate, best_of
from softkern.centres import weighted_mean
from softkern.memberships import possibilistic
from softkern.models._rules import FuzzyRule, PossibilisticRule, estimate_eta
from softkern.models.base import CollapseWarning, KernelModel
from softkern.operators.base import Geometry, KernelOperator
from softkern.sampling import canonical_rows

__all__ = ["Possibilistic", "PossibilisticCMeans"]

Array = NDArray[Any]

SAME_CENTRE = 1e-4  # squared distance of two centres, in units of η
EQUAL_MEMBERSHIPS = 0.02  # fuzzy memberships this near to 1/c tell nothing


class Possibilistic(KernelModel):
    """What the two models share: memberships of new points from distances and η."""

    def _run(
        self,
        operator: KernelOperator,
        rule: PossibilisticRule,
        start: Array,
        first: Geometry,
        description: str,
    ) -> Solution:
        """The loop, with this model's stopping, from a start whose geometry is known."""
        return alternate(
            operator,
            rule,
            start,
            sample_weight=rule.weight,
            tol=self.tol,
            max_iter=self.max_iter,
            geometry=first,
            stopping=self.stopping,
            verbose=bool(self.verbose),
            description=description,
        )

    def _finish(self, operator: KernelOperator, solution: Solution, eta: Array) -> None:
        self._store(operator, solution.coefficients, solution.geometry.norms)
        self._eta = eta
        self.n_iter_ = solution.n_iter
        self.converged_ = solution.converged
        self.objective_ = solution.objective
        self.history_ = solution.history
        if not solution.converged:
            warnings.warn(
                f"the change of memberships was {solution.history['change'][-1]:.2g} after "
                f"max_iter={self.max_iter} iterations, above tol={self.tol}; raise one of them.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _no_spread(self, distances: Array) -> bool:
        """Whether all points coincide in feature space, so that there is nothing to estimate."""
        return bool(distances.max() <= 64 * np.finfo(distances.dtype).eps)


class PossibilisticCMeans(ClusterMixin, Possibilistic):  # type: ignore[misc]
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
        if self.n_clusters > operator.shape[0]:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than the number of points, "
                f"n_samples = {operator.shape[0]}."
            )
        start = self._start_memberships(operator, weight)
        with np.errstate(divide="ignore"):
            coefficients = weighted_mean(np.log(start), weight)
        first = operator.geometry(coefficients)
        eta = self._start_eta(first.distances, start, weight)
        rule = PossibilisticRule(eta, weight, self.eta_scale, self.update_eta)
        solution = self._run(operator, rule, coefficients, first, "possibilistic c-means")
        self._finish(operator, solution, rule.eta)
        self.eta_ = rule.eta
        _, geometry = self._training(operator, solution.geometry)
        self._relative_distances = geometry.distances / rule.eta
        self.memberships_ = possibilistic(geometry.distances, rule.eta)
        self.dual_coef_ = solution.coefficients
        self.labels_ = np.argmin(self._relative_distances, axis=1)
        self._warn_of_collapse(solution)
        return self

    def _start_memberships(self, operator: KernelOperator, weight: Array) -> Array:
        n = operator.shape[0]
        if isinstance(self.init, str):
            return _fuzzy_start(
                operator, weight, self.n_clusters, self.n_init, self.max_iter, self.random_state
            )
        start = np.asarray(self.init, dtype=operator.dtype)
        if start.shape != (n, self.n_clusters):
            raise ValueError(f"init has shape {start.shape}; it must be ({n}, {self.n_clusters}).")
        if not (np.isfinite(start).all() and (start >= 0).all() and (weight @ start > 0).all()):
            raise ValueError("init must be finite and not negative, and no column all zero.")
        return start

    def _start_eta(self, distances: Array, start: Array, weight: Array) -> Array:
        if isinstance(self.eta, str):
            eta = estimate_eta(distances, start, weight, self.eta_scale)
            floor = 64 * np.finfo(distances.dtype).eps
            return np.where(eta > floor, eta, max(float(eta.max()), 1.0))
        eta = np.asarray(self.eta, dtype=distances.dtype)
        if eta.ndim > 1 or eta.size not in (1, self.n_clusters) or not (eta > 0).all():
            raise ValueError(
                f"eta={self.eta!r} must be one positive number, or {self.n_clusters} of them."
            )
        return np.broadcast_to(eta, (self.n_clusters,)).copy()

    def _warn_of_collapse(self, solution: Solution) -> None:
        inner = solution.coefficients.T @ solution.geometry.product
        norms = inner.diagonal()
        gaps = norms[:, None] + norms - 2 * inner
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

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The cluster of highest membership, also where all of them underflow, (m,)."""
        return np.asarray(np.argmin(self._relative(X), axis=1))

    def memberships(self, X: Any) -> Array:
        """Typicalities u = exp(−D²/η) of new points, (m, n_clusters)."""
        return np.asarray(np.exp(-self._relative(X)))

    def outlier_scores(self, X: Any = None) -> Array:
        """D²/η from the nearest cluster, (m,): the higher, the less typical of any.

        Without X, the training points.
        """
        return np.asarray(self._relative(X).min(axis=1))

    def overlap_scores(self, X: Any = None) -> Array:
        """Second largest membership over the largest, (m,): one where two clusters tie.

        Without X, the training points.
        """
        relative = self._relative(X)
        if relative.shape[1] < 2:
            return np.zeros(len(relative), dtype=relative.dtype)
        first, second = np.partition(relative, 1, axis=1)[:, :2].T
        return np.asarray(np.exp(first - second))

    def _relative(self, X: Any) -> Array:
        """D²/η of new points, or of the training points for None, (m, c)."""
        check_is_fitted(self)
        return self._relative_distances if X is None else self._new_distances(X) / self._eta


def _fuzzy_start(
    operator: KernelOperator,
    weight: Array,
    n_clusters: int,
    n_init: int,
    max_iter: int,
    random_state: Any,
) -> Array:
    """Memberships of kernel fuzzy c-means, (n, c), the best of a few starts.

    Where they come out equal for all points, as they do for m = 2 and a narrow kernel, m is
    lowered until they do not.
    """
    if n_clusters == 1:
        return np.ones((operator.shape[0], 1), dtype=operator.dtype)
    generator = check_random_state(random_state)
    starts = [_seeds(operator, weight, n_clusters, generator) for _ in range(n_init)]
    m = 2.0
    while True:
        rule = FuzzyRule(m, weight)
        best = best_of(
            alternate(operator, rule, start, sample_weight=weight, tol=1e-4, max_iter=max_iter)
            for start in starts
        )
        is_equal = np.abs(best.memberships - 1 / n_clusters).max() < EQUAL_MEMBERSHIPS
        if not is_equal or m < 1.05:
            break
        m = 1 + (m - 1) / 2
    if m < 2:
        warnings.warn(
            f"fuzzy c-means with m = 2 gave every point the same memberships; the start was taken "
            f"with m = {m:.3g}. A wider kernel separates the clusters better.",
            CollapseWarning,
            stacklevel=4,
        )
    # largest first, so that clusters keep their names whichever start was the best
    order = np.argsort(-(weight @ best.memberships), kind="stable")
    return best.memberships[:, order]


def _seeds(
    operator: KernelOperator, weight: Array, n_clusters: int, generator: np.random.RandomState
) -> Array:
    """Coefficients of single points as centres, drawn by their squared distance (k-means++)."""
    index, mass = canonical_rows(operator.X, weight)
    chosen: list[int] = []
    nearest = np.ones(operator.shape[0])
    for _ in range(n_clusters):
        reached = np.cumsum(mass * nearest[index])
        draw = generator.uniform(0, reached[-1])
        row = int(index[min(int(np.searchsorted(reached, draw, side="right")), index.size - 1)])
        coefficients = np.zeros(operator.shape[0], dtype=operator.dtype)
        coefficients[row] = 1
        distances = operator.squared_distances(coefficients)
        nearest = distances if not chosen else np.minimum(nearest, distances)
        if not nearest.any():  # fewer distinct points than clusters
            nearest = np.ones(operator.shape[0])
        chosen.append(row)
    starts = np.zeros((operator.shape[0], n_clusters), dtype=operator.dtype)
    starts[chosen, np.arange(n_clusters)] = 1
    return starts
