"""Whole numbers that name the rows and measure nothing: row numbers, identifiers, dates.

Called by `softkern.tables.preparation.kinds`.
"""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
from scipy.special import kolmogorov

from softkern._utils.typing import Array

__all__ = ["are_dates", "naming"]

LARGEST_WHOLE = 2.0**53  # beyond it, floats cannot tell whole numbers apart
FEWEST_NUMBERED = 20  # rows from which whole numbers without a gap are no coincidence
FEWEST_COUNTED = 3  # the same, where the name says that they count
REPEATS_BY_CHANCE = 10.0  # expected, from which their absence is no chance (e^−10)
NEIGHBORS_APART = 10  # values whose reach gives the density of whole numbers
EVEN = 0.01  # level of the test of numbers that are spread evenly
FEWEST_EVEN = 50  # of them, from which that test sees something
FEWEST_DIGITS = 5  # of identifiers that are spread over all numbers of their length
IDENTIFIERS = {"id", "uid", "uuid", "guid"}  # first or last word of an identifier's name
COUNTERS = {"index", "idx", "key", "no", "nr", "number", "row", "rowid"}  # the whole of it
NAMELESS = re.compile(r"column 1|Unnamed: 0")  # what readers call a first column without a name


def naming(
    x: Array, values: Array, name: str
) -> tuple[Literal["row number", "date", "identifier"], str] | None:
    """What a column that names the rows is, and why; None for one that may measure something.

    Parameters
    ----------
    x : array of shape (n,)
        The column in the order of the table; NaN where a cell is missing.
    values : array
        Its different values, sorted; at least two.
    name : str
    """
    if not _are_whole(values):
        return None
    is_different = values.size == x.size
    if is_different and (why := _numbering(values, name)):
        return "row number", why
    if why := _dates(values):
        return "date", why
    if why := _identifier(x, values, name):
        return "identifier", why
    return None


def _numbering(values: Array, name: str) -> str:
    """Why different values number the rows; empty where they do not."""
    if values[-1] - values[0] != values.size - 1:
        return ""
    is_counter = NAMELESS.fullmatch(name) or _counts_by_name(name) or _identifies_by_name(name)
    is_named = bool(is_counter) and values[0] in (0, 1) and values.size >= FEWEST_COUNTED
    return "numbers the rows" if is_named or values.size >= FEWEST_NUMBERED else ""


def _identifier(x: Array, values: Array, name: str) -> str:
    """Why the values name the rows; empty where they do not."""
    if values.size < FEWEST_NUMBERED:
        return ""
    is_different = values.size == x.size
    if _identifies_by_name(name) or (is_different and _counts_by_name(name)):
        return "holds whole numbers and is named as an identifier"
    if not is_different:
        return ""
    if _repeats_by_chance(values) > REPEATS_BY_CHANCE:
        return "holds whole numbers, another one in every row"
    if values.size < FEWEST_EVEN or not _is_even(values):
        return ""
    step = np.diff(x)
    if (step > 0).all() or (step < 0).all():
        return "holds whole numbers that run evenly through the table"
    return "holds random numbers of equally many digits" if _fills_its_digits(values) else ""


def _words(name: str) -> list[str]:
    """The words of a name such as "customer_id", "CustomerID" or "Customer No."."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    return [word.lower() for word in words] or [""]


def _identifies_by_name(name: str) -> bool:
    words = _words(name)
    return words[0] in IDENTIFIERS or words[-1] in IDENTIFIERS


def _counts_by_name(name: str) -> bool:
    words = _words(name)
    return words[-1] in ("no", "nr") or (len(words) == 1 and words[0] in COUNTERS)


def _are_whole(values: Array) -> bool:
    return bool(np.abs(values).max() < LARGEST_WHOLE and (values % 1 == 0).all())


def _repeats_by_chance(values: Array) -> float:
    """Pairs of equal values that whole numbers so dense would hold by chance: Σ p² n²/2.

    The density is that of the nearest values; multiples of ten are as good as whole numbers.
    """
    steps = np.diff(values)
    unit = float(np.gcd.reduce(steps.astype(np.int64)))
    apart = min(NEIGHBORS_APART, values.size - 1)
    reach = (values[apart:] - values[:-apart]) / unit
    return float((apart / (2 * reach)).sum())


def _is_even(values: Array) -> bool:
    """Whether sorted values are spread evenly from the first to the last (Kolmogorov, Smirnov)."""
    inner = (values[1:-1] - values[0]) / (values[-1] - values[0])
    if inner.size == 0:
        return False
    expected = np.arange(1, inner.size + 1) / (inner.size + 1)
    distance = np.abs(inner - expected).max()
    return bool(kolmogorov(np.sqrt(inner.size) * distance) > EVEN)


def _fills_its_digits(values: Array) -> bool:
    """Whether values reach from the least to the greatest number of their digits."""
    digits = len(str(int(values[-1])))
    lowest, highest = 10.0 ** (digits - 1), 10.0**digits
    if digits < FEWEST_DIGITS or values[0] < 0:
        return False
    near = 5 * (values[-1] - values[0]) / values.size  # e^−5 that the end lies further off
    return bool(highest - values[-1] < near and min(values[0], abs(values[0] - lowest)) < near)


def are_dates(values: Array) -> bool:
    """Whether numbers are dates such as 20240131."""
    if values.size == 0 or not _are_whole(values):
        return False
    year, month, day = values // 10_000, values // 100 % 100, values % 100
    parts = ((year, 1800, 2199), (month, 1, 12), (day, 1, 31))
    return all(low <= part.min() and part.max() <= high for part, low, high in parts)


def _dates(values: Array) -> str:
    """Why the values are dates written as numbers, such as 20240131; empty where they are none."""
    is_sure = values.size >= FEWEST_NUMBERED and are_dates(values)
    return "holds dates written as numbers" if is_sure else ""
