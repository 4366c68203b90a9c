"""Tables with planted causes of several kinds, not used for tuning `softkern.tables.explain`.

Columns are normal within clusters and have common factors, the first two strongly. Each family then
transforms them: skewed, rounded, heavy-tailed and so on. Causes are planted before, so that they are
equally strong in every family: one extreme column, two, an unusual combination of the first two, or a
value that is typical of another cluster.
"""

from __future__ import annotations

import numpy as np

ROWS = 600
PLANTED = 5  # rows of each kind
KINDS = ("one column", "two columns", "jointly", "of another cluster")
COLUMNS = (5, 20, 200)
FAR = {5: 8.0, 20: 10.0, 200: 14.0}  # standard deviations within a cluster; more columns need more
OF_TWO = 0.75  # share of it for each of two columns
AGAINST = 2.2  # standard deviations of two correlated columns
APART = 2.5  # standard deviations of a cluster's center, in columns that separate clusters
SEPARATING = 10  # maximal number of such columns


def _skewed(Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.exp(0.5 * Z)


def _rounded(Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.round(2 * Z)


def _scales(Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    X = np.where(np.arange(Z.shape[1]) % 3 == 2, np.exp(0.5 * Z), Z)
    return X * 10.0 ** rng.uniform(-3, 4, Z.shape[1])


def _same(Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return Z


# shares of the clusters, loading of the common factor, degrees of freedom, transformation
FAMILIES = {
    "skewed": ((0.4, 0.35, 0.25), 0.0, 0, _skewed),
    "rounded": ((0.4, 0.35, 0.25), 0.0, 0, _rounded),
    "correlated": ((0.6, 0.4), 0.7, 0, _same),
    "unequal": ((0.6, 0.25, 0.1, 0.05), 0.0, 0, _same),
    "heavy tails": ((0.6, 0.4), 0.0, 4, _same),
    "mixed scales": ((0.5, 0.5), 0.3, 0, _scales),
}


def planted(family: str, d: int, seed: int) -> tuple[np.ndarray, list[tuple[str, int, set]]]:
    """Return a table (n, d), and kind, position and changed columns of every planted row."""
    rng = np.random.default_rng([seed, d, sorted(FAMILIES).index(family)])
    shares, loading, freedom, finish = FAMILIES[family]
    labels = rng.choice(len(shares), ROWS, p=shares)
    factors = max(1, d // 10)
    loadings = rng.normal(size=(factors, d)) * 0.5 / np.sqrt(factors)
    Z = rng.normal(size=(ROWS, factors)) @ loadings + rng.normal(size=(ROWS, 1)) * loading
    noise = rng.standard_t(freedom, (ROWS, d)) if freedom else rng.normal(size=(ROWS, d))
    Z = (Z + noise) / np.sqrt((loadings**2).sum(axis=0) + loading**2 + 1)
    Z[:, 1] = 0.98 * Z[:, 0] + 0.2 * rng.normal(size=ROWS)
    separating = (
        np.arange(2, d) if d < SEPARATING else 2 + rng.choice(d - 2, SEPARATING, replace=False)
    )
    centers = np.zeros((len(shares), d))
    centers[:, separating] = APART * rng.choice([-1.0, 1.0], (len(shares), len(separating)))
    Z += centers[labels]
    causes = []
    far = FAR[d] * (2 if freedom else 1)
    for i in range(PLANTED * len(KINDS)):
        kind = KINDS[i % len(KINDS)]
        own = centers[labels[i]]
        sign = rng.choice([-1.0, 1.0], 2)
        if kind == "jointly":
            columns = np.array([0, 1])
            Z[i, columns] = AGAINST * sign[0] * np.array([1, -1])
        elif kind == "of another cluster":
            columns = rng.choice(separating, 1)
            Z[i, columns] = -own[columns] + 0.3 * rng.normal()
        else:
            count = 1 if kind == "one column" else 2
            columns = rng.choice(d, count, replace=False)
            step = far if count == 1 else OF_TWO * far
            Z[i, columns] = own[columns] + step * sign[:count]
        causes.append((kind, i, set(columns.tolist())))
    return finish(Z, rng), causes
