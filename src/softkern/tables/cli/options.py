"""The options of the commands, each declared once as an annotated field of a settings class.

Options that belong together form a group, and a settings class may hold groups. `command` turns
such a class into a command of the program: every field becomes an option with the field's name,
and the function receives one immutable object. To add an option, add a field.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_type_hints

import typer

from softkern.tables.cli.models import ModelName
from softkern.tables.cli.values import (
    choice_parser,
    integer_parser,
    number_parser,
    parse_clusters,
    parse_decimal,
    parse_separator,
    parse_share,
)

if TYPE_CHECKING:
    from softkern.tables.io import Format

__all__ = [
    "AnalyzeSettings",
    "CompareSettings",
    "FitOptions",
    "OutputOptions",
    "PlanSettings",
    "PrepareOptions",
    "ReadOptions",
    "ScoreSettings",
    "command",
]

Settings = TypeVar("Settings")
Scale = Literal["auto", "none", "standard", "robust"]
Missing = Literal["neighbors", "refuse", "drop", "impute"]
PointsFormat = Literal["csv", "xlsx", "jsonl", "parquet"]
LARGEST = 10**9  # rows, columns or GiB
STDOUT = "-"


def _text(*names: str, **options: Any) -> Any:
    """Return an option in the panel on reading text."""
    return typer.Option(*names, rich_help_panel="Reading text and workbooks", **options)


def _choice(names: Sequence[str], help: str) -> Any:
    """Return an option that accepts one of several words."""
    return typer.Option(
        parser=choice_parser(names),
        metavar="|".join(names),
        autocompletion=lambda: list(names),
        help=help,
    )


Input = Annotated[
    str,
    typer.Argument(
        help="CSV, TSV, Excel (.xlsx), JSON lines, Parquet or NPY, also as gzip, bzip2, xz or "
        "zip; a folder or a pattern of Parquet or NPY files; - for standard input.",
        show_default=False,
    ),
]
Identifier = Annotated[
    str | None, typer.Option("--id", metavar="COLUMN", help="Column that identifies the rows.")
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace existing files.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a table is written, where this is not to be detected."""

    separator: Annotated[
        str | None,
        _text(parser=parse_separator, metavar="CHAR", help="Field separator (default: detected)."),
    ] = None
    decimal: Annotated[
        str | None,
        _text(parser=parse_decimal, metavar=".|,", help="Decimal point (default: detected)."),
    ] = None
    encoding: Annotated[
        str | None,
        _text(help="Text encoding (default: byte order mark, else UTF-8, else cp1252)."),
    ] = None
    header: Annotated[
        bool | None,
        _text(
            "--header/--no-header",
            help="Whether the first line names the columns (default: yes, unless it is all "
            "numbers).",
        ),
    ] = None
    skip_rows: Annotated[
        int | None,
        _text(
            parser=integer_parser(0, LARGEST),
            metavar="N",
            help="Lines above the header (default: detected).",
        ),
    ] = None
    skip_footer: Annotated[
        int | None,
        _text(
            parser=integer_parser(0, LARGEST),
            metavar="N",
            help="Lines below the last row, such as totals and sources (default: detected).",
        ),
    ] = None
    sheet: Annotated[
        str | None,
        _text(metavar="NAME|N", help="Sheet of a workbook (default: the first with content)."),
    ] = None
    na: Annotated[
        list[str] | None,
        _text("--na", metavar="WORD", help="Additional word for a missing value."),
    ] = None
    skip_bad_lines: Annotated[
        bool, _text("--skip-bad-lines", help="Skip lines with too many fields.")
    ] = False

    def __post_init__(self) -> None:
        """Check that fields can be told from decimals."""
        if self.decimal is not None and self.decimal == self.separator:
            raise typer.BadParameter(
                f"--decimal {self.decimal!r} must differ from the --separator."
            )

    @property
    def format(self) -> Format:
        """The options as the readers take them."""
        from softkern.tables.io import Format

        options = asdict(self)
        return Format(missing=tuple(options.pop("na") or ()), **options)


@dataclass(frozen=True, kw_only=True)
class PrepareOptions:
    """Which columns are used, and how they are prepared."""

    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B,…", help="Columns to use (default: all numeric columns)."),
    ] = None
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="A,B,…", help="Columns to leave out.")
    ] = None
    id: Identifier = None
    scale: Annotated[
        Scale,
        _choice(
            get_args(Scale), "auto: logarithms of skewed columns, all columns in robust units."
        ),
    ] = "auto"
    missing: Annotated[
        Missing,
        _choice(get_args(Missing), "neighbors: fill in from the nearest rows in other columns."),
    ] = "neighbors"
    categories: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B,…", help="Text columns with few values to use."),
    ] = None
    dates: Annotated[bool, typer.Option("--dates", help="Use date columns, as days.")] = False


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """The model and its parameters."""

    model: Annotated[
        ModelName, _choice(list(ModelName), "Which model to use; see softkern models.")
    ] = ModelName.auto
    clusters: Annotated[
        int | None,
        typer.Option(
            parser=parse_clusters,
            metavar="K|auto",
            help="Number of clusters (default: auto, estimated from the data).",
        ),
    ] = None
    contamination: Annotated[
        float | None,
        typer.Option(
            parser=parse_share,
            metavar="SHARE",
            help="Share of rows to flag as outliers, e.g. 0.05.",
        ),
    ] = None
    seed: Annotated[
        int,
        typer.Option(parser=integer_parser(0, 2**32 - 1), metavar="N", help="Random seed."),
    ] = 0


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """How results are written, by `analyze` and `score`."""

    join: Annotated[
        bool,
        typer.Option("--join", help="Also write the table itself with the result columns."),
    ] = False
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Dask scheduler to compute on, e.g. tcp://host:8786 (Parquet and NPY only).",
        ),
    ] = None
    all_memberships: Annotated[
        bool,
        typer.Option(
            "--all-memberships", help="Write one column per cluster even for more than 20 clusters."
        ),
    ] = False
    raw_text: Annotated[
        bool,
        typer.Option(
            "--raw-text", help="Do not escape text such as =1+1, which spreadsheets would execute."
        ),
    ] = False
    force: Force = False
    quiet: Quiet = False


@dataclass(frozen=True, kw_only=True)
class AnalyzeSettings:
    """Settings of `softkern analyze`."""

    data: Input
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the results.", show_default=False)
    ]
    prepare: PrepareOptions = PrepareOptions()
    fit: FitOptions = FitOptions()
    show: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="The two columns that the report draws first."),
    ] = None
    points: Annotated[
        PointsFormat | None,
        _choice(
            get_args(PointsFormat),
            "Format of the tables (default: csv; with --join that of the input).",
        ),
    ] = None
    report: Annotated[bool, typer.Option(help="Write report.html.")] = True
    open: Annotated[
        bool, typer.Option("--open", help="Open report.html in the browser when it is finished.")
    ] = False
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Also print details: compared models, iterations, memory."
        ),
    ] = False
    output: OutputOptions = OutputOptions()
    read: ReadOptions = ReadOptions()

    def __post_init__(self) -> None:
        """Check that there will be a page to open."""
        if self.open and not self.report:
            raise typer.BadParameter("--open shows report.html, which --no-report leaves out.")


@dataclass(frozen=True, kw_only=True)
class ScoreSettings:
    """Settings of `softkern score`."""

    model: Annotated[Path, typer.Argument(help="model.safetensors of softkern analyze.")]
    data: Input
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            help="File (.csv, .tsv, .xlsx, .jsonl or .parquet); - for standard output.",
        ),
    ] = STDOUT
    id: Identifier = None
    missing: Annotated[
        Missing | None,
        _choice(get_args(Missing), "Default: as in the analysis; drop leaves such rows blank."),
    ] = None
    chunk: Annotated[
        int | None,
        typer.Option(
            parser=integer_parser(1, LARGEST), metavar="ROWS", help="Rows to read at a time."
        ),
    ] = None
    output: OutputOptions = OutputOptions()
    read: ReadOptions = ReadOptions()


@dataclass(frozen=True, kw_only=True)
class CompareSettings:
    """Settings of `softkern compare`."""

    before: Annotated[Path, typer.Argument(help="Results folder of softkern analyze.")]
    after: Annotated[
        str,
        typer.Argument(
            help="Another results folder, or a table to score with the model of the first; - for "
            "standard input."
        ),
    ]
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Folder for a page, changes.csv, drift.csv and compare.json."
        ),
    ] = None
    force: Force = False
    quiet: Quiet = False


@dataclass(frozen=True, kw_only=True)
class PlanSettings:
    """Settings of `softkern plan`."""

    n: Annotated[
        int,
        typer.Argument(
            parser=integer_parser(1, LARGEST), metavar="N", help="Rows.", show_default=False
        ),
    ]
    d: Annotated[
        int,
        typer.Argument(
            parser=integer_parser(1, LARGEST), metavar="D", help="Columns.", show_default=False
        ),
    ]
    clusters: Annotated[
        int,
        typer.Option(
            parser=integer_parser(1, LARGEST), metavar="N", help="Clusters computed at once."
        ),
    ] = 1
    engine: Annotated[str, typer.Option(help="auto, or the engine to use.")] = "auto"
    memory: Annotated[
        float | None,
        typer.Option(parser=number_parser(LARGEST), metavar="GIB", help="Memory limit in GiB."),
    ] = None


def command(
    app: typer.Typer, settings: type[Settings]
) -> Callable[[Callable[[Settings], None]], Callable[[Settings], None]]:
    """Return a decorator that makes a command of a function of one settings object.

    Examples
    --------
    >>> app = typer.Typer()
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Greeting:
    ...     name: Annotated[str, typer.Argument()]
    ...     loud: bool = False
    >>> @command(app, Greeting)
    ... def greet(settings):
    ...     print(f"hello {settings.name}{'!' * settings.loud}")
    >>> typer.main.get_command(app).main(["you", "--loud"], standalone_mode=False)
    hello you!
    """
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
    found = []
    hints = get_type_hints(settings, include_extras=True)
    for field in fields(settings):
        hint = hints[field.name]
        if is_dataclass(hint):
            found += _parameters(hint)  # type: ignore[arg-type]
            continue
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        kind = inspect.Parameter.KEYWORD_ONLY
        found.append(inspect.Parameter(field.name, kind, default=default, annotation=hint))
    return found


def _build(settings: type[Settings], values: dict[str, Any]) -> Settings:
    """Return the settings object with these values, groups included."""
    hints = get_type_hints(settings)
    parts = {
        field.name: _build(hints[field.name], values)
        if is_dataclass(hints[field.name])
        else values[field.name]
        for field in fields(settings)  # type: ignore[arg-type]
    }
    return settings(**parts)
