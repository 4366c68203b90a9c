"""`softkern datasets`: what can be had by name."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pandas as pd

from softkern import datasets
from softkern.cli._folder import check_file
from softkern.cli._points import write_chunks
from softkern.cli._say import Say
from softkern.cli.tables import TableError
from softkern.files import replacing

__all__ = ["list_sets", "write_set"]

GENERATED: dict[str, Callable[..., Any]] = {
    "dense-regions": datasets.make_dense_regions,
    "six-clusters": datasets.make_six_clusters,
    "gaussian-outliers": datasets.make_gaussian_outliers,
}


def list_sets() -> None:
    """Every name, and where its rows come from."""
    folder = datasets.data_folder()
    rows = [(name, "generated") for name in GENERATED]
    for name in datasets.names():
        has_file = folder is not None and any(
            (folder / f"{name}{suffix}").is_file() for suffix in (".csv", ".csv.gz")
        )
        rows.append((name, "data folder" if has_file else "scikit-learn, OpenML or a data folder"))
    say = Say(False)
    say.table(("name", "found in"), rows)
    say.line("softkern datasets NAME -o FILE.csv writes one; the variable SOFTKERN_DATA names the")
    say.line("data folder.")


def write_set(name: str, out: str, force: bool) -> None:
    """One set as CSV, its labels in the last column."""
    if name in GENERATED:
        X, y = GENERATED[name](random_state=0)
        table = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "label": y})
    else:
        try:
            found = datasets.load(name)
        except (OSError, ValueError) as error:
            raise TableError(str(error)) from error
        table = found.data if found.target is None else found.data.assign(label=found.target)
    if out != "-":
        check_file(Path(out), force)
    with nullcontext("-") if out == "-" else replacing(out) as path:
        rows = write_chunks([table], str(path), out)
    Say(False, to_stderr=True).line(f"{name}: {rows:,} rows × {table.shape[1]:,} columns")
