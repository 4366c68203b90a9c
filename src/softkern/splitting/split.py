"""Split a table into clusters that are separated by density gaps.

::

    split(X)
      _split(X)
        propose:  k-means with 8, 4, 3 and 2 clusters, cuts along single directions
        for each proposal:
          fit a mixture of normal clusters with one covariance
          until every two clusters are separated, or one is left:
            test the gap between every two, on rows that did not place the line between them
            gaps that are not clear: again, with clusters found without the tested rows
            halves of a curve are not separated
            merge the closest two clusters that are not separated
        take the proposal with most clusters, then with the deepest gaps
        none is left      -> one cluster
        otherwise         -> _split each cluster
      merge clusters of different branches that hardly have a gap
      number clusters by size

Lines and clusters that are found without the tested rows do not follow their noise, so that no
number of columns makes a gap by chance. Called by the models that choose a number of clusters.
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
from softkern.splitting.gap_test import gap_depth
from softkern.splitting.mixture import TiedMixture, fit_mixture
from softkern.splitting.proposals import k_means, propose, propose_pairs
from softkern.splitting.settings import SPLITTING

__all__ = ["separations", "split", "split_into"]


def split(X: Array, seed: int = 0, min_cluster: int = SPLITTING.min_cluster) -> NDArray[np.intp]:
    """Return the cluster of every row, (n,), the largest first; all 0 if nothing splits.

    Parameters
    ----------
    X : array of shape (n, d)
        Observations with continuous columns; see `splitting.observations`.
    seed : int, default=0
        Random seed of proposals and folds.
    min_cluster : int, default=8
        Smallest number of rows of a cluster.
    """
    with one_thread():  # many small products, in which threads would wait for each other
        return _by_size(_merge_close(X, _split(X, seed, min_cluster), seed))


def split_into(X: Array, count: int, seed: int = 0) -> NDArray[np.intp]:
    """Return a given number of clusters, (n,), whether or not gaps separate them.

    Parameters
    ----------
    X : array of shape (n, d)
    count : int
        Number of clusters; fewer if there are fewer distinct rows.
    seed : int, default=0
    """
    if count == 1:
        return np.zeros(len(X), dtype=np.intp)
    labels = split(X, seed)
    if labels.max() + 1 == count or X.shape[1] == 0:
        return labels
    Z = _scaled(X)
    labels = k_means(Z, count, seed)
    mixture = fit_mixture(Z, labels) if labels.max() > 0 else None
    return _by_size(labels if mixture is None or mixture.count < count else mixture.labels)


def separations(X: Array, labels: Array, seed: int = 0) -> Array:
    """Return depths of the gaps between clusters in critical depths, (c, c), ∞ on the diagonal.

    Parameters
    ----------
    X : array of shape (n, d)
        Observations.
    labels : array of shape (n,)
        Whole numbers from 0.
    seed : int, default=0
    """
    Z = _scaled(X)
    mixture = fit_mixture(Z, labels, 1)
    count = int(labels.max()) + 1
    if mixture is None or mixture.count < count:
        return np.where(np.eye(count, dtype=bool), np.inf, 0.0)
    return _depths(Z, mixture, seed, SPLITTING.min_cluster) / SPLITTING.critical_depth


def _split(X: Array, seed: int, min_cluster: int) -> NDArray[np.intp]:
    """Split recursively; labels of different branches differ."""
    labels = np.zeros(len(X), dtype=np.intp)
    proposal = _best_proposal(X, seed, min_cluster)
    if proposal is None:
        return labels
    count = 0
    for cluster in range(proposal.count):
        inside = proposal.labels == cluster
        parts = _split(X[inside], seed, min_cluster)
        labels[inside] = parts + count
        count += int(parts.max()) + 1
    return labels


def _merge_close(X: Array, labels: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    """Merge clusters with hardly a gap between them, which an earlier cut has separated."""
    threshold = SPLITTING.merge_below * SPLITTING.critical_depth
    depths: dict[tuple[int, int], float] = {}
    while True:
        names = np.unique(labels).tolist()
        if len(names) <= 2:
            return labels
        for pair in combinations(names, 2):
            if pair not in depths:
                both = np.isin(labels, pair)
                depths[pair] = _depth_of_pair(X[both], labels[both] == pair[1], threshold, seed)
        if min(depths.values()) > threshold:
            return labels
        i, j = min(depths, key=lambda pair: depths[pair])
        labels = np.where(labels == j, i, labels)
        depths = {pair: value for pair, value in depths.items() if not {i, j} & set(pair)}


def _depth_of_pair(X: Array, is_second: Array, enough: float, seed: int) -> float:
    """Depth of the gap between two clusters, without the rows of others."""
    Z = _scaled(X)
    mixture = fit_mixture(Z, is_second.astype(np.intp), SPLITTING.fold_steps)
    if mixture is None or mixture.count < 2:
        return 0.0
    return float(_depths(Z, mixture, seed, SPLITTING.min_cluster, enough).min())


@dataclass(frozen=True)
class Proposal:
    """Separated clusters and the depth of the shallowest gap between two of them."""

    labels: NDArray[np.intp]
    depth: float

    @property
    def count(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1


def _best_proposal(X: Array, seed: int, min_cluster: int) -> Proposal | None:
    """The proposal with most separated clusters, then with the deepest gaps."""
    if len(X) < max(SPLITTING.min_rows, 2 * min_cluster):
        return None
    Z = _scaled(X)
    if Z.shape[1] == 0:
        return None
    tested: list[Array] = []
    pairs = CrossFittedPairs(Z, seed)
    proposals = [
        _merge_until_separated(Z, fit_mixture(Z, labels), tested, pairs, seed, min_cluster)
        for labels in propose(Z, seed)
    ]
    separated = [proposal for proposal in proposals if proposal is not None]
    return max(separated, key=lambda proposal: (proposal.count, proposal.depth), default=None)


def _merge_until_separated(
    Z: Array,
    mixture: TiedMixture | None,
    tested: list[Array],
    pairs: CrossFittedPairs,
    seed: int,
    min_cluster: int,
) -> Proposal | None:
    """Merge the mixture's clusters until all are separated; None if one is left.

    Partitions in `tested` are not tested again: their outcome is known.
    """
    critical = SPLITTING.critical_depth
    while mixture is not None and mixture.count > 1:
        if any(_is_same(mixture.labels, other) for other in tested):
            return None
        tested.append(mixture.labels)
        depths = _depths(Z, mixture, seed, min_cluster)
        _confirm(mixture, depths, pairs)
        if depths.min() > critical:
            return Proposal(mixture.labels, float(depths.min()))
        if mixture.count == 2:
            return None
        # the closest clusters that are not separated; the others may separate without them
        distances = np.where(depths <= critical, mixture.distances, np.inf)
        i, j = np.unravel_index(np.argmin(distances), distances.shape)
        labels = np.where(mixture.labels == j, i, mixture.labels)
        mixture = fit_mixture(Z, np.unique(labels, return_inverse=True)[1])
    return None


def _depths(
    Z: Array,
    mixture: TiedMixture,
    seed: int,
    min_cluster: int,
    enough: float | None = None,
) -> Array:
    """Depths of the gaps between all pairs of clusters, (c, c), ∞ on the diagonal.

    Lines between clusters are found without the tested rows. This is skipped if a gap is less
    than `enough` (default: the critical depth) already on the lines of all rows, which overestimate
    it.
    """
    pairs = list(combinations(range(mixture.count), 2))
    positions = _positions(mixture, mixture.mapped(Z), pairs)
    depths = _depths_on(positions, mixture.labels, pairs, mixture.count, min_cluster)
    if depths.min() <= (SPLITTING.critical_depth if enough is None else enough):
        return depths
    labels = np.empty(len(Z), dtype=np.intp)
    for inside, outside in _folds(len(Z), seed):
        other = fit_mixture(Z[outside], mixture.labels[outside], SPLITTING.fold_steps)
        if other is None or other.count < mixture.count:
            return np.where(np.isinf(depths), np.inf, 0.0)
        mapped = other.mapped(Z[inside])
        labels[inside] = other.assign(mapped)
        positions[inside] = _positions(other, mapped, pairs)
    depths = _depths_on(positions, labels, pairs, mixture.count, min_cluster)
    for i, j in pairs:
        if depths[i, j] > SPLITTING.critical_depth and _is_same_curve(Z, mixture, i, j):
            depths[i, j] = depths[j, i] = 0.0
    return depths


def _positions(mixture: TiedMixture, mapped: Array, pairs: list[tuple[int, int]]) -> Array:
    """Positions of mapped points on the lines between pairs of clusters, (n, pairs)."""
    return np.stack([mixture.between(mapped, i, j) for i, j in pairs], axis=1)


def _depths_on(
    positions: Array, labels: Array, pairs: list[tuple[int, int]], count: int, min_cluster: int
) -> Array:
    """Depths of gaps, (c, c), from positions on the lines between clusters, (n, pairs)."""
    depths = np.full((count, count), np.inf)
    is_large = np.bincount(labels, minlength=count) >= min_cluster
    for (i, j), column in zip(pairs, positions.T, strict=True):
        both = (labels == i) | (labels == j)
        is_testable = is_large[i] and is_large[j]
        depth = gap_depth(column[both], labels[both] == i) if is_testable else 0.0
        depths[i, j] = depths[j, i] = depth
    return depths


def _is_same_curve(Z: Array, mixture: TiedMixture, i: int, j: int) -> bool:
    """Whether two of the mixture's clusters are the halves of a curve."""
    both = (mixture.labels == i) | (mixture.labels == j)
    way = mixture.centers[i] - mixture.centers[j]
    return is_curved(mixture.mapped(Z[both]), way, mixture.labels[both] == i)


def _confirm(mixture: TiedMixture, depths: Array, pairs: CrossFittedPairs) -> None:
    """Test gaps that are not clear again, in place, as long as all clusters seem separated."""
    critical = SPLITTING.critical_depth
    order = np.argsort(depths, axis=None)[::2]  # every pair is there twice
    for i, j in zip(*np.unravel_index(order, depths.shape), strict=True):
        is_unclear = critical < depths[i, j] < SPLITTING.accept_above * critical
        if not is_unclear or depths.min() <= critical:
            return
        both = (mixture.labels == i) | (mixture.labels == j)
        again = _mean_depth(partial(pairs.depth, both, mixture.labels == i))
        depths[i, j] = depths[j, i] = min(depths[i, j], again)


def _mean_depth(depth_of: Callable[[int], float]) -> float:
    """Mean over divisions into folds, as many as separate it from the critical depth."""
    least, most = SPLITTING.cross_fits
    depths = [depth_of(k) for k in range(least)]
    while len(depths) < most:
        error = float(np.std(depths, ddof=1)) / np.sqrt(len(depths))
        difference = abs(float(np.mean(depths)) - SPLITTING.critical_depth)
        if difference > SPLITTING.clear_errors * error:
            break
        depths.append(depth_of(len(depths)))
    return float(np.mean(depths))


class CrossFittedPairs:
    """Pairs of clusters that are found without the rows on which they are tested.

    Mixtures of the same rows are the same whichever clusters they are compared with, and are
    fitted once.
    """

    def __init__(self, Z: Array, seed: int) -> None:
        self._Z = Z
        self._seed = seed
        self._fitted: dict[tuple[bytes, int], list[list[TiedMixture]]] = {}

    def depth(self, both: Array, above: Array, division: int) -> float:
        """Depth of the gap between the two clusters most like the given ones, of rows `both`."""
        seed = self._seed + division
        Z, is_above = self._Z[both], above[both]
        positions, found_above = np.empty(len(Z)), np.zeros(len(Z), dtype=bool)
        folds = zip(_folds(len(Z), seed), self._mixtures(both, seed), strict=True)
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
            positions[inside] = mixture.between(mapped, first, 1 - first)
            found_above[inside] = mixture.assign(mapped) == first
        return gap_depth(positions, found_above)

    def _mixtures(self, both: Array, seed: int) -> list[list[TiedMixture]]:
        """Mixtures of two clusters without each fold."""
        key = (both.tobytes(), seed)
        if key not in self._fitted:
            Z = self._Z[both]
            self._fitted[key] = [
                [
                    mixture
                    for labels in propose_pairs(Z[outside], seed)
                    if (mixture := fit_mixture(Z[outside], labels)) and mixture.count == 2
                ]
                for _, outside in _folds(len(Z), seed)
            ]
        return self._fitted[key]


def _folds(n: int, seed: int) -> Iterator[tuple[Array, Array]]:
    """Yield the rows of each fold and all others, both as masks (n,)."""
    fold = np.random.default_rng(seed).permutation(n) % SPLITTING.folds
    for k in range(SPLITTING.folds):
        yield fold == k, fold != k


def _scaled(X: Array) -> Array:
    """Center and scale the columns that vary, and shorten rows far from all others."""
    low, middle, high = np.quantile(X, [0.16, 0.5, 0.84], axis=0)
    deviation = X.std(axis=0)
    spread = np.where(high - low > 0.4 * deviation, (high - low) / 2, deviation)
    varies = spread > 0
    Z = (X[:, varies] - middle[varies]) / spread[varies]
    length = np.linalg.norm(Z, axis=1)
    most = SPLITTING.far_rows * np.median(length)
    return np.asarray(Z * np.minimum(1, most / np.maximum(length, 1e-300))[:, None])


def _by_size(labels: Array) -> NDArray[np.intp]:
    """Number clusters by decreasing size, equal ones by their first row."""
    _, first, place, counts = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    return np.argsort(order_by_mass(counts, -first))[place]


def _is_same(labels: Array, other: Array) -> bool:
    """Whether two partitions are the same but for a few rows."""
    if labels.max() != other.max():
        return False
    count = int(labels.max()) + 1
    table = np.bincount(labels * count + other, minlength=count**2).reshape(count, count)
    shared = min(table.max(axis=0).sum(), table.max(axis=1).sum())  # one counterpart per cluster
    return bool(shared >= SPLITTING.same_partition * len(labels))
