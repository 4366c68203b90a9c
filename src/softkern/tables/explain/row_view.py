"""Rows in the table's own units and on the model's scale.

Explanations are computed from the model's numbers, where columns have one scale and skewed ones
are on a log scale, and are reported in the table's own units. A text column is a column of codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import check_array

from softkern._utils.text import quote
from softkern._utils.typing import Array
from softkern.tables.preparation import PreparedTable, TablePreparation
from softkern.tables.preparation.formats import DURATION
from softkern.tables.text import format_day, format_number, format_span, join_words

MOST_VALUES = 3  # values of a text column that are listed


@dataclass(frozen=True)
class RowView:
    """Rows in two units."""

    names: list[str]
    own: Array  # (n, d), in the table's own units, codes for a text column
    values: Array  # (n, d), on the model's scale
    texts: Mapping[int, Sequence[str]] = field(default_factory=dict)  # texts of codes, by column
    is_imputed: Array | None = None  # (n, d), cells that were missing in the table
    dates: Set[int] = frozenset()  # columns that count days since 1970

    def __len__(self) -> int:
        return len(self.own)

    def take(self, rows: Array) -> RowView:
        """Return some of the rows."""
        imputed = None if self.is_imputed is None else self.is_imputed[rows]
        return replace(self, own=self.own[rows], values=self.values[rows], is_imputed=imputed)

    def value(self, row: int, column: int) -> Any:
        """Return a cell: a number, or the text of a code."""
        code = float(self.own[row, column])
        if column not in self.texts:
            return code
        texts = self.texts[column]
        return texts[min(max(round(code), 0), len(texts) - 1)]

    def format_value(self, row: int, column: int) -> str:
        """Return a cell as text."""
        value = self.value(row, column)
        form = format_day if column in self.dates else format_number
        text = form(value) if isinstance(value, float) else quote(value, 30)
        is_imputed = self.is_imputed is not None and self.is_imputed[row, column]
        return f"{text} (filled in)" if is_imputed else text

    def format_range(self, column: int, low: float, high: float) -> str:
        """Return the range of a column as text."""
        if column not in self.texts:
            return format_span(low, high, column in self.dates)
        inside = [quote(text, 20) for text in self.texts[column][round(low) : round(high) + 1]]
        if len(inside) > MOST_VALUES:
            return f"{inside[0]} to {inside[-1]}"
        return join_words(inside, "or")


def check_training_rows(given: int, fitted: int) -> None:
    """Raise an error unless the table has as many rows as the model was fitted on."""
    if given != fitted:
        raise ValueError(
            f"X has {given} rows, and the model was fitted on {fitted}; pass the table that it was "
            "fitted on."
        )


def view_table(X: Any, preparation: TablePreparation | None) -> RowView:
    """Return all rows of a table as the model sees them, with its preparation if it has one."""
    if preparation is None:
        own = check_array(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        names = getattr(X, "columns", [f"x{j + 1}" for j in range(own.shape[1])])
        return RowView([str(name) for name in names], own, own)
    prepared = preparation.prepare(X)
    rows, is_used = view_prepared(prepared), prepared.is_used
    if is_used.all():
        return rows
    # rows without any value are at every column's median
    own, values = (np.vstack([part, np.median(part, axis=0)]) for part in (rows.own, rows.values))
    is_imputed = np.vstack([prepared.is_imputed, np.ones(len(rows.names), dtype=bool)])
    place = np.where(is_used, np.cumsum(is_used) - 1, -1)
    return replace(rows, own=own, values=values, is_imputed=is_imputed).take(place)


def view_prepared(prepared: PreparedTable) -> RowView:
    """Return the used rows of a prepared table."""
    preparation = prepared.preparation
    first = len(preparation.columns_)
    dates = {c for c, form in preparation.formats_.items() if form.date not in ("", DURATION)}
    return RowView(
        preparation.used_columns_,
        prepared.features.to_numpy(np.float64),
        prepared.values,
        {first + k: values for k, values in enumerate(preparation.categories_.values())},
        prepared.is_imputed,
        {k for k, column in enumerate(preparation.columns_) if column in dates},
    )
