"""What a command works on: the source of a table, and the job of an analysis."""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from softkern._utils.progress import stage
from softkern.tables.cli.options import AnalyzeSettings
from softkern.tables.cli.parts import Parts
from softkern.tables.cli.printer import Printer
from softkern.tables.io import Format, Reader, open_table

STDIN = "-"
STEPS = {  # names in run.json, and what the terminal shows
    "read": "reading the table",
    "prepare": "preparing its columns",
    "fit": "looking for clusters and outliers",
    "rank": "ranking rows",
    "explain": "explaining rows and clusters",
    "model": "saving the model",
    "points": "writing rows",
    "join": "writing the table with its results",
    "report": "drawing the page",
}


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


@dataclass(frozen=True)
class Job:
    """An analysis: the settings, the table, the printer of messages, and the time of every step.

    For a table in many files, or larger than memory, `parts` holds all rows, and `row_numbers`
    are those of a sample that is opened.
    """

    settings: AnalyzeSettings
    open_table: Callable[[Format], Reader]
    printer: Printer
    parts: Parts | None = None
    row_numbers: Any = None
    started: datetime = field(default_factory=partial(datetime.now, UTC))
    seconds: dict[str, float] = field(default_factory=dict)
    _start: float = field(default_factory=time.perf_counter)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a step, and show it as a stage."""
        start = time.perf_counter()
        with stage(STEPS[name]):
            yield
        self.seconds[name] = round(time.perf_counter() - start, 3)

    def total(self) -> float:
        """Return the seconds since the beginning."""
        return round(time.perf_counter() - self._start, 3)
