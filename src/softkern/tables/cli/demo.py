"""`softkern demo`: analyze and score generated data, and show the commands."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from softkern.files import replacing
from softkern.tables.cli.analyze import analyze
from softkern.tables.cli.options import AnalyzeSettings, DemoSettings, ScoreSettings
from softkern.tables.cli.output_folder import check_free
from softkern.tables.cli.printer import Printer
from softkern.tables.cli.score import score
from softkern.tables.cli.writing import write_chunks


def demo(settings: DemoSettings) -> None:
    """Write data.csv and tomorrow.csv, analyze the first and score the second."""
    out, printer = settings.out, Printer(False)
    out.mkdir(parents=True, exist_ok=True)
    today, tomorrow = out / "data.csv", out / "tomorrow.csv"
    check_free(today, force=(out / "run.json").exists())  # only an earlier demo is replaced
    for path, points in ((today, generate(1500, 0)), (tomorrow, generate(20, 1))):
        names = [f"{path.stem[0]}{i + 1:04d}" for i in range(len(points))]
        table = pd.DataFrame({"name": names, "length": points[:, 0], "width": points[:, 1]})
        with replacing(path) as temporary:
            write_chunks([table], str(temporary))
    printer.line("A ring around a ball, two clusters that touch, and a few outliers.\n")
    has_page = find_spec("bokeh") is not None
    without = "" if has_page else " --no-report"
    printer.line(f"$ softkern analyze {today} --id name -o {out}{without}", "bold cyan")
    analyze(AnalyzeSettings(data=str(today), out=out, id="name", report=has_page, force=True))
    model, scored = out / "model.safetensors", out / "scored.csv"
    printer.line(f"\n$ softkern score {model} {tomorrow} -o {scored}", "bold cyan")
    score(ScoreSettings(model=model, data=str(tomorrow), out=str(scored), force=True))
    if has_page:
        printer.line(f"\nopen {out / 'report.html'}", "bold")
    else:
        printer.line("\nfor the page with pictures: pip install 'softkern[report]'", "bold")


def generate(n: int, seed: int) -> NDArray[np.float64]:
    """Return about n points: a ring around a ball, two clusters that touch, a few outliers."""
    r = np.random.default_rng(seed)
    tenth = n // 10
    angle = r.uniform(0, 2 * np.pi, 4 * tenth)
    parts = [
        np.column_stack([np.cos(angle), np.sin(angle)]) * r.normal(3, 0.2, (4 * tenth, 1)),
        r.normal([6.0, 2.0], 0.6, (3 * tenth, 2)),
        r.normal([8.5, 2.6], 0.6, (2 * tenth, 2)),
        r.normal(0, 0.35, (tenth, 2)),
        r.uniform([-6, -6], [13, 8], (max(1, n // 100), 2)),
    ]
    return np.concatenate(parts)
