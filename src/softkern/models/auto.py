"""Clusters, outliers and points between clusters of a table, without any parameter.

`AutoClustering` decides how many clusters there are and which model describes them
(`softkern.models.auto_decision`), and delegates to that model. With `prepare`, and in `cluster`, a
table first becomes numbers by the same `softkern.tables.preparation.TablePreparation` that
`softkern analyze` uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from softkern._utils.arrays import is_dask
from softkern._utils.random import child_seed
from softkern._utils.sklearn_compat import HasMethods, Interval, StrOptions
from softkern._utils.typing import Array
from softkern.kernels.spread import check_reach, robust_spread
from softkern.models.auto_decision import Search, print_lines
from softkern.models.base import FIT_ATTRIBUTES, SoftModel
from softkern.models.clusterer import Clusterer
from softkern.models.point_scores import PointScores
from softkern.models.state_schema import Check, Indices, Number, Spec, Typed, table_problem
from softkern.rows import Rows, check_weights, reduce_weights

if TYPE_CHECKING:
    import pandas as pd


class AutoScores(PointScores):
    """Scores of samples X by an `AutoClustering` that has a model of outliers."""

    model: Any
    X: Array

    @cached_property
    def mapped(self) -> Any:
        """Scores by the model of clusters; without one there is one cluster."""
        if self.model.model_ is None:
            return PointScores(log_memberships=np.zeros((len(self.X), 1), dtype=self.X.dtype))
        return self.model.model_.score_points(self.model._coordinates.forward(self.X))

    @cached_property
    def memberships(self) -> Array:
        """Memberships, (m, c)."""
        memberships, columns = self.mapped.memberships, self.model._columns  # None for all clusters
        if columns is None:
            return memberships
        chosen = memberships[:, columns]
        if chosen.shape == memberships.shape:
            return chosen
        total, even = chosen.sum(axis=1, keepdims=True), 1 / len(columns)
        return np.where(total > 0, chosen / np.where(total > 0, total, 1), even)

    @cached_property
    def labels(self) -> NDArray[np.int_]:
        """Clusters, (m,), −1 for noise."""
        labels = np.asarray(self.mapped.labels, dtype=np.int64)
        columns = self.model._columns
        if columns is not None:
            number = np.full(self.mapped.memberships.shape[1], -1, dtype=np.int64)
            number[columns] = np.arange(len(columns))
            labels = number[labels]
            # a dropped cluster may be the largest of a new sample
            labels = np.where(labels < 0, np.argmax(self.memberships, axis=1), labels)
        radius = self.model._noise_radius
        return labels if radius is None else np.where(radius.is_noise(self.X), -1, labels)

    @cached_property
    def outlier_scores(self) -> Array:
        """Outlier scores, (m,)."""
        return self.model.one_class_.score_points(self.X).outlier_scores

    @cached_property
    def overlap_scores(self) -> Any:
        """Overlap scores, (m,)."""
        return self.mapped.overlap_scores


@dataclass(eq=False, repr=False, kw_only=True)
class AutoClustering(Clusterer, SoftModel):
    """Cluster a table and score outliers; the number of clusters and the model are chosen.

    Parameters
    ----------
    n_clusters : "auto" or int, default="auto"
        Number of clusters. ``"auto"`` estimates it: one where no density gap is significant.
    prepare : bool, dict or TablePreparation, default=False
        Whether to prepare a table as `softkern analyze` does: leave out identifiers and text, take
        logarithms of skewed columns and impute missing cells. A dictionary holds parameters of
        `softkern.tables.preparation.TablePreparation`, for example ``{"categories": ["color"]}``.
        With False, X must be numbers without missing values.
    engine, engine_params
        As in `OneClassPCM`, for all models that are tried.
    random_state : int, RandomState or None, default=0
        As in `OneClassPCM`.
    verbose : bool, default=False
        Whether to print every stage with its time and outcome.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of each sample, the largest cluster first. −1 is noise: in up to three columns as in
        `AlphaCutClustering`, in more columns up to one in a hundred samples, far from all clusters.
        Rows of a prepared table without any value are noise too.
    n_clusters_ : int
        Number of clusters. Fewer than requested where the chosen model merges some.
    memberships_ : array of shape (n_samples, n_clusters_)
        Memberships, which sum to one; zero for rows without any value.
    outlier_scores_ : array of shape (n_samples,)
        Outlier scores of the training samples, leave-one-out.
    overlap_scores_ : array of shape (n_samples,)
        One where two clusters tie.
    model_ : estimator or None
        The chosen model, None for one cluster. A soft model is fitted in coordinates along which
        clusters differ.
    one_class_ : OneClassPCM or None
        Model of outlier scores. None if `model_` is a density tree, which has its own.
    reason_ : str
        Why this model was chosen, in one sentence.
    repeats_ : int
        Number of rows that repeat an earlier one.
    preparation_ : TablePreparation or None
        The fitted preparation of tables; None if X is used as it is.
    notes_ : list of str
        What the preparation did to the columns.
    bandwidth_, kernel_, plan_, engine_, approximation_error_, n_iter_, converged_, objective_, \
history_
        Those of `one_class_`, or of `model_` if there is none: in the columns' own units.

    See Also
    --------
    softkern.cluster : The same as a function.

    Examples
    --------
    >>> import numpy as np
    >>> from softkern import AutoClustering
    >>> X = np.random.default_rng(0).normal(size=(200, 6))
    >>> X[100:, 0] += 7
    >>> model = AutoClustering().fit(X)
    >>> model.n_clusters_
    2
    >>> model.predict(X[:1]) == model.predict(X[-1:])
    array([False])
    """

    n_clusters: Any = field(default="auto", kw_only=False)
    prepare: Any = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prepare": ["boolean", dict, HasMethods("fit_prepare")],
        "n_clusters": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        **SoftModel._parameter_constraints,
    }
    _fitted: ClassVar[dict[str, Spec]] = {
        "preparation_": Typed("TablePreparation", nullable=True),
        "notes_": Typed(list[str], "a list of texts"),
        "model_": Typed("KernelModel", nullable=True),
        "one_class_": Typed("OneClassPCM", nullable=True),
        "reason_": Typed(str),
        "repeats_": Number(low=0, whole=True),
        "_comparison": Check(table_problem),
        "_coordinates": Typed("Coordinates", nullable=True),
        "_noise_radius": Typed("NoiseRadius", nullable=True, optional=True, stored_as="reach"),
        "_columns": Indices("c", nullable=True, optional=True, stored_as="clusters"),
    }

    @property
    def comparison_(self) -> pd.DataFrame:
        """The models that were compared, one row per model, the chosen one first.

        Columns: `model`, `clusters`, `separation` (the smallest gap between two clusters in
        critical depths: significant above one), `stability` (adjusted Rand index with clusters
        from half of the rows), `taken` (whether it was chosen).
        """
        import pandas as pd

        check_is_fitted(self)
        return pd.DataFrame(self._comparison)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, DataFrame or Dask collection of shape (n_samples, n_features)
            Numbers without missing values, or with `prepare` any table. A `PreparedTable` brings
            its own preparation.
        y : ignored
        sample_weight : array of shape (n_samples,), default=None
            A weight of two counts a row twice. The preparation learns from rows with a weight.

        Returns
        -------
        self : AutoClustering
        """
        if self.prepare is False or is_dask(X):
            super().fit(X, y, sample_weight)
            if self.prepare is False:
                self.preparation_: Any = None
                self.notes_: list[str] = []
            return self
        self._validate_params()
        # the only import of softkern.tables from the library
        from softkern.tables.preparation import PreparedTable, TablePreparation

        prepared = X
        if not isinstance(X, PreparedTable):
            given = self.prepare if isinstance(self.prepare, dict) else {}
            is_made = isinstance(self.prepare, TablePreparation)
            preparation = clone(self.prepare) if is_made else TablePreparation(**given)
            prepared = preparation.fit_prepare(X, sample_weight)
        preparation, is_blank = prepared.preparation, ~prepared.is_used
        notes = list(map(str, preparation.notes_))
        if prepared is not X and self.verbose:
            print_lines(notes)
        if is_blank.any():
            weight = check_weights(sample_weight, len(is_blank))
            sample_weight = np.where(is_blank, 0.0, weight)
        super().fit(prepared.expand(0.0), sample_weight=sample_weight)
        self.preparation_, self.notes_ = preparation, notes
        self.n_features_in_ = preparation.n_features_in_
        if hasattr(preparation, "feature_names_in_"):
            self.feature_names_in_ = preparation.feature_names_in_
        if is_blank.any():
            self._store_scores(self._without_blanks(PointScores.fitted(self), is_blank))
        return self

    def score_points(self, X: Any) -> PointScores:
        """Compute labels, memberships and scores of samples; see `SoftModel.score_points`."""
        check_is_fitted(self)
        prepared = None if self.preparation_ is None else self.preparation_.prepare(X)
        X = self._check_new(X) if prepared is None else prepared.expand(0.0)
        scores = (
            self.model_.score_points(X) if self.one_class_ is None else AutoScores(model=self, X=X)
        )
        return scores if prepared is None else self._without_blanks(scores, ~prepared.is_used)

    def _without_blanks(self, scores: PointScores, is_blank: Array) -> PointScores:
        """Put rows without any value in no cluster, with the lowest outlier score."""
        if not is_blank.any():
            return scores
        known = getattr(self, "sample_outlier_scores_", None)  # after a fit to Dask collections
        known = self.outlier_scores_[self.sample_weight_ > 0] if known is None else known
        return PointScores(
            memberships=np.where(is_blank[:, None], 0, scores.memberships),
            labels=np.where(is_blank, -1, scores.labels),
            outlier_scores=np.where(is_blank, known.min(), scores.outlier_scores),
            overlap_scores=np.where(is_blank, 0, scores.overlap_scores),
        )

    def _fit(self, rows: Rows) -> None:
        check_reach(rows.X, robust_spread(rows))
        distinct, together = rows.distinct
        self.repeats_ = int((rows.weight > 0).sum()) - len(distinct)
        # a table in which every row occurs twice carries no more evidence than the table itself
        share = float(reduce_weights(together).sum() / together.sum())
        if share != 1:
            rows = rows.reweighted(rows.weight * share)
        options = {
            "engine": self.engine,
            "engine_params": self.engine_params,
            "random_state": self._fit_seed,
        }
        seed = child_seed(self._fit_seed)
        decision = Search(self.n_clusters, seed, options, bool(self.verbose)).decide(rows)
        self.reason_, candidates = decision.reason, decision.candidates
        names = ("model", "clusters", "separation", "stability")
        self._comparison = {name: [getattr(c, name) for c in candidates] for name in names}
        self._comparison["taken"] = [True] + [False] * (len(candidates) - 1)
        self.model_, self.one_class_ = candidates[0].fitted, decision.one_class
        self._coordinates, self._noise_radius = decision.coordinates, decision.noise_radius
        for name in FIT_ATTRIBUTES:
            setattr(self, name, getattr(self._whole, name))
        self._store_scores(self._score_training(rows))
        self.n_clusters_ = int(self.memberships_.shape[1])

    def _score_training(self, rows: Rows) -> PointScores:
        """Score the training samples, and number the clusters by size."""
        self._columns = None
        if self.one_class_ is None:
            return PointScores.fitted(self.model_)
        known = {"model": self, "X": rows.X, "outlier_scores": self.one_class_.outlier_scores_}
        if self.model_ is None:
            return AutoScores(**known)
        self._columns = np.unique(self.model_.labels_)  # clusters that win a row
        scores = AutoScores(**known)
        inside = scores.labels >= 0
        size = np.bincount(scores.labels[inside], rows.weight[inside], len(self._columns))
        self._columns = self._columns[np.argsort(-size, kind="stable")]
        return AutoScores(**known, mapped=scores.mapped)

    @property
    def support_vectors_(self) -> Any:
        """Training samples that new samples are compared with, (n_support, n_features)."""
        check_is_fitted(self)
        return self._whole.support_vectors_

    @property
    def _whole(self) -> Any:
        """The model of all samples, in the data's own columns and units."""
        return self.model_ if self.one_class_ is None else self.one_class_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_clusters_")  # the last that a fit sets

    def _check_state(self) -> None:
        model, whole, coordinates = self.model_, self.one_class_, self._coordinates
        prepared = self.preparation_
        p = self.n_features_in_ if prepared is None else len(prepared.get_feature_names_out())
        if model is None and whole is None:
            raise ValueError("it holds no model.")
        if self._whole.n_features_in_ != p:
            raise ValueError(f"{'model_' if whole is None else 'one_class_'} has other features.")
        if model is None:
            return
        columns, count = self._columns, getattr(model, "n_clusters_", 0)
        fits = count == self.n_clusters_ if columns is None else (columns < count).all()
        if not fits:
            raise ValueError("model_ has another number of clusters.")
        if whole is None:
            return
        if coordinates is None or coordinates.directions.shape != (p, model.n_features_in_):
            raise ValueError("the directions do not fit model_.")
        radius = self._noise_radius
        if radius is not None and radius.coordinates.values.shape[0] != p:
            raise ValueError("the noise radius has other features.")


def cluster(
    X: Any,
    n_clusters: Any = "auto",
    *,
    columns: Sequence[str] | None = None,
    categories: Sequence[str] = (),
    sample_weight: Any = None,
    random_state: Any = 0,
    verbose: bool = False,
) -> AutoClustering:
    """Cluster a table, and score outliers and points between clusters, without any parameter.

    The table is prepared as `softkern analyze` does, so that both give the same result.

    Parameters
    ----------
    X : DataFrame or array of shape (n_samples, n_features)
        A pandas or polars table with numbers, text, dates and missing cells, or an array.
    n_clusters : "auto" or int, default="auto"
        Number of clusters; see `AutoClustering`.
    columns : sequence of str, default=None
        Columns to use, whatever they contain. By default all columns with numbers, without
        identifiers. Columns of an array are called "x1", "x2" and so on.
    categories : sequence of str, default=()
        Text columns to use, with up to 20 values. Each becomes one column of codes, in the order
        in which the values lie in the numeric columns.
    sample_weight : array of shape (n_samples,), default=None
        A weight of two counts a row twice.
    random_state : int, RandomState or None, default=0
        As in `AutoClustering`.
    verbose : bool, default=False
        As in `AutoClustering`.

    Returns
    -------
    model : AutoClustering
        The fitted model, for tables with the same columns. `softkern.rank_points` lists its
        outliers and points between clusters. `reason_` and `comparison_` explain the choice of the
        model, and `notes_` what was done to the columns.

    Examples
    --------
    >>> import softkern
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(150, 5, centers=3, random_state=0)
    >>> model = softkern.cluster(X)
    >>> model.n_clusters_
    3

    A table with an identifier and text:

    >>> import pandas as pd
    >>> table = pd.DataFrame(X, columns=list("abcde")).assign(customer=range(150), city="Bern")
    >>> for note in softkern.cluster(table).notes_:
    ...     print(note)
    left out 'city': text column with one value
    left out 'customer': it numbers the rows
    use columns=… to include a column in any case
    """
    options: dict[str, Any] = {}
    if columns is not None:
        options["columns"] = list(columns)
    if categories:
        options["categories"] = list(categories)
    model = AutoClustering(
        n_clusters, prepare=options or True, random_state=random_state, verbose=verbose
    )
    return model.fit(X, sample_weight=sample_weight)
