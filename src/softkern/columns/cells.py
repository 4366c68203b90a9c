"""Cells of a table as numbers: what is a number, what is text, and text by codes.

Called by `softkern.columns.preparation`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from softkern._typing import Array
from softkern.exceptions import DataError
from softkern.words import count, named, quoted

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Say",
    "as_table",
    "categories_of",
    "codes_of",
    "in_order",
    "keyword",
    "numbers_of",
    "numeric_columns",
    "require",
]

MOST_CATEGORIES = 20
FARTHEST = 5.0  # spreads from the middle of a column, beyond which rows are as far as that
NEARLY_NUMBERS = 0.5  # share of a column's values from which text among them is a mistake

Say = Callable[[str, str], str]  # how whoever asked writes an option and its value


def keyword(name: str, value: str = "") -> str:
    """An option as Python's users write it; those of reading a table are pandas'.

    Examples
    --------
    >>> keyword("missing", "drop"), keyword("columns"), keyword("na", "?")
    ("missing='drop'", 'columns=…', "na_values='?'")
    """
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
        raise DataError(f"several columns are called {named(twice)}; give each a name of its own.")
    return table.set_axis(pd.Index(names), axis=1)


def require(table: pd.DataFrame, names: Sequence[str]) -> None:
    """Refuse a table without the columns of these names."""
    lacking = [name for name in names if name not in table.columns]
    if lacking:
        raise DataError(
            f"the table lacks {named(lacking)}; its columns are {named(list(table.columns), 12)}."
        )


def numeric_columns(
    table: pd.DataFrame,
    wanted: Sequence[str],
    categories: Sequence[str],
    were_asked: bool,
    notes: list[str],
    say: Say = keyword,
) -> list[str]:
    """The columns that hold numbers; the others are named, or refused where they were asked for."""
    numeric, texts, kinds = [], [], _kinds(table)
    for column in wanted:
        if column in categories:
            continue
        if _is_numeric(kinds[column]):
            numeric.append(column)
            continue
        present = table[column].dropna()
        parsed = 0
        if present.dtype.kind not in "mMc":
            parsed = int(_parsed(present).notna().sum())
        if parsed == len(present):
            numeric.append(column)  # also a column without any value, which is left out later
        elif parsed >= NEARLY_NUMBERS * len(present):
            raise _not_a_number(table, column, 1, say)
        elif _has_decimal_comma(present):
            raise DataError(
                f"'{quoted(column)}' holds numbers with a decimal comma, such as "
                f"'{quoted(present.iloc[0])}'. Give {say('decimal', ',')} to read them; if the "
                "comma parts thousands, take it out."
            )
        else:
            texts.append(column)
    if texts and were_asked:
        verb = "is" if len(texts) == 1 else "are"
        asked = say("categories", "")
        raise DataError(f"{named(texts)} {verb} text; give {asked} for few categories.")
    alike: dict[str, list[str]] = {}
    for column in texts:
        alike.setdefault(_text_kind(table[column], say), []).append(column)
    notes.extend(f"left out {named(columns)}: {kind}" for kind, columns in alike.items())
    return numeric


def _text_kind(values: pd.Series[Any], say: Say) -> str:
    if values.dtype.kind in "mM":
        return "dates"
    few = values.astype(str).nunique() <= MOST_CATEGORIES
    return f"text ({say('categories', '')} uses it)" if few else "text"


def _kinds(table: pd.DataFrame) -> dict[str, Any]:
    return dict(zip(table.columns, table.dtypes, strict=True))


def _is_numeric(kind: Any) -> bool:
    import pandas as pd

    return pd.api.types.is_numeric_dtype(kind) and kind.kind != "c"


def _has_decimal_comma(values: pd.Series[Any]) -> bool:
    words = values.head(1000).astype(str)
    return bool(words.str.fullmatch(r"\s*[-+]?\d+(,\d+)?(e[-+]?\d+)?\s*", case=False).all())


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


def _not_a_number(table: pd.DataFrame, column: str, first_row: int, say: Say) -> DataError:
    values = table[column]
    bad = values.notna().to_numpy() & _parsed(values).isna().to_numpy()
    place = int(np.flatnonzero(bad)[0])
    word = quoted(values.iloc[place])
    return DataError(
        f"'{quoted(column)}' is numbers save in {count(int(bad.sum()), 'row')}, such as '{word}' "
        f"in row {place + first_row:,}. Give {say('na', word)} to take it for a missing value, or "
        f"leave the column out by {say('columns', '')}."
    )


def numbers_of(
    table: pd.DataFrame, columns: Sequence[str], first_row: int = 1, say: Say = keyword
) -> Array:
    """Columns as floats, (n, d); what is missing or infinite is NaN."""
    numbers = np.empty((len(table), len(columns)))
    kinds = _kinds(table)
    ready = np.array([_is_numeric(kinds[column]) for column in columns], dtype=bool)
    known = [column for column, is_ready in zip(columns, ready, strict=True) if is_ready]
    numbers[:, ready] = table[known].to_numpy(dtype=np.float64, na_value=np.nan)
    for j in np.flatnonzero(~ready).tolist():
        values = table[columns[j]]
        parsed = _parsed(values)
        if (parsed.isna() & values.notna()).any():
            raise _not_a_number(table, columns[j], first_row, say)
        numbers[:, j] = parsed.to_numpy(dtype=np.float64, na_value=np.nan)
    numbers[np.isinf(numbers)] = np.nan
    return numbers


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
            f"{say('categories', quoted(column))}: it has {count(len(found), 'value')}; from 2 to "
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
            f"'{quoted(column)}' has {count(int(is_unknown.sum()), 'row')} of a value that the "
            f"model has not seen, such as '{quoted(first)}'"
        )
    return codes
