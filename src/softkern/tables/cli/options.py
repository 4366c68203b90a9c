"""The options of the commands, each declared once as a field of a settings class.

Options that belong together form a group, and a settings class may hold groups. `command` turns
such a class into a command of the program: every field becomes an option with the field's name,
and the function receives one immutable object. To add an option, add a field.
"""
# ruff: noqa: RUF009 - functions that return fields declare them

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_type_hints

import typer

from softkern.tables.cli.models import ModelName
from softkern.tables.cli.values import (
    choice_parser,
    integer_parser,
    parse_clusters,
    parse_decimal,
    parse_memory,
    parse_separator,
    parse_share,
)

if TYPE_CHECKING:
    from softkern.tables.io import Format


Settings = TypeVar("Settings")
Parser = Callable[[Any], Any]
Scale = Literal["auto", "none", "standard", "robust"]
Missing = Literal["neighbors", "refuse", "drop", "impute"]
PointsFormat = Literal["csv", "xlsx", "jsonl", "parquet"]
STDOUT = "-"
OUT = ("--out", "-o")
COUNT = integer_parser(1, 10**9)
LINES = integer_parser(0, 10**9)


def option(
    help: str,
    parser: Parser | None = None,
    metavar: str | None = None,
    *,
    names: tuple[str, ...] = (),
    default: Any = None,
    choices: tuple[str, ...] = (),
    panel: str | None = None,
) -> Any:
    """Return a field that is an option; `names` are its spellings, by default the field's name."""
    if choices:
        parser, metavar = choice_parser(choices), "|".join(choices)
    complete = (lambda: list(choices)) if choices else None
    info = typer.Option(
        *names,
        parser=parser,
        metavar=metavar,
        help=help,
        autocompletion=complete,
        rich_help_panel=panel,
        show_default=default is not MISSING,
    )
    return field(default=default, metadata={"typer": info})


def argument(help: str, parser: Parser | None = None, metavar: str | None = None) -> Any:
    """Return a field that is a positional argument."""
    info = typer.Argument(parser=parser, metavar=metavar, help=help, show_default=False)
    return field(metadata={"typer": info})


def flag(help: str, *names: str, default: bool | None = False, panel: str | None = None) -> Any:
    """Return a field that is a switch."""
    return option(help, names=names, default=default, panel=panel)


def _input() -> Any:
    return argument(
        "CSV, TSV, Excel (.xlsx), JSON lines, Parquet or NPY, also as gzip, bzip2, xz or zip; a "
        "folder or a pattern of Parquet or NPY files; - for standard input."
    )


TEXT = "Reading text and workbooks"


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a table is written, where this is not to be detected."""

    separator: str | None = option(
        "Field separator (default: detected).", parse_separator, "CHAR", panel=TEXT
    )
    decimal: str | None = option(
        "Decimal point (default: detected).", parse_decimal, ".|,", panel=TEXT
    )
    encoding: str | None = option(
        "Text encoding (default: byte order mark, else UTF-8, else cp1252).", panel=TEXT
    )
    header: bool | None = flag(
        "Whether the first line names the columns (default: yes, unless it is all numbers).",
        "--header/--no-header",
        default=None,
        panel=TEXT,
    )
    skip_rows: int | None = option(
        "Lines above the header (default: detected).", LINES, "N", panel=TEXT
    )
    skip_footer: int | None = option(
        "Lines below the last row, such as totals and sources (default: detected).",
        *(LINES, "N"),
        panel=TEXT,
    )
    sheet: str | None = option(
        "Sheet of a workbook (default: the first with content).", metavar="NAME|N", panel=TEXT
    )
    na: list[str] | None = option(
        "Additional word for a missing value.", metavar="WORD", panel=TEXT
    )
    skip_bad_lines: bool = flag("Skip lines with too many fields.", "--skip-bad-lines", panel=TEXT)

    def __post_init__(self) -> None:
        """Check that the separator differs from the decimal point."""
        if self.decimal is not None and self.decimal == self.separator:
            raise typer.BadParameter(f"--decimal {self.decimal} must differ from --separator.")

    @property
    def format(self) -> Format:
        """The options as the readers take them."""
        from softkern.tables.io import Format

        options = asdict(self)
        return Format(missing=tuple(options.pop("na") or ()), **options)


@dataclass(frozen=True, kw_only=True)
class PrepareOptions:
    """Which columns are used, and how they are prepared."""

    columns: list[str] | None = option(
        "Columns to use (default: all numeric columns).", metavar="A,B,…"
    )
    exclude: list[str] | None = option("Columns to leave out.", metavar="A,B,…")
    id: str | None = option("Column that identifies the rows.", metavar="COLUMN", names=("--id",))
    scale: Scale = option(
        "auto: logarithms of skewed columns, all columns in robust units.",
        default="auto",
        choices=get_args(Scale),
    )
    missing: Missing = option(
        "neighbors: fill in from the nearest rows in other columns.",
        default="neighbors",
        choices=get_args(Missing),
    )
    categories: list[str] | None = option("Text columns with few values to use.", metavar="A,B,…")
    dates: bool = flag("Use date columns, as days.", "--dates")


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """The model and its parameters."""

    model: ModelName = option(
        "Which model to use; see softkern models.",
        default=ModelName.auto,
        choices=tuple(ModelName),
    )
    clusters: int | None = option(
        "Number of clusters (default: auto, estimated from the data).", parse_clusters, "K|auto"
    )
    contamination: float | None = option(
        "Share of rows to flag as outliers, e.g. 0.05.", parse_share, "SHARE"
    )
    seed: int = option("Random seed.", integer_parser(0, 2**32 - 1), "N", default=0)


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """How results are written, by `analyze` and `score`."""

    join: bool = flag("Also write the table itself with the result columns.", "--join")
    scheduler: str | None = option(
        "Dask scheduler to compute on, e.g. tcp://host:8786 (Parquet and NPY only).",
        metavar="ADDRESS",
    )
    all_memberships: bool = flag(
        "Write one column per cluster even for more than 20 clusters.", "--all-memberships"
    )
    raw_text: bool = flag(
        "Do not escape text such as =1+1, which spreadsheets would execute.", "--raw-text"
    )
    force: bool = flag("Replace existing files.", "--force", "-f")
    quiet: bool = flag("Print only errors.", "--quiet", "-q")


@dataclass(frozen=True, kw_only=True)
class AnalyzeSettings:
    """Settings of `softkern analyze`."""

    data: str = _input()
    out: Path = option("Folder for the results.", names=OUT, default=MISSING)
    prepare: PrepareOptions = PrepareOptions()
    fit: FitOptions = FitOptions()
    show: str | None = option("The two columns that the report draws first.", metavar="A,B")
    points: PointsFormat | None = option(
        "Format of the tables (default: csv; with --join that of the input).",
        choices=get_args(PointsFormat),
    )
    report: bool = flag("Write report.html.", default=True)
    open: bool = flag("Open report.html in the browser when it is finished.", "--open")
    verbose: bool = flag(
        "Also print details: compared models, iterations, memory.", "--verbose", "-v"
    )
    output: OutputOptions = OutputOptions()
    read: ReadOptions = ReadOptions()

    def __post_init__(self) -> None:
        """Check that there will be a page to open."""
        if self.open and not self.report:
            raise typer.BadParameter("--open shows report.html, which --no-report leaves out.")


@dataclass(frozen=True, kw_only=True)
class ScoreSettings:
    """Settings of `softkern score`."""

    model: Path = argument("model.safetensors of softkern analyze.")
    data: str = _input()
    out: str = option(
        "File (.csv, .tsv, .xlsx, .jsonl or .parquet); - for standard output.",
        names=OUT,
        default=STDOUT,
    )
    id: str | None = option("Column that identifies the rows.", metavar="COLUMN", names=("--id",))
    missing: Missing | None = option(
        "Default: as in the analysis; drop leaves such rows blank.", choices=get_args(Missing)
    )
    chunk: int | None = option("Rows to read at a time.", COUNT, "ROWS")
    output: OutputOptions = OutputOptions()
    read: ReadOptions = ReadOptions()


@dataclass(frozen=True, kw_only=True)
class CompareSettings:
    """Settings of `softkern compare`."""

    before: Path = argument("Results folder of softkern analyze.")
    after: str = argument(
        "Another results folder, or a table to score with the model of the first; - for standard "
        "input."
    )
    out: Path | None = option(
        "Folder for a page, changes.csv, drift.csv and compare.json.", names=OUT
    )
    force: bool = flag("Replace existing files.", "--force", "-f")
    quiet: bool = flag("Print only errors.", "--quiet", "-q")


@dataclass(frozen=True, kw_only=True)
class PlanSettings:
    """Settings of `softkern plan`."""

    n: int = argument("Rows.", COUNT, "N")
    d: int = argument("Columns.", COUNT, "D")
    clusters: int = option("Clusters computed at once.", COUNT, "N", default=1)
    engine: str = option("auto, or the engine to use.", default="auto")
    memory: float | None = option("Memory limit in GiB.", parse_memory, "GIB")


def command(
    app: typer.Typer, settings: type[Settings]
) -> Callable[[Callable[[Settings], None]], Callable[[Settings], None]]:
    """Return a decorator that makes a command of a function of one settings object."""
    parameters = _parameters(settings)

    def decorate(function: Callable[[Settings], None]) -> Callable[[Settings], None]:
        def run(**values: Any) -> None:
            function(_build(settings, values))

        paragraphs = (inspect.getdoc(function) or "").split("\n\n")
        run.__doc__ = "\n\n".join(" ".join(lines.split()) for lines in paragraphs)
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        app.command(function.__name__)(run)
        return function

    return decorate


def _parameters(settings: type) -> list[inspect.Parameter]:
    """Return one keyword parameter per field, groups included."""
    found, hints = [], get_type_hints(settings)
    for one in fields(settings):
        hint = hints[one.name]
        if is_dataclass(hint):
            found += _parameters(hint)  # type: ignore[arg-type]
            continue
        default = inspect.Parameter.empty if one.default is MISSING else one.default
        kind, typed = inspect.Parameter.KEYWORD_ONLY, Annotated[hint, one.metadata["typer"]]
        found.append(inspect.Parameter(one.name, kind, default=default, annotation=typed))
    return found


def _build(settings: type[Settings], values: dict[str, Any]) -> Settings:
    """Return the settings object with these values, groups included."""
    hints = get_type_hints(settings)
    parts = {
        name: _build(hint, values) if is_dataclass(hint) else values[name]  # type: ignore[arg-type]
        for name, hint in hints.items()
    }
    return settings(**parts)
