"""Compare methods over many data sets: ranks, significance tests and the critical difference.

After Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR 7 (2006). A table
has one row per data set and one column per method. Higher values are better, and NaN is a failure,
which ranks last.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, studentized_range, wilcoxon

LEVEL = 0.05


def ranks(table: pd.DataFrame) -> pd.DataFrame:
    """Rank the methods on each data set, 1 for the best. Ties and failures share the mean rank."""
    return table.fillna(-np.inf).rank(axis=1, ascending=False, method="average")


def friedman(table: pd.DataFrame) -> float:
    """Return the p-value of Friedman's test that all methods (at least three) are equal."""
    ranked = ranks(table)
    if ranked.nunique(axis=1).max() == 1:  # all equal on every data set: the statistic is 0 / 0
        return 1.0
    return float(friedmanchisquare(*ranked.to_numpy().T).pvalue)


def critical_difference(methods: int, sets: int, level: float = LEVEL) -> float:
    """Return Nemenyi's critical difference of mean ranks."""
    q = studentized_range.ppf(1 - level, methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * sets)))


def holm(p: pd.Series) -> pd.Series:
    """Apply Holm's correction for multiple tests."""
    order = np.argsort(p.to_numpy(), kind="stable")
    factors = np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p.to_numpy()[order]), 1)
    return pd.Series(adjusted, index=p.index)


def paired(table: pd.DataFrame, ours: str) -> pd.DataFrame:
    """Compare every other method with ours: wins, ties and losses, and Wilcoxon's corrected p.

    `table` must not contain NaN: failures have the score of a trivial result.
    """
    others = table.drop(columns=ours)
    differences = others.rsub(table[ours], axis=0)  # ours minus theirs
    p = pd.Series({name: signed_rank(differences[name].to_numpy()) for name in others}, dtype=float)
    return pd.DataFrame(
        {
            "wins": (differences > 0).sum(),
            "ties": (differences == 0).sum(),
            "losses": (differences < 0).sum(),
            "mean difference": differences.mean(),
            "p": holm(p),
        }
    )


def signed_rank(differences: np.ndarray) -> float:
    """Return Wilcoxon's p with Pratt's treatment of ties; 1 if all differences are zero."""
    if not differences.any():
        return 1.0
    return float(wilcoxon(differences, zero_method="pratt").pvalue)


def cliques(mean_ranks: pd.Series, difference: float) -> list[tuple[str, str]]:
    """Return first and last of each maximal run of methods within the critical difference."""
    order = mean_ranks.sort_values(kind="stable")
    runs: list[tuple[int, int]] = []
    for first in range(len(order)):
        within = order.to_numpy() - order.iloc[first] <= difference
        last = int(np.flatnonzero(within).max())
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return [(order.index[first], order.index[last]) for first, last in runs]
