"""The table of results, one row per row of the input, alone or beside the user's own table.

`--join` reads the user's table a second time, as it was written, so that a model needs no more
memory and text, amounts and identifiers are reproduced exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from softkern.tables.cli.writing import DIGITS, nullable
from softkern.tables.io import Reader, unique_names

MOST_MEMBERSHIP_COLUMNS = 20  # unless --all-memberships
LEAST_MEMBERSHIP = 1e-6  # smaller ones are written as 0
REASONS = ("grade", "between", "why")  # columns of rows that are flagged


def has_all_columns(memberships: Any, all_memberships: bool) -> bool:
    """Return whether every cluster gets a separate column."""
    return (
        all_memberships or memberships.ndim < 2 or memberships.shape[1] <= MOST_MEMBERSHIP_COLUMNS
    )


def points_table(
    ranks: pd.DataFrame,
    memberships: Any,
    rows: Any,
    ids: Any,
    all_memberships: bool,
    explained: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return row numbers, identifiers, ranks, reasons of flagged rows, and memberships.

    `ranks` is the table of `rank_points`, `explained` that of `explain_points`.
    """
    parts: dict[str, Any] = {"row": rows} | ({} if ids is None else {"id": ids})
    parts |= {name: ranks[name].to_numpy() for name in ranks.columns}
    parts |= {name: np.full(len(ranks), "", dtype=object) for name in REASONS}
    if explained is not None:
        flagged = explained[(explained["grade"] != "") | (explained["between"] != "")]
        for name in REASONS:
            parts[name][flagged["row"].to_numpy(dtype=np.intp)] = flagged[name].to_numpy()
    if np.ndim(memberships) == 2 and has_all_columns(memberships, all_memberships):
        parts |= {f"membership_{c}": column for c, column in enumerate(memberships.T)}
    for name in parts:
        if name.startswith("membership"):
            parts[name] = np.where(parts[name] < LEAST_MEMBERSHIP, 0.0, parts[name])
    return pd.DataFrame(parts)


def with_blanks(points: pd.DataFrame, rows: range) -> pd.DataFrame:
    """Return the points of rows with these numbers, blank for rows that have none."""
    return nullable(points).set_index("row").reindex(rows).reset_index()


def joined(reader: Reader, tables: Iterable[pd.DataFrame], rows: int) -> Iterator[pd.DataFrame]:
    """Yield pieces of `rows` rows of the table, with their results as further columns.

    `tables` are the results of the same pieces. A name that the table already has gets a number.
    """
    pieces = reader.chunks(rows, text=reader.columns)
    for piece, results in zip(pieces, tables, strict=True):
        added = results.drop(columns=["row", "id"], errors="ignore")  # the table has them itself
        names = unique_names([*reader.columns, *added.columns], [])[len(reader.columns) :]
        added = added.apply(_rounded).set_axis(pd.Index(names), axis=1)
        yield pd.concat([piece.reset_index(drop=True), added.reset_index(drop=True)], axis=1)


def _rounded(column: pd.Series[Any]) -> pd.Series[Any]:
    """Round results to the digits of points.csv. The user's own columns keep all of theirs."""
    if column.dtype.kind != "f":
        return column
    return column.map(lambda value: float(DIGITS % value))
