"""The table of points that analyze and score write: one row a point."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import numpy as np
import pandas as pd

from softkern.cli._errors import NoReaderError, OutputError

__all__ = ["has_all_columns", "points_table", "write_chunks"]

MOST_MEMBERSHIP_COLUMNS = 20  # unless --all-memberships
DIGITS = "%.9g"
WORDS = ("grade", "between", "why")  # of rows that are flagged


def has_all_columns(memberships: Any, all_memberships: bool) -> bool:
    """Whether every cluster gets a column of its own."""
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
    """Row numbers, identifiers, what `rank_points` says, why, and memberships, (n, …).

    `explained` is the table of `explain_points`, of which the flagged rows are told.
    """
    parts: dict[str, Any] = {"row": rows}
    if ids is not None:
        parts["id"] = ids
    parts |= {name: ranks[name].to_numpy() for name in ranks.columns}
    parts |= _words(len(ranks), explained)
    if np.ndim(memberships) == 2 and has_all_columns(memberships, all_memberships):
        parts |= {f"membership_{c}": column for c, column in enumerate(memberships.T)}
    return pd.DataFrame(parts)


def _words(n: int, explained: pd.DataFrame | None) -> dict[str, Any]:
    """The grade, the two clusters and the reason of flagged rows; blank for the others."""
    columns: dict[str, Any] = {name: np.full(n, "", dtype=object) for name in WORDS}
    if explained is not None:
        flagged = explained[(explained["grade"] != "") | (explained["between"] != "")]
        for name, column in columns.items():
            column[flagged["row"].to_numpy(dtype=np.intp)] = flagged[name].to_numpy()
    return columns


def write_chunks(tables: Iterable[pd.DataFrame], path: str, to: str | None = None) -> int:
    """Tables of the same columns one after the other; how many rows.

    `path` is where to write, ``"-"`` for standard output; `to` is the name that says the format,
    where that is another.
    """
    name = to or path
    is_parquet = name.endswith(".parquet")
    return _write_parquet(tables, path) if is_parquet else _write_csv(tables, path, name)


def _write_csv(tables: Iterable[pd.DataFrame], path: str, name: str) -> int:
    count = 0
    with _text_file(path, name) as file:
        for number, table in enumerate(tables):
            table.to_csv(
                file, index=False, header=number == 0, float_format=DIGITS, lineterminator="\n"
            )
            count += len(table)
    return count


@contextmanager
def _text_file(path: str, name: str) -> Iterator[TextIO]:
    if path == "-":
        if sys.stdout is None:
            raise OutputError("standard output is closed; -o names a file.")
        try:
            yield sys.stdout
            sys.stdout.flush()
        except BrokenPipeError as error:
            raise NoReaderError from error
    elif name.endswith(".gz"):
        with gzip.open(path, "wt", encoding="utf-8", newline="", compresslevel=6) as packed:
            yield packed
    else:
        with open(path, "w", encoding="utf-8", newline="") as file:
            yield file


def _write_parquet(tables: Iterable[pd.DataFrame], path: str) -> int:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise OutputError("Parquet needs pyarrow: pip install 'softkern[parquet]'.") from None
    count, writer = 0, None
    try:
        for table in tables:
            arrow = pa.Table.from_pandas(_nullable(table), preserve_index=False)
            if writer is None:
                writer = pq.ParquetWriter(path, arrow.schema)
            writer.write_table(arrow.cast(writer.schema))
            count += len(table)
    finally:
        if writer is not None:
            writer.close()
    return count


def _nullable(table: pd.DataFrame) -> pd.DataFrame:
    """Types that hold blanks, so that all chunks have the same."""
    types: dict[str, str] = {}
    for name in table.columns:
        if name == "id" or name in WORDS:
            types[name] = "string"
        elif name == "label" or name.endswith("_rank"):
            types[name] = "Int64"
        elif name.startswith("is_"):
            types[name] = "boolean"
    return table.astype(types)
