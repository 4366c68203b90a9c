"""What users may catch: the package's own warnings and errors, each with one meaning."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "ApproximationWarning",
    "ClusterError",
    "CollapseWarning",
    "DataError",
    "ModelFileError",
    "ParameterWarning",
    "ReseedWarning",
    "SpectrumWarning",
]

INSIDE = (f"{Path(__file__).parent}{os.sep}", f"{os.sep}sklearn{os.sep}")


class CollapseWarning(UserWarning):
    """Centers coincide, or memberships have become equal: there are fewer clusters than asked.

    Examples
    --------
    >>> import warnings
    >>> from softkern.exceptions import CollapseWarning
    >>> warnings.simplefilter("error", CollapseWarning)
    """


class ParameterWarning(UserWarning):
    """A parameter is used as given, and will not do what it is for.

    Examples
    --------
    >>> import warnings
    >>> from softkern.exceptions import ParameterWarning
    >>> warnings.simplefilter("ignore", ParameterWarning)
    """


class ReseedWarning(UserWarning):
    """A cluster lost all its points and was started again from another point.

    Examples
    --------
    >>> import warnings
    >>> from softkern.exceptions import ReseedWarning
    >>> warnings.simplefilter("ignore", ReseedWarning)
    """


class SpectrumWarning(UserWarning):
    """The eigenvectors do not determine the clusters, or give one of them to a few outliers.

    Examples
    --------
    >>> import warnings
    >>> from softkern.exceptions import SpectrumWarning
    >>> warnings.simplefilter("ignore", SpectrumWarning)
    """


class ApproximationWarning(UserWarning):
    """The engine's error is large enough to change the answer.

    Examples
    --------
    >>> import warnings
    >>> from softkern.exceptions import ApproximationWarning
    >>> warnings.simplefilter("error", ApproximationWarning)
    """


@dataclass(frozen=True)
class Remedy:
    """A parameter that avoids an error, spelled by whoever shows the error."""

    parameter: str
    value: Any = None  # to pass; None where the user chooses it
    purpose: str = ""  # what it does, for example "to drop these rows"

    def __str__(self) -> str:
        """Return the parameter as a Python keyword argument."""
        return f"{self.parameter}={'…' if self.value is None else repr(self.value)}"


class DataError(ValueError):
    """The data cannot be used as they are; the message explains why and what to do.

    Parameters
    ----------
    message : str
        What is wrong. It names no parameters.
    remedies : sequence of Remedy, default=()
        Parameters that avoid the error.

    Examples
    --------
    >>> from softkern.exceptions import DataError, Remedy
    >>> remedies = [Remedy("missing", "drop", "to drop these rows"), Remedy("columns")]
    >>> print(DataError("2 values are missing.", remedies))
    2 values are missing. Use missing='drop' to drop these rows or columns=….
    """

    def __init__(self, message: str, remedies: Sequence[Remedy] = ()) -> None:
        super().__init__(message)
        self.remedies = tuple(remedies)

    def __str__(self) -> str:
        """Return the message with its remedies as Python keyword arguments."""
        return self.render(str)

    def render(self, spell: Callable[[Remedy], str]) -> str:
        """Return the message followed by its remedies, each spelled by `spell`."""
        message = super().__str__()
        if not self.remedies:
            return message
        *others, last = (f"{spell(each)} {each.purpose}".rstrip() for each in self.remedies)
        return f"{message} Use {' or '.join(filter(None, [', '.join(others), last]))}."


class ClusterError(RuntimeError):
    """The Dask cluster cannot go on; the message says what is missing.

    Examples
    --------
    >>> from softkern.exceptions import ClusterError
    >>> issubclass(ClusterError, RuntimeError)
    True
    """


class ModelFileError(ValueError):
    """The file is not a model that may be loaded; the message says why.

    Examples
    --------
    >>> from softkern import load
    >>> from softkern.exceptions import ModelFileError
    >>> try:
    ...     load(__file__)
    ... except ModelFileError as error:
    ...     print(str(error).partition(" is ")[2])
    not a softkern model: it is not a safetensors file, or is incomplete.
    """


_quiet: ContextVar[tuple[type[Warning], ...]] = ContextVar("quiet", default=())


@contextmanager
def quiet(*categories: type[Warning]) -> Iterator[None]:
    """Drop this package's own warnings of these categories, in the current thread only.

    `warnings.catch_warnings` changes the filters of all threads.
    """
    token = _quiet.set((*_quiet.get(), *categories))
    try:
        yield
    finally:
        _quiet.reset(token)


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning at the user's line: the first frame outside this package and scikit-learn."""
    if issubclass(category, _quiet.get()):
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and any(part in frame.f_code.co_filename for part in INSIDE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
