"""Reads tables: CSV, TSV, Excel, JSON lines, Parquet and NPY, from a file or standard input.

The kind of a file is detected from its first bytes, and from its name only in doubt. A table is
read whole or in chunks, so that a file may be larger than memory. `Reader.notes` lists every
decision that was made, and what cannot be read raises a `TableError` with the place and the remedy.
"""

from __future__ import annotations

import os

from softkern._utils.text import quote
from softkern.tables.io.binary import NpyReader, ParquetReader
from softkern.tables.io.bytes import WORKBOOK, TableBytes
from softkern.tables.io.excel import ExcelReader
from softkern.tables.io.json_lines import JsonLinesReader, is_json_lines
from softkern.tables.io.reader import Format, Reader, Style, TableError, unique_names
from softkern.tables.io.text import TextReader
from softkern.tables.io.unsupported import reject_unsupported

__all__ = ["Format", "Reader", "Style", "TableError", "open_table", "unique_names"]


def open_table(path: str, form: Format | None = None, *, name: str | None = None) -> Reader:
    """Open a table as it is, or as gzip, bzip2, xz or zip. The path "-" is standard input.

    `form` is what is known about its format. `name` is what messages call it, by default its path.
    """
    data = TableBytes(path, name or ("standard input" if path == "-" else quote(path)))
    try:
        reader = _open_reader(data, form or Format())
    except BaseException:
        data.close()
        raise
    reader.size = os.path.getsize(path) if data.is_file else 0
    return reader


def _open_reader(data: TableBytes, form: Format) -> Reader:
    """Return the reader of a table by its first bytes."""
    if data.packing == WORKBOOK:
        return ExcelReader(data, form)
    if form.sheet is not None:
        raise TableError(f"{data.name} is not a workbook (.xlsx), and has no sheets.")
    if not data.head.strip():
        raise TableError(f"{data.name} is empty.")
    if data.head.startswith(b"PAR1"):
        return ParquetReader(data, form)
    if data.head.startswith(b"\x93NUMPY"):
        return NpyReader(data, form)
    reject_unsupported(data.head, data.name)
    is_json = is_json_lines(data.head, data.name)
    return JsonLinesReader(data, form) if is_json else TextReader(data, form)
