"""Training rows of a spectral model, chosen by their values and never by their order.

They are all distinct rows, a random sample of them, or the sample of high quadratic Rényi entropy,
−log of the mean similarity within it, which covers the data instead of repeating their dense parts.
A row of a Rényi sample has the weight of all rows that are nearest to it, so that degrees remain
those of the data. The part of it that is the row itself is known too: an isolated row of a sample
weighs as many as were left out, but none of them is its neighbor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.exceptions import DataError
from softkern.kernels import Kernel
from softkern.models.checks import check_n_clusters
from softkern.operators.base import row_blocks
from softkern.rows import Rows, row_slices, row_uniforms

Index = NDArray[np.intp]

AUTO_TRAIN = 2000  # training rows of n_train="auto"
AUTO_ALL = 4000  # distinct rows up to which it uses all of them
ROWS_PER_CLUSTER = 20  # at least, in training and in the search
POOL = 10  # candidates for every row of a Rényi sample
BATCH = 256  # candidates whose similarities are computed at once
KEPT = 2**23  # similarities within a sample that are stored, not computed again


class TrainingRows(NamedTuple):
    """Distinct rows, (m,), the weights they represent, and the part that is the row itself."""

    rows: Index
    mass: NDArray[np.float64]
    own: NDArray[np.float64]


def training_size(rows: Rows, n_train: Any, n_clusters: Any, is_precomputed: bool) -> int | None:
    """Return the number of rows to train on, None for all."""
    least = 2 if isinstance(n_clusters, str) else int(n_clusters)
    check_n_clusters(least, rows.shape[0])
    if n_train is None or (n_train == "auto" and rows.shape[0] <= AUTO_ALL):
        return None
    present = int((rows.weight > 0).sum())
    if n_train == "auto":
        count = present if is_precomputed else rows.distinct[0].size
        return None if count <= AUTO_ALL else max(AUTO_TRAIN, ROWS_PER_CLUSTER * least)
    if n_train > present:
        raise ValueError(
            f"n_train={n_train} is more than the number of points, n_samples = {present}. Use "
            "n_train=None to train on all of them."
        )
    if n_train < least:
        raise ValueError(f"n_clusters={least} is more than n_train={n_train}. Increase n_train.")
    return int(n_train)


def training_rows(
    kernel: Kernel, data: Rows, size: int | None, subset: str, random_state: Any
) -> TrainingRows:
    """Choose the rows to train on, at most `size` of them."""
    X = data.X
    rows, weights = data.canonical if kernel.takes_points else _gram_rows(X, data.weight)
    own = np.minimum(weights, 1.0)
    if size is None or rows.size <= size:
        return TrainingRows(rows, weights, own)
    wanted = size if subset == "random" else POOL * size
    if kernel.takes_points:
        index, mass = data.sample(wanted, random_state)
    else:  # a row of a Gram matrix is identified by its place in the order of its values
        names = np.arange(rows.size, dtype=np.float64)[:, None]
        place, mass = Rows(names, weights).sample(wanted, random_state)
        index = rows[place]
    represented = np.zeros(X.shape[0])
    represented[index] = mass
    place = np.flatnonzero(represented[rows])
    pool, mass = rows[place], represented[rows[place]]
    own = mass * (own[place] / weights[place])
    if subset == "random":
        return TrainingRows(pool, mass, own)
    chosen = renyi_rows(kernel, X, pool, size)
    total = _represented(kernel, X, pool, mass, chosen)
    return TrainingRows(pool[chosen], total, np.minimum(own[chosen], total))


def _gram_rows(X: Any, weight: Array) -> tuple[Index, NDArray[np.float64]]:
    """Return rows of a Gram matrix in the order of their sorted values, and their weights.

    The order of rows changes that of the columns too, so that rows are identified by their sorted
    values. Equal rows need not be equal points, and are no duplicates.
    """
    if X.shape[0] != X.shape[1]:
        raise DataError(f"a precomputed kernel must be square, got shape {X.shape}.")
    if sp.issparse(X):
        raise DataError(
            "a precomputed kernel must be a dense array, got a sparse matrix; use X.toarray()."
        )
    rows = np.flatnonzero(weight > 0)
    rows = rows[np.argsort(row_uniforms(np.sort(X[rows], axis=1)), kind="stable")]
    return rows, weight[rows].astype(np.float64)


def renyi_rows(kernel: Kernel, X: Any, pool: Index, size: int) -> Index:
    """Return places in the pool of a sample of high quadratic Rényi entropy, (size,), sorted.

    The sample starts with the pool's first rows. Every other row of the pool then replaces the row
    that the others resemble most, if that lowers the sum of all similarities within the sample.
    Sums are updated, so that each candidate costs one row of similarities (Suykens et al., "Least
    Squares Support Vector Machines", 2002).
    """
    place = np.arange(size)
    sums = np.zeros(size)  # similarity of every chosen row to the others
    within = np.empty((size, size)) if size**2 <= KEPT else None
    for rows in row_blocks(size, size, 8):
        block = _similarities(kernel, X, pool[place[rows]], pool[place])
        sums[rows] = block.sum(axis=1) - block[np.arange(len(block)), np.arange(size)[rows]]
        if within is not None:
            within[rows] = block
    for part in row_slices(pool.size - size, BATCH):
        batch = size + np.arange(part.start, part.stop)
        to_chosen = _similarities(kernel, X, pool[batch], pool[place])
        among = _similarities(kernel, X, pool[batch], pool[batch])
        for i in range(batch.size):
            worst = int(np.argmax(sums))
            similarity = to_chosen[i].sum() - to_chosen[i, worst]
            if similarity >= sums[worst]:
                continue
            if within is None:
                left = _similarities(kernel, X, pool[place[worst : worst + 1]], pool[place])[0]
                sums += to_chosen[i] - left
            else:
                sums += to_chosen[i] - within[worst]
                within[worst] = within[:, worst] = to_chosen[i]
            sums[worst] = similarity
            place[worst] = batch[i]
            to_chosen[:, worst] = among[:, i]
    return np.sort(place)


def _similarities(kernel: Kernel, X: Any, rows: Index, others: Index) -> Array:
    return np.asarray(kernel.between(X, rows, others), dtype=np.float64)


def _represented(
    kernel: Kernel, X: Any, pool: Index, mass: Array, chosen: Index
) -> NDArray[np.float64]:
    """Weights of the chosen rows, (m,): every row of the pool adds its own to the most similar."""
    out = np.zeros(chosen.size)
    for rows in row_blocks(pool.size, chosen.size, 8):
        if kernel.decays:  # far from all chosen rows, similarities underflow alike
            similarity = kernel.log_block(X[pool[rows]], X[pool[chosen]])
        else:
            similarity = _similarities(kernel, X, pool[rows], pool[chosen])
        nearest = np.argmax(similarity, axis=1)
        out += np.bincount(nearest, weights=mass[rows], minlength=chosen.size)
    return out


def which_training_row(data: Rows, rows: Index, by_number: bool) -> Index:
    """Return the training row of which every row is a duplicate, (n,), −1 for none."""
    out = np.full(data.shape[0], -1)
    if by_number:
        out[rows] = np.arange(rows.size)
        return out
    _, group = data.groups
    number = np.full(group.max() + 1, -1)
    number[group[rows]] = np.arange(rows.size)
    return np.where(data.weight > 0, number[group], -1)
