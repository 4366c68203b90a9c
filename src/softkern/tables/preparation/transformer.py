"""From a table to the numbers that a model sees.

What `TablePreparation` learns is plain data, so that a saved model prepares new rows, matched by
name, in the same way.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from softkern._utils.sklearn_compat import StrOptions
from softkern._utils.text import plural, quote, quote_list
from softkern._utils.typing import Array
from softkern.exceptions import DataError, Remedy
from softkern.rows import Rows, check_weights
from softkern.tables.preparation.categories import encode, order_categories
from softkern.tables.preparation.cells import as_table, require_columns
from softkern.tables.preparation.formats import NumberFormat, infer_decimal
from softkern.tables.preparation.kinds import choose_features
from softkern.tables.preparation.notes import Note, merge_notes
from softkern.tables.preparation.numbers import find_numbers, read_numbers
from softkern.tables.preparation.scaling import ColumnScaler, Logs, NearestRowImputer

Missing = Literal["neighbors", "refuse", "drop", "impute"]
Scale = Literal["auto", "none", "standard", "robust"]

HUGE = 1e100  # squares of squares of larger values overflow
TINY = 1e-305  # a smaller range has no inverse
FILLS = (
    Remedy("missing", "drop", "to drop these rows"),
    Remedy("missing", "neighbors", "to impute them from the nearest rows"),
    Remedy("missing", "impute", "to impute each column's median"),
)


@dataclass(frozen=True)
class PreparedTable:
    """Rows of a table, ready for a model."""

    features: pd.DataFrame  # used rows in the table's own units, (n_used, d), without gaps
    values: Array  # the features on the scale of the model
    is_used: NDArray[np.bool_]  # (n,), False for rows that lack values
    is_imputed: NDArray[np.bool_]  # which cells were missing, (n_used, d)
    preparation: TablePreparation
    notes: list[Note] = field(default_factory=list)  # on rows and columns, for users

    def __len__(self) -> int:
        return len(self.is_used)

    def used_rows(self) -> PreparedTable:
        """Return the used rows as a table of their own."""
        return replace(self, is_used=np.ones(len(self.values), dtype=bool))

    def expand(self, other: float = np.nan) -> Array:
        """Return the values of all rows of the table, (n, d), with `other` for rows not used."""
        values = np.full((len(self.is_used), self.values.shape[1]), other)
        values[self.is_used] = self.values
        return values


class TablePreparation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn a table into numbers on one scale.

    Parameters
    ----------
    columns : sequence of str, default=None
        Columns to use in any case. By default all that hold numbers, except for row
        numbers and identifiers.
    categories : sequence of str, default=()
        Text columns to use, with 2 to 20 values each. Each becomes one column of codes, in the
        order in which the values lie in the numeric columns.
    scale : {"auto", "none", "standard", "robust"}, default="auto"
        ``"robust"`` divides by a robust spread, ``"auto"`` also takes logarithms of skewed columns,
        ``"standard"`` divides by the standard deviation.
    missing : {"neighbors", "refuse", "drop", "impute"}, default="neighbors"
        What to do with missing values: impute them from the nearest rows, raise an error, drop the
        rows, or impute the column's median (categories: the most frequent value).
    exclude : sequence of str, default=()
        Columns to leave out, for example an identifier.
    decimal : {".", ","}, default=None
        Decimal point of numbers in ambiguous text columns. None: inferred from the other columns.
    dates : bool, default=False
        Whether to use dates, as days.

    Attributes
    ----------
    columns_ : list of str
        Numeric columns that are used.
    categories_ : dict
        Text columns that are used, and their values in the order of their codes 0, 1 and so on.
    formats_ : dict of NumberFormat
        Formats of numeric columns that are not plain numbers.
    decimal_ : {".", ","}
        Decimal point of numbers in text columns.
    scaler_ : ColumnScaler or None
        Scaling of the features, or None if they are not scaled.
    imputer_ : NearestRowImputer or None
        Imputation for ``missing="neighbors"``, or None if the preparation was not fitted to rows.
    fill_values_ : list of float
        Value of every feature for ``missing="impute"``.
    notes_ : list of Note
        What was done to the columns and rows. ``str(note)`` is the text of a note.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the table's columns, if it has names.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.0, 2.0, 4.0], "one": 1})
    >>> preparation = TablePreparation(scale="none").fit(table)
    >>> print(*preparation.notes_, sep="; ")
    left out 'one': it has one value
    >>> preparation.transform(table).ravel()
    array([1., 2., 4.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "columns": [list, tuple, None],
        "categories": [list, tuple],
        "scale": [StrOptions(set(get_args(Scale)))],
        "missing": [StrOptions(set(get_args(Missing)))],
        "exclude": [list, tuple],
        "decimal": [StrOptions({".", ","}), None],
        "dates": ["boolean"],
    }
    columns_: list[str]
    categories_: dict[str, list[str]]
    formats_: dict[str, NumberFormat]
    decimal_: str
    scaler_: ColumnScaler | None
    imputer_: NearestRowImputer | None
    fill_values_: list[float]
    notes_: list[Note]
    n_features_in_: int

    def __init__(
        self,
        *,
        columns: Sequence[str] | None = None,
        categories: Sequence[str] = (),
        scale: Scale = "auto",
        missing: Missing = "neighbors",
        exclude: Sequence[str] = (),
        decimal: str | None = None,
        dates: bool = False,
    ) -> None:
        self.columns = columns
        self.categories = categories
        self.scale = scale
        self.missing = missing
        self.exclude = exclude
        self.decimal = decimal
        self.dates = dates

    @classmethod
    def for_numbers(cls, names: Sequence[str], decimal: str = ".") -> Self:
        """Return a fitted preparation that takes columns of numbers as they are."""
        self = cls(columns=list(names), scale="none", missing="refuse", decimal=decimal)
        self.columns_, self.categories_, self.formats_ = list(names), {}, {}
        self.decimal_, self.scaler_, self.imputer_ = decimal, None, None
        self.fill_values_, self.notes_, self.n_features_in_ = [], [], len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        return self

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn how to prepare a table.

        Parameters
        ----------
        X : DataFrame or array of shape (n, d)
        y : ignored
        sample_weight : array of shape (n,), default=None
            Rows of weight zero are not learned from. Other weights make no difference.

        Returns
        -------
        self : TablePreparation
        """
        self.fit_prepare(X, sample_weight)
        return self

    def transform(self, X: Any) -> Array:
        """Return the numbers of a table, (n, d), NaN in rows that are left out.

        Columns are matched by name, those of an array by place.
        """
        return self.prepare(X).expand()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the features, (d,), such as "kind=b" for a category a or b."""
        check_is_fitted(self)
        names = list(self.columns_)
        for name, values in self.categories_.items():
            names.append(f"{name}={values[1]}" if len(values) == 2 else name)
        return np.array(names, dtype=object)

    @property
    def used_columns_(self) -> list[str]:
        """Columns that a table must have."""
        return [*self.columns_, *self.categories_]

    def fit_prepare(self, X: Any, sample_weight: Any = None) -> PreparedTable:
        """Learn how to prepare a table, and prepare it (see `fit` and `prepare`)."""
        self._validate_params()
        table = as_table(X)
        is_weighted = check_weights(sample_weight, len(table)) > 0
        used = table if is_weighted.all() else table[is_weighted]
        require_columns(used, [*(self.columns or ()), *self.categories])
        if len(used) < 2:
            raise DataError(f"the table has {plural(len(used), 'row')}; at least two are needed.")
        self.n_features_in_ = table.shape[1]
        if hasattr(X, "columns") and list(X.columns) == list(table.columns):
            self.feature_names_in_ = np.array(table.columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        raw = self._learn(used)
        prepared = self._prepare(raw, self.missing, 1)
        if len(prepared.values) < 2:
            raise DataError(
                f"{'; '.join(map(str, prepared.notes))}; "
                f"{plural(len(prepared.values), 'row')} would be left.",
                [Remedy("missing", "neighbors"), Remedy("columns")],
            )
        if self.scale == "none":
            extent = prepared.features.max() - prepared.features.min()
            tiny = extent.index[(extent > 0) & (extent < TINY)].tolist()
            if tiny:
                raise DataError(
                    f"{quote_list(tiny)}: values that differ by less than {TINY:g} are equal to a "
                    "model. Use another unit or scaling.",
                    [Remedy("scale", "standard")],
                )
        rows = len(prepared.features)
        duplicates = rows - len(Rows(prepared.features.to_numpy()).distinct[0])
        if duplicates:
            self.notes_.append(Note("duplicates", values={"rows": duplicates, "of": rows}))
        self.notes_ = [*prepared.notes, *self.notes_]
        if not is_weighted.all():
            prepared = self.prepare(table)
        return replace(prepared, notes=self.notes_)

    def prepare(
        self, X: Any, *, missing: Missing | None = None, first_row: int = 1
    ) -> PreparedTable:
        """Prepare rows like those of the fit.

        Parameters
        ----------
        X : DataFrame or array of shape (n, d)
            Columns are matched by name, those of an array by place. A `PreparedTable` is returned
            as it is.
        missing : {"neighbors", "refuse", "drop", "impute"}, default=None
            Replaces the parameter of the preparation.
        first_row : int, default=1
            Number of the first row in messages.
        """
        check_is_fitted(self)
        if isinstance(X, PreparedTable):
            return X
        table = as_table(X)
        if not hasattr(X, "columns"):
            if table.shape[1] != self.n_features_in_:
                raise DataError(
                    f"X has {table.shape[1]} features, but the preparation expects "
                    f"{self.n_features_in_} features as input."
                )
            table = table.set_axis(getattr(self, "feature_names_in_", table.columns), axis=1)
        require_columns(table, self.used_columns_)
        numbers = read_numbers(table, self.columns_, self.formats_, self.decimal_, first_row)
        columns, notes = [numbers], []
        for name, values in self.categories_.items():
            codes, new = encode(table[name], values)
            columns.append(codes)
            notes += new
        prepared = self._prepare(np.column_stack(columns), missing or self.missing, first_row)
        return replace(prepared, notes=prepared.notes + notes)

    def with_decimal(self, decimal: str) -> Self:
        """Return the preparation for tables with another decimal point."""
        other = copy.copy(self)
        other.decimal_ = decimal
        other.formats_ = {c: replace(f, decimal=decimal) for c, f in self.formats_.items()}
        return other

    def reference_rows(self) -> PreparedTable | None:
        """Return the rows from which missing cells are imputed, or None if there are none."""
        if self.imputer_ is None:
            return None
        donors = self.imputer_.scaler.inverse_transform(self.imputer_.donors)
        return self._prepare(self.imputer_.transform(donors), "refuse", 1)

    def _learn(self, table: pd.DataFrame) -> Array:
        """Choose the features of a table. Return them, (n, d), NaN where a cell is missing."""
        raw, logs = self._choose_columns(table)
        scaler = ColumnScaler.fit(raw, logs)
        self.fill_values_ = np.nanmedian(raw, axis=0).tolist()
        self.categories_, columns = {}, [raw]
        for name in table.columns:
            if name in self.categories and name not in self.exclude:
                values = order_categories(table[name], scaler.transform(raw))
                codes, _ = encode(table[name], values)
                columns.append(codes)
                counts = np.bincount(codes[~np.isnan(codes)].astype(np.intp))
                self.fill_values_.append(float(counts.argmax()))
                self.categories_[name] = values
                self.notes_.append(Note("category", [name], {"values": values}))
        if not (self.columns_ or self.categories_):
            why = "; ".join(map(str, self.notes_)) or "there is none"
            raise DataError(f"no column to work with: {why}.")
        if self.categories_:
            raw, logs = np.column_stack(columns), [*logs, *(None for _ in self.categories_)]
            scaler = ColumnScaler.fit(raw, logs)
        self.imputer_, self.scaler_ = NearestRowImputer.fit(raw, scaler), scaler
        if self.scale == "standard":
            self.scaler_ = ColumnScaler.fit(raw, logs, "standard")
        elif self.scale == "none":
            self.scaler_ = None
        return raw

    def _choose_columns(self, table: pd.DataFrame) -> tuple[Array, Logs]:
        """Choose the numeric features of a table. Return them, (n, d), and their logarithms."""
        columns = table.columns.difference([*self.exclude, *self.categories], sort=False)
        if self.columns is not None:
            columns = columns[columns.isin(self.columns)]
        names = columns.tolist()
        self.decimal_ = decimal = self.decimal or infer_decimal(table, names)
        names, formats, notes = find_numbers(
            table, names, are_required=self.columns is not None, decimal=decimal, dates=self.dates
        )
        numbers = read_numbers(table, names, formats, decimal)
        dates = [name for name, form in formats.items() if form.date]
        required = [*(self.columns or ()), *dates]
        logs, more = choose_features(numbers, names, required, self.scale == "auto")
        self.columns_ = list(logs)
        self.formats_ = {name: form for name, form in formats.items() if name in logs}
        self.notes_ = merge_notes(notes + more)
        return numbers[:, pd.Index(names).isin(self.columns_)], list(logs.values())

    def _prepare(self, raw: Array, missing: Missing, first_row: int) -> PreparedTable:
        """Impute and scale the numbers of a table, (n, d), NaN where a cell is missing."""
        is_missing = np.isnan(raw)
        is_used: NDArray[np.bool_] = np.ones(len(raw), dtype=bool)
        if missing == "drop":
            is_used = np.asarray(~is_missing.any(axis=1))
        elif missing == "neighbors":
            is_used = np.asarray(~is_missing.all(axis=1))
        notes = []
        if is_missing.any():
            notes = self._missing_notes(is_missing, is_used, missing, first_row)
        raw, is_missing = raw[is_used], is_missing[is_used]
        if is_missing.any() and missing == "impute":
            raw = np.where(is_missing, self.fill_values_, raw)
        elif is_missing.any() and self.imputer_ is not None:
            raw = self.imputer_.transform(raw)
        features = pd.DataFrame(raw, columns=pd.Index(self.get_feature_names_out().tolist()))
        if raw.size and np.abs(raw).max() > HUGE:
            i, j = divmod(int(np.argmax(np.abs(raw))), raw.shape[1])
            row = int(np.flatnonzero(is_used)[i]) + first_row
            raise DataError(
                f"'{quote(features.columns[j])}' is {raw[i, j]:.3g} in row {row:,}: distances to "
                f"values beyond {HUGE:g} overflow. Correct it, or leave the row or column out."
            )
        values = raw if self.scaler_ is None else self.scaler_.transform(raw)
        return PreparedTable(features, values, is_used, is_missing, self, notes)

    def _missing_notes(
        self, is_missing: Array, is_used: Array, missing: Missing, first_row: int
    ) -> list[Note]:
        """Report missing values and what is done about them, or raise an error."""
        can_impute = self.imputer_ is not None
        is_refused = missing == "refuse" or (missing != "drop" and not can_impute)
        counted = is_missing if missing == "drop" else is_missing[is_used]
        columns = zip(self.used_columns_, counted.sum(axis=0).tolist(), strict=True)
        cells = {name: number for name, number in columns if number}
        rows = {"rows": int(counted.any(axis=1).sum()), "of": len(is_missing)}
        action = "refuse" if is_refused else missing
        note = Note("missing values", list(cells), {"action": action, "cells": cells, **rows})
        if is_refused:
            first = int(np.flatnonzero(is_missing.any(axis=1))[0]) + first_row
            raise DataError(f"{note} (first: row {first:,}).", FILLS if can_impute else FILLS[:1])
        n_blank = len(is_missing) - len(counted)
        blank = Note("rows without values", values={"rows": n_blank})
        return [note] * bool(cells) + [blank] * bool(n_blank)
