"""Tables of text: encoding and layout found out, read by pandas in pieces."""

from __future__ import annotations

import codecs
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from softkern.cli.tables._base import Format, Reader, Style, TableError, unique_names
from softkern.cli.tables._bytes import HEAD, naming, open_bytes, unpacked
from softkern.cli.tables._layout import BLANKS, ONE_COLUMN, text_layout
from softkern.words import count, quoted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["text_table"]

TAB = "\t"
UNKNOWN = "\N{REPLACEMENT CHARACTER}"  # what stands for bytes that are no letter
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def text_table(
    raw: BinaryIO, head: bytes, path: str, name: str, packed: str, form: Format
) -> Reader:
    encoding = _encoding(head, form, name)
    is_cut = len(head) >= HEAD
    try:
        text = head.decode(encoding, errors="replace").lstrip("\ufeff")
    except (LookupError, UnicodeError):  # such as base64 and idna, which are codecs too
        raise TableError(f"{encoding!r} is no encoding of text; name another.") from None
    if "\x00" in text:
        raise TableError(f"{name} is no table of text, Parquet or NPY: it holds zero bytes.")
    layout = text_layout(text, is_cut, path, name, form)
    if any(UNKNOWN in word for word in layout.names):  # the header is not read again
        try:
            head.decode(encoding)
        except UnicodeDecodeError as error:
            raise TableError(_undecodable(name, error, path, encoding)) from error
    notes = layout.notes
    columns = unique_names(layout.names, notes)
    separator = layout.separator
    reader = Reader(
        name,
        f"{_kind(separator, packed)}, {encoding})",
        columns,
        notes,
        layout.decimal,
        _style(separator, layout.decimal, encoding),
        _stream=raw,
    )
    options = {
        "sep": separator,
        "names": columns,
        "header": None,
        # a blank line is a missing value where there is nothing else in a line
        "skip_blank_lines": len(columns) > 1,
        "decimal": layout.decimal or ".",
        "skipinitialspace": True,
        "low_memory": False,
        "on_bad_lines": "warn" if form.skip_bad_lines else "error",
    }
    marks = form.marks()
    reader._chunks = lambda rows, kept, words: _text_chunks(
        _Rest(raw, encoding, layout.lines), reader, options, marks, rows, kept, words, path
    )
    return reader


class _Rest:
    """The text below a table's header; pandas counts the lines of a quoted name otherwise."""

    def __init__(self, raw: BinaryIO, encoding: str, lines: int) -> None:
        self.lines, self.encoding = lines, encoding
        # also where the encoding was given, a mark at the beginning is no part of a cell
        letters = "utf-8-sig" if encoding == "utf-8" else encoding
        self.text = io.TextIOWrapper(raw, letters, newline="")

    def skip(self) -> None:
        """Leave out what is above the rows."""
        for _ in range(self.lines):
            self.text.readline()


def _kind(separator: str, packed: str) -> str:
    if separator == ONE_COLUMN:
        return f"CSV{packed} (one column"
    shown = {"\t": "tab", BLANKS: "blanks"}.get(separator, f'"{separator}"')
    return f"{'TSV' if separator == TAB else 'CSV'}{packed} (separator {shown}"


def _style(separator: str, decimal: str | None, encoding: str) -> Style:
    """What to write the table back by; blanks as they stood cannot be known."""
    mark = "," if separator in (BLANKS, ONE_COLUMN) else separator
    if mark == decimal == ",":
        mark = ";"
    return Style(".tsv" if mark == TAB else ".csv", mark, decimal or ".", encoding)


def _text_chunks(
    rest: _Rest,
    reader: Reader,
    options: dict[str, Any],
    marks: list[str],
    rows: int | None,
    kept: tuple[str, ...],
    words: tuple[str, ...],
    path: str,
) -> Iterator[pd.DataFrame]:
    import pandas as pd

    is_one = len(reader.columns) == 1
    options = options | {
        "dtype": str if is_one else dict.fromkeys([*kept, *words], str),
        "keep_default_na": False,
        # an identifier "NA" or "007" is what it says
        "na_values": {c: marks for c in reader.columns if c not in kept and not is_one},
    }
    rows = reader.rows_at_once() if rows is None else rows
    blanks: list[pd.DataFrame] = []  # lines at the end of one column, until another follows
    try:
        with _as_table_errors(reader, rest, path):
            rest.skip()
            pieces = pd.read_csv(rest.text, chunksize=rows, **options) if rows else None
        while True:
            with _as_table_errors(reader, rest, path):
                piece = pd.read_csv(rest.text, **options) if pieces is None else next(pieces, None)
            if piece is None:
                return
            if is_one:
                piece, blanks = _without_blank_end(pd.concat([*blanks, piece]))
                if not kept:
                    piece = _typed(piece, marks, options["decimal"], bool(words))
            if len(piece) or pieces is None:
                yield piece
            if pieces is None:
                return
    finally:
        rest.text.close()


def _without_blank_end(piece: pd.DataFrame) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """A piece of one column, as text, without the blank lines at its end; and these."""
    is_there = (piece.iloc[:, 0].str.strip() != "").to_numpy(dtype=bool)
    end = len(piece) - int(is_there[::-1].argmax()) if is_there.any() else 0
    return piece.iloc[:end], [piece.iloc[end:]] if end < len(piece) else []


def _typed(piece: pd.DataFrame, marks: list[str], decimal: str, as_words: bool) -> pd.DataFrame:
    """A piece of one column with its missing values, as numbers where all of them are plain."""
    import pandas as pd

    cells = piece.iloc[:, 0].str.strip()
    cells = cells.where(~cells.isin(marks))
    if not as_words and not (decimal == "," and cells.str.contains(".", regex=False).any()):
        with suppress(ValueError):
            cells = pd.to_numeric(cells.str.replace(decimal, ".", regex=False))
    return piece.assign(**{str(piece.columns[0]): cells})


@contextmanager
def _as_table_errors(reader: Reader, rest: _Rest, path: str) -> Iterator[None]:
    """What pandas raises or warns of while it reads, as TableError and notes."""
    import pandas as pd

    with warnings.catch_warnings(record=True) as caught, naming(reader.name):
        warnings.simplefilter("always", pd.errors.ParserWarning)
        try:
            yield
        except UnicodeDecodeError as error:
            message = _undecodable(reader.name, error, path, rest.encoding)
            raise TableError(message) from error
        except pd.errors.ParserError as error:
            reason = quoted(str(error).split("C error:")[-1].strip().rstrip("."), 200)
            reason = re.sub(r"(?<=line )\d+", lambda n: str(int(n[0]) + rest.lines), reason)
            raise TableError(
                f"{reader.name} has lines that do not fit: {reason}. Mend the file, or leave such "
                "lines out by --skip-bad-lines."
            ) from error
    lines = sum(str(warning.message).count("Skipping line") for warning in caught)
    if lines:
        reader.notes.append(f"left out {count(lines, 'line')} with too many fields")


def _encoding(head: bytes, form: Format, name: str) -> str:
    if form.encoding is not None:
        try:
            return codecs.lookup(form.encoding).name
        except LookupError:
            raise TableError(f"there is no encoding {quoted(form.encoding)!r}.") from None
    return next((word for mark, word in BYTE_ORDER_MARKS if head.startswith(mark)), "utf-8")


def _undecodable(name: str, error: UnicodeDecodeError, path: str, encoding: str) -> str:
    byte = error.object[error.start]
    place = ""
    if Path(path).is_file() and encoding.startswith("utf-8"):
        for number, line in enumerate(unpacked(open_bytes(path), name)[0], start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as first:
                place, byte = f" in line {number}", line[first.start]
                break
    return (
        f"{name} is not {encoding}: byte 0x{byte:02x}{place}. Name its encoding, such as "
        "--encoding cp1252; latin-1 reads any bytes."
    )
