"""What an error means to a script (its exit code) and to a person (one line).

The code follows from the declared type of an error. A ValueError that is not of a declared type,
such as one that NumPy raises, is an error of softkern's own.
"""

from __future__ import annotations

import errno
from typing import Any

from softkern._utils.text import shorten
from softkern.exceptions import ClusterError, DataError, ModelFileError

__all__ = [
    "BROKEN_PIPE",
    "INTERRUPTION",
    "NoReaderError",
    "OutputError",
    "exit_code",
    "heard",
    "one_line",
]

INTERNAL, USAGE, DATA, OUTPUT, MODEL, MEMORY, CLUSTER = 1, 2, 3, 4, 5, 6, 7
INTERRUPTED, BROKEN_PIPE = 130, 141
LONGEST = 2000  # letters of a line; both of its ends are shown of a longer one
INTERRUPTION = "interrupted; nothing is left half-written"
heard: list[int] = []  # signals to stop; what they raise is lost where C code calls Python


class OutputError(Exception):
    """The output cannot be written, for a reason other than the system's."""


class NoReaderError(Exception):
    """Who read standard output, such as ``head``, has stopped."""


def exit_code(error: BaseException) -> int:
    """The exit code of an error; see `softkern.tables.cli`."""
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        return INTERRUPTED
    if hasattr(error, "format_message"):  # the command line's own errors, whichever click it is
        return USAGE
    if isinstance(error, NoReaderError | BrokenPipeError):
        return BROKEN_PIPE
    if isinstance(error, MemoryError) or _is_for_lack_of_memory(error):
        return MEMORY
    if isinstance(error, OutputError | OSError):
        return OUTPUT
    if isinstance(error, ClusterError):
        return CLUSTER
    if isinstance(error, ModelFileError):
        return MODEL
    return DATA if isinstance(error, DataError) else INTERNAL


def _is_for_lack_of_memory(error: BaseException) -> bool:
    """Whether the system could not map a library or a file, which has many names."""
    if isinstance(error, ImportError):
        return "failed to map segment" in str(error) or "cannot allocate" in str(error).lower()
    return isinstance(error, OSError) and error.errno == errno.ENOMEM


def one_line(error: BaseException) -> str:
    """An error in one line, not too long, with what to do about it."""
    return shorten(_said(error), LONGEST)


def _said(error: BaseException) -> str:
    code = exit_code(error)
    if code == BROKEN_PIPE:
        return ""
    if code == INTERRUPTED:
        return INTERRUPTION
    if code == USAGE:
        return f"{_usage(error)} (softkern --help shows what can be asked)"
    if code == OUTPUT and isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f" {error.filename}"
        return f"cannot write{place}: {error.strerror}"
    if code == MEMORY:
        reason = _flat(error) or "an allocation failed"
        return f"not enough memory: {reason} (fewer rows or --columns, or another --model, help)"
    if code == INTERNAL:
        return (
            f"internal error, {type(error).__name__}: {_flat(error)} (please report it, with what "
            "--debug shows)"
        )
    return _flat(error).replace("n_clusters=", "--clusters ")  # as it is typed here


def _usage(error: Any) -> str:
    """A mistake on the command line in our words; the option is named as it is typed."""
    kind, param = type(error).__name__, getattr(error, "param", None)
    if kind == "NoSuchOption":
        near = [f"did you mean {' or '.join(error.possibilities)}?"] if error.possibilities else []
        return "; ".join([f"there is no option {_flat(error.option_name)}", *near])
    if param is None:
        return _flat(error.format_message())
    name = max(param.opts, key=len) if param.param_type_name == "option" else param.name.upper()
    if kind == "MissingParameter":
        return f"{name} is missing: {_flat(param.help or 'see --help')}"
    return (
        f"{name} {_flat(error.message)}"
        if "must be" in error.message
        else _flat(error.format_message())
    )


def _flat(error: object) -> str:
    text = " ".join(str(error).split())
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
