"""Descriptions of clusters: median and range of every column compared with all rows.

The effect of a column is the Kolmogorov–Smirnov distance between the cluster and the other rows,
max |F_cluster − F_others|. It does not depend on units or skew, and detects a cluster that lies
elsewhere as well as one that is narrow. For a text column it is how much more often the cluster
has its most over-represented value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from softkern._utils.text import plural
from softkern._utils.typing import Array
from softkern.fitted import fitted_step
from softkern.ranking import Ranker
from softkern.rows import check_weights, lower_quantile
from softkern.tables.preparation.dates import TIMESTAMP, to_days
from softkern.tables.preparation.model import preparation_of
from softkern.tables.text import cluster_column_text, format_number

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["cluster_lines", "cluster_parts", "describe", "describe_clusters"]

QUANTILES = (0.05, 0.5, 0.95)  # the usual range and its median
DISTINCT = 0.25  # effect from which a column is reported
MOST_TEXTS = 50  # values of a text column; a column with more holds names
FEW = 2  # values of a numeric column up to which it is compared like text
NAMES = (
    "cluster", "rows", "share", "rank", "column", "median", "low", "high", "all_median", "all_low",
    "all_high", "value", "value_share", "all_share", "effect", "words",
)  # fmt: skip


def describe_clusters(model: Any, X: Any, *, sample_weight: Any = None) -> pd.DataFrame:
    """Describe clusters by the columns in which they differ from all rows.

    Parameters
    ----------
    model : fitted soft model, or a pipeline that ends in one
        The model whose clusters are described.
    X : DataFrame or array of shape (n, d)
        The rows that the model was fitted on, with the columns to describe: those of the fit, and
        any others, numeric or text. Missing cells are ignored.
    sample_weight : array of shape (n,), default=None
        Weights of the rows. By default those of the fit.

    Returns
    -------
    table : DataFrame
        One row per cluster and column. Clusters are sorted by number. Rows in no cluster (−1) come
        last. A detector has one cluster. Constant columns and names are left out.

        cluster, rows, share
            The cluster, its number of rows, and its share of the weight.
        rank, column, effect
            Rank 1 is the column in which the cluster differs most from the other rows. The effect
            is between 0 (no difference) and 1 (no overlap). With one cluster, columns keep their
            order.
        median, low, high, all_median, all_low, all_high
            For numeric columns: the median and the inner nine tenths, in the cluster and in all
            rows.
        value, value_share, all_share
            For text columns and columns with two values: the most over-represented value, and its
            share in the cluster and in all rows.
        words
            The same as text.

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
            f"X has {len(table)} rows, and the model was fitted on {len(labels)}; pass the table "
            "that it was fitted on."
        )
    if sample_weight is None:
        sample_weight = getattr(last, "sample_weight_", None)
    return describe(table, labels, sample_weight)


def _as_table(model: Any, X: Any) -> pd.DataFrame:
    """Return X as a DataFrame, without the numbers that a preparation left out."""
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
    """Return the table of `describe_clusters` for rows with labels (n,), −1 in no cluster."""
    import pandas as pd

    labels = np.asarray(labels)
    weight = check_weights(weight, len(table))
    is_weighted = weight > 0
    present = np.unique(labels[is_weighted])
    clusters = [*present[present >= 0].tolist(), *present[present < 0].tolist()]
    place = {cluster: k for k, cluster in enumerate(clusters)}
    group = np.array([place.get(label, 0) for label in labels.tolist()])
    parts = [
        part
        for k, name in enumerate(table.columns)  # by position: names may occur twice
        for part in _compare(str(name), table.iloc[:, k], weight, group, len(clusters))
    ]
    records = []
    is_one, total = len(clusters) == 1, float(weight.sum())
    for k, cluster in enumerate(clusters):
        own = [part for part in parts if part.group == k]
        if not is_one:
            own.sort(key=lambda part: (-round(part.effect, 2), -part.shift))
        inside = is_weighted & (group == k)
        head = {
            "cluster": int(cluster),
            "rows": int(inside.sum()),
            "share": float(weight[inside].sum()) / total,
        }
        for rank, part in enumerate(own or [ClusterColumn(k)], 1):
            words = cluster_column_text(part, is_one)
            records.append(head | {"rank": rank, **part.cells(), "words": words})
    return pd.DataFrame(records, columns=list(NAMES))


def cluster_parts(table: pd.DataFrame, most: int = 3) -> dict[int, tuple[str, list[str]]]:
    """Return the size and the most distinctive columns of every cluster, as text."""
    texts = {}
    is_one = table["cluster"].nunique() == 1
    for cluster in table["cluster"].drop_duplicates().tolist():
        part = table[table["cluster"] == cluster]
        name = "in no cluster" if cluster < 0 else f"cluster {cluster}"
        size = plural(int(part["rows"].iloc[0]), "row")
        distinct = part if is_one else part[part["effect"] >= DISTINCT]
        words = [word for word in distinct["words"].head(most) if word]
        more = len(distinct) - most
        if is_one and more > 0:
            words.append(f"and {plural(more, 'more column')}")
        # rows in no cluster have nothing in common
        words = [] if cluster < 0 else words or ["much like all rows"]
        texts[cluster] = f"{'one cluster' if is_one else name}: {size}", words
    return texts


def cluster_lines(table: pd.DataFrame, most: int = 3) -> dict[int, str]:
    """Return one line of text for every cluster of `describe_clusters`.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> cost = np.append(np.arange(1.0, 10), np.arange(120.0, 123))
    >>> table = describe(pd.DataFrame({"cost": cost, "one": 1}), [0] * 9 + [1] * 3)
    >>> cluster_lines(table)[1]
    'cluster 1: 3 rows; cost 20 times the median (121)'
    """
    parts = cluster_parts(table, most).items()
    return {cluster: "; ".join([head, *words]) for cluster, (head, words) in parts}


@dataclass(frozen=True)
class ClusterColumn:
    """A column of a cluster: quantiles of numbers, or the most over-represented value."""

    group: int
    name: str = ""
    own: tuple[float, ...] | None = None  # low, median, high
    every: tuple[float, ...] | None = None  # the same for all rows
    value: Any = None
    shares: tuple[float, float] = (np.nan, np.nan)  # in the cluster, in all rows
    effect: float = 0.0
    is_positive: bool = False
    is_date: bool = False  # numbers are days since 1970

    @property
    def shift(self) -> float:
        """Distance between the medians, in ranges of all rows. It breaks ties of effects."""
        if self.own is None or self.every is None:
            return 0.0
        width = self.every[2] - self.every[0]
        return abs(self.own[1] - self.every[1]) / width if width > 0 else 0.0

    def cells(self) -> dict[str, Any]:
        """Return the cells of the table."""
        blank = (np.nan, np.nan, np.nan)
        quantiles = dict(zip(("low", "median", "high"), self.own or blank, strict=True))
        every = dict(zip(("all_low", "all_median", "all_high"), self.every or blank, strict=True))
        shares = {"value_share": self.shares[0], "all_share": self.shares[1]}
        head = {"column": self.name, "value": self.value, "effect": self.effect}
        return head | quantiles | every | shares


def _is_number(column: pd.Series[Any]) -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return bool(is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype))


def _compare(
    name: str, column: pd.Series[Any], weight: Array, group: Array, count: int
) -> Iterator[ClusterColumn]:
    """Compare clusters with all rows in a column, unless it is constant or names rows."""
    is_present = np.asarray((weight > 0) & column.notna().to_numpy(dtype=bool))
    column, weight, group = column[is_present], weight[is_present], group[is_present]
    is_date = column.dtype.kind == "M"
    if is_date:
        column = to_days(column, TIMESTAMP)
    if _is_number(column) and column.nunique() > FEW:
        values = column.to_numpy(dtype=np.float64)
        ok = np.isfinite(values)
        yield from _compare_numbers(name, values[ok], weight[ok], group[ok], count, is_date)
    elif 1 < column.nunique() <= MOST_TEXTS and column.dtype.kind != "m" and not is_date:
        yield from _compare_texts(name, column, weight, group, count)


def _compare_numbers(
    name: str, values: Array, weight: Array, group: Array, count: int, is_date: bool
) -> Iterator[ClusterColumn]:
    order = np.argsort(values, kind="stable")
    values, weight, group = values[order], weight[order], group[order]
    every = tuple(lower_quantile(values, weight, QUANTILES).tolist())
    below, up_to = _shares_below(values, weight)
    for k in range(count):
        own = np.flatnonzero(group == k)
        if not own.size:
            continue
        x, w = values[own], weight[own]
        own_below, own_up_to = _shares_below(x, w)
        apart = max(np.abs(own_up_to - up_to[own]).max(), np.abs(own_below - below[own]).max())
        others = 1.0 - float(w.sum() / weight.sum())
        yield ClusterColumn(
            k,
            name,
            own=tuple(lower_quantile(x, w, QUANTILES).tolist()),
            every=every,
            # F_cluster − F_all is the share of the others times F_cluster − F_others
            effect=min(1.0, float(apart) / others) if others > 1e-12 else 0.0,
            is_positive=bool(values[0] >= 0),
            is_date=is_date,
        )


def _shares_below(values: Array, weight: Array) -> tuple[Array, Array]:
    """Return the share of the weight below every sorted value, and up to it, ties included."""
    reached = np.concatenate([[0.0], np.cumsum(weight)])
    reached /= reached[-1]
    first = np.searchsorted(values, values)
    last = np.searchsorted(values, values, side="right")
    return reached[first], reached[last]


def _compare_texts(
    name: str, column: pd.Series[Any], weight: Array, group: Array, count: int
) -> Iterator[ClusterColumn]:
    import pandas as pd

    codes, values = pd.factorize(column)
    table = np.zeros((count, len(values)))
    np.add.at(table, (group, codes), weight)
    whole = table.sum(axis=0)
    every = whole / table.sum()
    for k in range(count):
        mass = table[k].sum()
        if mass == 0:
            continue
        own, has_others = table[k] / mass, mass < table.sum()
        more = own - (whole - table[k]) / max(table.sum() - mass, 1e-300) if has_others else own
        best = int(np.argmax(more))
        value = format_number(float(values[best])) if _is_number(column) else str(values[best])
        shares = float(own[best]), float(every[best])
        effect = float(max(more[best], 0.0)) if has_others else 0.0
        yield ClusterColumn(k, name, value=value, shares=shares, effect=effect)
