"""Times the steps of an analysis, and shows them while they run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from softkern._utils.progress import stage

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


class Clock:
    """Seconds of every step."""

    def __init__(self) -> None:
        self.started = datetime.now(UTC)
        self.seconds: dict[str, float] = {}
        self._start = time.perf_counter()

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
