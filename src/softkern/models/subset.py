"""Which rows a spectral model is trained on, chosen by their values and never by their order.

All distinct rows in an order of their own, a random sample of them, or the sample that quadratic
Rényi entropy prefers: −log of the mean similarity within the sample is large where the sample
covers the data instead of repeating their dense parts. A row of a Rényi sample takes over the
weight of the rows that are nearest to it, so that degrees stay those of the data. Beside the
weight of a training row goes the part of it that is the row itself: an isolated point of a sample
weighs as many as were left out, none of which is a neighbor of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.exceptions import DataError
from softkern.kernels import Kernel
from softkern.operators.base import row_blocks
from softkern.rows import Rows, row_slices, row_uniforms

__all__ = ["TrainingRows", "renyi_rows", "training_rows", "which_training_row"]

Index = NDArray[np.intp]

POOL = 10  # rows looked at for every row of a Rényi sample
BATCH = 256  # candidates whose similarities are computed at once
KEPT = 2**23  # similarities within a sample that are kept, not computed again


class TrainingRows(NamedTuple):
    """Distinct rows, (m,), the weights they stand for, and the part that is the row itself."""

    rows: Index
    mass: NDArray[np.float64]
    own: NDArray[np.float64]


def training_rows(
    kernel: Kernel, data: Rows, size: int | None, subset: str, random_state: Any
) -> TrainingRows:
    """The rows to train on, at most `size` of them."""
    X, weight = data.X, data.weight
    if kernel.takes_points:
        rows, weights = data.canonical
    else:
        _check_gram(X)
        rows, weights = _gram_rows(X, weight)
    own = np.minimum(weights, 1.0)
    if size is None or rows.size <= size:
        return TrainingRows(rows, weights, own)
    wanted = size if subset == "random" else POOL * size
    if kernel.takes_points:
        index, mass = data.sample(wanted, random_state)
        position = np.empty(X.shape[0], dtype=np.intp)
        position[rows] = np.arange(rows.size)
        place = position[index]
    else:  # a row of a Gram matrix is known by its place in the order that its values decide
        names = np.arange(rows.size, dtype=np.float64)[:, None]
        place, mass = Rows(names, weights).sample(wanted, random_state)
    order = np.argsort(place)
    place, mass = place[order], mass[order]
    pool, own = rows[place], mass * (own[place] / weights[place])
    if subset == "random":
        return TrainingRows(pool, mass, own)
    chosen = renyi_rows(kernel, X, pool, size)
    taken = _taken_over(kernel, X, pool, mass, chosen)
    return TrainingRows(pool[chosen], taken, np.minimum(own[chosen], taken))


def _check_gram(X: Any) -> None:
    """Refuse what is no matrix of kernel values between all rows."""
    if X.shape[0] != X.shape[1]:
        raise DataError(f"a precomputed kernel must be square, got shape {X.shape}.")
    if sp.issparse(X):
        raise DataError(
            "a precomputed kernel must be a dense array, got a sparse matrix; use X.toarray()."
        )


def _gram_rows(X: Any, weight: Array) -> tuple[Index, NDArray[np.float64]]:
    """Rows of a Gram matrix in an order that their values decide, and their weights.

    A change of row order changes the columns' order too, so a row is known by its sorted values.
    Equal rows need not be equal points: none is a copy of another, and of two whose sorted values
    agree the one that comes first stays first.
    """
    rows = np.flatnonzero(weight > 0)
    rows = rows[np.argsort(row_uniforms(np.sort(X[rows], axis=1)), kind="stable")]
    return rows, weight[rows].astype(np.float64)


def renyi_rows(kernel: Kernel, X: Any, pool: Index, size: int) -> Index:
    """Places in the pool of a sample of high quadratic Rényi entropy, (size,), in rising order.

    The sample starts as the pool's first rows; every other row of the pool is then offered once
    in the place of the row that the others resemble most, and taken where that lowers the sum of
    all similarities within the sample. Sums are kept, so an offer costs one row of similarities.

    References
    ----------
    J. A. K. Suykens et al., "Least Squares Support Vector Machines", World Scientific, 2002.
    :doi:`10.1142/5089`
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
            offered = to_chosen[i].sum() - to_chosen[i, worst]
            if offered >= sums[worst]:
                continue
            if within is None:
                left = _similarities(kernel, X, pool[place[worst : worst + 1]], pool[place])[0]
                sums += to_chosen[i] - left
            else:
                sums += to_chosen[i] - within[worst]
                within[worst] = within[:, worst] = to_chosen[i]
            sums[worst] = offered
            place[worst] = batch[i]
            to_chosen[:, worst] = among[:, i]
    return np.sort(place)


def _similarities(kernel: Kernel, X: Any, rows: Index, others: Index) -> Array:
    return np.asarray(kernel.between(X, rows, others), dtype=np.float64)


def _taken_over(
    kernel: Kernel, X: Any, pool: Index, mass: Array, chosen: Index
) -> NDArray[np.float64]:
    """Weights of the chosen rows, (m,): every row of the pool gives its own to the most similar."""
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
    """Number of the training row that every row of X is a copy of, (n,); −1 where it is none."""
    out = np.full(data.shape[0], -1)
    if by_number:
        out[rows] = np.arange(rows.size)
        return out
    _, group = data.groups
    number = np.full(group.max() + 1, -1)
    number[group[rows]] = np.arange(rows.size)
    return np.where(data.weight > 0, number[group], -1)
