"""Functions and methods of fitted models, applied to the chunks of Dask arrays and dataframes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from softkern._utils.typing import Array
from softkern.dask.cluster import broadcast, compute
from softkern.dask.rows import row_chunks
from softkern.exceptions import DataError
from softkern.models.state_schema import without_rows
from softkern.rows import lowest_numbers


def map_rows(
    function: Callable[..., Array],
    X: Any,
    *others: Any,
    name: str,
    like: Any,
    numbered: bool = False,
    **fixed: Any,
) -> Any:
    """Apply a function to the chunks of Dask arrays (n, d) of whole rows, lazily.

    The function takes a chunk of each array and the fixed values, and with `numbered` the row
    numbers (b,) as `number`. `like` has the dtype of the result and, after the first axis, its
    shape. `name` is shown on Dask's dashboard.
    """
    shape: dict[str, Any] = {"drop_axis": 1}
    if like.ndim == 2:
        shape = {"chunks": (X.chunks[0], (like.shape[1],))}
    options = {"function": function, "numbered": numbered, "token": f"softkern-{name}", **shape}
    options |= {key: broadcast(value) for key, value in fixed.items()}
    return X.map_blocks(_apply_block, *others, meta=like, **options)


def _apply_block(
    X: Array,
    *others: Array,
    function: Callable[..., Array],
    numbered: bool,
    block_info: Any,
    **fixed: Any,
) -> Array:
    """Apply a function to one chunk, and locate values that are not finite."""
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if bad.size:
        chunk = block_info[0]["chunk-location"][0]
        raise DataError(
            f"X holds a value that is not finite in chunk {chunk}, row {bad[0]} of it; correct or "
            "remove it."
        )
    if numbered:
        fixed["number"] = chunk_rows(block_info)
    return function(X, *others, **fixed)


def chunk_rows(block_info: Any) -> NDArray[np.int64]:
    """Row numbers of a chunk, from what Dask's `map_blocks` passes."""
    return np.arange(*block_info[0]["array-location"][0])


@dataclass(frozen=True)
class TableChunks:
    """Parts of a Dask dataframe, or of an array as one."""

    parts: list[Any]  # lazy tables
    lengths: tuple[int, ...]  # number of rows of each part

    @classmethod
    def of(cls, X: Any) -> TableChunks:
        """Collect the parts that have rows. One pass counts them."""
        import pandas as pd
        from dask import delayed

        if hasattr(X, "columns"):
            parts = X.to_delayed()
            lengths = compute(*(delayed(len)(part) for part in parts))
            filled = [(part, int(n)) for part, n in zip(parts, lengths, strict=True) if n]
            if not filled:
                raise DataError("the table has no rows.")
            return cls([part for part, _ in filled], tuple(n for _, n in filled))
        X = row_chunks(X)
        columns = [f"x{k + 1}" for k in range(X.shape[1])]
        blocks = X.to_delayed().ravel()
        return cls([delayed(pd.DataFrame)(block, columns=columns) for block in blocks], X.chunks[0])

    @property
    def rows(self) -> int:
        """Number of rows of all parts."""
        return sum(self.lengths)

    def sample(self, size: int, seed: int = 0) -> tuple[NDArray[np.int64], Any]:
        """Draw rows that represent all. Return their numbers and a table of them."""
        import pandas as pd

        numbers = lowest_numbers(self.rows, size, seed)
        starts = np.cumsum([0, *self.lengths])[:-1]
        chosen = np.split(numbers, np.searchsorted(numbers, starts[1:]))
        tables = compute(
            *(
                part.iloc[rows - start]
                for part, rows, start in zip(self.parts, chosen, starts, strict=True)
                if rows.size
            )
        )
        return numbers, pd.concat(tables, ignore_index=True)


# Methods of fitted models


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
    import dask.array as da
    from dask import delayed

    if not isinstance(X, TableChunks):
        name, like = method.replace("_", "-"), _call(small.support_vectors_[:1], small, method)
        return map_rows(_call, X, name=name, like=like[:0], model=small, method=method)
    like, call, model = _call(example, small, method), delayed(_call), broadcast(small)
    arrays = [
        da.from_delayed(call(part, model, method), (n, *like.shape[1:]), like.dtype)
        for part, n in zip(X.parts, X.lengths, strict=True)
    ]
    return da.concatenate(arrays)


def _call(X: Array, model: Any, method: str) -> Array:
    return np.asarray(getattr(model, method)(X))
