"""Formats of dates, and dates as days.

"01/02/2024" is in January or in February. As for numbers, all cells of a column decide, then the
decimal point of the table. `pandas.tseries.api.guess_datetime_format` looks at one cell, and knows
no years of two digits, no 12-hour clock and no months without a day.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, NamedTuple

import pandas as pd

DURATION, TIMESTAMP, ISO = "duration", "timestamp", "ISO8601"  # formats that strptime lacks
SECONDS = 86_400.0  # seconds per day
LONGEST = 40  # characters of a cell that may be a date
SAMPLE = 200  # cells on which a format is tried first
_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
_DAYS = (
    "%Y/%m/%d|%Y.%m.%d|%d.%m.%Y|%d.%m.%y|%d/%m/%Y|%m/%d/%Y|%d/%m/%y|%m/%d/%y|%d-%m-%Y|%m-%d-%Y|"
    "%d-%b-%Y|%d-%b-%y|%Y%m%d|%d %b %Y|%d %B %Y|%b %d, %Y|%B %d, %Y|%d. %B %Y|%b %Y|%B %Y"
)
_CLOCK = r"\d{2}(:\d{2}(:\d{2}([.,]\d+)?)?)?(Z|[-+]\d{2}:?\d{2})?"
_ISO = re.compile(rf"\d{{4}}-\d{{2}}(-\d{{2}}([T ]{_CLOCK})?)?")


class DateGuess(NamedTuple):
    """Date format of a column, and an example if the order of day and month is ambiguous."""

    format: str
    ambiguous: str = ""


def infer_date_format(values: pd.Series[Any], decimal: str = ".") -> DateGuess | None:
    """Infer the date format of a column without missing values, or None if it holds no dates.

    If no day is later than the twelfth, the month comes first in tables with a decimal point, as
    in the United States, unless points separate the two.
    """
    if values.dtype.kind in "mM":
        return DateGuess(DURATION if values.dtype.kind == "m" else TIMESTAMP)
    if len(values) == 0:
        return None
    types = values.map(type).unique().tolist()
    if not any(issubclass(kind, str) for kind in types):
        are_dates = all(hasattr(kind, "isoformat") and hasattr(kind, "year") for kind in types)
        return DateGuess(TIMESTAMP) if are_dates else None
    cells = values.astype(str).str.strip()
    first = cells.iloc[0]
    if cells.str.len().max() > LONGEST or not any(map(str.isdigit, first)):
        return None
    if _ISO.fullmatch(first):
        return DateGuess(ISO) if _are_dates(cells, ISO) else None
    formats = [form for form in _formats_of(first) if _are_dates(cells, form)]
    if not formats:
        return None
    usual = [form for form in formats if form.startswith("%d") == (decimal == ",")]
    is_ambiguous = 0 < len(usual) < len(formats)
    return DateGuess(usual[0], first) if is_ambiguous else DateGuess(formats[0])


def _formats_of(cell: str) -> list[str]:
    """Return the formats in which a cell is a date."""
    fitting = []
    for form in (f"{day}{time}" for day in _DAYS.split("|") for time in _TIMES):
        try:
            datetime.strptime(cell, form)
        except ValueError:
            continue
        fitting.append(form)
    return fitting


def _are_dates(cells: pd.Series[Any], form: str) -> bool:
    sample = cells.iloc[:SAMPLE]
    return bool(to_days(sample, form).notna().all() and to_days(cells, form).notna().all())


def to_days(values: pd.Series[Any], form: str) -> pd.Series[Any]:
    """Return dates as days since 1970 and durations as days, with NaN for any other cell."""
    if values.dtype.kind == "m":
        return values.dt.total_seconds() / SECONDS
    if values.dtype.kind in "iuf":  # for example 20240131
        values = values.astype("Int64").astype("string")
    if form == TIMESTAMP:
        times = pd.to_datetime(values, errors="coerce", utc=True)
    else:
        cells = values.astype("string").str.strip()
        times = pd.to_datetime(cells, errors="coerce", utc=True, format=form)
    return (times - pd.Timestamp(0, tz="UTC")).dt.total_seconds() / SECONDS
