"""Runs the command line: errors become one line and an exit code that scripts can use.

0 success                       5 the model file is rejected
1 internal error: report it     6 not enough memory
2 usage                         7 the Dask cluster failed
3 the data cannot be used       130 interrupted (Ctrl-C), 143 terminated
4 the output cannot be written  141 output closed, 129 terminal closed
"""

from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from softkern.tables.cli import stopping

INTERRUPTED, BROKEN_PIPE = 130, 141


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code. Errors are one line on standard error."""
    arguments = list(arguments)
    end = arguments.index("--") if "--" in arguments else len(arguments)
    debug = "--debug" in arguments[:end]
    arguments = [a for i, a in enumerate(arguments) if i >= end or a != "--debug"]
    code: Any = None
    try:
        import typer  # not before signals are handled

        from softkern.tables.cli.commands import app

        code = typer.main.get_command(app).main(
            args=arguments, prog_name="softkern", standalone_mode=False
        )
        if sys.stdout is not None:  # None where the parent process closed it
            sys.stdout.flush()
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # rich exits when its output is closed
            return BROKEN_PIPE
        if not stopping.received:
            raise
    except Exception as error:
        if debug:
            traceback.print_exc()
        if not stopping.received:
            from softkern.tables.cli.errors import exit_code, one_line

            code = exit_code(error)
            if message := one_line(error):
                sys.stderr.write(f"softkern: {message}\n")
    if stopping.received:
        code = 128 + stopping.received[0]
    if code == INTERRUPTED:
        sys.stderr.write("softkern: interrupted; nothing is left half-written\n")
    return code if isinstance(code, int) else 0


def main() -> NoReturn:
    """Run the program `softkern` with the arguments of the process."""
    stopping.stop_on_signals()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # missing letters must not end the program
            with suppress(OSError):  # a closed file
                stream.reconfigure(errors="replace")
    code = run(sys.argv[1:])
    stopping.exit_on_signals(code)
    if code == BROKEN_PIPE:  # otherwise Python reports an error when it closes standard output
        sys.stdout = None
    sys.exit(code)
