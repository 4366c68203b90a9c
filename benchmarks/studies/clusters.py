"""Clustering with defaults: false splits, power, synthetic, published and real data, time."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from families import FAMILIES, ONE_GROUP, REAL, SHAPES, apart, blobs, noisy_blobs, real, shape
from peers import CLUSTERERS, standardize
from scipy.stats import binomtest

from studies.common import (
    DEFAULT,
    OURS,
    OVERLAPPING,
    TREE,
    Records,
    Result,
    Run,
    by_method,
    draws_made,
    generator,
    log,
    score_clusterers,
    shares,
    sort_records,
    timed,
)

FALSE_SPLITS = 0.03  # promised share of draws
RIGHT_NUMBERS = 0.7  # promised share of data sets
# 3000 × 200 took minutes, so the widest tables have at most 1000 rows
MOST_VALUES = 200_000
PEERS_EVERY = 4  # the peers get every fourth draw without structure


def structureless(run: Run) -> Result:
    """Measure false splits: draws of a single cluster that were split, by n and d."""
    sizes = run.either((100, 300, 1000), (100, 300, 1000, 3000))
    columns = run.either(
        {1, 2, 5, 20, 100}, {d for group in ONE_GROUP.values() for d in group.columns}
    )
    cells = [
        (family, n, d)
        for family, group in ONE_GROUP.items()
        for n in sizes
        for d in group.columns
        if d in columns and n * d <= MOST_VALUES
    ]
    if not run.quick:
        cells += [(family, 5000, d) for family in ("uniform", "Gaussian") for d in (2, 20)]
    draws = run.either(1, 20)
    records: Records = []
    for i, ((family, n, d), draw) in enumerate(run.rounds(cells, lambda cell: draws)):
        X = ONE_GROUP[family].draw(generator("structureless", family, n, d, draw), n, d)
        methods = OURS | (CLUSTERERS if i % PEERS_EVERY == 0 else {})
        records += score_clusterers(
            methods, X, np.zeros(n, int), family=family, n=n, d=d, draw=draw
        )
    frame = sort_records(records, "found", family=ONE_GROUP, n=(*sizes, 5000), d=sorted(columns))
    frame["split"] = frame["found"] > 1
    is_overlapping = frame["evidence"] == OVERLAPPING
    tables = [("All, split draws of all draws", split_table(frame, "method", "n"))]
    tables += [
        (f"{name}, by columns and rows", split_table(frame[frame["method"] == name], "d", "n"))
        for name in OURS
    ]
    tables.append(("By family", split_table(frame, "family", "method")))
    default = frame[frame["method"] == DEFAULT]
    kinds = {
        "separated": default.assign(split=default["split"] & ~is_overlapping),
        "overlapping": default.assign(split=default["split"] & is_overlapping),
    }
    by_kind = {
        name: part.groupby("family", sort=False)["split"].agg(shares)
        for name, part in kinds.items()
    }
    tables.append((f"{DEFAULT}, split as separated and as overlapping", pd.DataFrame(by_kind)))
    parts = {name: frame[frame["method"] == name] for name in OURS}
    parts |= {f"{DEFAULT}, {name}": part for name, part in kinds.items()}
    return Result(
        records, tables, [split_remark(name, part["split"]) for name, part in parts.items()]
    )


def split_remark(name: str, split: pd.Series) -> str:
    """Report the share of split draws with its confidence interval."""
    interval = binomtest(int(split.sum()), len(split)).proportion_ci()
    return (
        f"{name}: {split.mean():.1%} of {len(split)} draws split (95 % interval "
        f"{interval.low:.1%} to {interval.high:.1%}); at most {FALSE_SPLITS:.0%} are promised."
    )


def split_table(frame: pd.DataFrame, row: str, column: str) -> pd.DataFrame:
    """Count the split draws, and all draws per row for a single method."""
    counts = frame.groupby([row, column], sort=False)["split"].agg(shares).unstack(sort=False)
    if column != "method":
        counts = counts.sort_index(axis=1)  # not all families have all numbers of rows
        counts["all"] = frame.groupby(row, sort=False)["split"].agg(shares)
    return counts if row in ("family", "method") else counts.sort_index()


def power(run: Run) -> Result:
    """Measure two blobs at 3 to 10 standard deviations: two clusters found, and ARI."""
    distances = run.either((4, 6, 10), (3, 4, 5, 6, 8, 10))
    columns = run.either((2, 10, 30), (2, 4, 6, 10, 30, 100))
    layouts = run.either(((500, 500),), ((500, 500), (100, 100), (900, 100)))
    cells = list(itertools.product(layouts, columns, distances))
    records: Records = []
    for (sizes, d, distance), draw in run.rounds(cells, lambda cell: run.either(1, 10)):
        name = " + ".join(map(str, sizes))
        rng = generator("power", f"{name} at {distance}", sum(sizes), d, draw)
        X, y = apart(rng, sizes, d, distance)
        what = {"layout": name, "n": sum(sizes), "d": d, "apart": distance, "draw": draw}
        records += score_clusterers(OURS | CLUSTERERS, X, y, **what)
    frame = sort_records(records, "found", n=(1000, 200), d=columns, apart=distances)
    tables = []
    for name, part in frame.groupby("layout", sort=False):
        cell = part.groupby(["d", "method", "apart"], sort=False)[["right", "ARI"]].mean()
        text = cell.apply(lambda row: f"{row['right']:.2f}, {row['ARI']:.2f}", axis=1)
        table = text.unstack(sort=False).sort_index(axis=1)
        table.columns = [f"{distance} s.d." for distance in table.columns]
        tables.append((f"{name} rows: share with two clusters, mean ARI", table))
    tables.append(("All", by_method(frame, ["layout"], ["right", "ARI"])))
    return Result(records, tables, draws_made(frame))


def families(run: Run) -> Result:
    """Measure correct numbers of clusters and ARI on 18 synthetic families."""
    sizes = run.either((300,), (200, 500, 1000, 2000))
    cells = list(itertools.product(FAMILIES, sizes))
    records: Records = []
    for (family, n), draw in run.rounds(cells, lambda cell: run.either(1, 5)):
        X, y = FAMILIES[family](generator("families", family, n, 0, draw), n)
        records += score_clusterers(OURS | CLUSTERERS, X, y, family=family, n=n, draw=draw)
    frame = sort_records(records, "found", family=FAMILIES, n=sizes)
    tables = [
        ("By family", by_method(frame, ["family"], ["right", "ARI"])),
        ("By rows", by_method(frame.sort_values("n", kind="stable"), ["n"], ["right", "ARI"])),
    ]
    return Result(records, tables, [*draws_made(frame), *verdict_on_numbers(frame)])


def verdict_on_numbers(frame: pd.DataFrame) -> list[str]:
    """Report the means of all methods, and whether the default is first and correct often enough."""
    means = frame.groupby("method", sort=False)[["right", "ARI"]].mean()
    ours, others = means.loc[DEFAULT], means.drop(index=list(OURS))
    best = others["ARI"].idxmax()
    return [
        f"{DEFAULT}: number right in {ours['right']:.0%} ({RIGHT_NUMBERS:.0%} are promised), mean ARI "
        f"{ours['ARI']:.3f}; the best peer by ARI, {best}, {others.loc[best, 'ARI']:.3f}; the best by "
        f"number, {others['right'].idxmax()}, {others['right'].max():.0%}."
    ]


def named_sets(names: list[str], load: Callable[[str], Any], scale: bool) -> Result:
    """Run every method on every data set; peers get standardized columns if units differ."""
    records: Records = []
    for name in names:
        X, y = load(name)
        what = {"set": name, "n": len(X), "d": X.shape[1]}
        records += score_clusterers(OURS, X, y, **what)
        records += score_clusterers(CLUSTERERS, standardize(X) if scale else X, y, **what)
        log(f"{name} done")
    frame = sort_records(records, "found")
    numbers = frame.pivot_table("found", ["set", "clusters"], "method", sort=False).astype(int)
    agreement = by_method(frame, ["set"], ["ARI"])
    tables = [
        ("Clusters found", numbers.reset_index("clusters")),
        ("Adjusted Rand index", agreement),
    ]
    return Result(records, tables, verdict_on_numbers(frame))


def shapes(run: Run) -> Result:
    """Measure published data sets with two columns."""
    return named_sets(run.either(["r15", "jain", "flame", "spiral"], SHAPES), shape, scale=False)


def real_tables(run: Run) -> Result:
    """Measure real data sets with known classes."""
    return named_sets(run.either(["iris", "wine", "seeds"], REAL), real, scale=True)


def times(run: Run) -> Result:
    """Measure the seconds of one fit, the best of three for small tables."""
    cells = [(2, 2_000), (2, 20_000), (2, 100_000), (10, 2_000), (10, 20_000)]
    methods = {**OURS, "HDBSCAN": CLUSTERERS["HDBSCAN"]}
    small = np.random.default_rng(0).normal(size=(200, 2))
    for method in methods.values():
        timed(method, small)  # warm-up
    records: Records = []
    for d, n in [(d, n) for d, n in cells if n <= run.either(2_000, n)]:
        rng = generator("time", "blobs", n, d, 0)
        X, y = noisy_blobs(rng, n) if d == 2 else blobs(5, d, 6, 0.8)(rng, n)
        for _ in range(3 if n <= 2_000 else 1):
            records += score_clusterers(methods, X, y, n=n, d=d)
        log(f"{n} rows, {d} columns done")
    frame = sort_records(records, "found")
    seconds = frame.groupby(["d", "n", "method"], sort=False)["seconds"].min().unstack(sort=False)
    for name in (TREE, "HDBSCAN"):
        seconds[f"{DEFAULT} / {name}"] = seconds[DEFAULT] / seconds[name]
    return Result(records, [("Seconds: blobs in noise (d = 2), five blobs (d = 10)", seconds)], [])
