"""Match the clusters of two results by the samples that they share.

The one-to-one assignment with the largest total overlap pairs clusters. In addition, a cluster that
received most samples of several clusters is their merger, and a cluster whose samples make up most
of several new clusters was split.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

MAJORITY = 0.5  # share of a cluster's samples above which the cluster counts as merged or split


@dataclass(frozen=True)
class ClusterMatch:
    """Correspondence between the labels of clusters before and after. −1 is no cluster."""

    overlap: dict[tuple[int, int], int]  # shared samples of each pair (before, after)
    pairs: dict[int, int]  # the new cluster of each old one
    merged: dict[int, list[int]] = field(default_factory=dict)  # several old ones by new one
    split: dict[int, list[int]] = field(default_factory=dict)  # several new ones by old one
    gone: list[int] = field(default_factory=list)  # old clusters without a counterpart
    new: list[int] = field(default_factory=list)  # new clusters without a counterpart

    def successors(self, before: int) -> list[int]:
        """Return the new clusters of an old one: several if it was split, none if it is gone."""
        into = [after for after, sources in self.merged.items() if before in sources]
        pair = [self.pairs[before]] if before in self.pairs else []
        return sorted({*into, *self.split.get(before, ()), *pair})

    def is_same(self, before: int, after: int) -> bool:
        """Return whether an old and a new cluster correspond."""
        return after in self.successors(before) if before >= 0 else after < 0

    def has_stayed(self, before: Any, after: Any) -> NDArray[np.bool_]:
        """Return for each sample whether it is still in its cluster, under any number."""
        return np.array([*map(self.is_same, before, after)], dtype=bool)

    def by_number(self, old: list[int], new: list[int]) -> ClusterMatch:
        """Return the correspondence of equal labels, for clusters of the same model."""
        pairs = {label: label for label in old if label in new}
        gone, added = ([label for label in labels if label not in pairs] for labels in (old, new))
        return ClusterMatch(self.overlap, pairs, gone=gone, new=added)


def match_clusters(
    before: Any, after: Any, clusters: tuple[Sequence[int], Sequence[int]] = ((), ())
) -> ClusterMatch:
    """Match the clusters of two labelings of the same samples, (n,).

    `clusters` are further ones, before and after, that none of these samples belongs to.
    """
    before, after = (np.asarray(labels, dtype=np.int64) for labels in (before, after))
    old, new = (
        sorted({*labels[labels >= 0].tolist(), *more})
        for labels, more in zip((before, after), clusters, strict=True)
    )
    overlap = dict(sorted(Counter(zip(before.tolist(), after.tolist(), strict=True)).items()))
    table = np.array([[overlap.get((b, a), 0) for a in new] for b in old])
    table = table.reshape(len(old), len(new))  # also without clusters
    # samples that are in no cluster on the other side count, too
    takes_most_of = table > MAJORITY * np.reshape([(before == b).sum() for b in old], (-1, 1))
    is_mostly_from = table > MAJORITY * np.reshape([(after == a).sum() for a in new], (1, -1))
    places = zip(*linear_sum_assignment(table, maximize=True), strict=True)
    match = ClusterMatch(
        overlap,
        {old[i]: new[j] for i, j in places if takes_most_of[i, j] or is_mostly_from[i, j]},
        _related_to_several(new, old, takes_most_of.T),
        _related_to_several(old, new, is_mostly_from),
    )
    matched = {a for b in old for a in match.successors(b)}
    match.gone.extend(b for b in old if not match.successors(b))
    match.new.extend(a for a in new if a not in matched)
    return match


def _related_to_several(
    labels: list[int], others: list[int], is_related: NDArray[np.bool_]
) -> dict[int, list[int]]:
    """Return the labels that are related to two or more others, with these."""
    related = {
        label: [others[k] for k in np.flatnonzero(is_related[i])] for i, label in enumerate(labels)
    }
    return {label: those for label, those in related.items() if len(those) > 1}
