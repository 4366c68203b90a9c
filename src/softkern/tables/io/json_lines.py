"""Reads JSON lines: one object per line. Nested objects become columns such as "user.name".

`pandas.json_normalize` flattens nested objects too, but needs all rows in memory, and leaves lists
as they are. Here lists become their text.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Any

from softkern.tables.io.bytes import TableBytes, naming_errors
from softkern.tables.io.reader import Format, RecordReader, Style, TableError, unique_names

ARRAY = "turn it into JSON lines, one object per line: jq -c '.[]' FILE | softkern analyze - …"


class JsonLinesReader(RecordReader):
    """An open file of JSON lines. Its columns are found by reading it once."""

    def __init__(self, data: TableBytes, form: Format) -> None:
        super().__init__(data.name, form)
        self.kind, self.style = f"JSON lines{data.suffix}", Style(".jsonl")
        self._data = data
        if not data.can_reopen:
            data.read()
        keys: dict[str, None] = {}
        for row in self._rows():
            keys |= dict.fromkeys(row)
        self._keys = list(keys)
        self.columns = unique_names(self._keys, self.notes)

    def _records(self) -> Iterator[tuple[Any, ...]]:
        return (tuple(row.get(key) for key in self._keys) for row in self._rows())

    def _rows(self) -> Iterator[dict[str, Any]]:
        with naming_errors(self.name):
            for number, line in enumerate(self._data.open(), start=1):
                text = line.removeprefix(BOM_UTF8).strip() if number == 1 else line.strip()
                if not text:
                    continue
                try:
                    row = json.loads(text)
                except ValueError as error:
                    raise TableError(
                        f"{self.name}: line {number:,} is not JSON: {error}."
                    ) from None
                if not isinstance(row, dict):
                    raise TableError(
                        f'{self.name}: line {number:,} is not an object, such as {{"x": 1}}.'
                    )
                yield _flat(row)


def is_json_lines(head: bytes, name: str) -> bool:
    """Return whether the lines of a file are JSON objects. Reject JSON of another shape."""
    start = head.removeprefix(BOM_UTF8).lstrip()
    first, second = start[:1], start[1:].lstrip()[:1]
    if first == b"{" and _is_json(start.split(b"\n", 1)[0]):
        return True
    if first == b"{" and second in (b'"', b"}"):
        raise TableError(f"{name} is JSON, one object over several lines; {ARRAY}.")
    if first == b"[" and (second in (b"{", b"[") or _is_json(start)):
        raise TableError(f"{name} is JSON, one array; {ARRAY}.")
    return False


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:  # also for bytes that are not text
        return False
    return True


def _flat(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested objects as fields of one, and lists as their text."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            flat[f"{prefix}{key}"] = json.dumps(value, ensure_ascii=False)
        else:
            flat[f"{prefix}{key}"] = value
    return flat
