"""The table of ranked samples, from the scores of any soft model and their calibration."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_outlier_detector
from sklearn.utils.validation import check_is_fitted

from softkern._utils.arrays import is_dask
from softkern._utils.typing import Array
from softkern.models.point_scores import PointScores
from softkern.ranking.calibration import (
    MOST_OUTLIERS,
    Calibration,
    ranks_of,
    repeats_of,
    threshold_of,
)

if TYPE_CHECKING:
    import pandas as pd

FALSE_ALARMS = 0.05  # typical samples expected as far out as one that is flagged
PARTS = ("labels", "memberships", "outlier_scores", "overlap_scores")
SCORES = ("outlier_score", "overlap_score")
RANKS = ("outlier_rank", "overlap_rank")
OVERLAP = 0.5  # overlap score from which samples are flagged; 1 is halfway between two clusters


def rank_points(
    model: Any,
    X: Any = None,
    *,
    contamination: float | None = None,
    false_alarms: float = FALSE_ALARMS,
    n_top: int = 1000,
) -> Any:
    """Rank samples by how far out they are, and by how far they lie between two clusters.

    Parameters
    ----------
    model : fitted soft model, or a pipeline that ends in one
        Any model with `outlier_scores`, such as those of softkern.
    X : array, DataFrame or CSR matrix of shape (m, n_features), Dask array or dataframe, \
default=None
        Samples to rank. None ranks the training samples, scored leave-one-out. Training samples
        passed as X are new samples, which have themselves as neighbors.
    contamination : float in (0, 0.5], default=None
        Flag samples as far out as the furthest training samples that hold at most this share of
        the weight.
    false_alarms : float, default=0.05
        Without `contamination`: flag samples so far out that fewer than this many typical samples
        are expected there, among as many as were trained on. Where most rows are repeated, the
        repeats do not count. The `contamination` of the model itself is not used.
    n_top : int, default=1000
        For Dask data, the number of samples of either ranking in `top`.

    Returns
    -------
    table : DataFrame, or RankedChunks for Dask data
        One row per sample, in the order of X and with its index. `RankedChunks.table` is a Dask
        dataframe without ranks. `RankedChunks.top` is a DataFrame of the samples with the best
        ranks, indexed by their row numbers, with ranks among all samples.

        label
            Cluster: −1 for noise of `AlphaCutClustering`, 0 for the one cluster of detectors.
        membership
            Highest membership, 0 for noise. For models without memberships, the share of typical
            samples that are at least as far out: one for the innermost, near zero for outliers.
        outlier_score
            −log10 of the share of typical samples at least that far out. It grows without bound
            and strictly with the model's own `outlier_scores`, and means the same for all models.
        outlier_rank, is_outlier
            1 for the strongest outlier. Equal samples share a rank. Rows are ranked: a weight of
            two is still one row.
        overlap_score
            The model's own `overlap_scores`, 1 where two clusters tie. 0 for outliers and noise,
            which belong to no cluster, and for models without such scores.
        overlap_rank, is_overlap
            1 for the sample most between clusters. The flag is for scores of at least ½.

    Notes
    -----
    Up to the upper fifth the share is counted among the training samples. Above, it is that of a
    generalized Pareto tail, fitted without the samples far beyond a first, rough tail, so that
    outliers do not mask each other as long as they are fewer than a fifth. Weights of the fit count
    as repeated rows.

    One-class SVMs with nu below one half give most samples similar scores. No outliers are then
    excluded from the tail, and many outliers mask each other. Where two centers coincide, all of
    their samples are flagged as overlap. docs/benchmarks.md has the measured shares of false alarms
    and of planted outliers that are detected.

    References
    ----------
    R. Mall, R. Langone, J. A. K. Suykens, "Ranking overlap and outlier points in data using soft
    kernel spectral clustering", ESANN 2015, for one model, whose rule is
    `SoftKernelSpectralClustering.detect`.

    J. Pickands, "Statistical inference using extreme order statistics", Annals of Statistics 3(1),
    1975, for the tail. :doi:`10.1214/aos/1176343003`

    Examples
    --------
    >>> import numpy as np
    >>> from softkern import PossibilisticCMeans, rank_points
    >>> X = np.random.default_rng(0).normal(size=(101, 2))
    >>> X[50:100] += 8
    >>> X[100] = [4, 20]
    >>> table = rank_points(PossibilisticCMeans(2).fit(X))
    >>> table.index[table["is_outlier"]].tolist()
    [100]
    """
    options: dict[str, Any] = {"contamination": contamination, "false_alarms": false_alarms}
    if is_dask(X) or (X is None and is_dask(getattr(model, "outlier_scores_", None))):
        from softkern.dask.rank import rank_chunks

        return rank_chunks(model, X, n_top, options)
    ranker = Ranker(model, **options)
    index = getattr(X, "index", None) if hasattr(X, "columns") else None
    return ranker.table(ranker.score_points(X), index)


class Ranker:
    """Ranks samples relative to a model's training samples, with the options of `rank_points`."""

    def __init__(
        self, model: Any, *, contamination: float | None = None, false_alarms: float = FALSE_ALARMS
    ) -> None:
        if contamination is not None and not 0 < contamination <= 0.5:
            raise ValueError(f"contamination={contamination!r} must lie in (0, 0.5], or be None.")
        if not 0 < false_alarms < np.inf:
            raise ValueError(f"false_alarms={false_alarms!r} must be a positive number.")
        self._steps = model[:-1] if hasattr(model, "steps") and len(model.steps) > 1 else None
        self._model = model = model[-1] if hasattr(model, "steps") else model
        if isinstance(model, type) or not hasattr(model, "outlier_scores"):
            raise TypeError(
                f"{model!r} cannot be ranked: rank_points needs a fitted model with "
                "outlier_scores, such as those of softkern."
            )
        check_is_fitted(model)
        scores, weight = _training_scores(model)
        is_flat = getattr(model, "scores_are_flat_within_margin", False)
        self._calibration = Calibration(scores, weight, most=0.0 if is_flat else MOST_OUTLIERS)
        # samples above one of the two are outliers
        self._highest_score = self._highest_surprisal = np.inf
        if contamination is None:
            self._highest_surprisal = np.log10(weight.sum(dtype=np.float64) / false_alarms)
        else:
            self._highest_score = threshold_of(scores, weight, contamination)

    def score_points(self, X: Any = None) -> PointScores:
        """Score samples with one call of the model; None scores the training samples.

        Detectors have one cluster, 0, without overlap. Memberships are None for a model without.
        """
        model = self._model
        if X is None:
            return _score_training(model)
        if (X.shape[0] if getattr(X, "shape", ()) else len(X)) == 0:  # models reject it
            shape = (0,) if is_outlier_detector(model) else (0, getattr(model, "n_clusters_", 1))
            memberships = np.zeros(shape) if hasattr(model, "memberships") else None
            return to_arrays(model, np.zeros(0), memberships, np.zeros(0), np.zeros(0))
        X = X if self._steps is None else self._steps.transform(X)
        if hasattr(model, "score_points"):
            return to_arrays(model, *attrgetter(*PARTS)(model.score_points(X)))
        return to_arrays(
            model,
            None if is_outlier_detector(model) else model.predict(X),
            model.memberships(X) if hasattr(model, "memberships_") else None,
            model.outlier_scores(X),
            model.overlap_scores(X) if hasattr(model, "overlap_scores") else None,
        )

    def table(self, points: PointScores, index: Any = None) -> pd.DataFrame:
        """Make the table of `rank_points`. Ranks are those among these samples."""
        import pandas as pd

        labels, memberships, native = points.labels, points.memberships, points.outlier_scores
        surprisal = self._calibration.surprisal(native)
        is_outlier = (surprisal > self._highest_surprisal) | (native > self._highest_score)
        highest = 10.0**-surprisal
        if memberships is not None:
            columns = memberships[:, None] if memberships.ndim == 1 else memberships
            highest = columns.max(axis=1, initial=0.0)
        overlap = np.where(is_outlier | (labels < 0), 0.0, points.overlap_scores)
        table = {
            "label": labels,
            "membership": np.where(labels < 0, 0.0, highest),
            "outlier_score": surprisal,
            "outlier_rank": ranks_of(native),
            "is_outlier": is_outlier,
            "overlap_score": overlap,
            "overlap_rank": ranks_of(overlap),
            "is_overlap": overlap >= OVERLAP,
        }
        return pd.DataFrame(table, index=index)


def flagged_points(table: pd.DataFrame, kind: str) -> NDArray[np.intp]:
    """Return positions of the flagged samples in a table of `rank_points`, best rank first."""
    flagged = np.flatnonzero(table[f"is_{kind}"])
    return flagged[np.argsort(table[f"{kind}_rank"].to_numpy()[flagged], kind="stable")]


# Scores of a model


def _score_training(model: Any) -> PointScores:
    """Return the fitted attributes, which are leave-one-out scores."""
    if not hasattr(model, "outlier_scores_") and hasattr(model, "sample_outlier_scores_"):
        raise ValueError(
            f"this {type(model).__name__} was fitted to Dask data and saved without per-sample "
            "arrays. Pass the samples as X."
        )
    return to_arrays(model, *(getattr(model, f"{name}_", None) for name in PARTS))


def to_arrays(
    model: Any, labels: Any, memberships: Any, outlier_scores: Any, overlap_scores: Any
) -> PointScores:
    """Convert results to arrays. Detectors have one cluster, without overlap."""
    native: Array = np.asarray(outlier_scores)
    bad = np.flatnonzero(np.isnan(native))
    if bad.size:
        raise ValueError(
            f"{type(model).__name__}.outlier_scores is NaN for {bad.size} samples, first in row "
            f"{bad[0]}; they cannot be ranked."
        )
    n = len(native)
    if is_outlier_detector(model):
        labels = overlap_scores = None
    overlap = np.zeros(n) if overlap_scores is None else np.asarray(overlap_scores, np.float64)
    return PointScores(
        labels=np.zeros(n, np.int64) if labels is None else np.asarray(labels, np.int64),
        memberships=None if memberships is None else np.asarray(memberships),
        outlier_scores=native,
        overlap_scores=np.clip(overlap, 0, 1),
    )


def _training_scores(model: Any) -> tuple[Array, NDArray[np.float64]]:
    """Return outlier scores and weights of the training samples, of a sample for Dask data.

    Weights are divided by the number of repeats of the median row.
    """
    if hasattr(model, "sample_outlier_scores_"):
        points = to_arrays(model, None, None, model.sample_outlier_scores_, None)
        return points.outlier_scores, np.asarray(model.sample_row_weights_, dtype=np.float64)
    scores = _score_training(model).outlier_scores
    given = getattr(model, "sample_weight_", None)
    weight = np.ones(len(scores)) if given is None else np.asarray(given, dtype=np.float64)
    if weight.shape != scores.shape:
        raise ValueError(
            f"{type(model).__name__} has {weight.size} weights in sample_weight_, but scores of "
            f"{len(scores)} training samples."
        )
    return scores, weight / repeats_of(scores, weight)
