"""Compare the clusters, samples and outliers of two results.

The one-to-one assignment with the largest total overlap pairs clusters. In addition, a cluster that
received most samples of several clusters is their merger, and a cluster whose samples make up most
of several new clusters was split.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score

from softkern._utils.typing import Array

Key = Literal["id", "row"]
KINDS = {"row": "Int64", "label": "Int64", "membership": "Float64"}
KINDS |= {"is_outlier": "boolean", "outlier_score": "Float64"}
COMPARED_COLUMNS = tuple(KINDS)[1:]
CHANGES = {  # counts of the comparison, and their names in its rows
    "moved": "moved",
    "outliers_new": "now an outlier",
    "outliers_gone": "no longer an outlier",
    "added": "added",
    "removed": "removed",
}
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


@dataclass(frozen=True)
class PointsComparison:
    """Differences between two results, which `compare_points` describes."""

    key: Key | None
    match: ClusterMatch
    sizes_before: dict[int, int]
    sizes_after: dict[int, int]
    shared: int
    moved: int
    added: int
    removed: int
    outliers_before: int
    outliers_after: int
    outliers_new: int
    outliers_gone: int
    adjusted_rand_index: float | None
    rows: pd.DataFrame
    is_same_model: bool = False

    @property
    def is_same(self) -> bool:
        """Whether nothing changed except the numbering of the clusters."""
        match = self.match
        changed = match.merged or match.split or match.gone or match.new
        return bool(self.shared) and len(self.rows) == 0 and not changed

    @property
    def outliers_added(self) -> int:
        """Number of outliers among the added rows."""
        return int(self.rows.loc[self.rows["change"] == "added", "is_outlier_after"].sum())

    @property
    def largest_move(self) -> tuple[int, int, int]:
        """Number of rows in the largest move between two clusters, with both labels."""
        moves = [
            (rows, *labels)
            for labels, rows in self.match.overlap.items()
            if self.shared and not self.match.is_same(*labels)
        ]
        return max(moves, key=lambda move: move[0], default=(0, -1, -1))


def compare_points(
    before: pd.DataFrame,
    after: pd.DataFrame,
    *,
    key: Key | None = "row",
    labels_by_old_model: Any = None,
    is_same_model: bool = False,
) -> PointsComparison:
    """Compare two tables of per-row results.

    Parameters
    ----------
    before, after : DataFrame
        Points tables of `softkern analyze`: ``row``, optionally ``id``, ``label``, ``membership``,
        ``is_outlier``, ``outlier_score``. Other columns are ignored.
    key : {"id", "row"} or None, default="row"
        Column that identifies rows in both tables, or None if they share no rows. Rows whose key
        is not unique are left out.
    labels_by_old_model : array of int, default=None
        Labels that the first model assigns to the rows of the second table. Clusters are matched
        by them if no rows are shared.
    is_same_model : bool, default=False
        Whether one model produced both results, so that equal numbers are equal clusters.

    Returns
    -------
    comparison : PointsComparison
        The differences. The label −1 is no cluster.

        match
            Correspondence of the clusters: ``pairs``, ``merged``, ``split``, ``gone``, ``new``.
        sizes_before, sizes_after
            Number of rows of each cluster.
        shared, added, removed
            Number of rows in both results, in the second only, and in the first only.
        moved
            Number of shared rows in another cluster. Rows that follow a merged or split cluster
            have not moved.
        outliers_before, outliers_after, outliers_new, outliers_gone
            Number of outliers, and of shared rows that are outliers in one result only.
        adjusted_rand_index
            Agreement of the clusters: 1 is identical, 0 is chance. None if it is unknown.
        rows
            The rows with a change, the largest changes first.
        is_same
            Whether nothing changed except the numbering of the clusters.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"row": range(1, 9), "label": [0, 0, 0, 0, 1, 1, 2, 2]})
    >>> before = before.assign(membership=1.0, is_outlier=False, outlier_score=0.0)
    >>> comparison = compare_points(before, before.assign(label=[0, 0, 0, 1, 1, 1, 1, 1]))
    >>> comparison.moved, comparison.match.merged
    (1, {1: [1, 2]})
    """
    table = _align(before, after, key)
    is_added, is_removed = (table[f"row_{when}"].isna() for when in ("before", "after"))
    shared = table[~(is_added | is_removed)]
    old, new = (shared[f"label_{when}"].to_numpy(np.int64) for when in ("before", "after"))
    is_comparable = len(shared) > 0
    if not is_comparable and labels_by_old_model is not None:
        old, new = np.asarray(labels_by_old_model, np.int64), after["label"].to_numpy(np.int64)
        is_comparable = len(after) > 0 and not is_same_model
    labels = (points["label"].astype(int).tolist() for points in (before, after))
    sizes = [dict(sorted(Counter(one).items())) for one in labels]
    first, second = ([label for label in size if label >= 0] for size in sizes)
    match = match_clusters(old, new, (first, second))
    if is_same_model:
        pairs = {label: label for label in first if label in second}
        gone, added = ([k for k in labels if k not in pairs] for labels in (first, second))
        match = ClusterMatch(match.overlap, pairs, gone=gone, new=added)
    has_moved = np.zeros(len(table), dtype=bool)
    if len(shared):
        has_moved[shared.index] = ~match.has_stayed(old, new)
    flags = table["is_outlier_before"], table["is_outlier_after"]
    is_new, is_gone = ((one & ~other).fillna(False) for one, other in (flags[::-1], flags))
    masks = (has_moved, is_new, is_gone, is_added, is_removed)
    changes = np.column_stack([np.asarray(mask, dtype=bool) for mask in masks])  # (n, 5)
    return PointsComparison(
        key=key,
        match=match,
        sizes_before=sizes[0],
        sizes_after=sizes[1],
        shared=len(shared),
        outliers_before=int(before["is_outlier"].sum()),
        outliers_after=int(after["is_outlier"].sum()),
        adjusted_rand_index=float(adjusted_rand_score(old, new)) if is_comparable else None,
        rows=_changed_rows(table, changes),
        is_same_model=is_same_model,
        **dict(zip(CHANGES, changes.sum(axis=0).tolist(), strict=True)),
    )


def _align(before: pd.DataFrame, after: pd.DataFrame, key: Key | None) -> pd.DataFrame:
    """Return the compared columns of both tables, such as ``label_before``, one row per key.

    Rows whose key is not unique are left out, without a key all rows.
    """
    sides = []
    for points, when in ((before, "before"), (after, "after")):
        kinds = KINDS | ({"id": "object"} if "id" in points else {})
        side = points[list(kinds)].astype(kinds).add_suffix(f"_{when}")
        side.index = pd.Index(points[key or "row"].to_numpy(dtype=object))
        sides.append(side[~side.index.duplicated(keep=False)] if key else side[:0])
    table = pd.concat(sides, axis=1)
    ids = [table.pop(name) for name in ("id_before", "id_after") if name in table]
    if ids:
        table["id"] = ids[0].where(ids[0].notna(), ids[-1])
    return table.reset_index(drop=True)


def _changed_rows(table: pd.DataFrame, changes: Array) -> pd.DataFrame:
    """Return the rows with a change, (n, 5).

    Those that moved come first, the clearest (high memberships on both sides) before others, then
    those with another outlier flag, added and removed rows, all by the change of their score.
    """
    names = np.array([*CHANGES.values()])
    change = [", ".join(names[is_changed]) for is_changed in changes]
    has_moved, *_, is_added, is_removed = changes.T
    group = np.select([has_moved, is_added, is_removed], [0, 2, 3], 1)
    old, new = (table[f"outlier_score_{when}"].fillna(0) for when in ("before", "after"))
    clarity = (table["membership_before"] * table["membership_after"]).fillna(0)
    order = np.lexsort([-np.abs(new - old), -np.where(has_moved, clarity, 0), group])
    columns = ["change", "row_before", "row_after", *(["id"] if "id" in table else [])]
    columns += [f"{name}_{when}" for name in COMPARED_COLUMNS for when in ("before", "after")]
    rows = table.assign(change=change).iloc[[place for place in order if change[place]]]
    return rows.reset_index(drop=True)[columns]


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
