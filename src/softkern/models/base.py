"""Base class of all estimators: validation, scoring of samples, and what is kept of a fit.

A subclass fits validated data in `_fit` and returns the results of samples from `score_points`.
Estimators with a kernel extend `softkern.models.kernel_model.KernelModel`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from softkern._utils.arrays import is_dask
from softkern._utils.random import fixed_seed
from softkern._utils.typing import Array
from softkern.models._array_dispatch import dispatch_arrays, to_host
from softkern.models.checks import check_scales
from softkern.models.html import fitted_html
from softkern.models.point_scores import PointScores
from softkern.models.state_schema import (
    Check,
    Floats,
    Indices,
    Number,
    Spec,
    Typed,
    fitted_specs,
    kernel_problem,
    names_problem,
    without_rows,
)
from softkern.rows import Rows, check_weights

# How a fit went; a model that is made of another copies them from it.
FIT_ATTRIBUTES: dict[str, Spec] = {
    "kernel_": Check(kernel_problem),
    "bandwidth_": Floats("|w", low=0, above=True, nullable=True),
    "plan_": Typed("Plan"),
    "engine_": Typed(str),
    "approximation_error_": Number(low=0),
    "n_iter_": Number(low=0, whole=True),
    "converged_": Typed(bool | np.bool_),
    "objective_": Number(finite=False),
    "history_": Typed(dict[str, list[float]], "a dictionary of lists of numbers"),
}


@dataclass(eq=False, repr=False, kw_only=True)
class SoftModel(BaseEstimator, ABC):  # type: ignore[misc]
    """Base class of all estimators. See the module's docstring.

    Parameters are the fields of a dataclass, which generates the constructor. Subclasses add their
    own, or change defaults.
    """

    engine: str = "auto"
    engine_params: dict[str, Any] | None = None
    random_state: Any = 0
    verbose: bool = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "engine": [str],
        "engine_params": [dict, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    # Fitted attributes by name. Subclasses declare their own; see `softkern.models.state_schema`.
    _fitted: ClassVar[dict[str, Spec]] = {
        "n_features_in_": Number(low=1, whole=True, size="d"),
        "feature_names_in_": Check(names_problem, optional=True),
        "sample_weight_": Floats("n", low=0),
        # the sample of a fit to Dask data that represents all rows: row numbers, weights that sum
        # to those of all rows, and outlier scores
        "sample_rows_": Indices("r", optional=True),
        "sample_row_weights_": Floats("r", low=0, optional=True),
        "sample_outlier_scores_": Floats("r", finite=False, optional=True),
        **FIT_ATTRIBUTES,
        "_fit_seed": Spec(transient=True),  # one draw of random_state per fit
        "_plan_like": Spec(transient=True),  # see `_fit_rows`
    }
    _accepts_sparse: ClassVar[bool] = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Training data, or a kernel matrix for ``kernel="precomputed"``. After a fit to a Dask
            array or dataframe, per-sample attributes are Dask arrays.
        y : ignored
            For compatibility with scikit-learn.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the samples. A weight of two counts a sample twice.

        Returns
        -------
        self : object
            The fitted model.
        """
        self._validate_params()
        self._check_parameters()
        for name in fitted_specs(type(self)):  # of an earlier fit
            self.__dict__.pop(name, None)
        if is_dask(X):
            from softkern.dask.fit import fit

            self._fit_seed = fixed_seed(self.random_state)
            fit(self, X, sample_weight)
            return self
        X = self._validate(X, dtype=[np.float64, np.float32])
        check_scales(X)
        weight = check_weights(to_host(sample_weight), X.shape[0]).astype(X.dtype)
        return self._fit_rows(Rows(X, weight))

    def _fit_rows(self, rows: Rows, plan_like: Any = None) -> Self:
        """Fit checked rows, for `fit` and for models that fit others to rows of their own.

        `plan_like` is a plan for other rows, whose kernel and engine are used.
        """
        self.n_features_in_, self.sample_weight_ = rows.shape[1], rows.weight
        self._fit_seed, self._plan_like = fixed_seed(self.random_state), plan_like
        with config_context(assume_finite=True):
            self._fit(rows)
        return self

    def _check_parameters(self) -> None:
        """Raise a ValueError for parameters that contradict each other."""

    @property
    def _is_precomputed(self) -> bool:
        """Whether the user passes kernel values instead of points."""
        return False

    @abstractmethod
    def _fit(self, rows: Rows) -> None:
        """Fit validated data."""

    @abstractmethod
    def score_points(self, X: Any) -> PointScores:
        """Compute labels, memberships and scores of samples from one kernel product.

        Parameters
        ----------
        X : array or CSR matrix of shape (m, n_features)
            Samples to score.

        Returns
        -------
        scores : PointScores
            Per-sample results, each computed on first access.
        """

    @dispatch_arrays
    def predict(self, X: Any) -> NDArray[np.int_]:
        """Predict the cluster of each sample, or which samples are outliers.

        Parameters
        ----------
        X : array or CSR matrix of shape (m, n_features)
            Samples to label.

        Returns
        -------
        labels : array of shape (m,)
            Clusterers: cluster of highest membership, also where all memberships underflow, and
            -1 for noise. Detectors: -1 for outliers, 1 for the others.
        """
        return self.score_points(X).labels

    @dispatch_arrays
    def memberships(self, X: Any) -> Array:
        """Compute memberships. See `memberships_`.

        Parameters
        ----------
        X : array or CSR matrix of shape (m, n_features)
            Samples to score.

        Returns
        -------
        memberships : array of shape (m, n_clusters), or (m,) for detectors
            Membership in every cluster, or typicality, from 0 to 1.
        """
        return self.score_points(X).memberships

    @dispatch_arrays
    def outlier_scores(self, X: Any) -> Array:
        """Score how far samples are from all clusters.

        With kernels that vanish far away (rbf, laplacian) scores grow without bound with the
        distance from the data: −log density for detectors, for clusterers −log of the similarity
        to the nearest center, relative to that center's similarity to itself. With other kernels,
        clusterers use the squared distance to the nearest center in feature space, in units of the
        cluster's width where the model has one.

        With the former kernels, the fitted `outlier_scores_` of training samples leave out the
        sample itself, and its duplicates as long as they hold at most 1 % of the weight. A training
        sample passed here is a new sample, which has itself as a neighbor.

        Parameters
        ----------
        X : array or CSR matrix of shape (m, n_features)
            Samples to score.

        Returns
        -------
        scores : array of shape (m,)
            Higher means further out.
        """
        return self.score_points(X).outlier_scores

    def _validate(self, X: Any, **options: Any) -> Any:
        sparse = "csr" if self._accepts_sparse else False
        with np.errstate(invalid="ignore"):  # a sum of infinities, before they are rejected
            return validate_data(self, to_host(X), accept_sparse=sparse, **options)

    def _check_new(self, X: Any) -> Any:
        """Validate samples to score."""
        check_is_fitted(self)
        if is_dask(X):
            raise TypeError(
                "this method takes samples in memory, not Dask arrays; use predict, memberships, "
                "outlier_scores or another method that returns one result per sample."
            )
        return self._validate(X, dtype=self.sample_weight_.dtype, reset=False)

    def without_rows(self) -> Self:
        """Return a small copy of a model that was fitted to Dask data, without per-sample arrays.

        The copy scores new samples and can be pickled and saved. Any other model returns itself.

        Returns
        -------
        model : estimator
            The copy, or the model itself.
        """
        return without_rows(self) if hasattr(self, "sample_rows_") else self

    def _check_state(self) -> None:
        """Raise a ValueError where parts of a loaded model do not fit each other."""

    # Notebooks, and copies

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + fitted_html(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += fitted_html(self)
        return bundle

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = str(super().__repr__(N_CHAR_MAX))
        error = getattr(self, "approximation_error_", 0.0)
        return f"{text} [{self.engine_}, error {error:.2g}]" if error else text

    def __getstate__(self) -> dict[str, Any]:
        caches = {name for name, spec in fitted_specs(type(self)).items() if spec.transient}
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in caches}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.pairwise = self._is_precomputed
        if hasattr(self, "predict_proba"):  # as scikit-learn's check of sparse data requires
            tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags
