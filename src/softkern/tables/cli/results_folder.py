"""Read the results of an earlier analysis: its points, its model and its table.

`run.json` names the table and holds its digest, so that a changed table of the same name is not
mistaken for the analyzed one.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from softkern._utils.text import plural
from softkern.tables.cli.formulas import unescape_formulas
from softkern.tables.cli.score import header_of, loaded
from softkern.tables.cli.source import Source
from softkern.tables.io import Format, TableError, open_table
from softkern.tables.preparation.model import preparation_of

__all__ = ["KINDS", "Results", "SourceMissingError", "digest_of", "read_results"]

POINTS = ("points.csv", "points.xlsx", "points.jsonl", "points.parquet")
KINDS: dict[str, Any] = {
    "row": "int64",
    "label": "int64",
    "membership": float,
    "is_outlier": bool,
    "outlier_score": float,
}
WRITTEN = Format(
    separator=",", encoding="utf-8", header=True, decimal=".", skip_rows=0, skip_footer=0
)
AGAIN = "softkern analyze --force writes the folder again"


class SourceMissingError(Exception):
    """The table of an analysis cannot be read again."""


@dataclass
class Results:
    """A results folder of `softkern analyze`.

    Attributes
    ----------
    folder : Path
    record : dict
        Contents of run.json.
    metadata : dict
        Metadata of the model file: how the table was read.
    points : DataFrame
        The compared columns, and `id` if there is one.
    """

    folder: Path
    record: dict[str, Any]
    metadata: dict[str, Any]
    points: pd.DataFrame

    @property
    def model(self) -> Path:
        """File of the model."""
        return self.folder / "model.safetensors"

    @property
    def rows(self) -> int:
        """Number of rows of the table, including those that were left out."""
        return int(self.record["input"]["rows"])

    @property
    def features(self) -> list[str]:
        """Columns of the table that the model uses."""
        preparation = preparation_of(loaded(self.model)[0])
        return [] if preparation is None else preparation.used_columns_

    def table(self) -> Source:
        """Return the table of this analysis, or raise `SourceMissingError`."""
        given = self.record["input"]
        if given["file"] == "-":
            raise SourceMissingError("it came from standard input")
        # as it was typed, from here or from beside the results
        places = [Path(given["file"]), self.folder.absolute().parent / given["file"]]
        there = [place for place in places if place.is_file()]
        if not there:
            raise SourceMissingError(f"{given['file']} is not there")
        for place in there:
            if self._is_same(place):
                return Source(str(place), str(place))
        raise SourceMissingError(f"{given['file']} has changed since")

    def _is_same(self, place: Path) -> bool:
        digest = self.record["input"].get("digest")
        if digest is not None:
            return bool(digest == digest_of(str(place)))
        # what an earlier version wrote has none; it was started in that second
        started = datetime.fromisoformat(self.record["started"]).timestamp()
        return place.stat().st_mtime < started + 1


def digest_of(path: str) -> str | None:
    """Return the SHA-256 digest of a file, or None for standard input and other streams."""
    if not Path(path).is_file():
        return None
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_results(folder: Path) -> Results:
    """Read and check the results in a folder."""
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "is not there"
        raise TableError(f"{folder} {what}; a results folder of softkern analyze is needed.")
    record = _record(folder / "run.json")
    name = _points_name(folder)
    header = header_of(folder / "model.safetensors")
    points = _points(folder / name)
    labels = points["label"]
    sizes = labels[labels >= 0].value_counts().sort_index().tolist()
    if len(points) != record["preparation"]["rows"] or sizes != record["result"]["sizes"]:
        raise TableError(
            f"{name} and run.json of {folder} are not of one analysis, or were altered; {AGAIN}."
        )
    return Results(folder, record, header["metadata"], points)


def _record(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise TableError(f"{path.parent} is no results folder of softkern analyze: no run.json.")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        needed = {
            "input": ("file", "rows"),
            "preparation": ("rows",),
            "model": ("estimator",),
            "result": ("sizes",),
        }
        for part, names in needed.items():
            for name in names:
                record[part][name]
        datetime.fromisoformat(record["started"])
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise TableError(
            f"{path} was altered, or another version of softkern wrote it; {AGAIN}."
        ) from error
    return dict(record)


def _points_name(folder: Path) -> str:
    """Return the name of the latest file of points."""
    there = [name for name in POINTS if (folder / name).is_file()]
    if not there:
        raise TableError(f"{folder} has no points.csv (nor .xlsx, .jsonl, .parquet); {AGAIN}.")
    return max(there, key=lambda name: (folder / name).stat().st_mtime)


def _points(path: Path) -> pd.DataFrame:
    with open_table(str(path), WRITTEN) as reader:
        lacking = [name for name in KINDS if name not in reader.columns]
        if lacking:
            raise TableError(f"{path} was altered: it lacks '{lacking[0]}'; {AGAIN}.")
        has_ids = "id" in reader.columns
        table = reader.read(text=["id"] if has_ids else [])
    points = table[[*KINDS, *(["id"] if has_ids else [])]]
    if has_ids and path.suffix == ".csv":
        points = points.assign(id=points["id"].map(unescape_formulas))
    try:
        flags = points["is_outlier"].astype(str).str.lower().map({"true": True, "false": False})
        typed = points.assign(is_outlier=flags.astype("boolean"))
        return typed.astype(KINDS)
    except (ValueError, TypeError) as error:
        raise TableError(
            f"{path} was altered: {plural(len(points), 'row')} do not read as points; {AGAIN}."
        ) from error
