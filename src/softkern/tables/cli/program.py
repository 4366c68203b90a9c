"""Runs the command line: errors become one line and an exit code that scripts can use.

0 success                       5 the model file is rejected
1 internal error: report it     6 not enough memory
2 usage                         7 the Dask cluster failed
3 the data cannot be used       130 interrupted (Ctrl-C), 143 terminated
4 the output cannot be written  141 output closed, 129 terminal closed
"""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

import typer

from softkern.tables.cli.commands import app
from softkern.tables.cli.errors import (
    BROKEN_PIPE,
    INTERRUPTED,
    INTERRUPTION,
    exit_code,
    one_line,
    received_signals,
)


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code. Errors are one line on standard error."""
    arguments = list(arguments)
    end = arguments.index("--") if "--" in arguments else len(arguments)
    debug = "--debug" in arguments[:end]
    arguments = [a for i, a in enumerate(arguments) if i >= end or a != "--debug"]
    try:
        code = typer.main.get_command(app).main(
            args=arguments, prog_name="softkern", standalone_mode=False
        )
        if sys.stdout is not None:  # None where the parent process closed it
            sys.stdout.flush()
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # rich exits when its output is closed
            return BROKEN_PIPE
        raise
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            import traceback

            traceback.print_exc()
        message = one_line(error)
        if message:
            sys.stderr.write(f"softkern: {message}\n")
        return exit_code(error)
    if code == INTERRUPTED:
        sys.stderr.write(f"softkern: {INTERRUPTION}\n")
    return code if isinstance(code, int) else 0


def main() -> NoReturn:
    """Run the program `softkern` with the arguments of the process."""
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    hangup = getattr(signal, "SIGHUP", None)  # ignored under nohup
    if hangup is not None and signal.getsignal(hangup) is signal.SIG_DFL:
        signal.signal(hangup, _terminate)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # missing letters must not end the program
            with suppress(OSError):  # a closed file
                stream.reconfigure(errors="replace")
    code = run(sys.argv[1:])
    if code == BROKEN_PIPE:  # otherwise Python reports an error when it closes standard output
        sys.stdout = None
    sys.exit(code)


class _Interruption(KeyboardInterrupt):
    """An interruption that leaves the exit code to `run`.

    After a plain KeyboardInterrupt inside ``exec``, such as in an import of scipy.stats, Python
    ends itself by SIGINT although the exception was handled.
    """


def _interrupt(number: int, frame: Any) -> NoReturn:
    received_signals.append(number)
    raise _Interruption


def _terminate(number: int, frame: Any) -> NoReturn:
    received_signals.append(number)
    sys.exit(128 + number)  # unlike the signal itself, this removes unfinished files
