"""Whole numbers that name rows instead of measuring something: row numbers, identifiers, dates."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
from scipy.special import kolmogorov

from softkern._utils.typing import Array

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

IdentifierKind = Literal[
    "row number", "date", "named identifier", "unique numbers", "sequence", "random digits"
]


def identifier_kind(x: Array, values: Array, name: str) -> IdentifierKind | None:
    """Return why a column x, (n,), names rows, or None if it may measure something.

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
