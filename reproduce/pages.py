"""Write the Markdown pages: one per paper, and a summary of all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from reproduce.checks import VERDICTS, Check
from reproduce.registry import PAPERS, Paper, checks_of
from reproduce.running import Result
from reproduce.store import Record, Store, write_text

__all__ = ["read_results", "summary_rows", "write_pages"]

NOT_RUN = "not run"
MEANINGS = (
    "Verdicts are computed from what was measured: reproduces (the acceptance criterion is met), "
    "partly (some parts of it are), contradicts (it is not met, and an experiment below explains "
    "why), cannot be tested (data or a parameter is not given, or not available)."
)
Results = Sequence[Result | None]


def read_results(store: Store) -> dict[str, list[Result | None]]:
    """Read the stored result of every check of every paper. None for a check that was not run."""
    results: dict[str, list[Result | None]] = {}
    for paper in PAPERS:
        records = [(check, store.read(check.id)) for check in checks_of(paper)]
        results[paper] = [
            None if record is None else Result(paper, check, record, is_new=False)
            for check, record in records
        ]
    return results


def write_pages(store: Store) -> list[Path]:
    """Write one page for each paper with a stored result, and the summary as the last one.

    Examples
    --------
    >>> import tempfile
    >>> from reproduce.running import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder))
    ...     _ = reproduce(["filippone2007"], store, ids=["2007-T2"], quick=True)
    ...     [path.name for path in write_pages(store)]
    ['filippone2007.md', 'index.md']
    """
    results = {paper: row for paper, row in read_results(store).items() if any(row)}
    pages = {f"{name}.md": _paper_page(PAPERS[name], row) for name, row in results.items()}
    pages["index.md"] = _summary_page(results)
    for file, blocks in pages.items():
        write_text(store.folder / file, "\n\n".join(blocks) + "\n")
    return [store.folder / file for file in pages]


def summary_rows(results: dict[str, list[Result | None]]) -> list[list[str]]:
    """Count the verdicts of each paper: its name, then one number per verdict."""
    rows = []
    for paper, row in results.items():
        counts = Counter(result.verdict if result else NOT_RUN for result in row)
        rows.append([paper, *(str(counts[verdict] or "–") for verdict in VERDICTS)])
    return rows


def _summary_page(results: dict[str, list[Result | None]]) -> list[str]:
    counts = [[f"[{row[0]}]({row[0]}.md)", *row[1:]] for row in summary_rows(results)]
    blocks = [
        "# The papers, rerun",
        "Every table, figure and claim of the five papers whose models softkern has, run by "
        "`make reproduce`. " + MEANINGS,
        _table(["paper", *VERDICTS], counts),
        _run_summary([result.record for row in results.values() for result in row if result]),
    ]
    for paper, row in results.items():
        blocks.append(f"## {PAPERS[paper].authors}: {PAPERS[paper].title}")
        lines = [
            [*_check_cells(check, result, page=f"{paper}.md"), _reason(result)]
            for check, result in zip(checks_of(paper), row, strict=True)
        ]
        blocks.append(_table(["check", "claim of the paper", "verdict", "reason"], lines))
    return blocks


def _paper_page(paper: Paper, results: Results) -> list[str]:
    records = [result.record for result in results if result]
    overview = [
        _check_cells(check, result)
        for check, result in zip(checks_of(paper.name), results, strict=True)
    ]
    blocks = [
        f"# {paper.title}",
        f"{paper.authors}, {paper.source}. [{_escape(paper.link)}]({paper.link})",
        MEANINGS,
        _table(["check", "claim of the paper", "verdict"], overview),
        f"{_run_summary(records)} [All papers](index.md)",
    ]
    for result in results:
        if result is not None:
            blocks += _section(result)
    sets = {data.name: data for record in records for data in record.data}
    if sets:
        rows = [
            [_escape(s.name), s.source, f"{s.rows:,} × {s.columns:,}", s.classes, s.digest]
            for s in sets.values()
        ]
        head = ["data set", "source", "size", "samples per class", "digest"]
        blocks += ["## Data", _table(head, rows)]
    return blocks


def _check_cells(check: Check, result: Result | None, page: str = "") -> list[str]:
    """Cells of an overview: a link to the check, its claim and the verdict."""
    verdict = result.verdict if result else NOT_RUN
    return [f"[{check.id}]({page}#{check.id.casefold()})", _escape(check.claim), f"**{verdict}**"]


def _section(result: Result) -> list[str]:
    check, record = result.check, result.record
    blocks = [
        f"## {check.id}",
        f"{_escape(check.claim)}.",
        f"**{result.verdict}** {_reason(result)}",
    ]
    if not result.is_expected:
        blocks.append(f"Expected verdict: {check.expected}.")
    if record.unavailable:
        return blocks
    rows = [
        [e.what, e.printed, e.ours, e.spread, {True: "yes", False: "no", None: ""}[e.holds]]
        for e in record.entries
    ]
    blocks.append(_table_without_empty(["what", "printed", "ours", "spread", "accepted"], rows))
    scanned = ", ".join(
        f"{name}: {_plural(number, 'value')} tried" for name, number in record.tried.items()
    )
    details = [
        f"Acceptance: {check.acceptance}.",
        check.reading,
        f"{_plural(record.draws, 'draw')}, seed {record.seed}, {record.seconds:g} s"
        f"{', quick' if record.quick else ''}.",
        f"Found by scanning: {scanned}." if scanned else "",
    ]
    blocks.append(_escape(" ".join(filter(None, details))))
    for experiment in record.experiments:
        lines = [[_escape(cell) for cell in row] for row in experiment.rows]
        head = [_escape(name) for name in experiment.head]
        blocks += [
            f"### {_escape(experiment.title)}",
            _table(head, lines),
            _escape(experiment.conclusion),
        ]
    for picture in record.pictures:
        title = _escape(picture.title)
        caption = f"{title}. The printed figure: {_escape(picture.printed)}"
        blocks.append(f"![{title}]({picture.file})\n\n*{caption}*")
    return blocks


def _reason(result: Result | None) -> str:
    if result is None:
        return ""
    if result.record.unavailable:
        return f"Cannot be tested here: {_escape(result.record.unavailable)}"
    return _escape(result.record.why)


def _run_summary(records: Sequence[Record]) -> str:
    """When, how and with which versions the checks were run."""
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
        f"{_plural(len(records), 'check')} run {mode}, {when}, in {seconds:,.0f} s "
        f"({', '.join(sorted(versions))})."
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join(['---'] * len(head))}|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _table_without_empty(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table without the columns that are empty in every row."""
    filled = [place for place in range(len(head)) if any(row[place] for row in rows)]
    return _table([head[i] for i in filled], [[_escape(row[i]) for i in filled] for row in rows])


def _escape(text: str) -> str:
    text = text.replace("\\", "\\\\")
    for letter in "|*_<`":
        text = text.replace(letter, f"\\{letter}")
    return text


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
