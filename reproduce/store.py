"""Store results on disk: one JSON file per check, and its pictures.

Files are written atomically, so that an interrupted run keeps the finished checks. They hold plain
values only. Verdicts are computed when a file is read.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from reproduce.checks import Check, Entry, Experiment, Measured
from reproduce.verified import Description
from softkern import __version__

__all__ = ["Drawn", "Record", "Store", "write_text"]

FORMAT = 1
DPI = 90


@dataclass(frozen=True)
class Drawn:
    """A stored picture."""

    title: str
    printed: str
    file: str  # relative to the pages


@dataclass(frozen=True)
class Record:
    """The stored result of a check, or the reason why it could not be run."""

    id: str
    quick: bool
    seed: int
    date: str
    seconds: float
    code: str  # digest of the paper's module, so that a changed check is rerun
    versions: dict[str, str]
    entries: list[Entry] = field(default_factory=list)
    why: str = ""
    draws: int = 0
    tried: dict[str, int] = field(default_factory=dict)
    experiments: list[Experiment] = field(default_factory=list)
    pictures: list[Drawn] = field(default_factory=list)
    data: list[Description] = field(default_factory=list)
    unavailable: str = ""


class Store:
    """The folder of a run: ``results/`` with one file per check, and ``figures/``.

    Parameters
    ----------
    folder : Path
        Created on the first write.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(Store(Path(folder)).read("2007-F1a"))
    None
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    def read(self, id: str) -> Record | None:
        """Read the record of a check. None if there is none or it cannot be read."""
        try:
            values = json.loads(self._file(id).read_text(encoding="utf-8"))
            if values.pop("format") != FORMAT:
                return None
            return _record(values)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def is_done(self, check: Check, quick: bool, seed: int, code: str) -> bool:
        """Whether a run may skip the check: the same code, seed and version of softkern.

        The record of a full run also counts for a quick one, but not vice versa.
        """
        record = self.read(check.id)
        if record is None or record.unavailable or (record.code, record.seed) != (code, seed):
            return False
        return record.versions.get("softkern") == __version__ and (quick or not record.quick)

    def write(self, record: Record, measured: Measured | None = None) -> Record:
        """Write the pictures, then the record. Returns it with the names of the pictures."""
        pictures = [] if measured is None else self._save_pictures(record.id, measured)
        record = Record(**{**vars(record), "pictures": pictures})
        text = json.dumps({"format": FORMAT, **asdict(record)}, ensure_ascii=False, indent=1)
        write_text(self._file(record.id), text + "\n")
        return record

    def _file(self, id: str) -> Path:
        return self.folder / "results" / f"{id}.json"

    def _save_pictures(self, id: str, measured: Measured) -> list[Drawn]:
        drawn = []
        (self.folder / "figures").mkdir(parents=True, exist_ok=True)
        for place, picture in enumerate(measured.pictures, 1):
            file = f"figures/{id}-{place}.png"
            picture.figure.savefig(self.folder / file, format="png", dpi=DPI)
            drawn.append(Drawn(picture.title, picture.printed, file))
        return drawn


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically: an interruption leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def _record(values: dict[str, Any]) -> Record:
    lists = {
        "entries": Entry,
        "experiments": Experiment,
        "pictures": Drawn,
        "data": Description,
    }
    for name, kind in lists.items():
        values[name] = [kind(**item) for item in values[name]]
    return Record(**values)
