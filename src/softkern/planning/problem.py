"""The size of a problem, from data or a shape, as cost models need it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.utils import check_array

from softkern.kernels import Kernel
from softkern.kernels.resolve import has_open_bandwidth, resolve
from softkern.operators.base import ProblemSize
from softkern.rows import Rows

__all__ = ["SAMPLE", "checked_rows", "problem_at", "problem_of_data", "problem_of_shape"]

SAMPLE = 1000  # rows that show cost models how the data are distributed


def problem_of_shape(shape: tuple[int, ...], named: dict[str, Any], dtype: Any) -> ProblemSize:
    """The problem of a shape (n, d), with a bandwidth of one where it is a rule."""
    if len(shape) != 2 or min(shape) < 1:
        raise ValueError(f"the shape must be (n, d) with n, d ≥ 1, got {shape!r}.")
    if isinstance(named["bandwidth"], str) and has_open_bandwidth(
        named["kernel"], named["kernel_params"]
    ):
        named = {**named, "bandwidth": 1.0}
    kernel = resolve(**named)
    return ProblemSize(int(shape[0]), int(shape[1]), kernel, dtype=np.dtype(dtype or np.float64))


def problem_of_data(
    X: Any, named: dict[str, Any], sample_weight: Any, random_state: Any
) -> ProblemSize:
    """The problem of the data and a kernel, with a sample where the kernel has a bandwidth."""
    rows = checked_rows(X, sample_weight)
    with config_context(assume_finite=True):
        kernel = resolve(X=rows, **named, random_state=random_state)
        kernel.check(rows.X)
    problem = problem_at(rows.X, kernel)
    if problem.extent is None:
        return problem
    index, _ = rows.reweighted().sample(SAMPLE, random_state)
    return replace(problem, sample=kernel.scaled(rows.X[index], rows.X.min(axis=0)))


def problem_at(X: Any, kernel: Kernel) -> ProblemSize:
    """The problem of checked data, with their width where the kernel has bandwidths."""
    problem = ProblemSize.of(X, kernel)
    if not kernel.has_bandwidth or problem.is_sparse:
        return problem
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    return replace(problem, extent=tuple(kernel.scaled(high[None], low)[0].tolist()))


def checked_rows(X: Any, sample_weight: Any) -> Rows:
    """Rows as they are, and an array with its weights checked."""
    if not isinstance(X, Rows):
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    return Rows.of(X, sample_weight)
