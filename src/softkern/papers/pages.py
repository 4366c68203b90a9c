"""Pages of what checks found: one a paper, as HTML and Markdown, and a summary of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from softkern._utils.text import count
from softkern.files import replacing
from softkern.papers.checks import VERDICTS
from softkern.papers.document import (
    Block,
    Cell,
    Heading,
    Image,
    Link,
    Table,
    Text,
    Verdict,
    as_html,
    as_markdown,
)
from softkern.papers.registry import PAPERS, Paper, checks_of
from softkern.papers.running import Result
from softkern.papers.store import Record, Store

__all__ = ["stored", "summary_rows", "write_pages"]

NOT_RUN = "not run"
MEANINGS = (
    "Verdicts are computed from what was measured: reproduces (the acceptance is met), partly (a "
    "part of it is), contradicts (it is not, and an experiment below says why), cannot be tested "
    "(data or a parameter is not given, or is not here)."
)


def stored(store: Store) -> dict[str, list[Result | None]]:
    """What is stored of every check of every paper; None for one that was not run."""
    found: dict[str, list[Result | None]] = {}
    for paper in PAPERS:
        records = [(check, store.read(check.id)) for check in checks_of(paper)]
        found[paper] = [
            None if record is None else Result(paper, check, record, is_new=False)
            for check, record in records
        ]
    return found


def write_pages(store: Store) -> list[Path]:
    """Write the pages of all papers of which something is stored, and the summary.

    Examples
    --------
    >>> import tempfile
    >>> from softkern.papers import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder))
    ...     _ = reproduce(["filippone2007"], store, ids=["2007-T2"], quick=True)
    ...     [path.name for path in write_pages(store)]
    ['filippone2007.html', 'filippone2007.md', 'index.html', 'index.md']
    """
    found = {p: r for p, r in stored(store).items() if any(result is not None for result in r)}
    written = []
    for name, results in found.items():
        written += _write(store.folder, name, PAPERS[name].title, _page(PAPERS[name], results))
    return written + _write(store.folder, "index", "The papers, run again", _summary(found))


def _write(folder: Path, name: str, title: str, blocks: Sequence[Block]) -> list[Path]:
    pages = {f"{name}.html": as_html(title, blocks), f"{name}.md": as_markdown(blocks)}
    for file, text in pages.items():
        with replacing(folder / file) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return [folder / file for file in pages]


def summary_rows(found: dict[str, list[Result | None]]) -> list[list[str]]:
    """Of every paper, how many checks have which verdict."""
    rows = []
    for paper, results in found.items():
        counts = Counter(result.verdict if result else NOT_RUN for result in results)
        rows.append([paper, *(str(counts[verdict] or "–") for verdict in VERDICTS)])
    return rows


def _summary(found: dict[str, list[Result | None]]) -> list[Block]:
    records = [result.record for results in found.values() for result in results if result]
    links: list[list[Cell]] = [
        [Link(row[0], f"{row[0]}.md"), *row[1:]] for row in summary_rows(found)
    ]
    blocks: list[Block] = [
        Heading(1, "The papers, run again"),
        Text.of(
            "Every table, figure and claim of the five papers whose models softkern has, run by "
            "softkern reproduce. " + MEANINGS
        ),
        Table(["paper", *VERDICTS], links),
        Text.of(_run_words(records)),
    ]
    for paper, results in found.items():
        blocks.append(Heading(2, f"{PAPERS[paper].authors}: {PAPERS[paper].title}"))
        checks = zip(checks_of(paper), results, strict=True)
        rows: list[list[Cell]] = [
            [
                Link(check.id, f"{paper}.md#{check.id.casefold()}"),
                check.claim,
                Verdict(result.verdict if result else NOT_RUN),
                _why(result) if result else "",
            ]
            for check, result in checks
        ]
        blocks.append(Table(["check", "the paper says", "verdict", "why"], rows, stacks=True))
    return blocks


def _page(paper: Paper, results: Sequence[Result | None]) -> list[Block]:
    records = [result.record for result in results if result]
    checks = list(zip(checks_of(paper.name), results, strict=True))
    overview: list[list[Cell]] = [
        [
            Link(check.id, f"#{check.id.casefold()}"),
            check.claim,
            Verdict(result.verdict if result else NOT_RUN),
        ]
        for check, result in checks
    ]
    blocks: list[Block] = [
        Heading(1, paper.title),
        Text.of(f"{paper.authors}, {paper.source}. ", Link(paper.link, paper.link)),
        Text.of(MEANINGS),
        Table(["check", "the paper says", "verdict"], overview, stacks=True),
        Text.of(_run_words(records), " ", Link("All papers", "index.md")),
    ]
    for _, result in checks:
        if result is not None:
            blocks += _section(result)
    sets = {found.name: found for record in records for found in record.data}
    if sets:
        rows = [
            [s.name, s.source, f"{s.rows:,} × {s.columns:,}", s.classes, s.digest]
            for s in sets.values()
        ]
        blocks += [
            Heading(2, "Data"),
            Table(["set", "from", "size", "rows of its classes", "digest"], rows),
        ]
    return blocks


def _section(result: Result) -> list[Block]:
    check, record = result.check, result.record
    blocks: list[Block] = [
        Heading(2, check.id),
        Text.of(f"{check.claim}."),
        Text.of(Verdict(result.verdict), f" {_why(result)}"),
    ]
    if not result.is_expected:
        blocks.append(Text.of(f"Expected was: {check.expected}."))
    if record.unavailable:
        return blocks
    rows = [
        [e.what, e.printed, e.ours, e.spread, {True: "yes", False: "no", None: ""}[e.holds]]
        for e in record.entries
    ]
    blocks.append(_filled(["what", "printed", "ours", "spread", "accepted"], rows))
    scanned = "; ".join(
        f"{name}: {count(number, 'setting')} tried" for name, number in record.tried.items()
    )
    details = [
        f"Acceptance: {check.acceptance}.",
        check.reading,
        f"{count(record.draws, 'draw')}, seed {record.seed}, {record.seconds:g} s"
        f"{', quick' if record.quick else ''}.",
        f"Found by scanning: {scanned}." if scanned else "",
    ]
    blocks.append(Text.of(" ".join(filter(None, details))))
    for experiment in record.experiments:
        blocks += [
            Heading(3, experiment.title),
            Table(experiment.head, [list(row) for row in experiment.rows]),
            Text.of(experiment.says),
        ]
    for picture in record.pictures:
        caption = f"{picture.title}. The printed figure: {picture.printed}"
        blocks.append(Image(picture.file, picture.title, caption))
    return blocks


def _filled(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table without the columns in which nothing is said."""
    kept = [place for place in range(len(head)) if any(row[place] for row in rows)]
    return Table([head[i] for i in kept], [[row[i] for i in kept] for row in rows])


def _why(result: Result) -> str:
    if result.record.unavailable:
        return f"Cannot be tested here: {result.record.unavailable}"
    return result.record.why


def _run_words(records: Sequence[Record]) -> str:
    if not records:
        return ""
    dates = sorted({record.date for record in records})
    versions = {f"{name} {v}" for record in records for name, v in record.versions.items()}
    quick = sum(record.quick for record in records)
    mode = (
        "in full" if not quick else "quick" if quick == len(records) else f"{quick} of them quick"
    )
    seconds = sum(record.seconds for record in records)
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return (
        f"{count(len(records), 'check')} run {mode}, {when}, in {seconds:,.0f} s; "
        f"{', '.join(sorted(versions))}."
    )
