"""Tables as DataFrames with named columns, and their cells as text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd

from softkern._utils.text import quote_list, unknown_names
from softkern.exceptions import DataError


def as_table(X: Any) -> pd.DataFrame:
    """Return any table as a DataFrame whose columns have distinct names.

    X is a DataFrame, an object that has `columns` and returns each as an array, such as a polars
    DataFrame, or an array. Columns of an array, and of a DataFrame without names, are called x1,
    x2 and so on. Blank text is missing.
    """
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
    names = pd.Index(map(str, table.columns))
    if not any(isinstance(name, str) for name in table.columns):
        names = pd.Index([f"x{j + 1}" for j in range(len(names))])
    if names.has_duplicates:
        repeated = names[names.duplicated(keep=False)].unique().tolist()
        raise DataError(f"several columns are called {quote_list(repeated)}; rename all but one.")
    return replace_words(table.set_axis(names, axis=1), {""})


def replace_words(
    table: pd.DataFrame, words: Collection[str], except_in: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the table with cells of text that are one of these words missing.

    Blanks around a word do not matter. Columns in `except_in` are not changed.
    """
    replaced = table.copy(deep=False)
    for column, dtype in table.dtypes.items():
        if is_text(dtype) and column not in except_in:
            cells = table[column]
            values = cells.to_numpy(object)  # pandas is slow to iterate over its strings
            is_word = [isinstance(cell, str) and cell.strip() in words for cell in values]
            if any(is_word):
                replaced[column] = cells.mask(np.array(is_word))
    return replaced


def require_columns(table: pd.DataFrame, names: Sequence[str]) -> None:
    """Raise an error if the table lacks columns of these names."""
    if not set(names) <= set(table.columns):
        lacking = [name for name in names if name not in table.columns]
        raise DataError(f"the table lacks {unknown_names(lacking, list(table.columns))}")


def is_numeric(dtype: Any) -> bool:
    """Return whether a column of this dtype holds real numbers."""
    return pd.api.types.is_numeric_dtype(dtype) and dtype.kind != "c"


def is_text(dtype: Any) -> bool:
    """Return whether a column of this dtype may hold text."""
    return not is_numeric(dtype) and dtype.kind not in "mMc"


def to_words(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return cells as text, with "1" for 1.0, a 1 in a column with missing values."""

    def word(value: Any) -> str:
        is_whole = isinstance(value, float) and value % 1 == 0
        return str(int(value)) if is_whole else str(value)

    return values.astype(object).map(word, na_action="ignore")
