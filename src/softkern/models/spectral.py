"""Kernel spectral clustering, hard and soft, with overlap and outlier points.

Points are projected on the leading eigenvectors of a centered, normalized kernel matrix, where
clusters are directions (Alzate and Suykens 2010). The soft model (Langone, Mall and Suykens 2013)
reads memberships from cosine distances to the clusters' mean projections, and from these which
points lie between clusters or far from all (Mall, Langone and Suykens 2015). Only training points
take part in the eigenproblem; all others are projected by a product with the kernel.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from softkern._utils.sklearn_compat import Interval, StrOptions
from softkern._utils.typing import Array
from softkern.exceptions import SpectrumWarning, warn
from softkern.kernels import Kernel, resolve
from softkern.metrics.strength import COVERED
from softkern.models._array_dispatch import dispatch_arrays
from softkern.models.checks import check_n_clusters
from softkern.models.clusterer import Clusterer
from softkern.models.kernel_model import SUPPORT, KernelModel
from softkern.models.point_scores import PointScores
from softkern.models.spectral_points import detect, outlier_score, overlap_score
from softkern.models.spectral_search import SEARCH_ROWS, SpectralSearch
from softkern.models.state_schema import Floats, Instance, Number, Spec
from softkern.models.subset import TrainingRows, training_rows, which_training_row
from softkern.operators.base import CrossOperator, KernelOperator
from softkern.rows import Rows, order_by_mass
from softkern.rules.memberships import fuzzy, log_fuzzy
from softkern.rules.projections import (
    ASSIGNMENTS,
    codes_of,
    labels_by,
    prototype_distances,
    prototypes,
    tied_words,
)
from softkern.solvers.eigen import EIGENVECTOR_SCALES, Spectrum, solve
from softkern.solvers.stopping import progress_bar

__all__ = ["KernelSpectralClustering", "SoftKernelSpectralClustering", "SpectralSearch"]

AUTO_TRAIN = 2000  # rows that n_train="auto" trains on
AUTO_ALL = 4000  # distinct rows up to which it trains on all of them
ROWS_A_CLUSTER = 20  # of training rows, and of the sample that bandwidths are tried on, at least
MAX_CLUSTERS = 20  # that n_clusters="auto" looks at
SCORES = {"2015": "printed", "2015-corrected": "corrected", "2015-absolute": "absolute"}  # eq. 5
UNCONNECTED = 1e-6  # eigenvalues this near to one are those of parts without any similarity


class SpectralScores(PointScores):
    """Results of samples, with their place in the eigenspace.

    Computed from `rows` and one product with them, or from the given `parts`.
    """

    def __init__(
        self, model: _SpectralClustering, rows: CrossOperator | None = None, **parts: Array
    ) -> None:
        super().__init__(**parts)
        self._model, self._rows = model, rows
        if rows is not None:  # (m, k)
            self._product = rows @ np.column_stack([model.dual_coef_, model._degree_coef])

    @cached_property
    def projections(self) -> Array:
        """e = K(X, support) α + b, (m, n_clusters − 1)."""
        return np.asarray(self._product[:, :-1], dtype=np.float64) + self._model.bias_

    @cached_property
    def log_similarity(self) -> Array:
        """Logarithm of the mean kernel value with the training samples, (m,)."""
        assert self._rows is not None
        return self._model._log_similarity(self._rows, self._product[:, -1:])

    @cached_property
    def memberships(self) -> Array:
        return self._model._memberships(self).astype(self._model.sample_weight_.dtype)

    @cached_property
    def labels(self) -> NDArray[np.int_]:
        return np.argmax(self.memberships, axis=1)

    @cached_property
    def outlier_scores(self) -> Array:
        return -self.log_similarity

    @cached_property
    def log_memberships(self) -> Array:
        """Soft memberships in both models: overlap scores are their ratio."""
        return log_fuzzy(self._model._distances(self.projections), m=2)


class _SpectralClustering(Clusterer, KernelModel):
    """What the hard and the soft model share: all but the step to memberships.

    A fit chooses kernel and number of clusters (by search where they are "auto"), chooses training
    rows, solves the eigenproblem over them, finds the clusters' codes and prototypes, and then
    reads every row as a new point: its projection and its mean similarity to the training points,
    from one product.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{k: v for k, v in KernelModel._parameter_constraints.items() if k != "stopping"},
        "n_clusters": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_train": [None, StrOptions({"auto"}), Interval(Integral, 2, None, closed="left")],
        "subset": [StrOptions({"renyi", "random"})],
        "assignment": [StrOptions(set(ASSIGNMENTS))],
        "eigenvector_scale": [StrOptions(set(EIGENVECTOR_SCALES))],
    }
    _fitted: ClassVar[dict[str, Spec]] = {
        **SUPPORT,
        "dual_coef_": Floats("sq"),
        "eigenvalues_": Floats("q"),
        "bias_": Floats("q"),
        "projections_": Floats("nq", method="projections"),
        "prototypes_": Floats("cq"),
        "codes_": Floats("cq"),
        "mean_similarity_": Floats("n", low=0, method="mean_similarity"),
        "search_": Instance("SpectralSearch", nullable=True, optional=True),
        "_degree_coef": Floats("s"),
        "_total_weight": Number(low=0, above=True),
    }
    _products: ClassVar[int] = 40

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        n_train: int | str | None = "auto",
        subset: str = "renyi",
        assignment: str = "directions",
        eigenvector_scale: str = "unit",
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
        self.eigenvector_scale = eigenvector_scale
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
    def _memberships(self, read: SpectralScores) -> Array:
        """Memberships from the projections, or from the soft `log_memberships`, (m, k)."""

    # The steps of a fit

    def _fit(self, rows: Rows) -> None:
        rows = rows.reweighted(rows.weight.astype(np.float64))
        size = self._training_size(rows)
        kernel = self._choose(rows)
        chosen = training_rows(kernel, rows, size, self.subset, self._fit_seed)
        points = Rows(kernel.restrict(rows.X, chosen.rows), chosen.mass)
        operator = self._planned(points, self.n_clusters_, kernel)
        spectrum = self._solve(operator, chosen)
        self._find_clusters(spectrum, chosen.mass)
        self._keep(operator, spectrum, chosen)
        self._read_training(rows, operator, spectrum, chosen)
        self._warn_of_far_clusters(rows.weight)

    def _training_size(self, rows: Rows) -> int | None:
        """How many rows to train on, None for all; refuses what cannot be, before long work."""
        least = 2 if isinstance(self.n_clusters, str) else int(self.n_clusters)
        check_n_clusters(least, rows.shape[0])
        if self.n_train is None or (self.n_train == "auto" and rows.shape[0] <= AUTO_ALL):
            return None
        present = int((rows.weight > 0).sum())
        if self.n_train == "auto":
            count = present if self._is_precomputed else rows.distinct[0].size
            return None if count <= AUTO_ALL else max(AUTO_TRAIN, ROWS_A_CLUSTER * least)
        size = int(self.n_train)
        if size > present:
            raise ValueError(
                f"n_train={size} is more than the number of points, n_samples = {present}; use "
                "n_train=None to train on all of them."
            )
        if size < least:
            raise ValueError(f"n_clusters={least} is more than n_train={size}; raise n_train.")
        return size

    def _choose(self, rows: Rows) -> Kernel:
        """The kernel and the number of clusters, by search where either is "auto"."""
        is_open = self._is_bandwidth_open
        kernel = resolve(
            self.kernel,
            rows,
            bandwidth="global" if is_open else self.bandwidth,
            kernel_params=self.kernel_params,
            random_state=self._fit_seed,
        )
        kernel.check(rows.X)
        if hasattr(self, "search_"):  # of an earlier fit
            del self.search_
        if self.n_clusters == 1 or not (is_open or self.n_clusters == "auto"):
            self.n_clusters_ = int(self.n_clusters)
            return kernel
        if self.n_clusters == "auto":
            most = min(MAX_CLUSTERS, rows.distinct[0].size - 1)
            numbers = range(2, max(most, 2) + 1)
        else:
            numbers = range(int(self.n_clusters), int(self.n_clusters) + 1)
        self.search_: SpectralSearch = SpectralSearch.of(
            rows.X,
            rows.weight,
            kernel,
            numbers,
            "auto" if is_open else None,
            assignment=self.assignment,
            eigenvector_scale=self.eigenvector_scale,
            n_rows=max(SEARCH_ROWS, ROWS_A_CLUSTER * max(numbers)),
            engine=self.engine,
            engine_params=self.engine_params,
            random_state=self._fit_seed,
        )
        self.n_clusters_, bandwidth = self.search_.best
        return kernel if bandwidth is None else kernel.with_bandwidth(bandwidth)

    def _solve(self, operator: KernelOperator, chosen: TrainingRows) -> Spectrum:
        with progress_bar(bool(self.verbose), "eigenvectors", self.tol, self.max_iter) as report:
            spectrum = solve(
                operator,
                self.n_clusters_ - 1,
                chosen.mass,
                own=chosen.own,
                vector_scale=self.eigenvector_scale,
                tol=self.tol,
                max_iter=self.max_iter,
                report=report,
            )
        self._record(spectrum, "eigenvectors")
        if not spectrum.is_unique:
            reason = (
                f"in this kernel the data fall apart into more than n_clusters={self.n_clusters_} "
                "unconnected parts, and which of them are separated is chance. Use a larger "
                "bandwidth or more clusters."
                if spectrum.next_eigenvalue > 1 - UNCONNECTED
                else "the data are as even in one direction as in another, and which is cut is "
                "chance. Use another number of clusters."
            )
            warn(
                f"eigenvalue {self.n_clusters_} equals the one before it, "
                f"{spectrum.next_eigenvalue:.6g}: {reason}",
                SpectrumWarning,
            )
        return spectrum

    def _find_clusters(self, spectrum: Spectrum, mass: Array) -> None:
        """Codes and prototypes of the clusters, the largest cluster first.

        Isolated rows, which all lie at the bias, have labels but no influence on the codes.
        """
        k, part = self.n_clusters_, spectrum.takes_part
        codes = codes_of(spectrum.projections[part], mass[part], k, self.assignment)
        if self.assignment == "codebook":
            self._warn_of_ties(spectrum.projections[part], mass[part])
        labels = labels_by(spectrum.projections, codes, self.assignment)
        size = np.bincount(labels, weights=mass, minlength=k)
        density = np.bincount(labels, weights=mass * spectrum.degree, minlength=k)
        order = order_by_mass(size, density)
        self.codes_ = codes[order]
        self.prototypes_ = prototypes(spectrum.projections, labels, mass * part, k)[order]
        self.eigenvalues_ = spectrum.eigenvalues
        self.bias_ = spectrum.bias

    def _warn_of_ties(self, projections: Array, mass: Array) -> None:
        left = tied_words(projections, mass, self.n_clusters_)
        if left:
            warn(
                f"{left} more sign patterns are as frequent as the last of the "
                f"n_clusters={self.n_clusters_} taken, so that which of them is a cluster is "
                "chance; use assignment='directions', or another bandwidth.",
                SpectrumWarning,
            )

    def _keep(self, operator: KernelOperator, spectrum: Spectrum, chosen: TrainingRows) -> None:
        """What new points need: coefficients of their projections and of their degree."""
        columns = np.column_stack([spectrum.coefficients, chosen.mass])
        places, columns = operator.compressed(columns)
        self.support_ = chosen.rows[places]
        self.dual_coef_, self._degree_coef = columns[:, :-1], columns[:, -1]
        self._support = self.kernel_.restrict(operator.X, places)
        self._total_weight = float(chosen.mass.sum())
        self._density = None
        if self.kernel_.decays and not operator.is_exact_support:
            # coefficients of both signs give projections best, but have no logarithm
            places, density = operator.compressed(chosen.mass, nonnegative=True)
            self._density = self.kernel_.restrict(operator.X, places), density

    def _read_training(
        self,
        rows: Rows,
        operator: KernelOperator,
        spectrum: Spectrum,
        chosen: TrainingRows,
    ) -> None:
        """Read the training rows as new points; only similarities leave a row itself out."""
        points = self.kernel_.restrict_new(rows.X, self.support_)
        read = SpectralScores(self, self._stored_operator().cross(points))
        logs = read.log_similarity.copy()
        by_number = not self.kernel_.takes_points
        copies = which_training_row(rows, chosen.rows, by_number)
        is_copy = copies >= 0
        logs[is_copy] = self._log_similarity_of_others(operator, spectrum, chosen)[copies[is_copy]]
        self.projections_ = read.projections
        self.mean_similarity_ = np.exp(logs)
        self._store_scores(SpectralScores(self, projections=read.projections, log_similarity=logs))

    def _log_similarity_of_others(
        self, operator: KernelOperator, spectrum: Spectrum, chosen: TrainingRows
    ) -> Array:
        """Logarithm of the training rows' mean similarity to the other rows, (n_train,)."""
        if not self.kernel_.decays:
            return self._log_share(spectrum.degree - chosen.own * operator.diag())
        degree = spectrum.degree.astype(operator.dtype)
        logs = operator.log_product_of_others(chosen.mass, chosen.own, degree)
        return np.asarray(logs - np.log(self._total_weight), dtype=np.float64)

    def _warn_of_far_clusters(self, weight: Array) -> None:
        """Outliers that lie close together are a part of their own and take a cluster."""
        size, covered = (
            np.bincount(self.labels_, weights=mass, minlength=self.n_clusters_)
            for mass in (weight, weight * (self.mean_similarity_ >= COVERED))
        )
        is_far = (size > 0) & (covered == 0)
        if is_far.any() and covered.any():  # nothing is covered where clusters are many
            far = ", ".join(map(str, np.flatnonzero(is_far)))
            warn(
                f"no point of cluster {far} has a mean similarity of {COVERED} to the training "
                f"points: outliers that lie close together ({size[is_far].sum():g} points). Leave "
                "them out, or use more clusters or a larger bandwidth.",
                SpectrumWarning,
            )

    # Points

    def score_points(self, X: Any) -> SpectralScores:
        """Compute labels, memberships and scores of samples; see `SoftModel.score_points`.

        The record also has `projections` and `log_similarity`.
        """
        return SpectralScores(self, self._cross(X))

    def _log_similarity(self, rows: CrossOperator, degree: Array) -> Array:
        """Logarithm of the mean kernel value with the training points, (m,)."""
        if not self.kernel_.decays:
            return self._log_share(degree[:, 0])
        if self._density is None:
            logs = rows.log_product(self._degree_coef, degree)
        else:
            points, density = self._density
            logs = self._stored_operator("density", points).cross(rows.X).log_product(density)[:, 0]
        return np.asarray(logs.astype(np.float64) - np.log(self._total_weight))

    def _log_share(self, degree: Array) -> Array:
        """Logarithm of degrees, (m,), as shares of the weight; those of nothing have the lowest."""
        share = np.asarray(degree, dtype=np.float64) / self._total_weight
        return np.asarray(np.log(np.maximum(share, np.finfo(np.float64).tiny)))

    def _distances(self, projections: Array) -> Array:
        return prototype_distances(projections, self.prototypes_)

    def _soft(self, projections: Array) -> Array:
        return np.asarray(fuzzy(self._distances(projections), m=2))

    @dispatch_arrays
    def projections(self, X: Any) -> Array:
        """Where new points lie in the eigenspace, e = K(X, support) α + b, (m, n_clusters − 1)."""
        return self.score_points(X).projections

    @dispatch_arrays
    def mean_similarity(self, X: Any) -> Array:
        """Mean kernel value between new points and the training points, (m,)."""
        return np.exp(self.score_points(X).log_similarity)

    @dispatch_arrays
    def outlier_scores(self, X: Any, *, variant: str = "degree") -> Array:
        """How far from all training points new points are, (m,): the higher, the further.

        The fitted `outlier_scores_` are those of the points of the fit by ``"degree"``,
        leave-one-out. The other variants leave nothing out: give the points of the fit as X.

        Parameters
        ----------
        X : array of shape (m, d)
        variant : {"degree", "2015", "2015-corrected", "2015-absolute"}, default="degree"
            ``"degree"`` is −log of the mean similarity to the training points, which does not
            saturate however far a point is. ``"2015"`` is eq. 5 of the 2015 paper as printed,
            which gives points nearer to the clusters the higher scores; ``"2015-corrected"`` is
            eq. 5 with the sign that its text means; ``"2015-absolute"`` is ``1 − |Δ|``, at most one
            as the values that the paper prints.
        """
        _check_variant(variant, "degree", *SCORES)
        read = self.score_points(X)
        if variant == "degree":
            return read.outlier_scores
        return outlier_score(
            read.projections,
            self._soft(read.projections),
            self.prototypes_,
            self.bias_,
            form=SCORES[variant],
        )

    @dispatch_arrays
    def overlap_scores(self, X: Any, *, variant: str = "ratio") -> Array:
        """How far between clusters new points are, (m,).

        The fitted `overlap_scores_` are those of the points of the fit by ``"ratio"``.

        Parameters
        ----------
        X : array of shape (m, d)
        variant : {"ratio", "2015"}, default="ratio"
            ``"ratio"`` is the second largest soft membership over the largest, one where two
            clusters tie. ``"2015"`` is eq. 4 of the 2015 paper, in which the *lowest* is the most
            influential overlap point; it is meant for points of `detect` and compares each with
            every point of the fit, itself included. A point that nothing is similar to has the
            largest number there is.
        """
        _check_variant(variant, "ratio", "2015")
        read = self.score_points(X)
        if variant == "ratio":
            return read.overlap_scores
        return overlap_score(
            read.projections,
            self._soft(read.projections),
            self.prototypes_,
            np.exp(read.log_similarity) * self._total_weight,
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
        check_is_fitted(self)
        if X is None:
            projections, similarity = self.projections_, self.mean_similarity_
        else:
            read = self.score_points(X)
            projections, similarity = read.projections, np.exp(read.log_similarity)
        return detect(self._soft(projections), similarity, outliers_first=outliers_first)


class KernelSpectralClustering(_SpectralClustering):
    """Kernel spectral clustering (KSC): hard clusters of any shape, and new points.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        ``"auto"`` takes the number from 2 to 20 whose soft memberships stand out most from those
        of one group; see `softkern.selection.select_spectral`, which shows the other candidates
        too, as `search_` does.
    n_train : int, "auto" or None, default="auto"
        Rows that take part in the eigenproblem; all others are projected. ``"auto"`` takes all up
        to 4000 distinct rows, else 2000 of them, or 20 a cluster where that is more. None takes
        all distinct rows, however many; time and memory then grow with their square where the
        engine does.
    subset : {"renyi", "random"}, default="renyi"
        How training rows are chosen: so that they cover the data (quadratic Rényi entropy), each
        with the weight of the rows it stands for, or at random.
    assignment : {"directions", "codebook"}, default="directions"
        ``"directions"``: k-means on e/‖e‖, the same for any row order. ``"codebook"``: the
        papers' most frequent sign patterns; unstable for many clusters. Of patterns that are as
        frequent the one is taken whose first differing sign is negative, and a `SpectrumWarning`
        says that others were left out.
    eigenvector_scale : {"unit", "degree"}, default="unit"
        Lengths of the eigenvectors, which are free and decide how much each column of the
        projections counts: ``"unit"``, ‖α‖ = 1, or ``"degree"``, ‖D^½ α‖ = 1.
    bandwidth : str, float or array of shape (d,), default="auto"
        ``"auto"`` takes the bandwidth at which soft memberships are the strongest.
    kernel, kernel_params, engine, engine_params, verbose
        As in `OneClassPCM`; similarities must not be negative.
    tol : float, default=1e-8
        Residual of the eigenvectors.
    max_iter : int, default=500
        Iterations of the eigensolver.
    random_state : int, RandomState or None, default=0
        For samples of rows: the training rows, and those of the search that ``"auto"`` means.

    Attributes
    ----------
    labels_ : array of shape (n,)
    memberships_ : array of shape (n, n_clusters)
        One for the point's cluster, zero for the others.
    n_clusters_ : int
    projections_ : array of shape (n, n_clusters − 1)
        Where the points lie in the eigenspace.
    prototypes_ : array of shape (n_clusters, n_clusters − 1)
        Mean projection of every cluster, the largest cluster first.
    codes_ : array of shape (n_clusters, n_clusters − 1)
        Sign patterns, or the centers of directions.
    eigenvalues_, bias_ : arrays of shape (n_clusters − 1,)
    support_ : array of shape (n_support,)
        Rows of X that took part in the eigenproblem.
        (With an engine that approximates by landmarks, these.)
    dual_coef_ : array of shape (n_support, n_clusters − 1)
        Their coefficients, weight times α; see `eigenvector_scale`. Zero for rows that no other is
        similar to: they take no part, since each would be a cluster of its own.
    outlier_scores_, overlap_scores_ : arrays of shape (n,)
        Of the points of the fit, leave-one-out; see the methods.
    mean_similarity_ : array of shape (n,)
        Mean kernel value to the training points other than the point itself.
    search_ : SpectralSearch
        What ``"auto"`` looked at, with `table` and `maxima`; only where it searched.
    bandwidth_, kernel_, plan_, engine_, approximation_error_, n_iter_, converged_, objective_, \
history_
        As in `OneClassPCM`, of the eigensolver: the objective is minus the sum of eigenvalues, the
        change the largest residual.

    References
    ----------
    C. Alzate, J. A. K. Suykens, "Multiway spectral clustering with out-of-sample extensions
    through weighted kernel PCA", IEEE Trans. PAMI 32(2), 2010.
    :doi:`10.1109/TPAMI.2008.292`

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_circles
    >>> from softkern import KernelSpectralClustering
    >>> X, y = make_circles(400, factor=0.3, noise=0.05, random_state=0)
    >>> model = KernelSpectralClustering(2, bandwidth=0.1).fit(X)
    >>> model.predict([[0.3, 0.0], [0.0, 1.0]]).tolist() in ([0, 1], [1, 0])
    True
    """

    def _memberships(self, read: SpectralScores) -> Array:
        labels = labels_by(read.projections, self.codes_, self.assignment)
        return np.asarray(np.eye(self.n_clusters_)[labels])


class SoftKernelSpectralClustering(_SpectralClustering):
    """Soft kernel spectral clustering (SKSC), with overlap and outlier points.

    A point's membership of a cluster falls with the cosine distance between its projection and the
    cluster's mean projection (with two clusters, with their distance on the line).

    Parameters
    ----------
    n_clusters, n_train, subset, assignment, eigenvector_scale, bandwidth, kernel, kernel_params, \
engine, engine_params, tol, max_iter, random_state, verbose
        As in `KernelSpectralClustering`.

    Attributes
    ----------
    memberships_ : array of shape (n, n_clusters)
        Rows sum to one.
    labels_ : array of shape (n,)
        The cluster of the largest membership.
    n_clusters_, projections_, prototypes_, codes_, eigenvalues_, bias_, support_, dual_coef_, \
outlier_scores_, overlap_scores_, mean_similarity_, search_, bandwidth_, kernel_, plan_, engine_, \
approximation_error_, n_iter_, converged_, objective_, history_
        As in `KernelSpectralClustering`.

    References
    ----------
    R. Langone, R. Mall, J. A. K. Suykens, "Soft kernel spectral clustering", IJCNN 2013.
    :doi:`10.1109/IJCNN.2013.6706850`

    R. Mall, R. Langone, J. A. K. Suykens, "Ranking overlap and outlier points in data using
    soft kernel spectral clustering", ESANN 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from softkern import SoftKernelSpectralClustering
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> X[100:200, 0] += 6
    >>> X[200:, 1] += 6
    >>> model = SoftKernelSpectralClustering("auto").fit(X)
    >>> model.n_clusters_
    3
    >>> is_outlier, is_overlap = model.detect([[0.0, 0.0], [30.0, 30.0]])
    >>> is_outlier.tolist()
    [False, True]
    """

    def _memberships(self, read: SpectralScores) -> Array:
        return np.exp(read.log_memberships)


def _check_variant(variant: str, *known: str) -> None:
    if variant not in known:
        raise ValueError(f"variant={variant!r} is unknown; give one of {', '.join(known)}.")
