"""Measure explanations of planted causes: how often the planted column is named first.

Tables of 1,000 rows in three clusters of correlated columns, with 5 to 200 columns. In each, 10 rows
are changed in one column, in two, or in the combination of two correlated columns whose single values
stay usual. For 200 rows of each kind: the share with a planted column first, with all planted columns
named, and with the row flagged at all. For overlap points: the share with the correct two clusters.

The thresholds were tuned on these tables. The tables of `planted.py` were not used for tuning, although
they suggested two of the rules: six families, explained by `softkern.cluster`.

    python benchmarks/explanations.py [--tables 20]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import planted
from rich.console import Console
from rich.table import Table

from softkern import OneClassMixture, OneClassPCM, cluster, rank_points
from softkern.tables.explain import Explainer

COLUMNS = (5, 20, 50, 200)
KINDS = ("one column", "two columns", "jointly")
ROWS, PLANTED = 1000, 10
FAR = {5: 12.0, 20: 14.0, 50: 16.0, 200: 24.0}  # standard deviations; more columns need more


def clusters(rng: np.random.Generator, d: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Generate three clusters of correlated columns, and their labels.

    The first two columns are strongly correlated, for a detector in all clusters together.
    """
    labels = rng.integers(3, size=ROWS)
    loadings = rng.normal(size=(d, max(1, d // 5))) * 0.6
    X = rng.normal(size=(ROWS, loadings.shape[1])) @ loadings.T + 0.8 * rng.normal(size=(ROWS, d))
    X[:, 1] = X[:, 0] + 0.15 * X[:, 0].std() * rng.normal(size=ROWS)
    differ = np.arange(d) < 10
    differ[:2] &= kind != "jointly"
    X += rng.normal(size=(3, d))[labels] * 5 / np.sqrt(min(d, 10)) * differ
    return X, labels


def plant(rng: np.random.Generator, X: np.ndarray, labels: np.ndarray, kind: str) -> list[set]:
    """Change the first rows. Returns the changed columns."""
    d = X.shape[1]
    spread = np.array([X[labels == labels[0]][:, j].std() for j in range(d)])
    causes = []
    for i in range(PLANTED):
        middle = np.median(X[labels == labels[i]], axis=0)
        sign = rng.choice([-1.0, 1.0], 2)
        if kind == "jointly":
            columns = [0, 1]
            X[i, :2] = middle[:2] + 2 * sign[0] * spread[:2] * [1, -1]
        else:
            columns = rng.choice(d, 1 if kind == "one column" else 2, replace=False).tolist()
            far = FAR[d] / np.sqrt(len(columns))
            X[i, columns] = middle[columns] + far * sign[: len(columns)] * spread[columns]
        causes.append(set(columns))
    return causes


def outliers(d: int, kind: str, tables: int) -> tuple[float, ...]:
    """Return the shares of correct first columns, all columns and flagged rows, and seconds per table."""
    first = every = flagged = 0
    seconds = 0.0
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        X, labels = clusters(rng, d, kind)
        causes = plant(rng, X, labels, kind)
        model = OneClassPCM().fit(X)
        start = time.perf_counter()
        explainer = Explainer.of(model, X)
        table = explainer.explain(
            explainer.rows, explainer.points, explainer.ranks, np.arange(PLANTED)
        )
        seconds += time.perf_counter() - start
        flagged += int(explainer.ranks["is_outlier"][:PLANTED].sum())
        for i, cause in enumerate(causes):
            names = [table[f"column_{k}"][i] for k in (1, 2, 3)]
            columns = [int(name[1:]) - 1 for name in names if name]
            first += bool(columns) and columns[0] in cause
            every += cause <= set(columns)
    cases = tables * PLANTED
    return first / cases, every / cases, flagged / cases, seconds / tables


def held_out(d: int, tables: int) -> dict[tuple[str, str], np.ndarray]:
    """Return the shares of first, all and only planted columns and flagged rows, by family and kind."""
    found: dict[tuple[str, str], list] = {}
    for family in planted.FAMILIES:
        for seed in range(tables):
            X, causes = planted.planted(family, d, seed)
            explainer = Explainer.of(cluster(X), X)
            places = np.array([place for _, place, _ in causes])
            table = explainer.explain(explainer.rows, explainer.points, explainer.ranks, places)
            is_outlier = explainer.ranks["is_outlier"].to_numpy()[places]
            names = table[["column_1", "column_2", "column_3"]].to_numpy()
            for i, (kind, _, cause) in enumerate(causes):
                columns = [int(name[1:]) - 1 for name in names[i] if name]
                first = bool(columns) and columns[0] in cause
                only = set(columns) <= cause
                shares = (first, cause <= set(columns), first and only, is_outlier[i])
                found.setdefault((family, kind), []).append(shares)
    return {key: np.mean(shares, axis=0) for key, shares in found.items()}


def between(d: int, tables: int) -> tuple[float, float]:
    """Return the share of correct pairs of clusters among overlap points, and of flagged ones."""
    right = flagged = 0
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        labels = np.repeat(np.arange(3), 300)
        middles = np.zeros((3, d))
        middles[np.arange(3), np.arange(3)] = 10
        X = rng.normal(size=(900, d)) + middles[labels]
        pairs = [rng.choice(3, 2, replace=False) for _ in range(PLANTED)]
        rows = np.array([middles[p].mean(axis=0) for p in pairs]) + 0.3 * rng.normal(
            size=(PLANTED, d)
        )
        X = np.concatenate([rows, X])
        model = OneClassMixture(3).fit(X)
        own = {g: int(np.bincount(model.labels_[PLANTED:][labels == g]).argmax()) for g in range(3)}
        ranks = rank_points(model)
        explainer = Explainer.of(model, X)
        table = explainer.explain(explainer.rows, explainer.points, ranks, np.arange(PLANTED))
        for i, pair in enumerate(pairs):
            if not ranks["is_overlap"][i]:
                continue
            flagged += 1
            a, b = sorted(own[int(g)] for g in pair)
            right += table["between"][i] == f"{a} and {b}"
    return right / max(flagged, 1), flagged / (tables * PLANTED)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=20, help="of 10 planted rows each")
    tables = parser.parse_args().tables
    shown = Table(title=f"Planted causes, {tables * PLANTED} rows of each kind")
    for name in ("columns", "planted in", "first is right", "all named", "flagged", "s a table"):
        shown.add_column(name, justify="right")
    for d in COLUMNS:
        for kind in KINDS:
            found = outliers(d, kind, tables)
            shown.add_row(str(d), kind, *(f"{x:.1%}" for x in found[:3]), f"{found[3]:.2f}")
    Console().print(shown, _held_out_table(max(1, tables // 5)))
    pairs = Table(title="Rows half way between two of three clusters")
    for name in ("columns", "right two", "flagged"):
        pairs.add_column(name, justify="right")
    for d in COLUMNS:
        pairs.add_row(str(d), *(f"{x:.1%}" for x in between(d, tables)))
    Console().print(pairs)


def _held_out_table(tables: int) -> Table:
    rows = planted.PLANTED * tables
    shown = Table(title=f"Tables on which no number was set, {rows} rows of each family and kind")
    for name in ("columns", "planted in", "family", "first is right", "all named", "only these"):
        shown.add_column(name, justify="right")
    shown.add_column("flagged", justify="right")
    for d in planted.COLUMNS:
        found = held_out(d, tables)
        for kind in planted.KINDS:
            parts = {family: shares for (family, other), shares in found.items() if other == kind}
            parts["all"] = np.mean(list(parts.values()), axis=0)
            for family, shares in parts.items():
                shown.add_row(str(d), kind, family, *(f"{x:.0%}" for x in shares))
    return shown


if __name__ == "__main__":
    main()
