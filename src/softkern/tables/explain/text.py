"""Numbers, ranges and grades as people read them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

__all__ = ["day", "grade", "joined", "number", "span", "times"]

MOST_DAYS = 700_000  # from 1970 that a calendar has
STRONG, EXTREME = 6.0, 10.0  # outlier scores: one typical row in 10^6, in 10^10


def grade(score: float, is_outlier: bool = True) -> str:
    """How far out a row is, in a word; empty where it is not flagged.

    The score is that of `softkern.rank_points`. Below 6 a flagged row is mild, below 10 strong.

    Examples
    --------
    >>> grade(4.5), grade(7.0), grade(40.0), grade(4.5, is_outlier=False)
    ('mild', 'strong', 'extreme', '')
    """
    if not is_outlier:
        return ""
    return "mild" if score < STRONG else "strong" if score < EXTREME else "extreme"


def number(value: float, digits: int = 4) -> str:
    """A number in few digits; whole ones whole, with separators.

    Examples
    --------
    >>> number(999999.0), number(0.144), number(12345.678), number(1e-7), number(-0.0)
    ('999,999', '0.144', '12,346', '1e-07', '0')
    """
    if not math.isfinite(value):
        return "nothing" if math.isnan(value) else "infinite" if value > 0 else "minus infinite"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e15 or size < 1e-4:
        return f"{value:.{digits - 1}g}"
    if value == round(value) or size >= 10.0 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def day(value: float) -> str:
    """A date from days since 1970, with the time where it is not midnight.

    Examples
    --------
    >>> day(18915.0), day(18915.75)
    ('2021-10-15', '2021-10-15 18:00')
    """
    if not math.isfinite(value) or abs(value) > MOST_DAYS:
        return number(value)
    minutes = round(24 * 60 * value)
    moment = datetime(1970, 1, 1) + timedelta(minutes=minutes)
    return f"{moment:%Y-%m-%d}" if minutes % (24 * 60) == 0 else f"{moment:%Y-%m-%d %H:%M}"


def span(low: float, high: float) -> str:
    """A range in words, its ends in three digits where these tell them apart.

    Examples
    --------
    >>> span(19.92, 8973.0), span(3.0, 3.0), span(100.01, 100.02)
    ('19.9 to 8,970', '3', '100.01 to 100.02')
    """
    if low == high:
        return number(low)
    for digits in (3, 5, 8, 17):
        ends = [number(float(f"{end:.{digits}g}"), max(digits, 4)) for end in (low, high)]
        if ends[0] != ends[1]:
            break
    return f"{ends[0]} to {ends[1]}"


def times(ratio: float) -> str:
    """How many times another number one is.

    Examples
    --------
    >>> times(12.3), times(2.34), times(0.52), times(0.08)
    ('12 times', '2.3 times', 'half', '1/12 of')
    """
    if ratio >= 1:
        return f"{ratio:,.0f} times" if ratio >= 9.5 else f"{ratio:.1f} times"
    part = 1 / ratio
    if part >= 2.5:
        return f"1/{part:,.0f} of"
    return "half" if part >= 1.75 else "two thirds of"


def joined(words: Sequence[str]) -> str:
    """Words with commas, and before the last.

    Examples
    --------
    >>> joined(["a", "b", "c"]), joined(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
