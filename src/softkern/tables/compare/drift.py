"""Measure how the columns of a table differ from an earlier table.

Numbers: shift of the median in robust standard deviations, and the Kolmogorov-Smirnov distance.
Text: total variation distance of the value frequencies. Both: change of the share of missing
cells. P-values are corrected for the number of columns.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2_contingency, ks_2samp

from softkern._utils.typing import Array
from softkern.tables.preparation import TablePreparation, recognize
from softkern.tables.preparation.cells import to_words
from softkern.tables.preparation.kinds import ROW_NAMES
from softkern.tables.preparation.notes import Note, merge_notes
from softkern.tables.preparation.numbers import find_numbers, read_numbers

SOME, STRONG = 0.1, 0.3  # distances of normal columns shifted by 0.25 and 0.8 standard deviations
SIGNIFICANCE = 0.05  # probability of reporting any drift if there is none
NORMAL_DECILE_RANGE = 2.5631  # distance of the outer deciles of a normal, in standard deviations
MAX_EXACT_PAIRS = 10**6  # pairs of rows up to which the exact p-value is computed
UNIQUE_SHARE = 0.5  # share of distinct values above which text names rows
MIN_UNIQUE = 20  # distinct values up to which it does not
MAX_LISTED = 3  # values of a text column that are listed


@dataclass(frozen=True)
class ColumnDrift:
    """Difference of one column between two tables."""

    column: str
    kind: str  # "number" or "text"
    distance: float  # the largest of that of the values and the change of missing cells, 0 to 1
    chance: float  # p-value, corrected for the number of columns
    missing_before: float  # shares of missing cells
    missing_after: float
    shift: float | None = None  # shift of the median, in robust standard deviations before
    median_before: float | None = None
    median_after: float | None = None
    changed: list[tuple[str, float, float]] = field(default_factory=list)  # values with both shares
    new_values: dict[str, int] = field(default_factory=dict)  # counts, the most frequent first
    note: str = ""  # note on a change from numbers to text

    @property
    def drift(self) -> str:
        """Grade of the distance: "none", "some" or "strong"."""
        return "none" if self.distance < SOME else "some" if self.distance < STRONG else "strong"

    @property
    def is_chance(self) -> bool:
        """Whether the difference is not statistically significant."""
        return self.chance > SIGNIFICANCE


def comparable_columns(
    table: pd.DataFrame, preparation: TablePreparation
) -> tuple[pd.DataFrame, list[Note]]:
    """Return numbers as floats and the rest as text, and notes on dates and names of rows.

    These are left out, except those that the `preparation` of an analysis uses.
    """
    features, decimal = list(preparation.columns_), preparation.decimal_
    others = [c for c in table.columns if c not in preparation.used_columns_]
    found, formats, _ = find_numbers(table, others, decimal=decimal, dates=True)
    dates = {name for name, form in formats.items() if form.date}
    used = {*features, *found}
    names = [c for c in table.columns if c in used]
    numbers = read_numbers(table, names, formats | preparation.formats_, decimal)
    kinds = {column.name: column.kind for column in recognize(numbers, names, features=features)}
    columns: dict[str, Any] = {}
    notes: list[Note] = []
    for name in table.columns:
        if name in kinds:
            values: Any = numbers[:, names.index(name)]
            names_rows = kinds[name] in ROW_NAMES
        else:
            values = to_words(table[name])
            names_rows = values.nunique() > max(MIN_UNIQUE, UNIQUE_SHARE * values.count())
        is_date = name in dates or kinds.get(name) == "date"
        if (is_date or names_rows) and name not in preparation.used_columns_:
            reason = "dates" if is_date else "names rows"
            notes.append(Note("not compared", [name], {"reason": reason}))
        else:
            columns[name] = values
    return pd.DataFrame(columns, index=table.index), merge_notes(notes)


def column_drift(before: pd.DataFrame, after: pd.DataFrame) -> list[ColumnDrift]:
    """Compare the columns that two tables share, significant and large differences first.

    Float columns are compared as numbers, all others as text (see `comparable_columns`).
    """
    shared = [name for name in before.columns if name in after.columns]
    drift = [_compare_column(name, before[name], after[name], len(shared)) for name in shared]
    return sorted(drift, key=lambda d: (d.is_chance, -d.distance, -abs(d.shift or 0)))


def _compare_column(
    name: str, before: pd.Series[Any], after: pd.Series[Any], n_columns: int
) -> ColumnDrift:
    is_number = [values.dtype.kind == "f" for values in (before, after)]
    if all(is_number):
        fields = _compare_numbers(before.dropna().to_numpy(), after.dropna().to_numpy())
    else:
        fields = _compare_texts(to_words(before), to_words(after))
    if is_number[0] != is_number[1]:
        fields["note"] = "numbers before, text now" if is_number[0] else "text before, numbers now"
    is_missing = [values.isna().to_numpy(dtype=bool) for values in (before, after)]
    missing = [float(cells.mean()) if cells.size else 0.0 for cells in is_missing]
    p_values = [fields.pop("p_value", 1.0)]
    if any(missing):
        p_values.append(_chi2_p_value([np.bincount(cells, minlength=2) for cells in is_missing]))
    return ColumnDrift(
        str(name),
        "number" if all(is_number) else "text",
        distance=max(fields.pop("distance", 0.0), abs(missing[1] - missing[0])),
        chance=min(1.0, min(p_values) * len(p_values) * n_columns),
        missing_before=missing[0],
        missing_after=missing[1],
        **fields,
    )


def _compare_numbers(x: Array, y: Array) -> dict[str, Any]:
    """Return the distance, its p-value and further fields of a numeric column."""
    before, after = (float(np.median(values)) if values.size else None for values in (x, y))
    fields = {"median_before": before, "median_after": after}
    if before is None or after is None:
        return fields
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the exact p-value may be out of reach
        method = "exact" if x.size * y.size <= MAX_EXACT_PAIRS else "asymp"
        test = ks_2samp(x, y, method=method)
    # robust standard deviation, of both tables where it is 0 in the first
    low, high = np.quantile(x, [0.1, 0.9]).tolist()
    spread = (high - low) / NORMAL_DECILE_RANGE or float(np.std(x)) or float(np.std([*x, *y]))
    return fields | {
        "distance": float(test.statistic),
        "p_value": float(test.pvalue),
        "shift": (after - before) / spread if spread else 0.0,
    }


def _compare_texts(before: pd.Series[Any], after: pd.Series[Any]) -> dict[str, Any]:
    """Return the distance, its p-value and further fields of a text column."""
    x, y = before.value_counts(), after.value_counts()
    if x.empty or y.empty:
        return {}
    new = y[~y.index.isin(x.index)]
    values = x.index.append(new.index)
    counts = np.stack([n.reindex(values, fill_value=0).to_numpy() for n in (x, y)])
    shares = counts / counts.sum(axis=1, keepdims=True)
    change = shares[1] - shares[0]
    most = [i for i in np.argsort(-np.abs(change), kind="stable")[:MAX_LISTED] if change[i] != 0]
    return {
        "distance": float(np.abs(change).sum() / 2),
        "p_value": _chi2_p_value(counts),
        "changed": [(values[i], *shares[:, i].tolist()) for i in most],
        "new_values": new.to_dict(),
    }


def _chi2_p_value(counts: Any) -> float:
    """Return the p-value of a χ² test on counts before and after, (2, k), rare values pooled."""
    counts = np.asarray(counts)
    smaller = min(counts.sum(axis=1)) / max(1, counts.sum())
    is_rare = counts.sum(axis=0) * smaller < 1
    pooled = np.column_stack([counts[:, ~is_rare], counts[:, is_rare].sum(axis=1)])
    pooled = pooled[:, pooled.sum(axis=0) > 0]
    if pooled.shape[1] < 2 or not pooled.sum(axis=1).all():
        return 1.0
    return float(chi2_contingency(pooled).pvalue)
