"""The kind of every column of numbers: a measurement, an identifier, a constant and so on."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from softkern._utils.typing import Array
from softkern.kernels.spread import FEWEST_STEPS
from softkern.rows import Rows
from softkern.tables.preparation.identifiers import identifier_kind
from softkern.tables.preparation.notes import Note, merge_notes
from softkern.tables.preparation.skew import SignedLog, fit_signed_log

ColumnKind = Literal[
    "empty", "mostly empty", "constant", "row number", "identifier", "date", "two values", "codes",
    "skewed", "number",
]  # fmt: skip
FEATURES = {"two values", "codes", "skewed", "number"}
NINES = re.compile(r"-?99+")
MOSTLY = 0.5  # share of missing cells above which most of a column would be imputed


@dataclass(frozen=True)
class Column:
    """The kind of a column of numbers."""

    name: str
    kind: ColumnKind
    reason: str = ""  # why the column is an identifier (`IdentifierKind`), else empty
    n_values: int = 0  # distinct values of "two values" and "codes"
    signed_log: SignedLog | None = None  # transformation of a skewed column
    # a value such as -999 that may stand for a missing one: it is further from all others than
    # these are from each other, and is used as it is
    placeholder: str = ""

    @property
    def is_feature(self) -> bool:
        """Whether the column measures something."""
        return self.kind in FEATURES


def recognize(
    X: Any, names: Sequence[str] | None = None, *, features: Collection[str] = ()
) -> list[Column]:
    """Recognize the kind of every column of numbers (n, d). NaN and infinite cells are missing.

    A name such as "customer_id" is a hint, never needed. Columns in `features` are features in any
    case. A column that lacks more than half of its values is not one: imputed, most of it would
    consist of a few repeated values, which form clusters. A table in which every row occurs
    equally often counts as one without repeats.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([np.arange(300), rng.lognormal(size=300), rng.integers(2, size=300)])
    >>> [column.kind for column in recognize(X)]
    ['row number', 'skewed', 'two values']
    """
    X = np.asarray(X, dtype=np.float64)
    X = np.where(np.isfinite(X), X, np.nan)
    names = [f"column {j}" for j in range(X.shape[1])] if names is None else list(names)
    if len(X) == 0:
        return [Column(name, "empty") for name in names]
    index, copies = Rows(np.nan_to_num(X, nan=np.inf)).distinct  # NaN differs from itself
    if copies.min() == copies.max() > 1:
        X = X[np.sort(index)]
    return [_recognize(X[:, j], name, name in features) for j, name in enumerate(names)]


def choose_features(
    X: Array, names: Sequence[str], required: Collection[str], is_scaled: bool
) -> tuple[list[Column], list[Note]]:
    """Recognize the kind of every column, at least one of them a feature if possible.

    Return the columns and notes on them. Without `is_scaled`, features are not transformed.
    """
    columns = recognize(X, names, features=required)
    notes = []
    if not any(column.is_feature for column in columns):  # better an identifier than nothing
        is_sparse = any(column.kind == "mostly empty" for column in columns)
        columns = recognize(X, names, features=names)
        if any(column.is_feature for column in columns):
            notes.append(Note("identifiers used", values={"is_sparse": is_sparse}))
    if not is_scaled:  # notes about scales do not apply
        columns = [
            replace(column, kind="number", signed_log=None) if column.is_feature else column
            for column in columns
        ]
    notes += column_notes(columns)
    if any(column.kind not in {"empty", "constant", "date", *FEATURES} for column in columns):
        notes.append(Note("columns can be named"))
    return columns, notes


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
    """Return one note for each decision about columns."""
    notes = [
        Note(column.reason or column.kind, [column.name], {"n_values": column.n_values})
        for column in columns
        if column.kind != "number"
    ]
    notes += [
        Note("placeholder", [column.name], {"value": column.placeholder})
        for column in columns
        if column.placeholder
    ]
    return merge_notes(notes)
