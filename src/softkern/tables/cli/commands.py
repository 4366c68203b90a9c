"""The commands of the program. Options and help are declared in `softkern.tables.cli.options`.

The work of a command is the function of its name in the module of its name, which is imported when
the command runs, so that ``softkern --help`` answers at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from importlib import import_module
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

COMMANDS = {
    "analyze": AnalyzeSettings,
    "score": ScoreSettings,
    "compare": CompareSettings,
    "plan": PlanSettings,
    "demo": DemoSettings,
}

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


def command(settings: type, load: Callable[[], Callable[[Any], None]]) -> Callable[..., None]:
    """Return a command with the options of `settings`. `load` imports and returns its work."""

    def run(**values: Any) -> None:
        from softkern._utils.progress import stage
        from softkern.tables.cli.printer import Printer

        given = settings(**values)
        printer = Printer(getattr(given, "quiet", False), getattr(given, "out", "") == STDOUT)
        with printer.stages(), stage("starting"):  # importing packages takes seconds
            work = load()
        work(given)

    paragraphs = (inspect.getdoc(settings) or "").split("\n\n")
    run.__doc__ = "\n\n".join(" ".join(lines.split()) for lines in paragraphs)
    run.__signature__ = inspect.Signature(parameters(settings))  # type: ignore[attr-defined]
    return run


def _work(name: str) -> Any:
    """Return the function of a command, from the module of the same name."""
    return getattr(import_module(f"softkern.tables.cli.{name}"), name)


for _name, _settings in COMMANDS.items():
    app.command(_name)(command(_settings, partial(_work, _name)))


@app.command()
def models() -> None:
    """List the models that analyze can use."""
    from softkern.tables.cli.models import MODELS
    from softkern.tables.cli.printer import Printer

    rows = [(name, choice.estimator, choice.finds) for name, choice in MODELS.items()]
    Printer(False).table(("model", "in Python", "what it finds"), rows)
