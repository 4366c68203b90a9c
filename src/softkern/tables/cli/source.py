"""Where a table is read from, as often as needed."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from softkern.tables.io import Format, Reader, open_table

__all__ = ["Source", "open_source"]

STDIN = "-"


@dataclass(frozen=True)
class Source:
    """A table as the user named it, and the file that holds it."""

    data: str
    path: str
    name: str | None = None  # shown in messages; None is the path

    def open(self, form: Format) -> Reader:
        """Open the table."""
        return open_table(self.path, form, name=self.name)


@contextmanager
def open_source(data: str, rereadable: bool = True) -> Iterator[Source]:
    """Yield the source of a table. Standard input that is read twice is kept in a file."""
    if data != STDIN:
        yield Source(data, data)
    elif not rereadable or sys.stdin is None:
        yield Source(data, data, "standard input")
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "standard input"
            with path.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
            yield Source(data, str(path), "standard input")
