"""How stable a detector's outliers are when the data change, and how many of them are right.

`stability_score` is the procedure of 2010's Table II for any outlier detector with scikit-learn's
interface: split the data into halves X₁ and X₂, let the detector fitted on X₁ say which points of
X₂ are outliers, let the detector fitted on X₂ say so too, and compare the two sets A and B by
Jaccard's |A ∩ B| / |A ∪ B|. `detection_accuracy` is the procedure of its Fig. 5, where B are known
outliers. Both know no model of this package; they ask for scores only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed

from softkern._utils.random import child_seeds

__all__ = ["StabilityResult", "detection_accuracy", "stability_score", "stability_scores"]

Scoring = Callable[[Any, Any], Any]
Scores = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class StabilityResult:
    """What `stability_score` found.

    Attributes
    ----------
    scores : array of shape (n_draws,)
        Jaccard's coefficient of every draw.
    rejection : float
        Share of points called outliers.
    n_rejected : int
        Their number in the half that is judged.

    Examples
    --------
    >>> import numpy as np
    >>> result = StabilityResult(np.array([0.5, 0.7]), rejection=0.1, n_rejected=20)
    >>> result
    StabilityResult(0.600 ± 0.100 over 2 draws, rejection=0.1, chance 0.053)
    """

    scores: Scores = field(repr=False)
    rejection: float
    n_rejected: int

    @property
    def mean(self) -> float:
        """Mean over the draws: the stability."""
        return float(self.scores.mean())

    @property
    def std(self) -> float:
        """Standard deviation over the draws."""
        return float(self.scores.std())

    @property
    def chance(self) -> float:
        """What a detector that scores at random would get when n is large, ν / (2 − ν)."""
        return self.rejection / (2 - self.rejection)

    def __repr__(self) -> str:
        return (
            f"StabilityResult({self.mean:.3f} ± {self.std:.3f} over {len(self.scores)} draws, "
            f"rejection={self.rejection:g}, chance {self.chance:.3f})"
        )


def stability_score(
    detector: Any,
    X: Any,
    *,
    rejection: float = 0.1,
    n_draws: int = 100,
    scoring: Scoring | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> StabilityResult:
    """How far two halves of the data agree on which points are outliers.

    Every draw splits X into halves X₁ and X₂. A copy of the detector fitted on X₁ rejects the
    points of X₂ that score below the threshold at which it would reject round(ν n₁) points of X₁;
    another, fitted on X₂, rejects round(ν n₂) points of X₂ itself. The draw's score is Jaccard's
    coefficient of the two sets. Only the order of the scores is used, never the detector's own
    `predict`, so that every detector is made to reject the same number of points; among equal
    scores those to be rejected are drawn at random.

    Parameters
    ----------
    detector : estimator
        Any outlier detector with `score_samples` or `decision_function`, where low means outlying
        as scikit-learn has it. It is copied, never fitted.
    X : array, CSR matrix or DataFrame of shape (n, d)
    rejection : float, default=0.1
        ν, the share of points to call outliers, between 0 and 1.
    n_draws : int, default=100
        Number of splits; the paper took 500.
    scoring : callable, default=None
        ``scoring(fitted, X)`` gives a score (n,) for every row, low for outliers, where the
        detector's own methods do not (PyOD's `decision_function` is high for outliers).
    random_state : int, RandomState or None, default=0
        Draws the splits, and seeds the copies of a detector whose own ``random_state`` is None.
        The same int gives the same splits for every detector, so that scores can be compared draw
        by draw.
    n_jobs : int, default=None
        Draws computed at once.

    Returns
    -------
    result : StabilityResult
        ``scores`` (one per draw), ``mean``, ``std``, ``chance``.

    References
    ----------
    M. Filippone, F. Masulli, S. Rovetta, "Applying the possibilistic c-means algorithm in
    kernel-induced spaces", IEEE Trans. Fuzzy Systems 18(3), 2010.
    :doi:`10.1109/TFUZZ.2010.2043440`

    Examples
    --------
    >>> from sklearn.neighbors import KernelDensity
    >>> from softkern.datasets import make_gaussian_outliers
    >>> X, _ = make_gaussian_outliers(random_state=0)
    >>> stability_score(KernelDensity(), X, rejection=0.05, n_draws=20).mean > 0.5
    True
    """
    options: dict[str, Any] = {"n_draws": n_draws, "scoring": scoring, "n_jobs": n_jobs}
    return stability_scores(detector, X, [rejection], random_state=random_state, **options)[0]


def stability_scores(
    detector: Any,
    X: Any,
    rejections: Sequence[float],
    *,
    n_draws: int = 100,
    scoring: Scoring | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> list[StabilityResult]:
    """`stability_score` at several shares of outliers, from the same fits.

    A detector whose own parameters follow the share (such as ν of a one-class SVM) is another
    detector at each, for which this is no use.

    Parameters
    ----------
    detector, X, n_draws, scoring, random_state, n_jobs
        As in `stability_score`.
    rejections : sequence of float

    Examples
    --------
    >>> from sklearn.neighbors import KernelDensity
    >>> from softkern.datasets import make_gaussian_outliers
    >>> X, _ = make_gaussian_outliers(random_state=0)
    >>> [r.n_rejected for r in stability_scores(KernelDensity(), X, [0.02, 0.1], n_draws=2)]
    [4, 22]
    """
    counts = [_check(detector, X, share, n_draws, scoring) for share in rejections]
    seeds = child_seeds(random_state, n_draws)
    draws = Parallel(n_jobs=n_jobs)(
        delayed(_draw)(detector, X, rejections, scoring or _score, int(seed)) for seed in seeds
    )
    columns = zip(rejections, counts, np.array(draws).T, strict=True)
    return [StabilityResult(scores, float(share), count) for share, count, scores in columns]


def _draw(
    detector: Any, X: Any, rejections: Sequence[float], scoring: Scoring, seed: int
) -> list[float]:
    """Jaccard's coefficients of one split: steps a to d of Table II."""
    n_first = _n_rows(X) // 2
    first, second = train_test_split(X, train_size=n_first, random_state=seed)
    rng = np.random.default_rng(seed)
    one, two = (_copy(detector, rng).fit(half) for half in (first, second))
    own = _checked(scoring(one, first), n_first)
    transferred = _checked(scoring(one, second), _n_rows(second))
    direct = _checked(scoring(two, second), _n_rows(second))

    scores = []
    for rejection in rejections:
        predicted = _transferred(own, transferred, round(rejection * n_first), rng)
        found = _lowest(direct, round(rejection * len(direct)), rng)
        scores.append(_jaccard(predicted, found))
    return scores


def detection_accuracy(
    detector: Any,
    X: Any,
    is_outlier: Any,
    *,
    n_train: int,
    rejection: float = 0.1,
    n_draws: int = 100,
    scoring: Scoring | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Scores:
    """How far the outliers that a detector finds are the known ones: Fig. 5 of 2010.

    Every draw fits a copy of the detector on `n_train` rows that are no outliers. It rejects the
    other rows that score below the threshold at which it would reject round(ν n_train) of its own.
    The draw's score is Jaccard's coefficient of those rejected and the known outliers.

    Parameters
    ----------
    detector, rejection, n_draws, scoring, random_state, n_jobs
        As in `stability_score`.
    X : array of shape (n, d)
    is_outlier : bool array of shape (n,)
    n_train : int
        Fewer than the rows that are no outliers.

    Returns
    -------
    scores : array of shape (n_draws,)

    References
    ----------
    M. Filippone, F. Masulli, S. Rovetta, "Applying the possibilistic c-means algorithm in
    kernel-induced spaces", IEEE Trans. Fuzzy Systems 18(3), 2010.
    :doi:`10.1109/TFUZZ.2010.2043440`

    Examples
    --------
    >>> from softkern import OneClassPCM
    >>> from softkern.datasets import make_gaussian_outliers
    >>> X, y = make_gaussian_outliers(random_state=0)
    >>> options = {"n_train": 200, "rejection": 0.02, "n_draws": 5}
    >>> scores = detection_accuracy(OneClassPCM(), X, y == -1, **options)
    >>> bool(scores.mean() > 0.5)
    True
    """
    X, is_outlier = np.asarray(X), np.asarray(is_outlier)
    _check(detector, X, rejection, n_draws, scoring, halves=False)
    if is_outlier.dtype != bool or is_outlier.shape != (len(X),):
        raise ValueError(f"is_outlier must be a bool array of shape ({len(X)},).")
    usual = int((~is_outlier).sum())
    if not is_outlier.any() or not 0 < n_train < usual:
        raise ValueError(
            f"n_train={n_train} must be from 1 to {usual - 1}, fewer than the {usual} rows that "
            f"are no outliers, and there must be outliers ({int(is_outlier.sum())} here)."
        )
    if not 0 < round(rejection * n_train) < n_train:
        raise ValueError(
            f"rejection={rejection:g} of n_train={n_train} rows rejects "
            f"{round(rejection * n_train)} of them, which sets no threshold; raise one of the two."
        )
    seeds = child_seeds(random_state, n_draws)
    draws = Parallel(n_jobs=n_jobs)(
        delayed(_judged)(detector, X, is_outlier, n_train, rejection, scoring or _score, int(seed))
        for seed in seeds
    )
    return np.array(draws)


def _judged(
    detector: Any,
    X: Any,
    is_outlier: Mask,
    n_train: int,
    rejection: float,
    scoring: Scoring,
    seed: int,
) -> float:
    """Jaccard's coefficient of one draw with the known outliers."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(np.flatnonzero(~is_outlier), n_train, replace=False)
    rest = np.setdiff1d(np.arange(len(X)), rows)
    fitted = _copy(detector, rng).fit(X[rows])
    own = _checked(scoring(fitted, X[rows]), n_train)
    others = _checked(scoring(fitted, X[rest]), len(rest))
    predicted = _transferred(own, others, round(rejection * n_train), rng)
    return _jaccard(predicted, is_outlier[rest])


def _transferred(own: Scores, others: Scores, count: int, rng: np.random.Generator) -> Mask:
    """Mask of the others below the threshold at which `count` of a detector's own rows are."""
    threshold, share = _threshold(own, count)
    ties = rng.random(len(others))
    return (others < threshold) | ((others == threshold) & (ties < share))


def _jaccard(one: Mask, other: Mask) -> float:
    return float((one & other).sum() / (one | other).sum())


def _threshold(scores: Scores, count: int) -> tuple[float, float]:
    """The score below which `count` of the scores lie, and the share of equals to add to them."""
    low, high = np.partition(scores, [count - 1, count])[[count - 1, count]]
    if low < high:
        # Half-way, so that the rounding of a score computed anew does not decide.
        return float(min(low + (high - low) / 2, np.nextafter(high, low))), 1.0
    return float(low), float((count - (scores < low).sum()) / (scores == low).sum())


def _lowest(scores: Scores, count: int, rng: np.random.Generator) -> Mask:
    """Mask of the `count` lowest scores, equals drawn at random."""
    order = np.lexsort((rng.random(len(scores)), scores))
    mask = np.zeros(len(scores), dtype=bool)
    mask[order[:count]] = True
    return mask


def _copy(detector: Any, rng: np.random.Generator) -> Any:
    """An unfitted copy, seeded from the draw where its user left the seed open."""
    copy = clone(detector)
    seeds = {
        name: int(rng.integers(2**31 - 1))
        for name, value in sorted(copy.get_params().items())
        if (name == "random_state" or name.endswith("__random_state")) and value is None
    }
    return copy.set_params(**seeds)


def _score(fitted: Any, X: Any) -> Any:
    method = "score_samples" if hasattr(fitted, "score_samples") else "decision_function"
    return getattr(fitted, method)(X)


def _checked(scores: Any, n: int) -> Scores:
    """Scores as an array of shape (n,) that can be subtracted from each other."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != (n,):
        raise ValueError(f"the detector gave scores of shape {scores.shape} for {n} points.")
    if np.isnan(scores).any():
        raise ValueError("the detector gave a score that is NaN, which cannot be ranked.")
    bound = np.finfo(np.float64).max / 4
    return np.asarray(np.clip(scores, -bound, bound))


def _check(
    detector: Any,
    X: Any,
    rejection: float,
    n_draws: int,
    scoring: Scoring | None,
    halves: bool = True,
) -> int:
    """Refuse what cannot be computed; the number of points to reject in the second half."""
    if scoring is None and not (
        hasattr(detector, "score_samples") or hasattr(detector, "decision_function")
    ):
        raise TypeError(
            f"{detector!r} has neither score_samples nor decision_function; give a detector that "
            "can score new points (LocalOutlierFactor does with novelty=True), or `scoring`."
        )
    if get_tags(detector).input_tags.pairwise:
        raise ValueError(
            f"{detector!r} takes a matrix of all pairs, which cannot be split into halves of "
            "points; give the points and a kernel or metric instead."
        )
    if not _is_number(rejection, Real) or not 0 < rejection < 1:
        raise ValueError(f"rejection must be a share between 0 and 1, got {rejection!r}.")
    if not _is_number(n_draws, Integral) or n_draws < 1:
        raise ValueError(f"n_draws must be a whole number of at least 1, got {n_draws!r}.")
    n = _n_rows(X)
    for half in (n // 2, n - n // 2) if halves else ():
        if not 0 < round(rejection * half) < half:
            raise ValueError(
                f"rejection={rejection:g} of the {half} points in a half rejects "
                f"{round(rejection * half)} of them, which leaves nothing to compare; "
                "X needs more rows, or rejection another value."
            )
    return round(rejection * (n - n // 2))


def _n_rows(X: Any) -> int:
    return int(X.shape[0] if hasattr(X, "shape") else len(X))


def _is_number(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)
