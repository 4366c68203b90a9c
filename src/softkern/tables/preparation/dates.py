"""Formats of dates, and dates as days.

"01/02/2024" is in January or in February. As for numbers, all cells of a column decide, then the
decimal point of the table. `pandas.tseries.api.guess_datetime_format` looks at one cell, and knows
no years of two digits, no 12-hour clock and no months without a day.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any

import pandas as pd

DURATION, TIMESTAMP, ISO = "duration", "timestamp", "ISO8601"  # formats that strptime lacks
SECONDS = 86_400.0  # seconds per day
LONGEST = 40  # characters of a cell that may be a date
_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
_DAYS = (
    "%Y/%m/%d|%Y.%m.%d|%d.%m.%Y|%d.%m.%y|%d/%m/%Y|%m/%d/%Y|%d/%m/%y|%m/%d/%y|%d-%m-%Y|%m-%d-%Y|"
    "%d-%b-%Y|%d-%b-%y|%Y%m%d|%d %b %Y|%d %B %Y|%b %d, %Y|%B %d, %Y|%d. %B %Y|%b %Y|%B %Y"
)
FORMATS = [day + time for day in _DAYS.split("|") for time in _TIMES]
_CLOCK = r"\d{2}(:\d{2}(:\d{2}([.,]\d+)?)?)?(Z|[-+]\d{2}:?\d{2})?"
_ISO = re.compile(rf"\d{{4}}-\d{{2}}(-\d{{2}}([T ]{_CLOCK})?)?")


def infer_date_format(values: pd.Series[Any], decimal: str = ".") -> tuple[str, str] | None:
    """Infer the date format of a column without missing values, or None if it holds no dates.

    The second value is an example if the order of day and month is ambiguous, else empty. If no
    day is later than the twelfth, the month comes first in tables with a decimal point, as in the
    United States, unless points separate the two.
    """
    if values.dtype.kind in "mM":
        return DURATION if values.dtype.kind == "m" else TIMESTAMP, ""
    types = values.map(type).unique().tolist()
    if types and not any(issubclass(kind, str) for kind in types):
        return (TIMESTAMP, "") if all(issubclass(kind, date) for kind in types) else None
    cells = values.astype(str).str.strip()
    if cells.empty or cells.str.len().max() > LONGEST or not any(map(str.isdigit, cells.iloc[0])):
        return None
    first = cells.iloc[0]
    likely = [ISO] if _ISO.fullmatch(first) else [f for f in FORMATS if _is_date(first, f)]
    formats = [form for form in likely if to_days(cells, form).notna().all()]
    usual = [form for form in formats if form.startswith("%d") == (decimal == ",")]
    if 0 < len(usual) < len(formats):
        return usual[0], first
    return (formats[0], "") if formats else None


def _is_date(cell: str, form: str) -> bool:
    try:
        return bool(datetime.strptime(cell, form))
    except ValueError:
        return False


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
