"""Where a table is read from, as often as needed."""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from softkern.tables.io import Format, Reader, open_table

STDIN = "-"


@dataclass(frozen=True)
class Source:
    """A file that holds a table."""

    path: str
    name: str | None = None  # shown in messages; None is the path

    def open(self, form: Format) -> Reader:
        """Open the table."""
        return open_table(self.path, form, name=self.name)


@contextmanager
def open_source(data: str, rereadable: bool = True) -> Iterator[Source]:
    """Yield the source of a table. Standard input that is read twice is kept in a file."""
    if data != STDIN or not rereadable or sys.stdin is None:
        yield Source(data)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "standard input"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield Source(str(path), "standard input")


def digest_of(path: str) -> str | None:
    """Return the SHA-256 digest of a file, or None for standard input and other streams."""
    if not Path(path).is_file():
        return None
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
