"""What run.json, and the last part of the page, record about an analysis."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from softkern.tables.cli.clock import Clock
from softkern.tables.cli.options import AnalyzeSettings
from softkern.tables.cli.parts import Summary
from softkern.tables.cli.results_folder import digest_of
from softkern.tables.cli.table_input import TableInput

__all__ = ["make_record", "without_details", "write_record"]

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "finufft", "pandas", "safetensors", "bokeh")
# fields that only mean something to those who know the methods; run.json has them
DETAILS = {"model": {"parameters"}, "result": {"bandwidth", "iterations", "converged"}}


def make_record(
    settings: AnalyzeSettings,
    clock: Clock,
    data: TableInput,
    model: Any,
    ranks: pd.DataFrame,
    n_rows: int,
    scored: Sequence[Summary],
) -> dict[str, Any]:
    """Return the record of an analysis of a table of `n_rows` rows, scored in parts or not."""
    labels = ranks["label"]
    parameters = model.get_params(deep=False)
    del parameters["verbose"]
    fit = settings.fit
    return {
        "started": clock.started.isoformat(timespec="seconds"),
        "input": {
            "file": settings.data,
            "digest": digest_of(settings.data),
            "kind": data.reader.kind,
            "rows": n_rows,
            "columns": data.table.shape[1],
            "notes": data.notes,
        },
        "preparation": {
            "rows": len(data.prepared.values),
            "features": data.prepared.features.columns.tolist(),
            "scale": settings.prepare.scale,
            "missing": settings.prepare.missing,
        },
        "model": {
            "name": fit.model.value,
            "estimator": type(model).__name__,
            "parameters": parameters,
            "clusters": "auto" if fit.clusters is None else fit.clusters,
            "contamination": fit.contamination,
        },
        "seed": fit.seed,
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
        **({"all_rows": _record_of_parts(scored)} if scored else {}),
    }


def _record_of_parts(scored: Sequence[Summary]) -> dict[str, Any]:
    """Return what run.json records about all rows of a table in parts."""
    labels = sum((part.labels for part in scored), Counter())
    return {
        "rows": sum(part.rows for part in scored),
        "sizes": [labels[label] for label in sorted(labels) if label >= 0],
        "in_no_cluster": sum(labels[label] for label in labels if label < 0),
        "outliers": sum(part.outliers for part in scored),
        "overlaps": sum(part.overlaps for part in scored),
        "notes": list(dict.fromkeys(note for part in scored for note in part.notes))[:10],
    }


def without_details(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record without the fields in `DETAILS`, and without the plan."""
    shown = {name: part for name, part in record.items() if name != "plan"}
    for name, details in DETAILS.items():
        shown[name] = {key: value for key, value in record[name].items() if key not in details}
    return shown


def write_record(record: dict[str, Any], path: Path) -> None:
    """Write the record as JSON. Bytes of file names that are no text are escaped."""
    text = json.dumps(record, indent=2, ensure_ascii=False, default=_plain)
    path.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")


def _plain(value: Any) -> Any:
    """Return a value that JSON does not know as a list, a number or text."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return str(value)


def _versions() -> dict[str, str]:
    found = {"softkern": version("softkern"), "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
