"""The points of any soft model in order: what is furthest out, what lies between clusters.

Models tell how far out a point is in units of their own: minus the log of a similarity, a squared
distance, a margin. `Calibration` reads from the training points' scores what is usual for that
model, and turns a score into a surprisal, −log10 of the share of typical points that lie at least
that far out: 3 is one in a thousand, whatever the model. `rank_points` makes the table. It knows
models by their public, fitted attributes only; the displays and the report call it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_outlier_detector
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Calibration", "rank_points"]

Array = NDArray[Any]

FIRST = (0.5, 0.2)  # shares of the points above the two scores that a first tail is read from,
SECOND = (0.2, 0.1, 0.05)  # and above the three that the tail of typical points is
FALSE_ALARMS = 0.05  # typical points expected as far out as one that is called an outlier
RARE = 3.5  # powers of ten beyond the first tail: points that have no part in the second
MOST = 0.2  # no larger share are outliers
FEWEST = 10.0  # points above the first, if so many are in the upper half
SHAPE = (0.1, 1.0)  # range of the tail's heaviness; 0 would be exponential
SHAPE_SPREAD = 0.1  # how far it is from the lower end before the data are seen,
READING_SPREAD = 1.8  # and how far a reading is from it, times √ of the points above the third
OVERLAP = 0.5  # second membership over the first, from which two clusters share a point
ROUNDING = 1e3  # in units of eps: scores of equal points that were summed in another order


def rank_points(
    model: Any,
    X: Any = None,
    *,
    contamination: float | None = None,
    false_alarms: float = FALSE_ALARMS,
) -> pd.DataFrame:
    """Rank points by how far out they are and by how much two clusters share them.

    Parameters
    ----------
    model : fitted soft model, or a pipeline that ends in one
        Anything with `outlier_scores`: all models of this package.
    X : array, DataFrame or CSR matrix of shape (m, d), default=None
        The points to rank. None ranks the training points, none of which vouches for itself;
        given as X, they are new points, which find themselves among the training points.
    contamination : float in (0, 0.5], default=None
        Flag the points as far out as the furthest training points that hold at most this share of
        the weight.
    false_alarms : float, default=0.05
        Without `contamination`: flag points so far out that fewer than this many typical points
        are expected there, among as many as were trained on. The `contamination` of the model
        itself plays no part.

    Returns
    -------
    table : DataFrame
        One row a point, in the order of X and with its index.

        label
            The cluster; −1 for noise of `AlphaCutClustering`, 0 for the one cluster of detectors.
        membership
            The highest. For models without memberships, the share of typical points that are at
            least as far out: one for the innermost, near zero for outliers.
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
    Up to the upper fifth the share is counted among the training points. Above it, it is that of a
    generalised Pareto tail through the scores that a fifth and a twentieth of the points exceed;
    its shape is read from these and the one that a tenth exceed, and held near 0.1, a little
    heavier than an exponential, unless many points say more. Outliers are left out before, which
    a first tail tells, through the median and the score that a fifth exceed. Outliers therefore
    do not make outliers usual, as long as they are fewer than a fifth.

    What was measured with Gaussian, uniform and blob data in 1 to 10 dimensions: where there are no
    outliers, models of a few wide centres flag 0.04 to 0.07 points a set on average. Narrow kernels
    see the last points of a tail alone in their neighbourhood: `OneClassPCM` and
    `AlphaCutClustering` flag about one of 100 Gaussian points in one and two dimensions, three of
    1000 in one, and none in ten; `OutlierFuzzyCMeans` flags three of 100 in one-dimensional blobs.
    Scores with tails like a lognormal's raise an alarm in one set of five of 100, and in two of
    five of 1000.

    Far outliers that are 1, 5, 10 and 15 % of 100 or 1000 points are flagged from two dimensions on
    to 99, 99, at least 94 and at least 83 %. In one dimension they make two crowds: 99, 80, 51
    and 38 % of them are flagged among 1000 points.

    `WeightedSVDD` and `WeightedOneClassSVM` are not calibrated below their margin. They set a
    share nu of the points apart, outliers or not, and the training scores of the others are flat.
    With nu below one half, no outliers are left out of the tail: at nu=0.1 there is hardly a false
    alarm, but outliers hide each other: two thirds of those that are 5 % of 100 points are
    flagged, one third of 1000, and none where they are 10 %. With nu below 0.05 most points beyond
    the margin are flagged in one and two dimensions, outliers or not.

    `SoftKernelSpectralClustering.detect` flags by the rule of its paper instead: outliers have a
    mean similarity below 0.01, which follows the bandwidth and asks nobody what is usual, and
    overlap points have no membership of ½, where here the second is at least half the first.

    Weights of the fit count as repeated rows in all of this. Where two centres of a model have
    collapsed onto one place, they share all of its points, which are then all flagged as overlap.

    References
    ----------
    R. Mall, R. Langone, J. A. K. Suykens, "Ranking overlap and outlier points in data using soft
    kernel spectral clustering", ESANN 2015, do so for one model.

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
    import pandas as pd

    _check_options(contamination, false_alarms)
    index = getattr(X, "index", None) if hasattr(X, "columns") else None
    model, X = _last_step(model, X)
    _check_model(model)
    training = _finite_or_infinite(model.outlier_scores(), model)
    native = training if X is None else _finite_or_infinite(model.outlier_scores(X), model)
    weight = _training_weight(model, len(training))
    calibration = Calibration(training, weight, most=0.0 if _is_flat(model) else MOST)
    surprisal = calibration.surprisal(native)
    if contamination is None:
        is_outlier = surprisal > np.log10(weight.sum(dtype=np.float64) / false_alarms)
    else:
        is_outlier = native > _cut(training, weight, contamination)
    labels = _labels(model, X, len(native))
    overlap = np.where(is_outlier | (labels < 0), 0.0, _overlap(model, X, len(native)))
    columns = {
        "label": labels,
        "membership": _memberships(model, X, surprisal),
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
        The generalised Pareto tail: above the threshold t, the share of points at least as far
        out as s falls as (1 + shape (s − t) / scale)^(−1 / shape).

    Examples
    --------
    Exponential scores have a surprisal of s / log 10.

    >>> import numpy as np
    >>> calibration = Calibration(np.random.default_rng(0).exponential(size=100_000))
    >>> bool(abs(calibration.surprisal(np.log([10]))[0] - 1) < 0.01)
    True
    """

    def __init__(self, scores: Array, weight: Array | None = None, *, most: float = MOST) -> None:
        scores = np.asarray(scores)
        weight = np.ones(len(scores)) if weight is None else np.asarray(weight, dtype=np.float64)
        scores, weight = scores[weight > 0], weight[weight > 0]
        values, mass = _distinct(scores, weight)
        values, self._ends = _without_infinities(values, mass)
        self._dtype = _floating(scores)
        typical = np.isfinite(values)
        if self._fit(values[typical], mass[typical], FIRST):
            is_near = self.surprisal(values) <= RARE
            if mass[~is_near].sum() <= most * mass.sum():
                typical = is_near
        self._fit(values[typical], mass[typical], SECOND)

    def _fit(self, values: Array, mass: Array, shares: tuple[float, ...]) -> bool:
        """The counted part and the tail, from distinct values; whether they tell of a tail."""
        total = float(mass.sum())
        above = total - np.cumsum(mass)  # strictly above each value
        above[-1] = 0.0
        depth = -np.log((above + mass / 2) / total)  # of points alike, half count as further
        start = max(shares[0], min(FEWEST / total, FIRST[0]))
        places = [_quantile_place(mass, 1 - share) for share in (start, *shares[1:])]
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
        return SHAPE[0]
    reading = np.log2(gaps[1]) - np.log2(gaps[0])
    trust = SHAPE_SPREAD**2 / (SHAPE_SPREAD**2 + READING_SPREAD**2 / count)
    return float(np.clip(SHAPE[0] + trust * (reading - SHAPE[0]), *SHAPE))


def _spread(values: Array, mass: Array, first: int, dtype: Any) -> float:
    """A scale where scores are alike, so that there is no tail: the spread of those below it.

    Ten points or more that are all alike are evidence that any other is unusual; fewer are none,
    and the others of them count too.
    """
    few = float(mass.sum()) < FEWEST
    usual = slice(None) if few else slice(first + 1)
    distance = np.abs(values[usual] - values[first])
    spread = float(np.average(distance, weights=mass[usual]))
    size = float(np.abs(values[usual]).max()) or 1.0
    return spread or (1.0 if few else ROUNDING * float(np.finfo(dtype).eps) * size)


def _quantile_place(mass: Array, share: float) -> int:
    """Place of the first of the sorted values up to which this share of the mass lies."""
    reached = np.cumsum(mass)
    return int(np.searchsorted(reached, share * reached[-1] * (1 - 1e-12)))


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
    many = mass[is_high].sum() > MOST * mass.sum()
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


def _cut(scores: Array, weight: Array, share: float) -> float:
    """A value below the highest scores that hold at most this share of the weight."""
    values, mass = _distinct(scores[weight > 0], weight[weight > 0])
    at_least = np.cumsum(mass[::-1])[::-1]
    flagged = np.flatnonzero(at_least <= share * at_least[0] * (1 + 1e-12))
    if flagged.size == 0:
        return np.inf
    most = np.finfo(np.float64).max
    low, high = np.clip(values[flagged[0] - 1 : flagged[0] + 1], -most, most)
    return float(low / 2 + high / 2) if high < most else float(most)


# What a model says


def _check_options(contamination: float | None, false_alarms: float) -> None:
    if contamination is not None and not 0 < contamination <= 0.5:
        raise ValueError(f"contamination={contamination!r} must lie in (0, 0.5], or be None.")
    if not 0 < false_alarms < np.inf:
        raise ValueError(f"false_alarms={false_alarms!r} must be a positive number.")


def _last_step(model: Any, X: Any) -> tuple[Any, Any]:
    """The model at the end of a pipeline, and X as it sees it."""
    if not hasattr(model, "steps"):
        return model, X
    if X is not None and len(model.steps) > 1:
        X = model[:-1].transform(X)
    return model[-1], X


def _check_model(model: Any) -> None:
    if isinstance(model, type) or not hasattr(model, "outlier_scores"):
        name = model.__name__ if isinstance(model, type) else type(model).__name__
        kind = "the class" if isinstance(model, type) else "a"
        raise TypeError(
            f"{kind} {name} cannot be ranked: rank_points needs a fitted soft model, one with "
            "outlier_scores, such as those of softkern."
        )
    check_is_fitted(model)


def _finite_or_infinite(scores: Any, model: Any) -> Array:
    values: Array = np.asarray(scores)
    bad = np.flatnonzero(np.isnan(values))
    if bad.size:
        raise ValueError(
            f"{type(model).__name__}.outlier_scores is NaN for {bad.size} points, the first in "
            f"row {bad[0]}; they cannot be ranked."
        )
    return values


def _training_weight(model: Any, n: int) -> NDArray[np.float64]:
    weight = getattr(model, "sample_weight_", None)
    if weight is None:
        return np.ones(n)
    weight = np.asarray(weight, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(
            f"{type(model).__name__} has {weight.size} weights in sample_weight_ and scores of "
            f"{n} training points; there should be one for each."
        )
    return np.asarray(weight)


def _labels(model: Any, X: Any, n: int) -> NDArray[np.int64]:
    if is_outlier_detector(model):
        return np.zeros(n, dtype=np.int64)
    return np.asarray(model.labels_ if X is None else model.predict(X), dtype=np.int64)


def _memberships(model: Any, X: Any, surprisal: Array) -> Array:
    """The highest of every point, (m,)."""
    if not hasattr(model, "memberships_"):
        return np.asarray(10.0**-surprisal)
    U = np.asarray(model.memberships_ if X is None else model.memberships(X), dtype=np.float64)
    return np.asarray(U.reshape(len(surprisal), -1).max(axis=1, initial=0.0))


def _overlap(model: Any, X: Any, n: int) -> Array:
    if not hasattr(model, "overlap_scores"):
        return np.zeros(n)
    return np.clip(np.asarray(model.overlap_scores(X), dtype=np.float64), 0, 1)


def _is_flat(model: Any) -> bool:
    """Whether what a first tail is read from lies within the margin of a support vector machine.

    The share nu is set apart there, far out or not, and what is not looks all alike.
    """
    return is_outlier_detector(model) and getattr(model, "nu", 1.0) < FIRST[0]
