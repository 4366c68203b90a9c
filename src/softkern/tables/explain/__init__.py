"""Explanations in terms of the user's own columns.

`explain_points` names the columns that make rows outliers or put them between clusters, with their
usual ranges. `Explainer` does so for rows that come in chunks. `describe_clusters` compares every
column of every cluster with all rows, `cluster_lines` summarizes it in one line per cluster, and
`summary` is a sentence on the whole result. Models are accessed by their public attributes only.
"""

from softkern.tables.explain.clusters import cluster_lines, describe_clusters
from softkern.tables.explain.points import Explainer, explain_points
from softkern.tables.explain.row_view import RowView
from softkern.tables.text import grade, summary

__all__ = [
    "Explainer",
    "RowView",
    "cluster_lines",
    "describe_clusters",
    "explain_points",
    "grade",
    "summary",
]
