"""Models on Dask arrays and dataframes, on one machine or on a cluster.

Everything that knows about chunks is in this folder. `rows` checks the data and draws a subsample,
`plan` and `operator` compute K @ A, `fit`, `chunks` and `rank` are what `fit`, the methods of
fitted models and `rank_points` call for Dask data, and `cluster` runs the computations. Dask is
imported on first use.
"""
