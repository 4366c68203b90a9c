"""One front door: clusters, outliers and rows in between, with nothing given.

In up to three columns a density tree sees clusters of any shape (`AlphaCutClustering`). In more it
has no power: there groups are found that have a valley between them (`softkern.splitting`), the
soft models are fitted to them along the directions in which they differ, and compared by what is
no model's own: whether there are valleys between their clusters, and whether the same clusters
come from half of the rows. Outliers are those of `OneClassPCM` on the columns as they are.

With `prepare`, and in `cluster`, a table first becomes numbers by the same
`softkern.tables.preparation.TablePreparation` that `softkern analyze` uses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from softkern._utils.progress import stage
from softkern._utils.random import child_seed
from softkern._utils.sklearn_compat import HasMethods, Interval, StrOptions
from softkern._utils.text import plural as count_of
from softkern._utils.typing import Array
from softkern.density_tree.bandwidth_search import FEW_COLUMNS
from softkern.density_tree.tree import SMALL_SHARE
from softkern.exceptions import (
    CollapseWarning,
    DataError,
    ParameterWarning,
    ReseedWarning,
    SpectrumWarning,
    quiet,
)
from softkern.kernels.spread import check_reach, robust_spread
from softkern.models.alpha_cut import AlphaCutClustering
from softkern.models.base import FIT_ATTRIBUTES, SAMPLE_ATTRIBUTES, SoftModel
from softkern.models.clusterer import Clusterer
from softkern.models.fuzzy import FuzzyCMeans
from softkern.models.one_class_mixture import OneClassMixture
from softkern.models.one_class_pcm import OneClassPCM
from softkern.models.point_scores import PointScores
from softkern.models.spectral import SoftKernelSpectralClustering
from softkern.models.state_schema import TABLE, TEXTS, Indices, Instance, Number, Spec
from softkern.rows import Rows, check_weights, reduce_weights, varying_columns
from softkern.splitting.coordinates import Coordinates, fit_coordinates
from softkern.splitting.noise import NoiseRadius, fit_noise_radius
from softkern.splitting.observations import make_continuous, observation_rows
from softkern.splitting.settings import SPLITTING
from softkern.splitting.split import separations, split, split_into

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AutoClustering", "cluster"]

HALVES = 2  # of the rows, on which every model is fitted again
AS_STABLE = 0.02  # difference of stability that decides nothing
APART = 0.8  # separation, in critical values, below which clusters of a model are not apart

# Warnings of trial fits that do not concern the model taken; approximations concern all of them.
OF_TRIALS = (
    CollapseWarning,
    ConvergenceWarning,
    ParameterWarning,
    ReseedWarning,
    SpectrumWarning,
)
# set last, `n_clusters_` at the very end
RESULTS = ("memberships_", "labels_", "outlier_scores_", "overlap_scores_", "n_clusters_")
SHAPES = "in up to three columns a tree of densities sees clusters of any shape"


@dataclass(frozen=True)
class Compared:
    """A model that was fitted to the groups found, and what is said of it."""

    name: str
    model: Any  # None where it could not be fitted
    clusters: int
    separation: float
    stability: float

    @property
    def words(self) -> str:
        """What came of it, in short."""
        if self.model is None:
            return "could not be fitted"
        found = count_of(self.clusters, "cluster")
        return f"{found}, separation {self.separation:.2f}, stability {self.stability:.2f}"


class AutoScores(PointScores):
    """Results of samples: outlier scores of the model of all samples, clusters of the other."""

    def __init__(self, model: AutoClustering, X: Array, **parts: Array) -> None:
        super().__init__(**parts)
        self._model, self._X = model, X

    @cached_property
    def _inner(self) -> PointScores:
        model, n, dtype = self._model, len(self._X), self._X.dtype
        if model.model_ is None:  # one cluster
            return PointScores(
                memberships=np.ones((n, 1), dtype=dtype),
                labels=np.zeros(n, dtype=np.int64),
                overlap_scores=np.zeros(n, dtype=dtype),
            )
        assert model._coordinates is not None
        scores: PointScores = model.model_.score_points(model._coordinates.forward(self._X))
        return scores

    @cached_property
    def memberships(self) -> Array:
        inner = self._inner
        if self._model.model_ is None:
            return inner.memberships
        return self._model._memberships(inner)

    @cached_property
    def labels(self) -> NDArray[np.int_]:
        return self._model._labels(self._X, self._inner)

    @cached_property
    def outlier_scores(self) -> Array:
        scores: Array = self._model.one_class_.score_points(self._X).outlier_scores
        return scores

    @cached_property
    def overlap_scores(self) -> Array:
        return self._inner.overlap_scores


class AutoClustering(Clusterer, SoftModel):
    """Clusters, outliers and rows in between, with nothing given: the model is chosen.

    Parameters
    ----------
    n_clusters : "auto" or int, default="auto"
        ``"auto"`` finds it, and says one where no two groups have a valley between them.
    prepare : bool, dict or TablePreparation, default=False
        Whether to prepare a table as `softkern analyze` does: leave out identifiers and text, take
        logarithms of skewed columns and impute missing cells from the nearest rows. A dictionary
        holds parameters of `softkern.tables.preparation.TablePreparation`, for example
        ``{"categories": ["color"]}``. With False, X must be numbers without missing values.
    engine, engine_params
        As in `OneClassPCM`; of all models that are tried.
    random_state : int, RandomState or None, default=0
    verbose : bool, default=False

    Attributes
    ----------
    labels_ : array of shape (n,)
        −1 where `AlphaCutClustering` was taken and says noise; beside two clusters or more in more
        than three columns, for rows far beyond all of them, at most one in a hundred; and for a
        row without any value in a table that was prepared.
    n_clusters_ : int
    memberships_ : array of shape ``(n, n_clusters_)``
        Rows sum to one; those of a row without any value are zero.
    outlier_scores_, overlap_scores_ : arrays of shape (n,)
    model_ : estimator or None
        The model taken, fitted in coordinates along which clusters differ; None for one group.
    one_class_ : OneClassPCM or None
        Of all rows, for outliers; None where `model_` is a density tree, which has its own.
    reason_ : str
        Why this model was taken, in one sentence.
    repeats_ : int
        Rows that repeat an earlier one.
    preparation_ : TablePreparation or None
        The fitted preparation of tables; None if X is used as it is.
    notes_ : list of str
        What the preparation did to the columns.
    bandwidth_, kernel_, plan_, engine_, approximation_error_, n_iter_, converged_, objective_, \
history_
        Of `one_class_`, or of `model_` where there is none: in the columns' own units.

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

    memberships_sum_to_one: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prepare": ["boolean", dict, HasMethods("fit_prepare")],
        "n_clusters": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        **SoftModel._parameter_constraints,
    }
    _fitted: ClassVar[dict[str, Spec]] = {
        "preparation_": Instance("TablePreparation", nullable=True),
        "notes_": TEXTS,
        "model_": Instance("KernelModel", nullable=True),
        "one_class_": Instance("OneClassPCM", nullable=True),
        "reason_": Instance("str"),
        "repeats_": Number(low=0, whole=True),
        "_comparison": TABLE,
        "_coordinates": Instance("Coordinates", nullable=True),
        "_reach": Instance("NoiseRadius", nullable=True, optional=True),
        "_clusters": Indices("c", nullable=True, optional=True),
    }
    _clusters: NDArray[np.intp] | None = None  # all columns of `model_` in their order
    _is_precomputed: ClassVar[bool] = False

    def __init__(
        self,
        n_clusters: Any = "auto",
        *,
        prepare: Any = False,
        engine: str = "auto",
        engine_params: dict[str, Any] | None = None,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.prepare = prepare
        self.engine = engine
        self.engine_params = engine_params
        self.random_state = random_state
        self.verbose = verbose

    @property
    def comparison_(self) -> pd.DataFrame:
        """The models that were compared, one a row, the best first.

        Columns: `model`, `clusters`, `separation` (the shallowest valley between two clusters, in
        critical values: above one is no chance), `stability` (adjusted Rand index with the
        clusters from half of the rows), `taken`.
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
        self._validate_params()
        if self.prepare is False:
            super().fit(X, y, sample_weight)
            self.preparation_: Any = None
            self.notes_: list[str] = []
            return self
        for name in SAMPLE_ATTRIBUTES:  # of an earlier fit
            self.__dict__.pop(name, None)
        if self._fit_dask(X, sample_weight):
            return self
        prepared = _prepare(self.prepare, X, sample_weight)
        preparation, is_blank = prepared.preparation, ~prepared.is_used
        notes = [str(note) for note in preparation.notes_]
        if prepared is not X:
            self._tell(notes)
        weight = check_weights(sample_weight, len(is_blank))
        super().fit(prepared.expand(0.0), sample_weight=np.where(is_blank, 0.0, weight))
        self.preparation_, self.notes_ = preparation, notes
        self.n_features_in_ = preparation.n_features_in_
        if hasattr(preparation, "feature_names_in_"):
            self.feature_names_in_ = preparation.feature_names_in_
        self._store_scores(self._without_blanks(PointScores.fitted(self), is_blank))
        return self

    def score_points(self, X: Any) -> PointScores:
        """Compute labels, memberships and scores of samples; see `SoftModel.score_points`.

        Columns of a table that is prepared are matched by name, those of an array by place.
        """
        check_is_fitted(self)
        if self.preparation_ is None:
            return self._score_numbers(self._check_new(X))
        prepared = self.preparation_.prepare(X)
        scores = self._score_numbers(prepared.expand(0.0))
        return self._without_blanks(scores, ~prepared.is_used)

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

    def _tell(self, lines: Sequence[str]) -> None:
        """Print lines if the model is verbose."""
        if self.verbose:
            from rich import get_console

            for line in lines:
                get_console().print(line, markup=False, highlight=False)

    def _score_numbers(self, X: Array) -> PointScores:
        """Score samples of prepared numbers."""
        if self.one_class_ is None:
            scores: PointScores = self.model_.score_points(X)
            return scores
        return AutoScores(self, X)

    def _training_scores(self, X: Array) -> PointScores:
        """Return the results of the training samples, whose outlier scores are leave-one-out."""
        if self.one_class_ is not None:
            return AutoScores(self, X, outlier_scores=self.one_class_.outlier_scores_)
        return PointScores.fitted(self.model_)

    def _memberships(self, inner: PointScores) -> Array:
        """Memberships of the clusters, (m, c); those that are nowhere the largest are left out."""
        memberships = inner.memberships
        if self._clusters is None:
            return memberships
        is_whole = len(self._clusters) == memberships.shape[1]
        memberships = memberships[:, self._clusters]
        if is_whole:
            return memberships
        total = memberships.sum(axis=1, keepdims=True)
        even = 1 / len(self._clusters)
        return np.where(total > 0, memberships / np.where(total > 0, total, 1), even)

    def _labels(self, X: Array, inner: PointScores) -> NDArray[np.int64]:
        """Clusters, and −1 beyond the reach of all of them."""
        labels = np.asarray(inner.labels, dtype=np.int64)
        if self._clusters is not None:
            number = np.full(inner.memberships.shape[1], -1, dtype=np.int64)
            number[self._clusters] = np.arange(len(self._clusters))
            labels = number[labels]
            is_left_out = labels < 0
            if is_left_out.any():
                labels[is_left_out] = np.argmax(self._memberships(inner)[is_left_out], axis=1)
        if self._reach is None:
            return labels
        return np.where(self._reach.is_noise(X), -1, labels)

    # How a fit goes

    def _fit(self, rows: Rows) -> None:
        for name in (*RESULTS, *AutoClustering._fitted):  # of an earlier fit
            self.__dict__.pop(name, None)
        X, weight = rows.X, rows.weight
        check_reach(X, robust_spread(rows))  # of all models that are tried
        distinct, together = rows.distinct
        # a table in which every row stands twice says no more than the table itself
        mass = weight * float(reduce_weights(together).sum() / together.sum())
        self._seed = child_seed(self._fit_seed)
        self.repeats_ = int((weight > 0).sum()) - len(distinct)
        self._coordinates: Coordinates | None = None
        self._reach: NoiseRadius | None = None
        self._clusters = None
        self.model_: Any = None
        self.one_class_: Any = None
        columns = varying_columns(X[distinct])
        if columns == 0:
            self._fit_single_cluster(X, mass, "all rows are the same", bandwidth=1.0)
        elif columns <= FEW_COLUMNS:
            self._fit_density_tree(X, mass, SHAPES)
        elif self.n_clusters == 1:
            self._fit_single_cluster(X, mass, "one cluster was asked for")
        else:
            self._fit_by_splitting(X, mass)
        for name in FIT_ATTRIBUTES:
            setattr(self, name, getattr(self._whole, name))
        self._store_scores(self._training_scores(X))
        self.n_clusters_ = int(self.memberships_.shape[1])
        del self._seed

    @contextmanager
    def _stage(self, what: str, watched_as: str = "") -> Iterator[list[str]]:
        """A stage of the fit, of which one line is shown: what, what came of it, seconds."""
        said: list[str] = []
        start = time.perf_counter()
        with stage(watched_as or what):
            yield said
        self._tell([", ".join([f"{what}: {time.perf_counter() - start:.1f} s", *said])])

    @property
    def support_vectors_(self) -> Any:
        """The rows of the fit that new points are compared with on all columns, (n_support, d)."""
        check_is_fitted(self)
        return self._whole.support_vectors_

    @property
    def _whole(self) -> Any:
        """The model of all rows, in the data's own columns and units."""
        return self.model_ if self.one_class_ is None else self.one_class_

    @property
    def _options(self) -> dict[str, Any]:
        return {
            "engine": self.engine,
            "engine_params": self.engine_params,
            "random_state": self._fit_seed,
        }

    def _fit_single_cluster(
        self, X: Array, mass: Array, reason: str, bandwidth: Any = "auto"
    ) -> None:
        one_class = OneClassPCM(bandwidth=bandwidth, verbose=self.verbose, **self._options)
        with self._stage("how far out every row is"):
            self.one_class_ = one_class.fit(X, sample_weight=mass)
        self._comparison = _table([Compared("one group", None, 1, np.nan, np.nan)], 0)
        self.reason_ = reason

    def _fit_density_tree(self, X: Array, mass: Array, reason: str) -> None:
        count = None if self.n_clusters == "auto" else self.n_clusters
        self.model_ = AlphaCutClustering(
            n_clusters=count, verbose=self.verbose, **self._options
        ).fit(X, sample_weight=mass)
        found = self.model_.n_clusters_
        tree = Compared("AlphaCutClustering", self.model_, found, np.nan, np.nan)
        self._comparison = _table([tree], 0)
        self.reason_ = (
            reason
            if found > 1
            else "no part of the rows stands apart by more than chance would make it"
        )

    def _fit_by_splitting(self, X: Array, mass: Array) -> None:
        """Find groups, fit the models to them, and take the best."""
        rows = observation_rows(X, mass, SPLITTING.max_rows, self._seed)
        different = len(np.unique(rows))
        with self._stage(f"groups apart from each other, in {different:,} different rows") as said:
            Z = make_continuous(X[rows], self._seed)
            if self.n_clusters == "auto":
                labels = split(
                    Z, self._seed, max(SPLITTING.min_cluster, int(SMALL_SHARE * len(rows)))
                )
            else:
                labels = split_into(Z, self.n_clusters, self._seed)
            said.append(f"{int(labels.max()) + 1} found")
        found = fit_coordinates(X[rows], labels) if labels.max() > 0 else None
        if found is not None:
            coordinates, mixture = found
            compared = self._compare_all(coordinates.forward(X[rows]), mixture.labels, Z)
            best = _best(compared)
            if compared[best].model is None:
                reason = "no model could be fitted to the groups found"
                self._fit_single_cluster(X, mass, reason)
            else:
                self._fit_single_cluster(X, mass, _reason(compared, best))
                self._comparison = _table(compared, best)
                self._coordinates, self.model_ = coordinates, compared[best].model
                if compared[best].clusters > 1:  # with one cluster there is no noise
                    self._reach = fit_noise_radius(X[rows], coordinates, mixture.labels)
                self._clusters = self._clusters_by_size(X, mass)
        elif self.n_clusters == "auto":
            reason = "no two groups of rows are further apart than chance would make them"
            self._fit_single_cluster(X, mass, reason)
        else:
            self._fit_density_tree(
                X, mass, "groups of so few rows are too small for the other models"
            )

    def _clusters_by_size(self, X: Array, mass: Array) -> NDArray[np.intp]:
        """Columns of `model_` that are the largest membership of some row, by decreasing mass."""
        columns = np.unique(self.model_.labels_)
        self._clusters = columns
        labels = self._training_scores(X).labels
        inside = labels >= 0
        size = np.bincount(labels[inside], mass[inside], len(columns))
        return columns[np.argsort(-size, kind="stable")]

    def _compare_all(self, points: Array, labels: Array, Z: Array) -> list[Compared]:
        """Fit every model to groups of observations: their coordinates, labels and columns Z."""
        compared: list[Compared] = []
        with stage("comparing models", total=len(SOFT_MODELS)) as done:
            for name in SOFT_MODELS:
                what = f"{name}, on the rows and on halves of them"
                with self._stage(what, "on the rows and on halves of them") as said:
                    compared.append(self._compare(name, points, labels, Z))
                    said.append(compared[-1].words)
                done(len(compared))
        return compared

    def _compare(self, name: str, points: Array, labels: Array, Z: Array) -> Compared:
        """A model fitted to groups along the directions in which they differ."""
        from sklearn.metrics import adjusted_rand_score  # takes long to import

        count = int(labels.max()) + 1
        make = SOFT_MODELS[name]
        with quiet(*OF_TRIALS):
            try:
                model = make(count, _one_hot(labels, count), **self._options).fit(points)
            except DataError:  # too few rows for it
                return Compared(name, None, 0, 0.0, 0.0)
            found = _compact(model.labels_)
            generator = np.random.default_rng(self._seed)
            scores = []
            for _ in range(HALVES):
                half = np.sort(generator.permutation(len(points))[: (len(points) + 1) // 2])
                start = _one_hot(labels[half], count)
                if not start.any(axis=0).all():
                    scores.append(0.0)
                    continue
                again = make(count, start, **self._options)
                again.set_params(bandwidth=model.bandwidth_)  # not sought again
                try:
                    guess = again.fit(points[half]).predict(points)
                except DataError:
                    scores.append(0.0)
                else:
                    scores.append(adjusted_rand_score(found, guess))
        depth = 0.0
        if found.max() > 0:
            depth = float(separations(Z, found, self._seed).min())
        return Compared(name, model, int(found.max()) + 1, depth, float(np.mean(scores)))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, RESULTS[-1])

    def _check_state(self) -> None:
        model, whole, coordinates = self.model_, self.one_class_, self._coordinates
        prepared = self.preparation_
        p = self.n_features_in_ if prepared is None else len(prepared.get_feature_names_out())
        if model is None and whole is None:
            raise ValueError("it holds no model.")
        if model is not None:
            count = getattr(model, "n_clusters_", 0)
            fits = (
                count == self.n_clusters_
                if self._clusters is None
                else ((self._clusters < count).all())
            )
            if not fits:
                raise ValueError("model_ has another number of clusters.")
        if whole is not None and whole.n_features_in_ != p:
            raise ValueError("one_class_ has other features.")
        if whole is None and model.n_features_in_ != p:
            raise ValueError("model_ has other features.")
        if model is None or whole is None:
            return
        if coordinates is None or coordinates.directions.shape != (p, model.n_features_in_):
            raise ValueError("the directions do not fit model_.")
        reach = getattr(self, "_reach", None)
        if reach is not None and reach.coordinates.values.shape[0] != p:
            raise ValueError("the noise radius has other features.")


def _prepare(prepare: Any, X: Any, sample_weight: Any) -> Any:
    """Prepare a table. The one import of `softkern.tables` from the library."""
    from softkern.tables.preparation import PreparedTable, TablePreparation

    if isinstance(X, PreparedTable):
        return X
    if isinstance(prepare, TablePreparation):
        return clone(prepare).fit_prepare(X, sample_weight)
    options = prepare if isinstance(prepare, dict) else {}
    return TablePreparation(**options).fit_prepare(X, sample_weight)


def _mixture(count: int, start: Array, **options: Any) -> Any:
    return OneClassMixture(count, init=start, n_init=1, **options)


def _fuzzy(count: int, start: Array, **options: Any) -> Any:
    return FuzzyCMeans(count, init=start, n_init=1, **options)


def _spectral(count: int, start: Array, **options: Any) -> Any:
    return SoftKernelSpectralClustering(count, **options)


# In the order in which they are taken where none is better than another: memberships of fuzzy
# clusters are even half way between two of them, whatever their sizes.
SOFT_MODELS: dict[str, Callable[..., Any]] = {
    "FuzzyCMeans": _fuzzy,
    "OneClassMixture": _mixture,
    "SoftKernelSpectralClustering": _spectral,
}


def _one_hot(labels: Array, count: int) -> Array:
    return np.eye(count)[labels]


def _compact(labels: Array) -> NDArray[np.intp]:
    """Numbered from 0 without gaps."""
    return np.unique(labels, return_inverse=True)[1]


def _best(compared: list[Compared]) -> int:
    """The most stable of those whose clusters are apart; the first of equals.

    Where no model's clusters are apart, of those of most clusters that with the deepest valleys.
    """
    apart = [k for k, c in enumerate(compared) if c.model is not None and c.separation >= APART]
    if not apart:
        return max(
            range(len(compared)), key=lambda k: (compared[k].clusters, compared[k].separation)
        )
    highest = max(compared[k].stability for k in apart)
    most = max(compared[k].clusters for k in apart)
    near = [k for k in apart if compared[k].stability >= highest - AS_STABLE]
    return next((k for k in near if compared[k].clusters == most), near[0])


def _table(compared: list[Compared], best: int) -> dict[str, list[Any]]:
    order = sorted(range(len(compared)), key=lambda k: (k != best, -compared[k].stability))
    rows = [compared[k] for k in order]
    return {
        "model": [row.name for row in rows],
        "clusters": [row.clusters for row in rows],
        "separation": [row.separation for row in rows],
        "stability": [row.stability for row in rows],
        "taken": [k == best for k in order],
    }


def _reason(compared: list[Compared], best: int) -> str:
    taken = compared[best]
    others = max((c.stability for k, c in enumerate(compared) if k != best), default=0.0)
    valleys = f"valleys between its clusters are {taken.separation:.1f} times what chance makes"
    if taken.separation < 1:
        valleys = "the shallowest valley between its clusters is at the edge of chance"
    if taken.separation < APART:
        return "no model's clusters are clearly apart; those of this one are the most"
    if taken.stability > others + AS_STABLE:
        return f"its clusters come again from half of the rows more than the others'; {valleys}"
    return f"as stable as any other from half of the rows; {valleys}"


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
    """Clusters, outliers and rows in between of a table, with nothing given.

    The table is taken as it is, and prepared as `softkern analyze` does it, so that both give the
    same answer; `AutoClustering` itself takes numbers as they are.

    Parameters
    ----------
    X : DataFrame or array of shape (n, d)
        Of pandas or polars, with numbers, text, dates, identifiers and missing cells. Those of
        an array are prepared in the same way.
    n_clusters : "auto" or int, default="auto"
    columns : sequence of str, default=None
        Columns to use, whatever they look like; by default all that hold numbers, less those that
        name the rows. Columns of an array are called "x1", "x2" and so on.
    categories : sequence of str, default=()
        Columns of text to use, of up to 20 values. Each becomes one column of codes, in the order
        in which the values lie in the columns of numbers.
    sample_weight : array of shape (n,), default=None
    random_state : int, RandomState or None, default=0
    verbose : bool, default=False

    Returns
    -------
    model : AutoClustering
        Fitted; `softkern.rank_points` of it lists outliers and rows in between, its
        `comparison_` the models that were compared, its `reason_` why one was taken, its `notes_`
        what was done to the columns. It predicts tables with the same columns.

    Examples
    --------
    >>> import softkern
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(150, 5, centers=3, random_state=0)
    >>> model = softkern.cluster(X)
    >>> model.n_clusters_
    3

    A table as people keep it:

    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> age = np.append(rng.normal(30, 4, 200), rng.normal(60, 4, 200))
    >>> table = pd.DataFrame({"customer": np.arange(400), "age": age, "city": "Bern"})
    >>> table["spent"] = np.exp(age / 10 + rng.normal(0, 0.5, 400))
    >>> table.loc[::10, "age"] = np.nan
    >>> model = softkern.cluster(table)
    >>> model.n_clusters_
    2
    >>> for note in model.notes_:
    ...     print(note)
    filled in 40 missing values in 40 of 400 rows, in 'age' (40), from the nearest rows
    left out 'city': text column with one value
    left out 'customer': it numbers the rows
    use columns=… to include a column whatever it contains
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
