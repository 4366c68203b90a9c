"""Compare the clusters, samples and outliers of two results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from softkern.tables.compare.clusters import ClusterMatch, match_clusters

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COMPARED_COLUMNS", "Key", "PointsComparison", "compare_points"]

Key = Literal["id", "row"]
COMPARED_COLUMNS = ("label", "membership", "is_outlier", "outlier_score")


@dataclass(frozen=True)
class PointsComparison:
    """Differences between two results.

    Attributes
    ----------
    key : {"id", "row"} or None
        Column that identifies rows in both results; None if they share no rows.
    match : ClusterMatch
        Correspondence of the clusters.
    sizes_before, sizes_after : dict
        Number of rows of each cluster; −1 is no cluster.
    shared : int
        Number of rows in both results.
    moved : int
        Shared rows in another cluster. Rows of a cluster that was merged or split and that went
        with it have not moved.
    added, removed : int
        Rows in the second and in the first result only.
    outliers_before, outliers_after : int
        Number of outliers.
    outliers_new, outliers_gone : int
        Shared rows that are outliers in one result only.
    adjusted_rand_index : float or None
        Agreement of the clusters: 1 is identical, 0 is chance. None if it cannot be computed.
    rows : DataFrame
        Rows that moved, changed their outlier flag, were added or removed, the largest changes
        first.
    is_same_model : bool
        Whether one model produced both results.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"row": [1, 2, 3, 4], "label": [0, 0, 1, 1]})
    >>> before = before.assign(membership=1.0, is_outlier=False, outlier_score=0.0)
    >>> compare_points(before, before).is_same
    True
    """

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
        flags = self.rows.loc[self.rows["change"] == "added", "is_outlier_after"]
        return int(flags.astype(bool).sum())

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
        The differences.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"row": range(1, 9), "label": [0, 0, 0, 0, 1, 1, 2, 2]})
    >>> before = before.assign(membership=1.0, is_outlier=False, outlier_score=0.0)
    >>> after = before.assign(label=[0, 0, 0, 1, 1, 1, 1, 1])
    >>> comparison = compare_points(before, after)
    >>> comparison.moved, comparison.match.merged
    (1, {1: [1, 2]})
    """
    from sklearn.metrics import adjusted_rand_score

    first, second = (_index_by_key(points, key) for points in (before, after))
    pairs = first.index[first.index.isin(second.index)] if key else first.index[:0]
    old, new = first.loc[pairs], second.loc[pairs]
    labels = old["label"].to_numpy(), new["label"].to_numpy()
    if not len(pairs) and labels_by_old_model is not None:
        labels = np.asarray(labels_by_old_model, np.int64), after["label"].to_numpy(np.int64)
    sizes = _count_labels(before), _count_labels(after)
    clusters = [sorted(label for label in of if label >= 0) for of in sizes]
    match = match_clusters(*labels, (clusters[0], clusters[1]))
    if is_same_model:
        match = _match_by_number(match.overlap, *clusters)
    added = second.loc[~second.index.isin(pairs)] if key else second.iloc[:0]
    removed = first.loc[~first.index.isin(pairs)] if key else first.iloc[:0]
    is_moved = ~match.has_stayed(old["label"], new["label"])
    is_new = (new["is_outlier"] & ~old["is_outlier"]).to_numpy()
    is_gone = (old["is_outlier"] & ~new["is_outlier"]).to_numpy()
    is_comparable = len(labels[0]) > 0 and (len(pairs) > 0 or not is_same_model)
    return PointsComparison(
        key=key,
        match=match,
        sizes_before=sizes[0],
        sizes_after=sizes[1],
        shared=len(pairs),
        moved=int(is_moved.sum()),
        added=len(added),
        removed=len(removed),
        outliers_before=int(before["is_outlier"].sum()),
        outliers_after=int(after["is_outlier"].sum()),
        outliers_new=int(is_new.sum()),
        outliers_gone=int(is_gone.sum()),
        adjusted_rand_index=float(adjusted_rand_score(*labels)) if is_comparable else None,
        is_same_model=is_same_model,
        rows=_changes(_shared_changes(old, new, is_moved, is_new, is_gone), added, removed),
    )


def _index_by_key(points: pd.DataFrame, key: Key | None) -> pd.DataFrame:
    """Return the compared columns, indexed by the key, without rows whose key is not unique."""
    kinds = dict(zip(COMPARED_COLUMNS, (np.int64, float, bool, float), strict=True))
    columns = ["row", *(["id"] if "id" in points else []), *COMPARED_COLUMNS]
    keys = points[key or "row"].to_numpy(dtype=object)  # whatever type the files have
    indexed = points[columns].astype(kinds).set_axis(keys)
    return indexed.loc[~indexed.index.duplicated(keep=False)]


def _count_labels(points: pd.DataFrame) -> dict[int, int]:
    labels, counts = np.unique(points["label"].to_numpy(dtype=np.int64), return_counts=True)
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def _match_by_number(
    overlap: dict[tuple[int, int], int], before: list[int], after: list[int]
) -> ClusterMatch:
    both = [label for label in before if label in after]
    gone, new = ([label for label in labels if label not in both] for labels in (before, after))
    return ClusterMatch(overlap, {label: label for label in both}, gone=gone, new=new)


def _with_suffix(points: pd.DataFrame, when: str) -> pd.DataFrame:
    """Return the compared columns with nullable types and a suffix, such as ``label_before``."""
    columns = ("row", *COMPARED_COLUMNS)
    kinds = dict(zip(columns, ("Int64", "Int64", "Float64", "boolean", "Float64"), strict=True))
    renamed = points[list(columns)].astype(kinds).add_suffix(f"_{when}")
    return renamed.assign(id=points["id"]) if "id" in points else renamed


def _shared_changes(
    old: pd.DataFrame, new: pd.DataFrame, is_moved: Any, is_new: Any, is_gone: Any
) -> pd.DataFrame:
    """Return the shared rows that changed, clear moves (high memberships on both sides) first."""
    import pandas as pd

    flag = np.select([is_new, is_gone], ["now an outlier", "no longer an outlier"], "")
    change = [
        ", ".join(filter(None, ("moved" if moved else "", text)))
        for moved, text in zip(is_moved, flag, strict=True)
    ]
    after = _with_suffix(new, "after").drop(columns=["id"] if "id" in old and "id" in new else [])
    table = pd.concat([_with_suffix(old, "before"), after], axis=1).assign(change=change)
    clarity = (old["membership"] * new["membership"]).to_numpy()
    score_change = (new["outlier_score"] - old["outlier_score"]).abs().to_numpy()
    order = np.lexsort([-score_change, -np.where(is_moved, clarity, 0), ~is_moved])
    return table.iloc[[place for place in order if change[place]]]


def _changes(shared: pd.DataFrame, added: pd.DataFrame, removed: pd.DataFrame) -> pd.DataFrame:
    """Return all changed rows in one table."""
    import pandas as pd

    parts = [shared]
    for points, when, change in ((added, "after", "added"), (removed, "before", "removed")):
        ordered = points.sort_values("outlier_score", ascending=False, kind="stable")
        parts.append(_with_suffix(ordered, when).assign(change=change))
    table = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    columns = ["change", "row_before", "row_after", *(["id"] if "id" in table else [])]
    columns += [f"{name}_{when}" for name in COMPARED_COLUMNS for when in ("before", "after")]
    return table.reindex(columns=columns)
