"""What changed between two results, or between two tables.

`compare_points` says which clusters are the same, which became one or fell apart, and which rows
moved; `column_drift` how every column of a table differs from what it was before, and whether
chance alone would do that. Nothing here prints or reads files: `softkern compare` does.
"""

from __future__ import annotations

from softkern.tables.compare.clusters import ClusterMatch, match_clusters
from softkern.tables.compare.drift import ColumnDrift, column_drift, measured
from softkern.tables.compare.rows import PointsComparison, compare_points

__all__ = [
    "ClusterMatch",
    "ColumnDrift",
    "PointsComparison",
    "column_drift",
    "compare_points",
    "match_clusters",
    "measured",
]
