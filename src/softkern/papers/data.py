"""The papers' real sets, by name, with checks that they are the ones meant.

A file of the same name can hold another version (UCI's wbc with its missing rows, pima with 768):
shape and class counts are compared before anything is run.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass

import numpy as np
from sklearn.utils import Bunch

from softkern import datasets
from softkern.datasets.folder import place_of

__all__ = ["SETS", "Described", "Unavailable", "described", "load"]

# rows, columns and members of the classes, in falling order
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
    """A set cannot be had here, or is another one than the paper's."""


@dataclass(frozen=True)
class Described:
    """What a page says of a set."""

    name: str
    source: str
    rows: int
    columns: int
    classes: str
    digest: str


def load(name: str) -> Bunch:
    """A set with rows, columns and classes as the paper's."""
    try:
        found = datasets.load_documents() if name == "nips" else datasets.load_dataset(name)
    except (OSError, ValueError) as error:
        raise Unavailable(f"{name} cannot be had here: {error}") from error
    rows, columns, classes = SETS[name]
    if found.data.shape != (rows, columns):
        raise Unavailable(
            f"{name} has {found.data.shape[0]} rows and {found.data.shape[1]} columns here; the "
            f"paper's has {rows} and {columns}."
        )
    if _counts(found) != classes:
        raise Unavailable(
            f"{name} has classes of {_counts(found)} rows here; the paper's of {classes}."
        )
    return found


def described(found: Bunch) -> Described:
    """Source in words (no path), size and a digest of the values."""
    counts = "none" if found.target is None else ", ".join(map(str, _counts(found)))
    rows, columns = found.data.shape
    source = "data folder" if found.name == "nips" else place_of(found.name)
    return Described(found.name, source, rows, columns, counts, _digest(found))


def _counts(found: Bunch) -> tuple[int, ...]:
    if found.target is None:
        return ()
    return tuple(sorted(Counter(found.target.tolist()).values(), reverse=True))


def _digest(found: Bunch) -> str:
    data = found.data.data if found.name == "nips" else found.data.to_numpy(np.float64)
    return hashlib.sha256(np.ascontiguousarray(data, dtype=np.float64).tobytes()).hexdigest()[:12]
