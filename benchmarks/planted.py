"""Tables with planted causes of many kinds, on which no number of `softkern.tables.explain` was set.

Columns are normal within clusters and go together by common factors, the first two closely; a
family then makes them skewed, rounded, heavy-tailed and so on. Causes are planted before that, so
that a row is as strange in every family: one column far out, two, the first two against each other
while each is usual, or one that is usual in another cluster but not in the row's own. Called by
`benchmarks/explanations.py`.
"""

from __future__ import annotations

import numpy as np

ROWS = 600
PLANTED = 5  # rows of each kind
KINDS = ("one column", "two columns", "jointly", "of another cluster")
COLUMNS = (5, 20, 200)
FAR = {5: 8.0, 20: 10.0, 200: 14.0}  # spreads within a cluster; in more columns it takes more
OF_TWO = 0.75  # of that, each
AGAINST = 2.2  # spreads, of two columns that go together
APART = 2.5  # spreads of a cluster's center from the middle, in columns that tell clusters apart
TELLING = 10  # columns, at most


def _skewed(Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.exp(0.5 * Z)


def _rounded(Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.round(2 * Z)


def _scales(Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    X = np.where(np.arange(Z.shape[1]) % 3 == 2, np.exp(0.5 * Z), Z)
    return X * 10.0 ** rng.uniform(-3, 4, Z.shape[1])


def _same(Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return Z


# shares of the clusters, loading of the one factor of all columns, degrees of freedom, last step
FAMILIES = {
    "skewed": ((0.4, 0.35, 0.25), 0.0, 0, _skewed),
    "rounded": ((0.4, 0.35, 0.25), 0.0, 0, _rounded),
    "correlated": ((0.6, 0.4), 0.7, 0, _same),
    "unequal": ((0.6, 0.25, 0.1, 0.05), 0.0, 0, _same),
    "heavy tails": ((0.6, 0.4), 0.0, 4, _same),
    "mixed scales": ((0.5, 0.5), 0.3, 0, _scales),
}


def planted(family: str, d: int, seed: int) -> tuple[np.ndarray, list[tuple[str, int, set]]]:
    """A table (n, d), and for every planted row its kind, its place and the columns changed."""
    rng = np.random.default_rng([seed, d, sorted(FAMILIES).index(family)])
    shares, loading, freedom, finish = FAMILIES[family]
    labels = rng.choice(len(shares), ROWS, p=shares)
    factors = max(1, d // 10)
    loadings = rng.normal(size=(factors, d)) * 0.5 / np.sqrt(factors)
    Z = rng.normal(size=(ROWS, factors)) @ loadings + rng.normal(size=(ROWS, 1)) * loading
    noise = rng.standard_t(freedom, (ROWS, d)) if freedom else rng.normal(size=(ROWS, d))
    Z = (Z + noise) / np.sqrt((loadings**2).sum(axis=0) + loading**2 + 1)
    Z[:, 1] = 0.98 * Z[:, 0] + 0.2 * rng.normal(size=ROWS)
    telling = np.arange(2, d) if d < TELLING else 2 + rng.choice(d - 2, TELLING, replace=False)
    centers = np.zeros((len(shares), d))
    centers[:, telling] = APART * rng.choice([-1.0, 1.0], (len(shares), len(telling)))
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
            columns = rng.choice(telling, 1)
            Z[i, columns] = -own[columns] + 0.3 * rng.normal()
        else:
            count = 1 if kind == "one column" else 2
            columns = rng.choice(d, count, replace=False)
            step = far if count == 1 else OF_TWO * far
            Z[i, columns] = own[columns] + step * sign[:count]
        causes.append((kind, i, set(columns.tolist())))
    return finish(Z, rng), causes
