"""`softkern score`: score new rows with a saved model, chunk by chunk."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from softkern._utils.text import plural, quote
from softkern.files import replacing
from softkern.tables.cli.errors import OutputError
from softkern.tables.cli.job import open_source
from softkern.tables.cli.options import STDOUT, ScoreSettings
from softkern.tables.cli.output_folder import check_file, results_folder
from softkern.tables.cli.parts import Parts
from softkern.tables.cli.points import joined
from softkern.tables.cli.printer import Printer
from softkern.tables.cli.scorer import SavedModel, Scorer
from softkern.tables.cli.writing import write_chunks


def score(settings: ScoreSettings) -> None:
    """Score the table. The file or folder `settings.out` appears at the end."""
    parts = Parts.of(settings)
    if parts is not None:
        _score_parts(settings, parts)
        return
    is_stream = settings.out == STDOUT
    printer = Printer(settings.quiet, to_stderr=is_stream)
    if not is_stream:
        check_file(Path(settings.out), settings.force)
    saved = SavedModel(settings.model)
    form = saved.format(settings.data, settings.format)
    with open_source(settings.data, settings.join) as source, source.open(form) as reader:
        printer.line(f"{reader.name}: {reader.kind}, {plural(len(reader.columns), 'column')}")
        scorer = Scorer(saved, reader, settings, printer)
        with (
            nullcontext(STDOUT) if is_stream else replacing(settings.out) as path,
            source.open(form) if settings.join else nullcontext() as again,
        ):
            tables, style = scorer.tables(), None
            if again is not None:
                rows = settings.chunk or reader.rows_at_once()
                tables, style = joined(again, scorer.tables(rows), rows), again.style
            count = write_chunks(tables, str(path), settings.out, style, settings.raw_text)
    printer.notes(reader.notes + scorer.notes())
    where = "" if is_stream else f" into {settings.out}"
    printer.line(f"scored {plural(count, 'row')}{where}", "bold")


def _score_parts(settings: ScoreSettings, parts: Parts) -> None:
    """Score a table in parts into a folder."""
    data, out = quote(settings.data), settings.out
    if out == STDOUT:
        raise OutputError(f"{data} is a table in parts; -o must name a folder.")
    printer = Printer(settings.quiet)
    with printer.stages():
        printer.line(f"{data}: {parts.kind}")
        with results_folder(Path(out), parts.names, settings.force) as folder:
            found = parts.score(folder, settings)
        printer.notes(found.notes)
        into = f"into {len(parts.names)} parts in {out}"
        printer.line(f"scored {plural(found.rows, 'row')} {into}", "bold")
