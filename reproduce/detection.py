"""Accuracy of a detector against known outliers: the procedure of Fig. 5 of the 2010 paper."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

__all__ = ["detection_accuracy"]


def detection_accuracy(
    detector: Any,
    X: Any,
    is_outlier: Any,
    *,
    n_train: int,
    rejection: float,
    n_draws: int,
    random_state: int = 0,
) -> NDArray[np.float64]:
    """Return the Jaccard coefficient of detected and known outliers for every draw.

    Every draw fits the detector on `n_train` inliers. It rejects those of the other samples that
    score below the threshold at which it would reject round(ν n_train) training samples.

    Examples
    --------
    >>> from softkern import OneClassPCM
    >>> from softkern.datasets import make_gaussian_outliers
    >>> X, y = make_gaussian_outliers(random_state=0)
    >>> options = {"n_train": 200, "rejection": 0.02, "n_draws": 5}
    >>> bool(detection_accuracy(OneClassPCM(), X, y == -1, **options).mean() > 0.5)
    True
    """
    n_rejected, n_inliers = round(rejection * n_train), int((~is_outlier).sum())
    if not 0 < n_train < n_inliers < len(X) or not 0 < n_rejected < n_train:
        raise ValueError(
            f"cannot train on {n_train} of {n_inliers} inliers and {len(X)} samples, rejecting "
            f"{n_rejected} of them."
        )
    seeds = np.random.RandomState(random_state).randint(2**31 - 1, size=n_draws)
    return np.array([_draw(detector, X, is_outlier, n_train, n_rejected, int(s)) for s in seeds])


def _draw(
    detector: Any, X: Any, is_outlier: Any, n_train: int, n_rejected: int, seed: int
) -> float:
    rng = np.random.default_rng(seed)
    train = rng.choice(np.flatnonzero(~is_outlier), n_train, replace=False)
    rest = np.setdiff1d(np.arange(len(X)), train)
    model = clone(detector).fit(X[train])
    own, others = _scores(model, X[train]), _scores(model, X[rest])
    low, high = np.sort(own)[[n_rejected - 1, n_rejected]]
    if low < high:  # the midpoint, so that rounding errors of recomputed scores do not decide
        is_rejected = others <= min(low + (high - low) / 2, np.nextafter(high, low))
    else:  # ties (data with duplicates) are rejected at random, as often as in training
        share = (n_rejected - (own < low).sum()) / (own == low).sum()
        is_rejected = (others < low) | ((others == low) & (rng.random(len(rest)) < share))
    known = is_outlier[rest]
    return float((is_rejected & known).sum() / (is_rejected | known).sum())


def _scores(model: Any, X: Any) -> NDArray[np.float64]:
    method = "score_samples" if hasattr(model, "score_samples") else "decision_function"
    return np.asarray(getattr(model, method)(X), dtype=np.float64)
