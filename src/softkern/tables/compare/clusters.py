"""Which clusters of one result are those of another: by the rows that they share.

The assignment of the largest overlap in total pairs clusters one to one. Beside it, a cluster that
took most rows of several is what these became, and one whose rows make up most of several fell
apart. Called by `softkern.tables.compare.rows`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ClusterMatch", "match_clusters"]

MOST = 0.5  # share of a cluster's rows above which they speak for it


@dataclass(frozen=True)
class ClusterMatch:
    """Clusters of before and after, side by side.

    Attributes
    ----------
    overlap : dict
        (before, after) and how many rows they share; −1 is no cluster.
    pairs : dict
        Clusters of before that are one of after.
    merged : dict
        Clusters of after, and the two or more of before that became it.
    split : dict
        Clusters of before, and the two or more of after that it fell apart into.
    gone, new : list of int
        Clusters of before and of after that have no counterpart.

    Examples
    --------
    >>> match = match_clusters([0, 0, 1, 1], [0, 0, 1, 2])
    >>> match.split, match.after_of(1)
    ({1: [1, 2]}, [1, 2])
    """

    overlap: dict[tuple[int, int], int]
    pairs: dict[int, int]
    merged: dict[int, list[int]] = field(default_factory=dict)
    split: dict[int, list[int]] = field(default_factory=dict)
    gone: list[int] = field(default_factory=list)
    new: list[int] = field(default_factory=list)

    def follows(self, before: Any, after: Any) -> NDArray[np.bool_]:
        """Whether rows of these labels stayed where their cluster is, whatever its number."""
        return np.array(
            [self.is_same(b, a) for b, a in zip(before, after, strict=True)], dtype=bool
        )

    def is_same(self, before: int, after: int) -> bool:
        """Whether two clusters are one, or parts of one; −1 is no cluster."""
        if before < 0 or after < 0:
            return before < 0 and after < 0
        return (
            self.pairs.get(before) == after
            or before in self.merged.get(after, ())
            or after in self.split.get(before, ())
        )

    def after_of(self, before: int) -> list[int]:
        """What a cluster of before is now; several where it fell apart, none where it is gone."""
        into = [after for after, those in self.merged.items() if before in those]
        found = {*into, *self.split.get(before, ()), self.pairs.get(before, -1)}
        return sorted(found - {-1})


def match_clusters(before: Any, after: Any, clusters: tuple[Any, Any] = ((), ())) -> ClusterMatch:
    """Match the clusters of two labelings of the same rows.

    Parameters
    ----------
    before, after : array of int of shape (n,)
        Labels; −1 is no cluster.
    clusters : pair of sequences of int, default=((), ())
        Clusters of before and after that are there though none of these rows is in them.

    Returns
    -------
    match : ClusterMatch

    Examples
    --------
    >>> match = match_clusters([0, 0, 0, 1, 1, 2, 2], [1, 1, 1, 0, 0, 0, 0])
    >>> match.pairs, match.merged
    ({0: 1, 1: 0}, {0: [1, 2]})
    >>> match.follows([0, 2, 2], [1, 0, 1])
    array([ True,  True, False])
    """
    from scipy.optimize import linear_sum_assignment

    before, after = (np.asarray(labels, dtype=np.int64) for labels in (before, after))
    rows = sorted({*before[before >= 0].tolist(), *clusters[0]} - {-1})
    columns = sorted({*after[after >= 0].tolist(), *clusters[1]} - {-1})
    overlap = _overlap(before, after)
    table = np.array([[overlap.get((b, a), 0) for a in columns] for b in rows])
    table = table.reshape(len(rows), len(columns))  # also where there are none
    of_before = [int((before == b).sum()) for b in rows]  # rows in no cluster now count too
    of_after = [int((after == a).sum()) for a in columns]
    goes = table > MOST * np.reshape(of_before, (-1, 1))
    comes = table > MOST * np.reshape(of_after, (1, -1))
    places = zip(*linear_sum_assignment(table, maximize=True), strict=True)
    pairs = {rows[i]: columns[j] for i, j in places if goes[i, j] or comes[i, j]}
    merged = {
        a: [rows[i] for i in np.flatnonzero(goes[:, j])]
        for j, a in enumerate(columns)
        if goes[:, j].sum() > 1
    }
    split = {
        b: [columns[j] for j in np.flatnonzero(comes[i])]
        for i, b in enumerate(rows)
        if comes[i].sum() > 1
    }
    match = ClusterMatch(overlap, pairs, merged, split)
    matched = {a for b in rows for a in match.after_of(b)}
    match.gone.extend(b for b in rows if not match.after_of(b))
    match.new.extend(a for a in columns if a not in matched)
    return match


def _overlap(before: Any, after: Any) -> dict[tuple[int, int], int]:
    both, counts = np.unique(np.column_stack([before, after]), axis=0, return_counts=True)
    return {(int(b), int(a)): int(n) for (b, a), n in zip(both, counts, strict=True)}
