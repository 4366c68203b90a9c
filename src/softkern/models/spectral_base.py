"""What the hard and the soft spectral model share: all but the step to memberships.

A fit chooses kernel and number of clusters (by search where they are "auto"), chooses training
rows, solves the eigenproblem over them, finds the clusters' codes and prototypes, and then tells
every row what a new point would be told: its projection and its mean similarity to the training
points, from which memberships, detection and scores follow.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from softkern.exceptions import CollapseWarning
from softkern.kernels import Kernel, Precomputed, resolve
from softkern.metrics.strength import COVERED, detect, outlier_score, overlap_score
from softkern.models.base import KernelModel
from softkern.models.spectral_search import (
    MAX_CLUSTERS,
    ROWS,
    Search,
    assign,
    bandwidth_grid,
    has_open_bandwidth,
    search,
    with_bandwidth,
)
from softkern.models.subset import TrainingRows, check_gram, training_rows, which_training_row
from softkern.operators.base import CrossOperator, KernelOperator
from softkern.operators.tiled import TiledOperator
from softkern.planning import plan
from softkern.rows import check_weights, distinct_rows
from softkern.solvers.alternate import progress_bar
from softkern.solvers.eigen import (
    Spectrum,
    prototype_distances,
    prototypes,
    soft_memberships,
    solve,
)
from softkern.solvers.starts import check_n_clusters

__all__ = ["SpectralModel"]

Array = NDArray[Any]

AUTO_TRAIN = 2000  # rows that n_train="auto" trains on
AUTO_ALL = 4000  # distinct rows up to which it trains on all of them
ROWS_AT_ONCE = 2**16  # rows projected at once
ROWS_A_CLUSTER = 20  # of the sample that bandwidths are tried on, at least
UNCONNECTED = 1e-6  # eigenvalues this near to one are those of parts that do not see each other
PRODUCTS = 40  # an eigenproblem's products, for the plan


class SpectralModel(ClusterMixin, KernelModel):  # type: ignore[misc]
    """Base of the spectral models; see the module's docstring."""

    memberships_sum_to_one: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{k: v for k, v in KernelModel._parameter_constraints.items() if k != "stopping"},
        "n_clusters": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_train": [None, StrOptions({"auto"}), Interval(Integral, 2, None, closed="left")],
        "subset": [StrOptions({"renyi", "random"})],
        "assignment": [StrOptions({"directions", "codebook"})],
    }
    _state: ClassVar[tuple[str, ...]] = (
        "labels_",
        "n_clusters_",
        "projections_",
        "prototypes_",
        "codes_",
        "eigenvalues_",
        "bias_",
        "support_",
        "mean_similarity_",
        "search_",
        "_mass",
        "_positive",
        "_fitted_logs",
        "_fitted_degree",
    )

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        n_train: int | str | None = "auto",
        subset: str = "renyi",
        assignment: str = "directions",
        kernel: Any = "rbf",
        kernel_params: dict[str, Any] | None = None,
        bandwidth: Any = "auto",
        engine: str = "auto",
        engine_params: dict[str, Any] | None = None,
        tol: float = 1e-8,
        max_iter: int = 500,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_train = n_train
        self.subset = subset
        self.assignment = assignment
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.bandwidth = bandwidth
        self.engine = engine
        self.engine_params = engine_params
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _memberships(self, projections: Array) -> Array:
        """Memberships of projected points, (m, k)."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or a Gram matrix for kernel="precomputed"
        y : ignored
        sample_weight : array of shape (n,), default=None
            A weight of two counts a row twice.
        """
        self._validate_params()
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        weight = check_weights(sample_weight, X.shape[0])
        self.sample_weight_ = weight.astype(X.dtype)
        size = self._training_size(X, weight)
        self._choose(X, weight)
        chosen = training_rows(self.kernel_, X, weight, size, self.subset, self.random_state)
        self.support_ = chosen.rows
        operator = self._operator(X, chosen.mass)
        spectrum = self._solve(operator, chosen)
        self._learn(spectrum, chosen.mass)
        self._keep(operator, spectrum, chosen.mass)
        self._tell(X, weight, operator, chosen)
        return self

    # The steps of a fit

    def _choose(self, X: Any, weight: Array) -> None:
        """The kernel and the number of clusters, by search where either is "auto"."""
        is_auto = isinstance(self.bandwidth, str) and self.bandwidth == "auto"
        open_bandwidth = is_auto and has_open_bandwidth(self.kernel, self.kernel_params)
        kernel: Kernel = resolve(
            self.kernel,
            X,
            bandwidth="global" if open_bandwidth else self.bandwidth,
            kernel_params=self.kernel_params,
            sample_weight=weight,
            random_state=self.random_state,
        )
        kernel.check(X)
        if hasattr(self, "search_"):  # of an earlier fit
            del self.search_
        self.n_clusters_ = 0 if self.n_clusters == "auto" else int(self.n_clusters)
        if self.n_clusters_ != 1 and (open_bandwidth or self.n_clusters_ == 0):
            grid = bandwidth_grid(X, weight, self.random_state) if open_bandwidth else None
            most = min(MAX_CLUSTERS, distinct_rows(X, weight)[0].size - 1)
            ks = [self.n_clusters_] if self.n_clusters_ else list(range(2, max(most, 2) + 1))
            self.search_: Search = search(
                X,
                weight,
                kernel,
                ks,
                grid,
                assignment=self.assignment,
                n_rows=max(ROWS, ROWS_A_CLUSTER * max(ks)),
                random_state=self.random_state,
            )
            self.n_clusters_, bandwidth = self.search_.best
            if bandwidth is not None:
                kernel = with_bandwidth(kernel, bandwidth)
        self._take_kernel(kernel)

    def _training_size(self, X: Any, weight: Array) -> int | None:
        """How many rows to train on, None for all; refuses what cannot be, before long work."""
        least = 2 if isinstance(self.n_clusters, str) else int(self.n_clusters)
        check_n_clusters(least, X.shape[0])
        if self._is_precomputed:
            check_gram(X)
        if self.n_train is None or (self.n_train == "auto" and X.shape[0] <= AUTO_ALL):
            return None
        if self.n_train == "auto":
            counted = (
                (weight > 0).sum() if self._is_precomputed else distinct_rows(X, weight)[0].size
            )
            return None if counted <= AUTO_ALL else max(AUTO_TRAIN, ROWS_A_CLUSTER * least)
        size = int(self.n_train)
        present = int((weight > 0).sum())
        if size > present:
            raise ValueError(
                f"n_train={size} is more than the number of points, n_samples = {present}; use "
                "n_train=None to train on all of them."
            )
        if size < least:
            raise ValueError(f"n_clusters={least} is more than n_train={size}; raise n_train.")
        return size

    def _operator(self, X: Any, mass: Array) -> KernelOperator:
        rows = self.support_
        points = X[np.ix_(rows, rows)] if isinstance(self.kernel_, Precomputed) else X[rows]
        chosen = plan(
            points,
            kernel=self.kernel_,
            columns=self.n_clusters_,
            engine=self.engine,
            iterations=PRODUCTS,
            sample_weight=mass,
        )
        return self._build(chosen, points, mass)

    def _solve(self, operator: KernelOperator, chosen: TrainingRows) -> Spectrum:
        with progress_bar(bool(self.verbose), "eigenvectors", self.tol, self.max_iter) as report:
            spectrum = solve(
                operator,
                self.n_clusters_ - 1,
                chosen.mass,
                own=chosen.own,
                tol=self.tol,
                max_iter=self.max_iter,
                report=report,
            )
        self.history_ = spectrum.history
        self.n_iter_ = len(spectrum.history["change"])
        self.objective_ = spectrum.history["objective"][-1]
        self.converged_ = spectrum.converged
        if not spectrum.converged:
            warnings.warn(
                f"the eigenvectors' residual was {spectrum.history['change'][-1]:.2g} after "
                f"max_iter={self.max_iter} iterations, above tol={self.tol}; raise one of them.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if not spectrum.is_unique:
            reason = (
                f"in this kernel the data fall apart into more than n_clusters={self.n_clusters_} "
                "unconnected parts, and which of them are told apart is chance. Use a larger "
                "bandwidth or more clusters."
                if spectrum.next_eigenvalue > 1 - UNCONNECTED
                else "the data are as even in one direction as in another, and which is cut is "
                "chance. Use another number of clusters."
            )
            warnings.warn(
                f"eigenvalue {self.n_clusters_} equals the one before it, "
                f"{spectrum.next_eigenvalue:.6g}: {reason}",
                CollapseWarning,
                stacklevel=3,
            )
        return spectrum

    def _learn(self, spectrum: Spectrum, mass: Array) -> None:
        """Codes and prototypes of the clusters, the largest cluster first."""
        k = self.n_clusters_
        codes, labels = assign(spectrum, mass, k, self.assignment)
        size = np.bincount(labels, weights=mass, minlength=k) / mass.sum()
        density = np.bincount(labels, weights=mass * spectrum.degree, minlength=k)
        order = np.lexsort((-density, -size.round(9)))
        self.codes_ = codes[order]
        known = mass * spectrum.takes_part
        self.prototypes_ = prototypes(spectrum.projections, labels, known, k)[order]
        self.eigenvalues_ = spectrum.eigenvalues
        self.bias_ = spectrum.bias

    def _keep(self, operator: KernelOperator, spectrum: Spectrum, mass: Array) -> None:
        """What new points need."""
        self.dual_coef_ = spectrum.coefficients
        self._mass = float(mass.sum())
        columns = np.column_stack([spectrum.coefficients, mass])
        self._support, self._coefficients = operator.compressed(columns)
        # landmarks give projections best with weights of both signs, which have no logarithm
        self._positive = (
            operator.compressed(mass, nonnegative=True) if operator.engine == "nystroem" else None
        )

    def _tell(self, X: Any, weight: Array, operator: KernelOperator, chosen: TrainingRows) -> None:
        """Tell the rows of X what new points are told; only degrees leave a row itself out."""
        is_gram = isinstance(self.kernel_, Precomputed)
        self.projections_, self._fitted_logs = self._project(X)
        self._fitted_degree = np.exp(self._fitted_logs) * self._mass
        copies = which_training_row(X, weight, self.support_, is_gram)
        is_copy = copies >= 0
        others = self._log_degree_of_others(operator, chosen)
        self._fitted_logs[is_copy] = others[copies[is_copy]]
        self.mean_similarity_ = np.exp(self._fitted_logs)
        self.memberships_ = self._memberships(self.projections_).astype(X.dtype)
        self.labels_ = np.argmax(self.memberships_, axis=1)
        self._warn_of_far_clusters(weight)

    def _warn_of_far_clusters(self, weight: Array) -> None:
        """Outliers that lie close together are a part of their own and take a cluster."""
        size, covered = (
            np.bincount(self.labels_, weights=mass, minlength=self.n_clusters_)
            for mass in (weight, weight * (self.mean_similarity_ >= COVERED))
        )
        is_far = (size > 0) & (covered == 0)
        if is_far.any() and covered.any():  # nothing is covered where clusters are many
            far = ", ".join(map(str, np.flatnonzero(is_far)))
            warnings.warn(
                f"no point of cluster {far} has a mean similarity of {COVERED} to the training "
                f"points: outliers that lie close together ({size[is_far].sum():g} points). Leave "
                "them out, or use more clusters or a larger bandwidth.",
                CollapseWarning,
                stacklevel=4,
            )

    def _log_degree_of_others(self, operator: KernelOperator, chosen: TrainingRows) -> Array:
        """Logarithm of the training rows' mean similarity to the other rows, (m,)."""
        _, mass, own = chosen
        if self._is_density:
            logs = operator.log_product_of_others(mass, own)
            return np.asarray(logs - np.log(self._mass))
        degree = np.asarray(operator @ mass, dtype=np.float64) - own * operator.diag()
        return _log(degree / self._mass)

    # What a fitted model says

    def _cross(self, X: Any) -> CrossOperator:
        if isinstance(self.kernel_, Precomputed):
            X = X[:, self.support_]
        return super()._cross(X)

    def _project(self, X: Any) -> tuple[Array, Array]:
        """Projections of checked points, (m, k − 1), and the logarithm of their mean similarity."""
        n = X.shape[0]
        projections = np.empty((n, self.bias_.size))
        logs = np.empty(n)
        for start in range(0, n, ROWS_AT_ONCE):
            part = slice(start, min(start + ROWS_AT_ONCE, n))
            rows = self._cross(X[part])
            product = np.asarray(rows @ self._coefficients)
            projections[part] = product[:, :-1] + self.bias_
            logs[part] = self._log_similarity(rows, product[:, -1])
        return projections, logs

    def _log_similarity(self, rows: CrossOperator, degree: Array) -> Array:
        if not self._is_density:
            return _log(degree / self._mass)
        if self._positive is not None:
            support, mass = self._positive
            rows = TiledOperator(self.kernel_, support).cross(rows.X)
            logs = rows.log_product(mass)[:, 0]
        else:
            logs = rows.log_product(self._coefficients[:, -1:], degree[:, None])[:, 0]
        return np.asarray(logs.astype(np.float64) - np.log(self._mass))

    def projections(self, X: Any) -> Array:
        """Where new points lie in the eigenspace, e = K(X, support) α + b, (m, n_clusters − 1)."""
        return self._project(self._check_new(X))[0]

    def mean_similarity(self, X: Any) -> Array:
        """Mean kernel value between new points and the training points, (m,)."""
        return np.asarray(np.exp(self._project(self._check_new(X))[1]))

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The cluster of every new point, (m,)."""
        return np.asarray(np.argmax(self.memberships(X), axis=1))

    def memberships(self, X: Any) -> Array:
        """Memberships of new points, (m, n_clusters); rows sum to one."""
        X = self._check_new(X)
        return self._memberships(self._project(X)[0]).astype(X.dtype)

    def outlier_scores(self, X: Any = None, *, score: str = "degree") -> Array:
        """How far from all training points, (m,): the higher, the further.

        Parameters
        ----------
        X : array of shape (m, d), default=None
            Without it, the points of the fit, none of which vouches for itself.
        score : {"degree", "paper", "corrected"}, default="degree"
            ``"degree"`` is −log of the mean similarity to the training points, which does not
            saturate however far a point is. ``"paper"`` is eq. 5 of the 2015 paper as printed,
            which gives points nearer to the clusters the higher scores; ``"corrected"`` is eq. 5
            with the sign that its text means.
        """
        projections, logs = self._said(X)
        if score == "degree":
            return np.asarray(-logs)
        if score not in {"paper", "corrected"}:
            raise ValueError(f"score={score!r} is unknown; give 'degree', 'paper' or 'corrected'.")
        return outlier_score(
            projections,
            self._soft(projections),
            self.prototypes_,
            self.bias_,
            corrected=score == "corrected",
        )

    def overlap_scores(self, X: Any = None, *, score: str = "ratio") -> Array:
        """How far between clusters, (m,).

        Parameters
        ----------
        X : array of shape (m, d), default=None
            Without it, the points of the fit.
        score : {"ratio", "paper"}, default="ratio"
            ``"ratio"`` is the second largest soft membership over the largest, one where two
            clusters tie. ``"paper"`` is eq. 4 of the 2015 paper, in which the *lowest* is the most
            influential overlap point; it is meant for points of `detect` and compares each with
            every point of the fit, itself included. A point that nothing is similar to has the
            largest number there is.
        """
        projections, logs = self._said(X)
        if score == "ratio":
            if self.n_clusters_ == 1:
                return np.zeros(len(projections))
            nearest = np.partition(prototype_distances(projections, self.prototypes_), 1, axis=1)
            first, second = nearest[:, 0], nearest[:, 1]
            ratio = np.divide(first, second, out=np.ones_like(first), where=second > 0)
            return np.asarray(ratio)
        if score != "paper":
            raise ValueError(f"score={score!r} is unknown; give 'ratio' or 'paper'.")
        return overlap_score(
            projections,
            self._soft(projections),
            self.prototypes_,
            self._fitted_degree if X is None else np.exp(logs) * self._mass,
            self.projections_,
            self.labels_,
            self.sample_weight_,
        )

    def detect(
        self, X: Any = None, *, outliers_first: bool = True
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which points are outliers and which lie in an overlap, two masks (m,).

        An outlier's mean similarity to the training points is below 0.01; an overlap point is one
        of the others without a soft membership of 0.5. This is the rule of the 2015 paper. Its
        thresholds are absolute, so that the counts follow the bandwidth: half the bandwidth makes
        many more outliers. `softkern.rank_points` flags points by how far their scores lie in the
        tail of those of the fit, and need not agree.

        Parameters
        ----------
        X : array of shape (m, d), default=None
            Without it, the points of the fit.
        outliers_first : bool, default=True
            False is the 2015 paper's order, in which far points can be overlap points.
        """
        projections, logs = self._said(X)
        return detect(self._soft(projections), np.exp(logs), outliers_first=outliers_first)

    def _said(self, X: Any) -> tuple[Array, Array]:
        check_is_fitted(self)
        if X is None:
            return self.projections_, self._fitted_logs
        return self._project(self._check_new(X))

    def _soft(self, projections: Array) -> Array:
        return soft_memberships(prototype_distances(projections, self.prototypes_))


def _log(values: Array) -> Array:
    """Logarithms of what should be positive; nothing has the smallest."""
    return np.log(np.maximum(np.asarray(values, np.float64), np.finfo(np.float64).tiny))
