"""The source of a table, and what `softkern analyze` works on: its job and the prepared table."""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from softkern._utils.progress import stage
from softkern._utils.text import closest_match, one_line, plural, quote, quote_list, unknown_names
from softkern.tables.cli.errors import spell_option
from softkern.tables.cli.options import AnalyzeSettings
from softkern.tables.cli.output_folder import check_free
from softkern.tables.cli.parts import Parts
from softkern.tables.cli.printer import Printer
from softkern.tables.explain.row_view import view_prepared
from softkern.tables.io import Format, Reader, TableError, open_table
from softkern.tables.preparation import PreparedTable, TablePreparation
from softkern.tables.text import note_text

STDIN = "-"
CLASS_NAMES = {"label", "class", "target"}  # columns that often hold labels, not features
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
    seconds: dict[str, float] = field(default_factory=dict)  # of every step
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


@dataclass(frozen=True)
class TableInput:
    """The table as it was read, and as the model receives it."""

    reader: Reader  # closed; knows the name and the format
    table: pd.DataFrame  # all rows as they were read
    id: str | None  # column that identifies the rows
    prepared: PreparedTable
    notes: list[str]  # on how the table was read and prepared
    shown: tuple[str, str] | None  # features that the page draws first
    rows: Any  # numbers of the used rows; the table's first row is 1, (n,)
    joined: str | None  # file that --join writes

    @property
    def used(self) -> pd.DataFrame:
        """The used rows as they were read."""
        return self.table[self.prepared.is_used]

    @property
    def ids(self) -> Any:
        """Identifiers of the used rows, or None."""
        return None if self.id is None else self.used[self.id].to_numpy()

    def to_describe(self) -> pd.DataFrame:
        """Return the columns that describe clusters: features as they were read, and all text."""
        preparation, table = self.prepared.preparation, self.used
        columns = preparation.columns_
        numbers = self.prepared.features[columns].set_axis(table.index)
        for k in view_prepared(self.prepared).dates:
            numbers[columns[k]] = pd.to_datetime(numbers.iloc[:, k], unit="D")
        numbers = numbers.mask(table[columns].isna())
        hidden = {self.id, *preparation.exclude, *columns}
        texts = [
            name
            for name in table.columns
            if name not in hidden
            and (name in preparation.categories_ or not is_numeric_dtype(table[name]))
        ]
        return numbers.join(table[texts])


def read_input(job: Job) -> TableInput:
    """Read the table, choose its columns and prepare them. Print what was done."""
    settings = job.settings
    with job.step("read"), job.open_table(settings.format) as reader:
        identifier = reader.identifier(settings.id)
        categories = split_names(settings.categories, reader.columns)
        table = reader.read(text=[] if identifier is None else [identifier], words=categories)
    shape = f"{plural(len(table), 'row')} × {plural(len(reader.columns), 'column')}"
    job.printer.line(f"{reader.name}: {reader.kind}, {shape}")
    notes = list(reader.notes)
    excluded = _excluded(settings, identifier, table, notes)
    joined = None
    if settings.join:
        ending = reader.style.extension if settings.points is None else f".{settings.points}"
        joined = f"joined{ending}"
        check_free(settings.out / joined, settings.force)
    with job.step("prepare"):
        columns = settings.columns
        prepared = TablePreparation(
            columns=None if columns is None else split_names(columns, reader.columns),
            categories=categories,
            scale=settings.scale,
            missing=settings.missing,
            exclude=excluded,
            decimal=reader.decimal,
            dates=settings.dates,
        ).fit_prepare(table)
    names = prepared.features.columns.tolist()
    shown = None if settings.show is None else _columns_to_show(settings.show, names)
    used = np.flatnonzero(prepared.is_used)
    rows = 1 + (used if job.row_numbers is None else job.row_numbers[used])
    found = TableInput(reader, table, identifier, prepared, notes, shown, rows, joined)
    if identifier is not None:
        notes += _repeated(found.used[identifier])
    notes += [note_text(note, spell_option) for note in prepared.notes]
    job.printer.notes(notes)
    shape = f"{len(rows):,} rows, {plural(len(names), 'feature')}"
    job.printer.line(f"{shape}: {quote_list(names, 8)}")
    return found


def split_names(words: Sequence[str] | None, columns: Sequence[str]) -> list[str]:
    """Return the column names in options such as "a,b".

    A name with a comma in it is recognized as a whole. A name of several lines may be given in
    one line, as messages show it.
    """
    by_line = {one_line(column): column for column in reversed(columns)}
    names: list[str] = []
    for word in words or ():
        is_one = word in columns or word in by_line
        parts = [word] if is_one else [part.strip() for part in word.split(",")]
        names += [part if part in columns else by_line.get(part, part) for part in parts]
    return list(dict.fromkeys(names))


def _excluded(
    settings: AnalyzeSettings, identifier: str | None, table: pd.DataFrame, notes: list[str]
) -> list[str]:
    """Return the columns that are no features. Note those that may not be meant as features."""
    columns = list(table.columns)
    excluded = split_names(settings.exclude, columns)
    lacking = [name for name in excluded if name not in columns]
    if lacking:
        raise TableError(f"--exclude: there is no column {unknown_names(lacking, columns)}")
    chosen = split_names([*(settings.columns or ()), *(settings.categories or ())], columns)
    if identifier is not None and identifier not in chosen:
        excluded.append(identifier)
    if settings.columns is None:
        notes += [
            f"'{quote(name)}' is used as a feature; --exclude leaves it out"
            for name in columns
            if str(name).lower() in CLASS_NAMES
            and table[name].dtype.kind in "iufb"
            and name not in excluded
        ]
    return excluded


def _repeated(ids: pd.Series[Any]) -> list[str]:
    """Return a note on identifiers that occur in several rows."""
    repeated = sorted(ids[ids.duplicated()].dropna().unique(), key=str)
    if not repeated:
        return []
    names = f"{plural(len(repeated), 'value')} of '{quote(ids.name)}' name"
    return [
        f"{names}{'s' * (len(repeated) == 1)} more than one row: {quote_list(repeated, 3)}; the "
        "column 'row' is unique"
    ]


def _columns_to_show(names: str, features: list[str]) -> tuple[str, str]:
    """Return the two features that --show names."""
    shown = split_names([names], features)
    if len(shown) != 2 or not set(shown) <= set(features):
        guesses = [closest_match(name, features) for name in shown if name not in features]
        meant = f"; did you mean {quote_list(guesses)}?" if any(guesses) else ""
        raise TableError(
            f"--show '{quote(names)}' must name two of the features: {quote_list(features, 12)}"
            f"{meant}."
        )
    return shown[0], shown[1]
