"""Why a row is an outlier or in between, and what each cluster is, in the user's own columns.

`explain_points` names the columns that set a row apart, with what is usual there; `Explainer`
keeps what it learned of a table, for rows that come in chunks. `describe_clusters` compares every
column of every cluster with all rows, and `cluster_lines` says it in a line each; `summary` is
the whole answer in a sentence. Models are known
by their public, fitted attributes only; the report and the command line call it.
"""

from softkern.tables.explain.clusters import cluster_lines, describe_clusters
from softkern.tables.explain.points import Explainer, explain_points
from softkern.tables.explain.row_view import RowView
from softkern.tables.explain.summary import summary
from softkern.tables.text import grade

__all__ = [
    "Explainer",
    "RowView",
    "cluster_lines",
    "describe_clusters",
    "explain_points",
    "grade",
    "summary",
]
