"""Models on Dask arrays and dataframes, on one machine or on a cluster.

Everything that knows about chunks is in this folder. `rows` checks the data and draws a subsample,
`plan` and `operator` compute K @ A, `fit`, `predict` and `rank` are what `fit`, the methods of
fitted models and `rank_points` call for Dask data, and `cluster` runs the computations. Dask is
imported on first use.
"""

from softkern.dask.cluster import (
    broadcast,
    cluster_watchdog,
    compute,
    compute_each,
    connect,
    persist,
)
from softkern.dask.rows import SUBSAMPLE_ROWS, ChunkedRows, Subsample, row_chunks

__all__ = [
    "SUBSAMPLE_ROWS",
    "ChunkedRows",
    "Subsample",
    "broadcast",
    "cluster_watchdog",
    "compute",
    "compute_each",
    "connect",
    "persist",
    "row_chunks",
]
