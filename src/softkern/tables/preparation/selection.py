"""Which columns of a table are features, and the order of categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from softkern._utils.typing import Array
from softkern.exceptions import DataError
from softkern.tables.preparation.categories import category_values, order_values
from softkern.tables.preparation.formats import NumberFormat
from softkern.tables.preparation.kinds import Column, column_notes, recognize
from softkern.tables.preparation.notes import Note
from softkern.tables.preparation.numbers import find_numbers, read_numbers, table_decimal
from softkern.tables.preparation.scaling import ColumnScaler

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Selection", "select_columns"]


@dataclass(frozen=True)
class Selection:
    """Features of a table: numeric columns with their numbers (n, d), and categories."""

    columns: list[Column]
    numbers: Array
    formats: dict[str, NumberFormat]
    decimal: str
    categories: dict[str, list[str]]  # values in the order of their codes
    notes: list[Note]


def select_columns(
    table: pd.DataFrame,
    *,
    columns: Sequence[str] | None,
    categories: Sequence[str],
    exclude: Sequence[str],
    decimal: str | None,
    dates: bool,
    scale: str,
) -> Selection:
    """Select the features of a table. The parameters are those of `TablePreparation`."""
    given = None if columns is None else {*columns, *categories}
    names = [c for c in table.columns if c not in exclude and (given is None or c in given)]
    others = [name for name in names if name not in categories]
    decimal = decimal or table_decimal(table, others)
    are_required = columns is not None
    numeric = find_numbers(table, others, are_required=are_required, decimal=decimal, dates=dates)
    numbers = read_numbers(table, numeric.names, numeric.formats, decimal=decimal)
    required = [*(columns or ()), *(name for name, form in numeric.formats.items() if form.date)]
    features, notes = _features(numbers, numeric.names, required, scale == "auto")
    used = {column.name for column in features}
    numbers = numbers[:, [name in used for name in numeric.names]]
    ordered = _order_categories(table, [c for c in names if c in categories], numbers, features)
    notes = [*numeric.notes, *notes]
    notes += [Note("category", [name], {"values": values}) for name, values in ordered.items()]
    if not used and not ordered:
        why = "; ".join(map(str, notes)) or "there is none"
        raise DataError(f"no column to work with: {why}.")
    formats = {name: form for name, form in numeric.formats.items() if name in used}
    return Selection(features, numbers, formats, decimal, ordered, notes)


def _features(
    numbers: Array, names: Sequence[str], required: Sequence[str], is_scaled: bool
) -> tuple[list[Column], list[Note]]:
    """Return the numeric columns that are features, and notes."""
    columns = recognized = recognize(numbers, names, features=required)
    notes = []
    if not any(column.is_feature for column in columns):  # better an identifier than nothing
        columns = recognize(numbers, names, features=names)
        if any(column.is_feature for column in columns):
            is_sparse = any(column.kind == "mostly empty" for column in recognized)
            notes.append(Note("identifiers used", values={"is_sparse": is_sparse}))
    features = [column for column in columns if column.is_feature]
    others = [column for column in columns if not column.is_feature]
    if not is_scaled:  # notes about scales do not apply
        features = [replace(column, kind="number", signed_log=None) for column in features]
    by_name = {column.name: column for column in (*features, *others)}
    notes += column_notes([by_name[name] for name in names])
    if any(column.kind not in ("empty", "constant", "date") for column in others):
        notes.append(Note("columns can be named"))
    return features, notes


def _order_categories(
    table: pd.DataFrame, names: Sequence[str], numbers: Array, columns: Sequence[Column]
) -> dict[str, list[str]]:
    """Return text columns and their values in the order of their codes."""
    values = {name: category_values(table[name], name) for name in names}
    if not names:
        return {}
    Z = ColumnScaler.fit(numbers, columns).transform(numbers) if columns else numbers
    return {
        name: order_values(table[name], words, Z) if len(words) > 2 else words
        for name, words in values.items()
    }
