"""Numbers and dates as people write them, and how a whole column writes them.

"1,234" is a thousand or one and a bit, "01/02/2024" is in January or in February: a cell does not
say, a column mostly does, and where it leaves a doubt the other columns of the table decide. What
was found is plain data, so that it travels in a model's file and reads new rows in the same way.
Called by `softkern.tables.preparation.cells`, and by the command line where it looks for a
table's header.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from softkern._utils.text import quote
from softkern._utils.typing import Array

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Numbers",
    "Writing",
    "decimals_of",
    "infer_date_format",
    "is_number",
    "number_writing",
    "several",
    "some_of",
    "usual_decimal",
]

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
_SIGN = "|".join(map(re.escape, sorted(f"{CURRENCIES} {UNITS}".split(), key=len, reverse=True)))
_WORD = re.compile(r"(\D*)(.*\d)(\D*)", re.DOTALL)
_BEFORE = re.compile(rf"(?P<open>\()? ?(?P<minus>[-+])? ?(?P<sign>{_SIGN})? ?(?P<inner>[-+(])? ?")
_BEHIND = re.compile(rf" ?(?P<shut>\))? ?(?P<sign>{_SIGN})? ?(?P<minus>-)? ?(?P<close>\))?")
_POWER = re.compile(r"(.*?)([eE][-+]?\d+)")
# groups of two digits, as in India, only where nothing else could be meant
_DIGITS = {
    ".": re.compile(
        r"(?:\d+|[1-9]\d{0,2}(?:,(?:\d{2,3},)*\d{3}|(?: \d{3})+|(?:'\d{3})+))(?:\.\d*)?|\.\d+"
    ),
    ",": re.compile(r"(?:\d+|[1-9]\d{0,2}(?:(?:\.\d{3})+|(?: \d{3})+|(?:'\d{3})+))(?:,\d*)?|,\d+"),
}
_PLAIN = {
    ".": str.maketrans("", "", ",' "),
    ",": str.maketrans(",", ".", ".' "),
}
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
_DAYS = (
    "%Y/%m/%d|%Y.%m.%d|%d.%m.%Y|%d.%m.%y|%d/%m/%Y|%m/%d/%Y|%d/%m/%y|%m/%d/%y|%d-%m-%Y|%m-%d-%Y|"
    "%d-%b-%Y|%d-%b-%y|%Y%m%d|%d %b %Y|%d %B %Y|%b %d, %Y|%B %d, %Y|%d. %B %Y|%b %Y|%B %Y"
)
_CLOCK = r"\d{2}(:\d{2}(:\d{2}([.,]\d+)?)?)?(Z|[-+]\d{2}:?\d{2})?"
_ISO = re.compile(rf"\d{{4}}-\d{{2}}(-\d{{2}}([T ]{_CLOCK})?)?")
SECONDS = 86_400.0  # of a day
LONGEST = 80  # letters of a cell that is looked at as a number
FEW = 1000  # cells by which text is told from numbers
SAMPLE = 200  # cells by which a format of dates is tried before it is on all


class Parts(NamedTuple):
    """A cell that holds one number: its digits and what stands around them."""

    digits: str
    power: str
    is_negative: bool
    sign: str
    negative: str  # how a negative one is marked, unless by a minus in front

    def value(self, decimal: str) -> float:
        """The number; NaN where its digits are not written with this decimal point."""
        if not _DIGITS[decimal].fullmatch(self.digits):
            return math.nan
        number = float(self.digits.translate(_PLAIN[decimal]) + self.power)
        return -number if self.is_negative else number


def parts_of(word: str) -> Parts | None:
    """A cell as a number and what stands around it; None where it is no number."""
    if len(word) > LONGEST:
        return None
    found = _WORD.fullmatch(word.translate(BLANKS).strip())
    if found is None:
        return None
    before, digits, behind = found.groups()
    if before[-1:] in POINTS and not _BEFORE.fullmatch(before):  # ".5", but "Rs.5"
        before, digits = before[:-1], before[-1] + digits
    if behind[:1] in POINTS:
        behind, digits = behind[1:], digits + behind[0]
    around = _around(before, behind)
    if around is None:
        return None
    if power := _POWER.fullmatch(digits):
        return Parts(power[1], power[2], *around)
    return Parts(digits, "", *around)


@lru_cache(maxsize=1000)
def _around(before: str, behind: str) -> tuple[bool, str, str] | None:
    """What stands around digits: whether it makes them negative, sign, how; None for other text.

    A column has few of them.
    """
    left, right = _BEFORE.fullmatch(before), _BEHIND.fullmatch(behind)
    if left is None or right is None or (left["sign"] and right["sign"]):
        return None
    opened = bool(left["open"]) + (left["inner"] == "(")
    closed = bool(right["shut"]) + bool(right["close"])
    minus = (left["minus"] == "-") + (left["inner"] == "-") + bool(right["minus"])
    if opened > 1 or minus + opened > 1 or opened != closed:
        return None
    negative = "in parentheses" if opened else "with a minus behind" if right["minus"] else ""
    return bool(minus + opened), left["sign"] or right["sign"] or "", negative


def decimals_of(word: str) -> str:
    """The decimal points with which a cell is a number.

    Examples
    --------
    >>> decimals_of("1,234.5"), decimals_of("12,5 €"), decimals_of("1,234"), decimals_of("x")
    ('.', ',', '.,', '')
    """
    parts = parts_of(word)
    return "" if parts is None else "".join(d for d in POINTS if not math.isnan(parts.value(d)))


def is_number(word: str) -> bool:
    """Whether a cell holds one number, however written.

    Examples
    --------
    >>> [is_number(word) for word in ("(1 234,50) €", "-5%", "$1,234.5", "31.01.2024", "12 34")]
    [True, True, True, False, False]
    """
    return bool(decimals_of(word))


@lru_cache(maxsize=100)
def _lines(decimal: str, sign: str) -> re.Pattern[str]:
    """Lines of numbers in the usual forms."""
    digits = f"(?:{_DIGITS[decimal].pattern})"
    mark = re.escape(sign)
    forms = [f"-?{digits}", rf"\({digits}\)"]
    if sign:
        forms += [f"-?{mark} ?-?{digits}", f"-?{digits} ?{mark}"]
        forms += [rf"\({mark} ?{digits}\)", rf"{mark} ?\({digits}\)", rf"\({digits}\) ?{mark}"]
    line = "|".join(f"{form}(?=\n|$)" for form in forms)
    return re.compile(rf"(?:(?>{line})\n?)*+")


@dataclass(frozen=True)
class Writing:
    """How a column writes its numbers, or its dates.

    Attributes
    ----------
    decimal : {".", ","}
    thousands : str
        What stands between thousands: a point, a comma, a blank, an apostrophe, or nothing.
    sign : str
        A currency, a unit or "%" that stands beside the numbers.
    negative : str
        How negative numbers are marked, unless by a minus in front.
    date : str
        The format of dates, or "spans" of time; empty where the column holds numbers. Both are
        counted in days.

    Examples
    --------
    >>> import pandas as pd
    >>> Writing(",").numbers(pd.Series(["1.234,5", "(7)", "about 9"])).tolist()
    [1234.5, -7.0, nan]
    """

    decimal: str = "."
    thousands: str = ""
    sign: str = ""
    negative: str = ""
    date: str = ""

    def numbers(self, values: pd.Series[Any]) -> pd.Series[Any]:
        """Cells as floats; NaN where one is missing, or cannot be read."""
        import pandas as pd

        if self.date:
            return _days(values, self.date)
        present = values.dropna()
        numbers = self._at_once(present.tolist())
        if numbers is None:
            known = {cell: self._number(cell) for cell in present.unique()}
            numbers = present.map(known).to_numpy(dtype=np.float64)
        return pd.Series(numbers, index=present.index, dtype=np.float64).reindex(values.index)

    def _at_once(self, cells: list[Any]) -> Array | None:
        """Cells as numbers where all are of the usual forms, ten times as quickly.

        All cells are one text here; None where one of them is of another form.
        """
        if set(map(type, cells)) != {str}:
            return None
        text = "\n".join(cells).translate(BLANKS)
        usual = _lines(self.decimal, self.sign)
        if text.count("\n") != len(cells) - 1 or not usual.fullmatch(text):
            return None
        text = text.replace("(", "-").replace(")", "")
        text = (text.replace(self.sign, "") if self.sign else text).translate(_PLAIN[self.decimal])
        try:
            return np.array(text.split("\n"), dtype=np.float64)
        except ValueError:  # of two minus signs
            return None

    def _number(self, cell: Any) -> float:
        if not isinstance(cell, str):  # a spreadsheet has numbers and text in one column
            return math.nan if not isinstance(cell, int | float | np.number) else float(cell)
        parts = parts_of(cell)
        if parts is None or (parts.sign and self.sign and parts.sign != self.sign):
            return math.nan
        return parts.value(self.decimal)

    def __str__(self) -> str:
        """What the column is read as, in words that follow "read as"."""
        if self.date:
            return "days"
        how = ["thousands separators"] * bool(self.thousands)
        how += ["a decimal comma"] * (self.decimal == ",")
        words = ["numbers" + (f" with {' and '.join(how)}" if how else "")]
        words += [f"in {self.sign}"] if self.sign else []
        words += [f"negative ones {self.negative}"] if self.negative else []
        return ", ".join(words)


@dataclass(frozen=True)
class Numbers:
    """What was found in a column of text: how it writes numbers, and how many cells that reads.

    `other` is an example that reads otherwise with the other decimal point, where all cells do;
    `signs` are the currencies and units beside the numbers; `bare` is how many cells stand without
    the "%" of the others.
    """

    writing: Writing
    cells: int
    other: str = ""
    signs: tuple[str, ...] = ()
    bare: int = 0


def some_of(values: pd.Series[Any]) -> list[str]:
    """Different cells of a column, from all over it."""
    step = -(-len(values) // FEW) or 1
    return values.iloc[::step].astype(str).unique().tolist()


def number_writing(values: pd.Series[Any], decimal: str = ".") -> Numbers:
    """How a column writes its numbers, by all of its cells.

    Parameters
    ----------
    values : series of text without missing values
    decimal : {".", ","}
        The decimal point where the column itself leaves a doubt.

    Examples
    --------
    >>> import pandas as pd
    >>> found = number_writing(pd.Series(["$1,234.50", "($20.00)", "$7"]))
    >>> str(found.writing), found.cells
    ('numbers with thousands separators, in $, negative ones in parentheses', 3)
    """
    if len(values) > FEW:  # some cells mostly show what all are
        found = number_writing(values.iloc[:: -(-len(values) // FEW)], decimal)
        if not found.bare and found.writing.numbers(values).notna().all():
            instead = replace(found.writing, decimal="," if found.writing.decimal == "." else ".")
            is_wide = bool(found.other) and bool(instead.numbers(values).notna().all())
            return replace(found, cells=len(values), other=found.other if is_wide else "")
    counts = values.astype(str).value_counts()
    cells = [(p, int(t)) for word, t in counts.items() if (p := parts_of(str(word))) is not None]
    known = [(parts.value("."), parts.value(","), times) for parts, times in cells]
    read = {d: sum(row[2] for row in known if row[i] == row[i]) for i, d in enumerate(POINTS)}
    other = "," if decimal == "." else "."
    taken = other if read[other] > read[decimal] else decimal
    is_open = read["."] == read[","] == len(values)
    differing = (parts for (parts, _), row in zip(cells, known, strict=True) if row[0] != row[1])
    doubtful = next((parts.digits for parts in differing), "")
    signs = tuple(sorted({parts.sign for parts, _ in cells if parts.sign}))
    marks = (c for parts, _ in cells for c in parts.digits if c in ".,' " and c != taken)
    negative = next((parts.negative for parts, _ in cells if parts.negative), "")
    sign = signs[0] if len(signs) == 1 else ""
    writing = Writing(taken, next(marks, ""), sign, negative)
    bare = sum(times for parts, times in cells if not parts.sign) if sign in ("%", "‰") else 0
    return Numbers(writing, read[taken], doubtful if is_open else "", signs, bare)


def usual_decimal(columns: Iterable[pd.Series[Any]]) -> str:
    """The decimal point of a table, by those columns of text that leave no doubt.

    Some cells of each are looked at.

    Examples
    --------
    >>> import pandas as pd
    >>> usual_decimal([pd.Series(["1,234", "5,678"]), pd.Series(["12,5", "7"])])
    ','
    """
    found = set()
    for values in columns:
        common = set(POINTS)
        for word in some_of(values):
            common &= set(decimals_of(word))
            if not common:
                break
        found |= common if len(common) == 1 else set()
    return "," if found == {","} else "."


def infer_date_format(values: pd.Series[Any], decimal: str = ".") -> tuple[Writing | None, str]:
    """How a column writes dates, None where it holds others; and an example that leaves a doubt.

    Parameters
    ----------
    values : series of text or of dates, without missing values
    decimal : {".", ","}
        Of the table. Where no day is beyond the twelfth, months come first in tables with a
        decimal point, as in the United States, unless points part day and month.

    Examples
    --------
    >>> import pandas as pd
    >>> writing, doubt = infer_date_format(pd.Series(["13/02/2024", "01/03/2024"]))
    >>> writing.date, doubt
    ('%d/%m/%Y', '')
    """
    if values.dtype.kind in "mM":
        return Writing(decimal, date="spans" if values.dtype.kind == "m" else "dates"), ""
    if len(values) == 0:
        return None, ""
    kinds = values.map(type).unique().tolist()
    if not any(issubclass(kind, str) for kind in kinds):
        are_dates = all(hasattr(kind, "isoformat") and hasattr(kind, "year") for kind in kinds)
        return (Writing(decimal, date="dates") if are_dates else None), ""
    words = values.astype(str).str.strip()
    if words.str.len().max() > 40 or not words.head(1).str.contains(r"\d").all():
        return None, ""
    if _ISO.fullmatch(words.iloc[0]):
        form = "ISO8601"
        return (Writing(decimal, date=form) if _are_dates(words, form) else None), ""
    found = [form for form in _formats(words.iloc[0]) if _are_dates(words, form)]
    if not found:
        return None, ""
    day_first = [form for form in found if form.startswith("%d")]
    is_open = bool(day_first) and len(day_first) < len(found)
    taken = day_first[0] if is_open and decimal == "," else found[0]
    if is_open and decimal == ".":
        taken = next(form for form in found if not form.startswith("%d"))
    return Writing(decimal, date=taken), quote(words.iloc[0]) if is_open else ""


def _formats(word: str) -> list[str]:
    """The formats in which this word is a date."""
    from datetime import datetime

    fitting = []
    for form in (f"{day}{clock}" for day in _DAYS.split("|") for clock in _CLOCKS):
        try:
            datetime.strptime(word, form)
        except ValueError:
            continue
        fitting.append(form)
    return fitting


def _are_dates(words: pd.Series[Any], form: str) -> bool:
    few = words.iloc[:SAMPLE]
    return bool(_days(few, form).notna().all() and _days(words, form).notna().all())


def _days(values: pd.Series[Any], form: str) -> pd.Series[Any]:
    """Dates as days since 1970, spans of time as days; NaN where a cell is none."""
    import pandas as pd

    if values.dtype.kind == "m":
        return values.dt.total_seconds() / SECONDS
    if values.dtype.kind in "iuf":  # such as 20240131
        values = values.astype("Int64").astype("string")
    if form == "dates":
        times = pd.to_datetime(values, errors="coerce", utc=True)
    else:
        words = values.astype("string").str.strip()
        times = pd.to_datetime(words, errors="coerce", utc=True, format=form)
    return (times - pd.Timestamp(0, tz="UTC")).dt.total_seconds() / SECONDS


def several(signs: Sequence[str]) -> str:
    """Why amounts with these signs are no numbers of one column."""
    return f"amounts in several units ({', '.join(signs)}); bring them to one"
