"""What became of clusters, rows and outliers between two results.

Called by `softkern compare`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from softkern._utils.text import plural
from softkern.tables.compare.clusters import ClusterMatch, match_clusters

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TOLD", "By", "PointsComparison", "compare_points"]

By = Literal["id", "row"]
TOLD = ("label", "membership", "is_outlier", "outlier_score")  # of a row, before and after
FEWEST_TOLD = 5  # rows that moved together and are worth a word
MOST_TOLD = 6  # merged, split, gone and new clusters that the first sentence names


@dataclass(frozen=True)
class PointsComparison:
    """Two results side by side.

    Attributes
    ----------
    by : {"id", "row"} or None
        What tells that two rows are the same; None where no rows are shared.
    match : ClusterMatch
    sizes_before, sizes_after : dict
        Rows of every cluster; −1 is no cluster.
    shared : int
        Rows of both.
    moved : int
        Rows of both that are in another cluster; those of a cluster that became one with another
        or fell apart went with it.
    came, went : int
        Rows of one of the results only.
    outliers_before, outliers_after : int
    outliers_new, outliers_gone : int
        Rows of both that are outliers in one of them only.
    rand : float or None
        The adjusted Rand index: 1 is the same clusters, 0 is chance.
    rows : DataFrame
        Rows that moved, are outliers in one of the results only, came or went; the most changed
        first.
    is_same_model : bool
        Whether both are of one model.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"row": [1, 2, 3, 4], "label": [0, 0, 1, 1]})
    >>> before = before.assign(membership=1.0, is_outlier=False, outlier_score=0.0)
    >>> compare_points(before, before).is_same
    True
    """

    by: By | None
    match: ClusterMatch
    sizes_before: dict[int, int]
    sizes_after: dict[int, int]
    shared: int
    moved: int
    came: int
    went: int
    outliers_before: int
    outliers_after: int
    outliers_new: int
    outliers_gone: int
    rand: float | None
    rows: pd.DataFrame
    is_same_model: bool = False

    @property
    def is_same(self) -> bool:
        """Whether nothing changed, the numbers of the clusters aside."""
        match = self.match
        changed = match.merged or match.split or match.gone or match.new
        return bool(self.shared) and len(self.rows) == 0 and not changed

    def in_words(self) -> str:
        """What changed, in a sentence."""
        found = _number_of_clusters(self.sizes_after)
        if self.is_same:
            which = "the same cluster" if found == 1 else f"the same {plural(found, 'cluster')}"
            return f"{which}; none of {plural(self.shared, 'row')} moved."
        before = _number_of_clusters(self.sizes_before)
        clusters = f"{plural(found, 'cluster')} now, {before:,} before"
        happened = self._happened()
        said = [f"{clusters}: {happened}" if happened else clusters, *self._rows_in_words()]
        return "; ".join(said) + "."

    def _happened(self) -> str:
        match = self.match
        said = [
            f"clusters {_numbers(those)} became one, now {after}"
            for after, those in match.merged.items()
        ]
        said += [
            f"cluster {before} fell apart into {_numbers(those)}"
            for before, those in match.split.items()
        ]
        if match.gone and self.is_same_model:
            has = "has" if len(match.gone) == 1 else "have"
            said.append(f"{_those(match.gone)} {has} no rows now")
        elif match.gone:
            said.append(f"{_those(match.gone)} {'is' if len(match.gone) == 1 else 'are'} gone")
        if match.new:
            said.append(f"{_those(match.new)} {'is' if len(match.new) == 1 else 'are'} new")
        more = [f"and {len(said) - MOST_TOLD} changes more"] if len(said) > MOST_TOLD else []
        return ", ".join(said[:MOST_TOLD] + more)

    def _rows_in_words(self) -> list[str]:
        if self.by is None:
            shares = [
                f"{flagged:,} of {plural(sum(sizes.values()), 'row')}"
                for flagged, sizes in (
                    (self.outliers_before, self.sizes_before),
                    (self.outliers_after, self.sizes_after),
                )
            ]
            return [f"outliers were {shares[0]}, now {shares[1]}"]
        said = [f"{self.moved:,} of {plural(self.shared, 'row')} moved{self._most_moved()}"]
        if self.came or self.went:
            said.append(f"{plural(self.came, 'row')} came, {self.went:,} went")
        said += _be(self.outliers_new, "outlier", "new") if self.outliers_new else []
        said += _be(self.outliers_gone, "outlier", "none any more") if self.outliers_gone else []
        if self.came:
            flagged = int((self.rows["change"].eq("came") & _true(self.rows, "after")).sum())
            said += [f"{flagged:,} of those that came are outliers"] if flagged else []
        return said

    def _most_moved(self) -> str:
        """From where to where most rows moved, where that is more than a few."""
        flows = {
            ways: rows
            for ways, rows in self.match.overlap.items()
            if self.shared and not self.match.is_same(*ways)
        }
        way, most = max(flows.items(), key=lambda flow: flow[1], default=((-1, -1), 0))
        if most < FEWEST_TOLD:
            return ""
        names = ["no cluster" if label < 0 else f"cluster {label}" for label in way]
        return f", {most:,} of them from {names[0]} to {names[1]}"


def compare_points(
    before: pd.DataFrame,
    after: pd.DataFrame,
    *,
    by: By | None = "row",
    seen: Any = None,
    is_same_model: bool = False,
) -> PointsComparison:
    """Compare two tables of points.

    Parameters
    ----------
    before, after : DataFrame
        What `softkern analyze` writes for every row: ``row``, ``id`` where there is one, ``label``,
        ``membership``, ``is_outlier``, ``outlier_score``; other columns are ignored.
    by : {"id", "row"} or None, default="row"
        What tells that two rows are the same; None where no rows are shared. Identifiers that
        name several rows of a table tell nothing, and such rows are left out.
    seen : array of int, default=None
        Labels that the model of before gives to the rows of after, by which clusters are matched
        where no rows are shared.
    is_same_model : bool, default=False
        Whether both are of one model, so that clusters are known by their numbers.

    Returns
    -------
    comparison : PointsComparison

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"row": range(1, 9), "label": [0, 0, 0, 0, 1, 1, 2, 2]})
    >>> before = before.assign(membership=1.0, is_outlier=False, outlier_score=0.0)
    >>> after = before.assign(label=[0, 0, 0, 1, 1, 1, 1, 1])
    >>> compare_points(before, after).in_words()
    '2 clusters now, 3 before: clusters 1 and 2 became one, now 1; 1 of 8 rows moved.'
    """
    from sklearn.metrics import adjusted_rand_score

    first, second = (_known(points, by) for points in (before, after))
    pairs = first.index[first.index.isin(second.index)] if by else first.index[:0]
    old, new = first.loc[pairs], second.loc[pairs]
    labels = old["label"].to_numpy(), new["label"].to_numpy()
    if not len(pairs) and seen is not None:
        labels = np.asarray(seen, dtype=np.int64), after["label"].to_numpy(dtype=np.int64)
    numbers = _clusters(before), _clusters(after)
    match = _same_numbers(*labels, *numbers) if is_same_model else match_clusters(*labels, numbers)
    came = second.loc[~second.index.isin(pairs)] if by else second.iloc[:0]
    went = first.loc[~first.index.isin(pairs)] if by else first.iloc[:0]
    is_moved = ~match.follows(old["label"], new["label"])
    is_new = (new["is_outlier"] & ~old["is_outlier"]).to_numpy()
    is_gone = (old["is_outlier"] & ~new["is_outlier"]).to_numpy()
    is_known = len(labels[0]) > 0 and (len(pairs) > 0 or not is_same_model)
    return PointsComparison(
        by=by,
        match=match,
        sizes_before=_sizes(before),
        sizes_after=_sizes(after),
        shared=len(pairs),
        moved=int(is_moved.sum()),
        came=len(came),
        went=len(went),
        outliers_before=int(before["is_outlier"].sum()),
        outliers_after=int(after["is_outlier"].sum()),
        outliers_new=int(is_new.sum()),
        outliers_gone=int(is_gone.sum()),
        rand=float(adjusted_rand_score(*labels)) if is_known else None,
        is_same_model=is_same_model,
        rows=_changes(_stayed(old, new, is_moved, is_new, is_gone), came, went),
    )


def _known(points: pd.DataFrame, by: By | None) -> pd.DataFrame:
    """Points by what tells rows apart, without those of which that is not known."""
    kinds = dict(zip(TOLD, (np.int64, float, bool, float), strict=True))
    wanted = ["row", *(["id"] if "id" in points else []), *TOLD]
    keys = points[by or "row"].to_numpy(dtype=object)  # of whatever type the files have them
    known = points[wanted].astype(kinds).set_axis(keys)
    return known.loc[~known.index.duplicated(keep=False)]


def _clusters(points: pd.DataFrame) -> list[int]:
    return sorted(label for label in _sizes(points) if label >= 0)


def _sizes(points: pd.DataFrame) -> dict[int, int]:
    labels, counts = np.unique(points["label"].to_numpy(dtype=np.int64), return_counts=True)
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def _number_of_clusters(sizes: dict[int, int]) -> int:
    return sum(label >= 0 for label in sizes)


def _same_numbers(before: Any, after: Any, first: list[int], second: list[int]) -> ClusterMatch:
    """The match of clusters that have one and the same model."""
    overlap = match_clusters(before, after).overlap
    both = [label for label in first if label in second]
    gone, new = ([label for label in those if label not in both] for those in (first, second))
    return ClusterMatch(overlap, {label: label for label in both}, gone=gone, new=new)


def _side(points: pd.DataFrame, when: str) -> pd.DataFrame:
    """What is told of rows, named by when it was so."""
    kinds = ("Int64", "Int64", "Float64", "boolean", "Float64")
    told = points[["row", *TOLD]].astype(dict(zip(("row", *TOLD), kinds, strict=True)))
    named = told.add_suffix(f"_{when}")
    return named.assign(id=points["id"]) if "id" in points else named


def _stayed(
    old: pd.DataFrame, new: pd.DataFrame, is_moved: Any, is_new: Any, is_gone: Any
) -> pd.DataFrame:
    """The rows of both that changed; what was sure, and is sure of another, comes first."""
    import pandas as pd

    flag = np.select([is_new, is_gone], ["now an outlier", "no outlier any more"], "")
    change = [
        ", ".join(filter(None, ("moved" if moved else "", word)))
        for moved, word in zip(is_moved, flag, strict=True)
    ]
    after = _side(new, "after").drop(columns=["id"] if "id" in old and "id" in new else [])
    lines = pd.concat([_side(old, "before"), after], axis=1).assign(change=change)
    sure = (old["membership"] * new["membership"]).to_numpy()
    far = (new["outlier_score"] - old["outlier_score"]).abs().to_numpy()
    order = np.lexsort([-far, -np.where(is_moved, sure, 0), ~is_moved])
    return lines.iloc[[place for place in order if change[place]]]


def _changes(stayed: pd.DataFrame, came: pd.DataFrame, went: pd.DataFrame) -> pd.DataFrame:
    """The lines of all rows that changed, came or went."""
    import pandas as pd

    parts = [stayed]
    for points, when, what in ((came, "after", "came"), (went, "before", "went")):
        furthest = points.sort_values("outlier_score", ascending=False, kind="stable")
        parts.append(_side(furthest, when).assign(change=what))
    lines = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    names = ["change", "row_before", "row_after", *(["id"] if "id" in lines else [])]
    names += [f"{name}_{when}" for name in TOLD for when in ("before", "after")]
    return lines.reindex(columns=names)


def _true(rows: pd.DataFrame, when: str) -> pd.Series[Any]:
    return rows[f"is_outlier_{when}"].fillna(False).astype(bool)


def _be(number: int, noun: str, what: str) -> list[str]:
    return [f"{plural(number, noun)} {'is' if number == 1 else 'are'} {what}"]


def _those(labels: Sequence[int]) -> str:
    return f"cluster{'s' * (len(labels) > 1)} {_numbers(labels)}"


def _numbers(labels: Sequence[int]) -> str:
    words = [str(label) for label in labels]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
