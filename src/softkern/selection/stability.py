"""Stability of a detector's outliers under resampling (2010's Table II).

Split the data into halves X₁ and X₂, detect outliers of X₂ once with a detector fitted on X₁ and
once with one fitted on X₂, and compare the two sets A and B by the Jaccard coefficient
|A ∩ B| / |A ∪ B|. Any outlier detector with scikit-learn's interface can be used.
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

from softkern._utils.random import SEEDS, as_random_state

Scoring = Callable[[Any, Any], Any]
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class StabilityResult:
    """Jaccard coefficients `scores` (n_draws,), and the share and number of rejected samples."""

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
        """Expected mean of a detector with random scores, ν / (2 − ν) for large n."""
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
    rejection: Any = 0.1,
    n_draws: int = 100,
    scoring: Scoring | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Any:
    """Measure how well two halves of the data agree on the outliers.

    Every draw splits X into halves X₁ and X₂. A copy of the detector fitted on X₁ rejects the
    samples of X₂ that score below the threshold at which it would reject round(ν n₁) samples of
    X₁. Another copy, fitted on X₂, rejects round(ν n₂) samples of X₂. The score of the draw is the
    Jaccard coefficient of the two sets. Only the order of the scores is used, so all detectors
    reject the same number of samples. Ties are broken at random.

    Parameters
    ----------
    detector : estimator
        Any outlier detector with `score_samples` or `decision_function`, where low scores mean
        outliers as in scikit-learn. It is cloned, not fitted.
    X : array, CSR matrix or DataFrame of shape (n_samples, n_features)
        The data.
    rejection : float or sequence of float, default=0.1
        ν, the share of samples to reject, between 0 and 1. Several shares use the same fits. Where
        the parameters of the detector depend on the share, call this function once per share.
    n_draws : int, default=100
        Number of random splits. The paper used 500.
    scoring : callable, default=None
        ``scoring(fitted, X)`` returns one score per sample, low for outliers. Needed for detectors
        with other conventions (for example PyOD, where outliers score high).
    random_state : int, RandomState or None, default=0
        Seed of the splits, and of detectors whose own ``random_state`` is None. The same int gives
        the same splits for every detector, so scores can be compared draw by draw.
    n_jobs : int, default=None
        Number of draws computed in parallel.

    Returns
    -------
    result : StabilityResult, or a list of them for several shares
        ``scores`` (one per draw), ``mean``, ``std``, ``chance`` (the mean of random scores),
        ``rejection`` and ``n_rejected`` (in the second half).

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
    >>> results = stability_score(KernelDensity(), X, rejection=[0.02, 0.1], n_draws=2)
    >>> [result.n_rejected for result in results]
    [4, 22]
    """
    n = int(X.shape[0] if hasattr(X, "shape") else len(X))
    is_single = np.ndim(rejection) == 0
    shares = [rejection] if is_single else list(rejection)
    _check_detector(detector, scoring)
    if isinstance(n_draws, bool) or not isinstance(n_draws, Integral) or n_draws < 1:
        raise ValueError(f"n_draws must be an integer ≥ 1, got {n_draws!r}.")
    for share in shares:
        _check_share(share, n)
    draws = Parallel(n_jobs=n_jobs)(
        delayed(_draw)(detector, X, n, shares, scoring or _default_scores, int(seed))
        for seed in as_random_state(random_state).randint(SEEDS, size=n_draws)
    )
    results = [
        StabilityResult(scores, float(share), round(share * (n - n // 2)))
        for share, scores in zip(shares, np.array(draws).T, strict=True)
    ]
    return results[0] if is_single else results


def _draw(
    detector: Any, X: Any, n: int, rejections: Sequence[float], scoring: Scoring, seed: int
) -> list[float]:
    """Return the Jaccard coefficients of one split: steps a to d of Table II."""
    first, second = train_test_split(X, train_size=n // 2, random_state=seed)
    rng = np.random.default_rng(seed)
    one, two = (_clone(detector, rng).fit(half) for half in (first, second))
    own = _check_scores(scoring(one, first), n // 2)
    transferred = _check_scores(scoring(one, second), n - n // 2)
    direct = _check_scores(scoring(two, second), n - n // 2)

    scores = []
    for rejection in rejections:
        threshold, share = _threshold(own, round(rejection * len(own)))
        is_tie = rng.random(len(transferred)) < share
        by_first = (transferred < threshold) | ((transferred == threshold) & is_tie)
        order = np.lexsort((rng.random(len(direct)), direct))
        by_second = np.zeros(len(direct), dtype=bool)
        by_second[order[: round(rejection * len(direct))]] = True
        scores.append(float((by_first & by_second).sum() / (by_first | by_second).sum()))
    return scores


def _threshold(scores: Scores, count: int) -> tuple[float, float]:
    """Return the score that `count` scores lie below, and the share of ties to reject."""
    low, high = np.partition(scores, [count - 1, count])[[count - 1, count]]
    if low < high:
        # The midpoint, so that rounding errors of recomputed scores do not decide.
        return float(min(low + (high - low) / 2, np.nextafter(high, low))), 1.0
    return float(low), float((count - (scores < low).sum()) / (scores == low).sum())


def _clone(detector: Any, rng: np.random.Generator) -> Any:
    """Return an unfitted copy; each open ``random_state`` gets a seed."""
    copy = clone(detector)
    seeds = {
        name: int(rng.integers(2**31 - 1))
        for name, value in sorted(copy.get_params().items())
        if (name == "random_state" or name.endswith("__random_state")) and value is None
    }
    return copy.set_params(**seeds)


def _default_scores(fitted: Any, X: Any) -> Any:
    method = "score_samples" if hasattr(fitted, "score_samples") else "decision_function"
    return getattr(fitted, method)(X)


def _check_scores(scores: Any, n: int) -> Scores:
    """Return finite scores of shape (n,)."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != (n,):
        raise ValueError(f"the detector returned scores of shape {scores.shape} for {n} samples.")
    if np.isnan(scores).any():
        raise ValueError("the detector returned NaN scores, which cannot be ranked.")
    bound = np.finfo(np.float64).max / 4  # differences of scores stay finite
    return np.asarray(np.clip(scores, -bound, bound))


def _check_detector(detector: Any, scoring: Scoring | None) -> None:
    methods = ("score_samples", "decision_function")
    if scoring is None and not any(hasattr(detector, method) for method in methods):
        raise TypeError(
            f"{detector!r} has neither score_samples nor decision_function. Use a detector that "
            "scores new samples (LocalOutlierFactor does with novelty=True), or pass `scoring`."
        )
    if get_tags(detector).input_tags.pairwise:
        raise ValueError(
            f"{detector!r} takes a matrix of all pairs, which cannot be split into halves. Pass "
            "the samples and a kernel or metric instead."
        )


def _check_share(rejection: Any, n: int) -> None:
    if not isinstance(rejection, Real) or not 0 < float(rejection) < 1:
        raise ValueError(f"rejection must be a number between 0 and 1, got {rejection!r}.")
    for half in (n // 2, n - n // 2):
        count = round(float(rejection) * half)
        if not 0 < count < half:
            raise ValueError(
                f"rejection={rejection:g} rejects {count} of the {half} samples in a half, which "
                "leaves nothing to compare. Use more samples or another rejection."
            )
