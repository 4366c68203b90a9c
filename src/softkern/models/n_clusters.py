"""The number of clusters, where a model with centers is to choose it.

Clusters are counted that have a density gap between any two (`softkern.splitting`), on a sample of
the rows, whatever the model's own criterion. Called by models with ``n_clusters="auto"``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softkern._utils.progress import stage
from softkern._utils.random import child_seed
from softkern._utils.typing import Array
from softkern.rows import Rows
from softkern.splitting.settings import SPLITTING

__all__ = ["estimate_n_clusters", "split_table"]


def estimate_n_clusters(X: Any, weight: Array | None = None, random_state: Any = 0) -> int:
    """Estimate the number of clusters with a density gap between any two, at least one.

    Parameters
    ----------
    X : Rows, array or CSR matrix of shape (n_samples, n_features)
        Data.
    weight : array of shape (n_samples,), default=None
        Rows without weight are left out. All others count once, as duplicates do: these lie close
        together, and would be clusters.
    random_state : int, RandomState or None, default=0
        Random seed of the sample, the proposals and the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> estimate_n_clusters(X, np.ones(300))
    3
    """
    seed = child_seed(random_state)
    rows = X if isinstance(X, Rows) else Rows(X, weight)
    points = rows.X[rows.canonical[0]]  # in an order that depends on the values only
    if points.shape[0] > SPLITTING.max_rows:
        points = points[np.sort(Rows(points).sample(SPLITTING.max_rows, seed)[0])]
    points = points.toarray() if sp.issparse(points) else np.asarray(points)
    with stage("the number of clusters"):
        return 1 + int(split_table(points, seed)[1].max(initial=0))


def split_table(
    X: Array, seed: int, n_clusters: Any = "auto", min_cluster: int = SPLITTING.min_cluster
) -> tuple[Array, NDArray[np.intp]]:
    """Return continuous columns of observations, (n, k), and their clusters, (n,).

    Parameters
    ----------
    X : array of shape (n, d)
        Observations, in an order that does not depend on the order of rows.
    seed : int
        Random seed of ties, proposals and folds.
    n_clusters : "auto" or int, default="auto"
        ``"auto"`` splits at density gaps.
    min_cluster : int, default=8
        Smallest number of rows of a cluster, for ``"auto"``.
    """
    # needs much of scikit-learn, and few fits leave the number open
    from softkern.splitting.observations import make_continuous
    from softkern.splitting.split import split, split_into

    Z = make_continuous(X, seed)
    if n_clusters == "auto":
        return Z, split(Z, seed, min_cluster)
    return Z, split_into(Z, n_clusters, seed)
