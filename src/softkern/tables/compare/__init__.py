"""Compare two results, or two tables.

`compare_points` matches clusters and lists the rows that moved. `column_drift` measures how the
columns of a table changed. Nothing here prints or reads files: `softkern compare` does.
"""

from __future__ import annotations

from softkern.tables.compare.clusters import ClusterMatch, match_clusters
from softkern.tables.compare.drift import ColumnDrift, column_drift, measured
from softkern.tables.compare.rows import PointsComparison, compare_points
from softkern.tables.compare.text import describe_drift, summarize_drift, summarize_points

__all__ = [
    "ClusterMatch",
    "ColumnDrift",
    "PointsComparison",
    "column_drift",
    "compare_points",
    "describe_drift",
    "match_clusters",
    "measured",
    "summarize_drift",
    "summarize_points",
]
