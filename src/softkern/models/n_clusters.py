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


def estimate_n_clusters(X: Any, weight: Array | None = None, random_state: Any = 0) -> int:
    """Estimate the number of clusters with a density gap between any two, at least one.

    X holds `Rows`, or rows (n, d) with their weights. Rows without weight are left out. All others
    count once, as duplicates do: these lie close together, and would be clusters.
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
    """Return continuous columns of rows in canonical order, (n, k), and their clusters, (n,).

    ``n_clusters="auto"`` splits at density gaps, into clusters of at least `min_cluster` rows.
    """
    # needs much of scikit-learn, and few fits leave the number open
    from softkern.splitting.observations import make_continuous
    from softkern.splitting.split import split, split_into

    Z = make_continuous(X, seed)
    is_open = n_clusters == "auto"
    return Z, split(Z, seed, min_cluster) if is_open else split_into(Z, n_clusters, seed)
