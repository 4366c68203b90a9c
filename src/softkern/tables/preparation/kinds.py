"""The kind of every column of numbers: a measurement, an identifier, a constant and so on."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import kolmogorov

from softkern._utils.typing import Array
from softkern.kernels.spread import FEWEST_STEPS
from softkern.rows import Rows
from softkern.tables.preparation.notes import Note
from softkern.tables.preparation.skew import SignedLog, fit_signed_log

ColumnKind = Literal[
    "empty", "mostly empty", "constant", "date", "row number", "named identifier", "unique numbers",
    "sequence", "random digits", "two values", "codes", "skewed", "number",
]  # fmt: skip
ROW_NAMES = {"row number", "named identifier", "unique numbers", "sequence", "random digits"}
FEATURES = {"two values", "codes", "skewed", "number"}
NINES = re.compile(r"-?99+")
MOSTLY = 0.5  # share of missing cells above which most of a column would be imputed
LARGEST_WHOLE = 2.0**53  # beyond it, floats do not represent all whole numbers
FEWEST_NUMBERED = 20  # rows from which whole numbers without a gap are not a coincidence
FEWEST_COUNTED = 3  # the same if the name shows that they count
REPEATS_BY_CHANCE = 10.0  # expected repeats from which their absence is not chance (e^−10)
NEIGHBORS_APART = 10  # values over which the density of whole numbers is measured
EVEN = 0.01  # level of the test for evenly spread numbers
FEWEST_EVEN = 50  # numbers from which that test has power
FEWEST_DIGITS = 5  # least digits of identifiers that are spread over all numbers of their length
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")  # in customer_id, CustomerID, Customer No.
IDENTIFIERS = {"id", "uid", "uuid", "guid"}  # first or last word of an identifier's name
COUNTERS = {"index", "idx", "key", "no", "nr", "number", "row", "rowid"}  # the whole name
NAMELESS = re.compile(r"column 1|Unnamed: 0")  # names that readers give to a first column


@dataclass(frozen=True)
class Column:
    """The kind of a column of numbers."""

    name: str
    kind: ColumnKind
    n_values: int = 0  # distinct values of "two values" and "codes"
    signed_log: SignedLog | None = None  # transformation of a skewed column
    # a value such as -999 that may stand for a missing one: it is further from all others than
    # these are from each other, and is used as it is
    placeholder: str = ""


def recognize(
    X: Any, names: Sequence[str] | None = None, *, features: Collection[str] = ()
) -> list[Column]:
    """Recognize the kind of every column of numbers (n, d). NaN and infinite cells are missing.

    A name such as "customer_id" is a hint, never needed. Columns in `features` are features in any
    case. A column that lacks more than half of its values is not one: imputed, most of it would
    consist of a few repeated values, which form clusters. A table in which every row occurs
    equally often counts as one without repeats.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([np.arange(300), rng.lognormal(size=300), rng.integers(2, size=300)])
    >>> [column.kind for column in recognize(X)]
    ['row number', 'skewed', 'two values']
    """
    X = np.asarray(X, dtype=np.float64)
    X = np.where(np.isfinite(X), X, np.nan)
    names = [f"column {j}" for j in range(X.shape[1])] if names is None else list(names)
    if len(X) == 0:
        return [Column(name, "empty") for name in names]
    index, copies = Rows(np.nan_to_num(X, nan=np.inf)).distinct  # NaN differs from itself
    if copies.min() == copies.max() > 1:
        X = X[np.sort(index)]
    return [_recognize(X[:, j], name, name in features) for j, name in enumerate(names)]


def choose_features(
    X: Array, names: Sequence[str], required: Collection[str], is_scaled: bool
) -> tuple[dict[str, SignedLog | None], list[Note]]:
    """Return the columns that are features, at least one if possible, and notes on all columns.

    Features come with their transformation, None without `is_scaled`.
    """
    columns = recognize(X, names, features=required)
    notes: list[Note] = []
    kinds = {column.kind for column in columns}
    if not kinds & FEATURES:  # better an identifier than nothing
        is_sparse = "mostly empty" in kinds
        columns = recognize(X, names, features=names)
        kinds = {column.kind for column in columns}
        if kinds & FEATURES:
            notes.append(Note("identifiers used", values={"is_sparse": is_sparse}))
    features, placeholders = {}, []
    for column in columns:
        is_feature = column.kind in FEATURES
        if is_feature:
            features[column.name] = column.signed_log if is_scaled else None
        # notes on features are about their scale
        if not is_feature or (is_scaled and column.kind != "number"):
            notes.append(Note(column.kind, [column.name], {"n_values": column.n_values}))
        if column.placeholder:
            placeholders.append(Note("placeholder", [column.name], {"value": column.placeholder}))
    notes += placeholders
    if kinds & {"mostly empty", *ROW_NAMES}:
        notes.append(Note("columns can be named"))
    return features, notes


def _recognize(x: Array, name: str, is_feature: bool) -> Column:
    present = x[~np.isnan(x)]
    if present.size == 0:
        return Column(name, "empty")
    values, counts = np.unique(present, return_counts=True)
    if values.size == 1:
        return Column(name, "constant")
    if not is_feature and present.size < (1 - MOSTLY) * x.size:
        return Column(name, "mostly empty")
    kind = None if is_feature else identifier_kind(x, values, name)
    if kind is not None:
        return Column(name, kind)
    if values.size < FEWEST_STEPS and values.size < x.size:
        return Column(name, "two values" if values.size == 2 else "codes", n_values=values.size)
    signed_log, placeholder = fit_signed_log(values, counts), _placeholder(values)
    kind = "number" if signed_log is None else "skewed"
    return Column(name, kind, signed_log=signed_log, placeholder=placeholder)


def _placeholder(values: Array) -> str:
    """Return the first or last value if it consists of nines and is far from the others."""
    for end, others in ((values[0], values[1:]), (values[-1], values[:-1])):
        distance = np.abs(others - end).min()
        if NINES.fullmatch(f"{end:.15g}") and distance > others[-1] - others[0]:
            return f"{end:.15g}"
    return ""


# Whole numbers that name rows instead of measuring something


def identifier_kind(x: Array, values: Array, name: str) -> ColumnKind | None:
    """Return how a column x, (n,), names rows, or None if it may measure something.

    `values` are its distinct values, sorted (at least two).
    """
    if not _are_whole(values):
        return None
    words = [word.lower() for word in WORD.findall(name)] or [""]
    is_identifier = words[0] in IDENTIFIERS or words[-1] in IDENTIFIERS
    is_counter = words[-1] in ("no", "nr") or (len(words) == 1 and words[0] in COUNTERS)
    is_unique = values.size == x.size
    if is_unique and values[-1] - values[0] == values.size - 1:
        is_named = is_identifier or is_counter or NAMELESS.fullmatch(name)
        is_count = is_named and values[0] in (0, 1)
        if values.size >= (FEWEST_COUNTED if is_count else FEWEST_NUMBERED):
            return "row number"
    if values.size < FEWEST_NUMBERED:
        return None
    if are_dates(values):
        return "date"
    if is_identifier or (is_unique and is_counter):
        return "named identifier"
    if not is_unique:
        return None
    if _repeats_by_chance(values) > REPEATS_BY_CHANCE:
        return "unique numbers"
    if values.size < FEWEST_EVEN or not _is_even(values):
        return None
    step = np.diff(x)
    if (step > 0).all() or (step < 0).all():
        return "sequence"
    return "random digits" if _fills_its_digits(values) else None


def _are_whole(values: Array) -> bool:
    return bool(np.abs(values).max() < LARGEST_WHOLE and (values % 1 == 0).all())


def _repeats_by_chance(values: Array) -> float:
    """Return the expected pairs of equal values among whole numbers so dense: Σ p² n²/2.

    The density is that of the nearest values. Multiples of ten count as whole numbers.
    """
    steps = np.diff(values)
    unit = float(np.gcd.reduce(steps.astype(np.int64)))
    reach = (values[NEIGHBORS_APART:] - values[:-NEIGHBORS_APART]) / unit
    return float((NEIGHBORS_APART / (2 * reach)).sum())


def _is_even(values: Array) -> bool:
    """Return whether sorted values are uniform between the ends (Kolmogorov–Smirnov test)."""
    inner = (values[1:-1] - values[0]) / (values[-1] - values[0])
    expected = np.arange(1, inner.size + 1) / (inner.size + 1)
    distance = np.abs(inner - expected).max()
    return bool(kolmogorov(np.sqrt(inner.size) * distance) > EVEN)


def _fills_its_digits(values: Array) -> bool:
    """Return whether values reach from the least to the greatest number of their digits."""
    digits = len(str(int(values[-1])))
    lowest, highest = 10.0 ** (digits - 1), 10.0**digits
    if digits < FEWEST_DIGITS or values[0] < 0:
        return False
    near = 5 * (values[-1] - values[0]) / values.size  # e^−5 that the end lies further off
    return bool(highest - values[-1] < near and min(values[0], abs(values[0] - lowest)) < near)


def are_dates(values: Array) -> bool:
    """Return whether all numbers are dates such as 20240131."""
    if values.size == 0 or not _are_whole(values):
        return False
    year, month, day = values // 10_000, values // 100 % 100, values % 100
    parts = ((year, 1800, 2199), (month, 1, 12), (day, 1, 31))
    return all(low <= part.min() and part.max() <= high for part, low, high in parts)
