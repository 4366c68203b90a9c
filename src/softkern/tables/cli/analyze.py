"""`softkern analyze`: read, prepare, fit, rank, explain, write, and print every step."""

from __future__ import annotations

import platform
import warnings
import webbrowser
from contextlib import nullcontext, suppress
from dataclasses import asdict
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from softkern._utils.text import plural, quote
from softkern.files import save
from softkern.fitted import as_sample_of, choice_of
from softkern.ranking import Ranker
from softkern.rows import row_slices
from softkern.tables.cli.errors import OutputError
from softkern.tables.cli.job import STDIN, Job, TableInput, digest_of, open_source, read_input
from softkern.tables.cli.models import make
from softkern.tables.cli.options import AnalyzeSettings, ScoreSettings
from softkern.tables.cli.output_folder import results_folder
from softkern.tables.cli.parts import FrameReader, Parts, Summary
from softkern.tables.cli.points import joined, points_table, with_blanks
from softkern.tables.cli.printer import Printer
from softkern.tables.cli.results import Result, fit_messages, print_choice, print_result
from softkern.tables.cli.writing import write_chunks, write_json
from softkern.tables.explain import Explainer
from softkern.tables.explain.clusters import describe
from softkern.tables.explain.points import flagged_rows, unusual_rows
from softkern.tables.explain.row_view import view_prepared
from softkern.tables.preparation.model import attach_preparation

MODEL, PAGE, RECORD, CLUSTERS = "model.safetensors", "report.html", "run.json", "clusters.csv"
TOP_NAME = "outliers.csv"  # the strongest outliers of a table in parts, with their ranks
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "finufft", "pandas", "safetensors", "bokeh")
# fields for readers who know the methods; run.json always has them
DETAILS = {"model": {"parameters"}, "result": {"bandwidth", "iterations", "converged"}}


def analyze(settings: AnalyzeSettings) -> None:
    """Analyze a table. The folder `settings.out` appears at the end."""
    if settings.report and find_spec("bokeh") is None:
        raise OutputError(
            "report.html needs bokeh: pip install 'softkern[report]', or give --no-report."
        )
    printer = Printer(settings.quiet)
    # with --verbose, models print their own steps
    with nullcontext() if settings.verbose else printer.stages():
        parts = Parts.of(settings)
        if parts is None:
            with open_source(settings.data) as source:
                _analyze(Job(settings, source.open, printer))
            return
        numbers, table = parts.sample(settings.seed)
        data = quote(settings.data)
        printer.line(f"{data}: {parts.kind}")
        printer.line(f"{plural(len(table), 'row')} are analyzed; all are scored by the model")
        sample = partial(FrameReader, f"the sample of {data}", parts.pieces[0].kind, table)
        _analyze(Job(settings, sample, printer, parts, numbers))


def _analyze(job: Job) -> None:
    settings, printer, parts = job.settings, job.printer, job.parts
    points = [f"points.{settings.points or 'csv'}"] if parts is None else [*parts.names, TOP_NAME]
    names = [*points, CLUSTERS, MODEL, *([PAGE] if settings.report else []), RECORD]
    with results_folder(settings.out, names, settings.force) as folder:
        data = read_input(job)
        result = _explain(job, data, *_fit(job, data))
        whole = _write(job, folder, data, result, points[-1])
    print_result(printer, result, settings)
    if whole is not None:
        sizes = ", ".join(f"{size:,}" for size in whole.sizes[:8])
        printer.line(
            f"of all {whole.rows:,} rows: clusters of {sizes} rows; "
            f"{plural(whole.outliers, 'outlier')}, {whole.overlaps:,} between clusters"
        )
        printer.notes(whole.notes)
    if parts is not None:
        names = [f"{names[0]} to {parts.names[-1]}", *names[len(parts.names) :]]
    written = ", ".join([*filter(None, [data.joined]), *names])
    printer.line(f"wrote {written} into {settings.out} in {job.total():.1f} s")
    first = settings.out / (PAGE if settings.report else points[0])
    printer.line(f"open {first}", "bold")
    if settings.open:
        webbrowser.open(first.absolute().as_uri())


def _fit(job: Job, data: TableInput) -> tuple[Any, list[str]]:
    """Fit the model, and return it with the warnings."""
    X, settings, verbose = data.prepared.values, job.settings, job.settings.verbose
    with warnings.catch_warnings(record=True) as caught, job.step("fit"):
        warnings.simplefilter("always")
        is_shown = verbose and not job.printer.quiet
        model = make(settings.model, settings.clusters, X, settings.seed, is_shown)
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
    with job.step("rank"):
        ranker = Ranker(model, contamination=job.settings.contamination)
        scores = ranker.score_points()
        ranks = ranker.table(scores)
    with job.step("explain"):
        view = view_prepared(data.prepared)
        explainer = Explainer(model, view, scores, ranks)
        places = np.union1d(flagged_rows(ranks), unusual_rows(ranks))
        explained = explainer.explain(view, scores, ranks, places)
        clusters = describe(data.to_describe(), ranks["label"].to_numpy())
    wide = job.settings.all_memberships
    points = points_table(ranks, scores.memberships, data.rows, data.ids, wide, explained)
    return Result(model, warned, ranks, explainer, explained, clusters, points)


def _write(
    job: Job, folder: Path, data: TableInput, result: Result, points_name: str
) -> Summary | None:
    """Write all files. Return the results of all rows of a table in parts."""
    settings = job.settings
    write = partial(write_chunks, raw_text=settings.raw_text)
    whole, points = None, result.points
    with job.step("model"):
        save(
            attach_preparation(result.model, data.prepared.preparation),
            folder / MODEL,
            contamination=settings.contamination,
            id=data.id,
            reading=asdict(settings.format),
        )
    with job.step("points"):
        if job.parts is not None:
            scoring = ScoreSettings(
                model=folder / MODEL,
                data=settings.data,
                id=data.id,
                all_memberships=settings.all_memberships,
            )
            whole = job.parts.score(folder, scoring, points)
            points = whole.top
        write([points], str(folder / points_name))
        write([result.clusters], str(folder / CLUSTERS))
    if data.joined is not None:
        with job.step("join"), job.open_table(settings.format) as again:
            rows = again.rows_at_once()
            filled = with_blanks(points, range(1, len(data.table) + 1))
            results = (filled.iloc[part] for part in row_slices(len(filled), rows))
            tables = joined(again, results, rows)
            write(tables, str(folder / data.joined), style=again.style)
    record = _record(job, data, result, whole)
    if settings.report:
        with job.step("report"):
            _write_page(settings, folder / PAGE, data, result, record)
    record["seconds"] = {**job.seconds, "total": job.total()}
    write_json(record, folder / RECORD)
    return whole


def _write_page(
    settings: AnalyzeSettings, path: Path, data: TableInput, result: Result, record: dict[str, Any]
) -> None:
    """Write report.html, with the record but its choice, and without --verbose less of it."""
    from softkern.tables.report import write_report

    hidden = {"choice"} if settings.verbose else {"choice", "plan"}
    details = {name: part for name, part in record.items() if name not in hidden}
    for name, technical in () if settings.verbose else DETAILS.items():
        details[name] = {key: value for key, value in record[name].items() if key not in technical}
    write_report(
        path,
        result.model,
        data.prepared.features,
        ranks=result.ranks,
        ids=data.rows if data.ids is None else data.ids,
        title="standard input" if settings.data == STDIN else Path(settings.data).name,
        details=details,
        features=data.shown,
        X_model=data.prepared.values,
        table=data.used,
        explainer=result.explainer,
        clusters=result.clusters,
        notes=data.notes,
        random_state=settings.seed,
    )


# Record


def _record(job: Job, data: TableInput, result: Result, whole: Summary | None) -> dict[str, Any]:
    """Return the content of run.json. `whole` are the results of all rows of a table in parts."""
    settings, model, found = job.settings, result.model, Summary.of(result.ranks)
    parameters = model.get_params(deep=False)
    del parameters["verbose"]
    record = {
        "started": job.started.isoformat(timespec="seconds"),
        "input": {
            "file": settings.data,
            "digest": digest_of(settings.data),
            "kind": data.reader.kind,
            "rows": len(data.table) if whole is None else whole.rows,
            "columns": data.table.shape[1],
            "notes": data.notes,
        },
        "preparation": {
            "rows": len(data.prepared.values),
            "features": data.prepared.features.columns.tolist(),
            "scale": settings.scale,
            "missing": settings.missing,
        },
        "model": {
            "name": settings.model,
            "estimator": type(model).__name__,
            "parameters": parameters,
            "clusters": "auto" if settings.clusters is None else settings.clusters,
            "contamination": settings.contamination,
        },
        "seed": settings.seed,
        "result": {
            "clusters": len(found.sizes),
            **found.counts(),
            "bandwidth": getattr(model, "bandwidth_", None),
            "iterations": getattr(model, "n_iter_", None),
            "converged": getattr(model, "converged_", None),
        },
        "plan": str(model.plan_),
        "versions": _versions(),
        "seconds": dict(job.seconds),
    }
    if whole is not None:
        record["all_rows"] = {"rows": whole.rows, **whole.counts(), "notes": whole.notes}
    return record | {"warnings": result.warnings, "choice": choice_of(model)}


def _versions() -> dict[str, str]:
    found = {"softkern": version("softkern"), "python": platform.python_version()}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found
