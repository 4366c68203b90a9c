"""`softkern analyze`: read, prepare, fit, rank, explain, write, and print every step."""

from __future__ import annotations

import warnings
import webbrowser
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from softkern._utils.text import plural, quote
from softkern.files import save
from softkern.fitted import as_sample_of, choice_of
from softkern.ranking import Ranker
from softkern.rows import row_slices
from softkern.tables.cli.clock import Clock
from softkern.tables.cli.errors import OutputError
from softkern.tables.cli.models import make
from softkern.tables.cli.options import AnalyzeSettings, OutputOptions, ScoreSettings
from softkern.tables.cli.output_folder import results_folder
from softkern.tables.cli.parts import Parts, Summary
from softkern.tables.cli.pieces import FrameReader
from softkern.tables.cli.points import joined, points_table, with_blanks
from softkern.tables.cli.printer import Printer
from softkern.tables.cli.results import Result, fit_messages, print_choice, print_result
from softkern.tables.cli.run_record import make_record, without_details
from softkern.tables.cli.source import STDIN, open_source
from softkern.tables.cli.table_input import TableInput, joined_name, read_input
from softkern.tables.cli.writing import write_chunks, write_json
from softkern.tables.explain import Explainer
from softkern.tables.explain.clusters import describe
from softkern.tables.explain.points import flagged_rows, unusual_rows
from softkern.tables.explain.row_view import view_prepared
from softkern.tables.io import Format, Reader
from softkern.tables.preparation.model import attach_preparation

MODEL, PAGE, RECORD, CLUSTERS = "model.safetensors", "report.html", "run.json", "clusters.csv"
TOP_NAME = "outliers.csv"  # the strongest outliers of a table in parts, with their ranks


@dataclass(frozen=True)
class Job:
    """An analysis: the settings, the table, and the printer of messages.

    For a table in many files, or larger than memory, `parts` holds all rows, and `row_numbers`
    are those of a sample that is opened.
    """

    settings: AnalyzeSettings
    open_table: Callable[[Format], Reader]
    printer: Printer
    clock: Clock
    parts: Parts | None = None
    row_numbers: Any = None

    @property
    def points_names(self) -> list[str]:
        """Names of the files with results for every row."""
        if self.parts is None:
            return [f"points.{self.settings.points or 'csv'}"]
        return [*self.parts.names, TOP_NAME]

    @property
    def names(self) -> list[str]:
        """Names of all files. The last is written last."""
        page = [PAGE] if self.settings.report else []
        return [*self.points_names, CLUSTERS, MODEL, *page, RECORD]


def analyze(settings: AnalyzeSettings) -> None:
    """Analyze a table. The folder `settings.out` appears at the end."""
    if settings.report and find_spec("bokeh") is None:
        raise OutputError(
            "report.html needs bokeh: pip install 'softkern[report]', or give --no-report."
        )
    printer = Printer(settings.output.quiet)
    # with --verbose, models print their own steps
    with nullcontext() if settings.verbose else printer.stages():
        parts = Parts.of(settings.data, settings.output)
        if parts is not None:
            _analyze(_sample_job(settings, parts, printer))
            return
        with open_source(settings.data) as source:
            _analyze(Job(settings, source.open, printer, Clock()))


def _sample_job(settings: AnalyzeSettings, parts: Parts, printer: Printer) -> Job:
    """Return the analysis of a sample of a table in parts."""
    numbers, table = parts.sample(settings.fit.seed)
    data = quote(settings.data)
    printer.line(f"{data}: {parts.kind}")
    printer.line(f"{plural(len(table), 'row')} are analyzed; all are scored by the model")
    sample = partial(FrameReader, f"the sample of {data}", parts.pieces[0].kind, table)
    return Job(settings, sample, printer, Clock(), parts, numbers)


def _analyze(job: Job) -> None:
    settings = job.settings
    with results_folder(settings.out, job.names, settings.output.force) as folder:
        data = read_input(settings, job.open_table, job.row_numbers, job.printer, job.clock)
        result = _explain(job, data, *_fit(job, data))
        names, all_rows = _write(job, folder, data, result)
    print_result(job.printer, result, settings)
    if all_rows is not None:
        _print_all_rows(job.printer, all_rows)
    _print_files(job, names)


# Compute


def _fit(job: Job, data: TableInput) -> tuple[Any, list[str]]:
    """Fit the model, and return it with the warnings."""
    X, fit, verbose = data.prepared.values, job.settings.fit, job.settings.verbose
    with warnings.catch_warnings(record=True) as caught, job.clock.step("fit"):
        warnings.simplefilter("always")
        is_shown = verbose and not job.printer.quiet
        model = make(fit.model, fit.clusters, X, fit.seed, verbose=is_shown)
        if is_shown:
            size = plural(X.shape[1], "column")
            job.printer.line(f"fitting {type(model).__name__}, {size}", "bold")
        if hasattr(model, "prepare"):  # it carries the preparation itself
            model.set_params(prepare=clone(data.prepared.preparation))
            model.fit(data.prepared.used_rows())
        else:
            model.fit(X)
    # arithmetic warnings are for developers; run.json has them
    shown = [w for w in caught if not issubclass(w.category, RuntimeWarning | FutureWarning)]
    messages = fit_messages(shown, technical=verbose)
    job.printer.notes([f"warning: {message}" for message in messages])
    print_choice(job.printer, model, verbose)
    return model, fit_messages(caught, technical=True)


def _explain(job: Job, data: TableInput, model: Any, warned: list[str]) -> Result:
    """Rank the rows, and explain the flagged ones and the clusters."""
    if job.parts is not None:
        model = as_sample_of(model, job.parts.rows)
    with job.clock.step("rank"):
        ranker = Ranker(model, contamination=job.settings.fit.contamination)
        scores = ranker.score_points()
        ranks = ranker.table(scores)
    with job.clock.step("explain"):
        view = view_prepared(data.prepared)
        explainer = Explainer(model, view, scores, ranks)
        places = np.union1d(flagged_rows(ranks), unusual_rows(ranks))
        explained = explainer.explain(view, scores, ranks, places)
        clusters = describe(data.to_describe(), ranks["label"].to_numpy())
    wide = job.settings.output.all_memberships
    points = points_table(ranks, scores.memberships, data.rows, data.ids, wide, explained)
    return Result(model, warned, ranks, explainer, explained, clusters, points)


# Write


def _write(
    job: Job, folder: Path, data: TableInput, result: Result
) -> tuple[list[str], Summary | None]:
    """Write all files. Return their names, and the results of all rows of a table in parts."""
    settings, clock, names = job.settings, job.clock, job.names
    with clock.step("model"):
        save(
            attach_preparation(result.model, data.prepared.preparation),
            folder / MODEL,
            contamination=settings.fit.contamination,
            id=data.id,
            reading=asdict(settings.read.format),
        )
    with clock.step("points"):
        all_rows = _write_points(job, folder, data, result.points)
        raw_text = settings.output.raw_text
        write_chunks([result.clusters], str(folder / CLUSTERS), raw_text=raw_text)
    if settings.output.join:
        with clock.step("join"):
            names.insert(0, _write_joined(job, folder, data, result.points))
    record = make_record(settings, clock, data, result.model, result.ranks, all_rows)
    record["warnings"] = result.warnings
    if settings.report:
        with clock.step("report"):
            _write_page(job, folder / PAGE, data, result, record)
    record["choice"] = choice_of(result.model)  # the page has a separate section for it
    record["seconds"] = {**clock.seconds, "total": clock.total()}
    write_json(record, folder / RECORD)
    return names, all_rows


def _write_points(job: Job, folder: Path, data: TableInput, points: pd.DataFrame) -> Summary | None:
    """Write the results of all rows, and return those of a table in parts in numbers."""
    settings, place, found = job.settings, str(folder / job.points_names[-1]), None
    if job.parts is not None:
        output = OutputOptions(all_memberships=settings.output.all_memberships)
        scoring = ScoreSettings(
            model=folder / MODEL, data=settings.data, id=data.id, output=output, read=settings.read
        )
        found = job.parts.score(folder, scoring, points)
        points = found.top
    write_chunks([points], place, raw_text=settings.output.raw_text)
    return found


def _write_joined(job: Job, folder: Path, data: TableInput, points: pd.DataFrame) -> str:
    """Write the user's own table with the result columns. Return the name of the file."""
    name, raw_text = joined_name(job.settings, data.reader), job.settings.output.raw_text
    whole = with_blanks(points, range(1, len(data.table) + 1))
    with job.open_table(job.settings.read.format) as again:
        rows = again.rows_at_once()
        results = (whole.iloc[part] for part in row_slices(len(whole), rows))
        tables = joined(again, results, rows)
        write_chunks(tables, str(folder / name), style=again.style, raw_text=raw_text)
    return name


def _write_page(
    job: Job, path: Path, data: TableInput, result: Result, record: dict[str, Any]
) -> None:
    from softkern.tables.report import write_report

    settings = job.settings
    write_report(
        path,
        result.model,
        data.prepared.features,
        ranks=result.ranks,
        ids=data.rows if data.ids is None else data.ids,
        title="standard input" if settings.data == STDIN else Path(settings.data).name,
        details=record if settings.verbose else without_details(record),
        features=data.shown,
        X_model=data.prepared.values,
        table=data.used,
        explainer=result.explainer,
        clusters=result.clusters,
        notes=data.notes,
        random_state=settings.fit.seed,
    )


# Print


def _print_all_rows(printer: Printer, found: Summary) -> None:
    """Print the result for all rows of a table in parts."""
    sizes = ", ".join(f"{size:,}" for size in found.sizes[:8])
    printer.line(
        f"of all {found.rows:,} rows: clusters of {sizes} rows; "
        f"{plural(found.outliers, 'outlier')}, {found.overlaps:,} between clusters"
    )
    printer.notes(found.notes)


def _print_files(job: Job, names: list[str]) -> None:
    """Print what was written, and open the page where this was requested."""
    if job.parts is not None:
        names = [f"{names[0]} to {job.parts.names[-1]}", *names[len(job.parts.names) :]]
    out, settings = job.settings.out, job.settings
    job.printer.line(f"wrote {', '.join(names)} into {out} in {job.clock.total():.1f} s")
    first = out / (PAGE if settings.report else job.points_names[0])
    job.printer.line(f"open {first}", "bold")
    if settings.open:
        webbrowser.open(first.absolute().as_uri())
