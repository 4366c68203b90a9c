"""What every column of a table is, and the words for it.

Called by the command line and by whoever is given a table as it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from softkern._utils.text import plural, quote_list
from softkern._utils.typing import Array
from softkern.kernels.spread import FEWEST_STEPS
from softkern.rows import distinct_rows
from softkern.tables.preparation.identifiers import naming
from softkern.tables.preparation.skew import Bend, fit_signed_log

__all__ = ["Column", "Kind", "describe", "recognize", "repeats"]

Kind = Literal[
    "empty", "mostly empty", "constant", "row number", "identifier", "date", "two values", "codes",
    "skewed", "number",
]  # fmt: skip
NO_FEATURES = {"empty", "mostly empty", "constant", "row number", "identifier", "date"}
NINES = re.compile(r"-?99+")
PLURAL = {"has": "have", "holds": "hold", "is": "are", "lacks": "lack", "numbers": "number"}
MOSTLY = 0.5  # share of missing cells above which more of a column would be made up than is there


@dataclass(frozen=True)
class Column:
    """What a column of numbers is.

    Attributes
    ----------
    name : str
    kind : str
        "number", "skewed", "two values" or "codes" for a feature; "row number", "identifier",
        "date", "constant", "empty" or "mostly empty" for what is none.
    reason : str
        Why, in words that follow the column's name.
    bend : Bend or None
        The logarithm by which a skewed column is taken.
    stand_in : str
        A value such as -999, further from all others than these are from each other, that may
        stand for a missing one; empty where there is none. It is used as it is.

    Examples
    --------
    >>> import numpy as np
    >>> (column,) = recognize(np.arange(50.0)[:, None], ["number"])
    >>> column.kind, column.is_feature
    ('row number', False)
    """

    name: str
    kind: Kind
    reason: str = ""
    bend: Bend | None = None
    stand_in: str = ""

    @property
    def is_feature(self) -> bool:
        """Whether it measures something."""
        return self.kind not in NO_FEATURES


def recognize(
    X: Any, names: Sequence[str] | None = None, *, features: Collection[str] = ()
) -> list[Column]:
    """What every column of a table is.

    Parameters
    ----------
    X : array of shape (n, d)
        Numbers; NaN where a cell is missing, as which infinite ones count.
    names : sequence of str, default=None
        Those of the columns. A name such as "customer_id" is a hint, never needed.
    features : collection of str, default=()
        Names of columns that are features whatever they look like.

    Returns
    -------
    columns : list of Column

    Notes
    -----
    Whole numbers are an identifier where no two different rows share one although many would by
    chance, where they are spread evenly over all numbers of so many digits or rise evenly through
    the table, or where the name says so. A table that is repeated as a whole is looked at once.

    A column is skewed where its tail is more than 2.5 times as long as its other side, and where
    up to five normal groups describe it better in logarithms than as it is: two groups far apart,
    or a few far values, are not.

    A column that lacks more than half of its values is no feature: filled in, most of it would be
    made of the other columns and of few values, which pile up to groups.

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
        return [Column(name, "empty", "has no value") for name in names]
    rows = _once(X)
    return [_column(rows[:, j], name, name in features) for j, name in enumerate(names)]


def _once(X: Array) -> Array:
    """The table without its copies, where every row is there as often as every other."""
    index, copies = distinct_rows(X)
    is_repeated = copies.min() == copies.max() > 1
    return X[np.sort(index)] if is_repeated else X


def _column(x: Array, name: str, is_feature: bool) -> Column:
    present = x[~np.isnan(x)]
    if present.size == 0:
        return Column(name, "empty", "has no value")
    values, counts = np.unique(present, return_counts=True)
    if values.size == 1:
        return Column(name, "constant", "has one value")
    if not is_feature and present.size < (1 - MOSTLY) * x.size:
        return Column(name, "mostly empty", "lacks more than half of its values")
    found = None if is_feature else naming(x, values, name)
    if found is not None:
        return Column(name, *found)
    if values.size < FEWEST_STEPS and values.size < x.size:
        if values.size == 2:
            return Column(name, "two values", "has two values")
        return Column(name, "codes", f"has {values.size} values")
    bend, stand_in = fit_signed_log(values, counts), _stand_in(values)
    if bend is None:
        return Column(name, "number", stand_in=stand_in)
    return Column(name, "skewed", "is skewed", bend, stand_in)


def _stand_in(values: Array) -> str:
    """The first or last of several values where it is of nines, and far from the others."""
    for end, others in ((values[0], values[1:]), (values[-1], values[:-1])):
        distance = np.abs(others - end).min()
        if NINES.fullmatch(f"{end:.15g}") and distance > others[-1] - others[0]:
            return f"{end:.15g}"
    return ""


def describe(columns: Sequence[Column]) -> list[str]:
    """One line for each thing that was decided, with the columns that it is about.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.column_stack([np.arange(50), np.arange(50) % 2, np.arange(50) ** 2])
    >>> for line in describe(recognize(X, ["row", "member", "area"])):
    ...     print(line)
    left out 'row': it numbers the rows
    'member' has two values, as far apart as usual values of other columns
    """
    alike: dict[tuple[Kind, str], list[str]] = {}
    far: dict[str, list[str]] = {}
    for column in columns:
        if column.kind != "number":
            alike.setdefault((column.kind, column.reason), []).append(column.name)
        if column.stand_in:
            far.setdefault(column.stand_in, []).append(column.name)
    lines = [_line(kind, reason, names) for (kind, reason), names in alike.items()]
    for value, names in far.items():
        verb = "holds" if len(names) == 1 else "hold"
        lines.append(f"{quote_list(names)} {verb} {value}, far from all other values")
    return lines


def _line(kind: Kind, reason: str, names: Sequence[str]) -> str:
    is_one = len(names) == 1
    verb, rest = reason.split(" ", 1)
    said = f"{verb if is_one else PLURAL[verb]} {rest}"
    if kind in NO_FEATURES:
        return f"left out {quote_list(names)}: {'it' if is_one else 'they'} {said}"
    what = {
        "two values": "as far apart as usual values of other columns",
        "codes": "each as far from the next as usual values of other columns",
        "skewed": f"taken by {'its' if is_one else 'their'} logarithm",
    }
    return f"{quote_list(names)} {said}, {what[kind]}"


def repeats(X: Array) -> str:
    """How many rows repeat an earlier one, in words; empty where none does.

    Examples
    --------
    >>> import numpy as np
    >>> repeats(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    '1 of 3 rows repeats another one'
    """
    copies = len(X) - len(distinct_rows(X)[0])
    if copies == 0:
        return ""
    verb = "repeats" if copies == 1 else "repeat"
    return f"{copies:,} of {plural(len(X), 'row')} {verb} another one"
