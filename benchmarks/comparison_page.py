"""Write the tables and figures of docs/comparison.md from stored results.

The blocks between `<!-- NAME -->` and `<!-- end of NAME -->` are generated. The text around them is
written by hand.
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
from comparison_setup import HELD_OUT, PARTS, RAW_DATA, Part
from rank_statistics import cliques, critical_difference, friedman, paired, ranks
from studies.common import DEFAULT, Records, log, markdown

matplotlib.use("Agg")
from matplotlib import pyplot as plt

OURS_COLOR, PEERS_COLOR = "#0b5fa5", "#444444"
TITLES = {  # of the figures
    "outliers": "outliers, mean rank by AUROC",
    "clusters": "clusters, mean rank by adjusted Rand index",
}


@dataclass(frozen=True)
class Results:
    """Results of one part."""

    part: Part
    frame: pd.DataFrame  # one row per data set and method, averaged over seeds

    @classmethod
    def of(cls, part: Part, records: Records) -> Results:
        """Build from the lines that a run has written."""
        frame = pd.DataFrame(records)
        if "error" not in frame:
            frame["error"] = None
        keys = ["set", "group", "method"]
        numbers = frame.groupby(keys, sort=False).mean(numeric_only=True)
        errors = frame.groupby(keys, sort=False)["error"].last()
        return cls(part, numbers.join(errors).reset_index())

    @cached_property
    def measure(self) -> str:
        """The first score decides the ranking."""
        return next(iter(self.part.trivial))

    def table(self, measure: str, group: str | None = None) -> pd.DataFrame:
        """Return data sets in rows and ranked methods in columns. NaN for failures."""
        frame = self.frame if group is None else self.frame[self.frame["group"] == group]
        table = frame.pivot(index="set", columns="method", values=measure)
        sets, methods = frame["set"].unique(), [*self.part.ours, *self.part.peers]
        return table.loc[sets, [name for name in methods if name in table]]

    def filled(self, measure: str, group: str | None = None) -> pd.DataFrame:
        """Return the same table with the score of a trivial result for failures."""
        facts = self.frame.drop_duplicates("set").set_index("set")
        trivial = facts.apply(self.part.trivial[measure], axis=1)
        return self.table(measure, group).apply(lambda column: column.fillna(trivial))

    def raw_data_mean(self, measure: str, group: str | None = None) -> float:
        """Return the mean score of our default on raw data."""
        frame = self.frame if group is None else self.frame[self.frame["group"] == group]
        return float(frame.loc[frame["method"] == RAW_DATA, measure].fillna(0).mean())


def two_digits(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.2g}"


def format_p(p: float) -> str:
    return "< .001" if p < 0.001 else f"{p:.3f}".lstrip("0") if p < 1 else "1"


def three_digits(value: float) -> str:
    return "–" if np.isnan(value) else re.sub(r"^(-?)0\.", r"\1.", f"{value:.3f}")


def bold_ours(results: Results, method: str) -> str:
    return f"**{method}**" if method in results.part.ours else method


def ranking_table(results: Results, extra: dict[str, Callable[[Any], Any]]) -> pd.DataFrame:
    """Return one row per method, by mean rank."""
    measure = results.measure
    everywhere, held_out = results.table(measure), results.table(measure, HELD_OUT)
    columns: dict[str, pd.Series] = {
        "mean rank": ranks(everywhere).mean().map(lambda r: f"{r:.1f}")
    }
    for name in results.part.trivial:
        columns[f"mean {name}"] = results.filled(name).mean().map(three_digits)
    for title, group in (("", None), (", held out", HELD_OUT)):
        if group is not None:
            columns[f"rank{title}"] = ranks(held_out).mean().map(lambda r: f"{r:.1f}")
            columns[f"{measure}{title}"] = results.filled(measure, group).mean().map(three_digits)
        pairs = paired(results.filled(measure, group), DEFAULT)
        counts = pairs[["wins", "ties", "losses"]].astype(int).astype(str)
        columns[f"wins–ties–losses{title}"] = counts.agg("–".join, axis=1)
        columns[f"p{title}"] = pairs["p"].map(format_p)
    by_method = results.frame.groupby("method")
    for name, summary in extra.items():
        columns[name] = by_method[name].agg(summary).map(three_digits)
    columns["failed"] = everywhere.isna().sum().astype(str)
    columns["seconds"] = by_method["seconds"].sum().map(two_digits)
    order = ranks(everywhere).mean().sort_values(kind="stable").index
    table = pd.DataFrame({name: column.reindex(order) for name, column in columns.items()})
    table = table.fillna("–")
    table.index = pd.Index([bold_ours(results, name) for name in order], name="method")
    return table


def by_group(results: Results) -> pd.DataFrame:
    """Return the mean of the first score per group of data sets."""
    names = results.frame["group"].unique()
    means = pd.DataFrame({g: results.filled(results.measure, g).mean() for g in names})
    counts = {g: f"{g} ({len(results.table(results.measure, g))})" for g in names}
    order = ranks(results.table(results.measure)).mean().sort_values(kind="stable").index
    means.loc[RAW_DATA] = [results.raw_data_mean(results.measure, g) for g in names]
    means = means.loc[[*order, RAW_DATA]].map(three_digits).rename(columns=counts)
    means.index = pd.Index([bold_ours(results, name) for name in means.index], name="method")
    return means


def by_set(results: Results) -> pd.DataFrame:
    """Return every data set with our default, our best method and the best peer."""
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
            DEFAULT: values[DEFAULT].map(three_digits),
            "rank": ranks(values)[DEFAULT].map(lambda r: f"{r:g}"),
            "best of ours": best_of(ours),
            "best peer": best_of(peers),
        }
    )


def best_of(values: pd.DataFrame) -> pd.Series:
    def best(row: pd.Series) -> str:
        return "all failed" if row.isna().all() else f"{row.idxmax()} {three_digits(row.max())}"

    return values.apply(best, axis=1)


def verdict(results: Results, title: str, group: str | None) -> str:
    """Describe Friedman's test and the critical difference."""
    table = results.table(results.measure, group)
    critical = critical_difference(table.shape[1], len(table))
    p = format_p(friedman(table))
    return (
        f"{title}: {len(table)} data sets, {table.shape[1]} methods. Friedman's test that all methods "
        f"are equal: p {p if p.startswith('<') else '= ' + p}. Mean ranks that differ by more than "
        f"{critical:.1f} are significantly different (Nemenyi, 5 %)."
    )


def failures(results: Results) -> str:
    """List all failures with their messages."""
    failed = results.frame[results.frame["error"].notna()]
    if failed.empty:
        return "Nothing failed."
    lines = [
        f"- {bold_ours(results, row.method)} on {row.set}: {str(row.error).splitlines()[0][:160]}"
        for row in failed.itertuples()
    ]
    return "\n".join(lines)


def draw(results: Results, title: str, file: Path) -> None:
    """Draw mean ranks on a line, for all data sets and for the held-out ones."""
    methods = results.table(results.measure).shape[1]
    height = 1.1 + 0.2 * ((methods + 1) // 2)
    figure, axes = plt.subplots(2, 1, figsize=(9.5, 2 * height), layout="constrained")
    for ax, group, what in zip(
        axes, (None, HELD_OUT), ("all data sets", "held-out data sets"), strict=True
    ):
        table = results.table(results.measure, group)
        draw_ranks(
            ax, table, set(results.part.ours), f"{title}: {what} ({len(table)}); ours in blue"
        )
    figure.savefig(file, dpi=110)
    plt.close(figure)


def draw_ranks(ax: Any, table: pd.DataFrame, ours: set[str], title: str) -> None:
    """Draw Demšar's diagram: a bar connects methods within the critical difference."""
    means = ranks(table).mean().sort_values(kind="stable")
    count, critical = len(means), critical_difference(table.shape[1], len(table))
    joined = cliques(means, critical)
    half = (count + 1) // 2
    low, high = 1, count
    below = 0.9 + 0.32 * len(joined)  # position of the first name
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
    """Return the generated text of a part."""
    extra = {"noise": "mean"} if "correct number" in results.part.trivial else {}
    return "\n\n".join(
        [
            verdict(results, "All data sets", None),
            verdict(results, "Held-out data sets", HELD_OUT),
            markdown(ranking_table(results, extra)),
            f"Mean {results.measure} by group of data sets. The last line is our default on raw data, "
            "which it prepares itself:",
            markdown(by_group(results)),
            f"{results.measure} on every data set, with the rank of {DEFAULT} among all methods:",
            markdown(by_set(results)),
            "Failures:",
            failures(results),
        ]
    )


def replace_block(text: str, name: str, content: str) -> str:
    """Return the page with a new content of the block."""
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    if start not in text or end not in text:
        raise ValueError(f"the page has no {start} … {end}. Add both where the tables belong.")
    before, rest = text.split(start, 1)
    return f"{before}{start}\n\n{content}\n\n{end}{rest.split(end, 1)[1]}"


def complete(part: str, records: Records) -> Records:
    """Return the records of data sets on which every method was run."""
    expected = len(PARTS[part].methods)
    methods: dict[str, set[str]] = {}
    for record in records:
        methods.setdefault(record["set"], set()).add(record["method"])
    for name in [name for name, finished in methods.items() if len(finished) < expected]:
        log(f"{part}: {name} is skipped, {len(methods[name])} of {expected} methods were run")
    return [record for record in records if len(methods[record["set"]]) == expected]


def write_page(results: dict[str, Records], versions: dict[str, str], page: Path) -> None:
    """Write every block of the page, and the figures next to it."""
    if not page.exists():
        blocks = [f"<!-- {name} -->\n<!-- end of {name} -->" for name in ("versions", *results)]
        page.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    text = replace_block(text, "versions", f"{listed}.")
    for part, records in results.items():
        if records:
            summary = Results.of(PARTS[part], complete(part, records))
            text = replace_block(text, part, section(summary))
            if part in TITLES:
                draw(summary, TITLES[part], page.parent / f"comparison_{part}.png")
    page.write_text(text, encoding="utf-8")
