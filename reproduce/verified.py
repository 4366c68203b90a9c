"""Load the papers' real data sets, and verify that they are the paper's versions.

A file of the same name can hold another version (for example UCI's wbc with its incomplete rows, or
pima with 768 rows), so shape and class sizes are compared before a check runs.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass

import numpy as np
from sklearn.utils import Bunch

from reproduce.datasets import load_dataset, load_documents, source_of

__all__ = ["SETS", "Description", "Unavailable", "describe", "load"]

# number of rows and columns, and class sizes in descending order
SETS: dict[str, tuple[int, int, tuple[int, ...]]] = {
    "iris": (150, 4, (50, 50, 50)),
    "wine": (178, 13, (71, 59, 48)),
    "wbc": (683, 9, (444, 239)),
    "ionosphere": (351, 34, (225, 126)),
    "biomed": (194, 4, (127, 67)),
    "pima_tr": (200, 7, (132, 68)),
    "seeds": (210, 7, (70, 70, 70)),
    "shapes/a1": (3000, 2, (150,) * 20),
    "shapes/aggregation": (788, 2, (273, 170, 130, 102, 45, 34, 34)),
    "shapes/r15": (600, 2, (40,) * 15),
    "shapes/europe": (169308, 2, ()),
    "shapes/mopsi_finland": (13467, 2, ()),
    "shapes/mopsi_joensuu": (6014, 2, ()),
    "nips": (1500, 7605, ()),
}


class Unavailable(Exception):
    """A data set is not available, or is another version than the paper's."""


@dataclass(frozen=True)
class Description:
    """Size and origin of a data set, for the page."""

    name: str
    source: str
    rows: int
    columns: int
    classes: str
    digest: str


def load(name: str) -> Bunch:
    """Load a data set with the size and the classes of the paper's."""
    try:
        bunch = load_documents() if name == "nips" else load_dataset(name)
    except (OSError, ValueError) as error:
        raise Unavailable(f"{name} is not available: {error}") from error
    rows, columns, classes = SETS[name]
    if bunch.data.shape != (rows, columns):
        raise Unavailable(
            f"{name} has {bunch.data.shape[0]} rows and {bunch.data.shape[1]} columns here, but "
            f"{rows} and {columns} in the paper."
        )
    if _class_sizes(bunch) != classes:
        raise Unavailable(
            f"{name} has classes of {_class_sizes(bunch)} rows here, but of {classes} in the paper."
        )
    return bunch


def describe(bunch: Bunch) -> Description:
    """Describe a data set: source (no path), size and a digest of its values."""
    classes = "none" if bunch.target is None else ", ".join(map(str, _class_sizes(bunch)))
    rows, columns = bunch.data.shape
    source = "data folder" if bunch.name == "nips" else source_of(bunch.name)
    return Description(bunch.name, source, rows, columns, classes, _digest(bunch))


def _class_sizes(bunch: Bunch) -> tuple[int, ...]:
    if bunch.target is None:
        return ()
    return tuple(sorted(Counter(bunch.target.tolist()).values(), reverse=True))


def _digest(bunch: Bunch) -> str:
    data = bunch.data.data if bunch.name == "nips" else bunch.data.to_numpy(np.float64)
    return hashlib.sha256(np.ascontiguousarray(data, dtype=np.float64).tobytes()).hexdigest()[:12]
