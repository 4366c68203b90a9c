"""Weighted quantiles of Dask arrays, independent of the chunks.

Dask's own percentiles merge those of the chunks, so that they are approximate, depend on where
chunks end, and take no weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from softkern.dask.cluster import compute, persist
from softkern.rows import lower_quantile

BINS = 1024  # of the histograms
GATHERED = 100_000  # values that are sorted in this process


def quantile(values: Any, weight: Any, share: float) -> float:
    """Return the first of the sorted values up to which at least this share of the weight lies.

    As `softkern.rows.lower_quantile`, for Dask arrays (n,). A histogram locates the bin of the
    value and is repeated inside that bin until few values are left to sort.
    """
    import dask.array as da

    values, weight = persist(values), persist(weight.astype(np.float64))
    is_present = (weight > 0) & da.isfinite(values)
    low, high, total, below = compute(
        da.where(is_present, values, np.inf).min(),
        da.where(is_present, values, -np.inf).max(),
        weight.sum(),
        da.where(values == -np.inf, weight, 0).sum(),
    )
    wanted = share * float(total) * (1 - 1e-12)
    if below > 0 and below >= wanted:
        return -np.inf
    if not np.isfinite(low):
        return np.inf
    while True:
        edges = np.linspace(low, high, BINS + 1)
        mass, number = compute(
            da.histogram(values, edges, weights=weight)[0],
            da.histogram(values, edges, weights=(weight > 0).astype(np.float64))[0],
        )
        place = int(np.searchsorted(below + np.cumsum(mass), wanted))
        if place == BINS:  # infinite values hold the rest
            return np.inf
        low, high = float(edges[place]), float(edges[place + 1])
        below += float(mass[:place].sum())
        if number[place] <= GATHERED or not low < (low + high) / 2 < high:
            break
    inside = (values >= low) & (values <= high) & (weight > 0)
    gathered, mass = compute(values[inside], weight[inside])
    part = (wanted - below) / float(mass.sum())
    return lower_quantile(gathered, mass, min(max(part, 0.0), 1.0))
