"""Rows in chunks, on one machine or on many: what models are fitted to where X is Dask's.

`rows` has the gate: chunks are checked and a sample is drawn in one pass. `asking` has what is
asked of every chunk, and the few numbers that are read from all of them. `cluster` is where
computing happens, and turns a lost cluster into an error in place of endless waiting. Dask is
imported when used, here and in `softkern.dask.operator`.
"""

from softkern.dask.cluster import (
    computed,
    computed_one_by_one,
    connected,
    kept,
    shared,
    threads_of_workers,
    watched,
)
from softkern.dask.predict import answers, in_chunks_of, quantile
from softkern.dask.rows import SUBSAMPLE_ROWS, ChunkedRows, Few, is_chunked, row_chunks
from softkern.dask.tables import TableChunks, tables_of_chunks, top_of_tables

__all__ = [
    "SUBSAMPLE_ROWS",
    "ChunkedRows",
    "Few",
    "TableChunks",
    "answers",
    "computed",
    "computed_one_by_one",
    "connected",
    "in_chunks_of",
    "is_chunked",
    "kept",
    "quantile",
    "row_chunks",
    "shared",
    "tables_of_chunks",
    "threads_of_workers",
    "top_of_tables",
    "watched",
]
