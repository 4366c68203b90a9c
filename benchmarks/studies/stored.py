"""Measurements that are stored as they are made, so that an interrupted run continues."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from studies.common import Records, log

Job = dict[str, Any]  # what a measurement is of, such as family, columns and seed
# takes a job and names of methods, returns one record per method
Measure = Callable[[Job, list[str]], Records]


def read(file: Path) -> Records:
    """Read stored results. An incomplete last line is removed."""
    if not file.exists():
        return []
    lines = file.read_text(encoding="utf-8").split("\n")
    if lines[-1]:
        log(f"{file.name}: removed an incomplete last line")
        file.write_text("\n".join([*lines[:-1], ""]), encoding="utf-8")
    return [json.loads(line) for line in lines[:-1]]


@dataclass(frozen=True)
class Store:
    """A folder with one file per section, one line per measurement."""

    folder: Path
    processes: int = 1

    def forget(self, methods: set[str]) -> None:
        """Remove stored measurements of some methods."""
        for file in self.folder.glob("*.jsonl"):
            kept = [record for record in read(file) if record["method"] not in methods]
            file.write_text("".join(map(_line, kept)), encoding="utf-8")

    def measure(
        self, section: str, jobs: list[Job], methods: list[str], measure: Measure
    ) -> Records:
        """Return the records of all jobs and methods. Only missing ones are measured."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"{section}.jsonl"
        known = {_key(record, jobs): record for record in read(file)}
        missing = []
        for job in jobs:
            names = [name for name in methods if _key(job | {"method": name}, jobs) not in known]
            if names:
                missing.append((job, names))
        with file.open("a", encoding="utf-8") as lines:
            for i, records in enumerate(self._run(missing, measure)):
                for record in records:
                    lines.write(_line(record))
                    known[_key(record, jobs)] = record
                lines.flush()
                if i % 20 == 19 or i + 1 == len(missing):
                    log(f"{section}: {i + 1} of {len(missing)} jobs done")
        wanted = [_key(job | {"method": name}, jobs) for job in jobs for name in methods]
        return [known[key] for key in wanted if key in known]

    def _run(self, missing: list[tuple[Job, list[str]]], measure: Measure) -> Iterator[Records]:
        if self.processes == 1:
            yield from (measure(job, names) for job, names in missing)
            return
        tasks = (delayed(partial(measure, job))(names) for job, names in missing)
        yield from Parallel(self.processes, return_as="generator_unordered")(tasks)


def _line(record: Job) -> str:
    return json.dumps(record, ensure_ascii=False, default=float) + "\n"


def _key(record: Job, jobs: list[Job]) -> tuple[Any, ...]:
    """Return what a record is of, and by which method."""
    names = [*(jobs[0] if jobs else {}), "method"]
    return tuple(record.get(name) for name in names)
