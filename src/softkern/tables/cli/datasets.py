"""`softkern datasets`: what can be had by name."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pandas as pd

from softkern import datasets
from softkern._utils.text import nearest
from softkern.datasets.folder import place_of
from softkern.files import replacing
from softkern.tables.cli.output_folder import check_file
from softkern.tables.cli.points import write_chunks
from softkern.tables.cli.printer import Printer
from softkern.tables.io import TableError

__all__ = ["list_sets", "write_set"]

GENERATED: dict[str, Callable[..., Any]] = {
    "dense-regions": datasets.make_dense_regions,
    "six-clusters": datasets.make_six_clusters,
    "gaussian-outliers": datasets.make_gaussian_outliers,
}


def list_sets() -> None:
    """What is there, and where; what is not, and how it is had."""
    rows = [(name, "generated") for name in GENERATED]
    places: dict[str, list[str]] = {}
    for name in datasets.names():
        places.setdefault(place_of(name), []).append(name)
    for place in ("scikit-learn", "data folder"):
        rows += [(name, place) for name in places.get(place, [])]
    printer = Printer(False)
    printer.table(("name", "found in"), rows)
    printer.line("softkern datasets NAME -o FILE.csv writes one.")
    if "OpenML" in places:
        printer.line(f"From OpenML, by a network: {', '.join(places['OpenML'])}.")
    if "" in places:
        printer.line(f"Known by name and not here: {', '.join(places[''])}.")
        printer.line("The variable SOFTKERN_DATA names a folder that holds them as CSV.")


def write_set(name: str, out: str, force: bool) -> None:
    """One set as CSV, its labels in the last column."""
    if name in GENERATED:
        X, y = GENERATED[name](random_state=0)
        table = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "label": y})
    else:
        try:
            found = datasets.load_dataset(name)
        except (OSError, ValueError) as error:
            known = [*GENERATED, *datasets.names()]
            meant = "" if name in known else nearest(name, known)
            guess = f" Did you mean {meant}?" if meant else ""
            raise TableError(f"{error}{guess}") from error
        table = found.data if found.target is None else found.data.assign(label=found.target)
    if out != "-":
        check_file(Path(out), force)
    with nullcontext("-") if out == "-" else replacing(out) as path:
        rows = write_chunks([table], str(path), out)
    Printer(False, to_stderr=True).line(f"{name}: {rows:,} rows × {table.shape[1]:,} columns")
