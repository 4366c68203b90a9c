"""Tables of text: separator, encoding and header found out, read by pandas in pieces."""

from __future__ import annotations

import codecs
import csv
import io
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from softkern.cli.tables._base import Format, Reader, TableError, unique_names
from softkern.cli.tables._bytes import HEAD, broken, naming, open_bytes, unpacked
from softkern.words import count, quoted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["text_table"]

SEPARATORS = (",", "\t", ";", "|")
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "#N/A", "<NA>", "-nan")
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
    separator = form.separator or _separator(text, path, form.decimal)
    records = _first_records(text, separator, is_cut, name)
    names = records[0]
    notes: list[str] = []
    has_header = form.header
    if has_header is None:
        # a decimal comma is noticed later; here it must not make a header of the first row
        decimal = form.decimal if separator == "," or form.decimal != "." else ","
        has_header = not all(_is_number(cell, decimal) for cell in names)
        if not has_header:
            notes.append("the first line is numbers: taken as data, columns called x1, x2, …")
    if not has_header:
        names = [f"x{i + 1}" for i in range(len(records[0]))]
    elif len(records) > 1 and len(records[1]) > len(names):
        raise TableError(
            f"{name}: the header has {count(len(names), 'field')} and the line "
            f"after it {len(records[1])}; mend the file"
            + (", whose first line looks like a comment." * names[0].startswith("#") or ".")
        )
    columns = unique_names(names, notes)
    shown = {"\t": "tab", r"\s+": "blanks"}.get(separator, f'"{separator}"')
    kind = "TSV" if separator == "\t" else "CSV"
    reader = Reader(
        name, f"{kind}{packed} (separator {shown}, {encoding})", columns, notes, _stream=raw
    )
    options = {
        "sep": separator,
        "names": columns,
        "header": 0 if has_header else None,
        "decimal": form.decimal,
        "encoding": encoding,
        "skipinitialspace": True,
        "low_memory": False,
        "on_bad_lines": "warn" if form.skip_bad_lines else "error",
    }
    marks = sorted({*MISSING, *form.missing})
    reader._chunks = lambda rows, kept, words: _text_chunks(
        raw, reader, options, marks, rows, kept, words, path
    )
    return reader


def _text_chunks(
    raw: BinaryIO,
    reader: Reader,
    options: dict[str, Any],
    marks: list[str],
    rows: int | None,
    kept: tuple[str, ...],
    words: tuple[str, ...],
    path: str,
) -> Iterator[pd.DataFrame]:
    import pandas as pd

    options = options | {
        "dtype": dict.fromkeys([*kept, *words], str),
        "keep_default_na": False,
        # an identifier "NA" or "007" is what it says
        "na_values": {column: marks for column in reader.columns if column not in kept},
    }
    rows = reader.rows_at_once() if rows is None else rows
    try:
        with _as_table_errors(reader, options, path):
            pieces = pd.read_csv(raw, chunksize=rows, **options) if rows else None
        while True:
            with _as_table_errors(reader, options, path):
                piece = pd.read_csv(raw, **options) if pieces is None else next(pieces, None)
            if piece is None:
                return
            yield piece
            if pieces is None:
                return
    finally:
        raw.close()


@contextmanager
def _as_table_errors(reader: Reader, options: dict[str, Any], path: str) -> Iterator[None]:
    """What pandas raises or warns of while it reads, as TableError and notes."""
    import pandas as pd

    with warnings.catch_warnings(record=True) as caught, naming(reader.name):
        warnings.simplefilter("always", pd.errors.ParserWarning)
        try:
            yield
        except UnicodeDecodeError as error:
            raise TableError(_undecodable(reader.name, error, path, options)) from error
        except pd.errors.EmptyDataError:
            raise TableError(f"{reader.name} is empty.") from None
        except pd.errors.ParserError as error:
            reason = quoted(str(error).split("C error:")[-1].strip().rstrip("."), 200)
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


def _undecodable(name: str, error: UnicodeDecodeError, path: str, options: dict[str, Any]) -> str:
    encoding = options["encoding"]
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


def _separator(text: str, path: str, decimal: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()][:2]
    # what stands between quotes does not separate
    first, *rest = ["".join(line.split('"')[::2]) for line in lines] or [""]
    counts = Counter(c for c in first if c in SEPARATORS and c != decimal)
    others = [c for c in counts if c != ","]
    if others and "," in counts:  # as in "1,5;2,5" and in "size, cm;weight, kg"
        best = max(others, key=lambda c: counts[c])
        below = (rest or [first])[0]
        is_decimal = all(_is_number(cell, ",") for cell in below.split(best))
        if below.count(best) == counts[best] and (is_decimal or below.count(",") != counts[","]):
            return best
    if counts:
        return max(SEPARATORS, key=lambda c: counts[c])
    if path.endswith((".tsv", ".tab", ".tsv.gz")):
        return "\t"
    widths = {len(line.split()) for line in (first, *rest)}
    is_aligned = len(widths) == 1 and widths != {1}
    return r"\s+" if is_aligned and all(map(_is_number, (rest or [first])[0].split())) else ","


def _is_number(cell: str, decimal: str = ".") -> bool:
    try:
        float(cell.strip().replace(decimal, ".") if decimal != "." else cell)
    except ValueError:
        return False
    return True


def _first_records(text: str, separator: str, is_cut: bool, name: str) -> list[list[str]]:
    """The first two records, or one where the second is not whole."""
    lines = io.StringIO(text, newline="")
    if separator == r"\s+":
        found = [line.split() for line in lines if line.strip()][:2]
    else:
        limit = csv.field_size_limit(2 * HEAD)  # a cell may be as long as it likes
        try:
            parsed = csv.reader(lines, delimiter=separator, skipinitialspace=True)
            found = []
            for record in parsed:
                if any(record):
                    found.append(record)
                if len(found) == 2:
                    break
        except csv.Error as error:
            raise broken(name, error) from error
        finally:
            csv.field_size_limit(limit)
    if is_cut and not lines.read(1):  # the last record may go on beyond what was looked at
        found = found[:-1]
    if not found:
        raise TableError(f"{name}: the first line is longer than {HEAD:,} bytes.")
    return found
