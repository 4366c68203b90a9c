"""Base class of the spectral models: the eigenproblem, projections and scores of samples.

Samples are projected on the leading eigenvectors of a centered, normalized kernel matrix, in which
clusters are directions (Alzate and Suykens 2010). Only training rows take part in the eigenproblem;
all others are projected by a product with the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from softkern._utils.progress import progress_bar
from softkern._utils.sklearn_compat import Interval, StrOptions
from softkern._utils.typing import Array
from softkern.exceptions import SpectrumWarning, warn
from softkern.kernels import Kernel
from softkern.kernels.resolve import resolve
from softkern.models._array_dispatch import dispatch_arrays
from softkern.models.clusterer import Clusterer
from softkern.models.kernel_model import SUPPORT, KernelModel
from softkern.models.spectral_scores import (
    VARIANTS,
    SpectralScores,
    detect,
    outlier_score,
    overlap_score,
)
from softkern.models.spectral_search import COVERED, SEARCH_ROWS, SpectralSearch
from softkern.models.state_schema import Floats, Number, Spec, Typed
from softkern.models.subset import (
    ROWS_PER_CLUSTER,
    TrainingRows,
    training_rows,
    training_size,
    which_training_row,
)
from softkern.operators.base import KernelOperator
from softkern.rows import Rows, order_by_mass
from softkern.rules.projections import ASSIGNMENTS, codes_of, labels_by, prototypes, tied_words
from softkern.solvers.eigen import EIGENVECTOR_SCALES, Spectrum, solve

MAX_CLUSTERS = 20  # largest number that n_clusters="auto" tries
UNCONNECTED = 1e-6  # from one: eigenvalues of parts without any similarity to each other


@dataclass(eq=False, repr=False, kw_only=True)
class SpectralClusterer(Clusterer, KernelModel):
    """Base class of the hard and the soft model, which differ in the memberships."""

    n_clusters: int | str = field(default=2, kw_only=False)
    n_train: int | str | None = "auto"
    subset: str = "renyi"
    assignment: str = "directions"
    eigenvector_scale: str = "unit"
    tol: float = 1e-8
    max_iter: int = 500

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
        "search_": Typed("SpectralSearch", nullable=True, optional=True),
        "_degree_coef": Floats("s"),
        "_total_weight": Number(low=0, above=True),
    }
    _products: ClassVar[int] = 40
    _scores_class = SpectralScores

    def _fit(self, rows: Rows) -> None:
        rows = rows.reweighted(rows.weight.astype(np.float64))
        size = training_size(rows, self.n_train, self.n_clusters, self._is_precomputed)
        kernel = self._choose(rows)
        chosen = training_rows(kernel, rows, size, self.subset, self._fit_seed)
        points = Rows(kernel.restrict(rows.X, chosen.rows), chosen.mass)
        operator = self._planned(points, self.n_clusters_, kernel)
        spectrum = self._solve(operator, chosen)
        self._find_clusters(spectrum, chosen.mass)
        self._store_support(operator, spectrum, chosen)
        self._score_training(rows, operator, spectrum, chosen)
        self._warn_of_outlier_clusters(rows.weight)

    def _choose(self, rows: Rows) -> Kernel:
        """Choose the kernel and the number of clusters, by search if either is "auto"."""
        is_open = self._is_bandwidth_open
        kernel = resolve(
            self.kernel,
            rows,
            bandwidth="global" if is_open else self.bandwidth,
            kernel_params=self.kernel_params,
            random_state=self._fit_seed,
        )
        kernel.check(rows.X)
        if self.n_clusters == 1 or not (is_open or self.n_clusters == "auto"):
            self.n_clusters_ = int(self.n_clusters)
            return kernel
        if isinstance(self.n_clusters, str):
            most = min(MAX_CLUSTERS, rows.distinct[0].size - 1)
            numbers = list(range(2, max(most, 2) + 1))
        else:
            numbers = [int(self.n_clusters)]
        self.search_: SpectralSearch = SpectralSearch.of(
            rows,
            kernel,
            numbers,
            "auto" if is_open else None,
            assignment=self.assignment,
            eigenvector_scale=self.eigenvector_scale,
            n_rows=max(SEARCH_ROWS, ROWS_PER_CLUSTER * max(numbers)),
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
                f"In this kernel the data have more than n_clusters={self.n_clusters_} unconnected "
                "parts, and it is chance which of them are separated. Use a larger bandwidth or "
                "more clusters."
                if spectrum.next_eigenvalue > 1 - UNCONNECTED
                else "The data can be cut equally well in several directions, and it is chance "
                "which is used. Use another number of clusters."
            )
            warn(
                f"Eigenvalue {self.n_clusters_} equals the one before it, "
                f"{spectrum.next_eigenvalue:.6g}. {reason}",
                SpectrumWarning,
            )
        return spectrum

    def _find_clusters(self, spectrum: Spectrum, mass: Array) -> None:
        """Find codes and prototypes of the clusters, the largest cluster first.

        Isolated rows, which all lie at the bias, do not influence the codes.
        """
        k, part = self.n_clusters_, spectrum.takes_part
        codes = codes_of(spectrum.projections[part], mass[part], k, self.assignment)
        is_codebook = self.assignment == "codebook"
        ties = tied_words(spectrum.projections[part], mass[part], k) if is_codebook else 0
        if ties:
            warn(
                f"{ties} more sign patterns are as frequent as the last of the n_clusters={k} that "
                "are used, and it is chance which of them is a cluster. Use "
                "assignment='directions', or another bandwidth.",
                SpectrumWarning,
            )
        labels = labels_by(spectrum.projections, codes, self.assignment)
        size = np.bincount(labels, weights=mass, minlength=k)
        density = np.bincount(labels, weights=mass * spectrum.degree, minlength=k)
        order = order_by_mass(size, density)
        self.codes_ = codes[order]
        self.prototypes_ = prototypes(spectrum.projections, labels, mass * part, k)[order]
        self.eigenvalues_ = spectrum.eigenvalues
        self.bias_ = spectrum.bias

    def _store_support(
        self, operator: KernelOperator, spectrum: Spectrum, chosen: TrainingRows
    ) -> None:
        """Store coefficients of the projections and of the degree of new samples."""
        columns = np.column_stack([spectrum.coefficients, chosen.mass])
        places, self._support, columns = operator.compressed(columns)
        self.support_ = chosen.rows[places]
        self.dual_coef_, self._degree_coef = columns[:, :-1], columns[:, -1]
        self._total_weight = float(chosen.mass.sum())
        self._density = None
        if self.kernel_.decays and not operator.is_exact_support:
            # coefficients of both signs give projections best, but have no logarithm
            self._density = operator.compressed(chosen.mass, nonnegative=True)[1:]

    def _score_training(
        self, rows: Rows, operator: KernelOperator, spectrum: Spectrum, chosen: TrainingRows
    ) -> None:
        """Score the training rows as new samples; similarities leave out the row itself."""
        points = self.kernel_.restrict_new(rows.X, self.support_)
        scores = self._scores_class(model=self, rows=self._stored_operator().cross(points))
        if self.kernel_.decays:
            degree = spectrum.degree.astype(operator.dtype)
            logs = operator.log_product_of_others(chosen.mass, chosen.own, degree)
            of_others = np.asarray(logs - np.log(self._total_weight), dtype=np.float64)
        else:
            of_others = self._log_share(spectrum.degree - chosen.own * operator.diag())
        copies = which_training_row(rows, chosen.rows, not self.kernel_.takes_points)
        scores.log_similarity[copies >= 0] = of_others[copies[copies >= 0]]
        self.projections_, self.mean_similarity_ = scores.projections, scores.mean_similarity
        self._store_scores(scores)

    def _warn_of_outlier_clusters(self, weight: Array) -> None:
        """Warn if outliers that lie close together take a cluster."""
        is_covered = self.mean_similarity_ >= COVERED
        size = np.bincount(self.labels_, weight, self.n_clusters_)
        covered = np.bincount(self.labels_, weight * is_covered, self.n_clusters_)
        is_far = (size > 0) & (covered == 0)
        if is_far.any() and covered.any():  # with many clusters nothing is covered
            far = ", ".join(map(str, np.flatnonzero(is_far)))
            warn(
                f"No point of cluster {far} has a mean similarity of {COVERED} to the training "
                f"points: outliers that lie close together ({size[is_far].sum():g} points). Remove "
                "them, or use more clusters or a larger bandwidth.",
                SpectrumWarning,
            )

    def score_points(self, X: Any) -> SpectralScores:
        """Compute labels, memberships and scores of samples; see `SoftModel.score_points`.

        The record also has `projections` and `log_similarity`.
        """
        return self._scores_class(model=self, rows=self._cross(X))

    def _log_share(self, degree: Array) -> Array:
        """Logarithm of degrees as shares of the weight, (m,), bounded from below."""
        share = np.asarray(degree, dtype=np.float64) / self._total_weight
        return np.asarray(np.log(np.maximum(share, np.finfo(np.float64).tiny)))

    @dispatch_arrays
    def projections(self, X: Any) -> Array:
        """Project samples on the eigenvectors, e = K(X, support) α + b.

        Parameters
        ----------
        X : array or CSR matrix of shape (m, n_features)
            Samples to score.

        Returns
        -------
        projections : array of shape (m, n_clusters - 1)
            Positions in the eigenspace.
        """
        return self.score_points(X).projections

    @dispatch_arrays
    def mean_similarity(self, X: Any) -> Array:
        """Compute the mean kernel value with the training rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (m, n_features)
            Samples to score.

        Returns
        -------
        similarity : array of shape (m,)
            Mean similarity.
        """
        return self.score_points(X).mean_similarity

    @dispatch_arrays
    def outlier_scores(self, X: Any, *, variant: str = "degree") -> Array:
        """Score how far samples are from all training rows; higher means further.

        The fitted `outlier_scores_` are those of the variant ``"degree"``, leave-one-out. The other
        variants leave nothing out: pass the training data as X.

        Parameters
        ----------
        X : array or CSR matrix of shape (m, n_features)
            Samples to score.
        variant : {"degree", "2015", "2015-corrected", "2015-absolute"}, default="degree"
            ``"degree"`` is −log of the mean similarity to the training rows, which has no bound.
            ``"2015"`` is eq. 5 of the 2015 paper as printed, which gives samples nearer to the
            clusters the higher scores; ``"2015-corrected"`` is eq. 5 with the sign that its text
            means; ``"2015-absolute"`` is ``1 − |Δ|``, at most one as the values that it prints.

        Returns
        -------
        scores : array of shape (m,)
            Outlier scores.
        """
        _check_variant(variant, "degree", *VARIANTS)
        scores = self.score_points(X)
        if variant == "degree":
            return scores.outlier_scores
        return outlier_score(
            scores.projections, scores.soft_memberships, self.prototypes_, self.bias_, variant
        )

    @dispatch_arrays
    def overlap_scores(self, X: Any, *, variant: str = "ratio") -> Array:
        """Score how far samples lie between clusters.

        The fitted `overlap_scores_` are those of the variant ``"ratio"``.

        Parameters
        ----------
        X : array or CSR matrix of shape (m, n_features)
            Samples to score.
        variant : {"ratio", "2015"}, default="ratio"
            ``"ratio"`` is the second largest soft membership over the largest, one where two
            clusters tie. ``"2015"`` is eq. 4 of the 2015 paper, in which the *lowest* is the most
            influential overlap point. It is meant for points of `detect`, and compares each with
            all training samples. It is the largest number for samples without similarity.

        Returns
        -------
        scores : array of shape (m,)
            Overlap scores.
        """
        _check_variant(variant, "ratio", "2015")
        scores = self.score_points(X)
        if variant == "ratio":
            return scores.overlap_scores
        return overlap_score(
            scores.projections,
            scores.soft_memberships,
            self.prototypes_,
            scores.mean_similarity * self._total_weight,
            self.projections_,
            self.labels_,
            self.sample_weight_,
        )

    def detect(
        self, X: Any = None, *, outliers_first: bool = True
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Detect outliers and overlap points by the rule of the 2015 paper.

        Outliers have a mean similarity below 0.01 to the training rows. Overlap points are others
        without a soft membership of 0.5. These thresholds are absolute, so that the counts depend
        on the bandwidth. `softkern.rank_points` flags samples by how extreme their scores are, and
        need not agree.

        Parameters
        ----------
        X : array of shape (m, n_features), default=None
            Samples; None for the training samples.
        outliers_first : bool, default=True
            False is the 2015 paper's order, in which far samples can be overlap points.

        Returns
        -------
        is_outlier, is_overlap : arrays of shape (m,)
            Masks.
        """
        check_is_fitted(self)
        if X is None:
            scores = SpectralScores(
                model=self, projections=self.projections_, mean_similarity=self.mean_similarity_
            )
        else:
            scores = self.score_points(X)
        return detect(
            scores.soft_memberships, scores.mean_similarity, outliers_first=outliers_first
        )


def _check_variant(variant: str, *known: str) -> None:
    if variant not in known:
        raise ValueError(f"variant={variant!r} is unknown; use one of {', '.join(known)}.")
