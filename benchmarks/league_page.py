"""The tables and pictures of the league, from what was measured, into docs/league.md.

What is between `<!-- NAME -->` and `<!-- end of NAME -->` in the page is written here; the words
around it are people's. Called by `benchmarks/league.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from entrants import AS_THEY_ARE, NEW, PARTS, Part
from standings import critical_difference, friedman, groups, paired, ranks
from studies.common import DEFAULT, Records, markdown, tell

matplotlib.use("Agg")
from matplotlib import pyplot as plt

OURS_COLOR, PEERS_COLOR = "#0b5fa5", "#444444"
TITLES = {  # of the pictures
    "outliers": "outliers, mean rank by AUROC",
    "clusters": "clusters, mean rank by adjusted Rand index",
}


@dataclass(frozen=True)
class Results:
    """What was measured in a part of the league."""

    part: Part
    frame: pd.DataFrame  # a row for every set and method; the mean of its seeds

    @classmethod
    def of(cls, part: Part, records: Records) -> Results:
        """Of the lines that a run has written."""
        frame = pd.DataFrame(records)
        if "error" not in frame:
            frame["error"] = None
        keys = ["set", "group", "method"]
        numbers = frame.groupby(keys, sort=False).mean(numeric_only=True)  # of the seeds that ended
        errors = frame.groupby(keys, sort=False)["error"].last()  # of any seed
        return cls(part, numbers.join(errors).reset_index())

    @cached_property
    def measure(self) -> str:
        """The first is the one that ranks."""
        return next(iter(self.part.nothing))

    def table(self, measure: str, group: str | None = None) -> pd.DataFrame:
        """Sets in rows, the league's methods in columns; NaN where a method failed."""
        frame = self.frame if group is None else self.frame[self.frame["group"] == group]
        table = frame.pivot(index="set", columns="method", values=measure)
        sets, methods = frame["set"].unique(), [*self.part.ours, *self.part.peers]
        return table.loc[sets, [name for name in methods if name in table]]

    def filled(self, measure: str, group: str | None = None) -> pd.DataFrame:
        """The same, with what saying nothing earns where a method failed."""
        facts = self.frame.drop_duplicates("set").set_index("set")
        earned = facts.apply(self.part.nothing[measure], axis=1)
        return self.table(measure, group).apply(lambda column: column.fillna(earned))

    def beside(self, measure: str, group: str | None = None) -> float:
        """The mean of our default with the rows as they are."""
        frame = self.frame if group is None else self.frame[self.frame["group"] == group]
        return float(frame.loc[frame["method"] == AS_THEY_ARE, measure].fillna(0).mean())


def two(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.2g}"


def chance(p: float) -> str:
    return "< .001" if p < 0.001 else f"{p:.3f}".lstrip("0") if p < 1 else "1"


def share(value: float) -> str:
    return "–" if np.isnan(value) else re.sub(r"^(-?)0\.", r"\1.", f"{value:.3f}")


def named(results: Results, method: str) -> str:
    return f"**{method}**" if method in results.part.ours else method


def standing(results: Results, extra: dict[str, Callable[[Any], Any]]) -> pd.DataFrame:
    """A row for every method, the best mean rank first."""
    measure = results.measure
    everywhere, fresh = results.table(measure), results.table(measure, NEW)
    columns: dict[str, pd.Series] = {
        "mean rank": ranks(everywhere).mean().map(lambda r: f"{r:.1f}")
    }
    for name in results.part.nothing:
        columns[f"mean {name}"] = results.filled(name).mean().map(share)
    for title, group in (("", None), (", never looked at", NEW)):
        if group is not None:
            columns[f"rank{title}"] = ranks(fresh).mean().map(lambda r: f"{r:.1f}")
            columns[f"{measure}{title}"] = results.filled(measure, group).mean().map(share)
        pairs = paired(results.filled(measure, group), DEFAULT)
        counts = pairs[["we win", "level", "we lose"]].astype(int).astype(str)
        columns[f"we win–level–lose{title}"] = counts.agg("–".join, axis=1)
        columns[f"p{title}"] = pairs["p"].map(chance)
    by_method = results.frame.groupby("method")
    for name, summary in extra.items():
        columns[name] = by_method[name].agg(summary).map(share)
    columns["failed"] = everywhere.isna().sum().astype(str)
    columns["seconds"] = by_method["seconds"].sum().map(two)
    order = ranks(everywhere).mean().sort_values(kind="stable").index
    table = pd.DataFrame({name: column.reindex(order) for name, column in columns.items()})
    table = table.fillna("–")
    table.index = pd.Index([named(results, name) for name in order], name="method")
    return table


def by_group(results: Results) -> pd.DataFrame:
    """Mean of the first measure in every group of sets."""
    names = results.frame["group"].unique()
    means = pd.DataFrame({g: results.filled(results.measure, g).mean() for g in names})
    counts = {g: f"{g} ({len(results.table(results.measure, g))})" for g in names}
    order = ranks(results.table(results.measure)).mean().sort_values(kind="stable").index
    means.loc[AS_THEY_ARE] = [results.beside(results.measure, g) for g in names]
    means = means.loc[[*order, AS_THEY_ARE]].map(share).rename(columns=counts)
    means.index = pd.Index([named(results, name) for name in means.index], name="method")
    return means


def by_set(results: Results) -> pd.DataFrame:
    """Every set: what it is, our default, the best of ours, the best peer."""
    values = results.table(results.measure)
    facts = results.frame.drop_duplicates("set").set_index("set").loc[values.index]
    rows = facts["n"].astype(int).astype(str)
    is_sample = facts["n"] < facts["rows"]
    rows = rows.where(~is_sample, rows + " of " + facts["rows"].astype(int).astype(str))
    what = "outliers" if "outliers" in facts else "classes"
    described = facts[what].map(lambda v: f"{v:.1%}" if what == "outliers" else f"{v:.0f}")
    ours, peers = (
        values[[name for name in names if name in values]]
        for names in (results.part.ours, results.part.peers)
    )
    return pd.DataFrame(
        {
            "group": facts["group"],
            "rows": rows,
            "columns": facts["d"].astype(int).astype(str),
            what: described,
            DEFAULT: values[DEFAULT].map(share),
            "rank": ranks(values)[DEFAULT].map(lambda r: f"{r:g}"),
            "best of ours": best_of(ours),
            "best peer": best_of(peers),
        }
    )


def best_of(values: pd.DataFrame) -> pd.Series:
    def best(row: pd.Series) -> str:
        return "all failed" if row.isna().all() else f"{row.idxmax()} {share(row.max())}"

    return values.apply(best, axis=1)


def verdict(results: Results, title: str, group: str | None) -> str:
    """Whether methods differ at all, and the mean ranks that differ."""
    table = results.table(results.measure, group)
    critical = critical_difference(table.shape[1], len(table))
    p = chance(friedman(table))
    return (
        f"{title}: {len(table)} sets, {table.shape[1]} methods; Friedman's test, whether all are alike: p "
        f"{p if p.startswith('<') else '= ' + p}; mean ranks more than {critical:.1f} apart differ "
        "(Nemenyi, 5 %)."
    )


def failures(results: Results) -> str:
    """Every failure, with its text."""
    failed = results.frame[results.frame["error"].notna()]
    if failed.empty:
        return "Nothing failed."
    lines = [
        f"- {named(results, row.method)} on {row.set}: {str(row.error).splitlines()[0][:160]}"
        for row in failed.itertuples()
    ]
    return "\n".join(lines)


def draw(results: Results, title: str, file: Path) -> None:
    """Mean ranks on a line, all sets above and those never looked at below; bars join what is level."""
    methods = results.table(results.measure).shape[1]
    height = 1.1 + 0.2 * ((methods + 1) // 2)
    figure, axes = plt.subplots(2, 1, figsize=(9.5, 2 * height), layout="constrained")
    for ax, group, what in zip(
        axes, (None, NEW), ("all sets", "sets never looked at"), strict=True
    ):
        table = results.table(results.measure, group)
        draw_ranks(
            ax, table, set(results.part.ours), f"{title}: {what} ({len(table)}); ours in blue"
        )
    figure.savefig(file, dpi=110)
    plt.close(figure)


def draw_ranks(ax: Any, table: pd.DataFrame, ours: set[str], title: str) -> None:
    """Demšar's picture: the best on the left, names on both sides, one bar for each group."""
    means = ranks(table).mean().sort_values(kind="stable")
    count, critical = len(means), critical_difference(table.shape[1], len(table))
    joined = groups(means, critical)
    half = (count + 1) // 2
    low, high = 1, count
    below = 0.9 + 0.32 * len(joined)  # where the first name is
    for i, (name, rank) in enumerate(means.items()):
        is_left = i < half
        y = below + 0.75 * (i if is_left else count - 1 - i)
        end = low - 0.2 if is_left else high + 0.2
        color = OURS_COLOR if name in ours else PEERS_COLOR
        ax.plot([rank, rank, end], [0, y, y], color=color, linewidth=0.8)
        text = f"{name}  {rank:.1f}" if is_left else f"{rank:.1f}  {name}"
        weight = "bold" if name in ours else "normal"
        side = "right" if is_left else "left"
        style = {"color": color, "weight": weight, "fontsize": 8.5}
        ax.text(end - 0.1 if is_left else end + 0.1, y, text, ha=side, va="center", **style)
    for i, (first, last) in enumerate(joined):
        y = 0.4 + 0.32 * i
        ax.plot([means[first] - 0.05, means[last] + 0.05], [y, y], color="#c0392b", linewidth=2.5)
    ax.plot([low, low + critical], [-1.7, -1.7], color="#c0392b", linewidth=2.5)
    ax.text(
        low + critical + 0.15,
        -1.7,
        f"critical difference {critical:.1f}",
        va="center",
        fontsize=8.5,
    )
    ax.plot([low, high], [0, 0], color="black", linewidth=1)
    for rank in range(low, high + 1):
        ax.plot([rank, rank], [0, -0.2], color="black", linewidth=1)
        ax.text(rank, -0.35, str(rank), ha="center", va="bottom", fontsize=8)
    ax.set_title(title, fontsize=10)
    ax.set_xlim(low - 0.35 * count, high + 0.35 * count)
    ax.set_ylim(below + 0.75 * half, -2.3)
    ax.set_axis_off()


def section(results: Results) -> str:
    """All that is said of a part."""
    is_clusters = results.part.measure.__name__ == "found"
    extra = {"noise": "mean"} if is_clusters else {}
    return "\n\n".join(
        [
            verdict(results, "All sets", None),
            verdict(results, "Sets never looked at", NEW),
            markdown(standing(results, extra)),
            f"Mean {results.measure} by group of sets; the last line is our default with the rows as "
            "they are, which it prepares itself:",
            markdown(by_group(results)),
            f"Every set, {results.measure}; the rank is that of {DEFAULT} among all:",
            markdown(by_set(results)),
            "Failures:",
            failures(results),
        ]
    )


def replaced(text: str, name: str, content: str) -> str:
    """The page with that block written anew."""
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    if start not in text or end not in text:
        raise ValueError(f"the page has no {start} … {end}; write both where the tables belong.")
    before, rest = text.split(start, 1)
    return f"{before}{start}\n\n{content}\n\n{end}{rest.split(end, 1)[1]}"


def complete(part: str, records: Records) -> Records:
    """Records of the sets on which every method was run; a set in the middle of which a run ended is told."""
    wanted = len(PARTS[part].methods)
    methods: dict[str, set[str]] = {}
    for record in records:
        methods.setdefault(record["set"], set()).add(record["method"])
    for name in [name for name, found in methods.items() if len(found) < wanted]:
        tell(f"{part}: {name} is left out, {len(methods[name])} of {wanted} methods were run")
    return [record for record in records if len(methods[record["set"]]) == wanted]


def write_page(found: dict[str, Records], versions: dict[str, str], page: Path) -> None:
    """Write every block of the page, and the pictures beside it."""
    if not page.exists():
        blocks = [f"<!-- {name} -->\n<!-- end of {name} -->" for name in ("versions", *found)]
        page.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    text = replaced(text, "versions", f"{listed}.")
    for part, records in found.items():
        if records:
            results = Results.of(PARTS[part], complete(part, records))
            text = replaced(text, part, section(results))
            if part in TITLES:
                draw(results, TITLES[part], page.parent / f"league_{part}.png")
    page.write_text(text, encoding="utf-8")
