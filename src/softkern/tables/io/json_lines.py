"""JSON lines: one object a line. Objects within it are columns called "user.name"."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from softkern.tables.io.bytes import in_memory, is_plain, naming
from softkern.tables.io.reader import Format, Reader, Style, TableError, unique_names
from softkern.tables.io.records import pieces

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["is_json_lines", "json_lines_table"]

BOM = b"\xef\xbb\xbf"
ARRAY = "turn it into JSON lines, one object a line: jq -c '.[]' FILE | softkern analyze - …"


def is_json_lines(head: bytes, name: str) -> bool:
    r"""Whether a file's lines are JSON objects; JSON of another shape is refused.

    Examples
    --------
    >>> is_json_lines(b'{"x": 1}\n{"x": 2}\n', "a.jsonl"), is_json_lines(b"x,y\n1,2\n", "a.csv")
    (True, False)
    """
    start = head.removeprefix(BOM).lstrip()
    if start.startswith(b"["):
        rest = start[1:].lstrip()
        if rest[:1] in (b"{", b"[") or _is_json(start):
            raise TableError(f"{name} is JSON, one array; {ARRAY}.")
        return False
    if not start.startswith(b"{"):
        return False
    line = start.split(b"\n", 1)[0]
    if _is_json(line):
        return True
    if start[1:].lstrip()[:1] in (b'"', b"}"):
        raise TableError(f"{name} is JSON, one object over several lines; {ARRAY}.")
    return False


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:  # also of bytes that are no text
        return False
    return True


def json_lines_table(raw: BinaryIO, path: str, name: str, packed: str, form: Format) -> Reader:
    """An open table. Its columns are found by reading it once; a plain file is then read again."""
    if is_plain(path, packed):
        raw.close()
        source: Any = lambda: open(path, "rb")  # noqa: E731, SIM115
    else:
        whole = in_memory(raw, name).getvalue()
        source = lambda: io.BytesIO(whole)  # noqa: E731
    keys: dict[str, None] = {}
    with source() as stream:
        for row in _rows(stream, name):
            keys |= dict.fromkeys(row)
    notes: list[str] = []
    columns = unique_names(list(keys), notes)
    reader = Reader(name, f"JSON lines{packed}", columns, notes, form.decimal, Style(".jsonl"))

    def chunks(
        rows: int | None, kept: tuple[str, ...], words: tuple[str, ...]
    ) -> Iterator[pd.DataFrame]:
        with source() as stream:
            records = (tuple(row.get(key) for key in keys) for row in _rows(stream, name))
            yield from pieces(records, reader, form.marks(), rows, kept)

    reader._chunks = chunks
    return reader


def _rows(stream: BinaryIO, name: str) -> Iterator[dict[str, Any]]:
    with naming(name):
        for number, line in enumerate(stream, start=1):
            text = line.removeprefix(BOM).strip() if number == 1 else line.strip()
            if not text:
                continue
            try:
                row = json.loads(text)
            except ValueError as error:
                raise TableError(f"{name}: line {number:,} is no JSON: {error}.") from None
            if not isinstance(row, dict):
                raise TableError(f'{name}: line {number:,} is no object, such as {{"x": 1}}.')
            yield _flat(row)


def _flat(row: dict[str, Any], above: str = "") -> dict[str, Any]:
    """Objects within an object as its own fields; lists as their text."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{above}{key}.")
        elif isinstance(value, list):
            flat[f"{above}{key}"] = json.dumps(value, ensure_ascii=False)
        else:
            flat[f"{above}{key}"] = value
    return flat
