"""What checks found, on disk: one JSON file and its pictures a check, each written at once.

A file appears under its name only when it is complete, so that an interrupted run keeps the checks
that were finished. It holds plain values alone; verdicts are computed when it is read.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from softkern import __version__
from softkern.files import replacing
from softkern.papers.checks import Check, Entry, Experiment, Measured
from softkern.papers.data import Described

__all__ = ["Drawn", "Record", "Store"]

FORMAT = 1
DPI = 90


@dataclass(frozen=True)
class Drawn:
    """A picture that was written."""

    title: str
    printed: str
    file: str  # beside the pages


@dataclass(frozen=True)
class Record:
    """What a check found, or why it could not be run."""

    id: str
    quick: bool
    seed: int
    date: str
    seconds: float
    code: str  # of the paper's module, so that a changed check is run again
    versions: dict[str, str]
    entries: list[Entry] = field(default_factory=list)
    why: str = ""
    draws: int = 0
    tried: dict[str, int] = field(default_factory=dict)
    experiments: list[Experiment] = field(default_factory=list)
    pictures: list[Drawn] = field(default_factory=list)
    data: list[Described] = field(default_factory=list)
    unavailable: str = ""


class Store:
    """The folder of a run: ``results/`` with a file a check, ``figures/`` with their pictures.

    Parameters
    ----------
    folder : Path

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
        """What is stored of a check; None where nothing that can be read is."""
        try:
            values = json.loads(self._file(id).read_text(encoding="utf-8"))
            if values.pop("format") != FORMAT:
                return None
            return _record(values)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def is_done(self, check: Check, quick: bool, seed: int, code: str) -> bool:
        """Whether a rerun may skip it: the same check, of this version of softkern.

        A full run serves as a quick one, not the other way.
        """
        found = self.read(check.id)
        if found is None or found.unavailable or (found.code, found.seed) != (code, seed):
            return False
        return found.versions.get("softkern") == __version__ and (quick or not found.quick)

    def write(self, record: Record, measured: Measured | None = None) -> Record:
        """Write pictures first, then the result; gives it back as it can be read again."""
        pictures = [] if measured is None else self._draw(record.id, measured)
        record = Record(**{**vars(record), "pictures": pictures})
        self._file(record.id).parent.mkdir(parents=True, exist_ok=True)
        with replacing(self._file(record.id)) as temporary:
            text = json.dumps({"format": FORMAT, **asdict(record)}, ensure_ascii=False, indent=1)
            temporary.write_text(text + "\n", encoding="utf-8")
        return record

    def _file(self, id: str) -> Path:
        return self.folder / "results" / f"{id}.json"

    def _draw(self, id: str, measured: Measured) -> list[Drawn]:
        drawn = []
        for place, picture in enumerate(measured.pictures, 1):
            file = f"figures/{id}-{place}.png"
            path = self.folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as temporary:
                picture.figure.savefig(temporary, format="png", dpi=DPI)
            drawn.append(Drawn(picture.title, picture.printed, file))
        return drawn


def _record(values: dict[str, Any]) -> Record:
    lists = {
        "entries": Entry,
        "experiments": Experiment,
        "pictures": Drawn,
        "data": Described,
    }
    for name, kind in lists.items():
        values[name] = [kind(**item) for item in values[name]]
    return Record(**values)
