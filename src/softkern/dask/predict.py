"""Methods of fitted models, applied to every chunk of Dask data."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softkern._utils.typing import Array
from softkern.dask.chunks import TableChunks, map_rows
from softkern.dask.rows import row_chunks
from softkern.exceptions import DataError
from softkern.models.state_schema import row_methods


def apply_method(model: Any, method: str, X: Any) -> Any:
    """Apply a method of a fitted model to Dask data. The result is a Dask array."""
    check_is_fitted(model)
    if getattr(model, "preparation_", None) is not None:
        table = TableChunks.of(X)
        return map_method(worker_copy(model), method, table, table.sample(1)[1])
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
    """Copy a fitted model for workers, whose chunks of arrays have no column names."""
    small = without_rows(model)
    if getattr(model, "preparation_", None) is None:
        vars(small).pop("feature_names_in_", None)
    return small


def map_method(small: Any, method: str, X: Any, example: Any = None) -> Any:
    """Apply a method of a `worker_copy` to the chunks of an array or a table, lazily.

    `example` is one row of a table.
    """
    is_table = isinstance(X, TableChunks)
    like = np.asarray(getattr(small, method)(example if is_table else small.support_vectors_[:1]))
    if is_table:
        return X.map_rows(_call, like[:0], model=small, method=method)
    name = method.replace("_", "-")
    return map_rows(_call, X, name=name, like=like[:0], model=small, method=method)


def _call(X: Array, model: Any, method: str) -> Array:
    return np.asarray(getattr(model, method)(X))
