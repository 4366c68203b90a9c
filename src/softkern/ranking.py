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
from scipy.optimize import minimize
from sklearn.base import is_outlier_detector
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Calibration", "rank_points"]

Array = NDArray[Any]

UPPER = 0.25  # the tail is read from this share of the points, the highest,
FEWEST = 10.0  # but from at least so many of them,
SPARED = 0.05  # and of the highest of all, which may be outliers, only that they are there,
AT_LEAST = 1.5  # a share that holds one point however few there are
FALSE_ALARMS = 0.05  # typical points expected as far out as one that is called an outlier
MOST = 0.2  # no larger share are outliers
ROUNDS = 10  # of leaving outliers out
SHAPE = (0.1, 1.0)  # range of the tail's heaviness; 0 would be exponential
SHAPE_SPREAD = 0.1  # how far the data may take it from the lower end without much evidence
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
            The highest; for models without memberships, the share that is below as a surprisal.
        outlier_score
            −log10 of the share of typical points at least that far out. It grows without end and
            strictly with the model's own `outlier_scores`, and means the same for all models.
        outlier_rank, is_outlier
            1 for the furthest point; points that are alike share a rank. Rows are ranked, a
            weight of two is still one row.
        overlap_score
            Second highest membership over the highest: 1 where two clusters tie. Outliers and
            noise belong to no cluster, hence not to two: 0, and so is all of a one-cluster model.
        overlap_rank, is_overlap
            1 for the most shared point; the flag is for scores of at least ½.

    Notes
    -----
    Up to the upper quartile the share is counted among the training points. Above it, it is that
    of a generalised Pareto tail, fitted to the scores between there and the highest twentieth, of
    which only the number counts; points that turn out to be outliers are left out, and the tail
    is fitted again. Outliers therefore do not make outliers usual, as long as they are few. The
    tail's shape is held near 0.1, a little heavier than an exponential, unless the data say more.

    Where there are no outliers, models of a few wide centres raise a false alarm in about one set
    of twenty, as asked for. Narrow kernels see the last points of a Gaussian's tail alone in their
    neighbourhood: in one and two dimensions `OneClassPCM`, `AlphaCutClustering`, `WeightedSVDD` and
    `WeightedOneClassSVM` flag about one point in two sets.

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
    calibration = Calibration(training, weight)
    surprisal = calibration.surprisal(native)
    if contamination is None:
        is_outlier = surprisal > np.log10(weight.sum(dtype=np.float64) / false_alarms)
    else:
        is_outlier = native > _cut(training, weight, contamination)
    labels = _labels(model, X, len(native))
    top, overlap = _memberships(model, X, surprisal)
    overlap = np.where(is_outlier | (labels < 0), 0.0, overlap)
    columns = {
        "label": labels,
        "membership": top,
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

    def __init__(self, scores: Array, weight: Array | None = None) -> None:
        scores = np.asarray(scores)
        weight = np.ones(len(scores)) if weight is None else np.asarray(weight, dtype=np.float64)
        scores, weight = scores[weight > 0], weight[weight > 0]
        values, mass = _distinct(scores, weight)
        values, self._ends = _without_infinities(values, mass)
        self._dtype = _floating(scores)
        self._fit(values, mass)
        level = np.log10(mass.sum() / FALSE_ALARMS)
        typical = np.ones(len(values), dtype=bool)
        for _ in range(ROUNDS):  # what is no typical point has no part in what is typical
            previous, typical = typical, self.surprisal(values) <= level
            is_many = mass[~typical].sum() > MOST * mass.sum()
            if is_many or np.array_equal(previous, typical):
                break
            self._fit(values[typical], mass[typical])

    def _fit(self, values: Array, mass: Array) -> None:
        """The counted part and the tail, from distinct values and their weights."""
        total = float(mass.sum())
        above = total - np.cumsum(mass)  # strictly above each value
        above[-1] = 0.0
        depth = -np.log((above + mass / 2) / total)  # of points alike, half count as further
        first = _quantile_place(mass, 1 - np.clip(FEWEST / total, UPPER, 1 - UPPER))
        last = max(first, _quantile_place(mass, 1 - max(SPARED, AT_LEAST / total)))
        last = min(last, int(np.flatnonzero(np.isfinite(values))[-1]))
        first = min(first, last)
        self.threshold = float(values[first])
        part = slice(first + 1, last + 1)
        excess = values[part] - self.threshold
        self.scale, self.shape = _fit_tail(excess, mass[part], float(above[last]))
        if self.scale == 0.0:
            self.scale = _spread(values, mass, first, last, self._dtype)
        self._values, self._depth = values[: first + 1], depth[: first + 1]

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


def _fit_tail(excess: Array, mass: Array, censored: float) -> tuple[float, float]:
    """Scale and shape of a generalised Pareto tail; scale 0 where there is nothing to fit.

    The mode of the likelihood, of which `censored` points are known to lie above the largest
    excess and no more, times a normal density of the shape around the lower end of its range.
    """
    if excess.size == 0:
        return 0.0, SHAPE[0]
    unit = float(np.average(excess, weights=mass))
    y, top, count = excess / unit, float(excess[-1]) / unit, float(mass.sum())

    def loss(parameters: Array) -> tuple[float, Array]:
        shape, log_scale = parameters
        z, z_top = y / np.exp(log_scale), top / np.exp(log_scale)
        logs, log_top = np.log1p(shape * z), np.log1p(shape * z_top)
        slope, slope_top = z / (1 + shape * z), z_top / (1 + shape * z_top)
        gap = (shape - SHAPE[0]) / SHAPE_SPREAD
        value = count * log_scale + (1 + 1 / shape) * (mass @ logs) + censored * log_top / shape
        by_shape = (1 + 1 / shape) * (mass @ slope) + censored * slope_top / shape
        by_shape -= (mass @ logs + censored * log_top) / shape**2
        by_scale = count - (1 + shape) * (mass @ slope) - censored * slope_top
        gradient = np.array([by_shape + gap / SHAPE_SPREAD, by_scale])
        return float(value + gap**2 / 2) / count, gradient / count

    start = np.array([SHAPE[0], np.log1p(censored * top / count)])
    # L-BFGS-B finds the same, but waits for BLAS threads, ten times as long on a busy machine
    bounds, options = [SHAPE, (-30, 30)], {"ftol": 1e-15}
    best = minimize(loss, start, jac=True, bounds=bounds, method="SLSQP", options=options)
    return unit * float(np.exp(best.x[1])), float(best.x[0])


def _spread(values: Array, mass: Array, first: int, last: int, dtype: Any) -> float:
    """A scale where too few values are distinct for a tail: the spread of those below it.

    Ten points or more that are all alike are evidence that any other is unusual; fewer are none,
    and the others of them count too.
    """
    few = float(mass.sum()) < FEWEST
    usual = np.isfinite(values) & (few | (np.arange(len(values)) <= last))
    distance = np.abs(values[usual] - values[first])
    spread = float(np.average(distance, weights=mass[usual]))
    size = float(np.abs(values[usual]).max()) or 1.0
    return spread or (1.0 if few else ROUNDING * float(np.finfo(dtype).eps) * size)


def _quantile_place(mass: Array, share: float) -> int:
    """Place of the first of the sorted values up to which this share of the mass lies."""
    reached = np.cumsum(mass)
    return int(np.searchsorted(reached, share * reached[-1] * (1 - 1e-12)))


def _without_infinities(values: Array, mass: Array) -> tuple[Array, tuple[float, float]]:
    """Sorted values whose ends are finite where they must be, and what stands for ±∞.

    A few infinite scores are outliers beyond measure; where many points have them, they are what
    is usual, and stand a range's width above the others.
    """
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        finite = np.zeros(1)
    low, high = finite[0], finite[-1]
    width = (high - low) or max(abs(high), 1.0)
    is_high = values == np.inf
    many = mass[is_high].sum() > SPARED * mass.sum() or is_high.all()
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


def _memberships(model: Any, X: Any, surprisal: Array) -> tuple[Array, Array]:
    """The highest membership of every point, and the second over it; both (m,)."""
    if not hasattr(model, "memberships_"):
        return 10.0**-surprisal, np.zeros(len(surprisal))
    U = np.asarray(model.memberships_ if X is None else model.memberships(X), dtype=np.float64)
    U = U.reshape(len(surprisal), -1)
    if U.shape[1] < 2:
        return U.max(axis=1, initial=0.0), np.zeros(len(U))
    second, first = np.partition(U, -2, axis=1)[:, -2:].T
    vanishing = first < np.finfo(np.float32).tiny
    overlap = np.clip(second, 0, None) / np.where(vanishing, 1.0, first)
    if vanishing.any():  # far from all clusters; the model knows the ratio from logarithms
        overlap[vanishing] = np.asarray(model.overlap_scores(X))[vanishing]
    return first, np.clip(overlap, 0, 1)
