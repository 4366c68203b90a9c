"""How many clusters there are, where a model with centers is to say so itself.

The groups between which there are valleys (`softkern.splitting`), counted on a sample of the rows:
a count that no model's own criterion decides. Called by the models whose `n_clusters` is "auto".
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from softkern._utils.progress import stage
from softkern._utils.random import child_seed
from softkern._utils.typing import Array
from softkern.rows import canonical_rows, priority_sample

__all__ = ["estimate_n_clusters"]


def estimate_n_clusters(X: Any, weight: Array, random_state: Any = 0) -> int:
    """The number of groups with a valley between any two; one where there is none.

    Parameters
    ----------
    X : array of shape (n, d)
    weight : array of shape (n,)
        Rows of weight zero do not count. Others count once, as copies of a row do: copies lie
        close together, and would be groups.
    random_state : int, RandomState or None, default=0
        Of the sample, the starts and the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> estimate_n_clusters(X, np.ones(300))
    3
    """
    # asks for much of scikit-learn, and few fits leave the number open
    from softkern.splitting.observations import make_continuous
    from softkern.splitting.settings import SPLITTING
    from softkern.splitting.split import split

    seed = child_seed(random_state)
    rows, _ = canonical_rows(X, weight)  # in an order that their values decide
    if rows.size > SPLITTING.max_rows:
        rows = rows[np.sort(priority_sample(X[rows], SPLITTING.max_rows, None, seed)[0])]
    points = X[rows].toarray() if sp.issparse(X) else np.asarray(X[rows])
    with stage("the number of clusters"):
        return 1 + int(split(make_continuous(points, seed), seed).max(initial=0))
