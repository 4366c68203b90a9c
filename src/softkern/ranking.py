"""The points of any soft model in order: what is furthest out, what lies between clusters.

Models score how far out a point is in units of their own: minus the log of a similarity, a squared
distance, a margin. `Calibration` reads from the training points' scores what is usual for that
model, and turns a score into a surprisal, −log10 of the share of typical points that lie at least
that far out: 3 is one in a thousand, whatever the model. `rank_points` makes the table; `Ranker`
keeps the calibration for points that come in chunks. Models are known by their public, fitted
attributes only; the displays, the report and the command line call it.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_outlier_detector
from sklearn.utils.validation import check_is_fitted

from softkern._utils.typing import Array
from softkern.dask import (
    TableChunks,
    is_chunked,
    row_chunks,
    tables_of_chunks,
    top_of_tables,
)
from softkern.rows import lower_quantile

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Calibration", "RankedChunks", "Ranker", "rank_points"]

FALSE_ALARMS = 0.05  # typical points expected as far out as one that is called an outlier
SCORES = ("outlier_score", "overlap_score")
RANKS = ("outlier_rank", "overlap_rank")
OVERLAP = 0.5  # overlap score, one half way between two clusters, from which they share a point

# A tail is fitted through the scores that these shares of the points exceed: once roughly, to find
# the outliers, and again without them. `benchmarks/ranking.py` has the study behind the numbers.
ROUGH_TAIL = (0.5, 0.2)
FINAL_TAIL = (0.2, 0.1, 0.05)
LEFT_OUT_SURPRISAL = 3.5  # in the rough tail; points beyond have no part in the final one
MOST_OUTLIERS = 0.2  # where a larger share is beyond, no point is left out
FEWEST_IN_TAIL = 10.0  # points above the tail's start, which is lowered down to the median for it
# The tail's shape: 0 is exponential, 1 as heavy as Cauchy's. Quantiles of few points say little
# of it, so it is drawn towards its prior, the lower end of the range.
SHAPE_RANGE = (0.1, 1.0)
SHAPE_PRIOR_SPREAD = 0.1  # standard deviation of the shape around its prior
SHAPE_READING_SPREAD = 1.8  # of its reading from quantiles with one point above the last
ROUNDING = 1e3  # in units of eps: scores of equal points that were summed in another order


def rank_points(
    model: Any,
    X: Any = None,
    *,
    contamination: float | None = None,
    false_alarms: float = FALSE_ALARMS,
    n_top: int = 1000,
) -> Any:
    """Rank points by how far out they are and by how much two clusters share them.

    Parameters
    ----------
    model : fitted soft model, or a pipeline that ends in one
        Anything with `outlier_scores`: all models of this package.
    X : array, DataFrame or CSR matrix of shape (m, d), Dask array or dataframe, default=None
        The points to rank. None ranks the training points, each by the others; given as X, they
        are new points, which find themselves among the training points.
    contamination : float in (0, 0.5], default=None
        Flag the points as far out as the furthest training points that hold at most this share of
        the weight.
    false_alarms : float, default=0.05
        Without `contamination`: flag points so far out that fewer than this many typical points
        are expected there, among as many as were trained on; where most rows are repeated, the
        repeats do not count. The `contamination` of the model itself plays no part.
    n_top : int, default=1000
        Of Dask data, so many points of either ranking are in `top`.

    Returns
    -------
    table : DataFrame, or RankedChunks of `top` and `table` where the points are Dask's
        One row a point, in the order of X and with its index. `RankedChunks.table` is a Dask
        dataframe without ranks; `RankedChunks.top` a DataFrame of the points that are furthest out
        or most shared, known by their row numbers, with their ranks among all.

        label
            The cluster; −1 for noise of `AlphaCutClustering`, 0 for the one cluster of detectors.
        membership
            The highest; 0 for noise. For models without memberships, the share of typical points
            that are at least as far out: one for the innermost, near zero for outliers.
        outlier_score
            −log10 of the share of typical points at least that far out. It grows without end and
            strictly with the model's own `outlier_scores`, and means the same for all models.
        outlier_rank, is_outlier
            1 for the furthest point; points that are alike share a rank. Rows are ranked, a
            weight of two is still one row.
        overlap_score
            The model's own `overlap_scores`, 1 where two clusters tie; mostly the second highest
            membership over the highest, or what would be if memberships were not 0 and 1.
            Outliers and noise belong to no cluster, hence not to two: 0, and so is all of a
            model without such scores.
        overlap_rank, is_overlap
            1 for the most shared point; the flag is for scores of at least ½.

    Notes
    -----
    Up to the upper fifth the share is counted among the training points; above it, it is that of a
    generalized Pareto tail. Points far beyond a first, rough tail are left out of it, so that
    outliers do not make outliers usual, as long as they are fewer than a fifth. Weights of the fit
    count as repeated rows.

    `WeightedSVDD` and `WeightedOneClassSVM` with nu below one half set a share nu of the points
    apart, outliers or not, and score the others alike: no outliers are then left out of the tail,
    and many outliers hide each other. Where two centers of a model have collapsed onto one place,
    they share all of its points, which are then all flagged as overlap. docs/benchmarks.md has the
    measured shares of false alarms and of planted outliers that are found.

    References
    ----------
    R. Mall, R. Langone, J. A. K. Suykens, "Ranking overlap and outlier points in data using soft
    kernel spectral clustering", ESANN 2015, do so for one model, whose
    `SoftKernelSpectralClustering.detect` has their rule.

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
    >>> int(table["outlier_rank"][100])
    1
    """
    options: dict[str, Any] = {"contamination": contamination, "false_alarms": false_alarms}
    if is_chunked(X) or (X is None and is_chunked(getattr(model, "outlier_scores_", None))):
        return _rank_chunks(model, X, n_top, options)
    ranker = Ranker(model, **options)
    index = getattr(X, "index", None) if hasattr(X, "columns") else None
    return ranker.table(ranker.read(X), index)


class RankedChunks(NamedTuple):
    """What `rank_points` says of Dask data.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from softkern import OneClassPCM
    >>> X = da.from_array(np.random.default_rng(0).normal(size=(300, 2)), chunks=(100, 2))
    >>> ranked = rank_points(OneClassPCM().fit(X), n_top=3)
    >>> ranked.top["outlier_rank"].head(3).tolist(), ranked.table.npartitions
    ([1, 2, 3], 3)
    """

    top: Any  # a DataFrame
    table: Any  # a Dask dataframe


def _rank_chunks(model: Any, X: Any, n_top: int, options: dict[str, Any]) -> RankedChunks:
    """The points of highest ranks, and the table of all, chunk by chunk."""
    small = model.without_rows() if hasattr(model, "without_rows") else model
    ranker = Ranker(small, **options)
    if X is None:
        names = [f"{name}_" for name in PointScores._fields]
        columns = [getattr(model, name, None) for name in names]
        table = tables_of_chunks(_rank_read, *columns, ranker=ranker)
    elif getattr(model, "preparation_", None) is not None:
        table = TableChunks.of(X).tables(_rank_new, ranker=ranker)
    else:
        table = tables_of_chunks(_rank_new, row_chunks(X), ranker=ranker)
    table = table.drop(columns=list(RANKS))
    return RankedChunks(top_of_tables(table, dict(zip(SCORES, RANKS, strict=True)), n_top), table)


def _rank_read(*columns: Any, ranker: Ranker) -> pd.DataFrame:
    return ranker.table(_points(ranker._model, *columns))


def _rank_new(X: Any, ranker: Ranker) -> pd.DataFrame:
    return ranker.table(ranker.read(X))


class PointScores(NamedTuple):
    """What a model says of points, whichever way it was asked."""

    labels: NDArray[np.int64]  # (m,)
    memberships: Array | None  # (m, c), (m,) of one cluster, or None where the model has none
    outlier_scores: Array  # (m,)
    overlap_scores: Array  # (m,)


class Ranker:
    """Ranks points by what is usual for a model's training points, as `rank_points` does.

    Examples
    --------
    >>> import numpy as np
    >>> from softkern import OneClassPCM
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> ranker = Ranker(OneClassPCM().fit(X))
    >>> [bool(ranker.table(ranker.read([point]))["is_outlier"][0]) for point in ([0, 0], [9, 9])]
    [False, True]
    """

    def __init__(
        self, model: Any, *, contamination: float | None = None, false_alarms: float = FALSE_ALARMS
    ) -> None:
        if contamination is not None and not 0 < contamination <= 0.5:
            raise ValueError(f"contamination={contamination!r} must lie in (0, 0.5], or be None.")
        if not 0 < false_alarms < np.inf:
            raise ValueError(f"false_alarms={false_alarms!r} must be a positive number.")
        self._steps = model[:-1] if hasattr(model, "steps") and len(model.steps) > 1 else None
        self._model = model = model[-1] if hasattr(model, "steps") else model
        _check_model(model)
        scores, weight = _training_scores(model)
        is_flat = getattr(model, "scores_are_flat_within_margin", False)
        self._calibration = Calibration(scores, weight, most=0.0 if is_flat else MOST_OUTLIERS)
        # points above one of the two are outliers
        self._highest_score = self._highest_surprisal = np.inf
        if contamination is None:
            self._highest_surprisal = np.log10(weight.sum(dtype=np.float64) / false_alarms)
        else:
            self._highest_score = _cut(scores, weight, contamination)

    def read(self, X: Any = None) -> PointScores:
        """What the model says of points, from one reading of it; by default the training points."""
        if X is None:
            return _read_training(self._model)
        return _read_new(self._model, X if self._steps is None else self._steps.transform(X))

    def table(self, points: PointScores, index: Any = None) -> pd.DataFrame:
        """The table of `rank_points`; ranks are those among the points given."""
        import pandas as pd

        labels, memberships, native, overlap = points
        surprisal = self._calibration.surprisal(native)
        is_outlier = (surprisal > self._highest_surprisal) | (native > self._highest_score)
        highest = 10.0**-surprisal
        if memberships is not None:
            highest = memberships.reshape(len(native), -1).max(axis=1, initial=0.0)
        overlap = np.where(is_outlier | (labels < 0), 0.0, overlap)
        columns = {
            "label": labels,
            "membership": np.where(labels < 0, 0.0, highest),
            "outlier_score": surprisal,
            "outlier_rank": _ranks(native),
            "is_outlier": is_outlier,
            "overlap_score": overlap,
            "overlap_rank": _ranks(overlap),
            "is_overlap": overlap >= OVERLAP,
        }
        return pd.DataFrame(columns, index=index)


class Calibration:
    """What is usual for scores of which higher is further out, and how unusual others are.

    Parameters
    ----------
    scores : array of shape (n,)
        Of the training points; outliers may be among them.
    weight : array of shape (n,), default=None
        A weight of two is the score twice.
    most : float, default=0.2
        No larger share of the points is left out as outliers.

    Attributes
    ----------
    threshold, scale, shape : float
        The generalized Pareto tail: above the threshold t, the share of points at least as far
        out as s falls as (1 + shape (s − t) / scale)^(−1 / shape).

    Examples
    --------
    Exponential scores have a surprisal of s / log 10.

    >>> import numpy as np
    >>> calibration = Calibration(np.random.default_rng(0).exponential(size=100_000))
    >>> bool(abs(calibration.surprisal(np.log([10]))[0] - 1) < 0.01)
    True
    """

    def __init__(
        self, scores: Array, weight: Array | None = None, *, most: float = MOST_OUTLIERS
    ) -> None:
        scores = np.asarray(scores)
        weight = np.ones(len(scores)) if weight is None else np.asarray(weight, dtype=np.float64)
        scores, weight = scores[weight > 0], weight[weight > 0]
        values, mass = _distinct(scores, weight)
        values, self._ends = _without_infinities(values, mass)
        self._dtype = _floating(scores)
        typical = np.isfinite(values)
        if self._fit(values[typical], mass[typical], ROUGH_TAIL):
            is_near = self.surprisal(values) <= LEFT_OUT_SURPRISAL
            if mass[~is_near].sum() <= most * mass.sum():
                typical = is_near
        self._fit(values[typical], mass[typical], FINAL_TAIL)

    def _fit(self, values: Array, mass: Array, shares: tuple[float, ...]) -> bool:
        """The counted part and the tail, from distinct values; whether there is one."""
        total = float(mass.sum())
        above = total - np.cumsum(mass)  # strictly above each value
        above[-1] = 0.0
        depth = -np.log((above + mass / 2) / total)  # of points alike, half count as further
        start = max(shares[0], min(FEWEST_IN_TAIL / total, ROUGH_TAIL[0]))
        places = [_quantile_place(values, mass, 1 - share) for share in (start, *shares[1:])]
        first, last = places[0], places[-1]
        self.threshold = float(values[first])
        self.shape = _shape(values[places], shares[-1] * total)
        if first < last:
            rise = np.expm1(self.shape * (depth[last] - depth[first])) / self.shape
            self.scale = float((values[last] - values[first]) / rise)
        else:
            self.scale = _spread(values, mass, first, self._dtype)
        self._values, self._depth = values[: first + 1], depth[: first + 1]
        return first < last

    def surprisal(self, scores: Array) -> NDArray[np.float64]:
        """−log10 of the share of typical points at least as far out, strictly increasing, (m,)."""
        s = np.asarray(scores, dtype=np.float64)
        low, high = self._ends
        s = np.where(s == -np.inf, low, np.where(s == np.inf, high, s))
        inside = np.interp(s, self._values, self._depth)
        with np.errstate(over="ignore"):  # of scales that are rounding errors
            below = np.exp(np.minimum(s - self._values[0], 0) / self.scale)
            excess = np.maximum(s - self.threshold, 0) / self.scale
        beyond = np.log1p(self.shape * excess) / self.shape
        return np.asarray((inside * below + beyond) / np.log(10))


# The tail


def _shape(q: Array, count: float) -> float:
    """Pickands' shape from three quantiles, above each of which lie half as many as before.

    Drawn towards the lower end of its range, the less the more points are above the last. Of
    fewer quantiles, or of scores that are alike, nothing can be read.
    """
    gaps = np.diff(q)
    if len(gaps) < 2 or not gaps.all():
        return SHAPE_RANGE[0]
    reading = np.log2(gaps[1]) - np.log2(gaps[0])
    trust = SHAPE_PRIOR_SPREAD**2 / (SHAPE_PRIOR_SPREAD**2 + SHAPE_READING_SPREAD**2 / count)
    return float(np.clip(SHAPE_RANGE[0] + trust * (reading - SHAPE_RANGE[0]), *SHAPE_RANGE))


def _spread(values: Array, mass: Array, first: int, dtype: Any) -> float:
    """A scale where scores are alike, so that there is no tail: the spread of those below it.

    Ten points or more that are all alike are evidence that any other is unusual; fewer are none,
    and the others of them count too.
    """
    few = float(mass.sum()) < FEWEST_IN_TAIL
    usual = slice(None) if few else slice(first + 1)
    distance = np.abs(values[usual] - values[first])
    spread = float(np.average(distance, weights=mass[usual]))
    size = float(np.abs(values[usual]).max()) or 1.0
    return spread or (1.0 if few else ROUNDING * float(np.finfo(dtype).eps) * size)


def _quantile_place(values: Array, mass: Array, share: float) -> int:
    """Place of `lower_quantile` among distinct, ascending values."""
    return int(np.searchsorted(values, lower_quantile(values, mass, share)))


def _without_infinities(values: Array, mass: Array) -> tuple[Array, tuple[float, float]]:
    """Sorted values, finite where many are infinite, and what stands for ±∞.

    A few infinite scores are outliers beyond measure; where many points have them, they are what
    is usual, and stand a range's width above the others.
    """
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        finite = np.zeros(1)
    low, high = finite[0], finite[-1]
    width = (high - low) or max(abs(high), 1.0)
    is_high = values == np.inf
    many = mass[is_high].sum() > MOST_OUTLIERS * mass.sum()
    ends = (low - width, high + width if many else np.inf)
    values = np.where(values == -np.inf, ends[0], np.where(is_high, ends[1], values))
    return values, ends


# Equal scores


def _floating(scores: Array) -> Any:
    return scores.dtype if scores.dtype.kind == "f" else np.dtype(np.float64)


def _groups(scores: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Order of the scores, ascending, and the number of the group of every one in that order.

    Equal points differ by rounding, and are one group. A chain of near values that is longer than
    rounding can make it is no group: its values are many, not equal.
    """
    order = np.argsort(scores, kind="stable")
    s = scores[order].astype(np.float64)
    usual = np.median(np.abs(s[np.isfinite(s)])) if np.isfinite(s).any() else 1.0
    tolerance = ROUNDING * np.finfo(_floating(scores)).eps * np.maximum(np.abs(s), usual)
    with np.errstate(invalid="ignore"):
        is_new = np.concatenate([[False], s[1:] - s[:-1] > tolerance[:-1]])  # ∞ − ∞ is no step
    group = np.cumsum(is_new)
    first = np.searchsorted(group, group)
    last = np.searchsorted(group, group, side="right") - 1
    with np.errstate(invalid="ignore"):
        is_chain = s[last] - s[first] > 10 * tolerance
    is_step = np.concatenate([[False], s[1:] > s[:-1]])
    return order, np.cumsum(is_new | (is_chain & is_step))


def _distinct(scores: Array, weight: Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distinct scores, ascending, and the weight of each."""
    order, group = _groups(scores)
    _, start = np.unique(group, return_index=True)
    mass = np.bincount(group, weights=weight[order]).astype(np.float64)
    return scores[order][start].astype(np.float64), mass


def _ranks(scores: Array) -> NDArray[np.int64]:
    """1 for the highest; equal scores share the best of their ranks."""
    order, group = _groups(scores)
    higher = len(scores) - np.searchsorted(group, group, side="right")
    ranks = np.empty(len(scores), dtype=np.int64)
    ranks[order] = 1 + higher
    return ranks


def _repeats(scores: Array, weight: Array) -> float:
    """How often the usual score is there, at least one.

    A table in which every row is written three times is no larger than one in which it is once:
    it is the same evidence of what is usual, with the same points to be flagged.
    """
    _, mass = _distinct(scores[weight > 0], weight[weight > 0])
    return max(1.0, lower_quantile(mass, np.ones(mass.size), 0.5))


def _cut(scores: Array, weight: Array, share: float) -> float:
    """A value below the highest scores that hold at most this share of the weight."""
    values, mass = _distinct(scores[weight > 0], weight[weight > 0])
    last = _quantile_place(values, mass, 1 - share)  # of those that are not flagged
    if last == len(values) - 1:
        return np.inf
    most = np.finfo(np.float64).max
    low, high = np.clip(values[last : last + 2], -most, most)
    return float(low / 2 + high / 2) if high < most else float(most)


# What a model says


def _read_training(model: Any) -> PointScores:
    """The fitted attributes, in which every point is scored by the others."""
    if not hasattr(model, "outlier_scores_") and hasattr(model, "sample_outlier_scores_"):
        raise ValueError(
            f"this {type(model).__name__} was fitted to Dask data and kept without its rows; give "
            "the rows as X."
        )
    return _points(
        model,
        getattr(model, "labels_", None),
        getattr(model, "memberships_", None),
        getattr(model, "outlier_scores_", None),
        getattr(model, "overlap_scores_", None),
    )


def _read_new(model: Any, X: Any) -> PointScores:
    """One reading of a model that has `reading`; its separate methods otherwise."""
    if hasattr(model, "reading"):
        return _points(model, *attrgetter(*PointScores._fields)(model.reading(X)))
    return _points(
        model,
        None if is_outlier_detector(model) else model.predict(X),
        model.memberships(X) if hasattr(model, "memberships_") else None,
        model.outlier_scores(X),
        model.overlap_scores(X) if hasattr(model, "overlap_scores") else None,
    )


def _points(
    model: Any, labels: Any, memberships: Any, outlier_scores: Any, overlap_scores: Any
) -> PointScores:
    """Arrays of what was read; detectors have one cluster, and nothing overlaps in it."""
    native: Array = np.asarray(outlier_scores)
    bad = np.flatnonzero(np.isnan(native))
    if bad.size:
        raise ValueError(
            f"{type(model).__name__}.outlier_scores is NaN for {bad.size} points, the first in "
            f"row {bad[0]}; they cannot be ranked."
        )
    n = len(native)
    if is_outlier_detector(model):
        labels = overlap_scores = None
    overlap = np.zeros(n) if overlap_scores is None else np.asarray(overlap_scores, np.float64)
    return PointScores(
        np.zeros(n, np.int64) if labels is None else np.asarray(labels, np.int64),
        None if memberships is None else np.asarray(memberships),
        native,
        np.clip(overlap, 0, 1),
    )


def _check_model(model: Any) -> None:
    if isinstance(model, type) or not hasattr(model, "outlier_scores"):
        raise TypeError(
            f"{model!r} cannot be ranked: rank_points needs a fitted soft model, one with "
            "outlier_scores, such as those of softkern."
        )
    check_is_fitted(model)


def _training_scores(model: Any) -> tuple[Array, NDArray[np.float64]]:
    """Outlier scores of the training points, of a sample where they are in chunks; and weights.

    Repeats of the usual row do not count.
    """
    if hasattr(model, "sample_outlier_scores_"):
        points = _points(model, None, None, model.sample_outlier_scores_, None)
        return points.outlier_scores, np.asarray(model.sample_row_weights_, dtype=np.float64)
    scores = _read_training(model).outlier_scores
    weight = _training_weight(model, len(scores))
    return scores, weight / _repeats(scores, weight)


def _training_weight(model: Any, n: int) -> NDArray[np.float64]:
    given = getattr(model, "sample_weight_", None)
    weight = np.ones(n) if given is None else np.asarray(given, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(
            f"{type(model).__name__} has {weight.size} weights in sample_weight_ and scores of "
            f"{n} training points; there should be one for each."
        )
    return weight
