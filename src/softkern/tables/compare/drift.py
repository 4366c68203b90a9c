"""How the columns of a table differ from what they were before.

Numbers by the shift of their median in usual spreads and by the largest difference between the two
distributions (Kolmogorov and Smirnov), text by the share of rows that would have to change their
value (total variation), both by the share of missing cells. Tables of few rows differ by chance:
a difference counts where chance would hardly give it in any of all columns. Called by
`softkern compare`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from softkern._utils.text import plural, quote, quote_list
from softkern._utils.typing import Array
from softkern.tables.preparation import Preparation, recognize
from softkern.tables.preparation.cells import decimal_of, numbers_of, numeric_columns

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ColumnDrift", "column_drift", "measured"]

SOME, STRONG = 0.1, 0.3  # distances; a shift by a quarter of a normal spread, and by 0.8 of it
LEVEL = 0.05  # chance of calling anything a difference where there is none
NORMAL_REACH = 2.5631  # from the lowest to the highest tenth of a normal column, in deviations
MOST_EXACT = 10**6  # pairs of rows up to which the chance is computed exactly
NAMING = ("row number", "identifier")  # kinds of columns
NAMES_ROWS = 0.5  # share of different values above which text names rows
FEWEST_NAMES = 20  # different values below which it does not
SHOWN = 3  # values of a column of text that are named


@dataclass(frozen=True)
class ColumnDrift:
    """How one column differs.

    Attributes
    ----------
    column : str
    kind : {"number", "text"}
    drift : {"none", "some", "strong"}
        The distance in a word.
    distance : float
        The largest of the Kolmogorov–Smirnov distance, or the total variation of text, and the
        difference of the shares of missing cells; 0 to 1.
    chance : float
        How often chance alone would give as much in one of all columns, at most.
    is_chance : bool
        Whether that is too often for the difference to count.
    shift : float or None
        Of the median, in usual spreads of before.
    median_before, median_after : float or None
    missing_before, missing_after : float
        Shares of the cells.
    changed : list of (str, float, float)
        Values whose share changed most, with the shares before and after.
    new_values : dict
        Values that were not there before, the most frequent first, and in how many rows they are.
    note : str

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"age": range(20, 60)}, dtype=float)
    >>> (age,) = column_drift(before, before + 15)
    >>> age.drift, age.median_before, age.median_after
    ('strong', 39.5, 54.5)
    """

    column: str
    kind: str
    distance: float
    chance: float
    missing_before: float
    missing_after: float
    shift: float | None = None
    median_before: float | None = None
    median_after: float | None = None
    changed: list[tuple[str, float, float]] = field(default_factory=list)
    new_values: dict[str, int] = field(default_factory=dict)
    note: str = ""

    @property
    def drift(self) -> str:
        """The distance in a word."""
        return "none" if self.distance < SOME else "some" if self.distance < STRONG else "strong"

    @property
    def is_chance(self) -> bool:
        """Whether chance gives as much too often for the difference to count."""
        return self.chance > LEVEL

    @property
    def words(self) -> str:
        """What changed, in words; empty where nothing did."""
        said = [self.note] if self.note else []
        if self.shift is not None and self.shift != 0:
            said.append(
                f"median {_number(self.median_before)} before, {_number(self.median_after)} now "
                f"({self.shift:+.2g} usual spreads)"
            )
        moved = (
            f"'{quote(v, 24)}' {_share(b)} before, {_share(a)} now" for v, b, a in self.changed
        )
        said.extend(moved)
        if self.new_values:
            values = list(self.new_values)
            said.append(f"{plural(len(values), 'new value')}: {quote_list(values, SHOWN)}")
        if self.missing_before != self.missing_after:
            said.append(
                f"missing {_share(self.missing_before)} before, {_share(self.missing_after)} now"
            )
        if said and self.is_chance:
            said.append("within what chance gives")
        return "; ".join(said)


def measured(
    table: pd.DataFrame, preparation: Preparation | None = None, left_out: Collection[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """A table with its numbers as numbers and the rest as text, less what names rows.

    Parameters
    ----------
    table : DataFrame
    preparation : Preparation, default=None
        How an analysis read its columns; they are numbers and text as it has them.
    left_out : collection of str, default=()
        Columns that are not looked at.

    Returns
    -------
    columns : DataFrame
    notes : list of str
        Which columns are not among them, and why.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"row": range(40), "paid": ["$1,200", "$7"] * 20, "who": "a"})
    >>> columns, notes = measured(table)
    >>> float(columns["paid"].max()), columns["who"].iloc[0], notes
    (1200.0, 'a', ["not compared: 'row' (names rows)"])
    """
    import pandas as pd

    preparation = preparation or Preparation([], decimal=decimal_of(table, list(table.columns)))
    known = set(preparation.columns)
    others = [c for c in table.columns if c not in {*known, *preparation.categories, *left_out}]
    numeric, found = numeric_columns(
        table, others, False, [], decimal=preparation.decimal, dates=True
    )
    writings = {**found, **preparation.writings}
    names = [c for c in table.columns if c in known or c in numeric]
    numbers = numbers_of(table, names, writings=writings, decimal=preparation.decimal)
    kinds = {column.name: column.kind for column in recognize(numbers, names, features=list(known))}
    dates = {name for name, writing in found.items() if writing.date}
    columns: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    for name in (c for c in table.columns if c not in left_out):
        is_number = name in kinds
        columns[name] = numbers[:, names.index(name)] if is_number else _text(table[name])
        if name in known or name in preparation.categories:
            continue
        if name in dates or kinds.get(name) == "date":
            skipped[name] = "dates, which go on"
        elif kinds[name] in NAMING if is_number else _names_rows(columns[name]):
            skipped[name] = "names rows"
    notes = [
        f"not compared: {quote_list([c for c, said in skipped.items() if said == why])} ({why})"
        for why in dict.fromkeys(skipped.values())
    ]
    kept = {name: values for name, values in columns.items() if name not in skipped}
    return pd.DataFrame(kept, index=table.index), notes


def column_drift(before: pd.DataFrame, after: pd.DataFrame) -> list[ColumnDrift]:
    """How the columns that two tables share differ, the most drifted first.

    What chance would not give comes before what it would. Numbers are columns of floats, all others
    are text; `measured` makes them so.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> before = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    >>> after = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    >>> after["b"] += 1
    >>> first, *others = column_drift(before, after)
    >>> first.column, first.drift, first.is_chance, [drift.is_chance for drift in others]
    ('b', 'strong', False, [True, True])
    """
    shared = [name for name in before.columns if name in after.columns]
    found = [_drift(name, before[name], after[name], len(shared)) for name in shared]
    return sorted(found, key=lambda d: (d.is_chance, -d.distance, -abs(d.shift or 0)))


def _drift(name: str, before: pd.Series[Any], after: pd.Series[Any], columns: int) -> ColumnDrift:
    is_number = [values.dtype.kind == "f" for values in (before, after)]
    missing = [float(values.isna().mean()) if len(values) else 0.0 for values in (before, after)]
    gap = abs(missing[1] - missing[0])
    chances = [_chance_of_counts(_holes(before), _holes(after))] if any(missing) else []
    if all(is_number):
        distance, chance, found = _numbers(before, after)
    else:
        distance, chance, found = _texts(_text(before), _text(after))
        if any(is_number):
            found["note"] = (
                "numbers before, text now" if is_number[0] else "text before, numbers now"
            )
    chances.append(chance)
    return ColumnDrift(
        str(name),
        "number" if all(is_number) else "text",
        distance=max(distance, gap),
        chance=min(1.0, min(chances) * len(chances) * columns),
        missing_before=missing[0],
        missing_after=missing[1],
        **found,
    )


def _numbers(before: pd.Series[Any], after: pd.Series[Any]) -> tuple[float, float, dict[str, Any]]:
    """Distance, how often chance gives it, and what else is said of a column of numbers."""
    from scipy.stats import ks_2samp

    x, y = (values.dropna().to_numpy() for values in (before, after))
    medians = [float(np.median(values)) if values.size else None for values in (x, y)]
    found = {"median_before": medians[0], "median_after": medians[1]}
    if not x.size or not y.size:
        return 0.0, 1.0, found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # where the exact chance is out of reach
        method = "exact" if x.size * y.size <= MOST_EXACT else "asymp"
        test = ks_2samp(x, y, method=method)
    found["shift"] = _shift(x, y)
    return float(test.statistic), float(test.pvalue), found


def _shift(x: Array, y: Array) -> float:
    """Of the median, in usual spreads of before; where these are none, in those of both."""
    difference = float(np.median(y) - np.median(x))
    if difference == 0:
        return 0.0
    low, high = np.quantile(x, [0.1, 0.9])
    spread = float(high - low) / NORMAL_REACH or float(np.std(x)) or float(np.std([*x, *y]))
    return difference / spread if spread else 0.0


def _texts(before: pd.Series[Any], after: pd.Series[Any]) -> tuple[float, float, dict[str, Any]]:
    """Distance, how often chance gives it, and what else is said of a column of text."""
    x, y = before.value_counts(), after.value_counts()
    values = [*x.index, *(v for v in y.index if v not in x.index)]
    if x.sum() == 0 or y.sum() == 0:
        return 0.0, 1.0, {}
    counts = [np.array([n.get(v, 0) for v in values]) for n in (x, y)]
    shares = [n / n.sum() for n in counts]
    change = shares[1] - shares[0]
    most = [i for i in np.argsort(-np.abs(change), kind="stable")[:SHOWN] if change[i] != 0]
    changed = [(values[i], float(shares[0][i]), float(shares[1][i])) for i in most]
    new = {v: int(y[v]) for v in values[len(x) :]}
    found = {"changed": changed, "new_values": new}
    return float(np.abs(change).sum() / 2), _chance_of_counts(*counts), found


def _holes(values: pd.Series[Any]) -> Array:
    missing = int(values.isna().sum())
    return np.array([missing, len(values) - missing])


def _chance_of_counts(before: Array, after: Array) -> float:
    """How often chance makes counts so different (χ²); rare values count as one."""
    from scipy.stats import chi2_contingency

    table = np.array([before, after])
    smaller = min(table.sum(axis=1)) / max(1, table.sum())
    is_rare = table.sum(axis=0) * smaller < 1
    grouped = np.column_stack([table[:, ~is_rare], table[:, is_rare].sum(axis=1)])
    grouped = grouped[:, grouped.sum(axis=0) > 0]
    if grouped.shape[1] < 2 or not grouped.sum(axis=1).all():
        return 1.0
    return float(chi2_contingency(grouped).pvalue)


def _text(values: pd.Series[Any]) -> pd.Series[Any]:
    """Cells as text; missing ones stay missing, and 1.0 is "1"."""

    def word(value: Any) -> str:
        is_whole = isinstance(value, float) and value % 1 == 0
        return str(int(value)) if is_whole else str(value)

    return values.astype(object).map(word, na_action="ignore")


def _names_rows(values: pd.Series[Any]) -> bool:
    present = values.dropna()
    different = present.nunique()
    return different > FEWEST_NAMES and different > NAMES_ROWS * len(present)


def _number(value: float | None) -> str:
    return "none" if value is None or math.isnan(value) else f"{value:,.4g}"


def _share(share: float) -> str:
    return f"{share:.0%}" if share in (0, 1) or 0.01 <= share <= 0.99 else f"{share:.2%}"
