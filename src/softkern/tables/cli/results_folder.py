"""Read the results of an earlier analysis: its points, its model and its table.

`run.json` names the table and holds its digest, so that a changed table of the same name is not
used instead of the analyzed one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from softkern._utils.text import plural
from softkern.tables.cli.job import Source, digest_of
from softkern.tables.cli.scorer import SavedModel
from softkern.tables.cli.writing import unescape_formulas
from softkern.tables.io import Format, TableError, open_table

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
NEEDED = {  # required entries of run.json
    "input": ("file", "rows"),
    "preparation": ("rows",),
    "model": ("estimator",),
    "result": ("sizes",),
}
AGAIN = "softkern analyze --force writes the folder again"


@dataclass
class Results:
    """The points of a table, and what they were computed from."""

    points: pd.DataFrame  # the compared columns, and `id` if there is one
    rows: int  # rows of the table, including those that were left out
    saved: SavedModel
    estimator: str
    find_table: Callable[[], Source]  # raises a TableError if the table cannot be read again

    @property
    def features(self) -> list[str]:
        """Columns of the table that the model uses."""
        preparation = self.saved.preparation
        return [] if preparation is None else preparation.used_columns_


def read_results(folder: Path) -> Results:
    """Read and check the results in a folder."""
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "is not there"
        raise TableError(f"{folder} {what}; a results folder of softkern analyze is needed.")
    record = _record(folder / "run.json")
    there = [folder / name for name in POINTS if (folder / name).is_file()]
    if not there:
        raise TableError(f"{folder} has no points.csv (nor .xlsx, .jsonl, .parquet); {AGAIN}.")
    latest = max(there, key=lambda path: path.stat().st_mtime)
    saved = SavedModel(folder / "model.safetensors")
    points = _points(latest)
    labels = points["label"]
    sizes = labels[labels >= 0].value_counts().sort_index().tolist()
    if len(points) != record["preparation"]["rows"] or sizes != record["result"]["sizes"]:
        raise TableError(
            f"{latest.name} and run.json of {folder} are not of one analysis, or were altered; "
            f"{AGAIN}."
        )
    rows, estimator = int(record["input"]["rows"]), record["model"]["estimator"]
    return Results(points, rows, saved, estimator, partial(_find_table, record, folder))


def _record(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise TableError(f"{path.parent} is no results folder of softkern analyze: no run.json.")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        for part, names in NEEDED.items():
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


def _points(path: Path) -> pd.DataFrame:
    with open_table(str(path), WRITTEN) as reader:
        lacking = [name for name in KINDS if name not in reader.columns]
        if lacking:
            raise TableError(f"{path} was altered: it lacks '{lacking[0]}'; {AGAIN}.")
        ids = [name for name in ("id",) if name in reader.columns]
        points = reader.read(text=ids)[[*KINDS, *ids]]
    if ids and path.suffix == ".csv":
        points = points.assign(id=points["id"].map(unescape_formulas))
    try:
        flags = points["is_outlier"].astype(str).str.lower().map({"true": True, "false": False})
        return points.assign(is_outlier=flags.astype("boolean")).astype(KINDS)
    except (ValueError, TypeError) as error:
        raise TableError(
            f"{path} was altered: {plural(len(points), 'row')} do not read as points; {AGAIN}."
        ) from error


def _find_table(record: dict[str, Any], folder: Path) -> Source:
    """Return the table of an analysis. Raise an error if it cannot be read again."""
    file, digest = record["input"]["file"], record["input"].get("digest")
    if file == "-":
        raise TableError("it came from standard input")
    # earlier versions wrote no digest: the file must not be newer than the start, in seconds
    latest = datetime.fromisoformat(record["started"]).timestamp() + 1
    # the path as it was typed, from here or next to the results
    places = [Path(file), folder.absolute().parent / file]
    there = [place for place in places if place.is_file()]
    for place in there:
        is_older = digest is None and place.stat().st_mtime < latest
        if is_older or (digest is not None and digest == digest_of(str(place))):
            return Source(str(place))
    raise TableError(f"{file} {'has changed since' if there else 'is not there'}")
