"""What came of a case, in one word: the same words for arrays, tables, files and laws."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SECONDS = 20  # that a case may take
WELL = ("fitted", "refused", "works", "holds")
# words of messages that name nothing the user gave
INSIDE = ("contains NaN or infinity", "infs or NaNs", "zero-size array", "broadcast", "convert")


def refused(error: ValueError) -> tuple[str, str]:
    """A refusal is one of ours, or of scikit-learn's checks, and speaks of what was given."""
    message = str(error)
    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    is_ours = "softkern" in frames[-1] or "validation" in Path(frames[-1]).name
    is_clear = is_ours and not any(words in message for words in INSIDE)
    return ("refused" if is_clear else "unclear"), f"{place(error)} ValueError: {message}"


def failed(error: BaseException) -> tuple[str, str]:
    """What nobody has raised on purpose, or what took too long."""
    if isinstance(error, TimeoutError):
        return "slow", place(error)
    return "unclear", f"{place(error)} {type(error).__name__}: {error}"


def place(error: BaseException) -> str:
    """The innermost line of this package that the error went through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "softkern/" in f.filename] or frames
    return f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"


@contextmanager
def limited(seconds: float = SECONDS) -> Iterator[None]:
    """Raise a TimeoutError where it takes longer."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
