"""Run the checks of the papers and write their pages: ``python -m reproduce --help``."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from reproduce.checks import VERDICTS
from reproduce.drawing import panels
from reproduce.pages import write_pages
from reproduce.registry import PAPERS, select
from reproduce.running import Result, reproduce
from reproduce.store import Store

UNAVAILABLE, UNEXPECTED = 3, 8  # exit codes
STYLES = dict(zip(VERDICTS, ("green", "yellow", "red", "dim"), strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the arguments, run the checks, write the pages. Returns the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    papers = options.papers or list(PAPERS)
    try:
        select(papers, options.check)
    except ValueError as error:
        parser.error(str(error))
    panels()  # fails without matplotlib before the work, not after it
    options.out.mkdir(parents=True, exist_ok=True)
    store = Store(options.out)
    console = Console(highlight=False)
    with Progress(console=console, transient=True) as progress:
        results = reproduce(
            papers,
            store,
            ids=options.check,
            quick=options.quick,
            again=options.again,
            seed=options.seed,
            n_jobs=options.jobs,
            progress=progress,
            report=lambda result: _print_result(console, result),
        )
    summary = write_pages(store)[-1]
    if all(result.record.unavailable for result in results):
        message = f"No data set is available: {results[0].record.unavailable}"
        Console(stderr=True).print(message, style="bold red", markup=False)
        return UNAVAILABLE
    unexpected = [result.check.id for result in results if not result.is_expected]
    counts = Counter(result.verdict for result in results)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    console.print(f"\n{len(results)} checks: {verdicts}. See {summary}", style="bold")
    if unexpected:
        console.print(f"Not as expected: {', '.join(unexpected)}.", style="bold red")
    return UNEXPECTED if options.expect and unexpected else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m reproduce",
        description="Rerun the tables, figures and claims of the papers. Each check is stored when "
        "it is finished and skipped by the next run.",
        epilog="Exit codes: 0 done, 2 wrong arguments, 3 no data available, 8 a verdict differs "
        "from the expected one (with --expect).",
    )
    add = parser.add_argument
    add("papers", nargs="*", metavar="PAPER", help=f"any of {', '.join(PAPERS)} (default: all)")
    add("--quick", action="store_true", help="few random draws; takes minutes")
    add("--check", action="append", default=[], metavar="ID", help="only this check (2007-F1a)")
    add("--again", action="store_true", help="also rerun finished checks")
    add("--expect", action="store_true", help="fail if a verdict differs from the expected one")
    add("--jobs", type=int, default=_cores(), metavar="N", help="processes (default: all cores)")
    add("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")
    add("--out", type=Path, default=Path("reproduced"), help="output folder (default: reproduced)")
    return parser


def _print_result(console: Console, result: Result) -> None:
    time = f"{result.record.seconds:.0f} s" if result.is_new else "done before"
    expected = "" if result.is_expected else f" (expected: {result.check.expected})"
    line = f"{result.check.id:10} {result.verdict}{expected}, {time}"
    console.print(line, style=STYLES[result.verdict], soft_wrap=True)
    console.print(
        f"           {result.record.unavailable or result.record.why}", markup=False, soft_wrap=True
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


if __name__ == "__main__":
    raise SystemExit(main())
