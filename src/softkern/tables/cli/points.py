"""The table of points that analyze and score write: one row a point."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

import numpy as np
import pandas as pd

from softkern._utils.text import quote
from softkern.tables.cli.errors import NoReaderError, OutputError
from softkern.tables.cli.formats import write_json_lines, write_workbook
from softkern.tables.cli.formulas import escape_formulas
from softkern.tables.io import Style

__all__ = ["DIGITS", "has_all_columns", "nullable", "points_table", "write_chunks"]

MOST_MEMBERSHIP_COLUMNS = 20  # unless --all-memberships
DIGITS = "%.9g"
FORMS = {"b": "%s", "i": "%d", "u": "%d", "f": DIGITS, "O": "%s"}  # of a cell, by kind of column
LEAST_MEMBERSHIP = 1e-6  # below it, a membership is written as 0
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
    shares = {name: _without_traces(parts[name]) for name in parts if name.startswith("membership")}
    return pd.DataFrame(parts | shares)


def _without_traces(memberships: Any) -> Any:
    return np.where(np.asarray(memberships) < LEAST_MEMBERSHIP, 0.0, memberships)


def _words(n: int, explained: pd.DataFrame | None) -> dict[str, Any]:
    """The grade, the two clusters and the reason of flagged rows; blank for the others."""
    columns: dict[str, Any] = {name: np.full(n, "", dtype=object) for name in WORDS}
    if explained is not None:
        flagged = explained[(explained["grade"] != "") | (explained["between"] != "")]
        for name, column in columns.items():
            column[flagged["row"].to_numpy(dtype=np.intp)] = flagged[name].to_numpy()
    return columns


def write_chunks(
    tables: Iterable[pd.DataFrame],
    path: str,
    to: str | None = None,
    style: Style | None = None,
    raw_text: bool = False,
) -> int:
    """Tables of the same columns one after the other; how many rows.

    `path` is where to write, ``"-"`` for standard output; `to` is the name that says the format,
    where that is another. `style` is given with a user's own table, whose digits are left alone.
    Text of CSV is made harmless for spreadsheets, unless `raw_text`; other formats know what text
    is.
    """
    name = to or path
    if name.endswith(".parquet"):
        typed = nullable if style is None else _uniform
        return _write_parquet(map(typed, tables), path)
    if name.endswith(".xlsx"):
        return write_workbook(tables, path)
    if name.endswith((".jsonl", ".jsonl.gz")):
        with _text_file(path, name) as file:
            return write_json_lines(tables, file)
    return _write_csv(tables if raw_text else map(escape_formulas, tables), path, name, style)


def _write_csv(
    tables: Iterable[pd.DataFrame], path: str, name: str, style: Style | None = None
) -> int:
    count = 0
    digits, style = DIGITS if style is None else None, style or Style()
    mark = "\t" if name.endswith(".tsv") else style.separator
    with _text_file(path, name, style.encoding) as file:
        for number, table in enumerate(tables):
            # a user's own table has its own digits, and marks between cells
            text = _csv_lines(table) if digits is not None and mark == "," else None
            if text is None or number == 0:
                part = table if text is None else table.iloc[:0]
                part.to_csv(
                    file,
                    index=False,
                    header=number == 0,
                    float_format=digits,
                    lineterminator=_line_end(part),
                    sep=mark,
                    decimal=style.decimal,
                )
            file.write(text or "")
            count += len(table)
    return count


def _line_end(table: pd.DataFrame) -> str:
    """What ends a line: of a cell with a carriage return, csv writes quotes only if that does."""
    texts = [column.astype(str) for _, column in table.items() if column.dtype.kind not in "biuf"]
    names = pd.Series([str(name) for name in table.columns], dtype=str)
    has_return = any(text.str.contains("\r", regex=False).any() for text in (names, *texts))
    return "\r\n" if has_return else "\n"


def _csv_lines(table: pd.DataFrame) -> str | None:
    """The rows as CSV, as `to_csv` writes them in four times the time.

    None where a cell is blank or must be quoted: then pandas writes the table.
    """
    columns, forms = [], []
    for name in table.columns:
        values = table[name].to_numpy()
        form = FORMS.get(values.dtype.kind)
        if form is None or (values.dtype.kind == "f" and np.isnan(values).any()):
            return None
        column = values.tolist()
        if values.dtype.kind == "O" and not _is_plain_text(column):
            return None
        columns.append(column)
        forms.append(form)
    line = ",".join(forms) + "\n"
    return "".join(map(line.__mod__, zip(*columns, strict=True)))


def _is_plain_text(values: list[Any]) -> bool:
    """Whether all are text without a character that CSV writes between quotes."""
    if not all(type(value) is str for value in values):
        return False
    text = "".join(values)
    return not any(mark in text for mark in ',"\r\n')


@contextmanager
def _text_file(path: str, name: str, encoding: str = "utf-8") -> Iterator[TextIO]:
    if path == "-":
        if sys.stdout is None:
            raise OutputError("standard output is closed; -o names a file.")
        with _whole_letters(sys.stdout):
            yield sys.stdout
    elif name.endswith(".gz"):
        with gzip.open(path, "wt", encoding=encoding, newline="", compresslevel=6) as packed:
            yield cast(TextIO, packed)
    else:  # a user's own letters are of the encoding; of ours some may not be
        with open(path, "w", encoding=encoding, errors="replace", newline="") as file:
            yield file


@contextmanager
def _whole_letters(stream: TextIO) -> Iterator[None]:
    """Refuse letters that a stream cannot write, where what is written is data."""
    usual = stream.errors
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="strict")
    try:
        yield
        stream.flush()
    except BrokenPipeError as error:
        raise NoReaderError from error
    except UnicodeEncodeError as error:
        raise OutputError(
            f"standard output is {stream.encoding}, which cannot write "
            f"{quote(error.object[error.start : error.end])}; -o names a file, which is UTF-8, "
            "and PYTHONIOENCODING=utf-8 makes standard output so."
        ) from error
    finally:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=usual)


def _write_parquet(tables: Iterable[pd.DataFrame], path: str) -> int:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise OutputError("Parquet needs pyarrow: pip install 'softkern[parquet]'.") from None
    count, writer = 0, None
    try:
        for table in tables:
            arrow = pa.Table.from_pandas(table, preserve_index=False)
            if writer is None:
                writer = pq.ParquetWriter(path, arrow.schema)
            writer.write_table(arrow.cast(writer.schema))
            count += len(table)
    finally:
        if writer is not None:
            writer.close()
    return count


def _uniform(table: pd.DataFrame) -> pd.DataFrame:
    """A user's own table, with text in all columns that are not of one type in every chunk."""
    mixed = [name for name, kind in table.dtypes.items() if kind.kind == "O"]
    return table.astype(dict.fromkeys(mixed, "string"))


def nullable(table: pd.DataFrame) -> pd.DataFrame:
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
