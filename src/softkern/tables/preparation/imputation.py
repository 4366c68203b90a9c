"""Missing cells, from the rows that are nearest in what both rows have.

A mean of neighbors of which some are in another group lies between the groups, where nothing is,
and fills in the valley; so a cell is the mean of the five of nine values that lie closest together
(the shorth). Called by `softkern.tables.preparation.transformer`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from softkern._utils.typing import Array
from softkern.rows import priority_sample, row_slices
from softkern.tables.preparation.scaling import Scaling

__all__ = ["Neighbors"]

DONOR_ROWS = 1000  # rows that missing cells are filled in from
DONOR_CELLS = 50_000  # the same, for wide tables: a model's file stays small
NEIGHBORS = 9
AGREEING = 5  # of the neighbors' values, of which the mean is taken
FILLED_AT_ONCE = 4096  # rows, whose distances to all donors are in memory


@dataclass(frozen=True)
class Neighbors:
    """Missing cells from the rows that are nearest in the columns that both rows have.

    On the scale of `scaling`: of the nine nearest of up to 1,000 rows of the table that have the
    cell, the mean of the five values that lie closest together. Where no such row has a column in
    common, the column's median over them.

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.tables.preparation import recognize
    >>> X = np.repeat([[0.0, 1.0], [9.0, 5.0]], 20, axis=0) + np.arange(40)[:, None] / 1000
    >>> neighbors = Neighbors.fit(X, Scaling.fit(X, recognize(X)))
    >>> neighbors.fill(np.array([[0.0, np.nan], [np.nan, 5.0]])).round()
    array([[0., 1.],
           [9., 5.]])
    """

    scaling: Scaling
    donors: tuple[tuple[float | None, ...], ...]  # scaled; None where missing, as JSON has it

    @classmethod
    def fit(cls, X: Array, scaling: Scaling) -> Neighbors:
        """Keep a bounded sample of a table's rows, which does not depend on their order."""
        rows = X[~np.isnan(X).all(axis=1)]
        most = max(NEIGHBORS, min(DONOR_ROWS, DONOR_CELLS // X.shape[1]))
        whole = rows[~np.isnan(rows).any(axis=1)]
        if len(whole) >= most:  # the more of its cells a row has, the more it can give
            rows = whole
        scaled = scaling.forward(rows)
        # the sample looks at numbers only: a missing cell is its column's median there
        index, _ = priority_sample(np.where(np.isnan(scaled), 0.0, scaled), most)
        donors = scaled[index].astype(object)
        donors[np.isnan(scaled[index])] = None
        return cls(scaling, tuple(map(tuple, donors.tolist())))

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Neighbors:
        """From what `dataclasses.asdict` made of it."""
        return cls(Scaling.from_dict(saved["scaling"]), tuple(map(tuple, saved["donors"])))

    def fill(self, X: Array) -> Array:
        """The table in its own units, (n, d), with its missing cells filled in."""
        from sklearn.metrics.pairwise import nan_euclidean_distances

        is_missing = np.isnan(X)
        rows = np.flatnonzero(is_missing.any(axis=1))
        if rows.size == 0:
            return X
        donors = np.array(self.donors, dtype=np.float64)
        filled = X.copy()
        for block in row_slices(rows.size, FILLED_AT_ONCE):
            some = rows[block]
            scaled = self.scaling.forward(X[some])
            distances = nan_euclidean_distances(scaled, donors)  # NaN: no column in common
            for j in np.flatnonzero(is_missing[some].any(axis=0)).tolist():
                lack = is_missing[some, j]
                scaled[lack, j] = _agreed(distances[lack], donors[:, j])
            filled[some] = np.where(is_missing[some], self.scaling.backward(scaled), X[some])
        return filled


def _agreed(distances: Array, values: Array) -> Array:
    """What the nearest rows that have a value agree on, (m,), by distances to all rows, (m, n)."""
    there = np.flatnonzero(~np.isnan(values))
    if there.size == 0:
        return np.zeros(len(distances))
    distances, values = distances[:, there], values[there]
    is_alone = np.isnan(distances).all(axis=1)
    nearest = values[np.newaxis].repeat(len(distances), axis=0)
    if there.size > NEIGHBORS:
        order = np.argpartition(np.nan_to_num(distances, nan=np.inf), NEIGHBORS - 1, axis=1)
        nearest = values[order[:, :NEIGHBORS]]
    nearest = np.sort(nearest, axis=1)
    agreeing = min(AGREEING, nearest.shape[1] // 2 + 1)
    reach = nearest[:, agreeing - 1 :] - nearest[:, : nearest.shape[1] - agreeing + 1]
    first = np.argmin(reach, axis=1)[:, np.newaxis]
    agreed = np.take_along_axis(nearest, first + np.arange(agreeing), axis=1).mean(axis=1)
    return np.where(is_alone, np.median(values), agreed)
