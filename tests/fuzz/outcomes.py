"""Outcome of a fuzz case in one word, the same words for arrays, tables, files and laws."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SECONDS = 20  # time limit of a case
PASSED = ("fitted", "rejected", "works", "holds")
# parts of messages about internal arrays, not about the data of the user
INTERNAL = ("contains NaN or infinity", "infs or NaNs", "zero-size array", "broadcast", "convert")


def classify_rejection(error: ValueError) -> tuple[str, str]:
    """Return "rejected" for an error that we or scikit-learn's checks raised about the data."""
    message = str(error)
    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    is_ours = "softkern" in frames[-1] or "validation" in Path(frames[-1]).name
    is_clear = is_ours and not any(part in message for part in INTERNAL)
    return ("rejected" if is_clear else "unclear"), f"{error_location(error)} ValueError: {message}"


def classify_failure(error: BaseException) -> tuple[str, str]:
    """Return "unclear" for an unintended error, "slow" for a timeout."""
    if isinstance(error, TimeoutError):
        return "slow", error_location(error)
    return "unclear", f"{error_location(error)} {type(error).__name__}: {error}"


def error_location(error: BaseException) -> str:
    """Return the innermost line of this package in the traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "softkern/" in f.filename] or frames
    return f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"


@contextmanager
def time_limit(seconds: float = SECONDS) -> Iterator[None]:
    """Raise a TimeoutError inside the context after this time."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
