"""Formats of numbers and dates in text columns, such as "$1,234.50" or "12,5 %".

"1,234" may mean a thousand or a little more than one, and "01/02/2024" is in January or February. A
single cell does not show which, a whole column usually does, and where it does not, the other
columns of the table decide. A `NumberFormat` is plain data: a saved model parses new rows in the
same way. `pandas.tseries.api.guess_datetime_format` looks at one cell, and knows no years of two
digits, no 12-hour clock and no months without a day.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from softkern._utils.typing import Array
from softkern.tables.preparation.cells import is_numeric, is_text

POINTS = (".", ",")
BLANKS = str.maketrans(dict.fromkeys("\xa0\u2007\u2009\u202f\t", " ") | {"’": "'", "−": "-"})
CURRENCIES = (
    "US$ A$ C$ R$ $ € £ ¥ ₹ ₽ ₩ ₺ ₴ ₫ ฿ ₪ ₱ ¢ kr Kč zł Ft Fr. Rs. Rs "
    "USD EUR GBP JPY CHF AUD CAD NZD CNY INR SEK NOK DKK PLN CZK HUF RON BGN TRY RUB UAH BRL MXN "
    "ZAR KRW SGD HKD ILS AED SAR THB IDR"
)
UNITS = (
    "% ‰ kg mg g t lbs lb oz km cm mm m kWh Wh kW MW kHz MHz GHz Hz °C °F bar hPa psi ml l ms min "
    "s h KB MB GB TB px"
)
_UNIT = "|".join(map(re.escape, sorted(f"{CURRENCIES} {UNITS}".split(), key=len, reverse=True)))
_NUMBER = re.compile(
    rf"(?P<open>\()? ?(?P<minus>[-+])? ?(?P<before>{_UNIT})? ?(?P<inner>[-+(])? ?"
    r"(?P<digits>[.,]?\d(?:[^eE]*\d)?[.,]?)(?P<power>[eE][-+]?\d+)?"
    rf" ?(?P<shut>\))? ?(?P<after>{_UNIT})? ?(?P<behind>-)? ?(?P<close>\))?"
)
# Groups of two digits, as in India, only where nothing else could be meant.
_DIGITS = {
    ".": re.compile(
        r"(?:\d+|[1-9]\d{0,2}(?:,(?:\d{2,3},)*\d{3}|(?: \d{3})+|(?:'\d{3})+))(?:\.\d*)?|\.\d+"
    ),
    ",": re.compile(r"(?:\d+|[1-9]\d{0,2}(?:(?:\.\d{3})+|(?: \d{3})+|(?:'\d{3})+))(?:,\d*)?|,\d+"),
}
_PLAIN = {".": str.maketrans("", "", ",' "), ",": str.maketrans(",", ".", ".' ")}
LONGEST, LONGEST_DATE = 80, 40  # characters of a cell that may be a number, or a date
SECONDS_PER_DAY = 86_400.0
SAMPLE = 1000  # cells that show whether a column is text or numbers


DURATION, TIMESTAMP, ISO = "duration", "timestamp", "ISO8601"  # formats that strptime lacks
_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
_DAYS = (
    "%Y/%m/%d|%Y.%m.%d|%d.%m.%Y|%d.%m.%y|%d/%m/%Y|%m/%d/%Y|%d/%m/%y|%m/%d/%y|%d-%m-%Y|%m-%d-%Y|"
    "%d-%b-%Y|%d-%b-%y|%Y%m%d|%d %b %Y|%d %B %Y|%b %d, %Y|%B %d, %Y|%d. %B %Y|%b %Y|%B %Y"
)
FORMATS = [day + time for day in _DAYS.split("|") for time in _TIMES]
_CLOCK = r"\d{2}(:\d{2}(:\d{2}([.,]\d+)?)?)?(Z|[-+]\d{2}:?\d{2})?"
_ISO = re.compile(rf"\d{{4}}-\d{{2}}(-\d{{2}}([T ]{_CLOCK})?)?")


class NumberParts(NamedTuple):
    """A cell that holds one number: its digits and what surrounds them."""

    digits: str
    power: str
    is_negative: bool
    unit: str
    negative: str  # how a negative number is marked, unless by a minus in front

    def points(self) -> str:
        """Return the decimal points that the digits fit: "." and "," for "1,234"."""
        return "".join(point for point in POINTS if _DIGITS[point].fullmatch(self.digits))

    def value(self, decimal: str) -> float:
        """Return the number, or NaN if its digits do not fit this decimal point."""
        if not _DIGITS[decimal].fullmatch(self.digits):
            return math.nan
        number = float(self.digits.translate(_PLAIN[decimal]) + self.power)
        return -number if self.is_negative else number


def split_number(cell: str) -> NumberParts | None:
    """Split a cell into a number and what surrounds it, or return None if it is not a number."""
    match = _NUMBER.fullmatch(cell.translate(BLANKS).strip()) if len(cell) <= LONGEST else None
    if match is None or (match["before"] and match["after"]):
        return None
    opened = bool(match["open"]) + (match["inner"] == "(")
    closed = bool(match["shut"]) + bool(match["close"])
    minus = (match["minus"] == "-") + (match["inner"] == "-") + bool(match["behind"])
    if minus + opened > 1 or opened != closed:
        return None
    unit = match["before"] or match["after"] or ""
    negative = "in parentheses" if opened else "with a minus behind" if match["behind"] else ""
    return NumberParts(match["digits"], match["power"] or "", minus + opened > 0, unit, negative)


def decimal_points(cell: str) -> str:
    """Return the decimal points with which a cell is a number, none for other text."""
    parts = split_number(cell)
    return "" if parts is None else parts.points()


def is_number(cell: str) -> bool:
    """Return whether a cell holds one number in any format, such as "(1 234,50) €"."""
    return bool(decimal_points(cell))


@dataclass(frozen=True)
class NumberFormat:
    """Format of the numbers, or dates, in a column.

    Examples
    --------
    >>> import pandas as pd
    >>> NumberFormat(",").parse(pd.Series(["1.234,5", "(7)", "about 9"])).tolist()
    [1234.5, -7.0, nan]
    """

    decimal: str = "."  # or ","
    thousands: str = ""  # a point, a comma, a blank or an apostrophe
    unit: str = ""  # currency, unit or "%" next to the numbers
    negative: str = ""  # how negative numbers are marked, unless by a minus in front
    date: str = ""  # format of dates, empty for numbers

    def parse(self, values: pd.Series[Any]) -> Array:
        """Return cells as floats, (n,), NaN where one is missing or does not fit the format."""
        if self.date:
            return to_days(values, self.date).to_numpy(dtype=np.float64, na_value=np.nan)
        if is_numeric(values.dtype):
            return values.to_numpy(dtype=np.float64, na_value=np.nan)
        is_present = values.notna().to_numpy()
        present = values[is_present]
        numbers = np.full(len(values), np.nan)
        parsed = parse_plain(present, self.decimal) if is_text(values.dtype) else None
        if parsed is None:
            parsed = self._parse_common(present.tolist())
        if parsed is None:
            by_cell = {cell: self._parse_cell(cell) for cell in present.unique()}
            parsed = present.map(by_cell).to_numpy(dtype=np.float64)
        numbers[is_present] = parsed
        return numbers

    def _parse_common(self, cells: list[Any]) -> Array | None:
        """Parse cells that all have common forms, about ten times as fast, else return None."""
        if set(map(type, cells)) != {str}:
            return None
        digits, mark = f"(?:{_DIGITS[self.decimal].pattern})", re.escape(self.unit)
        amount = f"(?:(?:{mark} ?)?-?{digits}|{digits} ?{mark})"
        line = rf"-?{amount}|\({amount}\)|{mark} ?\({digits}\)|\({digits}\) ?{mark}"
        lines = rf"(?:(?>(?:{line})(?=\n|$))\n?)*+"
        text = "\n".join(cells).translate(BLANKS)
        if text.count("\n") != len(cells) - 1 or not re.fullmatch(lines, text):
            return None
        text = text.replace("(", "-").replace(")", "")
        text = (text.replace(self.unit, "") if self.unit else text).translate(_PLAIN[self.decimal])
        try:
            return np.array(text.split("\n"), dtype=np.float64)
        except ValueError:  # two minus signs
            return None

    def _parse_cell(self, cell: Any) -> float:
        if not isinstance(cell, str):  # a spreadsheet has numbers and text in one column
            return math.nan if not isinstance(cell, int | float | np.number) else float(cell)
        parts = split_number(cell)
        if parts is None or (parts.unit and self.unit and parts.unit != self.unit):
            return math.nan
        return parts.value(self.decimal)


def parse_plain(present: pd.Series[Any], decimal: str) -> Array | None:
    """Return text as numbers if all of it is in Python's format, where "1.5" has no decimal comma.

    `present` has no missing cells.
    """
    if decimal == "," and present.astype(str).str.contains(".", regex=False).any():
        return None
    try:
        numbers = pd.to_numeric(present).to_numpy(dtype=np.float64, na_value=np.nan)
    except (OverflowError, TypeError):  # a whole number beyond floats; a list in a cell
        coerced = pd.to_numeric(present.astype(str), errors="coerce")
        numbers = coerced.to_numpy(dtype=np.float64)
    except ValueError:
        return None
    return None if np.isnan(numbers).any() else numbers


@dataclass(frozen=True)
class FormatGuess:
    """Number format of a text column, inferred from its cells."""

    format: NumberFormat
    n_parsed: int  # cells that the format parses
    ambiguous: str = ""  # an example with another value for the other decimal point, if all parse
    units: tuple[str, ...] = ()  # currencies and units next to the numbers
    n_bare: int = 0  # cells without the "%" of the others


def sample_cells(values: pd.Series[Any]) -> list[str]:
    """Return distinct cells from all parts of a column."""
    step = -(-len(values) // SAMPLE) or 1
    return values.iloc[::step].astype(str).unique().tolist()


def infer_number_format(values: pd.Series[Any], decimal: str = ".") -> FormatGuess:
    """Infer the number format of text without missing values, from all cells.

    `decimal` is the decimal point if the column itself is ambiguous.
    """
    if len(values) > SAMPLE:  # a sample usually shows the format of all
        guess = infer_number_format(values.iloc[:: -(-len(values) // SAMPLE)], decimal)
        if not guess.n_bare and not np.isnan(guess.format.parse(values)).any():
            other = replace(guess.format, decimal="," if guess.format.decimal == "." else ".")
            is_open = guess.ambiguous and not np.isnan(other.parse(values)).any()
            ambiguous = guess.ambiguous if is_open else ""
            return replace(guess, n_parsed=len(values), ambiguous=ambiguous)
    counts = values.astype(str).value_counts()
    cells = [(p, int(times)) for cell, times in counts.items() if (p := split_number(str(cell)))]
    n_parsed = {d: sum(times for parts, times in cells if d in parts.points()) for d in POINTS}
    point = max(POINTS, key=lambda d: (n_parsed[d], d == decimal))
    ambiguous = ""
    if n_parsed["."] == n_parsed[","] == len(values):
        ambiguous = next((p.digits for p, _ in cells if p.value(".") != p.value(",")), "")
    units = tuple(sorted({parts.unit for parts, _ in cells if parts.unit}))
    separators = (c for parts, _ in cells for c in parts.digits if c in ".,' " and c != point)
    negative = next((parts.negative for parts, _ in cells if parts.negative), "")
    unit = units[0] if len(units) == 1 else ""
    n_bare = sum(times for parts, times in cells if not parts.unit) if unit in ("%", "‰") else 0
    number_format = NumberFormat(point, next(separators, ""), unit, negative)
    return FormatGuess(number_format, n_parsed[point], ambiguous, units, n_bare)


def infer_decimal(table: pd.DataFrame, columns: Iterable[str]) -> str:
    """Infer the decimal point of a table from samples of its unambiguous text columns."""
    points = []
    for column in columns:
        if is_text(table[column].dtype):
            cells = sample_cells(table[column].dropna())
            fitting = [p for p in POINTS if all(p in decimal_points(cell) for cell in cells)]
            points += fitting if len(fitting) == 1 else []
    return "," if set(points) == {","} else "."


# Dates


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
    first = next(iter(cells), "")
    if not any(map(str.isdigit, first)) or cells.str.len().max() > LONGEST_DATE:
        return None
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
        return values.dt.total_seconds() / SECONDS_PER_DAY
    if values.dtype.kind in "iuf":  # for example 20240131
        values = values.astype("Int64").astype("string")
    if form == TIMESTAMP:
        times = pd.to_datetime(values, errors="coerce", utc=True)
    else:
        cells = values.astype("string").str.strip()
        times = pd.to_datetime(cells, errors="coerce", utc=True, format=form)
    return (times - pd.Timestamp(0, tz="UTC")).dt.total_seconds() / SECONDS_PER_DAY
