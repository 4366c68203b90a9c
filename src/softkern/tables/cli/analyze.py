"""`softkern analyze`: read, prepare, fit, rank, write, and print every step."""

from __future__ import annotations

import json
import platform
import tempfile
import time
import warnings
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from softkern._utils.progress import stage
from softkern._utils.text import closest_match, one_line, plural, quote, quote_list, unknown_names
from softkern.files import save
from softkern.fitted import as_sample_of, choice_of
from softkern.ranking import Ranker, rank_points
from softkern.tables.cli.errors import OutputError
from softkern.tables.cli.join import joined, rows_of
from softkern.tables.cli.models import ModelName, check_columns, make
from softkern.tables.cli.output_folder import check_free, results_folder
from softkern.tables.cli.parts import Parts, Summary, top_rows
from softkern.tables.cli.points import has_all_columns, points_table, write_chunks
from softkern.tables.cli.preparation import CommandPreparation
from softkern.tables.cli.printer import Printer
from softkern.tables.cli.results import doubts, in_words, say_choice, say_memberships, say_result
from softkern.tables.cli.results_folder import digest_of
from softkern.tables.cli.score import Job as ScoreJob
from softkern.tables.explain import Explainer
from softkern.tables.explain.clusters import describe
from softkern.tables.explain.points import flagged_rows, unusual_rows
from softkern.tables.explain.row_view import dates_of, kept_rows
from softkern.tables.io import Format, Reader, TableError, open_table
from softkern.tables.preparation.transformer import Missing, Preparation, Prepared, Scale

__all__ = ["Job", "analyze"]

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "finufft", "pandas", "safetensors", "bokeh")
STEPS = {  # what the clock's names stand for
    "read": "reading the table",
    "prepare": "preparing its columns",
    "fit": "looking for clusters and outliers",
    "rank": "ranking rows",
    "explain": "finding out why",
    "model": "saving the model",
    "points": "writing rows",
    "join": "writing the table with its results",
    "report": "drawing the page",
}
TOP_NAME = "outliers.csv"  # of a table in parts, the rows furthest out with their ranks
CLASS_NAMES = {"label", "class", "target"}  # of columns that tables carry beside their features


@dataclass
class Job:
    """What was asked; the fields are the options of the command."""

    data: str
    out: Path
    columns: list[str] | None = None
    exclude: list[str] = field(default_factory=list)
    id: str | None = None
    model: ModelName = ModelName.auto
    clusters: int | None = None  # None is "auto"
    contamination: float | None = None
    scale: Scale = "auto"
    missing: Missing = "neighbors"
    categories: list[str] = field(default_factory=list)
    show: str | None = None
    dates: bool = False
    points: str = "csv"
    join: bool = False
    join_as: str | None = None  # a format; None is the table's own
    source: str | None = None  # where the data can be read twice, if not at `data`
    report: bool = True
    all_memberships: bool = False
    raw_text: bool = False
    seed: int = 0
    force: bool = False
    quiet: bool = False
    verbose: bool = False
    open: bool = False
    form: Format = field(default_factory=Format)
    scheduler: str | None = None  # address of a Dask cluster that does the work
    parts: Parts | None = None  # of a table in many files, or larger than memory
    numbers: Any = None  # of the rows of its sample among all, (n,)


@dataclass
class Input:
    """The table as it was read, and as the model sees it."""

    reader: Reader
    table: pd.DataFrame
    ids: Any
    preparation: Preparation
    prepared: Prepared
    notes: list[str]
    numbers: Any = None  # of the table's rows among all, where it is a sample

    @property
    def rows(self) -> Any:
        """Numbers of the rows that were kept; 1 is the table's first."""
        kept = np.flatnonzero(self.prepared.kept)
        return (kept if self.numbers is None else self.numbers[kept]) + 1


class Clock:
    """Seconds of every step."""

    def __init__(self) -> None:
        self.started = datetime.now(UTC)
        self.seconds: dict[str, float] = {}
        self._start = time.perf_counter()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        with stage(STEPS[name]):
            yield
        self.seconds[name] = round(time.perf_counter() - start, 3)

    def total(self) -> float:
        return round(time.perf_counter() - self._start, 3)


def analyze(job: Job) -> None:
    """Do the job; the folder `job.out` appears at the end."""
    printer = Printer(job.quiet)
    # how far it is, or what the model says of itself, step by step
    with nullcontext() if job.verbose else printer.stages():
        job.parts = Parts.of(job.data, job.scheduler)
        if job.parts is None:
            _analyze(job, printer)
            return
        if job.join:
            raise OutputError("--join is for single tables, not for tables in parts.")
        with tempfile.TemporaryDirectory() as folder:
            _draw(job, Path(folder) / "sample.parquet", printer)
            _analyze(job, printer)


def _draw(job: Job, path: Path, printer: Printer) -> None:
    """Put some rows that stand for all where the analysis reads them."""
    assert job.parts is not None
    job.numbers, table = job.parts.sample(job.seed)
    table.to_parquet(path, index=False)
    job.source = str(path)
    printer.line(f"{quote(job.data)}: {job.parts.kind}")
    printer.line(f"{plural(len(table), 'row')} are analyzed; all are scored by what they show")


def _analyze(job: Job, printer: Printer) -> None:
    clock = Clock()
    _check_report(job)
    points_names = [f"points.{job.points}"] if job.parts is None else [*job.parts.names, TOP_NAME]
    page = ["report.html"] if job.report else []
    names = [*points_names, "clusters.csv", "model.safetensors", *page, "run.json"]
    with results_folder(job.out, names, job.force) as folder:
        data = _read(job, printer, clock)
        shown = _shown(job, data)
        model, warned = _fit(job, data.prepared, printer, clock)
        if job.parts is not None:
            model = as_sample_of(model, job.parts.rows)
        with clock.step("rank"):
            ranks = rank_points(model, contamination=job.contamination)
        with clock.step("explain"):
            explainer = _explainer(data, model, ranks)
            asked = np.union1d(flagged_rows(ranks), unusual_rows(ranks))
            explained = explainer.explain(explainer.seen, explainer.points, ranks, asked)
            clusters = describe(_described(job, data), ranks["label"].to_numpy())
        with clock.step("model"):
            save(
                model,
                folder / "model.safetensors",
                preparation=asdict(data.preparation),
                contamination=job.contamination,
                id=job.id,
                reading=asdict(job.form),
            )
        with clock.step("points"):
            points = points_table(
                ranks, model.memberships_, data.rows, data.ids, job.all_memberships, explained
            )
            raw = job.raw_text
            scored = None
            if job.parts is None:
                write_chunks([points], str(folder / points_names[0]), raw_text=raw)
            else:
                scored = job.parts.score(folder, _scoring(job, folder), points)
                write_chunks([top_rows(scored)], str(folder / TOP_NAME), raw_text=raw)
            write_chunks([clusters], str(folder / "clusters.csv"), raw_text=raw)
        if job.join:
            with clock.step("join"):
                names.insert(0, _join(job, folder, data, points))
        record = _record(job, clock, data, model, ranks)
        if scored is not None:
            record["all_rows"] = _of_all(scored)
        record["warnings"] = warned
        if job.report:
            with clock.step("report"):
                path = folder / "report.html"
                _report(job, path, data, model, ranks, shown, record, explainer, clusters)
        record["choice"] = choice_of(model)  # the page has a part of its own for it
        record["seconds"] = {**clock.seconds, "total": clock.total()}
        text = json.dumps(record, indent=2, ensure_ascii=False, default=_plain)
        # a file's name need not be text: what is none is written as JSON writes it
        record_file = folder / "run.json"
        record_file.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
    _say(job, printer, model, ranks, clusters, explained, points)
    if job.parts is not None:
        _say_all(printer, record["all_rows"])
        names = [f"{names[0]} to {job.parts.names[-1]}", *names[len(job.parts.names) :]]
    printer.line(f"wrote {', '.join(names)} into {job.out} in {clock.total():.1f} s")
    first = job.out / (page or points_names)[0]
    printer.line(f"open {first}", "bold")
    if job.open:
        webbrowser.open(first.absolute().as_uri())


def _scoring(job: Job, folder: Path) -> ScoreJob:
    """What all rows are asked."""
    return ScoreJob(
        folder / "model.safetensors",
        job.data,
        id=job.id,
        all_memberships=job.all_memberships,
        form=job.form,
    )


def _of_all(scored: Sequence[Summary]) -> dict[str, Any]:
    """What run.json says of all rows."""
    labels = pd.Series(dtype=np.int64)
    for one in scored:
        labels = labels.add(pd.Series(one.labels, dtype=np.int64), fill_value=0)
    labels = labels.sort_index().astype(int)
    return {
        "rows": sum(one.rows for one in scored),
        "sizes": labels[labels.index >= 0].tolist(),
        "in_no_cluster": int(labels[labels.index < 0].sum()),
        "outliers": sum(one.outliers for one in scored),
        "overlaps": sum(one.overlaps for one in scored),
        "notes": list(dict.fromkeys(note for one in scored for note in one.notes))[:10],
    }


def _say_all(printer: Printer, found: dict[str, Any]) -> None:
    sizes = ", ".join(f"{size:,}" for size in found["sizes"][:8])
    printer.line(
        f"of all {found['rows']:,} rows: clusters of {sizes} rows; "
        f"{plural(found['outliers'], 'outlier')}, {found['overlaps']:,} in between"
    )
    printer.notes(found["notes"])


def _say(
    job: Job,
    printer: Printer,
    model: Any,
    ranks: pd.DataFrame,
    clusters: pd.DataFrame,
    explained: pd.DataFrame,
    points: pd.DataFrame,
) -> None:
    """The result in words, and what to know of it."""
    names = points[[name for name in ("row", "id") if name in points]]
    say_result(printer, ranks, clusters, explained, names)
    if job.verbose:
        say_memberships(printer, ranks)
    printer.notes(doubts(job.clusters, ranks))
    if job.verbose and not has_all_columns(model.memberships_, job.all_memberships):
        printer.notes(["points has no column for every cluster; see --all-memberships"])


# Read


def _read(job: Job, printer: Printer, clock: Clock) -> Input:
    with clock.step("read"), _open(job) as reader:
        if job.parts is not None:
            reader.name = f"the sample of {quote(job.data)}"
        job.id = reader.identifier(job.id)
        table = reader.read(
            text=[] if job.id is None else [job.id], words=_split(job.categories, reader.columns)
        )
    shape = f"{plural(len(table), 'row')} × {plural(len(reader.columns), 'column')}"
    printer.line(f"{reader.name}: {reader.kind}, {shape}")
    notes = list(reader.notes)
    left_out = _left_out(job, table, notes)
    if job.join:
        check_free(job.out / _joined_name(job, reader), job.force)
    with clock.step("prepare"):
        preparation, prepared = CommandPreparation.fit(
            table,
            columns=None if job.columns is None else _split(job.columns, reader.columns),
            categories=_split(job.categories, reader.columns),
            scale=job.scale,
            missing=job.missing,
            left_out=left_out,
            decimal=reader.decimal,
            dates=job.dates,
        )
    ids = None
    if job.id is not None:
        ids = table[job.id].to_numpy()[prepared.kept]
        notes += _repeated(pd.Series(ids), job.id)
    notes += [note for note in (prepared.missing_note, *prepared.notes) if note]
    printer.notes(notes)
    names = preparation.features
    rows = f"{len(prepared.values):,} rows"
    printer.line(f"{rows}, {plural(len(names), 'feature')}: {quote_list(names, 8)}")
    return Input(reader, table, ids, preparation, prepared, notes, job.numbers)


def _open(job: Job) -> Reader:
    return open_table(job.source or job.data, job.form, standard_input=job.data == "-")


def _split(asked: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Column names of options such as "a,b"; a name with a comma in it is taken whole.

    One that has several lines may be given in one, as it is said.
    """
    known = {one_line(column): column for column in reversed(columns)}
    names: list[str] = []
    for word in asked:
        is_one = word in columns or word in known
        parts = [word] if is_one else [part.strip() for part in word.split(",")]
        names += [part if part in columns else known.get(part, part) for part in parts]
    return list(dict.fromkeys(names))


def _left_out(job: Job, table: pd.DataFrame, notes: list[str]) -> list[str]:
    """Columns that are no features; those that may not be meant as such are noted."""
    columns = list(table.columns)
    excluded = _split(job.exclude, columns)
    lacking = [name for name in excluded if name not in columns]
    if lacking:
        raise TableError(f"--exclude: there is no column {unknown_names(lacking, columns)}")
    asked = _split([*(job.columns or ()), *job.categories], columns)
    excluded += [] if job.id is None or job.id in asked else [job.id]
    if job.columns is not None:
        return excluded
    used = table.drop(columns=excluded)
    for name in used.columns:
        if str(name).lower() in CLASS_NAMES and used[name].dtype.kind in "iufb":
            notes.append(f"'{quote(name)}' is used as a feature; --exclude leaves it out")
    return excluded


def _repeated(ids: pd.Series[Any], column: str) -> list[str]:
    """A warning of identifiers that name several rows; rows are known by their number."""
    counts = ids.value_counts()
    repeated = counts[counts > 1]
    if repeated.empty:
        return []
    shown = quote_list(sorted(repeated.index.tolist(), key=str), 3)
    return [
        f"{plural(len(repeated), 'value')} of '{quote(column)}' name{'s' * (len(repeated) == 1)} "
        f"more than one row: {shown}; the column 'row' is unique"
    ]


# Fit


def _fit(job: Job, prepared: Prepared, printer: Printer, clock: Clock) -> tuple[Any, list[str]]:
    X = prepared.values
    check_columns(job.model, X.shape[1])
    with warnings.catch_warnings(record=True) as caught, clock.step("fit"):
        warnings.simplefilter("always")
        is_told = job.verbose and not job.quiet
        model = make(job.model, job.clusters, X, job.seed, verbose=is_told)
        if is_told:
            what = f"{type(model).__name__}, {plural(X.shape[1], 'column')}"
            printer.line(f"fitting {what}", "bold")
        model.fit(X)
    # arithmetic warnings are for developers; run.json has them
    shown = [w for w in caught if not issubclass(w.category, RuntimeWarning | FutureWarning)]
    told = _messages(shown) if job.verbose else in_words(shown)
    printer.notes([f"warning: {message}" for message in told])
    say_choice(printer, model, job.verbose)
    return model, _messages(caught)


def _messages(caught: Sequence[warnings.WarningMessage]) -> list[str]:
    """Each once, in one line."""
    return list(dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught))


# Explain


def _explainer(data: Input, model: Any, ranks: pd.DataFrame) -> Explainer:
    seen = kept_rows(data.preparation, data.table, data.prepared)
    return Explainer(model, seen, Ranker(model).read(), ranks)


def _described(job: Job, data: Input) -> pd.DataFrame:
    """What clusters are described by: the features as they were read, and all columns of text."""
    preparation, table = data.preparation, data.table[data.prepared.kept]
    numbers = data.prepared.features[preparation.columns].set_axis(table.index)
    for k in dates_of(preparation):
        numbers[preparation.columns[k]] = pd.to_datetime(numbers.iloc[:, k], unit="D")
    numbers = numbers.mask(table[preparation.columns].isna())
    excluded = {job.id, *_split(job.exclude, list(table.columns)), *preparation.columns}
    texts = [
        name
        for name in table.columns
        if name not in excluded
        and (name in preparation.categories or not is_numeric_dtype(table[name]))
    ]
    return numbers.join(table[texts])


# Write


def _check_report(job: Job) -> None:
    """Find out before the work whether the page can be made."""
    if not job.report:
        return
    try:
        import bokeh  # noqa: F401
    except ImportError:
        raise OutputError(
            "report.html needs bokeh: pip install 'softkern[report]', or give --no-report."
        ) from None


def _shown(job: Job, data: Input) -> tuple[str, str] | None:
    """The two features that --show names."""
    if job.show is None:
        return None
    features = data.preparation.features
    names = _split([job.show], features)
    if len(names) != 2 or not set(names) <= set(features):
        raise TableError(
            f"--show '{quote(job.show)}' must name two of the features: {quote_list(features, 12)}"
            f"{_meant(names, features)}."
        )
    return names[0], names[1]


def _meant(asked: Sequence[str], names: Sequence[str]) -> str:
    guesses = [closest_match(name, names) for name in asked if name not in names]
    return f"; did you mean {quote_list(guesses)}?" if any(guesses) else ""


def _joined_name(job: Job, reader: Reader) -> str:
    return f"joined{reader.style.extension if job.join_as is None else f'.{job.join_as}'}"


def _join(job: Job, folder: Path, data: Input, points: pd.DataFrame) -> str:
    """Write the user's own table with the columns of the results; the name of the file."""
    name = _joined_name(job, data.reader)
    with _open(job) as again:
        rows = again.rows_at_once()
        starts = range(0, len(data.table), rows)
        results = rows_of(points, [min(rows, len(data.table) - start) for start in starts])
        tables = joined(again, results, rows)
        write_chunks(tables, str(folder / name), style=again.style, raw_text=job.raw_text)
    return name


def _report(
    job: Job,
    path: Path,
    data: Input,
    model: Any,
    ranks: pd.DataFrame,
    shown: tuple[str, str] | None,
    record: dict[str, Any],
    explainer: Explainer,
    clusters: pd.DataFrame,
) -> None:
    from softkern.tables.report import write_report

    write_report(
        path,
        model,
        data.prepared.features,
        ranks=ranks,
        ids=data.rows if data.ids is None else data.ids,
        title="standard input" if job.data == "-" else Path(job.data).name,
        details=record if job.verbose else _without_steps(record),
        features=shown,
        X_model=data.prepared.values,
        table=data.table[data.prepared.kept],
        explainer=explainer,
        clusters=clusters,
        notes=data.notes,
        random_state=job.seed,
    )


def _record(job: Job, clock: Clock, data: Input, model: Any, ranks: pd.DataFrame) -> dict[str, Any]:
    """What run.json and the report's last part hold."""
    labels = ranks["label"]
    parameters = model.get_params(deep=False)
    del parameters["verbose"]
    return {
        "started": clock.started.isoformat(timespec="seconds"),
        "input": {
            "file": job.data,
            "digest": digest_of(job.data),
            "kind": data.reader.kind,
            "rows": len(data.table) if job.parts is None else job.parts.rows,
            "columns": data.table.shape[1],
            "notes": data.notes,
        },
        "preparation": {
            "rows": len(data.prepared.values),
            "features": data.preparation.features,
            "scale": job.scale,
            "missing": job.missing,
        },
        "model": {
            "name": job.model.value,
            "estimator": type(model).__name__,
            "parameters": parameters,
            "clusters": "auto" if job.clusters is None else job.clusters,
            "contamination": job.contamination,
        },
        "seed": job.seed,
        "result": {
            "clusters": int(labels[labels >= 0].nunique()),
            "sizes": labels[labels >= 0].value_counts().sort_index().tolist(),
            "in_no_cluster": int((labels < 0).sum()),
            "outliers": int(ranks["is_outlier"].sum()),
            "overlaps": int(ranks["is_overlap"].sum()),
            "bandwidth": getattr(model, "bandwidth_", None),
            "iterations": getattr(model, "n_iter_", None),
            "converged": getattr(model, "converged_", None),
        },
        "plan": str(model.plan_),
        "versions": _versions(),
        "seconds": dict(clock.seconds),
    }


def _without_steps(record: dict[str, Any]) -> dict[str, Any]:
    """The record without what only who knows the methods can read; run.json has it."""
    hidden = {"model": {"parameters"}, "result": {"bandwidth", "iterations", "converged"}}
    shown = {name: part for name, part in record.items() if name != "plan"}
    for name, steps in hidden.items():
        shown[name] = {key: value for key, value in record[name].items() if key not in steps}
    return shown


def _versions() -> dict[str, str]:
    found = {"softkern": version("softkern"), "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _plain(value: Any) -> Any:
    """What JSON does not know, in its words."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return str(value)
