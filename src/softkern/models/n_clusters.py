"""Estimate the number of clusters, for models with ``n_clusters="auto"``.

The number is that of the groups that are separated by density gaps (`softkern.splitting`) in a
sample of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from softkern._utils.progress import stage
from softkern._utils.random import child_seed
from softkern._utils.typing import Array
from softkern.rows import Rows

__all__ = ["estimate_n_clusters"]


def estimate_n_clusters(X: Any, weight: Array | None = None, random_state: Any = 0) -> int:
    """Return the number of groups that are separated by density gaps, at least one.

    Parameters
    ----------
    X : Rows, array or CSR matrix of shape (n_samples, n_features)
        Data.
    weight : array of shape (n_samples,), default=None
        Weights; rows of weight zero do not count. Others count once, and so do duplicates, which
        would otherwise look like groups.
    random_state : int, RandomState or None, default=0
        Random seed of the sample, the initializations and the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> estimate_n_clusters(X, np.ones(300))
    3
    """
    # slow to import, and seldom needed
    from softkern.splitting.observations import make_continuous
    from softkern.splitting.settings import SPLITTING
    from softkern.splitting.split import split

    seed = child_seed(random_state)
    rows = X if isinstance(X, Rows) else Rows(X, weight)
    points = rows.X[rows.canonical[0]]  # in an order that depends on the values only
    if points.shape[0] > SPLITTING.max_rows:
        points = points[np.sort(Rows(points).sample(SPLITTING.max_rows, seed)[0])]
    points = points.toarray() if sp.issparse(points) else np.asarray(points)
    with stage("the number of clusters"):
        return 1 + int(split(make_continuous(points, seed), seed).max(initial=0))
