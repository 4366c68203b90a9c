"""A few sums and extremes over arrays of any library that follows the array API.

Membership rules, center rules, geometry and stopping are written against the array API standard
(`array-api-compat`): the same code runs on NumPy, torch, Dask and whatever follows. NumPy is slow
along short rows; what is quick there has its place here, so that no rule needs a second version.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
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

__all__ = [
    "column_changes",
    "column_sums",
    "is_dask",
    "is_surely_all",
    "like",
    "log_sums",
    "moved",
    "namespace",
    "on_host",
    "principal_axes",
    "row_max",
    "row_min",
    "row_sums",
    "rowwise",
    "weighted_sum",
]

BLOCK_ROWS = 8192  # whose temporary arrays are small beside those of all rows


def namespace(*arrays: Any) -> Any:
    """The array API namespace that the arrays belong to."""
    return array_namespace(*arrays)


def on_host(array: Any) -> Any:
    """An array as NumPy's, from wherever it lives."""
    if is_numpy_array(array):
        return array
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array, dataframe or series; does not import Dask.

    Examples
    --------
    >>> is_dask(np.ones(3))
    False
    """
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def like(array: Any, other: Any) -> Any:
    """A NumPy array where another one lives."""
    if is_numpy_array(other):
        return array
    return namespace(other).asarray(array, device=device(other))


def moved(value: Any, move: Callable[[Any], Any]) -> Any:
    """A value with every array in it moved: of an array itself, or in the fields of dataclasses."""
    if is_array_api_obj(value):
        return move(value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    parts = {part.name: getattr(value, part.name) for part in fields(value) if part.init}
    changed = {name: moved(part, move) for name, part in parts.items()}
    kept = all(changed[name] is part for name, part in parts.items())
    return value if kept else replace(value, **changed)


def rowwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of an array (n, c), and of numbers, that takes every row for itself; (n, c).

    Of a Dask array it is one task a chunk, where its operations would be a dozen.
    """

    @wraps(function)
    def applied(values: Any, *numbers: Any, **named: Any) -> Any:
        if not is_dask_array(values) or values.numblocks[1] > 1:
            return function(values, *numbers, **named)
        name = f"softkern-{function.__name__.replace('_', '-')}"
        kind = {"dtype": values.dtype, "meta": np.empty((0, 0), dtype=values.dtype)}
        return values.map_blocks(function, *numbers, token=name, **kind, **named)

    return applied


def row_sums(values: Any, other: Any = None) -> Any:
    """Σ_k values[:, k], or Σ_k values[:, k] other[:, k], (n,)."""
    if is_numpy_array(values):  # quicker than sums along short rows, and no BLAS threads
        if other is None:
            return np.einsum("ij->i", values)
        return np.einsum("ij,ij->i", values, other)
    xp = namespace(values)
    return xp.sum(values if other is None else values * other, axis=1)


def column_sums(values: Any, weight: Any) -> Any:
    """Σ_i weight[i] values[i, :], (c,)."""
    if is_numpy_array(values):
        return np.einsum("i,ij->j", weight, values)
    xp = namespace(values)
    return xp.sum(weight[:, None] * values, axis=0)


def weighted_sum(values: Any, weight: Any) -> float:
    """Σ_i weight[i] values[i] of an array (n,), as a number."""
    if is_numpy_array(values):
        return float(np.einsum("i,i->", weight, values))
    return float(namespace(values).sum(weight * values))


def row_min(values: Any) -> Any:
    """The smallest of every row, (n, 1)."""
    if is_numpy_array(values):  # over columns that lie together: ten times as quick
        return np.minimum.reduce(np.ascontiguousarray(values.T))[:, None]
    return namespace(values).min(values, axis=1, keepdims=True)


def row_max(values: Any) -> Any:
    """The largest of every row, (n, 1)."""
    if is_numpy_array(values):
        return np.maximum.reduce(np.ascontiguousarray(values.T))[:, None]
    return namespace(values).max(values, axis=1, keepdims=True)


def column_changes(new: Any, old: Any, weight: Any) -> Any:
    """Σ_i weight[i] |new − old|[i, :], (c,)."""
    if not is_numpy_array(new):
        return column_sums(namespace(new).abs(new - old), weight)
    total = np.zeros(new.shape[1])
    for start in range(0, len(new), BLOCK_ROWS):  # no array of all differences
        rows = slice(start, start + BLOCK_ROWS)
        total += column_sums(np.abs(new[rows] - old[rows]), weight[rows])
    return total


def log_sums(logs: Any) -> Any:
    """log Σ exp over the last axis of a NumPy array, −∞ where all are; `logs` is used up."""
    highest = logs.max(axis=-1, keepdims=True)
    shift = np.where(np.isfinite(highest), highest, 0)
    logs -= shift
    np.exp(logs, out=logs)
    with np.errstate(divide="ignore"):
        return np.log(logs.sum(axis=-1)) + shift[..., 0]


def principal_axes(rows: Any) -> tuple[Any, Any]:
    """Eigenvectors (d, r) and eigenvalues (r,) of AᵀA for few rows A (n, d), n < d, by A Aᵀ."""
    sizes, turn = np.linalg.eigh(rows @ rows.T)
    is_there = sizes > len(rows) * np.finfo(float).eps * max(float(sizes[-1]), 1.0)
    sizes = sizes[is_there]
    return rows.T @ (turn[:, is_there] / np.sqrt(sizes)), sizes


def is_surely_all(mask: Any) -> bool:
    """Whether all hold, asked only where the answer costs no wait; a false no takes the long way.

    NumPy answers at once; a lazy array would have to be computed, a device waited for.
    """
    return is_numpy_array(mask) and bool(mask.all())
