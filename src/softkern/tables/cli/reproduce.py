"""`softkern reproduce`: the papers' checks, run and judged, and the pages of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from softkern._utils.text import count
from softkern.exceptions import DataError
from softkern.papers import PAPERS, Result, Store, reproduce, write_pages
from softkern.papers.checks import VERDICTS
from softkern.papers.drawing import panels
from softkern.tables.cli.errors import OutputError, heard
from softkern.tables.cli.printer import Printer

__all__ = ["UNEXPECTED", "Job", "run_checks"]

UNEXPECTED = 8  # exit code where a verdict is not the one expected, and that was asked
STYLES = dict(zip(VERDICTS, ("green", "yellow", "red", "dim"), strict=True))


@dataclass(frozen=True)
class Job:
    """What was asked."""

    papers: Sequence[str]
    out: Path
    ids: Sequence[str] = field(default_factory=list)
    quick: bool = False
    again: bool = False
    seed: int = 0
    jobs: int | None = None
    expect: bool = False
    quiet: bool = False


def run_checks(job: Job) -> int:
    """Run the checks, write the pages; the exit code."""
    printer = Printer(job.quiet)
    store = Store(job.out)
    papers = list(PAPERS) if "all" in job.papers else list(dict.fromkeys(job.papers))
    store.folder.mkdir(parents=True, exist_ok=True)
    try:
        panels()
    except ImportError as error:  # before hours of work, not after them
        raise OutputError(str(error)) from error
    with printer.stages():
        results = reproduce(
            papers,
            store,
            ids=job.ids,
            quick=job.quick,
            again=job.again,
            seed=job.seed,
            n_jobs=job.jobs or _cores(),
            report=lambda result: _say(printer, result),
        )
    pages = write_pages(store)
    if all(result.record.unavailable for result in results):
        raise DataError(f"no data set could be had: {results[0].record.unavailable}")
    _conclude(printer, results, pages[-2])
    is_news = any(not result.is_expected for result in results)
    return UNEXPECTED if job.expect and is_news else 0


def _say(printer: Printer, result: Result) -> None:
    if heard:  # a signal to stop that other code has swallowed
        raise KeyboardInterrupt
    verdict, record = result.verdict, result.record
    time = f"{record.seconds:.0f} s" if result.is_new else "done before"
    expected = "" if result.is_expected else f" (expected: {result.check.expected})"
    printer.line(f"{result.check.id:10} {verdict}{expected}, {time}", STYLES[verdict])
    printer.line(f"           {record.unavailable or record.why}")


def _conclude(printer: Printer, results: Sequence[Result], page: Path) -> None:
    said = [
        f"{number} {verdict}"
        for verdict in VERDICTS
        if (number := sum(result.verdict == verdict for result in results))
    ]
    printer.line(f"\n{count(len(results), 'check')}: {', '.join(said)}.", "bold")
    news = [result.check.id for result in results if not result.is_expected]
    if news:
        printer.line(f"Not as expected: {', '.join(news)}.", "bold red")
    printer.line(f"open {page}", "bold")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
