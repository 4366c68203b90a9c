"""Outlier scores of training rows in chunks, each row scored by the others, and their quantiles.

As `outlier_scores_` of a fit in memory, except that duplicates of a row elsewhere in the data count
as other rows. `own` is a row's own part K(x, x) a in the similarity to every center, (b, c), and
`number` its row number, (b,).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from softkern._utils.typing import Array
from softkern.dask.chunks import map_method, map_rows, worker_copy
from softkern.dask.cluster import compute, persist
from softkern.dask.rows import ChunkedRows
from softkern.models.one_class_pcm import OneClassPCM, surely_above
from softkern.models.point_scores import subtract_from_logs
from softkern.models.two_scale_scores import (
    LEAST_UNIT,
    QUANTILES,
    combine_scales,
    log_background_density,
)
from softkern.rows import lower_quantile

BINS = 1024  # of the histograms of a quantile
GATHERED = 100_000  # values that are sorted in this process


def self_excluded_scores(X: Array, own: Array, number: Array, model: Any) -> Array:
    """Outlier scores of training rows, each without its own part in the centers, (b,)."""
    if isinstance(model, OneClassPCM) and model._wide_kernel is not None:
        near, far = _surprisals(X, own, number, model).T
        return combine_scales(near, far, model._score_scaling)
    scores = model.score_points(X)
    if model.kernel_.decays:
        logs, product = scores.log_similarities, scores.geometry.product
        scores.log_of_others = _exclude_self(model, logs, own, number, model._columns, product)
    return np.asarray(scores.outlier_scores)


def _surprisals(X: Array, own: Array, number: Array, model: OneClassPCM) -> Array:
    """−log densities of training rows at two scales, (b, 2), the narrow one without the row."""
    scores: Any = model.score_points(X)
    narrow, wide = scores.log_densities
    logs, coefficients = narrow[:, None], model._inlier_coef[:, None]
    others = _exclude_self(model, logs, own, number, coefficients, np.exp(logs))[:, 0]
    background = log_background_density(wide, narrow, model._max_duplicate_share)
    return -np.column_stack([others, background])


def _exclude_self(
    model: Any, logs: Array, own: Array, number: Array, A: Array, product: Array
) -> Array:
    """log K @ A of training rows, each less its own part, (b, c).

    Exact unless the centers are approximated on landmarks.
    """
    if model.plan_.options.get("rank") is not None:
        return subtract_from_logs(logs, own)
    place = np.minimum(np.searchsorted(model.support_, number), len(model.support_) - 1)
    inside = np.flatnonzero(model.support_[place] == number)
    others, served = logs.copy(), model._stored_operator()
    for k, a in enumerate(A.T):
        others[inside, k] = served.log_product_of_others(a, a, product[inside, k], place[inside])
    return others


def calibrate_density(model: OneClassPCM, rows: ChunkedRows, own: Any) -> None:
    """Set the units of both scales and the threshold of a `OneClassPCM` from all rows."""
    small = worker_copy(model)
    if model._wide_kernel is not None:
        name, like = "surprisals", np.empty((0, 2), rows.X.dtype)
        pair = map_rows(_surprisals, rows.X, own, numbered=True, name=name, like=like, model=small)
        pair = persist(pair)
        model._score_scaling = np.array([_location_scale(pair[:, k], rows.weight) for k in (0, 1)])
    scores = map_method(small, "score_samples", rows.X)
    model.offset_ = _threshold(scores, rows.weight, model.contamination)


def _location_scale(surprisals: Any, weight: Any) -> tuple[float, float]:
    """As `softkern.models.two_scale_scores.robust_location_scale`."""
    weight = weight * (abs(surprisals) < np.inf)
    low, middle, high = (quantile(surprisals, weight, share) for share in QUANTILES)
    if not np.isfinite(middle):
        return 0.0, 1.0
    return middle, max(high - low, LEAST_UNIT)


def _threshold(scores: Any, weight: Any, share: float) -> float:
    """The value half way above the lowest scores that hold this share of the weight."""
    scores = persist(scores)
    low = quantile(scores, weight, share)
    following = quantile(scores, (weight > 0) & (scores > surely_above(low, scores.dtype)), 0.0)
    return low if not np.isfinite(following) else (low + following) / 2


def quantile(values: Any, weight: Any, share: float) -> float:
    """Return the first of the sorted values up to which at least this share of the weight lies.

    As `softkern.rows.lower_quantile`, for Dask arrays (n,). Dask's own percentiles are approximate,
    depend on where chunks end, and take no weights. A histogram locates the bin of the value and is
    repeated inside that bin until few values are left to sort.
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
