"""Turn the parameter `init` of the models into a function that draws an initialization.

``"gmm"`` is the only one that needs the samples; the others are in
`softkern.solvers.initialization`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from softkern._utils.random import child_seed
from softkern._utils.typing import Array
from softkern.operators.base import KernelOperator
from softkern.solvers.initialization import STARTS

__all__ = ["INITS", "draw_of"]

INITS = {*STARTS, "gmm"}
MOST_DRAWN = 20_000  # rows to which a Gaussian mixture is fitted


def draw_of(init: str, operator: KernelOperator) -> Callable[..., Array]:
    """Return the function (operator, weight, n_clusters, generator) → masses (n, c)."""
    if init != "gmm":
        return STARTS[init]
    if not operator.kernel.takes_points or sp.issparse(operator.X):
        raise ValueError(
            "init='gmm' needs the data as a dense array, not kernel values or a sparse matrix. Use "
            "'k-means++', 'k-means' or 'random'."
        )
    return gaussian_mass


def gaussian_mass(
    operator: KernelOperator, weight: Array, n_clusters: int, generator: np.random.RandomState
) -> Array:
    """Return memberships of a Gaussian mixture in input space times weights, (n, c)."""
    from sklearn.mixture import GaussianMixture  # slow to import

    X = operator.X
    index, mass = operator.canonical_rows(weight)
    reached = np.cumsum(mass)
    # with few integer weights, every row is drawn as often as it weighs
    fewest = max(index.size, n_clusters)
    drawn = int(np.clip(round(float(reached[-1])), fewest, max(MOST_DRAWN, n_clusters)))
    places = (np.arange(drawn) + 0.5) * (reached[-1] / drawn)
    rows = index[np.minimum(np.searchsorted(reached, places), index.size - 1)]
    values = X[rows].astype(np.float64)
    center, spread = values.mean(axis=0), values.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    model = GaussianMixture(n_clusters, random_state=child_seed(generator))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit((values - center) / spread)
    start = model.predict_proba((X.astype(np.float64) - center) / spread)
    # no cluster starts without any sample
    return weight[:, None] * np.maximum(start, 1e-6).astype(weight.dtype)
