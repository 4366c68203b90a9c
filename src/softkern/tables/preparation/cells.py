"""Cells of a table as numbers: what is a number, what is text, and text by codes.

Called by `softkern.tables.preparation.transformer`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from softkern._utils.text import plural, quote, quote_list, unknown_names
from softkern._utils.typing import Array
from softkern.exceptions import DataError
from softkern.tables.preparation.formats import (
    Numbers,
    Writing,
    decimals_of,
    infer_date_format,
    is_number,
    number_writing,
    several,
    some_of,
    usual_decimal,
)
from softkern.tables.preparation.identifiers import are_dates

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Say",
    "as_table",
    "categories_of",
    "codes_of",
    "decimal_of",
    "in_order",
    "keyword",
    "numbers_of",
    "numeric_columns",
    "require",
    "without_words",
]

MOST_CATEGORIES = 20
FARTHEST = 5.0  # spreads from the middle of a column, beyond which rows are as far as that
LONG = 17  # digits of whole numbers that measure nothing
DIGITS = re.compile(rf"\s*\d{{{LONG},}}\s*")
TIME = re.compile(r"\d{1,3}:\d{2}(:\d{2}([.,]\d+)?)?")
FEW = 100  # cells that mostly tell whether all are plain
NEARLY_NUMBERS = 0.5  # share of a column's values from which text among them is a mistake

Say = Callable[[str, str], str]  # how whoever asked writes an option and its value


def keyword(name: str, value: str = "") -> str:
    """An option as Python's users write it; those of reading a table are pandas'.

    Examples
    --------
    >>> keyword("missing", "drop"), keyword("columns"), keyword("na", "?")
    ("missing='drop'", 'columns=…', "na_values='?'")
    """
    if name == "dates":
        return "dates=True"
    name = {"na": "na_values"}.get(name, name)
    return f"{name}={value!r}" if value else f"{name}=…"


def as_table(X: Any) -> pd.DataFrame:
    """Anything with rows and columns as a DataFrame whose columns have names, each another.

    A DataFrame, or what has `columns` and gives each as an array, such as one of polars; else an
    array, whose columns are called x1, x2 and so on, as are those of a DataFrame without names.

    Examples
    --------
    >>> list(as_table([[1.0, 2.0], [3.0, 4.0]]).columns)
    ['x1', 'x2']
    """
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        table = X
    elif hasattr(X, "columns") and hasattr(X, "__getitem__"):
        table = pd.DataFrame({name: X[name].to_numpy() for name in X.columns})
    else:
        if hasattr(X, "toarray"):
            raise DataError("a sparse matrix is no table; give it as an array, X.toarray().")
        array = np.asarray(X)
        if array.ndim != 2:
            raise DataError(
                f"a table has two dimensions, rows and columns, not {array.ndim}: "
                "X.reshape(-1, 1) makes a column of one dimension."
            )
        table = pd.DataFrame(array)
    names = [str(name) for name in table.columns]
    if not any(isinstance(name, str) for name in table.columns):
        names = [f"x{j + 1}" for j in range(len(names))]
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError(
            f"several columns are called {quote_list(twice)}; give each a name of its own."
        )
    return without_words(table.set_axis(pd.Index(names), axis=1), {""})


def without_words(
    table: pd.DataFrame, words: Collection[str], kept: Sequence[str] = ()
) -> pd.DataFrame:
    """The table in which cells of text that are one of these words are missing.

    Blanks around a word do not count. Columns in `kept` stay as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> without_words(pd.DataFrame({"a": ["1", " ", "?"]}), {"", "?"})["a"].tolist()
    ['1', nan, nan]
    """
    found = {}
    for column, kind in _kinds(table).items():
        if _is_text(kind) and column not in kept:
            cells = table[column]
            is_word = [isinstance(cell, str) and cell.strip() in words for cell in cells]
            if any(is_word):
                found[column] = cells.mask(np.array(is_word))
    if found:
        table = table.copy(deep=False)
        for column, cells in found.items():
            table[column] = cells
    return table


def require(table: pd.DataFrame, names: Sequence[str]) -> None:
    """Refuse a table without the columns of these names."""
    lacking = [name for name in names if name not in table.columns]
    if lacking:
        raise DataError(f"the table lacks {unknown_names(lacking, list(table.columns))}")


def decimal_of(table: pd.DataFrame, wanted: Sequence[str]) -> str:
    """The decimal point of the numbers that stand in columns of text; a point where none says."""
    known = set(wanted)
    texts = [table[c].dropna() for c, kind in _kinds(table).items() if c in known]
    return usual_decimal(values for values in texts if _is_text(values.dtype))


def numeric_columns(
    table: pd.DataFrame,
    wanted: Sequence[str],
    were_asked: bool,
    notes: list[str],
    say: Say = keyword,
    *,
    decimal: str = ".",
    dates: bool = False,
) -> tuple[list[str], dict[str, Writing]]:
    """The columns that hold numbers, and how those write them that are text.

    The others are named, or refused where they were asked for. Dates are numbers with `dates`.
    """
    numeric: list[str] = []
    texts: dict[str, str] = {}
    writings: dict[str, Writing] = {}
    doubts: dict[str, str] = {}
    kinds = _kinds(table)
    for column in wanted:
        is_typed = _is_numeric(kinds[column])
        found = _Found() if is_typed else _look_at(table, column, decimal, say)
        if not were_asked and _are_long(table[column].dropna()):
            use = f"({say('columns', '')} uses what it names)"
            found = _Found(text=f"whole numbers of {LONG} digits and more, as names have {use}")
        if found.text:
            texts[column] = found.text
        elif found.writing is None:
            numeric.append(column)
            if dates and are_dates(_parsed(table[column].dropna()).to_numpy(dtype=np.float64)):
                writings[column] = Writing(decimal, date="%Y%m%d")
        elif found.writing.date and not dates:
            texts[column] = f"dates ({say('dates', '')} uses them, as days)"
        else:
            numeric.append(column)
            writings[column], doubts[column] = found.writing, found.doubt
    if texts and were_asked:
        raise _refused(texts, say)
    notes.extend(_read_as(writings, doubts))
    for kind, columns in _alike(texts).items():
        notes.append(f"left out {quote_list(columns)}: {kind}")
    return numeric, writings


@dataclass(frozen=True)
class _Found:
    """What a column of cells holds: numbers as they are, numbers or dates as written, or text."""

    writing: Writing | None = None
    text: str = ""
    doubt: str = ""


def _look_at(table: pd.DataFrame, column: str, decimal: str, say: Say) -> _Found:
    present = table[column].dropna()
    if present.empty:
        return _Found()  # a number without any value, which is left out later
    if _is_text(present.dtype):
        if _are_plain(present, decimal):
            return _Found()
        if any(map(is_number, some_of(present))):
            found = number_writing(present, decimal)
            if found.cells == len(present) and len(found.signs) < 2:
                return _Found(found.writing, doubt=_doubt_of(found, say))
            if found.cells >= NEARLY_NUMBERS * len(present):
                if len(found.signs) > 1:
                    return _Found(text=several(found.signs))
                raise _not_a_number(table, column, found.writing, 1, say)
    writing, doubtful = infer_date_format(present, decimal)
    if writing is not None:
        first = "month" if writing.date.startswith(("%m", "%b", "%B")) else "day"
        doubt = f"{doubtful} is taken to have the {first} first"
        return _Found(writing, doubt=doubt if doubtful else "")
    return _Found(text=_text_kind(present, say))


def _are_plain(present: pd.Series[Any], decimal: str) -> bool:
    """Whether text is numbers as computers write them; with a decimal comma, "1.5" is none."""
    if decimal == "," and present.astype(str).str.contains(".", regex=False).any():
        return False
    if _parsed(present.iloc[:FEW]).isna().any():  # which to say takes a while of all
        return False
    return bool(_parsed(present).notna().all())


def _doubt_of(found: Numbers, say: Say) -> str:
    doubts = []
    if found.other:
        other = "," if found.writing.decimal == "." else "."
        kind = "thousands" if found.writing.thousands else "decimals"
        doubts.append(f"{found.other} is taken for {kind}, unless {say('decimal', other)}")
    if found.bare:
        cells = plural(found.bare, "cell")
        doubts.append(f"{cells} without {found.writing.sign} taken as if it were there")
    return "; ".join(doubts)


def _read_as(writings: dict[str, Writing], doubts: dict[str, str]) -> list[str]:
    """A line for every way of writing, with its columns; and one for every doubt."""
    said = {c: f"{w}{f' ({doubts[c]})' if doubts.get(c) else ''}" for c, w in writings.items()}
    return [f"{quote_list(columns)}: read as {how}" for how, columns in _alike(said).items()]


def _alike(said: dict[str, str]) -> dict[str, list[str]]:
    """What is said of columns, each once, with the columns."""
    alike: dict[str, list[str]] = {}
    for column, words in said.items():
        alike.setdefault(words, []).append(column)
    return alike


def _refused(texts: dict[str, str], say: Say) -> DataError:
    """Why columns that were asked for cannot be used."""
    others = [f"{quote_list(columns)}: {kind}" for kind, columns in _alike(texts).items()]
    names = [column for column, kind in texts.items() if kind.startswith("text")]
    if len(names) < len(texts):
        return DataError(f"no numbers in {'; '.join(others)}.")
    verb = "is" if len(texts) == 1 else "are"
    asked = say("categories", "")
    return DataError(f"{quote_list(names)} {verb} text; give {asked} for few categories.")


def _text_kind(values: pd.Series[Any], say: Say) -> str:
    different = values.astype(str).nunique()
    if different == 1:
        return "text of one value"
    some = some_of(values)
    if all(map(TIME.fullmatch, some)):
        return "times of day or durations; write them as minutes or hours"
    if _are_dates(some[:FEW]):
        return "dates written in several ways; write them in one"
    return f"text ({say('categories', '')} uses it)" if different <= MOST_CATEGORIES else "text"


def _are_dates(words: Sequence[str]) -> bool:
    """Whether each of some words is a date by itself."""
    import pandas as pd

    return all(infer_date_format(pd.Series([word]))[0] is not None for word in words)


def _are_long(values: pd.Series[Any]) -> bool:
    """Whether most cells are whole numbers so long that floats cannot tell them apart."""
    if values.dtype.kind in "iu":
        return bool(len(values)) and bool((values.abs() >= 10 ** (LONG - 1)).mean() > 0.5)
    if not _is_text(values.dtype) or values.empty:
        return False
    some = some_of(values)
    return sum(bool(DIGITS.fullmatch(word)) for word in some) > len(some) / 2


def _kinds(table: pd.DataFrame) -> dict[str, Any]:
    return dict(zip(table.columns, table.dtypes, strict=True))


def _is_numeric(kind: Any) -> bool:
    import pandas as pd

    return pd.api.types.is_numeric_dtype(kind) and kind.kind != "c"


def _is_text(kind: Any) -> bool:
    return not _is_numeric(kind) and kind.kind not in "mMc"


def _parsed(values: pd.Series[Any]) -> pd.Series[Any]:
    """Values as numbers, those that are none missing; whole ones of many digits rounded."""
    import pandas as pd

    try:
        parsed: pd.Series[Any] = pd.to_numeric(values, errors="coerce")
        return parsed.astype(np.float64) if parsed.dtype == object else parsed
    except (OverflowError, TypeError):  # a whole number beyond floats; a list in a cell
        words = values.astype(str).where(values.notna(), None)
        return words.map(_float_or_nan).astype(np.float64)


def _float_or_nan(word: str | None) -> float:
    try:
        return math.nan if word is None else float(word)
    except ValueError:
        return math.nan


def _not_a_number(
    table: pd.DataFrame, column: str, writing: Writing, first_row: int, say: Say
) -> DataError:
    values = table[column]
    # beyond all floats is no number either
    bad = values.notna().to_numpy() & ~np.isfinite(_floats(values, writing))
    place = int(np.flatnonzero(bad)[0])
    word = quote(values.iloc[place])
    what = "dates" if writing.date else "numbers"
    remedy = f"Give {say('na', word)} to take it for a missing value, or "
    if points := decimals_of(word):  # a number is never taken for a missing value
        remedy = f"It is written otherwise than the others: mend it, name {say('decimal', points)} "
        remedy = f"{remedy}where it holds for all, or "
    elif any(letter.isdigit() for letter in word):
        remedy = "Mend it, or "
    return DataError(
        f"'{quote(column)}' is {what} save in {plural(int(bad.sum()), 'row')}, such as '{word}' "
        f"in row {place + first_row:,}. {remedy}leave the column out by {say('columns', '')}."
    )


def numbers_of(
    table: pd.DataFrame,
    columns: Sequence[str],
    first_row: int = 1,
    say: Say = keyword,
    *,
    writings: dict[str, Writing] | None = None,
    decimal: str = ".",
) -> Array:
    """Columns as floats, (n, d); what is missing or infinite is NaN."""
    numbers = np.empty((len(table), len(columns)))
    kinds, written = _kinds(table), writings or {}
    days = {column for column, writing in written.items() if writing.date}
    ready = np.array([_is_numeric(kinds[c]) and c not in days for c in columns], dtype=bool)
    known = [column for column, is_ready in zip(columns, ready, strict=True) if is_ready]
    numbers[:, ready] = table[known].to_numpy(dtype=np.float64, na_value=np.nan)
    for j in np.flatnonzero(~ready).tolist():
        writing = written.get(columns[j], Writing(decimal))
        found = _floats(table[columns[j]], writing)
        if (np.isnan(found) & table[columns[j]].notna().to_numpy()).any():
            raise _not_a_number(table, columns[j], writing, first_row, say)
        numbers[:, j] = found
    numbers[np.isinf(numbers)] = np.nan
    return numbers


def _floats(values: pd.Series[Any], writing: Writing) -> Array:
    """Cells as numbers; NaN where one is missing or cannot be read."""
    is_plain = (
        not writing.date and _is_text(values.dtype) and _are_plain(values.dropna(), writing.decimal)
    )
    numbers = _parsed(values) if is_plain else writing.numbers(values)
    return numbers.to_numpy(dtype=np.float64, na_value=np.nan)


def _words(values: pd.Series[Any]) -> pd.Series[Any]:
    """Values as text; 1.0, which only a missing value beside it made of 1, is "1"."""
    return values.map(
        lambda value: str(int(value)) if isinstance(value, float) and value % 1 == 0 else str(value)
    ).astype(object)


def categories_of(values: pd.Series[Any], column: str, say: Say = keyword) -> list[str]:
    """The values of a column of text, sorted."""
    found = sorted(_words(values.dropna()).unique().tolist())
    if not 2 <= len(found) <= MOST_CATEGORIES:
        raise DataError(
            f"{say('categories', quote(column))}: it has {plural(len(found), 'value')}; from 2 to "
            f"{MOST_CATEGORIES} can be used."
        )
    return found


def in_order(text: pd.Series[Any], values: Sequence[str], Z: Array) -> list[str]:
    """Values of a column of text as their rows lie along the line that parts them most.

    Text has no order of its own. One column for each value would make a group of every value, and
    so decide the answer by itself; one column tells groups apart only together with others.

    Parameters
    ----------
    text : series of length n
    values : sequence of str
    Z : array of shape (n, d)
        The columns of numbers on one scale; NaN where a cell is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> text = pd.Series(["large", "medium", "small"] * 20)
    >>> in_order(text, ["large", "medium", "small"], np.tile([[3.0], [2.0], [1.0]], (20, 1)))
    ['small', 'medium', 'large']
    """
    words = _words(text).to_numpy(dtype=object)
    near = np.clip(np.nan_to_num(Z), -FARTHEST, FARTHEST)  # few far rows do not place a value
    members = words[:, None] == np.array(values, dtype=object)  # (n, k)
    size = members.sum(axis=0)
    means = (members.T.astype(np.float64) @ near) / size[:, None]
    means -= size @ means / size.sum()
    if means.size == 0:
        return list(values)
    line = np.linalg.svd(np.sqrt(size)[:, None] * means, full_matrices=False)[2][0]
    line = line * np.sign(line[np.argmax(np.abs(line))])  # a line has two directions
    return [values[k] for k in np.argsort(means @ line, kind="stable")]


def codes_of(text: pd.Series[Any], column: str, values: Sequence[str], notes: list[str]) -> Array:
    """The place of every cell among the values, (n,); NaN where it is missing.

    A value that is none of them is in the middle.
    """
    places = {value: float(place) for place, value in enumerate(values)}
    words = _words(text)
    codes = words.map(places).to_numpy(dtype=np.float64, copy=True)
    is_missing = text.isna().to_numpy()
    is_unknown = np.isnan(codes) & ~is_missing
    codes[is_unknown] = (len(values) - 1) / 2
    codes[is_missing] = np.nan
    if is_unknown.any():
        first = words.to_numpy(dtype=object)[is_unknown][0]
        notes.append(
            f"'{quote(column)}' has {plural(int(is_unknown.sum()), 'row')} of a value that the "
            f"model has not seen, such as '{quote(first)}'"
        )
    return codes
