"""From the columns of a table to the numbers that a model sees, the same way tomorrow.

`Preparation.fit` chooses columns, turns categories into indicators, leaves out what is no feature,
fills in missing values, brings columns to one scale, and notes all of it; what columns are is found
by `softkern.columns`. What it learned is plain data: it travels in the model's file, and `apply`
does the same to new rows, matched by name. Called by the command line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from softkern._typing import Array
from softkern.cli.tables import TableError
from softkern.columns import Column, Neighbours, Scaling, describe, recognise, repeats
from softkern.words import count, named, quoted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Preparation", "Prepared"]

Missing = Literal["neighbours", "refuse", "drop", "impute"]
Scale = Literal["auto", "none", "standard", "robust"]

MOST_CATEGORIES = 20
HUGE = 1e100  # beyond it, squares of squares overflow
TINY = 1e-305  # a reach below it has no inverse
NEARLY_NUMBERS = 0.5  # share of a column's values from which text among them is a mistake


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
        Columns of text and their values, each of which is a column of zeros and ones.
    fill : list of float
        What stands for a missing value of every feature with "impute": a column's median, or the
        indicators of its most frequent value.
    missing : {"neighbours", "refuse", "drop", "impute"}
    scale : {"auto", "none", "standard", "robust"}
    scaling : Scaling or None
        From the data's units to what the model sees; None where they are the same.
    neighbours : Neighbours or None
        What missing cells are filled in from; None in a model that was not made by `fit`.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.0, 2.0, 4.0], "one": 1, "who": ["a", "b", "a"]})
    >>> preparation, prepared = Preparation.fit(table, scale="none")
    >>> preparation.columns
    ['x']
    >>> prepared.notes
    ["left out 'who': text (--one-hot makes columns of it)", "left out 'one': it has one value"]
    >>> preparation.apply(table[["who", "x"]]).values.ravel()
    array([1., 2., 4.])
    """

    columns: list[str]
    categories: dict[str, list[str]] = field(default_factory=dict)
    fill: list[float] = field(default_factory=list)
    missing: Missing = "refuse"
    scale: Scale = "none"
    scaling: Scaling | None = None
    neighbours: Neighbours | None = None

    @classmethod
    def fit(
        cls,
        table: pd.DataFrame,
        *,
        columns: Sequence[str] | None = None,
        one_hot: Sequence[str] = (),
        scale: Scale = "auto",
        missing: Missing = "neighbours",
        left_out: Sequence[str] = (),
    ) -> tuple[Preparation, Prepared]:
        """Learn from a table, and prepare it.

        Parameters
        ----------
        table : DataFrame
        columns : sequence of str, default=None
            Columns to use; by default all that hold numbers, less row numbers and identifiers.
        one_hot : sequence of str, default=()
            Columns of text that become indicators of their values, up to 20.
        scale, missing : str
        left_out : sequence of str, default=()
            Columns that are no features, such as the identifier.
        """
        _require(table, [*(columns or ()), *one_hot])
        if len(table) < 2:
            raise TableError(f"the table has {count(len(table), 'row')}; at least two are needed.")
        notes: list[str] = []
        asked = None if columns is None else set(columns) | set(one_hot)
        wanted = [c for c in table.columns if c not in left_out and (asked is None or c in asked)]
        numeric = _numeric_columns(table, wanted, one_hot, columns is not None, notes)
        found = _features(_numbers(table, numeric), numeric, columns or (), scale, notes)
        categories = {c: _categories(table[c], c) for c in wanted if c in one_hot}
        if not found and not categories:
            raise TableError(f"no column to work with: {'; '.join(notes) or 'there is none'}.")
        self = cls([column.name for column in found], categories, missing=missing, scale=scale)
        raw = self._raw(table, 1, [])
        indicators = [Column(name, "two values") for name in self.features[len(found) :]]
        self._learn(raw, [*found, *indicators])
        prepared = self.apply(table)
        if len(prepared.values) < 2:
            raise TableError(
                f"{prepared.missing_note}; {count(len(prepared.values), 'row')} would be left. "
                "Give --missing neighbours, or choose --columns."
            )
        if scale == "none":
            _refuse_tiny(prepared.features)
        repeated = repeats(prepared.features.to_numpy())
        prepared.notes = [*notes, *prepared.notes, *([repeated] if repeated else [])]
        return self, prepared

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Self:
        """From what `dataclasses.asdict` made of it; a TypeError or KeyError where it is none."""
        self = cls(**saved)
        if saved["scaling"] is not None:
            self.scaling = Scaling.from_dict(saved["scaling"])
        if saved["neighbours"] is not None:
            self.neighbours = Neighbours.from_dict(saved["neighbours"])
        return self

    @property
    def names(self) -> list[str]:
        """Columns that a table must have."""
        return [*self.columns, *self.categories]

    @property
    def features(self) -> list[str]:
        """What the model's columns are called."""
        indicators = [f"{c}={value}" for c, values in self.categories.items() for value in values]
        return [*self.columns, *indicators]

    def apply(
        self, table: pd.DataFrame, *, missing: Missing | None = None, first_row: int = 1
    ) -> Prepared:
        """Prepare rows as those of the fit were; `first_row` is the number of the first."""
        import pandas as pd

        _require(table, self.names)
        notes: list[str] = []
        raw = self._raw(table, first_row, notes)
        is_missing = np.asarray(np.isnan(raw).any(axis=1))
        kept, missing_note = np.ones(len(table), dtype=bool), ""
        if is_missing.any():
            how = missing or self.missing
            if how == "drop":
                kept = ~is_missing
            elif how == "neighbours":
                kept = np.asarray(~np.isnan(raw).all(axis=1))
            missing_note = self._note_missing(raw, kept, how, first_row)
            raw = self._filled(raw[kept], how)
        _refuse_huge(raw, self.features, np.flatnonzero(kept) + first_row)
        features = pd.DataFrame(raw, columns=pd.Index(self.features))
        values = raw if self.scaling is None else self.scaling.forward(raw)
        return Prepared(features, values, kept, int(is_missing.sum()), missing_note, notes)

    def _raw(self, table: pd.DataFrame, first_row: int, notes: list[str]) -> Array:
        """Numbers and indicators, (n, d); NaN where a value is missing."""
        blocks = [_numbers(table, self.columns, first_row)]
        for c, values in self.categories.items():
            blocks.append(_indicators(table[c], c, values, notes))
        return np.concatenate(blocks, axis=1)

    def _learn(self, raw: Array, columns: Sequence[Column]) -> None:
        """Scales, and what stands for missing values, from the rows of the table."""
        self.fill = np.nanmedian(raw, axis=0).tolist()
        start = len(self.columns)
        for values in self.categories.values():
            stop = start + len(values)
            most = int(np.argmax(np.nansum(raw[:, start:stop], axis=0)))
            self.fill[start:stop] = np.eye(len(values))[most].tolist()
            start = stop
        robust = Scaling.fit(raw, columns)
        if self.scale == "standard":
            self.scaling = Scaling.fit(raw, columns, "standard")
        elif self.scale != "none":
            self.scaling = robust
        self.neighbours = Neighbours.fit(raw, robust)

    def _filled(self, raw: Array, how: Missing) -> Array:
        if how == "impute":
            return np.where(np.isnan(raw), self.fill, raw)
        if how == "neighbours" and self.neighbours is not None:
            return self.neighbours.fill(raw)
        return raw

    def _note_missing(self, raw: Array, kept: Array, how: Missing, first_row: int) -> str:
        """Which values are missing and what is done about it; an error where they are refused."""
        holes = np.isnan(raw).sum(axis=0).tolist()
        counts = dict(zip(self.columns, holes, strict=False))
        start = len(self.columns)
        for c, values in self.categories.items():
            counts[c] = holes[start]
            start += len(values)
        is_missing = np.isnan(raw).any(axis=1)
        rows = int(is_missing.sum())
        where = [f"'{quoted(c)}' ({number:,})" for c, number in counts.items() if number]
        more = f" and {len(where) - 5} columns more" if len(where) > 5 else ""
        found = (
            f"{count(sum(counts.values()), 'missing value')} in {rows:,} of {len(raw):,} rows, "
            f"in {', '.join(where[:5])}{more}"
        )
        if how == "refuse" or (how != "drop" and not self._can_fill(how)):
            first = int(np.flatnonzero(is_missing)[0]) + first_row
            fills = ", --missing neighbours to fill them in from the nearest rows, or --missing "
            fills += "impute to fill in each column's median"
            raise TableError(
                f"{found} (first: row {first:,}). Give --missing drop to leave these rows out"
                f"{fills if self._can_fill('neighbours') else ''}."
            )
        if how == "drop":
            return f"left out {count(rows, 'row')}: {found}"
        if how == "impute":
            return f"filled in {found}, by the column's median"
        empty = int((~kept).sum())
        blank = f"; left out {count(empty, 'row')} without any value" if empty else ""
        return f"filled in {found}, from the nearest rows by the columns that they have{blank}"

    def _can_fill(self, how: Missing) -> bool:
        """Whether this has learned from a table; a model that was saved from Python has not."""
        return bool(self.fill) if how == "impute" else self.neighbours is not None


def _require(table: pd.DataFrame, names: Sequence[str]) -> None:
    lacking = [name for name in names if name not in table.columns]
    if lacking:
        raise TableError(
            f"the table lacks {named(lacking)}; its columns are {named(list(table.columns), 12)}."
        )


def _numeric_columns(
    table: pd.DataFrame,
    wanted: Sequence[str],
    one_hot: Sequence[str],
    were_asked: bool,
    notes: list[str],
) -> list[str]:
    """The columns that hold numbers; the others are named, or refused where they were asked for."""
    numeric, texts, kinds = [], [], _kinds(table)
    for column in wanted:
        if column in one_hot:
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
            raise _not_a_number(table, column, 1)
        elif _has_decimal_comma(present):
            raise TableError(
                f"'{quoted(column)}' holds numbers with a decimal comma, such as "
                f"'{quoted(present.iloc[0])}'. Give --decimal , to read them; if the comma parts "
                "thousands, take it out."
            )
        else:
            texts.append(column)
    if texts and were_asked:
        verb = "is" if len(texts) == 1 else "are"
        raise TableError(f"{named(texts)} {verb} text; give --one-hot for few categories.")
    alike: dict[str, list[str]] = {}
    for column in texts:
        alike.setdefault(_text_kind(table[column]), []).append(column)
    notes.extend(f"left out {named(columns)}: {kind}" for kind, columns in alike.items())
    return numeric


def _text_kind(values: pd.Series[Any]) -> str:
    if values.dtype.kind in "mM":
        return "dates"
    few = values.astype(str).nunique() <= MOST_CATEGORIES
    return "text (--one-hot makes columns of it)" if few else "text"


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


def _not_a_number(table: pd.DataFrame, column: str, first_row: int) -> TableError:
    values = table[column]
    bad = values.notna().to_numpy() & _parsed(values).isna().to_numpy()
    place = int(np.flatnonzero(bad)[0])
    word = quoted(values.iloc[place])
    return TableError(
        f"'{quoted(column)}' is numbers save in {count(int(bad.sum()), 'row')}, such as '{word}' "
        f"in row {place + first_row:,}. Give --na '{word}' to take it for a missing value, or "
        "leave the column out by --columns."
    )


def _numbers(table: pd.DataFrame, columns: Sequence[str], first_row: int = 1) -> Array:
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
            raise _not_a_number(table, columns[j], first_row)
        numbers[:, j] = parsed.to_numpy(dtype=np.float64, na_value=np.nan)
    numbers[np.isinf(numbers)] = np.nan
    return numbers


def _features(
    numbers: Array, names: Sequence[str], asked: Sequence[str], scale: Scale, notes: list[str]
) -> list[Column]:
    """The columns that are features; those that were asked for are, whatever they look like."""
    columns = recognise(numbers, names, features=asked)
    if not any(column.is_feature for column in columns):  # better an identifier than nothing
        columns = recognise(numbers, names, features=names)
        if any(column.is_feature for column in columns):
            notes.append("all columns look like identifiers; they are used, for there is no other")
    if scale != "auto":  # what is said of scales does not hold
        columns = [replace(c, kind="number", bend=None) if c.is_feature else c for c in columns]
    notes.extend(describe(columns))
    left_out = [column for column in columns if not column.is_feature]
    if any(column.kind not in ("empty", "constant") for column in left_out):
        notes.append("--columns uses what it names, whatever it looks like")
    stand_ins = sorted({column.stand_in for column in columns if column.stand_in})
    if stand_ins:
        notes.append(f"--na {stand_ins[0]} takes it for a missing value")
    return [column for column in columns if column.is_feature]


def _words(values: pd.Series[Any]) -> pd.Series[Any]:
    """Values as text; 1.0, which only a missing value beside it made of 1, is "1"."""
    return values.map(
        lambda value: str(int(value)) if isinstance(value, float) and value % 1 == 0 else str(value)
    ).astype(object)


def _categories(values: pd.Series[Any], column: str) -> list[str]:
    found = sorted(_words(values.dropna()).unique().tolist())
    if not 2 <= len(found) <= MOST_CATEGORIES:
        raise TableError(
            f"--one-hot '{quoted(column)}': it has {count(len(found), 'value')}; from 2 to "
            f"{MOST_CATEGORIES} can become columns."
        )
    return found


def _indicators(
    text: pd.Series[Any], column: str, values: Sequence[str], notes: list[str]
) -> Array:
    """A column of zeros and ones for each value, (n, len(values)); all zero for a new value.

    NaN where the value is missing.
    """
    is_missing = text.isna().to_numpy()
    words = _words(text).to_numpy(dtype=object)
    block: Array = (words[:, None] == np.array(values, dtype=object)).astype(np.float64)
    block[is_missing] = np.nan
    unknown = words[block.sum(axis=1) == 0]
    if unknown.size:
        notes.append(
            f"'{quoted(column)}' has {count(unknown.size, 'row')} of a value that the model has "
            f"not seen, such as '{quoted(unknown[0])}'"
        )
    return block


def _refuse_tiny(features: pd.DataFrame) -> None:
    reach = (features.max() - features.min()).to_numpy()
    tiny = features.columns[(reach > 0) & (reach < TINY)].tolist()
    if tiny:
        raise TableError(
            f"{named(tiny)}: values that differ by less than {TINY:g} are taken as equal. Give "
            "--scale standard, or another unit."
        )


def _refuse_huge(values: Array, features: Sequence[str], rows: Array) -> None:
    if values.size and np.abs(values).max() > HUGE:
        i, j = divmod(int(np.argmax(np.abs(values))), values.shape[1])
        raise TableError(
            f"'{quoted(features[j])}' is {values[i, j]:.3g} in row {rows[i]:,}: distances to "
            f"values beyond {HUGE:g} overflow. Correct it, or leave the row or column out."
        )
