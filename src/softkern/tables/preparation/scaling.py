"""Scaling of columns, and back.

`sklearn.preprocessing.RobustScaler` divides by the quartile range, which is zero or arbitrary for
columns with few values. `robust_spread` is defined for these, so that yes and no are one spread
apart at any share (tests/tables/preparation/test_scaling.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from softkern._utils.typing import Array
from softkern.kernels.spread import robust_spread
from softkern.rows import row_uniforms
from softkern.tables.preparation.skew import SignedLog

Logs: TypeAlias = Sequence[SignedLog | None]  # None for a column that is not skewed


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
            center, spread = np.nanmedian(Z, axis=0), _spreads(Z)
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


def _spreads(X: Array) -> Array:
    """Return the robust spread of the cells that are present, (d,).

    Rows are sampled by all their columns, so that spreads do not depend on the order of rows.
    """
    has_gaps = np.isnan(X).any(axis=0)
    spread = np.ones(X.shape[1])
    if not has_gaps.all():
        spread[~has_gaps] = robust_spread(X[:, ~has_gaps])
    if has_gaps.any():
        others = row_uniforms(np.where(np.isnan(X), np.nanmedian(X, axis=0), X))
    for j in np.flatnonzero(has_gaps).tolist():
        is_present = ~np.isnan(X[:, j])
        spread[j] = robust_spread(np.column_stack([X[is_present, j], others[is_present]]))[0]
    return spread
