"""The user's own table with the result columns, as `--join` writes it.

The table is read a second time, as it was written, so that a model needs no more memory and text,
amounts and identifiers are reproduced exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from softkern.tables.cli.points import DIGITS, nullable
from softkern.tables.io import Reader, unique_names

__all__ = ["joined", "rows_of"]

OWN_COLUMNS = ("row", "id")  # which the table has itself


def rows_of(points: pd.DataFrame, lengths: Iterable[int]) -> Iterator[pd.DataFrame]:
    """Yield the points for pieces of the table of these lengths; rows without one are blank."""
    by_row = nullable(points).set_index("row")
    start = 1
    for length in lengths:
        yield by_row.reindex(range(start, start + length)).reset_index()
        start += length


def joined(reader: Reader, tables: Iterable[pd.DataFrame], rows: int) -> Iterator[pd.DataFrame]:
    """Yield pieces of the table, of so many rows, with their results as further columns.

    `tables` are the results of the same pieces. A name that the table already has gets a number.
    """
    pieces = reader.chunks(rows, text=reader.columns)
    for piece, results in zip(pieces, tables, strict=True):
        added = results.drop(columns=[name for name in OWN_COLUMNS if name in results])
        names = unique_names([*reader.columns, *added.columns], [])[len(reader.columns) :]
        added = added.apply(_rounded).set_axis(pd.Index(names), axis=1)
        yield pd.concat([piece.reset_index(drop=True), added.reset_index(drop=True)], axis=1)


def _rounded(column: pd.Series[Any]) -> pd.Series[Any]:
    """Round results to the digits of points.csv; the user's own columns keep all of theirs."""
    if column.dtype.kind != "f":
        return column
    return column.map(lambda value: float(DIGITS % value))
