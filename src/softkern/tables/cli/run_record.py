"""What run.json, and the last part of the page, record about an analysis."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from softkern.fitted import choice_of
from softkern.tables.cli.job import Job, digest_of
from softkern.tables.cli.parts import Summary
from softkern.tables.cli.table_input import TableInput

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "finufft", "pandas", "safetensors", "bokeh")
# fields for readers who know the methods; run.json always has them
DETAILS = {"model": {"parameters"}, "result": {"bandwidth", "iterations", "converged"}}


def make_record(
    job: Job, data: TableInput, model: Any, warned: list[str], found: Summary, whole: Summary | None
) -> dict[str, Any]:
    """Return the record of an analysis, and for a table in parts of its `whole` results."""
    settings = job.settings
    parameters = model.get_params(deep=False)
    del parameters["verbose"]
    record = {
        "started": job.clock.started.isoformat(timespec="seconds"),
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
        "seconds": dict(job.clock.seconds),
    }
    if whole is not None:
        record["all_rows"] = {"rows": whole.rows, **whole.counts(), "notes": whole.notes}
    return record | {"warnings": warned, "choice": choice_of(model)}


def page_details(record: dict[str, Any], verbose: bool) -> dict[str, Any]:
    """Return what the page shows: no choice, which it has elsewhere, and without `verbose` less."""
    if verbose:
        return {name: part for name, part in record.items() if name != "choice"}
    shown = {name: part for name, part in record.items() if name not in ("choice", "plan")}
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
