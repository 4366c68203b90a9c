"""Accept torch, CuPy and Dask arrays as data.

Data of another array library are copied to the host. As in scikit-learn, results are arrays of
that library, on the device of the data, where ``array_api_dispatch`` is set, and NumPy arrays
otherwise. Dask arrays give Dask arrays (`softkern.dask.chunks`). Fitted attributes are NumPy
arrays, or Dask arrays after a fit to Dask data.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from array_api_compat import is_array_api_obj
from sklearn import get_config

from softkern._utils.arrays import is_dask, like, on_host


def to_host(X: Any) -> Any:
    """Copy an array of another library to a NumPy array. Return tables and others unchanged."""
    return on_host(X) if is_array_api_obj(X) and not is_dask(X) else X


def dispatch_arrays(method: Callable[..., Any]) -> Any:
    """Let a method of a model, whose first argument is the data X, accept arrays of any library."""

    @wraps(method)
    def dispatched(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:
        if is_dask(X) and method.__name__ != "fit_predict":
            from softkern.dask.chunks import apply_method

            if arguments or options:
                raise TypeError(f"{method.__name__} takes no options for Dask arrays.")
            return apply_method(self, method.__name__, X)
        values = to_host(X)
        result = method(self, values, *arguments, **options)
        if values is X or not get_config()["array_api_dispatch"]:
            return result
        return like(result, X)

    return dispatched
