"""Arrays of other libraries (torch, CuPy) as data: taken to the host, answers given back to them.

Dask arrays are answered by Dask arrays (`softkern.dask.fit`).

As in scikit-learn, answers are arrays of the library and on the device of the data where
``array_api_dispatch`` is set, and NumPy's otherwise. Fitted attributes are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from array_api_compat import (
    array_namespace,
    device,
    is_array_api_obj,
    is_dask_array,
    is_numpy_array,
)
from sklearn import get_config

from softkern._utils.arrays import on_host
from softkern.dask import is_chunked

__all__ = ["answering", "taken"]


def is_foreign(X: Any) -> bool:
    """Whether X is an array of another library; tables and sparse matrices are none."""
    return is_array_api_obj(X) and not is_numpy_array(X) and not is_dask_array(X)


def taken(X: Any) -> Any:
    """Data as the host has them."""
    return on_host(X) if is_foreign(X) else X


def answering(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a model that answers where its data X live; the same where it does already."""
    if getattr(method, "answers_there", False):
        return method

    @wraps(method)
    def answered(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:
        if is_chunked(X) and method.__name__ != "fit_predict":
            from softkern.dask.fit import answer_in_chunks

            return answer_in_chunks(self, method.__name__, X)
        if not is_foreign(X):
            return method(self, X, *arguments, **options)
        answer = method(self, on_host(X), *arguments, **options)
        if not get_config()["array_api_dispatch"] or not isinstance(answer, np.ndarray):
            return answer
        return array_namespace(X).asarray(answer, device=device(X))

    answered.answers_there = True  # type: ignore[attr-defined]
    return answered
