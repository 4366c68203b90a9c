"""What run.json, and the last part of the page, record about an analysis."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pandas as pd

from softkern.tables.cli.clock import Clock
from softkern.tables.cli.options import AnalyzeSettings
from softkern.tables.cli.parts import Summary
from softkern.tables.cli.source import digest_of
from softkern.tables.cli.table_input import TableInput

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "finufft", "pandas", "safetensors", "bokeh")
# fields for readers who know the methods; run.json always has them
DETAILS = {"model": {"parameters"}, "result": {"bandwidth", "iterations", "converged"}}


def make_record(
    settings: AnalyzeSettings,
    clock: Clock,
    data: TableInput,
    model: Any,
    ranks: pd.DataFrame,
    all_rows: Summary | None,
) -> dict[str, Any]:
    """Return the record of an analysis. `all_rows` are the results of a table in parts."""
    labels = ranks["label"]
    parameters = model.get_params(deep=False)
    del parameters["verbose"]
    fit = settings.fit
    record = {
        "started": clock.started.isoformat(timespec="seconds"),
        "input": {
            "file": settings.data,
            "digest": digest_of(settings.data),
            "kind": data.reader.kind,
            "rows": len(data.table) if all_rows is None else all_rows.rows,
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
    }
    if all_rows is not None:
        record["all_rows"] = {
            "rows": all_rows.rows,
            "sizes": all_rows.sizes,
            "in_no_cluster": all_rows.labels[-1],
            "outliers": all_rows.outliers,
            "overlaps": all_rows.overlaps,
            "notes": all_rows.notes,
        }
    return record


def without_details(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record without the fields in `DETAILS`, and without the plan."""
    shown = {name: part for name, part in record.items() if name != "plan"}
    for name, details in DETAILS.items():
        shown[name] = {key: value for key, value in record[name].items() if key not in details}
    return shown


def _versions() -> dict[str, str]:
    found = {"softkern": version("softkern"), "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
