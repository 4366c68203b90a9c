"""Match the clusters of two results by the samples that they share.

The one-to-one assignment with the largest total overlap pairs clusters. In addition, a cluster that
received most samples of several clusters is their merger, and a cluster whose samples make up most
of several new clusters was split.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ClusterMatch", "match_clusters"]

MAJORITY = 0.5  # share of a cluster's samples above which the cluster counts as merged or split


@dataclass(frozen=True)
class ClusterMatch:
    """Correspondence between the clusters before and after.

    Attributes
    ----------
    overlap : dict
        Number of shared samples of each pair (before, after); −1 stands for no cluster.
    pairs : dict
        The new cluster that corresponds to each old one.
    merged : dict
        New clusters and the two or more old clusters merged into them.
    split : dict
        Old clusters and the two or more new clusters that they were split into.
    gone, new : list of int
        Clusters before and after without a counterpart.

    Examples
    --------
    >>> match = match_clusters([0, 0, 1, 1], [0, 0, 1, 2])
    >>> match.split, match.successors(1)
    ({1: [1, 2]}, [1, 2])
    """

    overlap: dict[tuple[int, int], int]
    pairs: dict[int, int]
    merged: dict[int, list[int]] = field(default_factory=dict)
    split: dict[int, list[int]] = field(default_factory=dict)
    gone: list[int] = field(default_factory=list)
    new: list[int] = field(default_factory=list)

    def has_stayed(self, before: Any, after: Any) -> NDArray[np.bool_]:
        """Return for each sample whether it is still in its cluster, whatever the number."""
        return np.array(
            [self.is_same(b, a) for b, a in zip(before, after, strict=True)], dtype=bool
        )

    def is_same(self, before: int, after: int) -> bool:
        """Return whether an old and a new cluster correspond; −1 is no cluster."""
        if before < 0 or after < 0:
            return before < 0 and after < 0
        return after in self.successors(before)

    def successors(self, before: int) -> list[int]:
        """Return the new clusters of an old one: several if it was split, none if it is gone."""
        into = [after for after, sources in self.merged.items() if before in sources]
        successors = {*into, *self.split.get(before, ()), self.pairs.get(before, -1)}
        return sorted(successors - {-1})


def match_clusters(before: Any, after: Any, clusters: tuple[Any, Any] = ((), ())) -> ClusterMatch:
    """Match the clusters of two labelings of the same samples.

    Parameters
    ----------
    before, after : array of int of shape (n_samples,)
        Labels; −1 is no cluster.
    clusters : pair of sequences of int, default=((), ())
        Further clusters before and after that none of these samples belongs to.

    Returns
    -------
    match : ClusterMatch
        The correspondence.

    Examples
    --------
    >>> match = match_clusters([0, 0, 0, 1, 1, 2, 2], [1, 1, 1, 0, 0, 0, 0])
    >>> match.pairs, match.merged
    ({0: 1, 1: 0}, {0: [1, 2]})
    >>> match.has_stayed([0, 2, 2], [1, 0, 1])
    array([ True,  True, False])
    """
    from scipy.optimize import linear_sum_assignment

    before, after = (np.asarray(labels, dtype=np.int64) for labels in (before, after))
    old = sorted({*before[before >= 0].tolist(), *clusters[0]} - {-1})
    new = sorted({*after[after >= 0].tolist(), *clusters[1]} - {-1})
    overlap = _count_pairs(before, after)
    table = np.array([[overlap.get((b, a), 0) for a in new] for b in old])
    table = table.reshape(len(old), len(new))  # also without clusters
    # samples that are in no cluster on the other side count, too
    takes_most_of = table > MAJORITY * np.reshape([(before == b).sum() for b in old], (-1, 1))
    is_mostly_from = table > MAJORITY * np.reshape([(after == a).sum() for a in new], (1, -1))
    places = zip(*linear_sum_assignment(table, maximize=True), strict=True)
    match = ClusterMatch(
        overlap,
        {old[i]: new[j] for i, j in places if takes_most_of[i, j] or is_mostly_from[i, j]},
        _several(new, old, takes_most_of.T),
        _several(old, new, is_mostly_from),
    )
    matched = {a for b in old for a in match.successors(b)}
    match.gone.extend(b for b in old if not match.successors(b))
    match.new.extend(a for a in new if a not in matched)
    return match


def _several(labels: list[int], others: list[int], is_related: Any) -> dict[int, list[int]]:
    """Return the labels that are related to two or more others, with these."""
    related = {
        label: [others[k] for k in np.flatnonzero(is_related[i])] for i, label in enumerate(labels)
    }
    return {label: those for label, those in related.items() if len(those) > 1}


def _count_pairs(before: Any, after: Any) -> dict[tuple[int, int], int]:
    both, counts = np.unique(np.column_stack([before, after]), axis=0, return_counts=True)
    return {(int(b), int(a)): int(n) for (b, a), n in zip(both, counts, strict=True)}
