"""Reads tables: CSV, TSV, Excel, JSON lines, Parquet and NPY, from a file or standard input.

The kind of a file is detected from its first bytes, and from its name only in doubt. A table is
read whole or in chunks, so that a file may be larger than memory. `Reader.notes` lists every
decision that was made, and what cannot be read raises a `TableError` with the place and the remedy.
"""

from __future__ import annotations

import os
from codecs import BOM_UTF8

from softkern._utils.text import quote
from softkern.tables.io.binary import NpyReader, ParquetReader
from softkern.tables.io.bytes import WORKBOOK, TableBytes
from softkern.tables.io.excel import ExcelReader
from softkern.tables.io.json_lines import JsonLinesReader, is_json_lines
from softkern.tables.io.reader import Format, Reader, Style, TableError, unique_names
from softkern.tables.io.text import TextReader

__all__ = ["Format", "Reader", "Style", "TableError", "open_table", "unique_names"]

# files of unsupported formats, and ways to convert them
CONVERT = "convert it to CSV or Parquet with the program that wrote it"
UNSUPPORTED: tuple[tuple[bytes, str, str], ...] = (
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "an old Excel workbook (.xls), or one that is protected by a password",
        "save it as .xlsx without a password, or as CSV",
    ),
    (
        b"SQLite format 3\x00",
        "an SQLite database",
        'give one table of it: sqlite3 -csv -header FILE "select * from TABLE" | softkern '
        "analyze - …",
    ),
    (b"%PDF", "a PDF document", "copy its table into a spreadsheet and save that as CSV"),
    (b"{\\rtf", "a text document (RTF)", "save its table as CSV"),
    (b"ARROW1", "an Arrow or Feather file", "save it as Parquet"),
    (b"\x89HDF", "an HDF5 file", "save the table in it as Parquet or CSV"),
    (b"ORC", "an ORC file", "save it as Parquet"),
    (b"Obj\x01", "an Avro file", "save it as Parquet"),
    (b"$FL2", "an SPSS file (.sav)", "save it as CSV"),
    (b"<stata_dta>", "a Stata file (.dta)", "save it as CSV"),
    (b"RDX", "an R data file", "save it as CSV by write.csv"),
    (b"\x80\x04", "a pickle, which can run code and is never loaded", CONVERT),
    (b"\x80\x05", "a pickle, which can run code and is never loaded", CONVERT),
    (b"7z\xbc\xaf\x27\x1c", "packed by 7-Zip", "unpack it first"),
    (b"Rar!", "packed by RAR", "unpack it first"),
    (b"\x89PNG", "a picture, and no table", "give a table"),
    (b"\xff\xd8\xff", "a picture, and no table", "give a table"),
    (b"GIF8", "a picture, and no table", "give a table"),
)
PAGES = (b"<!doctype html", b"<html", b"<table", b"<head")


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
    _reject_unsupported(data.head, data.name)
    is_json = is_json_lines(data.head, data.name)
    return JsonLinesReader(data, form) if is_json else TextReader(data, form)


def _reject_unsupported(head: bytes, name: str) -> None:
    """Raise an error for a file of an unsupported format."""
    has_zeros = b"\x00" in head[:4096]
    for mark, what, remedy in UNSUPPORTED:
        # letters such as ORC may be the beginning of a header of text
        if head.startswith(mark) and (has_zeros or not mark.isalnum()):
            raise TableError(f"{name} is {what}; {remedy}.")
    if head[257:262] == b"ustar":
        raise TableError(f"{name} is a tar archive; unpack it and give one of its files.")
    start = head.removeprefix(BOM_UTF8).lstrip()[:200].lower()
    if start.startswith(PAGES):
        raise TableError(
            f"{name} is a web page (HTML), which some programs write as .xls; open it in a "
            "spreadsheet and save it as .xlsx or CSV."
        )
    if start.startswith(b"<?xml"):
        raise TableError(f"{name} is XML; save its table as CSV.")
