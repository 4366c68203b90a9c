"""One possibilistic cluster for all data: a robust kernel density, and what is untypical of it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from softkern.models.base import KernelModel
from softkern.operators.base import CrossOperator, Geometry, KernelOperator
from softkern.operators.nystroem import NystroemOperator
from softkern.operators.tiled import TiledOperator
from softkern.rules.centres import weighted_mean
from softkern.rules.fuzzy import PossibilisticRule, estimate_eta
from softkern.rules.memberships import possibilistic

__all__ = ["OneClassPCM"]

Array = NDArray[Any]


class OneClassPCM(OutlierMixin, KernelModel):  # type: ignore[misc]
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
    _state: ClassVar[tuple[str, ...]] = ("eta_", "offset_", "reduction_error_", "_eta", "_others")

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
        if first.distances.max() <= 64 * np.finfo(eta.dtype).eps:
            eta = np.ones_like(eta)  # all points are the centre, whatever the width
        rule = PossibilisticRule(eta, weight)
        solution = self._run(operator, rule, start, weight, "one-cluster PCM", first)
        self._record(solution)
        self._store(operator, solution.coefficients, solution.geometry.norms, self._is_density)
        self.dual_coef_ = solution.coefficients[:, 0]
        self._eta = eta
        self.eta_ = float(eta[0])
        rows, geometry = self._training(operator, solution.geometry)
        self.memberships_ = possibilistic(geometry.distances, eta)[:, 0]
        scores, self._others = self._training_scores(rows, geometry, weight)
        self.offset_ = _threshold(scores, weight, self.contamination)
        return self

    def _training_scores(
        self, rows: KernelOperator | CrossOperator, geometry: Geometry, weight: Array
    ) -> tuple[Array, Array]:
        """Scores of the training points, (n,), and the same without one copy of themselves."""
        if not self._is_density:
            scores = np.asarray(-geometry.distances[:, 0] / self._eta)
            return scores, scores
        return self._training_log_sums(rows, geometry, self.dual_coef_, weight)

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
