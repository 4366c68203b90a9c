"""Weighted quantiles of Dask arrays, independent of the chunks.

Dask's own percentiles merge those of the chunks, so that they are approximate, depend on where
chunks end, and take no weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from softkern._utils.typing import Array
from softkern.dask.cluster import compute, persist
from softkern.rows import lower_quantile

__all__ = ["quantile"]

BINS = 1024  # of the histograms
GATHERED = 100_000  # values that are sorted in this process


def quantile(values: Any, weight: Any, share: float) -> float:
    """Return the first of the sorted values up to which at least this share of the weight lies.

    As `softkern.rows.lower_quantile`, for Dask arrays (n,). A histogram locates the bin of the
    value and is repeated inside that bin until few values are left to sort.

    Examples
    --------
    >>> import dask.array as da
    >>> quantile(da.arange(1_000_000, chunks=250_000), da.ones(1_000_000, chunks=250_000), 0.25)
    249999.0
    """
    import dask.array as da

    values, weight = persist(values), persist(weight)
    is_present = (weight > 0) & da.isfinite(values)
    low, high, total, below = compute(
        da.where(is_present, values, np.inf).min(),
        da.where(is_present, values, -np.inf).max(),
        weight.sum(dtype=np.float64),
        da.where(values == -np.inf, weight, 0).sum(dtype=np.float64),
    )
    wanted = share * float(total) * (1 - 1e-12)
    if below > 0 and below >= wanted:
        return -np.inf
    if not np.isfinite(low):
        return np.inf
    while True:
        edges = np.linspace(low, high, BINS + 1)
        mass, number = _histogram(values, weight, edges)
        place = int(np.searchsorted(below + np.cumsum(mass), wanted))
        if place == BINS:  # infinite values hold the rest
            return np.inf
        low, high = float(edges[place]), float(edges[place + 1])
        below += float(mass[:place].sum())
        if number[place] <= GATHERED or not low < (low + high) / 2 < high:
            break
    inside = (values >= low) & (values <= high) & (weight > 0)
    gathered, mass = compute(values[inside], weight[inside])
    part = (wanted - below) / float(mass.sum(dtype=np.float64))
    return lower_quantile(gathered, mass, min(max(part, 0.0), 1.0))


def _histogram(values: Any, weight: Any, edges: Array) -> tuple[Array, Array]:
    """Weight and number of the values in every bin."""
    from dask import delayed

    blocks = zip(values.to_delayed().ravel(), weight.to_delayed().ravel(), strict=True)
    parts = compute(*(delayed(count_in_bins)(*block, edges) for block in blocks))
    mass, number = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
    return mass, number


def count_in_bins(values: Array, weight: Array, edges: Array) -> tuple[Array, Array]:
    """Weight and number of the values of one chunk in every bin."""
    values, weight = values[weight > 0], weight[weight > 0]
    mass = np.histogram(values, edges, weights=weight.astype(np.float64))[0]
    return mass, np.histogram(values, edges)[0]
