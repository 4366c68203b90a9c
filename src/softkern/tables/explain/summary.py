"""The answer in a sentence: how many clusters, outliers and rows in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from softkern._utils.text import plural
from softkern.tables.text import grade, joined

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["summary"]

GRADES = ("extreme", "strong", "mild")


def summary(ranks: pd.DataFrame, is_detector: bool = False) -> str:
    """A sentence on what `softkern.rank_points` found; a detector looks for no clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from softkern import OneClassPCM, rank_points
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> X[0] = 30
    >>> summary(rank_points(OneClassPCM().fit(X)), is_detector=True)
    '300 rows: 1 is an outlier (1 extreme).'
    """
    labels = ranks["label"]
    found, noise = int(labels[labels >= 0].nunique()), int((labels < 0).sum())
    lead = plural(len(ranks), "row")
    if not is_detector:
        lead += f" in {plural(found, 'cluster')}"
    is_outlier = ranks["is_outlier"].to_numpy(dtype=bool)
    parts = [_outliers(ranks["outlier_score"].to_numpy()[is_outlier])]
    overlaps = int(ranks["is_overlap"].sum())
    if overlaps:
        parts.append(f"{overlaps:,} {_verb(overlaps, 'lies', 'lie')} between clusters")
    elif found > 1 and not is_detector:
        parts.append("none lies between clusters")
    if noise:
        parts.append(f"{noise:,} {_verb(noise, 'is', 'are')} in no cluster")
    return f"{lead}: {joined(parts)}."


def _outliers(scores: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    if not len(scores):
        return "none is an outlier"
    grades = [grade(score) for score in scores.tolist()]
    counts = [f"{grades.count(name):,} {name}" for name in GRADES if name in grades]
    noun = _verb(len(scores), "is an outlier", "are outliers")
    return f"{len(scores):,} {noun} ({', '.join(counts)})"


def _verb(number: int, one: str, many: str) -> str:
    return one if number == 1 else many
