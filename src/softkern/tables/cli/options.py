"""The options of the commands, each declared once as a field of a settings class.

Options of several commands are fields of a class from which the settings inherit. A command is
declared by such a class (`softkern.tables.cli.commands`): its docstring is the help, every field
becomes an option with its name, and the command receives one immutable object. To add an option,
add a field.
"""
# ruff: noqa: RUF009 - functions that return fields declare them

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_type_hints

import typer

from softkern._utils.text import closest_match
from softkern.tables.cli.errors import OptionError
from softkern.tables.cli.models import MODELS

if TYPE_CHECKING:
    from softkern.tables.io import Format


Parser = Callable[[Any], Any]
Scale = Literal["auto", "none", "standard", "robust"]
Missing = Literal["neighbors", "refuse", "drop", "impute"]
PointsFormat = Literal["csv", "xlsx", "jsonl", "parquet"]
STDOUT = "-"
MOST = 10**9


# Parsers of values. Each raises an error that names the value and what is valid.


def parse_share(word: str | float) -> float:
    """Return a share of the rows."""
    text = str(word).strip()
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 < value <= 0.5:
        nothing = "; 0 flags nothing: leave it out" if value == 0 else ""
        raise OptionError(f"{word} must be a share of the rows, such as 0.05, up to 0.5{nothing}.")
    return value


def parse_clusters(word: str | int) -> int | None:
    """Return a number of clusters, None for "auto"."""
    text = str(word)
    if text == "auto":
        return None
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise OptionError(f"{word!r} must be a whole number from 1, or auto.")
    return int(text)


def parse_separator(word: str) -> str:
    r"""Return the character between fields."""
    mark = {"tab": "\t", r"\t": "\t"}.get(word, word)
    if len(mark) != 1 or not mark.isascii() or mark in '"\r\n\0':
        raise OptionError(f"{word!r} must be one character, or tab; no quote, no line break.")
    return mark


def parse_decimal(word: str) -> str:
    """Return the decimal point, "." or ","."""
    if word not in (".", ","):
        raise OptionError(f"{word!r} must be . or ,")
    return word


def number_parser(kind: type[int | float], low: int, high: int, example: int) -> Parser:
    """Return a parser of numbers from `low` to `high`."""

    def parse(word: str | float) -> float:
        with suppress(ValueError):
            value = kind(str(word).replace(",", ""))
            if low <= value <= high:
                return value
        noun = "whole number" if kind is int else "number"
        raise OptionError(f"{word} must be a {noun} from {low:,} to {high:,}, such as {example:,}.")

    return parse


def choice_parser(names: Sequence[str]) -> Parser:
    """Return a parser that accepts one of several words."""

    def parse(word: str) -> str:
        if word in names:
            return word
        meant = closest_match(word, names)
        guess = f"; did you mean {meant}?" if meant else "."
        raise OptionError(f"{word} must be one of {', '.join(names)}{guess}")

    return parse


COUNT = number_parser(int, 1, MOST, 10)
LINES = number_parser(int, 0, MOST, 10)


# Fields that are options


def option(
    help: str,
    parser: Parser | None = None,
    metavar: str | None = None,
    *,
    short: str | None = None,
    default: Any = None,
    choices: Sequence[str] = (),
) -> Any:
    """Return a field that is an option. `short` is its spelling with one letter."""
    if choices:
        parser, metavar = choice_parser(choices), "|".join(choices)
    info = typer.Option(
        parser=parser,
        metavar=metavar,
        help=help,
        autocompletion=(lambda: list(choices)) if choices else None,
        show_default=default is not MISSING,
    )
    return field(default=default, metadata={"typer": info, "short": short})


def flag(help: str, short: str | None = None) -> Any:
    """Return a field that is a switch, off by default."""
    return option(help, short=short, default=False)


def argument(help: str, parser: Parser | None = None, metavar: str | None = None) -> Any:
    """Return a field that is a positional argument."""
    info = typer.Argument(parser=parser, metavar=metavar, help=help, show_default=False)
    return field(metadata={"typer": info})


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a table is written, where this is not to be detected."""

    PANEL = "Reading text and workbooks"  # heading of these options in the help

    separator: str | None = option("Field separator (default: detected).", parse_separator, "CHAR")
    decimal: str | None = option("Decimal point (default: detected).", parse_decimal, ".|,")
    encoding: str | None = option(
        "Text encoding (default: byte order mark, else UTF-8, else cp1252)."
    )
    header: bool | None = option(
        "Whether the first line names the columns (default: yes, unless it is all numbers)."
    )
    skip_rows: int | None = option("Lines above the header (default: detected).", LINES, "N")
    skip_footer: int | None = option(
        "Lines below the last row, such as totals and sources (default: detected).", *(LINES, "N")
    )
    sheet: str | None = option(
        "Sheet of a workbook (default: the first with content).", metavar="NAME|N"
    )
    na: list[str] | None = option("Additional word for a missing value.", metavar="WORD")
    skip_bad_lines: bool = flag("Skip lines with too many fields.")

    def __post_init__(self) -> None:
        """Check that the separator differs from the decimal point."""
        if self.decimal is not None and self.decimal == self.separator:
            raise typer.BadParameter(f"--decimal {self.decimal} must differ from --separator.")

    @property
    def format(self) -> Format:
        """The options as the readers take them."""
        from softkern.tables.io import Format

        options = {one.name: getattr(self, one.name) for one in fields(ReadOptions)}
        return Format(missing=tuple(options.pop("na") or ()), **options)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of all commands that write files."""

    force: bool = flag("Replace existing files.", "-f")
    quiet: bool = flag("Print only errors.", "-q")


@dataclass(frozen=True, kw_only=True)
class TableOptions(RunOptions, ReadOptions):
    """The table of `analyze` and `score`, and how its results are written."""

    data: str = argument(
        "CSV, TSV, Excel (.xlsx), JSON lines, Parquet or NPY, also as gzip, bzip2, xz or zip; a "
        "folder or a pattern of Parquet or NPY files; - for standard input."
    )
    id: str | None = option("Column that identifies the rows.", metavar="COLUMN")
    join: bool = flag("Also write the table itself with the result columns.")
    scheduler: str | None = option(
        "Dask scheduler to compute on, e.g. tcp://host:8786 (Parquet and NPY only).",
        metavar="ADDRESS",
    )
    all_memberships: bool = flag("Write one column per cluster even for more than 20 clusters.")
    raw_text: bool = flag("Do not escape text such as =1+1, which spreadsheets would execute.")


@dataclass(frozen=True, kw_only=True)
class AnalyzeSettings(TableOptions):
    """Find clusters, outliers and rows between clusters in a table, and explain them.

    Writes points.csv (label, memberships, ranks and reasons for every row), clusters.csv
    (description of each cluster), report.html, run.json and model.safetensors (for softkern score)
    into the folder. With --join, also the table itself with these columns. Either all files appear
    or none. For a folder or pattern of Parquet or NPY files, or such a file larger than memory, a
    sample is analyzed and all rows are scored, into points-00000.parquet and so on.
    """

    out: Path = option("Folder for the results.", short="-o", default=MISSING)
    columns: list[str] | None = option(
        "Columns to use (default: all numeric columns).", metavar="A,B,…"
    )
    exclude: list[str] | None = option("Columns to leave out.", metavar="A,B,…")
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
    dates: bool = flag("Use date columns, as days.")
    model: str = option(
        "Which model to use; see softkern models.", default="auto", choices=tuple(MODELS)
    )
    clusters: int | None = option(
        "Number of clusters (default: auto, estimated from the data).", parse_clusters, "K|auto"
    )
    contamination: float | None = option(
        "Share of rows to flag as outliers, e.g. 0.05.", parse_share, "SHARE"
    )
    seed: int = option("Random seed.", number_parser(int, 0, 2**32 - 1, 10), "N", default=0)
    show: str | None = option("The two columns that the report draws first.", metavar="A,B")
    points: PointsFormat | None = option(
        "Format of the tables (default: csv; with --join that of the input).",
        choices=get_args(PointsFormat),
    )
    report: bool = option("Write report.html.", default=True)
    open: bool = flag("Open report.html in the browser when it is finished.")
    verbose: bool = flag("Also print details: compared models, iterations, memory.", "-v")

    def __post_init__(self) -> None:
        """Check that there will be a page to open."""
        super().__post_init__()
        if self.open and not self.report:
            raise typer.BadParameter("--open shows report.html, which --no-report leaves out.")


@dataclass(frozen=True, kw_only=True)
class ScoreSettings(TableOptions):
    """Label and score new rows with a saved model, in chunks: the file may exceed memory.

    Columns are matched by name, in any order. The table is read and prepared as in the analysis.
    """

    model: Path = argument("model.safetensors of softkern analyze.")
    out: str = option(
        "File (.csv, .tsv, .xlsx, .jsonl or .parquet); - for standard output.",
        short="-o",
        default=STDOUT,
    )
    missing: Missing | None = option(
        "Default: as in the analysis; drop leaves such rows blank.", choices=get_args(Missing)
    )
    chunk: int | None = option("Rows to read at a time.", COUNT, "ROWS")


@dataclass(frozen=True, kw_only=True)
class CompareSettings(RunOptions):
    """Show what changed between two analyses, or between an analysis and a new table.

    Reports clusters that merged or split, rows that moved, appeared or disappeared, new outliers,
    and the drift of every column.
    """

    before: Path = argument("Results folder of softkern analyze.")
    after: str = argument(
        "Another results folder, or a table to score with the model of the first; - for standard "
        "input."
    )
    out: Path | None = option(
        "Folder for a page, changes.csv, drift.csv and compare.json.", short="-o"
    )


@dataclass(frozen=True, kw_only=True)
class PlanSettings:
    """Show how a table of N rows and D columns would be computed, and at what cost."""

    n: int = argument("Rows.", COUNT, "N")
    d: int = argument("Columns.", COUNT, "D")
    clusters: int = option("Clusters computed at once.", COUNT, "N", default=1)
    engine: str = option("auto, or the engine to use.", default="auto")
    memory: float | None = option("Memory limit in GiB.", number_parser(float, 0, MOST, 8), "GIB")


@dataclass(frozen=True, kw_only=True)
class DemoSettings:
    """Run analyze and score on generated data, and show the commands."""

    out: Path = option("Folder for the results.", short="-o", default=Path("demo"))


def parameters(settings: type) -> list[inspect.Parameter]:
    """Return one keyword parameter per field, those of shared classes last."""
    found, hints = [], get_type_hints(settings)
    by_name = {one.name: one for one in fields(settings)}
    for owner in settings.__mro__:
        for name in inspect.get_annotations(owner):
            default, metadata = by_name[name].default, by_name[name].metadata
            info, short = metadata["typer"], metadata.get("short")
            if short or default is False:  # without --no-NAME, which typer adds to a bare switch
                info.param_decls = tuple(filter(None, (f"--{name.replace('_', '-')}", short)))
            info.rich_help_panel = vars(owner).get("PANEL")
            default = inspect.Parameter.empty if default is MISSING else default
            kind, typed = inspect.Parameter.KEYWORD_ONLY, Annotated[hints[name], info]
            found.append(inspect.Parameter(name, kind, default=default, annotation=typed))
    return found
