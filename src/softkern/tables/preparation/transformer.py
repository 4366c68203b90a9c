"""From the columns of a table to the numbers that a model sees, the same way tomorrow.

`Preparation.fit` chooses columns, makes numbers of categories, leaves out what is no feature,
fills in missing values, brings columns to one scale, and notes all of it; what columns are is found
by `softkern.tables.preparation.kinds`. What it learned is plain data: it travels in the model's
file, and `apply` does the same to new rows, matched by name. Called by the command line and by
`softkern.cluster`, so that both give the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from softkern._utils.text import plural, quote, quote_list
from softkern._utils.typing import Array
from softkern.exceptions import DataError
from softkern.tables.preparation.cells import (
    Say,
    categories_of,
    codes_of,
    decimal_of,
    in_order,
    keyword,
    numbers_of,
    numeric_columns,
    require,
)
from softkern.tables.preparation.formats import Writing
from softkern.tables.preparation.imputation import Neighbors
from softkern.tables.preparation.kinds import Column, describe, recognize, repeats
from softkern.tables.preparation.scaling import Scaling

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Missing", "Preparation", "Prepared", "Scale"]

Missing = Literal["neighbors", "refuse", "drop", "impute"]
Scale = Literal["auto", "none", "standard", "robust"]

MOST_SHOWN = 6  # values of a column of text that a note names
HUGE = 1e100  # beyond it, squares of squares overflow
TINY = 1e-305  # a reach below it has no inverse


@dataclass
class Prepared:
    """Rows ready for a model.

    Attributes
    ----------
    features : DataFrame of shape (m, d)
        In the data's own units.
    values : array of shape (m, d)
        What the model sees.
    kept : boolean array of shape (n,)
        Which rows of the table these are.
    n_missing : int
        Rows of the table with missing values, which were left out or filled in.
    missing_note : str
        What was done about them; empty where there were none.
    notes : list of str
        What else a user should know.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.0, 2.5, 4.0], "y": [3.0, 0.5, 7.0]})
    >>> _, prepared = Preparation.fit(table)
    >>> prepared.values.shape, prepared.n_missing
    ((3, 2), 0)
    """

    features: pd.DataFrame
    values: Array
    kept: Array
    n_missing: int = 0
    missing_note: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass
class Preparation:
    """How the columns of a table become numbers; plain data, made by `fit`.

    Attributes
    ----------
    columns : list of str
        Columns of numbers.
    categories : dict
        Columns of text and their values, in the order in which these are 0, 1 and so on.
    fill : list of float
        What stands for a missing value of every feature with "impute": a column's median, or
        its most frequent value.
    missing : {"neighbors", "refuse", "drop", "impute"}
    scale : {"auto", "none", "standard", "robust"}
    scaling : Scaling or None
        From the data's units to what the model sees; None where they are the same.
    neighbors : Neighbors or None
        What missing cells are filled in from; None in a model that was not made by `fit`.
    decimal : {".", ","}
        The table's decimal point, for numbers that are text.
    writings : dict
        How the columns write their numbers that do not as computers do.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.0, 2.0, 4.0], "one": 1, "who": ["a", "b", "a"]})
    >>> preparation, prepared = Preparation.fit(table, scale="none")
    >>> preparation.columns
    ['x']
    >>> prepared.notes
    ["left out 'who': text (categories=… uses it)", "left out 'one': it has one value"]
    >>> preparation.apply(table[["who", "x"]]).values.ravel()
    array([1., 2., 4.])
    """

    columns: list[str]
    categories: dict[str, list[str]] = field(default_factory=dict)
    fill: list[float] = field(default_factory=list)
    missing: Missing = "refuse"
    scale: Scale = "none"
    scaling: Scaling | None = None
    neighbors: Neighbors | None = None
    decimal: str = "."
    writings: dict[str, Writing] = field(default_factory=dict)

    @staticmethod
    def _say(name: str, value: str) -> str:
        """How messages name an option; the command line has its own way."""
        return keyword(name, value)

    @classmethod
    def fit(
        cls,
        table: pd.DataFrame,
        *,
        columns: Sequence[str] | None = None,
        categories: Sequence[str] = (),
        scale: Scale = "auto",
        missing: Missing = "neighbors",
        left_out: Sequence[str] = (),
        decimal: str | None = None,
        dates: bool = False,
    ) -> tuple[Self, Prepared]:
        """Learn from a table, and prepare it.

        Parameters
        ----------
        table : DataFrame
        columns : sequence of str, default=None
            Columns to use; by default all that hold numbers, less row numbers and identifiers.
        categories : sequence of str, default=()
            Columns of text to use, of up to 20 values. Each becomes one column of codes, in the
            order in which the values lie in the columns of numbers.
        scale, missing : str
        left_out : sequence of str, default=()
            Columns that are no features, such as the identifier.
        decimal : {".", ","}, default=None
            The decimal point of numbers that are text, where their own column leaves a doubt;
            None for the one that the other columns have.
        dates : bool, default=False
            Whether dates are used, as days.
        """
        require(table, [*(columns or ()), *categories])
        if len(table) < 2:
            raise DataError(f"the table has {plural(len(table), 'row')}; at least two are needed.")
        notes: list[str] = []
        asked = None if columns is None else set(columns) | set(categories)
        wanted = [c for c in table.columns if c not in left_out and (asked is None or c in asked)]
        plain = [column for column in wanted if column not in categories]
        decimal = decimal or decimal_of(table, plain)
        numeric, writings = numeric_columns(
            table, plain, columns is not None, notes, cls._say, decimal=decimal, dates=dates
        )
        numbers = numbers_of(table, numeric, 1, cls._say, writings=writings, decimal=decimal)
        used = [*(columns or ()), *(c for c, writing in writings.items() if writing.date)]
        found = _features(numbers, numeric, used, scale, notes, cls._say)
        kept = {column.name for column in found}
        is_found = [name in kept for name in numeric]
        texts = _texts(table, wanted, categories, numbers[:, is_found], found, notes, cls._say)
        if not found and not texts:
            raise DataError(f"no column to work with: {'; '.join(notes) or 'there is none'}.")
        self = cls([column.name for column in found], texts, missing=missing, scale=scale)
        self.decimal = decimal
        self.writings = {c: writing for c, writing in writings.items() if c in self.columns}
        raw = self._with_codes(numbers[:, is_found], table, notes)
        codes = [Column(name, "codes") for name in self.features[len(found) :]]
        self._learn(raw, [*found, *codes])
        prepared = self._prepared(raw, missing, 1)
        if len(prepared.values) < 2:
            raise DataError(
                f"{prepared.missing_note}; {plural(len(prepared.values), 'row')} would be left. "
                f"Give {cls._say('missing', 'neighbors')}, or choose {cls._say('columns', '')}."
            )
        if scale == "none":
            _refuse_tiny(prepared.features, cls._say)
        repeated = repeats(prepared.features.to_numpy())
        prepared.notes = [*notes, *([repeated] if repeated else [])]
        return self, prepared

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Self:
        """From what `dataclasses.asdict` made of it; a TypeError or KeyError where it is none."""
        self = cls(**saved)
        if saved["scaling"] is not None:
            self.scaling = Scaling.from_dict(saved["scaling"])
        if saved["neighbors"] is not None:
            self.neighbors = Neighbors.from_dict(saved["neighbors"])
        self.writings = {c: Writing(**how) for c, how in saved.get("writings", {}).items()}
        return self

    @property
    def names(self) -> list[str]:
        """Columns that a table must have."""
        return [*self.columns, *self.categories]

    @property
    def features(self) -> list[str]:
        """What the model's columns are called."""
        codes = [f"{c}={v[1]}" if len(v) == 2 else c for c, v in self.categories.items()]
        return [*self.columns, *codes]

    def apply(
        self, table: pd.DataFrame, *, missing: Missing | None = None, first_row: int = 1
    ) -> Prepared:
        """Prepare rows as those of the fit were; `first_row` is the number of the first."""
        require(table, self.names)
        notes: list[str] = []
        raw = self._raw(table, first_row, notes)
        return replace(self._prepared(raw, missing or self.missing, first_row), notes=notes)

    def _prepared(self, raw: Array, how: Missing, first_row: int) -> Prepared:
        """Numbers and codes without gaps, on one scale."""
        import pandas as pd

        is_missing = np.asarray(np.isnan(raw).any(axis=1))
        kept, missing_note = np.ones(len(raw), dtype=bool), ""
        if is_missing.any():
            if how == "drop":
                kept = ~is_missing
            elif how == "neighbors":
                kept = np.asarray(~np.isnan(raw).all(axis=1))
            missing_note = self._note_missing(raw, kept, how, first_row)
            raw = self._filled(raw[kept], how)
        _refuse_huge(raw, self.features, np.flatnonzero(kept) + first_row)
        features = pd.DataFrame(raw, columns=pd.Index(self.features))
        values = raw if self.scaling is None else self.scaling.forward(raw)
        return Prepared(features, values, kept, int(is_missing.sum()), missing_note)

    def _raw(self, table: pd.DataFrame, first_row: int, notes: list[str]) -> Array:
        """Numbers and codes, (n, d); NaN where a value is missing."""
        numbers = numbers_of(
            table,
            self.columns,
            first_row,
            self._say,
            writings=self.writings,
            decimal=self.decimal,
        )
        return self._with_codes(numbers, table, notes)

    def _with_codes(self, numbers: Array, table: pd.DataFrame, notes: list[str]) -> Array:
        texts = self.categories.items()
        return np.column_stack([numbers, *(codes_of(table[c], c, v, notes) for c, v in texts)])

    def _learn(self, raw: Array, columns: Sequence[Column]) -> None:
        """Scales, and what stands for missing values, from the rows of the table."""
        self.fill = np.nanmedian(raw, axis=0).tolist()
        for j in range(len(self.columns), raw.shape[1]):
            codes = raw[~np.isnan(raw[:, j]), j].astype(np.intp)
            self.fill[j] = float(np.argmax(np.bincount(codes)))
        robust = Scaling.fit(raw, columns)
        if self.scale == "standard":
            self.scaling = Scaling.fit(raw, columns, "standard")
        elif self.scale != "none":
            self.scaling = robust
        self.neighbors = Neighbors.fit(raw, robust)

    def _filled(self, raw: Array, how: Missing) -> Array:
        if how == "impute":
            return np.where(np.isnan(raw), self.fill, raw)
        if how == "neighbors" and self.neighbors is not None:
            return self.neighbors.fill(raw)
        return raw

    def _note_missing(self, raw: Array, kept: Array, how: Missing, first_row: int) -> str:
        """Which values are missing and what is done about it; an error where they are refused."""
        looked_at = raw[kept] if how == "neighbors" else raw
        holes = np.isnan(looked_at).sum(axis=0).tolist()
        counts = dict(zip(self.names, holes, strict=True))
        is_missing = np.isnan(raw).any(axis=1)
        rows = int(np.isnan(looked_at).any(axis=1).sum())
        where = [f"'{quote(c)}' ({number:,})" for c, number in counts.items() if number]
        more = f" and {len(where) - 5} columns more" if len(where) > 5 else ""
        found = (
            f"{plural(sum(counts.values()), 'missing value')} in {rows:,} of {len(raw):,} rows, "
            f"in {', '.join(where[:5])}{more}"
        )
        if how == "refuse" or (how != "drop" and not self._can_fill(how)):
            first = int(np.flatnonzero(is_missing)[0]) + first_row
            drop, neighbors, impute = (
                self._say("missing", value) for value in ("drop", "neighbors", "impute")
            )
            fills = f", {neighbors} to fill them in from the nearest rows, or {impute} to fill in "
            fills += "each column's median"
            raise DataError(
                f"{found} (first: row {first:,}). Give {drop} to leave these rows out"
                f"{fills if self._can_fill('neighbors') else ''}."
            )
        if how == "drop":
            return f"left out {plural(rows, 'row')}: {found}"
        if how == "impute":
            return f"filled in {found}, by the column's median"
        done = []
        if rows:
            done.append(f"filled in {found}, from the nearest rows by the columns that they have")
        if not kept.all():
            done.append(f"left out {plural(int((~kept).sum()), 'row')} without any value")
        return "; ".join(done)

    def _can_fill(self, how: Missing) -> bool:
        """Whether this has learned from a table; a model that was saved from Python has not."""
        return bool(self.fill) if how == "impute" else self.neighbors is not None


def _features(
    numbers: Array,
    names: Sequence[str],
    asked: Sequence[str],
    scale: Scale,
    notes: list[str],
    say: Say,
) -> list[Column]:
    """The columns that are features; those that were asked for are, whatever they look like."""
    columns = found = recognize(numbers, names, features=asked)
    if not any(column.is_feature for column in columns):  # better an identifier than nothing
        columns = recognize(numbers, names, features=names)
        if any(column.is_feature for column in columns):
            what = "look like identifiers"
            if any(column.kind == "mostly empty" for column in found):
                what = "lack most of their values or look like identifiers"
            notes.append(f"all columns {what}; they are used, for there is no other")
    if scale != "auto":  # what is said of scales does not hold
        columns = [replace(c, kind="number", bend=None) if c.is_feature else c for c in columns]
    notes.extend(describe(columns))
    left_out = [column for column in columns if not column.is_feature]
    if any(column.kind == "date" for column in left_out):
        notes.append(f"{say('dates', '')} uses dates, as days")
    if any(column.kind not in ("empty", "constant", "date") for column in left_out):
        notes.append(f"{say('columns', '')} uses what it names, whatever it looks like")
    return [column for column in columns if column.is_feature]


def _texts(
    table: pd.DataFrame,
    wanted: Sequence[str],
    asked: Sequence[str],
    numbers: Array,
    columns: Sequence[Column],
    notes: list[str],
    say: Say,
) -> dict[str, list[str]]:
    """The columns of text that were asked for, and their values in order."""
    texts = {c: categories_of(table[c], c, say) for c in wanted if c in asked}
    if not texts:
        return {}
    Z = Scaling.fit(numbers, columns).forward(numbers) if columns else numbers
    for c, values in texts.items():
        texts[c] = values if len(values) == 2 else in_order(table[c], values, Z)
        shown = ", ".join(quote(value, 20) for value in texts[c][:MOST_SHOWN])
        more = ", …" if len(values) > MOST_SHOWN else ""
        notes.append(f"'{quote(c)}' is text of {len(values)} values, one column: {shown}{more}")
    return texts


def _refuse_tiny(features: pd.DataFrame, say: Say) -> None:
    reach = (features.max() - features.min()).to_numpy()
    tiny = features.columns[(reach > 0) & (reach < TINY)].tolist()
    if tiny:
        raise DataError(
            f"{quote_list(tiny)}: values that differ by less than {TINY:g} are taken as equal. "
            f"Give {say('scale', 'standard')}, or another unit."
        )


def _refuse_huge(values: Array, features: Sequence[str], rows: Array) -> None:
    if values.size and np.abs(values).max() > HUGE:
        i, j = divmod(int(np.argmax(np.abs(values))), values.shape[1])
        raise DataError(
            f"'{quote(features[j])}' is {values[i, j]:.3g} in row {rows[i]:,}: distances to "
            f"values beyond {HUGE:g} overflow. Correct it, or leave the row or column out."
        )
