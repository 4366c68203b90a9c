"""The kind of every column of numbers: a measurement, an identifier, a constant and so on."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from softkern._utils.typing import Array
from softkern.kernels.spread import FEWEST_STEPS
from softkern.rows import Rows
from softkern.tables.preparation.identifiers import identifier_kind
from softkern.tables.preparation.notes import Note, merge_notes
from softkern.tables.preparation.skew import SignedLog, fit_signed_log

__all__ = ["Column", "ColumnKind", "column_notes", "recognize"]

ColumnKind = Literal[
    "empty", "mostly empty", "constant", "row number", "identifier", "date", "two values", "codes",
    "skewed", "number",
]  # fmt: skip
FEATURES = {"two values", "codes", "skewed", "number"}
NINES = re.compile(r"-?99+")
MOSTLY = 0.5  # share of missing cells above which most of a column would be imputed


@dataclass(frozen=True)
class Column:
    """The kind of a column of numbers.

    Attributes
    ----------
    name : str
    kind : str
        "number", "skewed", "two values" or "codes" for a feature, "row number", "identifier",
        "date", "constant", "empty" or "mostly empty" for a column that is not one.
    reason : str
        Why a column is an identifier: "named identifier", "unique numbers", "sequence" or
        "random digits", else empty.
    n_values : int
        Number of distinct values of "two values" and "codes", else 0.
    signed_log : SignedLog or None
        Transformation of a skewed column.
    placeholder : str
        A value such as -999 that may stand for a missing one: it is further from all others than
        these are from each other. Empty if there is none. The value is used as it is.

    Examples
    --------
    >>> import numpy as np
    >>> (column,) = recognize(np.arange(50.0)[:, None], ["number"])
    >>> column.kind, column.is_feature
    ('row number', False)
    """

    name: str
    kind: ColumnKind
    reason: str = ""
    n_values: int = 0
    signed_log: SignedLog | None = None
    placeholder: str = ""

    @property
    def is_feature(self) -> bool:
        """Whether the column measures something."""
        return self.kind in FEATURES


def recognize(
    X: Any, names: Sequence[str] | None = None, *, features: Collection[str] = ()
) -> list[Column]:
    """Recognize the kind of every column.

    Parameters
    ----------
    X : array of shape (n, d)
        Numbers. NaN and infinite values are missing.
    names : sequence of str, default=None
        Column names. A name such as "customer_id" is a hint, never needed.
    features : collection of str, default=()
        Names of columns that are features in any case.

    Returns
    -------
    columns : list of Column

    Notes
    -----
    Whole numbers are an identifier if no two different rows share one although many would by
    chance, if they are spread evenly over all numbers of so many digits or rise evenly through the
    table, or if the name indicates it. A table that is repeated as a whole is looked at once.

    A column is skewed if its tail is more than 2.5 times as long as its other side, and if up to
    five normal groups describe it better in logarithms than without: two groups far apart, or a
    few far values, are not skew.

    A column that lacks more than half of its values is not a feature. Imputed, most of it would
    consist of a few repeated values, which form clusters.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([
    ...     np.arange(300), rng.normal(size=300), rng.lognormal(size=300), rng.integers(2, size=300)
    ... ])
    >>> [column.kind for column in recognize(X)]
    ['row number', 'number', 'skewed', 'two values']
    """
    X = np.asarray(X, dtype=np.float64)
    X = np.where(np.isfinite(X), X, np.nan)
    names = [f"column {j}" for j in range(X.shape[1])] if names is None else list(names)
    if len(X) == 0:
        return [Column(name, "empty") for name in names]
    rows = _without_repeats(X)
    return [_recognize(rows[:, j], name, name in features) for j, name in enumerate(names)]


def _without_repeats(X: Array) -> Array:
    """Return the table once if every row occurs equally often."""
    index, copies = Rows(X).distinct
    is_repeated = copies.min() == copies.max() > 1
    return X[np.sort(index)] if is_repeated else X


def _recognize(x: Array, name: str, is_feature: bool) -> Column:
    present = x[~np.isnan(x)]
    if present.size == 0:
        return Column(name, "empty")
    values, counts = np.unique(present, return_counts=True)
    if values.size == 1:
        return Column(name, "constant")
    if not is_feature and present.size < (1 - MOSTLY) * x.size:
        return Column(name, "mostly empty")
    identifier = None if is_feature else identifier_kind(x, values, name)
    if identifier in ("row number", "date"):
        return Column(name, identifier)
    if identifier is not None:
        return Column(name, "identifier", identifier)
    if values.size < FEWEST_STEPS and values.size < x.size:
        return Column(name, "two values" if values.size == 2 else "codes", n_values=values.size)
    signed_log, placeholder = fit_signed_log(values, counts), _placeholder(values)
    kind: ColumnKind = "number" if signed_log is None else "skewed"
    return Column(name, kind, signed_log=signed_log, placeholder=placeholder)


def _placeholder(values: Array) -> str:
    """Return the first or last value if it consists of nines and is far from the others."""
    for end, others in ((values[0], values[1:]), (values[-1], values[:-1])):
        distance = np.abs(others - end).min()
        if NINES.fullmatch(f"{end:.15g}") and distance > others[-1] - others[0]:
            return f"{end:.15g}"
    return ""


def column_notes(columns: Sequence[Column]) -> list[Note]:
    """Return one note for each decision about columns.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.column_stack([np.arange(50), np.arange(50) % 2, np.arange(50) ** 2])
    >>> for note in column_notes(recognize(X, ["row", "member", "area"])):
    ...     print(note)
    left out 'row': it numbers the rows
    'member' has two values, scaled to a typical distance of other columns
    """
    notes = [
        Note(column.reason or column.kind, [column.name], {"n_values": column.n_values})
        for column in columns
        if column.kind != "number"
    ]
    placeholders = [
        Note("placeholder", [column.name], {"value": column.placeholder})
        for column in columns
        if column.placeholder
    ]
    return [*merge_notes(notes), *merge_notes(placeholders)]
