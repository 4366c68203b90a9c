"""Signals to stop: Ctrl-C, termination, and a closed terminal.

Each of them raises SystemExit, so that unfinished files are removed on the way out. The usual
KeyboardInterrupt would not do: after one inside ``exec``, such as in an import of scipy.stats,
Python ends itself by SIGINT although the exception was handled. Exceptions may also be lost where
C code calls Python, so that in the end `received` decides about the exit code.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
received: list[int] = []
_is_deferred = False


def stop_on_signals() -> None:
    """Stop the program at a signal. Signals are ignored once nothing but Python shuts down."""
    sys.unraisablehook = _report_lost
    _handle_signals(_stop)
    atexit.register(_handle_signals, signal.SIG_IGN)


def exit_on_signals(code: int) -> None:
    """At a signal, exit at once with the code of the finished command: threads may still run."""
    _handle_signals(lambda number, frame: os._exit(code))


def _handle_signals(handler: Any) -> None:
    """Set the handler of signals to stop, except of those that are ignored, as under nohup."""
    for name in NAMES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _stop(number: int, frame: Any) -> None:
    received.append(number)
    if not _is_deferred:
        stop_if_received()


def stop_if_received() -> None:
    """Stop if there was a signal."""
    if received:
        sys.exit(128 + received[0])


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Stop before or after a block that takes milliseconds, not within it."""
    global _is_deferred
    _is_deferred = True
    try:
        stop_if_received()
        yield
    finally:
        _is_deferred = False
    stop_if_received()


def _report_lost(lost: Any) -> None:
    """Report an exception that Python cannot raise, such as in ``__del__``, unless of a signal."""
    if not (received and isinstance(lost.exc_value, SystemExit)):
        sys.__unraisablehook__(lost)
