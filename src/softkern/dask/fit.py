"""Fits to Dask arrays and dataframes, and answers for them, chunk by chunk.

Every model is the same model; what differs is which rows its steps see. Kernel, bandwidth, number
of clusters and starts are read from a sample that stands for all rows (`softkern.dask`). Models
whose loop is array operations alone then run it over all rows, their arrays Dask's; the others, the
alpha tree, the one-class duals and the spectral models, are fitted to the sample. Either way what
is kept is small, and what a model says of all rows, its fitted attributes too, is computed when it
is asked for.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from softkern._utils.progress import stage
from softkern._utils.random import child_seed, fixed_seed
from softkern._utils.typing import Array
from softkern.dask import (
    SUBSAMPLE_ROWS,
    ChunkedRows,
    TableChunks,
    answers,
    computed,
    kept,
    row_chunks,
    shared,
    watched,
)
from softkern.exceptions import DataError
from softkern.models.checks import check_scales
from softkern.planning import plan

__all__ = ["alone", "answer_in_chunks", "fit_in_chunks", "fit_tables"]

PATIENCE = 3600.0  # seconds that products of all pairs may take before a sample has to do


def fit_in_chunks(model: Any, X: Any, sample_weight: Any) -> None:
    """Fit a model of checked parameters."""
    if model._is_precomputed:
        raise ValueError("kernel='precomputed' takes a matrix of this machine, not a Dask array.")
    with watched():
        rows = _rows(model, X, sample_weight)
        model.n_features_in_ = rows.shape[1]
        _keep_names(model, X)
        own = None
        if _runs_over_all(model, rows):
            own = _fit_all(model, rows)
        else:
            _fit_few(model, rows)
        _keep_lazily(model, rows, own)


def fit_tables(model: Any, X: Any, sample_weight: Any) -> None:
    """Fit a model that prepares its table to a sample of the tables of a Dask dataframe."""
    if sample_weight is not None:
        raise ValueError("sample_weight is for numbers: with prepare, rows in chunks weigh one.")
    with watched():
        table = TableChunks.of(X)
        model._fit_seed = fixed_seed(model.random_state)
        numbers, few = table.sample(SUBSAMPLE_ROWS, _seed(model))
        one = clone(model).set_params(random_state=model._fit_seed).fit(few)
        _take_over(model, one)
        scores = np.asarray(one.outlier_scores_)
        model.sample_rows_, model.sample_outlier_scores_ = numbers, scores
        model.sample_row_weights_ = np.full(len(numbers), table.rows / len(numbers))
        _keep_tables(model, table, few)


def _keep_tables(model: Any, table: TableChunks, few: Any) -> None:
    """Fitted attributes of all rows, as Dask arrays."""
    one = alone(model)
    for name, method in model._row_methods().items():
        like = np.asarray(getattr(one, method)(few.iloc[:1]))
        is_score = name == "outlier_scores_"
        known = (model.sample_rows_, model.sample_outlier_scores_) if is_score else None
        fixed = {"model": one, "method": method, "known": known}
        setattr(model, name, table.answers(_answer_of_table, like[:0], **fixed))
    ones = np.ones(1, dtype=one.sample_weight_.dtype)
    model.sample_weight_ = table.answers(_ones_of_table, ones[:0])


def _answer_of_table(table: Any, start: int, model: Any, method: str, known: Any = None) -> Array:
    """What a method says of a table, of rows of the sample what is known of them."""
    answer = np.asarray(getattr(model, method)(table))
    number = np.arange(start, start + len(table))
    return answer if known is None else _with_known(answer, number, *known)


def _ones_of_table(table: Any, start: int) -> Array:
    return np.ones(len(table))


def _seed(model: Any) -> int:
    return child_seed(model._fit_seed)


def _take_over(model: Any, one: Any) -> None:
    """What another model of the same kind has found."""
    given = set(model.get_params(deep=False))
    vars(model).update({k: v for k, v in vars(one).items() if k not in given})


def _rows(model: Any, X: Any, sample_weight: Any) -> ChunkedRows:
    size = int((model.engine_params or {}).get("sample_rows", SUBSAMPLE_ROWS))
    with stage("looking at all rows"):
        rows = ChunkedRows.of(X, sample_weight, size=size, seed=_seed(model))
    check_scales(np.vstack([rows.low, rows.high]))
    return rows


def _keep_names(model: Any, X: Any) -> None:
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    names = list(getattr(X, "columns", ()))
    if names and all(isinstance(name, str) for name in names):
        model.feature_names_in_ = np.array(names, dtype=object)


def _runs_over_all(model: Any, rows: ChunkedRows) -> bool:
    """Whether the model's loop runs over all rows, not over the sample alone.

    A sample of all rows will do, unless chunks are asked for; so will any where landmarks are not
    enough and all pairs of rows would take too long.
    """
    if not model._loops_in_chunks:
        return False
    if model.engine != "auto" or "rank" in (model.engine_params or {}):
        return True
    if rows.few.is_whole:
        return False
    products = model._expected_products()
    chosen = plan(
        rows,
        kernel=model.kernel,
        kernel_params=model.kernel_params,
        bandwidth=model._bandwidth_rule(),
        products=products,
        engine_params=model.engine_params,
        random_state=model._fit_seed,
    )
    return chosen.options["rank"] is not None or chosen.product_seconds * products < PATIENCE


def _fit_all(model: Any, rows: ChunkedRows) -> Any:
    """Fit the model over all rows; returns the rows' own parts in the kernel sums."""
    model.sample_weight_ = rows.weight
    with config_context(assume_finite=True):
        return model._fit(rows, rows.weight)


def _fit_few(model: Any, rows: ChunkedRows) -> None:
    """The fit of the same model to the sample, taken over."""
    few, one = rows.few, clone(model)
    is_here = model.engine != "distributed"
    of_chunks = {"sample_rows", "local", *(() if is_here else ("rank",))}
    options = {k: v for k, v in (model.engine_params or {}).items() if k not in of_chunks}
    engine = model.engine if is_here else "auto"
    one.set_params(engine=engine, engine_params=options or None, random_state=model._fit_seed)
    init = getattr(model, "init", None)
    if init is not None and not isinstance(init, str):
        one.set_params(init=np.asarray(init[few.rows]))
    one.fit(few.X, sample_weight=few.weight)
    _take_over(model, one)
    if hasattr(model, "support_"):
        model.support_ = few.rows[model.support_]


# What is said of all rows


def _keep_lazily(model: Any, rows: ChunkedRows, own: Any) -> None:
    """Fitted attributes of all rows, as Dask arrays."""
    is_few, few = own is None, rows.few
    one = alone(model)
    vars(one).pop("feature_names_in_", None)  # chunks are arrays without names
    if is_few:
        of_few = np.asarray(model.outlier_scores_)
    else:
        own = kept(own)  # else the whole loop would stay behind it, to be computed again
        of_few = _scores_by_others(few.X, computed(own[few.rows])[0], few.rows, one)
    total = float(computed(rows.weight.sum(dtype=np.float64))[0])
    model.sample_rows_, model.sample_outlier_scores_ = few.rows, of_few
    model.sample_row_weights_ = few.weight * (total / few.weight.sum(dtype=np.float64))
    model.sample_weight_ = rows.weight
    for name, method in model._row_methods().items():
        setattr(model, name, _answers(one, method, rows.X))
    fixed = {"name": "outlier-scores", "like": np.empty(0, rows.dtype), "model": shared(one)}
    if is_few:
        fixed |= {"rows": shared(few.rows), "known": shared(of_few)}
        model.outlier_scores_ = answers(_known_scores, rows.X, rows.numbers, **fixed)
    else:
        model.outlier_scores_ = answers(_scores_by_others, rows.X, own, rows.numbers, **fixed)


def alone(model: Any) -> Any:
    """The fitted model without what it says of all rows, to be sent to workers."""
    one = copy.copy(model)
    one._drop_caches()
    for name in model._row_methods():
        vars(one).pop(name, None)
    one.sample_weight_ = np.ones(1, dtype=model.sample_weight_.dtype)
    return one


def answer_in_chunks(
    model: Any, method: str, X: Any, *columns: Any, like: Array | None = None
) -> Any:
    """What a method of a fitted model says of every chunk, as a Dask array.

    It takes those of the columns (n, c) as well. `like` shows the answer's dtype and shape; what
    is said of a row of the support does otherwise.
    """
    check_is_fitted(model)
    if getattr(model, "preparation_", None) is not None:
        return _answer_tables(model, method, X)
    names, known = getattr(X, "columns", None), getattr(model, "feature_names_in_", None)
    if names is not None and known is not None and list(names) != list(known):
        raise DataError(
            f"X has the columns {list(names)[:8]}, but the model was fitted with "
            f"{list(known)[:8]}; select them in that order."
        )
    X = row_chunks(X)
    if X.shape[1] != model.n_features_in_:
        raise DataError(
            f"X has {X.shape[1]} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    return _answers(alone(model), method, X, *columns, like=like)


def _answer_tables(model: Any, method: str, X: Any) -> Any:
    """The same of a model that prepares its table."""
    one, table = alone(model), TableChunks.of(X)
    like = np.asarray(getattr(one, method)(table.sample(1)[1]))
    return table.answers(_answer_of_table, like[:0], model=one, method=method)


def _answers(one: Any, method: str, X: Any, *columns: Any, like: Array | None = None) -> Any:
    vars(one).pop("feature_names_in_", None)  # chunks are arrays without names
    if like is None:
        like = np.asarray(getattr(one, method)(one.support_vectors_[:1]))
    fixed = {"model": shared(one), "method": method}
    name = method.strip("_").replace("_", "-")
    return answers(_answer, X, *columns, name=name, like=like[:0], **fixed)


def _answer(X: Array, *columns: Array, model: Any, method: str) -> Array:
    return np.asarray(getattr(model, method)(X, *columns))


def _known_scores(X: Array, number: Array, model: Any, rows: Array, known: Array) -> Array:
    """Outlier scores of a chunk; those of rows of the sample are known, each by the others."""
    return _with_known(np.asarray(model.outlier_scores(X)), number, rows, known)


def _with_known(answer: Array, number: Array, rows: Array, known: Array) -> Array:
    """Answers of rows with these numbers, of some of which it is known."""
    place = np.minimum(np.searchsorted(rows, number), rows.size - 1)
    return np.where(rows[place] == number, known[place], answer)


def _scores_by_others(X: Array, own: Array, number: Array, model: Any) -> Array:
    """Outlier scores of a chunk, each row without its own part in the centers."""
    return np.asarray(model._leave_one_out_scores(X, own, number))
