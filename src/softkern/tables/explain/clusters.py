"""What each cluster is: every column's median and range against all rows, most distinctive first.

How much a column tells a cluster from the other rows is the Kolmogorov–Smirnov distance of the two,
max |F_cluster − F_others|: it does not depend on units or skew, and sees a cluster that lies
elsewhere as well as one that is narrow. Of a column of text it is how much more often the cluster
has its most over-represented value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softkern._utils.text import plural, quote
from softkern._utils.typing import Array
from softkern.fitted import fitted_step
from softkern.ranking import Ranker
from softkern.rows import check_weights, lower_quantiles
from softkern.tables.preparation import preparation_of
from softkern.tables.preparation.dates import TIMESTAMP, to_days
from softkern.tables.text import day, number, span, times

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["cluster_lines", "describe", "describe_clusters"]

SHARES = (0.05, 0.5, 0.95)  # the usual range, and its middle
DISTINCT = 0.25  # effect from which a column is worth saying
SKEWED = 2.0  # from the median to the upper end, in lengths from the lower end, or 0, to it
RATIO = 1.5  # from which on a median is said as a multiple of another
SHIFT = 0.1  # of the range of all rows, up to which a median is as that of all
MOST_TEXTS = 50  # values of a column of text, of which more are names
FEW = 2  # values of a column of numbers, up to which it is one of words
NAMES = (
    "cluster", "rows", "share", "rank", "column", "median", "low", "high", "all_median", "all_low",
    "all_high", "value", "value_share", "all_share", "effect", "words",
)  # fmt: skip


def describe_clusters(model: Any, X: Any, *, sample_weight: Any = None) -> pd.DataFrame:
    """What each cluster is: its columns against those of all rows, the most distinctive first.

    Parameters
    ----------
    model : fitted soft model, or a pipeline that ends in one
    X : DataFrame or array of shape (n, d)
        The rows that the model was fitted on, with the columns to describe: those of the fit, and
        any others, of numbers or text. Missing cells have no part in their column.
    sample_weight : array of shape (n,), default=None
        By default the weights of the fit.

    Returns
    -------
    table : DataFrame
        One row for each cluster and column, clusters by their number; −1 is what is in no cluster,
        and comes last. A detector has one cluster. Constant columns and columns of names are left
        out.

        cluster, rows, share
            The cluster, its rows, and its share of the weight.
        rank, column, effect
            1 for the column that tells the cluster most from the other rows; the effect is from 0
            (no difference) to 1 (no overlap). With one cluster, columns are in their order.
        median, low, high, all_median, all_low, all_high
            Of a column of numbers: the median and the inner nine tenths, in the cluster and in all
            rows.
        value, value_share, all_share
            Of a column of text, or of two numbers: the value that is most over-represented, its
            share of the cluster and of all rows.
        words
            The same in words.

    Examples
    --------
    >>> import numpy as np, pandas as pd, softkern
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"age": np.append(rng.normal(30, 3, 200), rng.normal(60, 3, 100))})
    >>> X["city"] = ["Bern"] * 180 + ["Basel"] * 120
    >>> model = softkern.cluster(X)
    >>> table = softkern.describe_clusters(model, X)
    >>> for line in softkern.tables.explain.cluster_lines(table).values():
    ...     print(line)
    cluster 0: 200 rows; age 25.5 to 34.7 (all rows 26 to 62.6); city Bern in 90 % (all rows 60 %)
    cluster 1: 100 rows; age high (median 59, all rows 32.1); city Basel in 100 % (all rows 40 %)
    """
    ranker = Ranker(model)
    last, _ = fitted_step(model)
    labels = ranker.score_points().labels
    table = _as_table(model, X)
    if len(table) != len(labels):
        raise ValueError(
            f"X has {len(table)} rows, and the model was fitted on {len(labels)}; give the table "
            "that it was fitted on."
        )
    if sample_weight is None:
        sample_weight = getattr(last, "sample_weight_", None)
    return describe(table, labels, sample_weight)


def _as_table(model: Any, X: Any) -> pd.DataFrame:
    """As a DataFrame; of a prepared table, without the numbers that are no features."""
    from softkern.tables.preparation.cells import as_table

    if hasattr(X, "toarray"):
        X = X.toarray()
    table = as_table(X)
    preparation = preparation_of(model)
    if preparation is None or not hasattr(X, "columns"):
        return table
    used = preparation.used_columns_
    return table[[c for c in table.columns if c in used or not _is_number(table[c])]]


def describe(table: pd.DataFrame, labels: Array, weight: Any = None) -> pd.DataFrame:
    """The table of `describe_clusters`, of rows with labels (n,); −1 is in no cluster."""
    import pandas as pd

    labels = np.asarray(labels)
    weight = check_weights(weight, len(table))
    is_there = weight > 0
    found = np.unique(labels[is_there])
    clusters = [*found[found >= 0].tolist(), *found[found < 0].tolist()]
    place = {cluster: k for k, cluster in enumerate(clusters)}
    group = np.array([place.get(label, 0) for label in labels.tolist()])
    parts = [
        part
        for k, name in enumerate(table.columns)  # by place: names may come twice
        for part in _column(str(name), table.iloc[:, k], weight, group, len(clusters))
    ]
    records = []
    total = float(weight.sum())
    for k, cluster in enumerate(clusters):
        own = [part for part in parts if part.group == k]
        if len(clusters) > 1:
            own.sort(key=lambda part: (-round(part.effect, 2), -part.shift))
        inside = is_there & (group == k)
        head = {
            "cluster": int(cluster),
            "rows": int(inside.sum()),
            "share": float(weight[inside].sum()) / total,
        }
        for rank, part in enumerate(own or [_Part(k)], 1):
            said = part.words(len(clusters) == 1)
            records.append(head | {"rank": rank, **part.cells(), "words": said})
    return pd.DataFrame(records, columns=list(NAMES))


def cluster_lines(table: pd.DataFrame, most: int = 3) -> dict[int, str]:
    """A line in words for every cluster of `describe_clusters`.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> cost = np.append(np.arange(1.0, 10), np.arange(120.0, 123))
    >>> table = describe(pd.DataFrame({"cost": cost, "one": 1}), [0] * 9 + [1] * 3)
    >>> cluster_lines(table)[1]
    'cluster 1: 3 rows; cost 20 times the median (121)'
    """
    lines = {}
    is_one = table["cluster"].nunique() == 1
    for cluster in table["cluster"].drop_duplicates().tolist():
        part = table[table["cluster"] == cluster]
        name = "in no cluster" if cluster < 0 else f"cluster {cluster}"
        head = f"{'one cluster' if is_one else name}: {plural(int(part['rows'].iloc[0]), 'row')}"
        told = part if is_one else part[part["effect"] >= DISTINCT]
        words = [word for word in told["words"].head(most) if word]
        more = len(told) - most
        if is_one and more > 0:
            words.append(f"and {plural(more, 'column')} more")
        if not words:
            words.append("much like all rows")
        # rows of no cluster have nothing in common
        lines[cluster] = head if cluster < 0 else "; ".join([head, *words])
    return lines


@dataclass(frozen=True)
class _Part:
    """A column of a cluster: numbers in quantiles, or the value that it has more often."""

    group: int
    name: str = ""
    own: tuple[float, float, float] | None = None  # low, median, high
    every: tuple[float, float, float] | None = None
    value: Any = None
    shares: tuple[float, float] = (np.nan, np.nan)  # of the cluster, of all rows
    effect: float = 0.0
    is_positive: bool = False
    is_date: bool = False  # numbers are days since 1970

    @property
    def shift(self) -> float:
        """How far the medians lie apart, in ranges of all rows; breaks ties of effects."""
        if self.own is None or self.every is None:
            return 0.0
        width = self.every[2] - self.every[0]
        return abs(self.own[1] - self.every[1]) / width if width > 0 else 0.0

    def cells(self) -> dict[str, Any]:
        blank = (np.nan, np.nan, np.nan)
        low, median, high = self.own or blank
        all_low, all_median, all_high = self.every or blank
        return {
            "column": self.name,
            "median": median,
            "low": low,
            "high": high,
            "all_median": all_median,
            "all_low": all_low,
            "all_high": all_high,
            "value": self.value,
            "value_share": self.shares[0],
            "all_share": self.shares[1],
            "effect": self.effect,
        }

    def words(self, is_one: bool) -> str:
        name = quote(self.name, 40)
        if self.own is None or self.every is None:
            return self._of_value(name, is_one) if self.name else ""
        low, median, high = self.own
        if self.is_date:
            return self._of_dates(name, is_one)
        if is_one:
            return f"{name} {span(low, high)}, median {number(median, 3)}"
        all_low, all_median, all_high = self.every
        is_skewed = all_high - all_median > SKEWED * max(all_median - all_low, all_median)
        if self.is_positive and is_skewed and median > 0 and all_median > 0:
            ratio = median / all_median
            if ratio >= RATIO or ratio <= 1 / RATIO:
                return f"{name} {times(ratio)} the median ({number(median, 3)})"
        is_narrow = self.shift <= SHIFT and high - low < all_high - all_low
        if is_narrow or median == all_median:
            return f"{name} {span(low, high)} (all rows {span(all_low, all_high)})"
        side = "high" if median > all_median else "low"
        return f"{name} {side} (median {number(median, 3)}, all rows {number(all_median, 3)})"

    def _of_dates(self, name: str, is_one: bool) -> str:
        assert self.own is not None
        assert self.every is not None
        own, every = (f"{day(low)} to {day(high)}" for low, _, high in (self.own, self.every))
        return f"{name} {own}" if is_one else f"{name} {own} (all rows {every})"

    def _of_value(self, name: str, is_one: bool) -> str:
        said = f"{name} {quote(self.value, 30)} in {_percent(self.shares[0])}"
        return said if is_one else f"{said} (all rows {_percent(self.shares[1])})"


def _percent(share: float) -> str:
    """Never 0 % of what is there, nor 100 % of what is not all."""
    whole = round(100 * share)
    if whole == 100 and share < 1:
        return "over 99 %"
    return "under 1 %" if whole == 0 and share > 0 else f"{whole} %"


def _is_number(column: pd.Series[Any]) -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return bool(is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype))


def _column(
    name: str, column: pd.Series[Any], weight: Array, group: Array, count: int
) -> Iterator[_Part]:
    """What every cluster has of a column; nothing of one that is constant or names rows."""
    is_there = np.asarray((weight > 0) & column.notna().to_numpy(dtype=bool))
    column, weight, group = column[is_there], weight[is_there], group[is_there]
    is_date = column.dtype.kind == "M"
    if is_date:
        column = to_days(column, TIMESTAMP)
    if _is_number(column) and column.nunique() > FEW:
        values = column.to_numpy(dtype=np.float64)
        is_finite = np.isfinite(values)
        parts = _numbers(name, values[is_finite], weight[is_finite], group[is_finite], count)
        yield from (replace(part, is_date=is_date) for part in parts)
    elif 1 < column.nunique() <= MOST_TEXTS and column.dtype.kind != "m" and not is_date:
        yield from _texts(name, column, weight, group, count)


def _numbers(name: str, values: Array, weight: Array, group: Array, count: int) -> Iterator[_Part]:
    order = np.argsort(values, kind="stable")
    values, weight, group = values[order], weight[order], group[order]
    every = lower_quantiles(values, weight, SHARES)
    below, up_to = _shares_below(values, weight)
    for k in range(count):
        own = np.flatnonzero(group == k)
        if not own.size:
            continue
        x, w = values[own], weight[own]
        own_below, own_up_to = _shares_below(x, w)
        apart = max(
            float(np.abs(own_up_to - up_to[own]).max()), float(np.abs(own_below - below[own]).max())
        )
        others = 1.0 - float(w.sum() / weight.sum())
        yield _Part(
            k,
            name,
            own=_triple(lower_quantiles(x, w, SHARES)),
            every=_triple(every),
            # F_cluster − F_all is the share of the others times F_cluster − F_others
            effect=min(1.0, apart / others) if others > 1e-12 else 0.0,
            is_positive=bool(values[0] >= 0),
        )


def _triple(quantiles: NDArray[Any]) -> tuple[float, float, float]:
    low, middle, high = quantiles.tolist()
    return low, middle, high


def _shares_below(values: Array, weight: Array) -> tuple[Array, Array]:
    """Share of the weight below every sorted value, and up to it, ties included."""
    reached = np.concatenate([[0.0], np.cumsum(weight)])
    reached /= reached[-1]
    first = np.searchsorted(values, values)
    last = np.searchsorted(values, values, side="right")
    return reached[first], reached[last]


def _texts(
    name: str, column: pd.Series[Any], weight: Array, group: Array, count: int
) -> Iterator[_Part]:
    import pandas as pd

    codes, values = pd.factorize(column)
    table = np.zeros((count, len(values)))
    np.add.at(table, (group, codes), weight)
    every = table.sum(axis=0) / table.sum()
    for k in range(count):
        mass = table[k].sum()
        if mass == 0:
            continue
        own = table[k] / mass
        others = (table.sum(axis=0) - table[k]) / max(table.sum() - mass, 1e-300)
        more = own - others if mass < table.sum() else own
        best = int(np.argmax(more))
        value = values[best]
        said = number(float(value)) if _is_number(column) else str(value)
        shares = float(own[best]), float(every[best])
        effect = float(max(more[best], 0.0)) if mass < table.sum() else 0.0
        yield _Part(k, name, value=said, shares=shares, effect=effect)
