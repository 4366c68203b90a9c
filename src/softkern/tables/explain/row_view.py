"""Rows as their owner knows them and as a model sees them, column by column.

Explanations are found in the model's numbers, where columns are on one scale and skewed ones
straight, and are told in the table's own units. A column of text is one of codes there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from softkern._utils.text import quote
from softkern._utils.typing import Array
from softkern.tables.explain.text import day, joined, number, span

__all__ = ["Seen", "dates_of", "kept_rows", "seen_by", "texts_of"]

MOST_VALUES = 3  # of a column of text that are named as usual


@dataclass(frozen=True)
class Seen:
    """Rows in two units.

    Attributes
    ----------
    names : list of str
        Of the columns, (d,).
    own : array of shape (n, d)
        In the table's own units; the codes of a column of text.
    values : array of shape (n, d)
        What the model sees.
    texts : dict
        Of a column of text, its number and the values that the codes stand for.
    is_filled : boolean array of shape (n, d), or None
        Cells that were missing in the table.
    dates : set of int
        Columns that count days since 1970.

    Examples
    --------
    >>> import numpy as np
    >>> own, values = np.array([[38.0, 1.0]]), np.array([[0.2, 1.0]])
    >>> rows = Seen(["age", "town"], own, values, texts={1: ["Rome", "Turin"]})
    >>> rows.said(0, 0), rows.said(0, 1)
    ('38', 'Turin')
    """

    names: list[str]
    own: Array
    values: Array
    texts: Mapping[int, Sequence[str]] = field(default_factory=dict)
    is_filled: Array | None = None
    dates: Set[int] = frozenset()

    def __len__(self) -> int:
        return len(self.own)

    def take(self, rows: Array) -> Seen:
        """Some of the rows."""
        filled = None if self.is_filled is None else self.is_filled[rows]
        return replace(self, own=self.own[rows], values=self.values[rows], is_filled=filled)

    def name(self, column: int) -> str:
        """A column's name for a sentence; that of a code is the column's without the value."""
        return quote(self.names[column], 40)

    def value(self, row: int, column: int) -> Any:
        """A cell: a number, or the text that a code stands for."""
        code = float(self.own[row, column])
        if column not in self.texts:
            return code
        texts = self.texts[column]
        return texts[min(max(round(code), 0), len(texts) - 1)]

    def said(self, row: int, column: int) -> str:
        """A cell in words."""
        value = self.value(row, column)
        text = self._number(column, value) if isinstance(value, float) else quote(value, 30)
        is_filled = self.is_filled is not None and self.is_filled[row, column]
        return f"{text} (filled in)" if is_filled else text

    def format_range(self, column: int, low: float, high: float) -> str:
        """What is usual of a column, in words."""
        if column in self.dates and low < high:
            return f"{day(low)} to {day(high)}"
        if column not in self.texts:
            return span(low, high) if low < high else self._number(column, low)
        texts = [quote(text, 20) for text in self.texts[column]]
        codes = range(round(low), round(high) + 1)
        usual = [texts[code] for code in codes if 0 <= code < len(texts)]
        if len(usual) > MOST_VALUES:
            return f"{usual[0]} to {usual[-1]}"
        return joined(usual).replace(" and ", " or ") if usual else span(low, high)

    def _number(self, column: int, value: float) -> str:
        return day(value) if column in self.dates else number(value)


def seen_by(model: Any, X: Any, preparation: Any = None) -> Seen:
    """A table as this model sees it.

    Parameters
    ----------
    model : fitted model
    X : DataFrame or array of shape (n, d)
    preparation : Preparation, default=None
        By which the model's numbers were made of the table; the model's own where it has one.
    """
    if preparation is None:
        preparation = getattr(model, "preparation_", None)
    if preparation is None:
        own = _numbers(X)
        names = getattr(X, "columns", None)
        if names is None:
            names = [f"x{j + 1}" for j in range(own.shape[1])]
        return Seen([str(name) for name in names], own, own)
    from softkern.tables.preparation.cells import as_table

    table = as_table(X)
    if not hasattr(X, "columns") and hasattr(model, "feature_names_in_"):
        table = table.set_axis(model.feature_names_in_, axis=1)
    prepared = preparation.apply(table)
    return _with_blanks(kept_rows(preparation, table, prepared), prepared.kept)


def kept_rows(preparation: Any, table: Any, prepared: Any) -> Seen:
    """The rows of a prepared table that were kept."""
    own = prepared.features.to_numpy(np.float64)
    is_filled = table[preparation.names].isna().to_numpy()[prepared.kept]
    names = list(preparation.names)
    return Seen(
        names, own, prepared.values, texts_of(preparation), is_filled, dates_of(preparation)
    )


def texts_of(preparation: Any) -> dict[int, Sequence[str]]:
    """The columns of codes of a prepared table, and what their codes stand for."""
    first = len(preparation.columns)
    return {first + k: words for k, words in enumerate(preparation.categories.values())}


def dates_of(preparation: Any) -> frozenset[int]:
    """The columns of days of a prepared table."""
    dates = {c for c, how in preparation.writings.items() if how.date not in ("", "spans")}
    return frozenset(k for k, column in enumerate(preparation.columns) if column in dates)


def _with_blanks(seen: Seen, kept: Array) -> Seen:
    """All rows; one without any value is at every column's middle."""
    if kept.all():
        return seen
    own, values = (
        np.tile(np.median(table, axis=0), (len(kept), 1)) for table in (seen.own, seen.values)
    )
    own[kept], values[kept] = seen.own, seen.values
    is_filled = np.ones(own.shape, dtype=bool)
    is_filled[kept] = seen.is_filled
    return replace(seen, own=own, values=values, is_filled=is_filled)


def _numbers(X: Any) -> Array:
    if hasattr(X, "toarray"):
        X = X.toarray()
    try:
        own = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "X has columns that are not numbers; give the columns that the model was fitted on."
        ) from error
    if own.ndim != 2:
        raise ValueError(f"X has shape {own.shape}; a table of rows and columns is needed.")
    bad = np.argwhere(~np.isfinite(own))
    if len(bad):
        i, j = bad[0]
        raise ValueError(
            f"X has the value {own[i, j]} in row {i}, column {j}; give the rows that the model was "
            "fitted on."
        )
    return own
