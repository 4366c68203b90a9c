"""The commands of the program. Their options are declared in `softkern.tables.cli.options`.

The work of a command is in a module of its own, which is imported when the command runs, so that
``softkern --help`` answers at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from softkern import __version__
from softkern.tables.cli.options import (
    STDOUT,
    AnalyzeSettings,
    CompareSettings,
    DemoSettings,
    PlanSettings,
    ScoreSettings,
    parameters,
)

Load = Callable[[], Callable[[Any], None]]

app = typer.Typer(
    name="softkern",
    help="Soft clustering and outlier detection for tables, with explanations.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 success, 1 internal error, 2 usage, 3 bad data, 4 cannot write, 5 model "
    "file rejected, 6 not enough memory, 7 Dask cluster failed, 130 interrupted.",
)


def _show_version(requested: bool) -> None:
    if requested:
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
        bool, typer.Option("--debug", help="Show the traceback of an error, with any command.")
    ] = False,
) -> None:
    pass


def command(app: typer.Typer, settings: type) -> Callable[[Load], Load]:
    """Return a decorator that makes a command of a function that imports and returns its work."""

    def decorate(load: Load) -> Load:
        def run(**values: Any) -> None:
            from softkern._utils.progress import stage
            from softkern.tables.cli.printer import Printer

            given = settings(**values)
            printer = Printer(getattr(given, "quiet", False), getattr(given, "out", "") == STDOUT)
            with printer.stages(), stage("starting"):  # importing packages takes seconds
                work = load()
            work(given)

        paragraphs = (inspect.getdoc(load) or "").split("\n\n")
        run.__doc__ = "\n\n".join(" ".join(lines.split()) for lines in paragraphs)
        run.__signature__ = inspect.Signature(parameters(settings))  # type: ignore[attr-defined]
        app.command(load.__name__)(run)
        return load

    return decorate


@command(app, AnalyzeSettings)
def analyze() -> Callable[[AnalyzeSettings], None]:
    """Find clusters, outliers and rows between clusters in a table, and explain them.

    Writes points.csv (label, memberships, ranks and reasons for every row), clusters.csv
    (description of each cluster), report.html, run.json and model.safetensors (for softkern score)
    into the folder. With --join, also the table itself with these columns. Either all files appear
    or none. For a folder or pattern of Parquet or NPY files, or such a file larger than memory, a
    sample is analyzed and all rows are scored, into points-00000.parquet and so on.
    """
    from softkern.tables.cli.analyze import analyze

    return analyze


@command(app, ScoreSettings)
def score() -> Callable[[ScoreSettings], None]:
    """Label and score new rows with a saved model, in chunks: the file may exceed memory.

    Columns are matched by name, in any order. The table is read and prepared as in the analysis.
    """
    from softkern.tables.cli.score import score

    return score


@command(app, CompareSettings)
def compare() -> Callable[[CompareSettings], None]:
    """Show what changed between two analyses, or between an analysis and a new table.

    Reports clusters that merged or split, rows that moved, appeared or disappeared, new outliers,
    and the drift of every column.
    """
    from softkern.tables.cli.compare import compare

    return compare


@command(app, PlanSettings)
def plan() -> Callable[[PlanSettings], None]:
    """Show how a table of N rows and D columns would be computed, and at what cost."""
    from softkern.tables.cli.plan import show_plan

    return show_plan


@command(app, DemoSettings)
def demo() -> Callable[[DemoSettings], None]:
    """Run analyze and score on generated data, and show the commands."""
    from softkern.tables.cli.demo import demo

    return demo


@app.command()
def models() -> None:
    """List the models that analyze can use."""
    from softkern.tables.cli.models import MODELS
    from softkern.tables.cli.printer import Printer

    rows = [(name, choice.estimator, choice.finds) for name, choice in MODELS.items()]
    Printer(False).table(("model", "in Python", "what it finds"), rows)
