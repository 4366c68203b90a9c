"""Who is better over many sets: ranks, tests between methods, and the critical difference.

After Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR 7 (2006). A table
has a row for every set, a column for every method, and higher values are better; NaN is a failure,
which ranks last. Called by `benchmarks/league.py`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, studentized_range, wilcoxon

LEVEL = 0.05


def ranks(table: pd.DataFrame) -> pd.DataFrame:
    """1 for the best of each set; equal values share the mean of their ranks, failures too."""
    return table.fillna(-np.inf).rank(axis=1, ascending=False, method="average")


def friedman(table: pd.DataFrame) -> float:
    """The chance of ranks at least as different, were all methods alike; of three methods or more."""
    worst = ranks(table)
    if worst.nunique(axis=1).max() == 1:  # all alike on every set, where the statistic is 0 / 0
        return 1.0
    return float(friedmanchisquare(*worst.to_numpy().T).pvalue)


def critical_difference(methods: int, sets: int, level: float = LEVEL) -> float:
    """Nemenyi's: mean ranks that lie further apart are not of methods that are alike."""
    q = studentized_range.ppf(1 - level, methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * sets)))


def holm(p: pd.Series) -> pd.Series:
    """Holm's correction of several tests: each stays the chance of any false alarm up to it."""
    order = np.argsort(p.to_numpy(), kind="stable")
    factors = np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p.to_numpy()[order]), 1)
    return pd.Series(adjusted, index=p.index)


def paired(table: pd.DataFrame, ours: str) -> pd.DataFrame:
    """Every other method against ours: sets won, lost and level, and Wilcoxon's p, corrected.

    `table` has a value for failures too: what saying nothing earns.
    """
    others = table.drop(columns=ours)
    differences = others.rsub(table[ours], axis=0)  # ours less theirs
    p = pd.Series({name: signed_rank(differences[name].to_numpy()) for name in others}, dtype=float)
    return pd.DataFrame(
        {
            "we win": (differences > 0).sum(),
            "level": (differences == 0).sum(),
            "we lose": (differences < 0).sum(),
            "mean difference": differences.mean(),
            "p": holm(p),
        }
    )


def signed_rank(differences: np.ndarray) -> float:
    """Wilcoxon's p, level sets taking the lowest ranks (Pratt); 1 where all are level."""
    if not differences.any():
        return 1.0
    return float(wilcoxon(differences, zero_method="pratt").pvalue)


def groups(mean_ranks: pd.Series, difference: float) -> list[tuple[str, str]]:
    """First and last of each longest run of methods that the critical difference does not part."""
    order = mean_ranks.sort_values(kind="stable")
    found: list[tuple[int, int]] = []
    for first in range(len(order)):
        within = order.to_numpy() - order.iloc[first] <= difference
        last = int(np.flatnonzero(within).max())
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return [(order.index[first], order.index[last]) for first, last in found]
