"""Functions applied to the chunks of Dask arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from softkern._utils.typing import Array
from softkern.exceptions import DataError

__all__ = ["map_rows"]


def map_rows(
    function: Callable[..., Array],
    X: Any,
    *others: Any,
    name: str,
    like: Any,
    numbered: bool = False,
    **fixed: Any,
) -> Any:
    """Apply a function to the chunks of Dask arrays, lazily.

    Parameters
    ----------
    function : callable
        Takes a chunk of X (b, d), chunks of the other arrays, and the fixed values.
    X : dask array of shape (n, d)
        In chunks of whole rows.
    *others : dask arrays of shape (n, c)
        In the same chunks.
    name : str
        Name of the tasks, for Dask's dashboard.
    like : array
        Has the dtype of the result and, after the first axis, its shape.
    numbered : bool, default=False
        Whether the function takes the row numbers (b,) as well, as `number`.
    **fixed : values, or results of `softkern.dask.broadcast`

    Returns
    -------
    dask array of shape (n,) or (n, c)

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.ones((6, 3), chunks=(2, 3))
    >>> map_rows(lambda x: x.sum(axis=1), X, name="sums", like=np.empty(0)).compute()
    array([3., 3., 3., 3., 3., 3.])
    """
    result: dict[str, Any] = {"dtype": like.dtype, "meta": np.empty((0,) * like.ndim, like.dtype)}
    if like.ndim == 1:
        result |= {"drop_axis": 1}
    else:
        result |= {"chunks": (X.chunks[0], (like.shape[1],))}
    options = {"function": function, "numbered": numbered, **fixed}
    return X.map_blocks(_apply_block, *others, token=f"softkern-{name}", **result, **options)


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
        start = block_info[0]["array-location"][0][0]
        fixed["number"] = np.arange(start, start + len(X))
    return function(X, *others, **fixed)
