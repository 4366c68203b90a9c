"""The number of clusters, where a model with centers is to choose it.

Clusters are counted that have a density gap between any two (`softkern.splitting`), on a sample of
the rows, whatever the model's own criterion. Called by models with ``n_clusters="auto"``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

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
    # needs much of scikit-learn, and few fits leave the number open
    from softkern.splitting.observations import make_continuous
    from softkern.splitting.split import split

    with stage("the number of clusters"):
        return 1 + int(split(make_continuous(points, seed), seed).max(initial=0))
