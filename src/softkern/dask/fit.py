"""Fits to Dask arrays and dataframes.

Kernel, bandwidth, number of clusters and initialization come from a subsample that represents all
rows. Models whose loop needs array operations only then run it over all rows, as Dask arrays. The
other models are fitted to the subsample. The fitted model is small either way. Its attributes
with one value per row are Dask arrays, computed on demand. `SoftModel.fit` calls `fit`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone

from softkern._utils.progress import stage
from softkern._utils.random import child_seed
from softkern._utils.typing import Array
from softkern.dask.chunks import TableChunks, chunk_rows, map_method, map_rows, worker_copy
from softkern.dask.cluster import broadcast, cluster_watchdog, compute, persist
from softkern.dask.plan import ENGINE, OPTIONS, build, plan_chunks
from softkern.dask.rows import SUBSAMPLE_ROWS, ChunkedRows
from softkern.dask.self_exclusion import calibrate_density, self_excluded_scores
from softkern.models.checks import check_scales
from softkern.models.fuzzy import FuzzyCMeans, OutlierFuzzyCMeans
from softkern.models.one_class_pcm import OneClassPCM
from softkern.models.possibilistic import PossibilisticCMeans
from softkern.models.state_schema import row_methods
from softkern.planning import Plan
from softkern.rows import Rows

# Models whose loop runs over all rows.
LOOPS = (FuzzyCMeans, PossibilisticCMeans, OneClassPCM)
PATIENCE = 3600.0  # seconds for products of all pairs, beyond which the subsample has to do


def fit(model: Any, X: Any, sample_weight: Any) -> None:
    """Fit a model with checked parameters to a Dask array or dataframe."""
    with cluster_watchdog():
        if getattr(model, "prepare", False) is not False:
            _fit_table(model, X, sample_weight)
        else:
            _fit_rows(model, X, sample_weight)


def _fit_rows(model: Any, X: Any, sample_weight: Any) -> None:
    """Fit a model to numbers: all rows where its loop can run over them, else the subsample."""
    if model._is_precomputed:
        raise ValueError("kernel='precomputed' needs a matrix in memory, not a Dask array.")
    size = int((model.engine_params or {}).get("sample_rows", SUBSAMPLE_ROWS))
    with stage("checking all rows"):
        rows = ChunkedRows.of(X, sample_weight, size=size, seed=child_seed(model._fit_seed))
    check_scales(np.vstack([rows.low, rows.high]))
    model.n_features_in_ = len(rows.low)
    names = list(getattr(X, "columns", ()))
    if names and all(isinstance(name, str) for name in names):
        model.feature_names_in_ = np.array(names, dtype=object)
    chosen, sample = _loop_plan(model, rows), rows.subsample
    if chosen is None:
        _fit_subsample(model, rows)
        scores = np.asarray(model.outlier_scores_)
    else:
        own = _fit_all(model, rows, chosen)
        part = compute(own[sample.rows])[0]
        scores = self_excluded_scores(sample.X, part, sample.rows, worker_copy(model))
    total = float(compute(rows.weight.sum(dtype=np.float64))[0])
    weights = sample.weight * (total / sample.weight.sum(dtype=np.float64))
    model.sample_weight_ = rows.weight
    _set_row_attributes(model, rows.X, (sample.rows, weights, scores))
    if chosen is not None:
        options: dict[str, Any] = {"name": "outlier-scores", "like": scores[:0], "numbered": True}
        small = worker_copy(model)
        model.outlier_scores_ = map_rows(self_excluded_scores, rows.X, own, **options, model=small)


def _fit_table(model: Any, X: Any, sample_weight: Any) -> None:
    """Fit a model that prepares its data to a subsample of a Dask dataframe."""
    import dask.array as da

    if sample_weight is not None:
        raise ValueError(
            "sample_weight is not supported for Dask data with prepare; use prepare=False."
        )
    table = TableChunks.of(X)
    numbers, sample = table.sample(SUBSAMPLE_ROWS, child_seed(model._fit_seed))
    _fit_clone(model, sample)
    weights, scores = np.full(len(numbers), table.rows / len(numbers)), model.outlier_scores_
    dtype = model.sample_weight_.dtype
    model.sample_weight_ = da.ones(table.rows, chunks=(table.lengths,), dtype=dtype)
    _set_row_attributes(model, table, (numbers, weights, np.asarray(scores)), sample.iloc[:1])


def _loop_plan(model: Any, rows: ChunkedRows) -> Plan | None:
    """Plan the loop over all rows, or return None to fit the subsample.

    Unless an engine is requested, a complete subsample is fitted as a table in memory, and so is
    any where landmarks do not suffice and all pairs of rows would take too long.
    """
    if not isinstance(model, LOOPS):
        return None
    is_requested = model.engine != "auto" or "rank" in (model.engine_params or {})
    if rows.subsample.is_complete and not is_requested:
        return None
    chosen = plan_chunks(rows, **model._plan_options())
    if is_requested or chosen.options["rank"] is not None:
        return chosen
    return chosen if chosen.product_seconds * chosen.problem.products < PATIENCE else None


def _fit_all(model: Any, rows: ChunkedRows, chosen: Plan) -> Any:
    """Run the loop over all rows, and return each row's own part in the centers, (n, c)."""
    weight, sample = rows.weight, rows.subsample
    model.sample_weight_ = weight
    with config_context(assume_finite=True):
        if hasattr(model, "n_clusters"):
            model._choose_number(Rows(sample.X, sample.weight))
            options = model._plan_options(chosen.kernel)
            chosen = plan_chunks(rows, **options, n_vectors=model.n_clusters_)
        operator = model._build(chosen, rows, build)
        solution = model._solve(operator, weight)
        model._store_solution(operator, solution)
        own = persist(solution.coefficients * operator.diag()[:, None])  # releases the loop's graph
        if isinstance(model, OneClassPCM):
            model._choose_scales(*operator.subsample(weight))
            calibrate_density(model, rows, own)
        else:
            model._warn_of_collapse(solution)
        if isinstance(model, OutlierFuzzyCMeans):
            model._weigh_outliers(solution.geometry, weight)
    return own


def _fit_subsample(model: Any, rows: ChunkedRows) -> None:
    """Fit the model to the subsample."""
    sample, is_local, init = rows.subsample, model.engine != ENGINE, getattr(model, "init", None)
    dropped = OPTIONS[1:] if is_local else OPTIONS
    options = {k: v for k, v in (model.engine_params or {}).items() if k not in dropped}
    params = {"engine": model.engine if is_local else "auto", "engine_params": options or None}
    if init is not None and not isinstance(init, str):
        params["init"] = np.asarray(init[sample.rows])
    _fit_clone(model, sample.X, sample.weight, **params)
    if hasattr(model, "support_"):
        model.support_ = sample.rows[model.support_]


def _fit_clone(model: Any, X: Any, sample_weight: Any = None, **params: Any) -> None:
    """Fit a clone with other parameters, and copy its results."""
    fitted = clone(model).set_params(random_state=model._fit_seed, **params)
    fitted.fit(X, sample_weight=sample_weight)
    names = set(model.get_params(deep=False))
    vars(model).update({k: v for k, v in vars(fitted).items() if k not in names})


def _set_row_attributes(
    model: Any, X: Any, sample: tuple[Array, Array, Array], example: Any = None
) -> None:
    """Set the fitted attributes of all rows of X as Dask arrays, and those of a sample.

    `sample` holds row numbers, weights that represent all rows, and outlier scores. These exclude
    the row itself, and replace those of the same rows among all. `example` is one row of a table.
    """
    model.sample_rows_, model.sample_row_weights_, model.sample_outlier_scores_ = sample
    small = worker_copy(model)
    for name, method in row_methods(type(model)).items():
        setattr(model, name, map_method(small, method, X, example))
    rows, _, scores = sample
    model.outlier_scores_ = model.outlier_scores_.map_blocks(
        _insert_scores,
        rows=broadcast(rows),
        scores=broadcast(scores),
        meta=np.empty(0, scores.dtype),
    )


def _insert_scores(values: Array, rows: Array, scores: Array, block_info: Any) -> Array:
    """Replace the values of rows whose numbers are among `rows` by their `scores`."""
    number = chunk_rows(block_info)
    place = np.minimum(np.searchsorted(rows, number), rows.size - 1)
    return np.where(rows[place] == number, scores[place], values)
