"""Tables as DataFrames with named columns, and cells as floats."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from softkern._utils.text import quote_list, unknown_names
from softkern._utils.typing import Array
from softkern.exceptions import DataError
from softkern.tables.preparation.formats import NumberFormat

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "are_plain_numbers",
    "as_table",
    "column_types",
    "is_numeric",
    "is_text",
    "parse_plain",
    "replace_words",
    "require_columns",
    "to_floats",
    "to_words",
]

SAMPLE = 100  # cells that usually show whether all are plain numbers


def as_table(X: Any) -> pd.DataFrame:
    """Return any table as a DataFrame whose columns have distinct names.

    X is a DataFrame, an object that has `columns` and returns each as an array, such as a polars
    DataFrame, or an array. Columns of an array, and of a DataFrame without names, are called x1,
    x2 and so on. Blank text is missing.
    """
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        table = X
    elif hasattr(X, "columns") and hasattr(X, "__getitem__"):
        table = pd.DataFrame({name: X[name].to_numpy() for name in X.columns})
    else:
        if hasattr(X, "toarray"):
            raise DataError("X is a sparse matrix, not a table; pass X.toarray().")
        array = np.asarray(X)
        if array.ndim != 2:
            raise DataError(
                f"a table has two dimensions, rows and columns, not {array.ndim}; "
                "X.reshape(-1, 1) makes a column of one dimension."
            )
        table = pd.DataFrame(array)
    names = [str(name) for name in table.columns]
    if not any(isinstance(name, str) for name in table.columns):
        names = [f"x{j + 1}" for j in range(len(names))]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise DataError(f"several columns are called {quote_list(repeated)}; rename all but one.")
    return replace_words(table.set_axis(pd.Index(names), axis=1), {""})


def replace_words(
    table: pd.DataFrame, words: Collection[str], except_in: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the table with cells of text that are one of these words missing.

    Blanks around a word do not matter. Columns in `except_in` are not changed.
    """
    changed = {}
    for column, dtype in column_types(table).items():
        if is_text(dtype) and column not in except_in:
            cells = table[column]
            is_word = [isinstance(cell, str) and cell.strip() in words for cell in cells]
            if any(is_word):
                changed[column] = cells.mask(np.array(is_word))
    if changed:
        table = table.copy(deep=False)
        for column, cells in changed.items():
            table[column] = cells
    return table


def require_columns(table: pd.DataFrame, names: Sequence[str]) -> None:
    """Raise an error if the table lacks columns of these names."""
    lacking = [name for name in names if name not in table.columns]
    if lacking:
        raise DataError(f"the table lacks {unknown_names(lacking, list(table.columns))}")


def column_types(table: pd.DataFrame) -> dict[str, Any]:
    """Return the dtype of every column."""
    return dict(zip(table.columns, table.dtypes, strict=True))


def is_numeric(dtype: Any) -> bool:
    """Return whether a column of this dtype holds real numbers."""
    import pandas as pd

    return pd.api.types.is_numeric_dtype(dtype) and dtype.kind != "c"


def is_text(dtype: Any) -> bool:
    """Return whether a column of this dtype may hold text."""
    return not is_numeric(dtype) and dtype.kind not in "mMc"


def parse_plain(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return cells in Python's number format as numbers, NaN for any other cell."""
    import pandas as pd

    try:
        parsed: pd.Series[Any] = pd.to_numeric(values, errors="coerce")
        return parsed.astype(np.float64) if parsed.dtype == object else parsed
    except (OverflowError, TypeError):  # a whole number beyond floats; a list in a cell
        cells = values.astype(str).where(values.notna(), None)
        return cells.map(_float_or_nan).astype(np.float64)


def _float_or_nan(cell: str | None) -> float:
    try:
        return math.nan if cell is None else float(cell)
    except ValueError:
        return math.nan


def are_plain_numbers(present: pd.Series[Any], decimal: str) -> bool:
    """Return whether text is numbers in Python's format, where "1.5" has no decimal comma."""
    if decimal == "," and present.astype(str).str.contains(".", regex=False).any():
        return False
    if parse_plain(present.iloc[:SAMPLE]).isna().any():  # parsing all cells takes longer
        return False
    return bool(parse_plain(present).notna().all())


def to_floats(values: pd.Series[Any], number_format: NumberFormat) -> Array:
    """Return cells as floats, NaN where a cell is missing or does not fit the format."""
    is_plain = (
        not number_format.date
        and is_text(values.dtype)
        and are_plain_numbers(values.dropna(), number_format.decimal)
    )
    numbers = parse_plain(values) if is_plain else number_format.parse(values)
    return numbers.to_numpy(dtype=np.float64, na_value=np.nan)


def to_words(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return values as text, with "1" for 1.0, a 1 in a column with missing values."""
    return values.map(
        lambda value: str(int(value)) if isinstance(value, float) and value % 1 == 0 else str(value)
    ).astype(object)
