"""Writes tables of results as CSV, JSON lines, workbooks or Parquet.

`DataFrame.to_json(lines=True)` writes at most 15 digits. Here numbers keep all of theirs.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import date
from pathlib import Path
from typing import Any, TextIO, cast

import numpy as np
import pandas as pd
from pandas.api.types import is_scalar

from softkern._utils.text import quote
from softkern.tables.cli.errors import OutputError
from softkern.tables.io import Style

DIGITS = "%.9g"
FORMATS = {"b": "%s", "i": "%d", "u": "%d", "f": DIGITS, "O": "%s"}  # by kind of dtype
FORMULA = re.compile("[=+\\-@\t\r\n＝＋－＠]")  # how formulas begin
NUMBER = re.compile(r"[+-][\d\s.,'’%€$£¥]*(e[+-]?\d+)?", re.IGNORECASE)
MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384  # limits of a sheet, including the header


def write_chunks(
    tables: Iterable[pd.DataFrame],
    path: str,
    name: str | None = None,
    style: Style | None = None,
    raw_text: bool = False,
) -> int:
    """Write tables of the same columns one after the other, and return the number of rows.

    The ending of `name`, by default of `path`, determines the format. `path` may be "-" for
    standard output. `style` is that of a user's own table, whose digits are kept. With `raw_text`
    formulas in CSV are not escaped; other formats have types for text.
    """
    name, sizes = name or path, []

    def counted() -> Iterator[pd.DataFrame]:
        for table in tables:
            sizes.append(len(table))
            yield table

    if name.endswith(".parquet"):
        _write_parquet(map(nullable if style is None else _text_columns, counted()), path)
    elif name.endswith(".xlsx"):
        _write_workbook(counted(), path)
    elif name.endswith((".jsonl", ".jsonl.gz")):
        with _open_text(path, name) as file:
            _write_json_lines(counted(), file)
    else:
        with _open_text(path, name, (style or Style()).encoding) as file:
            cells = counted() if raw_text else map(escape_formulas, counted())
            _write_csv(cells, file, name.endswith(".tsv"), style)
    return sum(sizes)


def _write_csv(
    tables: Iterable[pd.DataFrame], file: TextIO, is_tsv: bool, style: Style | None
) -> None:
    """Write text with `DIGITS` of the numbers, or with the style and digits of a user's table."""
    own = style or Style()
    separator = "\t" if is_tsv else own.separator
    for number, table in enumerate(tables):
        lines = _csv_lines(table) if style is None and separator == "," else None
        if number == 0 or lines is None:
            part = table if lines is None else table.iloc[:0]
            part.to_csv(
                file,
                index=False,
                header=number == 0,
                float_format=DIGITS if style is None else None,
                lineterminator=_line_end(part),
                sep=separator,
                decimal=own.decimal,
            )
        file.write(lines or "")


def write_json(record: dict[str, Any], path: Path) -> None:
    """Write a record as JSON. Bytes of file names that are no text are escaped."""
    text = json.dumps(record, indent=2, ensure_ascii=False, default=_as_json)
    path.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")


def _as_json(value: Any) -> Any:
    """Return a value that JSON does not know as a list, a number or text."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def _line_end(table: pd.DataFrame) -> str:
    r"""Return "\r\n" if a cell holds "\r": pandas quotes such a cell only then."""
    texts = [column.astype(str) for _, column in table.items() if column.dtype.kind not in "biuf"]
    names = pd.Series(table.columns.map(str), dtype=str)
    has_return = any(text.str.contains("\r", regex=False).any() for text in (names, *texts))
    return "\r\n" if has_return else "\n"


def _csv_lines(table: pd.DataFrame) -> str | None:
    """Return the rows as `DataFrame.to_csv` writes them, in a third of its time.

    None if a cell is blank or must be quoted: then pandas writes the table.
    """
    columns, formats = [], []
    for name in table.columns:
        values = table[name].to_numpy()
        kind = values.dtype.kind
        if kind not in FORMATS or (kind == "f" and np.isnan(values).any()):
            return None
        cells = values.tolist()
        if kind == "O" and not all(type(cell) is str for cell in cells):
            return None
        if kind == "O" and any(mark in "".join(cells) for mark in ',"\r\n'):
            return None
        columns.append(cells)
        formats.append(FORMATS[kind])
    line = ",".join(formats) + "\n"
    return "".join(map(line.__mod__, zip(*columns, strict=True)))


@contextmanager
def _open_text(path: str, name: str, encoding: str = "utf-8") -> Iterator[TextIO]:
    if path == "-":
        if sys.stdout is None:
            raise OutputError("standard output is closed; -o names a file.")
        with _strict_encoding(sys.stdout):
            yield sys.stdout
    elif name.endswith(".gz"):
        with gzip.open(path, "wt", encoding=encoding, newline="", compresslevel=6) as packed:
            yield cast(TextIO, packed)
    else:  # the encoding has all letters of the table, but may lack some of the results
        with open(path, "w", encoding=encoding, errors="replace", newline="") as file:
            yield file


@contextmanager
def _strict_encoding(stream: TextIO) -> Iterator[None]:
    """Raise an error for letters that a stream cannot encode, since they are data."""
    before = stream.errors
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="strict")
    try:
        yield
        stream.flush()
    except UnicodeEncodeError as error:
        raise OutputError(
            f"standard output is {stream.encoding}, which cannot write "
            f"{quote(error.object[error.start : error.end])}; give a file with -o, or set "
            "PYTHONIOENCODING=utf-8."
        ) from error
    finally:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=before)


def _write_parquet(tables: Iterable[pd.DataFrame], path: str) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise OutputError("Parquet needs pyarrow: pip install 'softkern[parquet]'.") from None
    writer = None
    with ExitStack() as stack:
        for table in tables:
            arrow = pa.Table.from_pandas(table, preserve_index=False)
            if writer is None:
                writer = stack.enter_context(pq.ParquetWriter(path, arrow.schema))
            writer.write_table(arrow.cast(writer.schema))


def _text_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Return a user's own table with columns of objects as text: chunks may differ in type."""
    mixed = [name for name, kind in table.dtypes.items() if kind.kind == "O"]
    return table.astype(dict.fromkeys(mixed, "string"))


def _write_workbook(tables: Iterable[pd.DataFrame], path: str) -> None:
    """Write one sheet. Text stays text: a cell "=1+1" is no formula."""
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE as UNWRITABLE
    except ImportError:
        raise OutputError("Excel needs openpyxl: pip install 'softkern[excel]'.") from None
    book = Workbook(write_only=True)
    sheet = book.create_sheet("softkern")

    def cell(value: Any) -> Any:
        value = _plain(value)
        if not isinstance(value, str):
            return value
        text = WriteOnlyCell(sheet, UNWRITABLE.sub("", value))
        text.data_type = "s"
        return text

    count = 0
    for number, table in enumerate(tables):
        count += len(table)
        if count >= MOST_ROWS or table.shape[1] > MOST_COLUMNS:
            raise OutputError(
                f"a sheet holds at most {MOST_ROWS - 1:,} rows and {MOST_COLUMNS:,} columns; write "
                ".csv or .parquet."
            )
        if number == 0:
            sheet.append([cell(str(name)) for name in table.columns])
        for row in table.astype(object).itertuples(index=False, name=None):
            sheet.append([cell(value) for value in row])
    with open(path, "wb") as file:  # openpyxl would judge the format by the name
        book.save(file)


def _write_json_lines(tables: Iterable[pd.DataFrame], file: TextIO) -> None:
    """Write one object per row."""
    for table in tables:
        for row in table.rename(columns=str).astype(object).to_dict("records"):
            cells = {name: _plain(value) for name, value in row.items()}
            file.write(json.dumps(cells, ensure_ascii=False, default=date.isoformat) + "\n")


def _plain(value: Any) -> Any:
    """Return a cell as a Python value, None if it is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if is_scalar(value) and pd.isna(value):
        return None
    if isinstance(value, float) and np.isinf(value):
        return str(value)
    if isinstance(value, pd.Timestamp):
        return value.tz_localize(None).to_pydatetime()  # sheets have no time zones
    if isinstance(value, bool | int | float | str | date):
        return value
    return str(value)


def nullable(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with types that allow blanks, so that all chunks have the same."""
    types: dict[str, str] = {}
    for name in table.columns:
        if name in ("id", "grade", "between", "why"):
            types[name] = "string"
        elif name == "label" or name.endswith("_rank"):
            types[name] = "Int64"
        elif name.startswith("is_"):
            types[name] = "boolean"
    return table.astype(types)


# Formulas in CSV: an apostrophe before a cell tells a spreadsheet that it is text. Numbers written
# as text, such as "-1.234,50 €", are left alone: they have no letters to call a function.


def escape_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with formulas escaped in text and column names."""
    changed = {
        k: column.astype(object).map(_escaped).to_numpy()
        for k, (_, column) in enumerate(table.items())
        if column.dtype.kind not in "biufM" and any(map(_is_formula, column.to_numpy(object)))
    }
    names = [_escaped(name) for name in table.columns]
    if not changed and names == list(table.columns):
        return table
    escaped = table.set_axis(names, axis=1)
    for k, cells in changed.items():
        escaped.isetitem(k, cells)
    return escaped


def unescape_formulas(text: Any) -> Any:
    """Return a cell as it was before `escape_formulas`."""
    is_escaped = isinstance(text, str) and text.startswith("'") and _is_formula(text[1:])
    return text[1:] if is_escaped else text


def _is_formula(value: Any) -> bool:
    return isinstance(value, str) and bool(FORMULA.match(value)) and not NUMBER.fullmatch(value)


def _escaped(value: Any) -> Any:
    return f"'{value}" if _is_formula(value) else value
