"""Methods of fitted models, applied to every chunk of Dask data."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softkern._utils.typing import Array
from softkern.dask.chunks import TableChunks, map_rows
from softkern.dask.cluster import broadcast
from softkern.dask.rows import row_chunks
from softkern.exceptions import DataError
from softkern.models.state_schema import row_methods


def apply_method(model: Any, method: str, X: Any) -> Any:
    """Apply a method of a fitted model to Dask data. The result is a Dask array."""
    check_is_fitted(model)
    if getattr(model, "preparation_", None) is not None:
        table = TableChunks.of(X)
        return map_table_method(without_rows(model), method, table, table.sample(1)[1])
    names, expected = getattr(X, "columns", None), getattr(model, "feature_names_in_", None)
    if names is not None and expected is not None and list(names) != list(expected):
        raise DataError(
            f"X has the columns {list(names)[:8]}, but the model was fitted with "
            f"{list(expected)[:8]}; select them in that order."
        )
    X = row_chunks(X)
    if X.shape[1] != model.n_features_in_:
        raise DataError(
            f"X has {X.shape[1]} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    return map_method(worker_copy(model), method, X)


def without_rows(model: Any) -> Any:
    """Copy a fitted model without its results for the training rows."""
    small = copy.copy(model)
    for name in row_methods(type(model)):
        vars(small).pop(name, None)
    small.sample_weight_ = np.ones(1, dtype=model.sample_weight_.dtype)
    return small


def worker_copy(model: Any) -> Any:
    """Copy a fitted model for workers, whose chunks are arrays without column names."""
    small = without_rows(model)
    vars(small).pop("feature_names_in_", None)
    return small


def map_method(small: Any, method: str, X: Any) -> Any:
    """Apply a method of a model that `worker_copy` returned to the chunks of X."""
    like = np.asarray(getattr(small, method)(small.support_vectors_[:1]))
    fixed = {"model": broadcast(small), "method": method}
    return map_rows(_call, X, name=method.replace("_", "-"), like=like[:0], **fixed)


def _call(X: Array, model: Any, method: str) -> Array:
    return np.asarray(getattr(model, method)(X))


def map_table_method(small: Any, method: str, table: TableChunks, example: Any) -> Any:
    """Apply a method of a model that prepares its data to the parts of a table.

    `example` is one row of the table.
    """
    like = np.asarray(getattr(small, method)(example))
    return table.map_rows(_call, like[:0], model=small, method=method)
