"""The command line: from a table to clusters, ranked points, a page and a model.

This file has the commands and their options; each command's work is in a module of its own,
imported when the command runs, so that ``softkern --help`` answers at once. `run` turns whatever
goes wrong into one line and an exit code that scripts can use:

    0 done                          4 the output cannot be written
    1 internal error: report it      5 the model file is refused
    2 wrong usage                   6 not enough memory
    3 the data cannot be used       7 the Dask cluster cannot go on
    130 interrupted (Ctrl-C), 143 terminated, 141 no reader left, 129 terminal closed
"""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer

from softkern import __version__
from softkern.tables.cli.errors import BROKEN_PIPE, INTERRUPTION, exit_code, heard, one_line
from softkern.tables.cli.models import ModelName, parse_clusters
from softkern.tables.cli.options import amount, choice, share, whole

__all__ = ["app", "main", "run"]

Answer = TypeVar("Answer")
MOST = 10**9  # rows, columns or GiB that a plan is made for

app = typer.Typer(
    name="softkern",
    help="Clusters, outliers and rows in between: from a table to an answer that explains itself.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 internal, 2 usage, 3 bad data, 4 cannot write, 5 model file "
    "refused, 6 not enough memory, 7 no cluster, 130 interrupted.",
)


class Scale(StrEnum):
    """How columns are scaled."""

    auto = "auto"
    none = "none"
    standard = "standard"
    robust = "robust"


class MissingValues(StrEnum):
    """What is done about missing values."""

    neighbors = "neighbors"
    refuse = "refuse"
    drop = "drop"
    impute = "impute"


class PointsFormat(StrEnum):
    """How tables are written."""

    csv = "csv"
    xlsx = "xlsx"
    jsonl = "jsonl"
    parquet = "parquet"


# Options that analyze and score share
Input = Annotated[
    str,
    typer.Argument(
        help="CSV, TSV, Excel (.xlsx), JSON lines, Parquet or NPY, also as gzip, bzip2, xz or "
        "zip; a folder or a pattern of Parquet or NPY files; - is standard input.",
        show_default=False,
    ),
]
Identifier = Annotated[
    str | None, typer.Option("--id", metavar="COLUMN", help="Column that names the rows.")
]
Separator = Annotated[
    str | None, typer.Option(help="Of a text table; found out by default.", rich_help_panel="Text")
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="UTF-8, what a byte order mark says, or else cp1252, by default.",
        rich_help_panel="Text",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar=".|,", help="The decimal point; found out by default.", rich_help_panel="Text"
    ),
]
SkipRows = Annotated[
    int | None,
    typer.Option(
        parser=whole(0, MOST),
        metavar="N",
        help="Lines above the header; found out by default.",
        rich_help_panel="Text",
    ),
]
SkipFooter = Annotated[
    int | None,
    typer.Option(
        parser=whole(0, MOST),
        metavar="N",
        help="Lines below the last row, as totals and sources; found out by default.",
        rich_help_panel="Text",
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|N",
        help="Sheet of a workbook; the first that holds something by default.",
        rich_help_panel="Text",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line names the columns; by default, unless it is all numbers.",
        rich_help_panel="Text",
    ),
]
Marks = Annotated[
    list[str] | None,
    typer.Option(
        "--na", metavar="WORD", help="A word for a missing value.", rich_help_panel="Text"
    ),
]
SkipBadLines = Annotated[
    bool,
    typer.Option(
        "--skip-bad-lines", help="Leave out lines with too many fields.", rich_help_panel="Text"
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace files that are there.")]
Join = Annotated[
    bool,
    typer.Option("--join", help="Write the table itself too, with the columns of the results."),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", help="Also how it was computed: models compared, steps, memory."
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Of a Dask cluster that does the work, as tcp://host:8786; for Parquet and NPY.",
    ),
]
AllMemberships = Annotated[
    bool,
    typer.Option("--all-memberships", help="A column for every cluster, also for more than 20."),
]
RawText = Annotated[
    bool,
    typer.Option(
        "--raw-text", help="Write text such as =1+1, which a spreadsheet would run, as it is."
    ),
]


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"softkern {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", help="Show the version.", is_eager=True, callback=_show_version
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; with any command.")
    ] = False,
) -> None:
    pass


@app.command()
def analyze(
    data: Input,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Folder for the results.", show_default=False),
    ],
    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B,…", help="Columns to use; all that hold numbers by default."),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="A,B,…", help="Columns to leave out.")
    ] = None,
    id: Identifier = None,
    model: Annotated[ModelName, choice(ModelName, "See softkern models.")] = ModelName.auto,
    clusters: Annotated[
        str, typer.Option(metavar="K|auto", help="Number of clusters, or let it be found.")
    ] = "auto",
    contamination: Annotated[
        float | None,
        typer.Option(
            parser=share, metavar="SHARE", help="Share of the rows to flag as outliers, as 0.05."
        ),
    ] = None,
    scale: Annotated[
        Scale,
        choice(Scale, "auto: skewed columns by their logarithm, all in robust spreads."),
    ] = Scale.auto,
    missing: Annotated[
        MissingValues,
        choice(MissingValues, "neighbors: filled in from the rows nearest in the other columns."),
    ] = MissingValues.neighbors,
    categories: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B,…", help="Text columns of few values to use."),
    ] = None,
    dates: Annotated[bool, typer.Option("--dates", help="Use columns of dates, as days.")] = False,
    show: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="The two columns that the report draws first."),
    ] = None,
    points: Annotated[
        PointsFormat | None,
        choice(PointsFormat, "Format of tables; csv, and that of the table itself with --join."),
    ] = None,
    join: Join = False,
    report: Annotated[bool, typer.Option(help="Write report.html.")] = True,
    scheduler: Scheduler = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open report.html in the browser when it is there.")
    ] = False,
    all_memberships: AllMemberships = False,
    raw_text: RawText = False,
    seed: Annotated[
        int, typer.Option(parser=whole(0, 2**32 - 1), metavar="N", help="Of random choices.")
    ] = 0,
    force: Force = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
    skip_rows: SkipRows = None,
    skip_footer: SkipFooter = None,
    sheet: Sheet = None,
    na: Marks = None,
    skip_bad_lines: SkipBadLines = False,
) -> None:
    """Find clusters, outliers and rows in between in a table, and say why they are.

    Writes points.csv (for every row a label, memberships and ranks, and why it is an outlier or in
    between), clusters.csv (what each cluster is), report.html, run.json and model.safetensors (for
    softkern score) into the folder; with --join the table itself with these columns. All or none
    of them appear. Of a folder or pattern of Parquet or NPY files, or such a file larger than
    memory, a sample is analyzed and all rows are scored, into points-00000.parquet and so on.
    """
    if open_page and not report:
        raise typer.BadParameter("--open shows report.html, which --no-report leaves out.")
    number = _checked_option(lambda: parse_clusters(clusters))
    with _starting(quiet):
        form = _form(
            separator, decimal, encoding, header, na, skip_bad_lines, skip_rows, sheet, skip_footer
        )
        from softkern.tables.cli.analyze import Job, analyze
        from softkern.tables.cli.join import readable_twice

    job = Job(
        data=data,
        out=out,
        columns=columns,
        exclude=exclude or [],
        id=id,
        model=model,
        clusters=number,
        contamination=contamination,
        scale=scale.value,
        missing=missing.value,
        categories=categories or [],
        show=show,
        dates=dates,
        points="csv" if points is None else points.value,
        join=join,
        join_as=None if points is None else points.value,
        report=report,
        all_memberships=all_memberships,
        raw_text=raw_text,
        seed=seed,
        force=force,
        quiet=quiet,
        verbose=verbose,
        open=open_page,
        form=form,
        scheduler=scheduler,
    )
    with readable_twice(data, True) as job.source:  # its end is looked at, too
        analyze(job)


@app.command()
def score(
    model: Annotated[Path, typer.Argument(help="model.safetensors of softkern analyze.")],
    data: Input,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            help="File of .csv, .tsv, .xlsx, .jsonl or .parquet; - is standard output.",
        ),
    ] = "-",
    id: Identifier = None,
    missing: Annotated[
        MissingValues | None,
        choice(MissingValues, "As in the analysis by default; drop leaves such rows blank."),
    ] = None,
    chunk: Annotated[
        int | None,
        typer.Option(parser=whole(1, MOST), metavar="ROWS", help="Rows read at a time."),
    ] = None,
    join: Join = False,
    scheduler: Scheduler = None,
    all_memberships: AllMemberships = False,
    raw_text: RawText = False,
    force: Force = False,
    quiet: Quiet = False,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
    skip_rows: SkipRows = None,
    skip_footer: SkipFooter = None,
    sheet: Sheet = None,
    na: Marks = None,
    skip_bad_lines: SkipBadLines = False,
) -> None:
    """Label and score new rows by a saved model, in chunks: the file may be larger than memory.

    Columns are matched by name, in any order; the table is read and prepared as in the analysis.
    """
    with _starting(quiet, to_stderr=out == "-"):
        from softkern.tables.cli.join import readable_twice
        from softkern.tables.cli.score import Job, score

    job = Job(
        model=model,
        data=data,
        out=out,
        id=id,
        missing=None if missing is None else missing.value,
        chunk=chunk,
        join=join,
        all_memberships=all_memberships,
        raw_text=raw_text,
        force=force,
        quiet=quiet,
        scheduler=scheduler,
        form=_form(
            separator, decimal, encoding, header, na, skip_bad_lines, skip_rows, sheet, skip_footer
        ),
    )
    with readable_twice(data, join) as job.source:
        score(job)


@app.command()
def compare(
    before: Annotated[Path, typer.Argument(help="Results folder of softkern analyze.")],
    after: Annotated[
        str,
        typer.Argument(
            help="Another one, or a table that the model of the first is applied to; - is standard "
            "input."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Folder for a page, changes.csv, drift.csv, compare.json."
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Say what changed between two analyses, or since one of them in a new table.

    Clusters that became one or fell apart, rows that moved, came or went, new outliers, and how
    every column drifted.
    """
    with _starting(quiet):
        from softkern.tables.cli.compare import Job, compare
        from softkern.tables.cli.join import readable_twice

    with readable_twice(after, True) as source:
        compare(Job(before, after, out, source, force, quiet))


@app.command()
def plan(
    n: Annotated[
        int,
        typer.Argument(parser=whole(1, MOST), metavar="N", help="Rows.", show_default=False),
    ],
    d: Annotated[
        int,
        typer.Argument(parser=whole(1, MOST), metavar="D", help="Columns.", show_default=False),
    ],
    clusters: Annotated[
        int,
        typer.Option(
            parser=whole(1, MOST), metavar="N", help="Clusters that are computed at once."
        ),
    ] = 1,
    engine: Annotated[str, typer.Option(help="auto, or the engine that must be used.")] = "auto",
    memory: Annotated[
        float | None,
        typer.Option(parser=amount(MOST), metavar="GIB", help="GiB that may be used."),
    ] = None,
) -> None:
    """Show how a table of N rows and D columns would be computed, and at what cost."""
    from softkern import plan
    from softkern.tables.cli.models import tree_words
    from softkern.tables.cli.printer import Printer

    limit = None if memory is None else int(memory * 2**30)
    # an engine that does not exist, or cannot do this, was asked for
    chosen = _checked_option(
        lambda: plan((n, d), n_vectors=clusters, engine=engine, memory_limit=limit)
    )
    one = chosen if clusters == 1 else plan((n, d), engine=engine, memory_limit=limit)
    Printer(False).line(f"{chosen}\n\n{tree_words(one)}")
    chosen.require_memory()


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path(
        "demo"
    ),
) -> None:
    """Run analyze and score on generated data, and show how they were called."""
    from softkern.tables.cli.demo import demo

    demo(out)


@app.command()
def models() -> None:
    """List the models that analyze can use."""
    from softkern.tables.cli.models import MODELS
    from softkern.tables.cli.printer import Printer

    rows = [(name.value, choice.estimator, choice.finds) for name, choice in MODELS.items()]
    Printer(False).table(("model", "in Python", "what it finds"), rows)


@contextmanager
def _starting(quiet: bool, to_stderr: bool = False) -> Iterator[None]:
    """Show that packages are being loaded, which takes seconds."""
    from softkern._utils.progress import stage
    from softkern.tables.cli.printer import Printer

    with Printer(quiet, to_stderr).stages(), stage("starting"):
        yield


def _checked_option(answer: Callable[[], Answer]) -> Answer:
    """The answer; a ValueError on the way is a mistake in the options."""
    try:
        return answer()
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _form(
    separator: str | None,
    decimal: str | None,
    encoding: str | None,
    header: bool | None,
    na: Sequence[str] | None,
    skip_bad_lines: bool,
    skip_rows: int | None,
    sheet: str | None,
    skip_footer: int | None,
) -> Any:
    from softkern.tables.io import Format

    if separator is not None:
        separator = {"tab": "\t", r"\t": "\t"}.get(separator, separator)
        if len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0':
            raise typer.BadParameter(
                f"--separator {separator!r} must be one character, or tab; no quote, no line's end."
            )
    if decimal not in (None, ".", ",") or decimal == separator is not None:
        raise typer.BadParameter(f"--decimal {decimal!r} must be . or , and not the separator.")
    marks = tuple(na or ())
    return Format(
        separator, encoding, header, decimal, marks, skip_bad_lines, skip_rows, sheet, skip_footer
    )


def run(arguments: Sequence[str]) -> int:
    """Run a command line; the exit code. An error is one line on standard error."""
    arguments = list(arguments)
    end = arguments.index("--") if "--" in arguments else len(arguments)
    debug = "--debug" in arguments[:end]
    arguments = [a for i, a in enumerate(arguments) if i >= end or a != "--debug"]
    try:
        code = typer.main.get_command(app).main(
            args=arguments, prog_name="softkern", standalone_mode=False
        )
        if sys.stdout is not None:  # whoever started the program may have closed it
            sys.stdout.flush()
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # rich exits when its output is closed
            return BROKEN_PIPE
        raise
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            import traceback

            traceback.print_exc()
        message = one_line(error)
        if message:
            sys.stderr.write(f"softkern: {message}\n")
        return exit_code(error)
    if code == 130:
        sys.stderr.write(f"softkern: {INTERRUPTION}\n")
    return code if isinstance(code, int) else 0


def main() -> NoReturn:
    """The program `softkern`."""
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    closed = getattr(signal, "SIGHUP", None)  # the terminal was; nohup lets that pass
    if closed is not None and signal.getsignal(closed) is signal.SIG_DFL:
        signal.signal(closed, _terminate)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # letters that it lacks must not end the program
            with suppress(OSError):  # as that of a file that was closed
                stream.reconfigure(errors="replace")
    code = run(sys.argv[1:])
    if (
        code == BROKEN_PIPE
    ):  # standard output has no reader; Python would complain when it closes it
        sys.stdout = None
    sys.exit(code)


def _interrupt(number: int, frame: Any) -> NoReturn:
    heard.append(number)
    raise KeyboardInterrupt


def _terminate(number: int, frame: Any) -> NoReturn:
    heard.append(number)
    sys.exit(128 + number)  # unlike the signal itself, this removes what is half-written
