"""The user's own table with the columns of the results: what `--join` writes.

The table is read a second time, as it was written, so that a model needs no more memory and text,
amounts and identifiers come back as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from softkern.tables.cli.points import DIGITS, nullable
from softkern.tables.io import Reader, unique_names

__all__ = ["joined", "rows_of"]

OF_POINTS = ("row", "id")  # what the table has itself


def rows_of(points: pd.DataFrame, lengths: Iterable[int]) -> Iterator[pd.DataFrame]:
    """Points for every row of pieces of the table of these lengths; blank where a row has none."""
    known = nullable(points).set_index("row")
    start = 1
    for length in lengths:
        piece = known.reindex(range(start, start + length))
        yield piece.reset_index()
        start += length


def joined(reader: Reader, tables: Iterable[pd.DataFrame], rows: int) -> Iterator[pd.DataFrame]:
    """Pieces of the table, of so many rows, with the results beside them.

    `tables` are results of the same pieces; a name that the table has already gets a number.
    """
    pieces = reader.chunks(rows, text=reader.columns)
    for piece, results in zip(pieces, tables, strict=True):
        found = results.drop(columns=[name for name in OF_POINTS if name in results])
        names = unique_names([*reader.columns, *found.columns], [])[len(reader.columns) :]
        found = found.apply(_nine_digits).set_axis(pd.Index(names), axis=1)
        yield pd.concat([piece.reset_index(drop=True), found.reset_index(drop=True)], axis=1)


def _nine_digits(column: pd.Series[Any]) -> pd.Series[Any]:
    """Floats with the digits that results are written with; the user's own keep all of theirs."""
    if column.dtype.kind != "f":
        return column
    return column.map(lambda value: float(DIGITS % value))
