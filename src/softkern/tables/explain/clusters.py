"""Descriptions of clusters: median and range of every column compared with all rows.

The effect of a column is the Kolmogorov–Smirnov distance between the cluster and the other rows,
max |F_cluster − F_others|. It does not depend on units or skew, and detects a cluster that lies
elsewhere as well as one that is narrow. For a text column it is how much more often the cluster
has its most over-represented value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype

from softkern._utils.text import plural
from softkern._utils.typing import Array
from softkern.fitted import fitted_step
from softkern.ranking import Ranker
from softkern.rows import check_weights, lower_quantile
from softkern.tables.explain.row_view import check_training_rows
from softkern.tables.preparation.cells import as_table, is_numeric
from softkern.tables.preparation.formats import TIMESTAMP, to_days
from softkern.tables.preparation.model import preparation_of
from softkern.tables.text import cluster_column_text, format_number

QUANTILES = (0.05, 0.5, 0.95)  # the usual range and its median
DISTINCT = 0.25  # effect from which a column is reported
MOST_TEXTS = 50  # values of a text column; a column with more holds names
FEW = 2  # values of a numeric column up to which it is compared like text


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
    labels = Ranker(model).score_points().labels
    table = as_table(X.toarray() if hasattr(X, "toarray") else X)
    check_training_rows(len(table), len(labels))
    preparation = preparation_of(model)
    if preparation is not None and hasattr(X, "columns"):
        used = preparation.used_columns_  # and text: excluded numbers do not describe clusters
        table = table[[c for c in table if c in used or not holds_numbers(table[c].dtype)]]
    if sample_weight is None:
        sample_weight = getattr(fitted_step(model)[0], "sample_weight_", None)
    return describe(table, labels, sample_weight)


def describe(table: pd.DataFrame, labels: Array, weight: Any = None) -> pd.DataFrame:
    """Return the table of `describe_clusters` for rows with labels (n,), −1 in no cluster."""
    weight = check_weights(weight, len(table))
    labels, found = np.asarray(labels), []
    parts = [
        part
        for k, name in enumerate(table.columns)  # by position: names may occur twice
        for part in _compare(str(name), table.iloc[:, k], weight, labels)
    ]
    clusters = np.unique(labels[weight > 0]).tolist()
    is_one = len(clusters) == 1
    for cluster in sorted(clusters, key=lambda k: (k < 0, k)):  # −1 comes last
        own = [part for part in parts if part.cluster == cluster]
        if not is_one:
            own.sort(key=lambda part: (-round(part.effect, 2), -part.shift))
        own_weight = weight[labels == cluster]
        for rank, part in enumerate(own or [ClusterColumn(cluster)], 1):
            part.rows, part.share = int((own_weight > 0).sum()), own_weight.sum() / weight.sum()
            part.rank, part.words = rank, cluster_column_text(part, is_one)
            found.append(part)
    return pd.DataFrame(map(vars, found)).drop(columns=["has_ratios", "is_date"])


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
    """Return one line of text for every cluster of `describe_clusters`."""
    parts = cluster_parts(table, most).items()
    return {cluster: "; ".join([head, *words]) for cluster, (head, words) in parts}


@dataclass
class ClusterColumn:
    """A column of a cluster: quantiles of numbers, or the most over-represented value."""

    cluster: int
    rows: int = 0
    share: float = 0.0
    rank: int = 1
    column: str = ""
    median: float = np.nan
    low: float = np.nan
    high: float = np.nan
    all_median: float = np.nan
    all_low: float = np.nan
    all_high: float = np.nan
    value: str | None = None
    value_share: float = np.nan
    all_share: float = np.nan
    effect: float = 0.0
    words: str = ""
    has_ratios: bool = False  # numbers, none of them negative
    is_date: bool = False  # numbers are days since 1970

    @property
    def shift(self) -> float:
        """Distance between the medians, in ranges of all rows. It breaks ties of effects."""
        width = self.all_high - self.all_low
        return abs(self.median - self.all_median) / width if width > 0 else 0.0


def holds_numbers(dtype: Any) -> bool:
    """Return whether columns of a dtype hold real numbers; booleans are categories."""
    return is_numeric(dtype) and not is_bool_dtype(dtype)


def _compare(
    name: str, column: pd.Series[Any], weight: Array, group: Array
) -> Iterator[ClusterColumn]:
    """Compare clusters with all rows in a column, unless it is constant or names rows."""
    is_present = np.asarray((weight > 0) & column.notna().to_numpy(dtype=bool))
    column, weight, group = column[is_present], weight[is_present], group[is_present]
    is_date = column.dtype.kind == "M"
    if is_date:
        column = to_days(column, TIMESTAMP)
    is_number = holds_numbers(column.dtype)
    if is_number and column.nunique() > FEW:
        values = column.to_numpy(dtype=np.float64)
        ok = np.isfinite(values)
        yield from _compare_numbers(name, values[ok], weight[ok], group[ok], is_date)
    elif 1 < column.nunique() <= MOST_TEXTS and column.dtype.kind != "m" and not is_date:
        codes, distinct = pd.factorize(column)
        texts = [format_number(float(v)) if is_number else str(v) for v in distinct]
        yield from _compare_texts(name, codes, texts, weight, group)


def _compare_numbers(
    name: str, values: Array, weight: Array, group: Array, is_date: bool
) -> Iterator[ClusterColumn]:
    order = np.argsort(values, kind="stable")
    values, weight, group = values[order], weight[order], group[order]
    quantiles = lower_quantile(values, weight, QUANTILES).tolist()
    below, up_to = _shares_below(values, weight)
    for k in np.unique(group).tolist():
        own = np.flatnonzero(group == k)
        x, w = values[own], weight[own]
        own_below, own_up_to = _shares_below(x, w)
        apart = max(np.abs(own_up_to - up_to[own]).max(), np.abs(own_below - below[own]).max())
        others = 1.0 - float(w.sum() / weight.sum())
        has_ratios = values[0] >= 0 and not is_date
        part = ClusterColumn(k, column=name, has_ratios=has_ratios, is_date=is_date)
        part.low, part.median, part.high = lower_quantile(x, w, QUANTILES).tolist()
        part.all_low, part.all_median, part.all_high = quantiles
        # F_cluster − F_all is the share of the others times F_cluster − F_others
        part.effect = min(1.0, float(apart) / others) if others > 1e-12 else 0.0
        yield part


def _shares_below(values: Array, weight: Array) -> tuple[Array, Array]:
    """Return the share of the weight below every sorted value, and up to it, ties included."""
    reached = np.concatenate([[0.0], np.cumsum(weight)])
    reached /= reached[-1]
    places = np.searchsorted(values, values), np.searchsorted(values, values, side="right")
    return reached[places[0]], reached[places[1]]


def _compare_texts(
    name: str, codes: Array, texts: list[str], weight: Array, group: Array
) -> Iterator[ClusterColumn]:
    whole = np.bincount(codes, weight)
    for k in np.unique(group).tolist():
        own = np.bincount(codes[group == k], weight[group == k], len(texts))
        others = whole - own
        has_others = others.sum() > 0
        more = own / own.sum() - (others / others.sum() if has_others else 0.0)
        best = int(np.argmax(more))
        yield ClusterColumn(
            k,
            column=name,
            value=texts[best],
            value_share=float(own[best] / own.sum()),
            all_share=float(whole[best] / whole.sum()),
            effect=max(float(more[best]), 0.0) if has_others else 0.0,
        )
