"""Exit codes and one-line messages for errors.

The code follows from the declared type of an error. A ValueError that is not of a declared type,
such as one that NumPy raises, is an internal error.
"""

from __future__ import annotations

import errno
import shlex
from typing import Any

import typer

from softkern._utils.text import quote, shorten
from softkern.exceptions import ClusterError, DataError, ModelFileError, Remedy
from softkern.tables.cli.program import BROKEN_PIPE, INTERRUPTED

INTERNAL, USAGE, DATA, OUTPUT, MODEL, MEMORY, CLUSTER = 1, 2, 3, 4, 5, 6, 7
LONGEST = 2000  # characters of a message. Longer ones are cut in the middle
OPTIONS = {"n_clusters": "clusters", "na_values": "na"}  # parameters whose option has another name


class OptionError(typer.BadParameter):
    """The value of an option is invalid. The message continues a sentence that names the option."""


class OutputError(Exception):
    """The output cannot be written for a reason that raises no OSError."""


CODES: dict[type[Exception], int] = {  # the first that fits: a broken pipe is an OSError, too
    BrokenPipeError: BROKEN_PIPE,
    OSError: OUTPUT,
    OutputError: OUTPUT,
    ClusterError: CLUSTER,
    ModelFileError: MODEL,
    DataError: DATA,
}


def exit_code(error: BaseException) -> int:
    """Return the exit code of an error. See `softkern.tables.cli.program`."""
    if type(error).__name__ == "Abort":
        return INTERRUPTED
    if hasattr(error, "format_message"):  # usage errors of typer, whichever click it uses
        return USAGE
    if isinstance(error, MemoryError) or _is_out_of_memory(error):
        return MEMORY
    return next((code for kind, code in CODES.items() if isinstance(error, kind)), INTERNAL)


def _is_out_of_memory(error: BaseException) -> bool:
    """Return whether the system could not map a library or a file."""
    if isinstance(error, ImportError):
        return "failed to map segment" in str(error) or "cannot allocate" in str(error).lower()
    return isinstance(error, OSError) and error.errno == errno.ENOMEM


def one_line(error: BaseException) -> str:
    """Return an error as one line of limited length, with its remedy."""
    code, text = exit_code(error), _flat(error)
    if code in (BROKEN_PIPE, INTERRUPTED):
        return ""
    if code == USAGE:
        text = f"{_usage(error)} (softkern --help lists commands and options)"
    elif code == OUTPUT and isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f" {error.filename}"
        text = f"cannot write{place}: {error.strerror}"
    elif code == MEMORY:
        reason = text or "an allocation failed"
        text = f"not enough memory: {reason} (fewer rows or --columns, or another --model, help)"
    elif code == INTERNAL:
        name = type(error).__name__
        text = f"internal error, {name}: {text} (please report it, with --debug)"
    elif isinstance(error, DataError):
        text = _flat(error.render(spell_option))
    return shorten(text, LONGEST)


def spell_option(remedy: Remedy) -> str:
    """Return a parameter as it is typed on the command line."""
    name = OPTIONS.get(remedy.parameter, remedy.parameter).replace("_", "-")
    if remedy.value is None or remedy.value is True:
        return f"--{name}"
    if remedy.value is False:
        return f"--no-{name}"
    value = remedy.value
    text = ",".join(value) if isinstance(value, list | tuple) else str(value)
    return f"--{name} {text if text == ',' else shlex.quote(text)}"


def _usage(error: Any) -> str:
    """Return the message of a usage error, with the option as it is typed."""
    kind, param = type(error).__name__, getattr(error, "param", None)
    if kind == "NoSuchOption":
        near = [f"did you mean {' or '.join(error.possibilities)}?"] if error.possibilities else []
        return "; ".join([f"there is no option {_flat(error.option_name)}", *near])
    if param is None:
        return _flat(error.message)
    name = max(param.opts, key=len) if param.param_type_name == "option" else param.name.upper()
    if kind == "MissingParameter":
        return f"{name} is missing: {_flat(param.help or 'see --help')}"
    if isinstance(error, OptionError):
        return f"{name} {_flat(error.message)}"
    return _flat(error.format_message())


def _flat(error: object) -> str:
    return quote(" ".join(str(error).split()), LONGEST)
