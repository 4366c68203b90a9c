"""What users may catch: the package's own warnings and errors, each with one meaning."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

__all__ = [
    "ApproximationWarning",
    "ClusterError",
    "CollapseWarning",
    "DataError",
    "ModelFileError",
    "ParameterWarning",
    "ReseedWarning",
    "SpectrumWarning",
    "warn",
]

INSIDE = (f"{Path(__file__).parent}{os.sep}", f"{os.sep}sklearn{os.sep}")


class CollapseWarning(UserWarning):
    """Centres coincide, or memberships have become equal: there are fewer clusters than asked."""


class ParameterWarning(UserWarning):
    """A parameter is used as given, and will not do what it is for."""


class ReseedWarning(UserWarning):
    """A cluster lost all its points and was started again from another point."""


class SpectrumWarning(UserWarning):
    """The eigenvectors do not determine the clusters, or give one of them to a few outliers."""


class ApproximationWarning(UserWarning):
    """The engine's error is large enough to change the answer."""


class DataError(ValueError):
    """The data cannot be used as they are; the message says why and what to do."""


class ClusterError(RuntimeError):
    """The Dask cluster cannot go on; the message says what is missing."""


class ModelFileError(ValueError):
    """The file is not a model that may be loaded; the message says why."""


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning at the user's line: the first frame outside this package and scikit-learn."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_inside(frame.f_code.co_filename):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def _is_inside(filename: str) -> bool:
    return any(part in filename for part in INSIDE)
