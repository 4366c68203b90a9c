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
number of columns makes a gap by chance.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softkern._utils.progress import stage
from softkern._utils.random import child_seed
from softkern._utils.threads import one_thread
from softkern._utils.typing import Array
from softkern.rows import Rows, number_by_mass
from softkern.splitting.curvature import is_curved
from softkern.splitting.gap_test import gap_depth
from softkern.splitting.mixture import TiedMixture, fit_mixture
from softkern.splitting.observations import make_continuous
from softkern.splitting.proposals import k_means, propose, propose_pairs
from softkern.splitting.settings import SPLITTING


def split(X: Array, seed: int = 0, min_cluster: int = SPLITTING.min_cluster) -> NDArray[np.int64]:
    """Return the cluster of every row of continuous columns, (n,), the largest first."""
    with one_thread():  # many small products, in which threads would wait for each other
        labels = _merge_close(X, _split(X, seed, min_cluster), seed)
    # by decreasing size, equal ones by their first row
    return number_by_mass(labels, np.ones(len(X)), -np.arange(len(X)))


def split_into(X: Array, count: int, seed: int = 0) -> NDArray[np.int64]:
    """Return a given number of clusters, (n,), or as many as there are distinct rows."""
    labels = split(X, seed)
    if labels.max() + 1 == count or X.shape[1] == 0:
        return labels
    Z = _scaled(X)
    labels = k_means(Z, count, seed)
    mixture = fit_mixture(Z, labels) if labels.max() > 0 else None
    if mixture is not None and mixture.count == count:
        labels = mixture.labels
    return number_by_mass(labels, np.ones(len(X)), -np.arange(len(X)))


def estimate_n_clusters(rows: Rows, random_state: Any = 0) -> int:
    """Estimate the number of clusters with a density gap between any two, at least one.

    Rows without weight are left out. All others count once, as duplicates do: these lie close
    together, and would be clusters.
    """
    seed = child_seed(random_state)
    points = rows.X[rows.canonical[0]]  # in an order that depends on the values only
    if points.shape[0] > SPLITTING.max_rows:
        points = points[np.sort(Rows(points).sample(SPLITTING.max_rows, seed)[0])]
    points = points.toarray() if sp.issparse(points) else np.asarray(points)
    with stage("the number of clusters"):
        return 1 + int(split(make_continuous(points, seed), seed).max(initial=0))


def separations(
    X: Array, labels: Array, seed: int = 0, steps: int = 1, enough: float = 1.0
) -> Array:
    """Return depths of the gaps between clusters in critical depths, (c, c), ∞ on the diagonal.

    Depths below `enough` may be overestimated.
    """
    table = GapTests(X, seed)
    mixture = fit_mixture(table.Z, labels, steps)
    count = int(labels.max()) + 1
    if mixture is None or mixture.count < count:
        return np.where(np.eye(count, dtype=bool), np.inf, 0.0)
    critical = SPLITTING.critical_depth
    return table.depths(mixture, enough * critical) / critical


def _split(X: Array, seed: int, min_cluster: int) -> NDArray[np.intp]:
    """Split recursively; labels of different branches differ."""
    labels = np.zeros(len(X), dtype=np.intp)
    if len(X) < max(SPLITTING.min_rows, 2 * min_cluster):
        return labels
    proposal = GapTests(X, seed, min_cluster).best_proposal()
    if proposal is None:
        return labels
    count = 0
    for cluster in range(int(proposal.max()) + 1):
        inside = proposal == cluster
        parts = _split(X[inside], seed, min_cluster)
        labels[inside] = parts + count
        count += int(parts.max()) + 1
    return labels


def _merge_close(X: Array, labels: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    """Merge clusters with hardly a gap between them, which an earlier cut has separated."""
    threshold = SPLITTING.merge_below
    depths: dict[tuple[int, int], float] = {}
    while True:
        names = np.unique(labels).tolist()
        if len(names) <= 2:
            return labels
        for pair in combinations(names, 2):
            if pair not in depths:
                both = np.isin(labels, pair)
                is_second = (labels[both] == pair[1]).astype(np.intp)
                found = separations(X[both], is_second, seed, SPLITTING.fold_steps, threshold)
                depths[pair] = float(found.min())
        i, j = min(depths, key=depths.__getitem__)
        if depths[i, j] > threshold:
            return labels
        labels = np.where(labels == j, i, labels)
        depths = {pair: value for pair, value in depths.items() if not {i, j} & set(pair)}


class GapTests:
    """Tests of proposed clusters of one table, whose scaled columns are `Z` (n, k).

    Partitions are tested once. Mixtures of a pair of clusters without each fold are fitted once,
    whichever clusters they are compared with.
    """

    def __init__(self, X: Array, seed: int, min_cluster: int = SPLITTING.min_cluster) -> None:
        self.Z, self._seed, self._min_cluster = _scaled(X), seed, min_cluster
        self._tested: list[Array] = []
        self._pairs: dict[tuple[bytes, int], list[list[TiedMixture]]] = {}

    def best_proposal(self) -> NDArray[np.intp] | None:
        """The proposal with most separated clusters, then with the deepest gaps, (n,)."""
        best, labels = (1, 0.0), None
        for proposal in propose(self.Z, self._seed) if self.Z.shape[1] else ():
            mixture, depth = self._merge_until_separated(fit_mixture(self.Z, proposal))
            if mixture is not None and (mixture.count, depth) > best:
                best, labels = (mixture.count, depth), mixture.labels
        return labels

    def _merge_until_separated(
        self, mixture: TiedMixture | None
    ) -> tuple[TiedMixture | None, float]:
        """Merge clusters until all are separated; return them and the depth of the shallowest gap.

        None if one cluster is left, or if a partition was tested before.
        """
        critical = SPLITTING.critical_depth
        while mixture is not None and mixture.count > 1:
            for other in self._tested:
                if _is_same(mixture.labels, other):
                    return None, 0.0
            self._tested.append(mixture.labels)
            depths = self.depths(mixture, critical)
            self._confirm(mixture, depths)
            if depths.min() > critical:
                return mixture, float(depths.min())
            if mixture.count == 2:
                break
            # the closest clusters that are not separated; the others may separate without them
            gaps = np.linalg.norm(mixture.centers[:, None] - mixture.centers, axis=2)
            distances = np.where(depths <= critical, gaps, np.inf)
            i, j = np.unravel_index(np.argmin(distances), distances.shape)
            labels = np.where(mixture.labels == j, i, mixture.labels)
            mixture = fit_mixture(self.Z, np.unique(labels, return_inverse=True)[1])
        return None, 0.0

    def depths(self, mixture: TiedMixture, enough: float) -> Array:
        """Depths of the gaps between all pairs of clusters, (c, c), ∞ on the diagonal.

        Lines between clusters are found without the tested rows. This is skipped if a gap is less
        than `enough` already on the lines of all rows, which overestimate it.
        """
        count, mapped = mixture.count, self.Z @ mixture.whitening
        pairs = np.triu_indices(count, 1)
        positions = mixture.positions(mapped, *pairs)  # (n, pairs)
        depths = self._depths_on(positions, mixture.labels, count)
        if depths.min() <= enough:
            return depths
        labels = np.empty(len(mapped), dtype=np.intp)
        fold = _folds(len(mapped), self._seed)
        for k in range(SPLITTING.folds):
            inside = fold == k
            other = fit_mixture(self.Z[~inside], mixture.labels[~inside], SPLITTING.fold_steps)
            if other is None or other.count < count:
                return np.where(np.isinf(depths), np.inf, 0.0)
            points = self.Z[inside] @ other.whitening
            labels[inside] = np.argmax(other.log_ratios(points), axis=1)
            positions[inside] = other.positions(points, *pairs)
        depths = self._depths_on(positions, labels, count)
        for i, j in zip(*pairs, strict=True):
            both = (mixture.labels == i) | (mixture.labels == j)
            way = mixture.centers[i] - mixture.centers[j]
            if depths[i, j] > SPLITTING.critical_depth and is_curved(
                mapped[both], way, mixture.labels[both] == i
            ):
                depths[i, j] = depths[j, i] = 0.0
        return depths

    def _depths_on(self, positions: Array, labels: Array, count: int) -> Array:
        """Depths of gaps, (c, c), from positions on the lines between clusters, (n, pairs)."""
        depths = np.full((count, count), np.inf)
        is_large = np.bincount(labels, minlength=count) >= self._min_cluster
        for i, j, column in zip(*np.triu_indices(count, 1), positions.T, strict=True):
            both = (labels == i) | (labels == j)
            is_testable = is_large[i] and is_large[j]
            depth = gap_depth(column[both], labels[both] == i) if is_testable else 0.0
            depths[i, j] = depths[j, i] = depth
        return depths

    def _confirm(self, mixture: TiedMixture, depths: Array) -> None:
        """Test gaps that are not clear again, in place, as long as all clusters seem separated.

        Their depth is the mean over divisions into folds, as many as separate it from the critical
        depth.
        """
        critical, (least, most) = SPLITTING.critical_depth, SPLITTING.cross_fits
        order = np.argsort(depths, axis=None)[::2]  # every pair is there twice
        for i, j in zip(*np.unravel_index(order, depths.shape), strict=True):
            is_unclear = critical < depths[i, j] < SPLITTING.accept_above * critical
            if not is_unclear or depths.min() <= critical:
                return
            both = (mixture.labels == i) | (mixture.labels == j)
            found: list[float] = []
            is_clear = False
            while len(found) < most and not is_clear:
                seed = self._seed + len(found)
                found.append(self._cross_fit(both, mixture.labels[both] == i, seed))
                if len(found) >= least:
                    error = np.std(found, ddof=1) / np.sqrt(len(found))
                    is_clear = abs(np.mean(found) - critical) > SPLITTING.clear_errors * error
            depths[i, j] = depths[j, i] = min(depths[i, j], np.mean(found))

    def _cross_fit(self, both: Array, is_above: Array, seed: int) -> float:
        """Depth of the gap between the two clusters most like the given ones, of rows `both`.

        Clusters are found without the rows on which they are tested.
        """
        Z, fold = self.Z[both], _folds(len(is_above), seed)
        key = (both.tobytes(), seed)
        if key not in self._pairs:
            self._pairs[key] = [_fit_pairs(Z[fold != k], seed) for k in range(SPLITTING.folds)]
        positions, found_above = np.empty(len(Z)), np.zeros(len(Z), dtype=bool)
        for k, mixtures in enumerate(self._pairs[key]):
            if not mixtures:
                return 0.0
            inside = fold == k
            same = np.array([(m.labels == is_above[~inside]).mean() for m in mixtures])
            best = int(np.argmax(np.maximum(same, 1 - same)))
            mixture, first = mixtures[best], int(same[best] > 0.5)
            points = Z[inside] @ mixture.whitening
            positions[inside] = mixture.positions(points, first, 1 - first)
            found_above[inside] = np.argmax(mixture.log_ratios(points), axis=1) == first
        return gap_depth(positions, found_above)


def _fit_pairs(Z: Array, seed: int) -> list[TiedMixture]:
    """Mixtures of two clusters."""
    mixtures = [fit_mixture(Z, labels) for labels in propose_pairs(Z, seed)]
    return [mixture for mixture in mixtures if mixture is not None and mixture.count == 2]


def _folds(n: int, seed: int) -> Array:
    """The number of the fold of every row, (n,)."""
    return np.random.default_rng(seed).permutation(n) % SPLITTING.folds


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


def _is_same(labels: Array, other: Array) -> bool:
    """Whether two partitions are the same but for a few rows."""
    if labels.max() != other.max():
        return False
    count = int(labels.max()) + 1
    table = np.bincount(labels * count + other, minlength=count**2).reshape(count, count)
    shared = min(table.max(axis=0).sum(), table.max(axis=1).sum())  # one counterpart per cluster
    return bool(shared >= SPLITTING.same_partition * len(labels))
