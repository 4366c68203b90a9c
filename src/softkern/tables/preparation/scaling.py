"""Scaling of columns, and imputation of missing cells from the rows that are nearest on that scale.

`sklearn.preprocessing.RobustScaler` divides by the quartile range, which is zero or arbitrary for
columns with few values. `robust_spread` is defined for these, so that yes and no are one spread
apart at any share (tests/tables/preparation/test_scaling.py).

A mean of neighbors from two clusters lies between the clusters, where there are no rows, and fills
the gap. So a cell is the mean of those five of nine values that lie closest together (the shorth).
`sklearn.impute.KNNImputer` takes the mean of all (tests/tables/cli/test_preparation.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from softkern._utils.typing import Array
from softkern.kernels.spread import robust_spread
from softkern.rows import Rows, row_slices, row_uniforms
from softkern.tables.preparation.skew import SignedLog

Logs: TypeAlias = Sequence[SignedLog | None]  # None for a column that is not skewed
DONOR_ROWS = 1000  # rows from which missing cells are imputed
DONOR_CELLS = 50_000  # the same for wide tables: model files stay small
NEIGHBORS = 9
AGREEING = 5  # neighbors whose values are averaged
BLOCK = 4096  # rows whose distances to all donors are in memory at once


@dataclass(frozen=True)
class ColumnScaler:
    """Scale columns to (x − center) / spread, skewed ones by their logarithm."""

    logs: tuple[SignedLog | None, ...]
    center: tuple[float, ...]
    spread: tuple[float, ...]

    @classmethod
    def fit(cls, X: Array, logs: Logs, how: str = "robust") -> ColumnScaler:
        """Learn from a table (n, d) whose missing cells are NaN.

        `how` is "robust", by median and `robust_spread`, or "standard", by mean and standard
        deviation.
        """
        unscaled = cls(tuple(logs), (0.0,) * len(logs), (1.0,) * len(logs))
        Z = unscaled.transform(X)
        unit = np.nanmax(np.abs(Z), axis=0)
        unit[~(unit > 0)] = 1.0
        Z /= unit  # squares of large values would overflow
        if how == "standard":
            center, spread = np.nanmean(Z, axis=0), np.nanstd(Z, axis=0)
        else:
            center, spread = np.nanmedian(Z, axis=0), np.ones(Z.shape[1])
            has_gaps = np.isnan(Z).any(axis=0)
            if not has_gaps.all():
                spread[~has_gaps] = robust_spread(Z[:, ~has_gaps])
            if has_gaps.any():  # rows are sampled by all columns: their order does not matter
                others = row_uniforms(np.where(np.isnan(Z), center, Z))
            for j in np.flatnonzero(has_gaps).tolist():
                present = ~np.isnan(Z[:, j])
                spread[j] = robust_spread(np.column_stack([Z[present, j], others[present]]))[0]
        spread = np.where(spread > 0, spread, 1.0) * unit
        center = tuple((center * unit).tolist())
        return replace(unscaled, center=center, spread=tuple(spread.tolist()))

    def transform(self, X: Array) -> Array:
        """Return the columns on one scale, (n, d)."""
        Z = np.array(X, dtype=np.float64)
        for j, log in enumerate(self.logs):
            if log is not None:
                Z[:, j] = log.transform(Z[:, j])
        return np.asarray((Z - self.center) / self.spread)

    def inverse_transform(self, Z: Array) -> Array:
        """Return the columns in their own units, (n, d)."""
        X = np.asarray(Z) * self.spread + self.center
        for j, log in enumerate(self.logs):
            if log is not None:
                X[:, j] = log.inverse_transform(X[:, j])
        return X


@dataclass(frozen=True, eq=False)
class NearestRowImputer:
    """Impute missing cells from the rows that are nearest in the columns that both rows have.

    A cell is the mean of the five values that lie closest together, among the nine nearest of up
    to 1,000 rows that have it, on the scale of `scaler`. If no such row has a column in common, it
    is the column's median.
    """

    scaler: ColumnScaler
    donors: Array  # scaled rows, (n_donors, d), NaN where a cell is missing

    @classmethod
    def fit(cls, X: Array, scaler: ColumnScaler) -> NearestRowImputer:
        """Keep a bounded sample of a table's rows that does not depend on their order."""
        rows = X[~np.isnan(X).all(axis=1)]
        most = max(NEIGHBORS, min(DONOR_ROWS, DONOR_CELLS // X.shape[1]))
        complete = rows[~np.isnan(rows).any(axis=1)]
        if len(complete) >= most:
            rows = complete
        scaled = scaler.transform(rows)
        index, _ = Rows(np.nan_to_num(scaled)).sample(most)  # it takes numbers only
        return cls(scaler, scaled[index])

    def transform(self, X: Array) -> Array:
        """Return the table in its own units, (n, d), with missing cells imputed."""
        from sklearn.metrics.pairwise import nan_euclidean_distances

        is_missing = np.isnan(X)
        rows = np.flatnonzero(is_missing.any(axis=1))
        filled = X.copy()
        for block in row_slices(rows.size, BLOCK):
            some = rows[block]
            scaled = self.scaler.transform(X[some])
            distances = nan_euclidean_distances(scaled, self.donors)  # NaN: no column in common
            for j in np.flatnonzero(is_missing[some].any(axis=0)).tolist():
                lacks = is_missing[some, j]
                scaled[lacks, j] = _shorth(distances[lacks], self.donors[:, j])
            imputed = self.scaler.inverse_transform(scaled)
            filled[some] = np.where(is_missing[some], imputed, X[some])
        return filled


def _shorth(distances: Array, values: Array) -> Array:
    """Return the mean of the closest values of near donors, (m,), by distances (m, n_donors)."""
    present = np.flatnonzero(~np.isnan(values))
    if present.size == 0:
        return np.zeros(len(distances))
    distances, values = distances[:, present], values[present]
    is_isolated = np.isnan(distances).all(axis=1)
    near = min(NEIGHBORS, present.size)
    order = np.argpartition(np.nan_to_num(distances, nan=np.inf), near - 1, axis=1)
    nearest = np.sort(values[order[:, :near]], axis=1)
    runs = sliding_window_view(nearest, min(AGREEING, near // 2 + 1), axis=1)
    closest = np.argmin(runs[..., -1] - runs[..., 0], axis=1)
    means = runs[np.arange(len(runs)), closest].mean(axis=1)
    return np.where(is_isolated, np.median(values), means)
