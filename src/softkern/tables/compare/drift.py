"""Measure how the columns of a table differ from an earlier table.

Numbers: shift of the median in robust standard deviations, and the Kolmogorov-Smirnov distance.
Text: total variation distance of the value frequencies. Both: change of the share of missing
cells. P-values are corrected for the number of columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from softkern._utils.text import quote_list
from softkern._utils.typing import Array
from softkern.tables.preparation import TablePreparation, recognize
from softkern.tables.preparation.numbers import find_numbers, read_numbers, table_decimal

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ColumnDrift", "column_drift", "measured"]

SOME, STRONG = 0.1, 0.3  # distances of normal columns shifted by 0.25 and 0.8 standard deviations
SIGNIFICANCE = 0.05  # probability of reporting any drift if there is none
NORMAL_DECILE_RANGE = 2.5631  # distance of the outer deciles of a normal, in standard deviations
MAX_EXACT_PAIRS = 10**6  # pairs of rows up to which the exact p-value is computed
ROW_NAMES = ("row number", "identifier")  # kinds of columns that name rows
UNIQUE_SHARE = 0.5  # share of distinct values above which text names rows
MIN_UNIQUE = 20  # distinct values up to which it does not
MAX_LISTED = 3  # values of a text column that are listed


@dataclass(frozen=True)
class ColumnDrift:
    """Difference of one column between two tables.

    Attributes
    ----------
    column : str
        Name of the column.
    kind : {"number", "text"}
        How the column was compared.
    distance : float
        The largest of the Kolmogorov-Smirnov distance (or the total variation of text) and the
        change of the share of missing cells, from 0 to 1.
    chance : float
        P-value, corrected for the number of columns.
    missing_before, missing_after : float
        Shares of missing cells.
    shift : float or None
        Shift of the median in robust standard deviations of the first table.
    median_before, median_after : float or None
        Medians of a numeric column.
    changed : list of (str, float, float)
        Values whose share changed most, with both shares.
    new_values : dict
        Values that the first table lacks, the most frequent first, with their counts.
    note : str
        Further remark, for example on a change from numbers to text.

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
        """Grade of the distance: "none", "some" or "strong"."""
        return "none" if self.distance < SOME else "some" if self.distance < STRONG else "strong"

    @property
    def is_chance(self) -> bool:
        """Whether the difference is not statistically significant."""
        return self.chance > SIGNIFICANCE


def measured(
    table: pd.DataFrame, preparation: TablePreparation | None = None, left_out: Collection[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """Return a table with numbers as floats and the rest as text, without row names and dates.

    Parameters
    ----------
    table : DataFrame
        Table to convert.
    preparation : TablePreparation, default=None
        Preparation of an analysis, which decides on the columns that it uses.
    left_out : collection of str, default=()
        Columns to leave out.

    Returns
    -------
    columns : DataFrame
        Columns to compare.
    notes : list of str
        Columns that were left out, with the reason.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"row": range(40), "paid": ["$1,200", "$7"] * 20, "who": "a"})
    >>> columns, notes = measured(table)
    >>> float(columns["paid"].max()), columns["who"].iloc[0], notes
    (1200.0, 'a', ["not compared: 'row' (names rows)"])
    """
    import pandas as pd

    if preparation is None:
        decimal = table_decimal(table, list(table.columns))
        preparation = TablePreparation.for_numbers([], decimal)
    features, decimal = set(preparation.columns_), preparation.decimal_
    others = [c for c in table.columns if c not in {*preparation.used_columns_, *left_out}]
    detected = find_numbers(table, others, decimal=decimal, dates=True)
    formats = {**detected.formats, **preparation.formats_}
    names = [c for c in table.columns if c in features or c in detected.names]
    numbers = read_numbers(table, names, formats, decimal=decimal)
    kinds = {
        column.name: column.kind for column in recognize(numbers, names, features=list(features))
    }
    dates = {name for name, number_format in detected.formats.items() if number_format.date}
    columns: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    for name in (c for c in table.columns if c not in left_out):
        is_number = name in kinds
        columns[name] = numbers[:, names.index(name)] if is_number else _text(table[name])
        if name in preparation.used_columns_:
            continue
        if name in dates or kinds.get(name) == "date":
            skipped[name] = "dates"
        elif kinds[name] in ROW_NAMES if is_number else _names_rows(columns[name]):
            skipped[name] = "names rows"
    notes = [
        f"not compared: {quote_list([c for c, reason in skipped.items() if reason == why])} ({why})"
        for why in dict.fromkeys(skipped.values())
    ]
    compared = {name: values for name, values in columns.items() if name not in skipped}
    return pd.DataFrame(compared, index=table.index), notes


def column_drift(before: pd.DataFrame, after: pd.DataFrame) -> list[ColumnDrift]:
    """Compare the columns that two tables share, significant and large differences first.

    Float columns are compared as numbers, all others as text (see `measured`).

    Parameters
    ----------
    before, after : DataFrame
        The two tables.

    Returns
    -------
    drift : list of ColumnDrift
        One entry per shared column.

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
    drift = [_compare_column(name, before[name], after[name], len(shared)) for name in shared]
    return sorted(drift, key=lambda d: (d.is_chance, -d.distance, -abs(d.shift or 0)))


def _compare_column(
    name: str, before: pd.Series[Any], after: pd.Series[Any], columns: int
) -> ColumnDrift:
    is_number = [values.dtype.kind == "f" for values in (before, after)]
    missing = [float(values.isna().mean()) if len(values) else 0.0 for values in (before, after)]
    gap = abs(missing[1] - missing[0])
    p_values = (
        [_chi2_p_value(_count_missing(before), _count_missing(after))] if any(missing) else []
    )
    if all(is_number):
        distance, p_value, details = _compare_numbers(before, after)
    else:
        distance, p_value, details = _compare_texts(_text(before), _text(after))
        if any(is_number):
            details["note"] = (
                "numbers before, text now" if is_number[0] else "text before, numbers now"
            )
    p_values.append(p_value)
    return ColumnDrift(
        str(name),
        "number" if all(is_number) else "text",
        distance=max(distance, gap),
        chance=min(1.0, min(p_values) * len(p_values) * columns),
        missing_before=missing[0],
        missing_after=missing[1],
        **details,
    )


def _compare_numbers(
    before: pd.Series[Any], after: pd.Series[Any]
) -> tuple[float, float, dict[str, Any]]:
    """Return the distance, its p-value and further fields of a numeric column."""
    from scipy.stats import ks_2samp

    x, y = (values.dropna().to_numpy() for values in (before, after))
    medians = [float(np.median(values)) if values.size else None for values in (x, y)]
    details = {"median_before": medians[0], "median_after": medians[1]}
    if not x.size or not y.size:
        return 0.0, 1.0, details
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the exact p-value may be out of reach
        method = "exact" if x.size * y.size <= MAX_EXACT_PAIRS else "asymp"
        test = ks_2samp(x, y, method=method)
    details["shift"] = _shift(x, y)
    return float(test.statistic), float(test.pvalue), details


def _shift(x: Array, y: Array) -> float:
    """Return the shift of the median in robust standard deviations of x (or of x and y)."""
    difference = float(np.median(y) - np.median(x))
    if difference == 0:
        return 0.0
    low, high = np.quantile(x, [0.1, 0.9])
    spread = float(high - low) / NORMAL_DECILE_RANGE or float(np.std(x)) or float(np.std([*x, *y]))
    return difference / spread if spread else 0.0


def _compare_texts(
    before: pd.Series[Any], after: pd.Series[Any]
) -> tuple[float, float, dict[str, Any]]:
    """Return the distance, its p-value and further fields of a text column."""
    x, y = before.value_counts(), after.value_counts()
    values = [*x.index, *(v for v in y.index if v not in x.index)]
    if x.sum() == 0 or y.sum() == 0:
        return 0.0, 1.0, {}
    counts = [np.array([n.get(v, 0) for v in values]) for n in (x, y)]
    shares = [n / n.sum() for n in counts]
    change = shares[1] - shares[0]
    most = [i for i in np.argsort(-np.abs(change), kind="stable")[:MAX_LISTED] if change[i] != 0]
    changed = [(values[i], float(shares[0][i]), float(shares[1][i])) for i in most]
    new = {v: int(y[v]) for v in values[len(x) :]}
    details = {"changed": changed, "new_values": new}
    return float(np.abs(change).sum() / 2), _chi2_p_value(*counts), details


def _count_missing(values: pd.Series[Any]) -> Array:
    missing = int(values.isna().sum())
    return np.array([missing, len(values) - missing])


def _chi2_p_value(before: Array, after: Array) -> float:
    """Return the p-value of a χ² test on two count vectors, with rare values pooled."""
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
    """Convert cells to text; missing cells stay missing, and 1.0 becomes "1"."""

    def word(value: Any) -> str:
        is_whole = isinstance(value, float) and value % 1 == 0
        return str(int(value)) if is_whole else str(value)

    return values.astype(object).map(word, na_action="ignore")


def _names_rows(values: pd.Series[Any]) -> bool:
    present = values.dropna()
    different = present.nunique()
    return different > MIN_UNIQUE and different > UNIQUE_SHARE * len(present)
