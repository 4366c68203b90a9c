"""Groups of a table, split where a valley lies between the parts, until nothing splits.

Mixtures from several starts propose groups; two groups stay apart only where there is a valley
between them on the line that separates them best. That line is found without the rows that are
then looked at (five folds), and where the valley is not deep so are the two groups themselves: so
neither follows their noise, and no number of columns makes a valley by chance. Where groups are
not apart they are merged. Each group is then treated as a table of its own. Called by the models
that choose a number of clusters by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from softkern._utils.threads import one_thread
from softkern._utils.typing import Array
from softkern.rows import order_by_mass
from softkern.splitting.curvature import is_curved
from softkern.splitting.gap_test import FEWEST, depth
from softkern.splitting.mixture import Mixture, fit_mixture
from softkern.splitting.proposals import k_means, pair_starts, starts

__all__ = ["separations", "split", "split_into"]

# Depth of a valley, √n times the dip, from which on it is no chance: of structureless tables
# (uniform, normal, heavy-tailed, skewed, correlated, rings, rounded, repeated; 5 to 100 columns)
# fewer than 3 in 100 draws are split (benchmarks/calibrate.py valleys).
CRITICAL = 0.58
SURE = 1.6  # times the critical depth, from which on groups need not be found again
ONE = 0.75  # times the critical depth, up to which two groups of different parts are one
TIMES_AGAIN = 3, 8  # that they are, with other folds, at least and at most: a division is chance
ERRORS = 2.0  # of the mean over them, from the critical depth, from which on it is clear
FOLDS = 5
FOLD_STEPS = 8  # of a mixture that is fitted again without a fold, from where it was
FEWEST_ROWS = 24  # of a table that is looked at
ALIKE = 0.995  # of the rows in the same groups: the same proposal again
FAR = 2.0  # times the median length, beyond which rows are drawn in


@dataclass(frozen=True)
class Proposal:
    """Groups and the depth of the shallowest valley between two of them."""

    labels: NDArray[np.intp]
    depth: float

    @property
    def count(self) -> int:
        """How many groups there are."""
        return int(self.labels.max()) + 1

    @property
    def is_apart(self) -> bool:
        """Whether every two groups have a valley between them."""
        return self.depth > CRITICAL


def split(X: Array, seed: int = 0, least: int = FEWEST) -> NDArray[np.intp]:
    """The group of every row, (n,), from 0, the largest first; all 0 where nothing splits.

    Parameters
    ----------
    X : array of shape (n, d)
        Every row one observation, see `observations`.
    seed : int, default=0
        Of the starts and folds.
    least : int
        Rows of a group, at least.
    """
    with one_thread():  # many small products, in which threads would wait for each other
        return _numbered(_rejoined(X, _split(X, seed, least), seed))


def _rejoined(X: Array, labels: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    """Groups that a first cut through another one has parted, put together again.

    Every two groups are looked at alone; those with hardly a valley between them are one.
    """
    depths: dict[tuple[int, int], float] = {}
    while True:
        names = np.unique(labels).tolist()
        if len(names) <= 2:
            return labels
        for pair in combinations(names, 2):
            if pair not in depths:
                both = np.isin(labels, pair)
                depths[pair] = _depth_alone(X[both], (labels[both] == pair[1]), seed)
        if min(depths.values()) > ONE * CRITICAL:
            return labels
        i, j = min(depths, key=lambda pair: depths[pair])
        labels = np.where(labels == j, i, labels)
        depths = {pair: value for pair, value in depths.items() if not {i, j} & set(pair)}


def _depth_alone(X: Array, is_second: Array, seed: int) -> float:
    """The depth of the valley between two groups, without the rows of others."""
    Z = _centered(X)
    mixture = fit_mixture(Z, is_second.astype(np.intp), FOLD_STEPS)
    if mixture is None or mixture.count < 2:
        return 0.0
    return float(_depths(Z, mixture, seed, FEWEST, ONE * CRITICAL).min())


def _split(X: Array, seed: int, least: int) -> NDArray[np.intp]:
    labels = np.zeros(len(X), dtype=np.intp)
    found = _best(X, seed, least)
    if found is None:
        return labels
    count = 0
    for group in range(found.count):
        inside = found.labels == group
        parts = _split(X[inside], seed, least)
        labels[inside] = parts + count
        count += int(parts.max()) + 1
    return labels


def split_into(X: Array, count: int, seed: int = 0) -> NDArray[np.intp]:
    """So many groups, (n,), whether or not there are valleys between them.

    Parameters
    ----------
    X : array of shape (n, d)
    count : int
        Fewer come where there are fewer distinct rows.
    """
    if count == 1:
        return np.zeros(len(X), dtype=np.intp)
    found = split(X, seed)
    if found.max() + 1 == count or X.shape[1] == 0:
        return found
    Z = _centered(X)
    labels = k_means(Z, count, seed)
    mixture = fit_mixture(Z, labels) if labels.max() > 0 else None
    return _numbered(labels if mixture is None or mixture.count < count else mixture.labels)


def _best(X: Array, seed: int, least: int) -> Proposal | None:
    """Of all proposals whose groups are apart the one of most groups, then of deepest valleys."""
    if len(X) < max(FEWEST_ROWS, 2 * least):
        return None
    Z = _centered(X)
    if Z.shape[1] == 0:
        return None
    best, seen, pairs = None, list[Array](), CrossFittedPairs(Z)
    for labels in starts(Z, seed):
        found = _merged(Z, fit_mixture(Z, labels), seen, pairs, seed, least)
        if found is None:
            continue
        if best is None or (found.count, found.depth) > (best.count, best.depth):
            best = found
    return best


def _merged(
    Z: Array,
    mixture: Mixture | None,
    seen: list[Array],
    pairs: CrossFittedPairs,
    seed: int,
    least: int,
) -> Proposal | None:
    """The mixture's groups, merged until all are apart; None where one is left.

    Groups that have been `seen` before are not looked at again: their end is known.
    """
    while mixture is not None and mixture.count > 1:
        if any(_alike(mixture.labels, other) for other in seen):
            return None
        seen.append(mixture.labels)
        depths = _depths(Z, mixture, seed, least)
        _confirm(Z, mixture, depths, pairs, seed)
        proposal = Proposal(mixture.labels, float(depths.min()))
        if proposal.is_apart:
            return proposal
        if mixture.count == 2:
            return None
        # of groups that are not apart, the nearest; the others may come apart without it
        gaps = np.where(depths <= CRITICAL, mixture.gaps, np.inf)
        i, j = np.unravel_index(np.argmin(gaps), gaps.shape)
        labels = np.where(mixture.labels == j, i, mixture.labels)
        mixture = fit_mixture(Z, np.unique(labels, return_inverse=True)[1])
    return None


def _depths(Z: Array, mixture: Mixture, seed: int, least: int, enough: float = CRITICAL) -> Array:
    """Depths of the valleys between all pairs of groups, (c, c); ∞ of a group with itself.

    The lines between groups are found without the rows that are looked at; not where a valley is
    less than `enough` already on the lines of all rows, which flatter it.
    """
    pairs = list(combinations(range(mixture.count), 2))
    places = _places(mixture, mixture.mapped(Z), pairs)
    depths = _depths_on(places, mixture.labels, mixture.count, least)
    if depths.min() <= enough:
        return depths
    labels = np.empty(len(Z), dtype=np.intp)
    for inside, outside in _folds(len(Z), seed):
        found = fit_mixture(Z[outside], mixture.labels[outside], FOLD_STEPS)
        if found is None or found.count < mixture.count:
            return np.where(np.isinf(depths), np.inf, 0.0)
        mapped = found.mapped(Z[inside])
        labels[inside] = found.assign(mapped)
        places[inside] = _places(found, mapped, pairs)
    depths = _depths_on(places, labels, mixture.count, least)
    for i, j in pairs:
        if depths[i, j] > CRITICAL and _is_same_curve(Z, mixture, i, j):
            depths[i, j] = depths[j, i] = 0.0
    return depths


def _places(mixture: Mixture, mapped: Array, pairs: list[tuple[int, int]]) -> Array:
    """Of mapped points on the lines between pairs of groups, (n, pairs)."""
    return np.stack([mixture.between(mapped, i, j) for i, j in pairs], axis=1)


def _depths_on(places: Array, labels: Array, count: int, least: int) -> Array:
    """Depths of valleys, (c, c), of groups on the lines between them: places (n, pairs)."""
    depths = np.full((count, count), np.inf)
    is_large = np.bincount(labels, minlength=count) >= least
    for (i, j), column in zip(combinations(range(count), 2), places.T, strict=True):
        both = (labels == i) | (labels == j)
        value = 0.0
        if is_large[i] and is_large[j]:
            value = depth(column[both], labels[both] == i)
        depths[i, j] = depths[j, i] = value
    return depths


def _is_same_curve(Z: Array, mixture: Mixture, i: int, j: int) -> bool:
    """Whether two of the mixture's groups are the arms of a bend."""
    both = (mixture.labels == i) | (mixture.labels == j)
    way = mixture.centers[i] - mixture.centers[j]
    return is_curved(mixture.mapped(Z[both]), way, mixture.labels[both] == i)


def _confirm(Z: Array, mixture: Mixture, depths: Array, pairs: CrossFittedPairs, seed: int) -> None:
    """Look again, in place, at valleys that are not deep, as long as all groups seem apart."""
    order = np.argsort(depths, axis=None)[::2]  # every pair stands there twice
    for i, j in zip(*np.unravel_index(order, depths.shape), strict=True):
        if not CRITICAL < depths[i, j] < SURE * CRITICAL or depths.min() <= CRITICAL:
            return
        both = (mixture.labels == i) | (mixture.labels == j)
        above = mixture.labels == i
        again = _mean_depth(partial(pairs.depth, both, above, seed))
        depths[i, j] = depths[j, i] = min(depths[i, j], again)


def _mean_depth(depth_of: Callable[[int], float]) -> float:
    """The mean over divisions of the rows, so many that it is clear from the critical depth."""
    least, most = TIMES_AGAIN
    found = [depth_of(k) for k in range(least)]
    while len(found) < most:
        error = float(np.std(found, ddof=1)) / np.sqrt(len(found))
        if abs(float(np.mean(found)) - CRITICAL) > ERRORS * error:
            break
        found.append(depth_of(len(found)))
    return float(np.mean(found))


class CrossFittedPairs:
    """Pairs of groups that are found without the rows then looked at.

    What is found in the same rows is the same whichever groups it is compared with, and is kept.
    """

    def __init__(self, Z: Array) -> None:
        self._Z = Z
        self._kept: dict[tuple[bytes, int], list[list[Mixture]]] = {}

    def depth(self, both: Array, above: Array, seed: int, division: int) -> float:
        """The depth of the valley between the two groups most like those given, of rows `both`."""
        seed += division
        Z, is_above = self._Z[both], above[both]
        places, found_above = np.empty(len(Z)), np.zeros(len(Z), dtype=bool)
        folds = zip(_folds(len(Z), seed), self._found(both, seed), strict=True)
        for (inside, outside), mixtures in folds:
            if not mixtures:
                return 0.0
            shares = [
                float((mixture.labels.astype(bool) == is_above[outside]).mean())
                for mixture in mixtures
            ]
            best = int(np.argmax([max(same, 1 - same) for same in shares]))
            mixture, first = mixtures[best], int(shares[best] > 0.5)
            mapped = mixture.mapped(Z[inside])
            places[inside] = mixture.between(mapped, first, 1 - first)
            found_above[inside] = mixture.assign(mapped) == first
        return depth(places, found_above)

    def _found(self, both: Array, seed: int) -> list[list[Mixture]]:
        """Mixtures of two groups without each fold."""
        key = (both.tobytes(), seed)
        if key not in self._kept:
            Z = self._Z[both]
            self._kept[key] = [
                [
                    mixture
                    for labels in pair_starts(Z[outside], seed)
                    if (mixture := fit_mixture(Z[outside], labels)) and mixture.count == 2
                ]
                for _, outside in _folds(len(Z), seed)
            ]
        return self._kept[key]


def _folds(n: int, seed: int) -> Iterator[tuple[Array, Array]]:
    """The rows that are looked at, and those without them, both as masks (n,), fold by fold."""
    fold = np.random.default_rng(seed).permutation(n) % FOLDS
    for k in range(FOLDS):
        yield fold == k, fold != k


def separations(X: Array, labels: Array, seed: int = 0) -> Array:
    """How far apart any groups are, (c, c): depths of valleys in critical values, ∞ on itself.

    Parameters
    ----------
    X : array of shape (n, d)
        Every row one observation.
    labels : array of shape (n,)
        Whole numbers from 0.
    """
    Z = _centered(X)
    mixture = fit_mixture(Z, labels, 1)
    count = int(labels.max()) + 1
    if mixture is None or mixture.count < count:
        return np.where(np.eye(count, dtype=bool), np.inf, 0.0)
    return _depths(Z, mixture, seed, FEWEST) / CRITICAL


def _centered(X: Array) -> Array:
    """Columns by their own middle and spread; rows far from all others are drawn in.

    A column without spread is left out.
    """
    low, middle, high = np.quantile(X, [0.16, 0.5, 0.84], axis=0)
    deviation = X.std(axis=0)
    spread = np.where(high - low > 0.4 * deviation, (high - low) / 2, deviation)
    kept = spread > 0
    Z = (X[:, kept] - middle[kept]) / spread[kept]
    length = np.linalg.norm(Z, axis=1)
    most = FAR * np.median(length)
    return np.asarray(Z * np.minimum(1, most / np.maximum(length, 1e-300))[:, None])


def _numbered(labels: Array) -> NDArray[np.intp]:
    """Groups by decreasing size; of equal ones, that of the first row."""
    _, first, place, counts = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    return np.argsort(order_by_mass(counts, -first))[place]


def _alike(labels: Array, other: Array) -> bool:
    """Whether two partitions are the same but for a few rows."""
    if labels.max() != other.max():
        return False
    count = int(labels.max()) + 1
    table = np.bincount(labels * count + other, minlength=count**2).reshape(count, count)
    shared = min(table.max(axis=0).sum(), table.max(axis=1).sum())  # a group has one counterpart
    return bool(shared >= ALIKE * len(labels))
