"""Sums and extremes over arrays of any library that follows the array API.

Membership rules, center rules, geometry and stopping are written against the array API standard
(`array-api-compat`): the same code runs on NumPy, torch and Dask. Where NumPy is slow, as along
short rows, the fast way is here, so that no rule needs a second version.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import (
    array_namespace,
    device,
    is_array_api_obj,
    is_dask_array,
    is_numpy_array,
)

namespace = array_namespace
BLOCK_ROWS = 8192  # whose temporary arrays are small beside those of all rows


def on_host(array: Any) -> Any:
    """Return an array of any device as a NumPy array."""
    if is_numpy_array(array):
        return array
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask array, dataframe or series, without importing Dask."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def like(array: Any, other: Any) -> Any:
    """Return a NumPy array in the library and on the device of another array."""
    if is_numpy_array(other):
        return array
    return namespace(other).asarray(array, device=device(other))


def moved(value: Any, move: Callable[..., Any], *arguments: Any) -> Any:
    """Apply a function to an array, or to all arrays in the fields of a dataclass."""
    if is_array_api_obj(value):
        return move(value, *arguments)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {}
    for part in fields(value):
        before = getattr(value, part.name)
        after = moved(before, move, *arguments)
        if after is not before:
            changed[part.name] = after
    return replace(value, **changed) if changed else value


def take_last(array: Any, order: Any) -> Any:
    """Select entries of the last axis of an array by number."""
    if array.ndim == 0:
        return array
    xp = namespace(array)
    index = order if is_dask_array(array) else xp.asarray(order, device=device(array))
    return xp.take(array, index, axis=array.ndim - 1)


def chunkwise(function: Callable[..., Any], values: Any, *numbers: Any) -> Any:
    """Apply a function that treats every row of a Dask array by itself: one task per chunk."""
    name = f"softkern-{function.__name__.replace('_', '-')}"
    kind = {"dtype": values.dtype, "meta": np.empty((0, 0), dtype=values.dtype)}
    return values.map_blocks(function, *numbers, token=name, **kind)


def row_sums(values: Any, other: Any = None) -> Any:
    """Σ_k values[:, k], or Σ_k values[:, k] other[:, k], (n,)."""
    if is_numpy_array(values):  # faster than sums along short rows, and no BLAS threads
        if other is None:
            return np.einsum("ij->i", values)
        return np.einsum("ij,ij->i", values, other)
    return namespace(values).sum(values if other is None else values * other, axis=1)


def weighted_sum(values: Any, weight: Any) -> Any:
    """Σ_i weight[i] values[i]: of an array (n, c) the sums of its columns, (c,)."""
    if is_numpy_array(values):
        return np.einsum("i,i...->...", weight, values)
    return namespace(values).sum((weight if values.ndim == 1 else weight[:, None]) * values, axis=0)


def row_min(values: Any) -> Any:
    """Return the smallest value of every row, (n, 1)."""
    if is_numpy_array(values):  # over contiguous columns: ten times as fast
        return np.minimum.reduce(np.ascontiguousarray(values.T))[:, None]
    return namespace(values).min(values, axis=1, keepdims=True)


def row_max(values: Any) -> Any:
    """Return the largest value of every row, (n, 1)."""
    if is_numpy_array(values):
        return np.maximum.reduce(np.ascontiguousarray(values.T))[:, None]
    return namespace(values).max(values, axis=1, keepdims=True)


def column_changes(new: Any, old: Any, weight: Any) -> Any:
    """Σ_i weight[i] |new − old|[i, :], (c,)."""
    if not is_numpy_array(new):
        return weighted_sum(namespace(new).abs(new - old), weight)
    total = np.zeros(new.shape[1])
    for start in range(0, len(new), BLOCK_ROWS):  # no array of all differences
        rows = slice(start, start + BLOCK_ROWS)
        total += np.einsum("i,ij->j", weight[rows], np.abs(new[rows] - old[rows]))
    return total


def log_sums(logs: Any) -> Any:
    """Log Σ exp over the last axis of a NumPy array, which is overwritten; −∞ where all are."""
    highest = logs.max(axis=-1, keepdims=True)
    shift = np.where(np.isfinite(highest), highest, 0)
    logs -= shift
    np.exp(logs, out=logs)
    with np.errstate(divide="ignore"):
        return np.log(logs.sum(axis=-1)) + shift[..., 0]


def principal_axes(rows: Any) -> tuple[Any, Any]:
    """Eigenvectors (d, r) and eigenvalues (r,) of AᵀA for few rows A (n, d), n < d, by A Aᵀ."""
    values, vectors = np.linalg.eigh(rows @ rows.T)
    is_positive = values > len(rows) * np.finfo(float).eps * max(float(values[-1]), 1.0)
    values = values[is_positive]
    return rows.T @ (vectors[:, is_positive] / np.sqrt(values)), values
