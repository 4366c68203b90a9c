"""Tables from files: CSV, TSV, Excel, JSON lines, Parquet and NPY, from a path or standard input.

A file's kind is found from its first bytes; from its name only where these leave a doubt. A table
is read whole or in chunks, so that a file may be larger than memory. Nothing is guessed in silence:
`Reader.notes` says what was taken for granted, and whatever cannot be read raises a `TableError`
with the place and the remedy. Called by the command line.
"""

from __future__ import annotations

import os
from typing import BinaryIO

from softkern._utils.text import quote
from softkern.tables.io.binary import npy_table, parquet_table
from softkern.tables.io.bytes import WORKBOOK, open_bytes, peek, unpacked
from softkern.tables.io.excel import sheet_table
from softkern.tables.io.json_lines import is_json_lines, json_lines_table
from softkern.tables.io.reader import CHUNK_ROWS, Format, Reader, Style, TableError, unique_names
from softkern.tables.io.text import text_table
from softkern.tables.io.unsupported import refuse_foreign

__all__ = [
    "CHUNK_ROWS",
    "Format",
    "Reader",
    "Style",
    "TableError",
    "open_table",
    "unique_names",
]


def open_table(path: str, form: Format | None = None, *, name: str | None = None) -> Reader:
    r"""Open a table and find out what it is.

    Parameters
    ----------
    path : str
        A file of CSV, TSV, Excel (.xlsx), JSON lines, Parquet or NPY, as it is or as gzip, bzip2,
        xz or zip; ``"-"`` is standard input.
    form : Format, default=None
        What is known of how it is written.
    name : str, default=None
        What messages call the table; by default its path.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "table.csv"
    ...     _ = file.write_text("height;weight\n1.8;80\n1.6;60\n")
    ...     reader = open_table(str(file))
    ...     reader.kind, reader.columns, reader.read().shape
    ('CSV (separator ";", utf-8)', ['height', 'weight'], (2, 2))
    """
    form = form or Format()
    name = name or ("standard input" if path == "-" else quote(path))
    raw, packed = unpacked(open_bytes(path), name)
    reader = _opened(raw, packed, path, name, form)
    reader.size = os.path.getsize(path) if os.path.isfile(path) else 0
    return reader


def _opened(raw: BinaryIO, packed: str, path: str, name: str, form: Format) -> Reader:
    """The table by its kind; the stream is closed where it is none."""
    try:
        if packed == WORKBOOK:
            return sheet_table(raw, name, form)
        if form.sheet is not None:
            raise TableError(f"--sheet is for workbooks (.xlsx), which {name} is not.")
        head = peek(raw, name)
        if not head.strip():
            raise TableError(f"{name} is empty.")
        if head.startswith(b"PAR1"):
            return parquet_table(raw, path, name, packed, form)
        if head.startswith(b"\x93NUMPY"):
            return npy_table(raw, path, name, packed, form)
        refuse_foreign(head, name)
        if is_json_lines(head, name):
            return json_lines_table(raw, path, name, packed, form)
        return text_table(raw, head, path, name, packed, form)
    except BaseException:
        raw.close()
        raise
