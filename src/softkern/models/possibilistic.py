"""Possibilistic c-means in feature space, and its one-cluster form.

Memberships are typicalities, u = exp(−D²/η), each cluster for itself; centres are means weighted
by them (Filippone, Masulli and Rovetta 2007, 2010). With one cluster for all data the memberships
are a robust kernel density: `OneClassPCM`. With several, started from fuzzy memberships:
`PossibilisticCMeans`.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin, OutlierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from softkern.alternate import Solution, alternate, best_of
from softkern.centres import weighted_mean
from softkern.memberships import fuzzy, log_possibilistic, possibilistic
from softkern.models.base import CollapseWarning, KernelModel
from softkern.operators.base import CrossOperator, Geometry, KernelOperator
from softkern.operators.nystroem import NystroemOperator
from softkern.operators.tiled import TiledOperator
from softkern.sampling import canonical_rows

__all__ = ["OneClassPCM", "PossibilisticCMeans"]

Array = NDArray[Any]

SMALLEST_ETA = 1e-8  # as a share of the first; below it a cluster has shrunk to a point
SAME_CENTRE = 1e-4  # squared distance of two centres, in units of η
EQUAL_MEMBERSHIPS = 0.02  # fuzzy memberships this near to 1/c tell nothing


@dataclass
class PossibilisticRule:
    """u = exp(−D²/η), centres by w u; eqs. 15 and 16 of the 2010 paper."""

    eta: Array  # (c,)
    weight: Array  # (n,)
    eta_scale: float = 1.0
    update_eta: bool = False

    def __post_init__(self) -> None:
        self.first_eta = self.eta

    def memberships(self, distances: Array) -> Array:
        """U (n, c); with `update_eta`, η follows the memberships."""
        memberships = possibilistic(distances, self.eta)
        if self.update_eta:
            self.eta = estimate_eta(distances, memberships, self.weight, self.eta_scale)
            if not (self.eta > SMALLEST_ETA * self.first_eta).all():
                raise ValueError(
                    f"eta fell to {self.eta.min():.3g}, from {self.first_eta.min():.3g}: with "
                    "update_eta=True a cluster has shrunk to a point. Use update_eta=False, or a "
                    "larger eta_scale."
                )
        return memberships

    def coefficients(self, distances: Array, memberships: Array) -> Array:
        """A (n, c)."""
        return weighted_mean(log_possibilistic(distances, self.eta), self.weight)

    def objective(self, distances: Array, memberships: Array) -> float:
        """Σ w u D² + Σ η Σ w (u log u − u), eq. 14."""
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = np.where(memberships > 0, memberships * np.log(memberships), 0.0)
        terms = memberships * distances + self.eta * (entropy - memberships)
        return float((self.weight @ terms).sum())


@dataclass
class FuzzyRule:
    """u ∝ D²^(−1/(m−1)), centres by w u^m."""

    m: float
    weight: Array

    def memberships(self, distances: Array) -> Array:
        """U (n, c), rows sum to one."""
        return fuzzy(distances, self.m)

    def coefficients(self, distances: Array, memberships: Array) -> Array:
        """A (n, c)."""
        with np.errstate(divide="ignore"):
            return weighted_mean(self.m * np.log(memberships), self.weight)

    def objective(self, distances: Array, memberships: Array) -> float:
        """Σ w u^m D²."""
        return float((self.weight @ (memberships**self.m * distances)).sum())


def estimate_eta(distances: Array, memberships: Array, weight: Array, scale: float) -> Array:
    """η = γ Σ w u D² / Σ w u, (c,): eq. 17 of the 2010 paper."""
    total = weight[:, None] * memberships
    return np.asarray(scale * (total * distances).sum(axis=0) / total.sum(axis=0))


class _Possibilistic(KernelModel):
    """What the two models share: memberships of new points from distances and η."""

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

    def _distances(self, operator: KernelOperator, solution: Solution) -> Array:
        """Distances of the training points to the stored centres, (n, c)."""
        rows = self._training_rows(operator)
        if isinstance(rows, CrossOperator):
            return rows.squared_distances(self._coefficients, self._norms)
        return solution.geometry.distances

    def _no_spread(self, distances: Array) -> bool:
        """Whether all points coincide in feature space, so that there is nothing to estimate."""
        return bool(distances.max() <= 64 * np.finfo(distances.dtype).eps)


class OneClassPCM(OutlierMixin, _Possibilistic):  # type: ignore[misc]
    """One possibilistic cluster in feature space: density, typicality, outliers.

    All data are one cluster around one centre in feature space; memberships fall with the
    distance from it. In data space that is a kernel density whose weights leave out what is not
    typical. Outliers are the points of lowest density.

    Parameters
    ----------
    eta_scale : float, default=1.0
        The papers' γ: the cluster's width η as a multiple of the mean squared distance.
    contamination : float in (0, 0.5], default=0.1
        Share of the training data that `predict` calls outliers.
    kernel : str, callable or softkern.kernels.Kernel, default="rbf"
    kernel_params : dict, default=None
    bandwidth : str, float or array of shape (d,), default="auto"
        See `softkern.kernels.select_bandwidth`.
    engine : {"auto", "dense", "tiled", "fourier", "nystroem"}, default="auto"
        How products with the kernel matrix are computed; see `softkern.plan`.
    engine_params : dict, default=None
        Options of the operator, such as ``{"rank": 100}`` for ``engine="nystroem"``.
    tol : float, default=1e-4
        Stop when memberships change less than this on average.
    max_iter : int, default=100
    stopping : {"mean", "sum"}, default="mean"
        ``"sum"`` is the papers' rule: the change summed over all points.
    random_state : int, RandomState or None, default=0
    verbose : bool, default=False
        Print the plan and show a progress bar.

    Attributes
    ----------
    memberships_ : array of shape (n,)
        Typicality u = exp(−D²/η) of the training points.
    eta_ : float
    offset_ : float
        `decision_function` is `score_samples` less this.
    dual_coef_ : array of shape (n,)
        Weight of every training point in the centre; they sum to one.
    bandwidth_, kernel_, engine_
        What was chosen.
    n_iter_, converged_, objective_, history_
        How the loop went.

    References
    ----------
    M. Filippone, F. Masulli, S. Rovetta, "Applying the possibilistic c-means algorithm in
    kernel-induced spaces", IEEE Trans. Fuzzy Systems 18(3), 2010.
    :doi:`10.1109/TFUZZ.2010.2043440`

    Examples
    --------
    >>> import numpy as np
    >>> from softkern import OneClassPCM
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> X[0] = [9, 9]
    >>> model = OneClassPCM(contamination=0.01).fit(X)
    >>> model.predict([[0, 0], [9, 9]])
    array([ 1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "eta_scale": [Interval(Real, 0, None, closed="neither")],
        "contamination": [Interval(Real, 0, 0.5, closed="right")],
    }

    def __init__(
        self,
        *,
        eta_scale: float = 1.0,
        contamination: float = 0.1,
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
        self.eta_scale = eta_scale
        self.contamination = contamination
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
        """Find the centre, its width and the threshold.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or a Gram matrix for kernel="precomputed"
        y : ignored
        sample_weight : array of shape (n,), default=None
            A weight of two counts a row twice.
        """
        operator, weight = self._prepare(X, sample_weight, columns=1)
        start = weighted_mean(np.zeros((weight.size, 1), dtype=weight.dtype), weight)
        first = operator.geometry(start)
        ones = np.ones_like(first.distances)
        eta = estimate_eta(first.distances, ones, weight, self.eta_scale)
        if self._no_spread(first.distances):
            eta = np.ones_like(eta)  # all points are the centre, whatever the width
        solution = alternate(
            operator,
            PossibilisticRule(eta, weight),
            start,
            sample_weight=weight,
            tol=self.tol,
            max_iter=self.max_iter,
            geometry=first,
            stopping=self.stopping,
            verbose=bool(self.verbose),
            description="one-cluster PCM",
        )
        self.dual_coef_ = solution.coefficients[:, 0]
        self._finish(operator, solution, eta)
        self.eta_ = float(eta[0])
        self.memberships_ = possibilistic(self._distances(operator, solution), eta)[:, 0]
        rows = self._training_rows(operator)
        if isinstance(rows, CrossOperator):
            scores = self._others = self._scores(rows)
        else:
            scores, self._others = self._training_scores(rows, solution.geometry, weight)
        self.offset_ = _threshold(scores, weight, self.contamination)
        return self

    @property
    def _is_density(self) -> bool:
        """Whether the kernel falls to zero far away: distances saturate there, log K @ A not."""
        return self.kernel_.is_shift_invariant

    def _training_scores(
        self, operator: KernelOperator, geometry: Geometry, weight: Array
    ) -> tuple[Array, Array]:
        """Scores of the training points, (n,), and the same without one copy of themselves."""
        if not self._is_density:
            scores = np.asarray(-geometry.distances[:, 0] / self._eta)
            return scores, scores
        a = self.dual_coef_
        scores = operator.log_product(a, geometry.product)
        if a.size == 1:
            return scores, scores
        own = a / np.maximum(weight, 1)
        return scores, operator.log_product_of_others(a, own, geometry.product)

    def _scores(self, rows: CrossOperator) -> Array:
        """log Σ a K for kernels that vanish far away, −D²/η for others; (m,)."""
        if self._is_density:
            return np.asarray(rows.log_product(self._coefficients)[:, 0])
        distances = rows.squared_distances(self._coefficients, self._norms)
        return np.asarray(-distances[:, 0] / self._eta)

    def score_samples(self, X: Any) -> Array:
        """Typicality on a scale that does not saturate: log density, or −D²/η; (m,)."""
        return self._scores(self._cross(self._check_new(X)))

    def decision_function(self, X: Any) -> Array:
        """`score_samples` less `offset_`: negative for outliers, (m,)."""
        return np.asarray(self.score_samples(X) - self.offset_)

    def predict(self, X: Any) -> NDArray[np.int_]:
        """−1 for outliers, 1 for others, (m,)."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def memberships(self, X: Any) -> Array:
        """Typicality u = exp(−D²/η) of new points, (m,)."""
        return possibilistic(self._new_distances(X), self._eta)[:, 0]

    def outlier_scores(self, X: Any = None) -> Array:
        """The higher, the less typical, (m,); ranks follow distance however far a point is.

        Without X, the training points, none of which vouches for itself.
        """
        check_is_fitted(self)
        return np.asarray(-self._others if X is None else -self.score_samples(X))

    def reduce(self, tolerance: float = 1e-3, random_state: Any = None) -> Self:
        """A copy of this model on fewer support points, for prediction at their cost.

        The centre v is replaced by v_S on points chosen by randomly pivoted Cholesky, with
        coefficients that are not negative. For every point x, old or new,
        ``|log u(x) − log u_S(x)| ≤ 2 ‖v − v_S‖ √K(x, x) / η``, which is stored as
        `reduction_error_` (with the largest K(x, x) of the training points). Where no fewer
        points suffice, the copy keeps them all.

        Parameters
        ----------
        tolerance : float, default=1e-3
            For that bound.
        random_state : int, RandomState or None, default=None
            None takes the model's own.
        """
        check_is_fitted(self)
        if not tolerance > 0:
            raise ValueError(f"tolerance must be positive, got {tolerance!r}.")
        if self.kernel_.is_positive_semidefinite is not True or self._support.shape[0] < 2:
            raise ValueError(f"reduce needs a positive semidefinite kernel, not {self.kernel_!r}.")
        seed = self.random_state if random_state is None else random_state
        reduced = copy.copy(self)
        reduced.reduction_error_ = 0.0
        for landmarks in self._candidates(tolerance, seed):
            points, weights, error = self._project(landmarks)
            if error <= tolerance:
                reduced._support, reduced._coefficients = points, weights
                reduced.reduction_error_ = error
                break
        return reduced

    def _bound(self, gap: Array) -> Array:
        """2 ‖v − v_S‖ √K(x, x) / η."""
        largest = np.sqrt(float(self.kernel_.diag(self._support).max()))
        return np.asarray(2 * np.sqrt(np.maximum(gap, 0)) * largest / self.eta_)

    def _candidates(self, tolerance: float, seed: Any) -> Iterator[Array]:
        """Growing sets of support points, the first about large enough for the tolerance."""
        a, size = self._coefficients, self._support.shape[0]
        rank = 32
        while rank < size:
            rank = min(2 * rank, size)
            operator = NystroemOperator(
                self.kernel_, self._support, rank, 0.0, sample_weight=a[:, 0], random_state=seed
            )
            image, _ = operator._landmark_form(a)
            # what each further landmark leaves of the centre, if coefficients were free
            bounds = self._bound(self._norms[0] - np.cumsum(np.square(image[:, 0])))
            enough = np.flatnonzero(bounds <= 0.9 * tolerance)
            if enough.size:
                count = enough[0] + 1
                while count < operator.rank:
                    yield operator.landmarks[:count]
                    count = int(1.2 * count) + 1
                yield operator.landmarks

    def _project(self, landmarks: Array) -> tuple[Any, Array, float]:
        """Support points, coefficients, and the bound of their error."""
        a = self._coefficients
        operator = NystroemOperator(self.kernel_, self._support, None, 0.0, landmarks)
        points, weights = operator.compressed(a, nonnegative=True)
        inner = TiledOperator(self.kernel_, self._support).cross(points) @ a  # ⟨v, Φ(point)⟩
        norm = TiledOperator(self.kernel_, points).squared_norms(weights)[0]
        gap = self._norms[0] - 2 * weights[:, 0] @ inner[:, 0] + norm
        return points, weights, float(self._bound(gap))


def _threshold(scores: Array, weight: Array, share: float) -> float:
    """The value half way above the lowest scores that hold this share of the weight."""
    scores, weight = scores[weight > 0], weight[weight > 0]
    order = np.argsort(scores)
    reached = np.cumsum(weight[order], dtype=np.float64)
    last = int(np.searchsorted(reached, share * reached[-1] * (1 - 1e-12)))
    low = float(scores[order[last]])
    # equal points differ by rounding, and belong to one side
    above = scores[scores > low + 1e3 * np.finfo(scores.dtype).eps * max(1.0, abs(low))]
    return low if above.size == 0 else (low + float(above.min())) / 2


class PossibilisticCMeans(ClusterMixin, _Possibilistic):  # type: ignore[misc]
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
    >>> X = np.r_[np.random.default_rng(0).normal(size=(50, 2)), [[8, 8], [9, 8], [8, 9]]]
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
        solution = alternate(
            operator,
            rule,
            coefficients,
            sample_weight=weight,
            tol=self.tol,
            max_iter=self.max_iter,
            geometry=first,
            stopping=self.stopping,
            verbose=bool(self.verbose),
            description="possibilistic c-means",
        )
        self._finish(operator, solution, rule.eta)
        self.eta_ = rule.eta
        distances = self._distances(operator, solution)
        self.memberships_ = possibilistic(distances, rule.eta)
        self.dual_coef_ = solution.coefficients
        self.labels_ = _labels(distances, rule.eta)
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
        """The cluster of highest membership, (m,)."""
        return _labels(self._new_distances(X), self._eta)

    def memberships(self, X: Any) -> Array:
        """Typicalities u = exp(−D²/η) of new points, (m, n_clusters)."""
        return possibilistic(self._new_distances(X), self._eta)


def _labels(distances: Array, eta: Array) -> NDArray[np.intp]:
    """Cluster of the highest membership, also where all of them underflow."""
    return np.asarray(np.argmin(distances / eta, axis=1))


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
